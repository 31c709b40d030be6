"""What an agent file says, as the conversation that a model is sent.

Local documents and pictures are read here; what lies elsewhere is named, not fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import get_args

import msgspec

from whence.chatmd.append import load
from whence.errors import WhenceError
from whence.loop.agent_file import AgentFile, Reach, read_file
from whence.loop.transcript import COMPACTED
from whence.provider import openai_responses
from whence.shapes import document as said
from whence.shapes.item import (
    Image,
    Inline,
    Item,
    Link,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolOutcome,
)
from whence.work.web.strip import visible_text

_NONE: Mapping[int, tuple[Part, ...]] = {}
_SUMMARY = re.compile(rf"{COMPACTED} (\d+)").fullmatch


class Reader:
    """Turns the entries of an agent file into items; remembers what it could not bring along."""

    def __init__(
        self, agent: AgentFile, workspace: str, fetched: Mapping[int, tuple[Part, ...]] = _NONE
    ) -> None:
        self.agent = agent
        self._fetched = fetched
        self.notes: list[str] = []
        """What the items do not hold, and why."""
        self._reach = Reach(agent.path, workspace)

    def items(self) -> tuple[Item, ...]:
        """The conversation, without the empty message where a person types next."""
        try:
            entries = list(self.agent.document.items())
            if entries and isinstance(entries[-1], said.Message) and entries[-1].blank:
                entries.pop()
            return tuple(self._item(entry) for entry in _from_summary(entries))
        finally:
            self._reach.close()

    def _item(self, entry: said.Item) -> Item:
        match entry:
            case said.Message():
                role: Role = entry.role if entry.role in get_args(Role) else "user"  # type: ignore[assignment]
                parts = tuple(self._parts(entry.parts))
                return Message(role, parts, entry.id, entry.name, entry.phase)
            case said.ToolCall():
                return self._call(entry)
            case said.ToolResponse():
                text = self._payload(entry)
                parts = (Text(text),) if text is not None else tuple(self._parts(entry.parts))
                return ToolOutcome(entry.id, parts, custom=entry.custom, item_id=entry.item_id)
            case said.Reasoning():
                return Reasoning(
                    entry.protocol or openai_responses.PROTOCOL,
                    entry.texts,
                    entry.summaries,
                    entry.encrypted,
                    redacted=bool(entry.encrypted and not (entry.texts or entry.summaries)),
                    id=entry.id,
                )

    def _call(self, entry: said.ToolCall) -> ToolCall:
        text = self._payload(entry)
        written = entry.text.strip() if text is None else text
        arguments, problem = None, ""
        if not entry.custom:
            try:
                arguments = msgspec.json.decode(written)
            except msgspec.DecodeError as error:
                problem = str(error)
        return ToolCall(
            entry.id, entry.name, written, arguments, problem,
            item_id=entry.item_id, custom=entry.custom,
        )  # fmt: skip

    def _payload(self, entry: said.ToolCall | said.ToolResponse) -> str | None:
        """The text of a payload that was moved out of the file."""
        if entry.stored is None:
            return None
        try:
            return load(Path(self.agent.path), entry.stored).decode(errors="replace")
        except WhenceError as error:
            self.notes.append(error.message)
            return ""

    def _parts(self, parts: tuple[said.Part, ...]) -> Iterator[Part]:
        for part in parts:
            if isinstance(part, said.Text):
                yield Text(part.text)
            else:
                yield from self._element(part)

    def _element(self, element: said.Element) -> Iterator[Part]:
        src = element.get("src") or ""
        fetched = self._fetched.get(element.span.start)
        if fetched is not None:
            yield from fetched
        elif element.tag == "agent":
            self.notes.append(f"<agent src={src!r}> is answered when the file is run")
        elif element.tag == "img" and not element.flag("local"):
            yield Image(Link(src))
        elif not element.flag("local"):
            self.notes.append(f"<{element.tag} src={src!r}> is fetched when the file is run")
        else:
            yield from self._local(element, src)

    def _local(self, element: said.Element, src: str) -> Iterator[Part]:
        try:
            base = self.agent.expanded.origin(element.span.start)[0]
            data = read_file(self._reach.find(src, base))
            yield picture(src, data) if element.tag == "img" else Text(_words(element, data))
        except WhenceError as error:
            self.notes.append(f"<{element.tag}>: {error.message}")


def _from_summary(entries: list[said.Item]) -> list[said.Item]:
    """The instructions, the last summary and what it left, and what came after it."""
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        found = _SUMMARY(entry.status or "") if isinstance(entry, said.Message) else None
        if found is None:
            continue
        spoken = takewhile(_instructs, entries[:index])
        kept = entries[max(index - int(found[1]), 0) : index]
        return [*spoken, entry, *kept, *entries[index + 1 :]]
    return entries


def _instructs(entry: said.Item) -> bool:
    return isinstance(entry, said.Message) and entry.role in ("system", "developer")


def _words(element: said.Element, data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return visible_text(text) if element.flag("strip") else text


def picture(src: str, data: bytes) -> Image:
    """A picture that travels with the conversation, upright and no larger than a model looks at."""
    from whence.work.images import load_picture

    loaded = load_picture(data, src)
    return Image(Inline(loaded.media_type, loaded.base64))
