"""The block of an ordinary call and of its result: what `emit` would give, without its walk.

Nearly every event is one of these two, with the same keys in the same order and scalars below them.
Tool and call are named by strings there. Whatever is different about an event, `emit` writes it.
"""

from __future__ import annotations

from whence.journal.emit import KNOWN, PLENTY, scalar, simple_key
from whence.shapes.event import Event

_CALLS = frozenset({("tool", "call_id", "args"), ("tool", "call_id", "args", "paths")})
_RESULT = ("call_id", "tool", "success", "duration_ms", "result")
_CONSTANTS = {True: "true", False: "false", None: "null"}
_known = KNOWN.get


def call_block(event: Event) -> str | None:
    """The lines of a `tool_call` whose arguments are scalars without line breaks; else None."""
    fields = event.fields
    if event.comments or (*fields,) not in _CALLS:
        return None
    tool, call_id, args, *paths = fields.values()
    if type(args) is not dict or not args:
        return None
    lines = ""
    for key, value in args.items():
        kind = type(value)
        if kind is str:
            text = _known(value) or (scalar(value) if "\n" not in value else None)
            if text is None:
                return None
        elif kind is int and -PLENTY < value < PLENTY:
            text = value
        elif kind is bool or value is None:
            text = _CONSTANTS[value]
        else:
            return None
        lines += f"  {_known(key) or simple_key(key, '  ')}: {text}\n"
    if paths:
        (named,) = paths
        if type(named) is not list or len(named) != 1 or type(named[0]) is not str:
            return None
        lines += f"paths: [{_known(named[0]) or scalar(named[0])}]\n"
    return (
        f"type: tool_call\ntool: {_known(tool) or scalar(tool)}\n"
        f"call_id: {_known(call_id) or scalar(call_id)}\nargs:\n{lines}"
    )


def result_block(event: Event) -> str | None:
    """The lines of a `tool_result` that is a text on one line; else None."""
    fields = event.fields
    if event.comments or (*fields,) != _RESULT:
        return None
    call_id, tool, success, spent, result = fields.values()
    if type(result) is not str or "\n" in result or success is not True:
        return None
    if type(spent) is not float or not 0.001 <= spent < 1e9:
        return None
    return (
        f"type: tool_result\ncall_id: {_known(call_id) or scalar(call_id)}\n"
        f"tool: {_known(tool) or scalar(tool)}\nsuccess: true\nduration_ms: {spent!r}\n"
        f"result: {_known(result) or scalar(result)}\n"
    )
