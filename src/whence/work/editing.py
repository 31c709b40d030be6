"""Edits of one file of the workspace: read, changed as text, and written whole or not at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from whence.errors import Conflict
from whence.execute.ports import Change, Files
from whence.work import files as work
from whence.work import text
from whence.work.edits.blocks import Placed, apply
from whence.work.edits.diff_blocks import parse
from whence.work.edits.numbered import is_numbered
from whence.work.edits.search_replace import Replaced, Wanted
from whence.work.edits.search_replace import replace as replace_text


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as an edit left it."""

    created: bool
    bytes_written: int
    warnings: tuple[str, ...] = ()


async def replace_blocks(files: Files, path: str, diff: str) -> tuple[Stored, tuple[Placed, ...]]:
    """Apply SEARCH/REPLACE blocks: all of them, or none."""
    blocks = parse(diff)
    before, mark, body = await read_text(files, path)
    applied = apply(blocks, body)
    return store(files, path, before, mark + applied.text), applied.placed


async def replace_in(
    files: Files, path: str, *wanted: Wanted
) -> tuple[Stored, tuple[Replaced, ...]]:
    """Make replacements one after the other, each in what the one before it left; all, or none."""
    before, mark, body = await read_text(files, path)
    after, done = replace_text(body, *wanted)
    return store(files, path, before, mark + after), done


async def create(files: Files, path: str, content: str) -> Stored:
    """Make a file where there is none."""
    if files.info(path, follow=False) is not None:
        raise Conflict(
            f"{path!r} exists already",
            "To change it, say which text is to be replaced; for another file, take a new name.",
        )
    return store(files, path, None, content)


async def rewrite(files: Files, path: str, content: str) -> Stored:
    """Give a file a new content, in the habits of the old one: its mark, line and last endings.

    The content itself is taken as it is: it may look like a code block, or numbered, and be meant.
    """
    looks = _looks_odd(path, content)
    if files.info(path) is None:
        return replace(store(files, path, None, content), warnings=looks)
    before = await work.read_whole(files, path)
    kept, notes = _in_the_habits_of(before, content)
    return replace(store(files, path, before, kept), warnings=(*looks, *notes))


async def read_text(files: Files, path: str) -> tuple[bytes, str, str]:
    """The bytes of a text file, its byte order mark, and the text after it."""
    before = await work.read_whole(files, path)
    return before, *text.split_bom(text.decode(before, path))


def store(files: Files, path: str, before: bytes | None, after: str | None) -> Stored:
    """Write the text that a file gets in place of what was read; None: no file.

    Raises:
        Conflict: The file is no longer what was read.
    """
    data = None if after is None else after.encode()
    expect = b"" if before is None else hashlib.sha256(before).digest()
    files.change([Change(path, data, expect=expect)])
    return Stored(before is None, len(data or b""))


def _in_the_habits_of(before: bytes, content: str) -> tuple[str, list[str]]:
    notes: list[str] = []
    if not content or not before:
        return content, notes
    if not text.is_text(before):
        notes.append("the file was not UTF-8 text before; it is now")
        return content, notes
    if before.startswith(b"\xef\xbb\xbf") and not content.startswith("\ufeff"):
        content = "\ufeff" + content
    newlines = before.count(b"\n")
    if newlines and before.count(b"\r\n") == newlines and "\r" not in content:
        content = content.replace("\n", "\r\n")
        notes.append("the lines end with CRLF, as before")
    if before.endswith(b"\n") and not content.endswith("\n"):
        content += "\r\n" if before.endswith(b"\r\n") else "\n"
        notes.append("the file ends with a newline, as before")
    return content, notes


def _looks_odd(path: str, content: str) -> tuple[str, ...]:
    lines = content.strip("\n").split("\n")
    if len(lines) > 1 and is_numbered(lines):
        return ("every line begins with a number and a bar; they were written as given",)
    fenced = len(lines) > 1 and lines[0].startswith("```") and lines[-1].rstrip() == "```"
    if fenced and not path.lower().endswith((".md", ".mdx", ".markdown")):
        return ("the content is a Markdown code block; its fences were written as given",)
    return ()
