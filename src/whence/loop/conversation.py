"""What an agent file says, as the conversation that a model is sent.

Local documents and pictures are read here; what lies elsewhere is named, not fetched.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote_to_bytes

import msgspec

from whence.chatmd.payloads import is_payload, load
from whence.chatmd.render import SUFFIXES
from whence.chatmd.scan import to_text
from whence.errors import InvalidArgs, WhenceError
from whence.loop.agent_file import AgentFile, Reach, read_file
from whence.loop.transcript import COMPACTED, FAILED, INCOMPLETE, REDACTED
from whence.provider import openai_responses
from whence.provider.arguments import make_call
from whence.shapes import document as said
from whence.shapes.item import (
    Image,
    Inline,
    Item,
    Link,
    Message,
    Native,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolOutcome,
)

DATA = "data:"
"""Begins an address that is the thing itself."""
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
            entries = _entries(self.agent)
            return tuple(map(self._item, _from_summary(entries)))
        finally:
            self._reach.close()

    def parts(self, parts: tuple[said.Part, ...]) -> tuple[Part, ...]:
        """What stands in an element of the file."""
        try:
            return tuple(self._parts(parts))
        finally:
            self._reach.close()

    def _item(self, entry: said.Item) -> Item:
        match entry:
            case said.Message():
                return self._message(entry)
            case said.ToolCall():
                return self._call(entry)
            case said.ToolResponse():
                text = self._payload(entry)
                parts = (Text(text),) if text is not None else tuple(self._parts(entry.parts))
                return ToolOutcome(
                    entry.id, parts, entry.status == FAILED, custom=entry.custom,
                    item_id=entry.item_id, native=_native(entry.native),
                )  # fmt: skip
            case said.Reasoning():
                return Reasoning(
                    entry.protocol or openai_responses.PROTOCOL,
                    entry.texts,
                    entry.summaries,
                    entry.encrypted,
                    redacted=entry.status == REDACTED,
                    id=entry.id,
                    native=_native(entry.native),
                )

    def _message(self, entry: said.Message) -> Item:
        role: Role = entry.role if entry.role in get_args(Role) else "user"  # type: ignore[assignment]
        protocol, _, kind = (entry.type or "").rpartition("/")
        if protocol:
            stored = self._payload(entry)
            return Opaque(protocol, kind, entry.text if stored is None else stored, role)
        parts = tuple(self._parts(entry.parts))
        return Message(role, parts, entry.id, entry.name, entry.phase, _native(entry.native))

    def _call(self, entry: said.ToolCall) -> ToolCall:
        text = self._payload(entry)
        written = entry.text if text is None else text
        native = _native(entry.native)
        if entry.custom:
            return ToolCall(
                entry.id, entry.name, written, {"input": written}, item_id=entry.item_id,
                custom=True, native=native,
            )  # fmt: skip
        return make_call(entry.id, entry.name, written, item_id=entry.item_id, native=native)

    def _payload(self, entry: said.Message | said.ToolCall | said.ToolResponse) -> str | None:
        """The text of a payload that was moved out of the file."""
        if entry.stored is None:
            return None
        try:
            return load(Path(self.agent.path), entry.stored).decode(errors="replace")
        except WhenceError as error:
            self.notes.append(error.message)
            return "" if isinstance(entry, said.ToolCall) else f"[{error.message}]"

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
        elif element.tag == "import":  # only what a person says is imported
            yield Text(to_text(self.agent.document.source[slice(*element.span)]))
        elif element.tag == "agent":
            self.notes.append(f"<agent src={src!r}> is answered when the file is run")
        elif element.tag == "img" and src.startswith(DATA):
            yield from self._read(element, lambda: picture("data:…", _spelled_out(src)))
        elif element.tag == "img" and not element.flag("local"):
            yield Image(Link(src))
        elif not element.flag("local"):
            self.notes.append(f"<{element.tag} src={src!r}> is fetched when the file is run")
        else:
            yield from self._read(element, lambda: self._local(element, src))

    def _local(self, element: said.Element, src: str) -> Part:
        if is_payload(src):
            return _stored(element, load(Path(self.agent.path), src))
        base = self.agent.expanded.origin(element.span.start)[0]
        data = read_file(self._reach.find(src, base))
        return picture(src, data) if element.tag == "img" else Text(_words(element, src, data))

    def _read(self, element: said.Element, part: Callable[[], Part]) -> Iterator[Part]:
        """The part, if it can be had."""
        try:
            yield part()
        except WhenceError as error:
            self.notes.append(f"<{element.tag}>: {error.message}")


def broke_off(agent: AgentFile) -> bool:
    """Whether the last entry is an answer that is not whole."""
    entries = _entries(agent)
    last = entries[-1] if entries else None
    return isinstance(last, said.Message) and last.status == INCOMPLETE


def _entries(agent: AgentFile) -> list[said.Item]:
    entries = list(agent.document.items())
    if entries and isinstance(entries[-1], said.Message) and entries[-1].blank:
        entries.pop()
    return entries


def _native(written: str | None) -> Native | None:
    """What one protocol adds to an entry; what is not readable is nobody's."""
    if not written:
        return None
    try:
        found = msgspec.json.decode(written, type=dict[str, dict[str, Any]])
    except msgspec.DecodeError:
        return None
    return next((Native(protocol, fields) for protocol, fields in found.items()), None)


def _stored(element: said.Element, data: bytes) -> Part:
    """A payload of the transcript, as it was when it was put there."""
    if element.tag != "img":
        return Text(data.decode("utf-8", "replace"))
    suffix = (element.get("src") or "").rpartition(".")[2]
    kind = next((kind for kind, known in SUFFIXES.items() if known == suffix), "image/png")
    return Image(Inline(kind, base64.b64encode(data).decode()))


def _from_summary(entries: list[said.Item]) -> list[said.Item]:
    """The instructions, the last summary and what it left, and what came after it."""
    for index in range(len(entries) - 1, -1, -1):
        count = _left_by(entries[index])
        if count is None:
            continue
        spoken = takewhile(_instructs, entries[:index])
        before = [entry for entry in entries[:index] if _left_by(entry) is None]
        kept = before[max(len(before) - count, 0) :]
        return [*spoken, entries[index], *kept, *entries[index + 1 :]]
    return entries


def _left_by(entry: said.Item) -> int | None:
    """How many entries before it a summary leaves as they are; None: it is no summary."""
    found = _SUMMARY(entry.status or "") if isinstance(entry, said.Message) else None
    return int(found[1]) if found else None


def _instructs(entry: said.Item) -> bool:
    return isinstance(entry, said.Message) and entry.role in ("system", "developer")


def _words(element: said.Element, src: str, data: bytes) -> str:
    converted = element.flag("strip") or element.flag("markdown")
    if not converted and b"\0" not in data[:8192] and not data.startswith(b"%PDF-"):
        return data.decode("utf-8", "replace")
    from whence.work.web.page import Form, local_document

    form = Form.MARKDOWN if element.flag("markdown") else Form.SOURCE
    return local_document(src, data, Form.TEXT if element.flag("strip") else form)


def _spelled_out(uri: str) -> bytes:
    """What stands in a `data:` address."""
    head, _, body = uri.partition(",")
    try:
        return base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
    except ValueError as error:
        hint = "Write data:image/png;base64, and the picture, or name a file."
        raise InvalidArgs(f"a data: address cannot be read: {error}", hint) from None


def picture(src: str, data: bytes) -> Image:
    """A picture that travels with the conversation, upright and no larger than a model looks at."""
    from whence.work.images import load_picture

    loaded = load_picture(data, src)
    return Image(Inline(loaded.media_type, loaded.base64))
