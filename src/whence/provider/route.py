"""The way to an address: its letters on the wire, a proxy before it, what is trusted."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from whence.errors import InvalidArgs, Unavailable
from whence.provider.connection import Connection, Headers
from whence.provider.network import Broken, Kind, Socket, connected
from whence.provider.retry import Timeouts

_PORTS = {"http": 80, "https": 443}
_AS_WRITTEN = "%/:?#[]@!$&'()*+,;=~"


@dataclass(frozen=True, slots=True)
class Address:
    """An address in the letters that may go over the wire."""

    scheme: str
    host: str
    port: int
    named: str
    """The host as requests name it, with its port where that is not the usual one."""
    target: str

    @property
    def end(self) -> str:
        """What a tunnel leads to."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def of(cls, url: str) -> Self:
        """That of a text.

        Raises:
            InvalidArgs: its host cannot be looked for.
        """
        parts = urlsplit(url)
        try:
            host = (parts.hostname or "").encode("idna")
        except UnicodeError as error:
            raise InvalidArgs(
                f"{parts.hostname!r} is no name of a host: {error}", "Correct the address."
            ) from None
        named = f"[{host.decode()}]" if b":" in host else host.decode()
        if parts.port is not None:
            named = f"{named}:{parts.port}"
        target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        port = parts.port or _PORTS.get(parts.scheme, 80)
        return cls(parts.scheme, host.decode(), port, named, quote(target, _AS_WRITTEN))


@dataclass(frozen=True, slots=True)
class Proxy:
    """Somebody who passes requests on."""

    address: Address
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @classmethod
    def of(cls, url: str, host: str) -> Self:
        """That of a setting, which is for a host.

        Raises:
            Unavailable: it is no http or https address.
        """
        with suppress(ValueError, InvalidArgs):
            parts = urlsplit(url)
            if parts.scheme in _PORTS and parts.hostname:
                return cls(Address.of(url), _login(parts.username, parts.password))
        raise Unavailable(
            f"the proxy that is set for {host} cannot be used: it is no http or https address",
            "Correct https_proxy or all_proxy in the environment, or name the host in no_proxy.",
        )


@dataclass(frozen=True, slots=True)
class Route:
    """How an address is reached."""

    address: Address
    proxy: Proxy | None
    tls: ssl.SSLContext | None
    """What is trusted; None: what the system trusts."""

    @property
    def target(self) -> bytes:
        """What a request asks for: of a proxy that only passes on, the whole address."""
        there = self.address
        return (f"http://{there.named}{there.target}" if self._passes_on else there.target).encode()

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What a request says besides."""
        asked = (b"host", self.address.named.encode())
        return (asked, *self.proxy.headers) if self.proxy and self._passes_on else (asked,)

    @property
    def _passes_on(self) -> bool:
        """Whether a proxy reads the requests, instead of making a tunnel for them."""
        return self.proxy is not None and self.address.scheme == "http"

    async def open(self, timeouts: Timeouts) -> Connection:
        """A new connection.

        Raises:
            Broken: there can be none.
        """
        there, limit_s = self.address, timeouts.connect_s
        if self.proxy is None:
            socket = await connected(there.host, there.port, limit_s)
        else:
            socket = await self._past(self.proxy, limit_s)
        if there.scheme == "https":
            async with _closed_unless_done(socket):
                await socket.encrypt(self.tls or _system_tls(), there.host, limit_s)
        return Connection(socket, timeouts.silence_s)

    async def _past(self, proxy: Proxy, limit_s: float) -> Socket:
        """A connection to a proxy, and through it where what follows is encrypted."""
        first = proxy.address
        try:
            socket = await connected(first.host, first.port, limit_s)
            async with _closed_unless_done(socket):
                if first.scheme == "https":
                    await socket.encrypt(_system_tls(), first.host, limit_s)
                if not self._passes_on:
                    await self._tunnel(Connection(socket, limit_s), proxy.headers)
        except Broken as error:
            raise Broken(error.kind, f"the proxy at {first.named}: {error.reason}") from error
        return socket

    async def _tunnel(self, proxy: Connection, login: Headers) -> None:
        end = self.address.end.encode()
        answer = await proxy.ask(b"CONNECT", end, [(b"host", end), *login])
        if not 200 <= answer.status_code < 300:
            said = bytes(answer.reason).decode("latin-1")
            kind: Kind = "barred" if 400 <= answer.status_code < 500 else "unreachable"
            raise Broken(kind, f"it says {answer.status_code} {said}")


@asynccontextmanager
async def _closed_unless_done(socket: Socket) -> AsyncIterator[None]:
    try:
        yield
    except BaseException:
        await socket.aclose()
        raise


def _login(user: str | None, password: str | None) -> tuple[tuple[bytes, bytes], ...]:
    if not user and not password:
        return ()
    pair = f"{unquote(user or '')}:{unquote(password or '')}".encode()
    return ((b"proxy-authorization", b"Basic " + base64.b64encode(pair)),)


def _system_tls() -> ssl.SSLContext:
    return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusted(*settings: str | None) -> ssl.SSLContext:
    """What the system trusts, read once as long as the environment says the same about it."""
    import httpcore2  # knows where systems keep it

    try:
        context = httpcore2.default_ssl_context()
    except OSError as error:
        raise Unavailable(
            f"the certificates in {next(filter(None, settings))} cannot be read: {error.strerror}",
            "Correct SSL_CERT_FILE or SSL_CERT_DIR in the environment, or unset it.",
        ) from error
    context.set_alpn_protocols(["http/1.1"])
    return context
