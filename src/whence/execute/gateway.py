"""Requests of an HTTP client, held to a policy of hosts and to addresses that were checked."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from typing import cast

import httpx2

from whence.errors import ExecutionFailed, PermissionDenied, QuotaExceeded
from whence.execute.addresses import Resolver, reachable, system_addresses
from whence.execute.exchange import page_port
from whence.shapes.web import HostPolicy

LARGEST_BODY = 64 * 1024 * 1024
_STREAM = "text/event-stream"


class Gateway(httpx2.AsyncBaseTransport):
    """Connects only to addresses that it resolved and checked itself, request by request.

    Args:
        allow: the hosts and networks that may be asked.
        resolve: how a name becomes addresses.
        tls: the trusted certificates; the system's where it is left out.
    """

    def __init__(
        self,
        allow: HostPolicy,
        *,
        resolve: Resolver = system_addresses,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow, self._resolve, self._given_tls = allow, resolve, tls

    @cached_property
    def _inner(self) -> httpx2.AsyncHTTPTransport:
        tls = self._given_tls or httpx2.create_ssl_context()
        return httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer; its body is read by whoever asked.

        Raises:
            PermissionDenied: The policy has not this host, or it has no address that may be asked.
            Unavailable: The host has no address at all.
            ExecutionFailed: The answer is compressed, which was not asked for.
        """
        host, port = request.url.raw_host.decode("ascii"), page_port(request.url)
        if not self._allow.permits(host, port):
            raise PermissionDenied(
                f"the host {host}:{port} is not the one that was named",
                f"Allowed are: {', '.join(self._allow.hosts) or 'none'}.",
            )
        request.headers["accept-encoding"] = "identity"
        request.extensions = {**request.extensions, "sni_hostname": host}
        *others, last = await self._addresses(host, port)
        url = request.url
        for address in others:
            request.url = url.copy_with(host=address)
            try:
                return _bounded(await self._inner.handle_async_request(request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        request.url = url.copy_with(host=last)
        try:
            return _bounded(await self._inner.handle_async_request(request))
        finally:
            request.url = url

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            return await reachable(host, port, self._allow.networks, self._resolve)
        except PermissionDenied as error:
            raise PermissionDenied(
                error.message, 'If you trust it, name its network, as in network="10.0.0.0/8".'
            ) from error

    async def aclose(self) -> None:
        """Close every connection."""
        if "_inner" in vars(self):
            await self._inner.aclose()


def _bounded(response: httpx2.Response) -> httpx2.Response:
    """The response, whose body may not be longer than any sensible one."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ExecutionFailed(
            "the server compresses its answer, although it was asked not to",
            "Have the server send it as it is.",
        )
    if not response.headers.get("content-type", "").startswith(_STREAM):
        response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))
    return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > LARGEST_BODY:
                raise QuotaExceeded(
                    f"the server's answer has more than {LARGEST_BODY} bytes",
                    "Ask it for less at once.",
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
