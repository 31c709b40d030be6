"""Replacing a text in a file of the workspace."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from whence.errors import Conflict
from whence.execute.ports import Change, Files
from whence.work import files as work
from whence.work import text
from whence.work.edits.search_replace import Wanted
from whence.work.edits.search_replace import replace as replaced

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Replacement:
    """What was replaced."""

    count: int
    bytes_written: int


async def find_and_replace(
    files: Files, path: str, find: str, replace: str, *, every: bool
) -> Replacement:
    """Put one text in the place of another: the only occurrence, or every one.

    Raises:
        Conflict: It is not there, or it is there several times and one was meant.
    """
    data = await work.read_whole(files, path)
    mark, body = text.split_bom(text.decode(data, path))
    wanted = Wanted(find, replace, None if every else 1, "find", "replace")
    try:
        done = replaced(body, wanted)
    except Conflict as error:
        raise _refusal(error, path, find) from None
    changed = (mark + done.text).encode()
    files.change([Change(path, changed, expect=hashlib.sha256(data).digest())])
    return Replacement(done.count, len(changed))


def _refusal(error: Conflict, path: str, find: str) -> Conflict:
    """The same with the words that this tool has always used."""
    if error.details.get("reason") == "ambiguous":
        message = (
            f"Error Found multiple occurrences of {quoted(find)} in {path}, but all set to false. "
            "Use apply_patch instead."
        )
        where = error.message.rpartition(": ")[2]
        hint = f"It is in {where}. Use apply_patch with lines around the one that is meant."
        return Conflict(message, hint, details=error.details)
    message = f"No occurrences of {quoted(find)} found in {path}."
    return Conflict(message, f"{error.suggestion} ({error.message}.)", details=error.details)


def quoted(words: str) -> str:
    """A text in quotes, its middle left out where it is long."""
    if len(words) <= _SHOWN:
        return f"'{words}'"
    half = _SHOWN // 2
    return f"'{words[:half]}…{words[-half:]}'"
