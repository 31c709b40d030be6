"""Pages from the web: every hop checked against the policy, every cost limited."""

from __future__ import annotations

import asyncio
import re
from functools import cached_property
from typing import TYPE_CHECKING

from whence.errors import (
    ExecutionFailed,
    InvalidArgs,
    NotFound,
    PermissionDenied,
    TimedOut,
    Unavailable,
    WhenceError,
)
from whence.execute.addresses import Resolver, reachable, system_addresses
from whence.shapes.web import FETCH_LIMITS, PUBLIC, Fetched, FetchLimits, HostPolicy

if TYPE_CHECKING:
    import ssl

    import httpx2

    from whence.execute.exchange import Route

_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Http:
    """Fetches pages over connections to addresses that it resolved and checked itself."""

    def __init__(
        self, *, resolve: Resolver = system_addresses, tls: ssl.SSLContext | None = None
    ) -> None:
        self._resolve = resolve
        self._given_tls = tls

    async def get(
        self, url: str, *, allow: HostPolicy = PUBLIC, limits: FetchLimits = FETCH_LIMITS
    ) -> Fetched:
        """The answer of the server, redirects followed; see `HttpGetter.get` for the errors."""
        try:
            async with asyncio.timeout(limits.seconds) as limit:
                return await self._follow(url, allow, limits)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimedOut(
                f"{url} did not arrive within {limits.seconds:g} s",
                "Try again later, or fetch a smaller document.",
                details={"url": url, "timeout_s": limits.seconds},
            ) from None

    async def _follow(self, url: str, allow: HostPolicy, limits: FetchLimits) -> Fetched:
        from whence.execute.exchange import page_url

        target = page_url(url)
        passed: list[str] = []
        while True:
            answer = await self._visit(target, allow, limits, tuple(passed))
            if answer.status not in _REDIRECTS:
                return answer
            passed.append(answer.url)
            target = _next(target, answer.headers.get("location"), passed, limits)

    async def _visit(
        self, url: httpx2.URL, allow: HostPolicy, limits: FetchLimits, passed: tuple[str, ...]
    ) -> Fetched:
        from whence.execute.exchange import exchange, read_body

        route = await self._route(url, allow)
        async with exchange(url, route, limits) as response:
            status = response.status_code
            body = await read_body(response, limits) if 200 <= status < 300 else b""
            headers = dict(response.headers.items())
        if status not in _REDIRECTS and not 200 <= status < 300:
            raise _status_error(status, str(url), headers.get("retry-after"))
        kind, _, parameters = headers.get("content-type", "").partition(";")
        charset = _CHARSET.search(parameters)
        return Fetched(
            url=str(url),
            status=status,
            headers=headers,
            content_type=kind.strip().lower(),
            charset=charset[1] if charset else None,
            body=body,
            redirects=passed,
        )

    async def _route(self, url: httpx2.URL, allow: HostPolicy) -> Route:
        from whence.execute.exchange import Route, page_port

        host, port = url.raw_host.decode("ascii"), page_port(url)
        if not allow.permits(host, port):
            raise PermissionDenied(
                f"the host {host}:{port} is not one that this tool may ask",
                f"Allowed are: {', '.join(allow.hosts) or 'none'}.",
                details={"url": str(url)},
            )
        return Route(await reachable(host, port, allow.networks, self._resolve), self._tls)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        import httpx2

        return self._given_tls or httpx2.create_ssl_context()


def _next(
    current: httpx2.URL, location: str | None, passed: list[str], limits: FetchLimits
) -> httpx2.URL:
    """Where a redirect leads; it may not go in circles, on for ever, or from https to http."""
    target = _joined(current, location)
    if not target.fragment and current.fragment:
        target = target.copy_with(fragment=current.fragment)
    if current.scheme == "https" and target.scheme == "http":
        raise PermissionDenied(
            f"{current} redirects to {target}, from https to http",
            "Fetch the http address itself, if it may be read by others on the way.",
        )
    seen = {address.partition("#")[0] for address in passed}
    if str(target).partition("#")[0] in seen:
        raise ExecutionFailed(
            f"{passed[0]} redirects in a circle, back to {target}",
            "The page may need a login or cookies; try another address.",
            details={"redirects": list(passed)},
        )
    if len(passed) > limits.redirects:
        raise ExecutionFailed(
            f"{passed[0]} redirects more than {limits.redirects} times",
            "Fetch the address that it leads to, or try another one.",
            details={"redirects": list(passed)},
        )
    return target


def _joined(current: httpx2.URL, location: str | None) -> httpx2.URL:
    from httpx2 import InvalidURL

    from whence.execute.exchange import page_url

    try:
        return page_url(str(current.join(location)) if location else "")
    except (InvalidURL, InvalidArgs) as error:
        raise ExecutionFailed(
            f"{current} redirects to {location!r}, which is no web page: {error}",
            "Try another address.",
        ) from error


def _status_error(status: int, url: str, retry_after: str | None) -> WhenceError:
    message, details = f"{url} answers with status {status}", {"url": url, "status": status}
    if status in (404, 410):
        return NotFound(message, "There is no such page: check the path.", details=details)
    if status in (401, 403, 407, 451):
        hint = "The server does not show this page to everybody; look for a public one."
        return PermissionDenied(message, hint, details=details)
    if status == 429:
        wait = f" in {retry_after} s" if retry_after and retry_after.isdecimal() else " later"
        return Unavailable(message, f"It is asked too often: try again{wait}.", details=details)
    if status >= 500:
        return Unavailable(message, "The server is in trouble: try again later.", details=details)
    return ExecutionFailed(message, "Check the address and its query.", details=details)
