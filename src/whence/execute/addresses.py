"""Which network addresses may be reached, and how a name becomes such addresses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from whence.errors import InvalidArgs, PermissionDenied, Unavailable

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host and port, best first."""
_Address: TypeAlias = IPv4Address | IPv6Address
_Network: TypeAlias = IPv4Network | IPv6Network

_METADATA = frozenset(
    ip_address(text)
    for text in ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192")
)
"""Where clouds tell a machine its secrets. Not all of them are private addresses."""
_NAT64 = ip_network("64:ff9b::/96")
_SHARED = ip_network("100.64.0.0/10")


async def system_addresses(host: str, port: int) -> Sequence[str]:
    """What the system's resolver says."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def reachable(
    host: str, port: int, networks: Sequence[str], resolve: Resolver = system_addresses
) -> Sequence[str]:
    """The addresses of a host that may be connected to.

    Raises:
        PermissionDenied: It has none that is public or in `networks`.
        Unavailable: It has no address at all.
    """
    found = await _resolved(host, port, resolve)
    allowed = _networks(networks)
    refused = {address: reason_against(address) for address in found}
    kept = [a for a, reason in refused.items() if reason is None or _inside(a, allowed)]
    if kept:
        return kept
    address, reason = next(iter(refused.items()))
    raise PermissionDenied(
        f"{host} is at {address}, which is {reason} and not public",
        f"Ask a public server, or let the tool's policy allow the network {address}.",
        details={"host": host, "addresses": list(found)},
    )


def reason_against(address: str) -> str | None:
    """What makes an address not public, in words; None if it is public."""
    inner = _unwrapped(ip_address(address))
    checks = (
        ("a metadata service", inner in _METADATA),
        ("a loopback address", inner.is_loopback),
        ("an unspecified address", inner.is_unspecified),
        ("a link-local address", inner.is_link_local),
        ("a multicast address", inner.is_multicast),
        ("a shared carrier address", inner in _SHARED),
        ("a private address", inner.is_private),
        ("a reserved address", inner.is_reserved or not inner.is_global),
    )
    return next((reason for reason, holds in checks if holds), None)


def _unwrapped(address: _Address) -> _Address:
    """The IPv4 address inside an IPv6 one: it is where the packets go."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    tunnelled = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or tunnelled or address


async def _resolved(host: str, port: int, resolve: Resolver) -> Sequence[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    try:
        found = await resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise _unknown(host, str(error)) from error
    if not found:
        raise _unknown(host, "it has no address")
    return found


def _unknown(host: str, why: str) -> Unavailable:
    return Unavailable(
        f"cannot find the host {host!r}: {why}",
        "Check the spelling of the host, and that this machine has a network.",
    )


def _networks(texts: Iterable[str]) -> list[_Network]:
    try:
        return [ip_network(text, strict=False) for text in texts]
    except ValueError as error:
        raise InvalidArgs(
            f"not a network: {error}", "Write networks as 127.0.0.0/8 or fd00::/8."
        ) from error


def _inside(address: str, networks: Iterable[_Network]) -> bool:
    inner = _unwrapped(ip_address(address))
    return any(inner in network for network in networks)
