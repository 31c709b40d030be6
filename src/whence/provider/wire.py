"""JSON as providers really send it: read tolerantly, written so that every server can read it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from whence.errors import ParseError

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_SHOWN = 200


def dumps(value: object) -> bytes:
    """JSON without blanks; half a surrogate pair becomes U+FFFD, for UTF-8 cannot hold it."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_mended(value))


def loads(data: bytes | str) -> Any:
    """The value of a JSON text.

    Bytes that are not UTF-8 are replaced, and half a surrogate pair is kept: a stream may cut a
    character in two.

    Raises:
        ParseError: It is not JSON; the message shows its beginning.
    """
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeError):
        return _loads_slowly(data)
    except RecursionError:
        raise _not_json(data, "it is nested too deeply") from None


def _loads_slowly(data: bytes | str) -> Any:
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return json.loads(text.removeprefix("\ufeff"), parse_constant=refuse_constant)
    except ValueError as error:
        raise _not_json(text, str(error)) from None
    except RecursionError:
        raise _not_json(text, "it is nested too deeply") from None


def refuse_constant(name: str) -> None:
    """Called by the standard library for NaN and the infinities, which JSON does not have."""
    raise ValueError(f"{name} is not a JSON number")


def _not_json(data: bytes | str, reason: str) -> ParseError:
    shown = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return ParseError(
        f"the provider sent something that is not JSON ({reason}): {shown[:_SHOWN]!r}",
        "Check the address of the server; a proxy or a login page may have answered instead.",
    )


def mend(text: str) -> str:
    """The text with surrogate pairs joined and halves replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _mended(value: object) -> object:
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, Mapping):
        return {mend(key): _mended(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_mended(item) for item in value]
    return value


def raw(text: str) -> msgspec.Raw:
    """A JSON text that goes into a larger one as it stands."""
    return msgspec.Raw(mend(text).encode())


def mapping(value: object) -> dict[str, Any]:
    """The value, where it is an object; otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields that have none of these names."""
    return {name: value for name, value in fields.items() if name not in names}


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of an array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def string(value: object) -> str:
    """The value, where it is a string; otherwise an empty one."""
    return value if isinstance(value, str) else ""


def text_or_none(value: object) -> str | None:
    """The value, where it is a string with something in it."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int:
    """The value, where it is a whole number; otherwise nought."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
