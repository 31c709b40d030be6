"""What a message names and only a run brings: remote documents and pictures, answers of agents."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import msgspec

from whence.errors import PermissionDenied, WhenceError
from whence.execute.http import Http
from whence.loop.agent_file import AgentFile, Reach, load_runnable, read_file
from whence.loop.conversation import DATA, Reader, picture
from whence.loop.scope import Scope
from whence.shapes import document as said
from whence.shapes.item import Message, Part, Text
from whence.work.web.page import Form, web_document

Ask: TypeAlias = Callable[[AgentFile, Message, Scope], Awaitable[str]]
"""Runs another agent on a message and gives its answer."""
CACHED_S = 24 * 3600
"""How long the answer of an inline agent holds."""


async def fetch(file: AgentFile, scope: Scope, ask: Ask) -> dict[int, tuple[Part, ...]]:
    """The parts behind the elements of a file that lie elsewhere, by where the element stands.

    What cannot be had is told, and left out.
    """
    parts: dict[int, tuple[Part, ...]] = {}
    for element in _elsewhere(file.document):
        try:
            parts[element.span.start] = await _brought(element, file, scope, ask)
        except WhenceError as error:
            scope.say(f"<{element.tag}>: {error.message.rstrip('.')}. {error.suggestion}")
            parts[element.span.start] = ()
    return parts


def _elsewhere(document: said.Document) -> Iterator[said.Element]:
    for item in document.items():
        yield from _named(item.parts if isinstance(item, said.Message) else ())


def _named(parts: Iterable[said.Part]) -> Iterator[said.Element]:
    for part in parts:
        if isinstance(part, said.Element) and (part.tag == "agent" or _is_remote(part)):
            yield part


def _is_remote(element: said.Element) -> bool:
    if element.tag not in ("doc", "img") or element.flag("local"):
        return False
    return element.tag == "doc" or not (element.get("src") or "").startswith(DATA)


async def _brought(
    element: said.Element, file: AgentFile, scope: Scope, ask: Ask
) -> tuple[Part, ...]:
    src = element.get("src") or ""
    if element.tag == "agent":
        return (Text(await _answer(element, src, file, scope, ask)),)
    if element.tag == "img":
        return (picture(src, (await Http().get(src, allow=scope.web)).body),)
    form = Form.MARKDOWN if element.flag("markdown") else Form.SOURCE
    form = Form.TEXT if element.flag("strip") else form
    return (Text((await web_document(src, form, http=Http(), allow=scope.web)).markdown),)


async def _answer(element: said.Element, src: str, file: AgentFile, scope: Scope, ask: Ask) -> str:
    """What another agent says to what the element holds; remembered by all that it is of."""
    if "://" in src:
        raise PermissionDenied(
            f"{src!r} is not on this machine, and an agent in a message runs without being asked",
            'Save it here, or declare it as a tool: <tool name="…" agent="…"/>.',
        )
    base = file.expanded.origin(element.span.start)[0]
    reach = Reach(file.path, scope.workspace)
    try:
        path = reach.find(src, base)
    finally:
        reach.close()
    child = load_runnable(path, scope.workspace)
    asked = await _question(element, file, scope, ask)
    said_to = hashlib.sha256(child.document.source + b"\0" + msgspec.json.encode(asked.parts))
    store = Path(file.path).parent / ".chatmd" / f"agent-{said_to.hexdigest()[:32]}.json"
    kept = _kept(store)
    if kept is not None:
        return kept
    text = await ask(child, asked, scope)
    _keep(store, text)
    return text


async def _question(element: said.Element, file: AgentFile, scope: Scope, ask: Ask) -> Message:
    """The words inside the element, with the documents, pictures and answers among them."""
    inside = {
        part.span.start: await _brought(part, file, scope, ask) for part in _named(element.parts)
    }
    reader = Reader(file, scope.workspace, inside)
    parts = reader.parts(element.parts)
    for note in reader.notes:
        scope.say(note)
    trimmed = (Text(part.text.strip()) if isinstance(part, Text) else part for part in parts)
    return Message("user", tuple(part for part in trimmed if part != Text("")))


class _Kept(msgspec.Struct):
    """An answer that may be given again."""

    at: float
    answer: str


def _kept(store: Path) -> str | None:
    try:
        kept = msgspec.json.decode(read_file(str(store)), type=_Kept)
    except (WhenceError, msgspec.DecodeError):
        return None
    return kept.answer if 0 <= time.time() - kept.at < CACHED_S else None


def _keep(store: Path, text: str) -> None:
    """Remember an answer; where nothing can be written, it is asked for again."""
    part = store.with_suffix(f".{os.getpid()}.part")
    with suppress(OSError):
        store.parent.mkdir(mode=0o700, exist_ok=True)
        part.write_bytes(msgspec.json.encode(_Kept(time.time(), text)))
        part.replace(store)
