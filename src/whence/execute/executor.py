"""Runs what the gate admitted: within its time, and never letting an exception out."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable
from typing import Any

import msgspec

from whence.errors import WhenceError
from whence.execute.containment import Root
from whence.execute.deadline import Overdue, within
from whence.execute.edits import Edits
from whence.execute.files import WorkspaceFiles, os_error
from whence.execute.http import Http
from whence.execute.ordering import alone_with
from whence.execute.ports import Ports, Shelf
from whence.gate.gate import Admitted
from whence.shapes.call import Fault, Reply
from whence.shapes.json import JSONObject
from whence.shapes.process import ProcessRunner
from whence.shapes.tool import Handler
from whence.shapes.web import host_policy

_encode = msgspec.json.Encoder().encode
_HTTP = Http()
_WRITE_THROUGH_PORTS = frozenset({"builtin", "python"})
"""Sources whose tools change files themselves, and not by further calls or programs."""


class Ended(msgspec.Struct, frozen=True, gc=False):
    """What came of running a handler."""

    value: Any = None
    """JSON."""
    text: str = ""
    """The value as text: itself, or its JSON."""
    fault: Fault | None = None
    truncated: bool = False
    warnings: tuple[str, ...] = ()
    bytes_written: int = 0
    isolation: JSONObject | None = None
    """How far a program was kept apart."""
    traceback: str = ""
    """Of an error that is a bug, for the log; a model never sees it."""


async def execute(
    admitted: Admitted,
    root: Root,
    processes: ProcessRunner,
    call_id: str = "",
    edits: Edits | None = None,
    shelf: Shelf | None = None,
) -> Ended:
    """Run an admitted call. Cancellation passes through; everything else becomes a value."""
    tool = admitted.mounted.tool
    handler = tool.handler
    if handler is None:
        return Ended(fault=_unavailable(admitted))
    closed = admitted.closed
    files = WorkspaceFiles(root, admitted.places, closed, edits)
    hosts = host_policy(tool.sandbox.hosts)
    why, time = admitted.request.why, admitted.timeout_ms
    ports = Ports(files, processes, _HTTP, closed, call_id, why, hosts, time, shelf)
    try:
        if admitted.mounted.writes and tool.source in _WRITE_THROUGH_PORTS:
            running: Awaitable[object] = _in_turn(handler, admitted, root, ports)
        else:
            running = handler(admitted.arguments, ports)
        return _ended(await within(admitted.timeout_ms / 1000, running))
    except Overdue:
        return Ended(fault=_timeout(admitted))
    except WhenceError as error:
        return Ended(fault=Fault.of(error))
    except OSError as error:
        shown = str(error.filename or admitted.mounted.name)
        return Ended(fault=Fault.of(os_error(error, shown)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - here a tool's bug becomes a value
        return _bug(admitted, error)


async def _in_turn(handler: Handler, admitted: Admitted, root: Root, ports: Ports) -> object:
    """Run a handler while no other call writes the same files."""
    async with alone_with(root, [place.real for place in admitted.places.values()]):
        return await handler(admitted.arguments, ports)


def _ended(returned: object) -> Ended:
    if type(returned) is str and returned.isascii():
        return Ended(returned, returned)
    reply = returned if isinstance(returned, Reply) else Reply(returned)
    value = msgspec.to_builtins(reply.value)
    try:
        written = _encode(value)
    except UnicodeEncodeError:
        value = _readable(value)
        written = _encode(value)
    text = value if type(value) is str else written.decode()
    return Ended(
        value,
        text,
        None,
        reply.truncated,
        reply.warnings,
        reply.bytes_written,
        reply.isolation,
    )


def _readable(value: Any) -> Any:
    """The value with escapes for what is no Unicode, such as the bytes of an odd file name."""
    if type(value) is str:
        return _bytes_of(value).decode("utf-8", "backslashreplace")
    if type(value) is list:
        return [_readable(item) for item in value]
    if type(value) is dict:
        return {_readable(key): _readable(item) for key, item in value.items()}
    return value


def _bytes_of(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, such as JavaScript has them
        return text.encode("utf-8", "backslashreplace")


def _unavailable(admitted: Admitted) -> Fault:
    tool = admitted.mounted.tool
    if tool.source == "builtin":
        return Fault(
            "UNAVAILABLE",
            f"{tool.name} is declared, and nothing here can carry it out",
            "Use another tool; one that needs a conversation, such as fork, works in `whence run`.",
        )
    return Fault(
        "UNAVAILABLE",
        f"{tool.name} is declared, but its source ({tool.source}) cannot be reached",
        "Use another tool, or configure the source that provides it.",
    )


def _timeout(admitted: Admitted) -> Fault:
    return Fault(
        "TIMEOUT",
        f"{admitted.mounted.name} took longer than {admitted.timeout_ms} ms and was stopped",
        "Ask for less at once.",
        details={"timeout_ms": admitted.timeout_ms},
    )


def _bug(admitted: Admitted, error: BaseException) -> Ended:
    name = admitted.mounted.name
    own = admitted.mounted.tool.source == "builtin"
    said = type(error).__name__ if own else _readable(f"{type(error).__name__}: {error}")
    fault = Fault(
        "EXECUTION_FAILED",
        f"{name} failed: {said}",
        "Try other arguments or another tool; the details are in the log.",
    )
    return Ended(fault=fault, traceback="".join(traceback.format_exception(error)))
