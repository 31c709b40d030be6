"""What fetching a web page looks like to those who may not open a socket themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

from whence.shapes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Which servers may be asked; the default is any host with a public address."""

    hosts: tuple[str, ...] = ("*",)
    """`example.org`, `*.example.org` (not itself), `*`; with `:port` only that port."""
    networks: tuple[str, ...] = ()
    """Addresses that are not public and may be reached all the same, such as `127.0.0.0/8`."""

    def permits(self, host: str, port: int) -> bool:
        """Whether the host may be asked by its name; its address is another question."""
        name = host.lower().rstrip(".")
        return any(_matches(pattern.lower(), name, port) for pattern in self.hosts)


def _matches(pattern: str, host: str, port: int) -> bool:
    name, colon, number = pattern.rpartition(":")
    if not colon or not number.isdecimal():
        name = pattern
    elif int(number) != port:
        return False
    name = name.strip("[]")
    if name in ("*", host):
        return True
    return name.startswith("*.") and host.endswith(name[1:]) and len(host) >= len(name)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How much one fetch may cost."""

    wire_bytes: int = 30_000_000
    """As they arrive."""
    body_bytes: int = 30_000_000
    """After decompression."""
    seconds: float = 30.0
    """For all of it, redirects included."""
    silence_s: float = 10.0
    """How long the server may say nothing."""
    redirects: int = 10


PUBLIC = HostPolicy()
"""Any host with a public address."""
_LOOPBACK = ("127.0.0.0/8", "::1/128")


@lru_cache(maxsize=256)
def host_policy(hosts: tuple[str, ...]) -> HostPolicy:
    """What a sandbox's list of hosts allows; an empty one says nothing against public hosts.

    An address that is not public is reached only where the list names it: by itself, as
    `localhost`, or as a network such as `10.0.0.0/8` beside the names that lead there.
    """
    if not hosts:
        return PUBLIC
    networks = [network for host in hosts for network in _networks(host)]
    return HostPolicy(tuple(host for host in hosts if "/" not in host), tuple(networks))


def _networks(host: str) -> tuple[str, ...]:
    """The addresses that an entry names by itself."""
    from ipaddress import ip_address

    name, colon, port = host.rpartition(":")
    if not colon or not port.isdecimal() or (":" in name and not name.endswith("]")):
        name = host
    if "/" in host:
        return (host,)
    if name.lower() == "localhost":
        return _LOOPBACK
    try:
        address = ip_address(name.strip("[]"))
    except ValueError:
        return ()
    return (f"{address}/{address.max_prefixlen}",)


FETCH_LIMITS = FetchLimits()
"""The limits where nobody set any."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer with a 2xx status, decompressed."""

    url: str
    """Where it came from in the end."""
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    content_type: str
    """`text/html`, in lower case and without parameters; empty if the server did not say."""
    charset: str | None
    """As the header names it."""
    body: bytes
    redirects: tuple[str, ...] = ()
    """The addresses that led here, first to last."""


class HttpGetter(Protocol):
    """Fetches pages; a sandbox says from where."""

    async def get(
        self, url: str, *, allow: HostPolicy = PUBLIC, limits: FetchLimits = FETCH_LIMITS
    ) -> Fetched:
        """The answer of the server, redirects followed.

        Raises:
            InvalidArgs: It is no URL of a page.
            NotFound: There is no such page.
            PermissionDenied: The policy or the server forbids it.
            QuotaExceeded: It is larger than the limits allow.
            TimedOut: It took too long.
            Unavailable: The server cannot be reached or does not work.
            ExecutionFailed: The answer makes no sense.
        """
        ...
