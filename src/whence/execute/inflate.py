"""Undoing content encodings without ever holding more than was allowed."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from whence.errors import ExecutionFailed, QuotaExceeded

ACCEPTED = "gzip, deflate"
"""What to ask servers for."""
_MOST_CODINGS = 3
_MOST_MEMBERS = 100
_GZIP_MAGIC = b"\x1f\x8b"


def inflate(data: bytes, codings: str, limit: int) -> bytes:
    """The content behind a `content-encoding` header.

    Raises:
        QuotaExceeded: It is longer than `limit`, in any layer.
        ExecutionFailed: It is damaged, or encoded in a way that was not asked for.
    """
    names = [name for part in codings.split(",") if (name := part.strip().lower())]
    if len(names) > _MOST_CODINGS:
        raise _undecodable(codings, "it is encoded too often")
    for name in reversed(names):
        decode = _DECODERS.get(name)
        if decode is None:
            raise _undecodable(name, f"it was asked for {ACCEPTED}")
        try:
            data = decode(data, limit)
        except zlib.error as error:
            raise _undecodable(name, str(error)) from error
    return data


def too_large(limit: int) -> QuotaExceeded:
    """The error for more bytes than allowed."""
    return QuotaExceeded(
        f"document exceeds {limit} bytes",
        "Fetch a smaller page, such as one chapter of it, or allow more.",
        details={"limit": limit},
    )


def _gunzip(data: bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    for _ in range(_MOST_MEMBERS):
        member, rest = _inflated(data, left, zlib.MAX_WBITS | 16, limit)
        parts.append(member)
        left -= len(member)
        if not rest.startswith(_GZIP_MAGIC):  # what follows the last member is padding
            return b"".join(parts)
        data = rest
    raise _undecodable("gzip", f"it has more than {_MOST_MEMBERS} parts")


def _undeflate(data: bytes, limit: int) -> bytes:
    try:
        return _inflated(data, limit, zlib.MAX_WBITS, limit)[0]
    except zlib.error:  # some servers leave the zlib header out
        return _inflated(data, limit, -zlib.MAX_WBITS, limit)[0]


def _inflated(data: bytes, left: int, window_bits: int, limit: int) -> tuple[bytes, bytes]:
    decoder = zlib.decompressobj(window_bits)
    out = decoder.decompress(data, left + 1)
    if len(out) > left:
        raise too_large(limit)
    if data and not decoder.eof:
        raise zlib.error("it ends too early")
    return out, decoder.unused_data


def _undecodable(coding: str, why: str) -> ExecutionFailed:
    return ExecutionFailed(
        f"cannot decode the answer, content-encoding {coding!r}: {why}",
        "Try another address of the same document.",
    )


def _same(data: bytes, _limit: int) -> bytes:
    return data


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "identity": _same,
}
