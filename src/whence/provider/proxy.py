"""Which proxy the environment names for an address."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_of(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy for an address; names in lower case win, as everywhere."""
    parts = urlsplit(url)
    found = _setting(f"{parts.scheme}_proxy", environ) or _setting("all_proxy", environ)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    spared = _setting("no_proxy", environ).lower().replace(",", " ").split()
    if not found or any(_covers(entry, host, port) for entry in spared):
        return None
    return found if "://" in found else f"http://{found}"


def _setting(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name, environ.get(name.upper(), "")).strip()


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of `no_proxy` is about a host: a name, a domain, an address or a network."""
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(host, entry)
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdecimal() and (":" not in name or name.endswith("]")):
        if int(wanted) != port:
            return False
        entry = name
    entry = entry.strip("[]").removeprefix("*").removeprefix(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
