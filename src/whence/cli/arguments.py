"""A call's arguments as a person or a program writes them: JSON, or YAML with comments."""

from __future__ import annotations

import sys

import msgspec

from whence.errors import UsageError, WhenceError
from whence.journal.comments import load_with_comments
from whence.shapes.call import Call


def read_call(tool: str, text: str | None, call_id: str | None = None) -> Call:
    """The call; text that cannot be read makes a call that the gate records and refuses."""
    raw = _raw(text)
    try:
        return Call(tool, msgspec.json.decode(raw), id=call_id)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        as_json = str(error)
    try:
        shown = raw.decode()
    except UnicodeDecodeError as error:
        problem = f"not valid UTF-8: {error.reason} at byte {error.start}"
        return _unread(tool, raw.decode(errors="replace"), problem, call_id)
    try:
        value, comments = load_with_comments(shown)
    except WhenceError as error:
        looks_like_json = shown.lstrip().startswith(("{", "["))
        problem = as_json if looks_like_json else error.message
        return _unread(tool, shown, problem, call_id)
    return Call(tool, value, id=call_id, comments=comments)


def _raw(text: str | None) -> bytes:
    if text is not None and text != "-":
        return text.encode(errors="surrogateescape")
    if sys.stdin.isatty():
        raise UsageError("no arguments were given", "Give them as JSON, or write YAML to stdin.")
    return sys.stdin.buffer.read()


def _unread(tool: str, text: str, problem: str, call_id: str | None) -> Call:
    return Call(tool, None, id=call_id, unparsed=text, parse_problem=problem)
