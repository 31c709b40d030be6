"""What went wrong, out of whatever body a provider or a proxy answers with."""

from __future__ import annotations

import re
from typing import Any

from whence.errors import ParseError
from whence.provider.exchange import Failure
from whence.provider.wire import dumps, loads, mapping, text_or_none

_SHOWN = 500
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


def read_failure(body: bytes, status: int | None = None) -> Failure:
    """The failure that an error body tells of; any body gives one."""
    try:
        value = loads(body)
    except ParseError:
        return Failure(_plain_words(body) or _nothing(status), status=status)
    return failure_of(value, status) or Failure(_clipped(_said(value)), status=status)


def failure_of(value: object, status: int | None = None) -> Failure | None:
    """The failure in a parsed body or event; None where it holds none."""
    if isinstance(value, list) and value:
        return failure_of(value[0], status)
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if isinstance(error, str) and error:
        return Failure(error, status=status)
    if isinstance(error, dict):
        return _from_object(error, status)
    said = value.get("message") or value.get("detail")
    if value.get("type") == "error" or value.get("object") == "error" or said:
        return _from_object(value, status)
    return None


def _from_object(error: dict[str, Any], status: int | None) -> Failure:
    said = error.get("message") or error.get("detail") or _upstream(error)
    kind = error.get("type")
    return Failure(
        _said(said or error),
        kind if isinstance(kind, str) and kind != "error" else text_or_none(error.get("status")),
        _word(error.get("code")),
        _word(error.get("param")),
        _status(error, status),
    )


def _said(value: object) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _upstream(error: dict[str, Any]) -> object:
    return mapping(error.get("metadata")).get("raw")


def _word(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_or_none(value)


def _status(error: dict[str, Any], status: int | None) -> int | None:
    for value in (status, error.get("status_code"), error.get("code")):
        if isinstance(value, int) and 100 <= value <= 599:
            return value
    return None


def _plain_words(body: bytes) -> str:
    """An HTML page or plain text, in one line."""
    text = body.decode("utf-8", "replace")
    title = _TITLE.search(text)
    words = title.group(1) if title else _MARKUP.sub(" ", text)
    return _clipped(" ".join(words.split()))


def _nothing(status: int | None) -> str:
    return f"an empty answer with status {status}" if status else "an empty answer"


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
