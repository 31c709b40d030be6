"""What the calls of a session changed, read back from its journal."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from whence.errors import ParseError
from whence.journal.artifacts import UNDO
from whence.journal.blocks import blocks
from whence.journal.comments import load_with_comments
from whence.journal.place import opened
from whence.journal.read import session_directory
from whence.journal.record import field as key
from whence.journal.record import part_numbers
from whence.journal.standing import OUTCOMES
from whence.shapes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call, and the files that it changed."""

    call_id: str
    tool: str
    why: str
    timestamp: str
    changes: tuple[Mapping[str, Any], ...]
    """In the order of the call; empty where it changed nothing."""
    interrupted: bool = False
    """No outcome tells what was done: `changes` is what was begun."""


def recorded_calls(directory: str, call_id: str | None = None) -> Iterator[Recorded]:
    """Every call that changed a file, in order; of one id, every call, whatever it did.

    Raises:
        NotFound: There is no log in that directory.
    """
    waiting: dict[str, bytes] = {}
    with session_directory(directory) as session:
        for part in part_numbers(session):
            with opened(session, part) as descriptor:
                for block in blocks(descriptor, 0, os.fstat(descriptor).st_size):
                    own = key(block.text, b"call_id") or ""
                    if key(block.text, b"type") == "tool_call":
                        waiting[own] = block.text
                    elif key(block.text, b"type") in OUTCOMES:
                        call = waiting.pop(own, b"")
                        if own == call_id or (call_id is None and b"\nchanges:" in block.text):
                            yield _recorded(directory, own, call, block.text)
    if call_id in waiting:
        yield _recorded(directory, call_id, waiting[call_id], b"")


def _recorded(directory: str, call_id: str, call: bytes, outcome: bytes) -> Recorded:
    made, came = _fields(call), _fields(outcome)
    args = made.get("args")
    reason = (args.get("_why") or args.get("why")) if isinstance(args, Mapping) else ""
    tool = str(made.get("tool") or came.get("tool") or "")
    stamp = str(made.get("timestamp") or came.get("timestamp") or "")
    listed = came.get("changes")
    error = came.get("error")
    cut_off = not came or (isinstance(error, Mapping) and error.get("code") == "INTERRUPTED")
    if listed is None and cut_off:
        begun = _begun(directory, call_id)
        return Recorded(call_id, tool, str(reason or ""), stamp, begun, interrupted=True)
    changes = _listed(directory, listed)
    return Recorded(call_id, tool, str(reason or ""), stamp, changes)


def _fields(text: bytes) -> Mapping[str, Any]:
    if not text:
        return {}
    try:
        value = load_with_comments(text.decode("utf-8", "replace"))[0]
    except ParseError:
        return {}  # damaged, which `verify` reports
    return value if isinstance(value, Mapping) else {}


def _listed(directory: str, listed: object) -> tuple[Mapping[str, Any], ...]:
    """The changes of an event, which has them itself or names the file that does."""
    if isinstance(listed, Mapping):
        name = os.path.basename(str(listed.get("list", "")))
        try:
            with open(os.path.join(directory, UNDO, name), "rb") as file:
                data = file.read()
        except OSError:
            return ()
        listed = json.loads(data) if _digest(data) == listed.get("sha256") else ()
    if not isinstance(listed, list):
        return ()
    changes = (change for change in listed if isinstance(change, Mapping) and "path" in change)
    return tuple(map(_with_its_path, changes))


def _with_its_path(change: Mapping[str, Any]) -> Mapping[str, Any]:
    """The change under the name that its file has, also where that is no Unicode."""
    if "path_hex" not in change:
        return change
    return {**change, "path": os.fsdecode(bytes.fromhex(str(change["path_hex"])))}


def _begun(directory: str, call_id: str) -> tuple[Mapping[str, Any], ...]:
    """What a call had noted that was about to happen when its process ended."""
    where = os.path.join(directory, UNDO)
    try:
        with open(os.path.join(where, "begun"), "rb") as file:
            lines = [line for line in file if line.endswith(b"\n")]
    except OSError:
        return ()
    noted = [value for value in map(json.loads, lines) if value["call"] == call_id]
    # An id may have come twice; names begin alike where it was one call.
    last = noted[-1]["name"].partition(".")[0] if noted else ""
    own = [value for value in noted if value["name"].partition(".")[0] == last]
    return tuple(_intention(where, value) for value in own)


def _intention(where: str, noted: Mapping[str, Any]) -> Mapping[str, Any]:
    before = noted["before"]
    change: dict[str, Any] = {"path": noted["path"], "action": "begun"}
    if before is not None:
        change |= {"size_before": before["size"], "mode": f"{before['mode']:04o}"}
        if os.path.exists(os.path.join(where, noted["name"])):
            change["kept"] = noted["name"]
            with open(os.path.join(where, noted["name"]), "rb") as file:
                change["before"] = hashlib.file_digest(file, "sha256").hexdigest()
    return change


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
