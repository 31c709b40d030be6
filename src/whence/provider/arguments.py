"""The arguments of a call: from the text that a model wrote to values, and back to its provider."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from whence.provider.wire import dumps, mend, refuse_constant
from whence.shapes.item import Native, ToolCall
from whence.shapes.json import JSONObject

UNPARSED = "unparsed_arguments"
"""The only key of an object that stands for arguments that were no JSON object."""

_CONSTANT = re.compile(r"-?(?:NaN|Infinity)")


class Reading(NamedTuple):
    """Values, or why there are none, with the place where the text goes wrong."""

    arguments: JSONObject | None
    problem: str = ""


def read_arguments(text: str) -> Reading:
    """The arguments that a JSON text holds; a blank text and `null` are no arguments."""
    if not text.strip():
        return Reading({})
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value, problem = _read_slowly(text)
        if problem is not None:
            return problem
    return _as_object(value)


def _read_slowly(text: str) -> tuple[Any, Reading | None]:
    try:
        value = json.loads(text, parse_constant=refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        return None, Reading(None, _describe(error, text))
    except RecursionError:
        return None, Reading(None, "the JSON is nested too deeply")
    except ValueError as error:
        found = _CONSTANT.search(text)
        where = f", at character {found.start()}" if found else ""
        return None, Reading(None, f"{error}{where}")
    return json.loads(mend(json.dumps(value, ensure_ascii=False))), None


def cut_short(text: str) -> str:
    """The problem of arguments that were not whole when the answer ended."""
    return f"the answer ended before the arguments were whole, at character {len(text)}"


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:40]} is out of range")
    return value


def _describe(error: json.JSONDecodeError, text: str) -> str:
    place = f"line {error.lineno} column {error.colno} (character {error.pos} of {len(text)})"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"the JSON is cut off: {_lower(error.msg)} at {place}"
    near = text[error.pos : error.pos + 20]
    return f"the JSON is malformed: {_lower(error.msg)} at {place}, near {near!r}"


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:].removesuffix(" at").removesuffix(" starting")


def _as_object(value: object) -> Reading:
    if value is None:
        return Reading({})
    if isinstance(value, dict):
        return Reading(value)
    kind = "an array" if isinstance(value, list) else f"the value {str(value)[:40]!r}"
    return Reading(None, f"the arguments are {kind}, not a JSON object, at character 0")


def make_call(
    call_id: str,
    name: str,
    text: str,
    *,
    item_id: str | None = None,
    native: Native | None = None,
    cut: bool = False,
) -> ToolCall:
    """A call from the text of its arguments; one that was cut off has a problem in any case."""
    text = mend(text)
    reading = Reading(None, cut_short(text)) if cut else read_arguments(text)
    whole = text if cut or text.strip() not in ("", "null") else "{}"
    return ToolCall(call_id, name, whole, *reading, item_id=item_id, native=native)


def call_with(call_id: str, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    """A call from values."""
    return ToolCall(call_id, name, dumps(arguments).decode(), dict(arguments))


def replayed_text(call: ToolCall) -> str:
    """The arguments as an object that every server can parse.

    Servers that read the arguments of earlier calls refuse a conversation in which one is not
    JSON; such a text goes back inside an object, so that the model still sees what it wrote.
    """
    if call.custom:
        return dumps({"input": call.text}).decode()
    return dumps({UNPARSED: call.text}).decode() if call.arguments is None else call.text


def recorded_call(
    call_id: str,
    name: str,
    text: str,
    *,
    item_id: str | None = None,
    native: Native | None = None,
) -> ToolCall:
    """A call from a history that was sent before: the reverse of `replayed_text`."""
    call = make_call(call_id, name, text, item_id=item_id, native=native)
    if call.arguments is not None and list(call.arguments) == [UNPARSED]:
        inner = call.arguments[UNPARSED]
        if isinstance(inner, str):
            reading = read_arguments(inner)
            cut = reading.arguments is not None
            return make_call(call_id, name, inner, item_id=item_id, native=native, cut=cut)
    return call
