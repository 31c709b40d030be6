"""One request and its answer, over a connection to an address that was checked before."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx2

from whence.errors import ExecutionFailed, InvalidArgs, TimedOut, Unavailable, WhenceError
from whence.execute.inflate import ACCEPTED, inflate, too_large
from whence.shapes.dataclass import dataclass
from whence.shapes.web import FetchLimits

_HEADERS = {
    "user-agent": "whence",
    "connection": "close",
    "accept": "text/html,application/xhtml+xml,text/markdown,text/plain,application/json,"
    "application/pdf;q=0.9,*/*;q=0.5",
    "accept-encoding": ACCEPTED,
}
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_NEXT_ADDRESS_S = 3.0
"""How long an address may keep us waiting while there is another one."""


@dataclass(frozen=True, slots=True)
class Route:
    """How to reach a server."""

    addresses: Sequence[str]
    """Checked; tried in this order. Nothing else is connected to, whatever the name says now."""
    tls: ssl.SSLContext


def page_url(text: str) -> httpx2.URL:
    """The URL of a page.

    Raises:
        InvalidArgs: It is not http or https, has no host, or carries a password.
    """
    try:
        url = httpx2.URL(text.strip())
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise InvalidArgs(f"not a URL: {text!r}: {error}", "Write https://host/path.") from error
    host = url.raw_host.decode("ascii")
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(host) or page_port(url) > 65535:
        hint = "Give the whole address of a web page, such as https://example.org/page."
        raise InvalidArgs(f"not an http or https URL: {text!r}", hint)
    if url.userinfo:
        raise InvalidArgs(
            f"the URL for {url.host!r} carries a user name or password",
            "Leave out what stands before the @; pages behind a login cannot be fetched.",
        )
    return url


def page_port(url: httpx2.URL) -> int:
    """The port of a page, the scheme's own if none is written."""
    return url.port or (443 if url.scheme == "https" else 80)


@asynccontextmanager
async def exchange(
    url: httpx2.URL, route: Route, limits: FetchLimits
) -> AsyncIterator[httpx2.Response]:
    """The answer to a GET, its body unread; leaving the context closes the connection.

    Raises:
        Unavailable: No connection, or one that breaks.
        TimedOut: The server said nothing for too long.
    """
    try:
        async with httpx2.AsyncHTTPTransport(verify=route.tls, trust_env=False) as transport:
            response = await _ask(transport, url, route, limits.silence_s)
            try:
                yield response
            finally:
                await response.aclose()
    except httpx2.TransportError as error:
        raise _failed(url, error, limits) from error


async def read_body(response: httpx2.Response, limits: FetchLimits) -> bytes:
    """The content, decompressed; it may be too long in either form."""
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.wire_bytes:
        raise too_large(limits.wire_bytes)
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > limits.wire_bytes:
            raise too_large(limits.wire_bytes)
    body = inflate(bytes(data), response.headers.get("content-encoding", ""), limits.body_bytes)
    if len(body) > limits.body_bytes:
        raise too_large(limits.body_bytes)
    return body


async def _ask(
    transport: httpx2.AsyncHTTPTransport, url: httpx2.URL, route: Route, silence_s: float
) -> httpx2.Response:
    *others, last = route.addresses
    for address in others:
        patience = min(silence_s, _NEXT_ADDRESS_S)
        try:
            return await transport.handle_async_request(_request(url, address, silence_s, patience))
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await transport.handle_async_request(_request(url, last, silence_s, silence_s))


def _request(url: httpx2.URL, address: str, silence_s: float, connect_s: float) -> httpx2.Request:
    """A request to an address that speaks, in its header and in TLS, of the host by name."""
    timeout = httpx2.Timeout(silence_s, connect=connect_s)
    return httpx2.Request(
        "GET",
        url.copy_with(host=address),
        headers={"host": url.netloc.decode("ascii"), **_HEADERS},
        extensions={"timeout": timeout.as_dict(), "sni_hostname": url.raw_host.decode("ascii")},
    )


def _failed(url: httpx2.URL, error: httpx2.TransportError, limits: FetchLimits) -> WhenceError:
    host = url.netloc.decode("ascii")
    if isinstance(error, httpx2.TimeoutException):
        return TimedOut(
            f"{host} said nothing for {limits.silence_s:g} s",
            "Try again later, or fetch the document from another server.",
            details={"url": str(url)},
        )
    if isinstance(error, httpx2.LocalProtocolError):
        return ExecutionFailed(f"cannot ask {host}: {error}", "Try another address.")
    cause = error.__cause__.__cause__ if error.__cause__ is not None else None
    return Unavailable(
        f"cannot get {url}: {_said(error, cause)}",
        "Check the address; if it is right, the server is down or broken: try again later.",
        details={"url": str(url)},
    )


def _said(error: Exception, cause: BaseException | None) -> str:
    return next((text for e in (cause, error) if e is not None and (text := str(e))), "no answer")
