"""The transcript of a run: items as ChatMD, added to the agent file as they happen."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from whence.chatmd.append import Appended, append, sync
from whence.chatmd.render import (
    Payload,
    Picture,
    Rendered,
    render_message,
    render_reasoning,
    render_tool_call,
    render_tool_response,
)
from whence.provider import openai_responses, xml
from whence.provider.xml_stream import Definitions
from whence.shapes import document as said
from whence.shapes.item import (
    Image,
    Inline,
    Item,
    Link,
    Message,
    Part,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolOutcome,
)

COMPACTED = "compacted"
"""The status of a message that stands for everything between the instructions and itself."""
INCOMPLETE = "incomplete"
"""The status of an answer that broke off."""
_EMPTY = Rendered(b"")
_NEXT = b"<user>\n\n</user>\n"


class Transcript:
    """Where a run writes what happened; without a path, nowhere."""

    def __init__(
        self, path: Path | None, *, inline: bool = False, words: Definitions | None = None
    ) -> None:
        self.path = path
        self._inline = inline
        self.words = words
        """The tools, where calls travel as words: so they stand in the transcript, too."""
        self.repaired: list[str] = []
        """What a crash had left behind and was put aside."""
        self._last: Appended | None = None
        self._unsynced: list[Payload] = []

    def add(self, items: Iterable[Item], status: str | None = None) -> None:
        """Append items, all of them or none. They outlive this process; `end` waits for the disk.

        Raises:
            Unavailable, Conflict: the file cannot be written; it is as it was before.
        """
        if self.path is None:
            return
        listed = tuple(items)
        if self.words is not None:
            listed, _ = xml.as_text(listed, self.words)
        rendered = _EMPTY
        for item in listed:
            rendered += render_item(item, inline=self._inline, status=status)
        if rendered.text:
            self._append(self.path, rendered)

    def end(self, *, answered: bool) -> None:
        """Make everything durable; behind an answer, leave an empty message to type into."""
        if self.path is None:
            return
        if answered:
            self._append(self.path, Rendered(_NEXT))
        if self._last is not None:
            sync(self.path, self._unsynced)
            self._unsynced.clear()

    def _append(self, path: Path, rendered: Rendered) -> None:
        self._last = append(path, rendered, durable=False, after=self._last)
        self._unsynced += rendered.payloads
        if self._last.repaired is not None:
            self.repaired.append(str(self._last.repaired))


def render_item(item: Item, *, inline: bool, status: str | None = None) -> Rendered:
    """One item as ChatMD; what only its provider understands is left out."""
    match item:
        case Message():
            parts = list(_written(item.parts))
            content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
            mark = status if item.role in ("assistant", "user") else None
            return render_message(
                item.role, content, id=item.id, status=mark, phase=item.phase, name=item.name
            )
        case ToolCall():
            return render_tool_call(
                item.id, item.name, item.text,
                item_id=item.item_id, custom=item.custom, inline=inline,
            )  # fmt: skip
        case ToolOutcome():
            parts = list(_written(item.parts))
            content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
            return render_tool_response(
                item.call_id, content, item_id=item.item_id, custom=item.custom, inline=inline
            )
        case Reasoning():
            own = item.protocol == openai_responses.PROTOCOL
            return render_reasoning(
                item.id, item.summaries, texts=item.texts, encrypted=item.seal,
                protocol=None if own else item.protocol,
            )  # fmt: skip
    return _EMPTY


def _written(parts: Iterable[Part]) -> Iterable[str | Picture | said.Element]:
    for part in parts:
        match part:
            case Text() | Refusal():
                yield part.text
            case Image(source=Inline() as source):
                yield Picture(base64.b64decode(source.data), source.media_type)
            case Image(source=Link() as source):
                yield said.Element("img", {"src": source.url})
            case _:
                yield f"[{type(part).__name__.lower()} that this file cannot hold]"
