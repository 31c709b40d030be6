"""The transcript of a run: items as ChatMD, added to the agent file as they happen."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from whence.chatmd.append import Appender
from whence.chatmd.render import (
    SUFFIXES,
    Picture,
    Rendered,
    render_message,
    render_reasoning,
    render_tool_call,
    render_tool_response,
)
from whence.provider import openai_responses, xml
from whence.provider.wire import dumps
from whence.provider.xml_stream import Definitions
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
    Refusal,
    Text,
    ToolCall,
    ToolOutcome,
)

COMPACTED = "compacted"
"""The status of a message that stands for everything between the instructions and itself."""
INCOMPLETE = "incomplete"
"""The status of an answer that broke off."""
FAILED = "failed"
"""The status of a response that is an error."""
REDACTED = "redacted"
"""The status of a thought that only its provider can read."""
_EMPTY = Rendered(b"")
_NEXT = Rendered(b"<user>\n\n</user>\n")


class Transcript:
    """Where a run writes what happened; without a path, nowhere.

    What is added outlives this process; leaving the block waits for the disk.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        inline: bool = False,
        words: Definitions | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._file = None if path is None else Appender(path)
        self._inline = inline
        self.words = words
        """The tools, where calls travel as words: so they stand in the transcript, too."""
        self._say = say

    def add(self, items: Sequence[Item], status: str | None = None) -> None:
        """Append items, all of them or none.

        Raises:
            Unavailable, Conflict: the file cannot be written; it is as it was before.
        """
        if self._file is None or not items:
            return
        rendered = _EMPTY
        for item in self._written(items):
            rendered += render_item(item, inline=self._inline, status=status)
        self._append(self._file, rendered)

    def entries(self, items: Sequence[Item]) -> int:
        """How many entries of the file these items are."""
        return len(self._written(items))

    def invite(self) -> None:
        """Leave an empty message to type into."""
        if self._file is not None:
            self._append(self._file, _NEXT)

    def _written(self, items: Sequence[Item]) -> Sequence[Item]:
        return items if self.words is None else xml.as_text(items, self.words)[0]

    def _append(self, file: Appender, rendered: Rendered) -> None:
        appended = file.append(rendered)
        if self._say is not None:
            if appended.repaired is not None:
                self._say(str(appended.repaired))
            if appended.others_wrote:
                self._say(f"{file.path} was changed meanwhile: what follows is added to its end")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            try:
                self._file.finish()
            finally:
                self._file.close()


def render_item(item: Item, *, inline: bool, status: str | None = None) -> Rendered:
    """One item as ChatMD, with what only its provider understands."""
    match item:
        case Message():
            mark = status if item.role in ("assistant", "user") else None
            return render_message(
                item.role, _content(item.parts), id=item.id, status=mark, phase=item.phase,
                name=item.name, native=_native(item.native),
            )  # fmt: skip
        case ToolCall():
            return render_tool_call(
                item.id, item.name, item.text, item_id=item.item_id, custom=item.custom,
                inline=inline, native=_native(item.native),
            )  # fmt: skip
        case ToolOutcome():
            return render_tool_response(
                item.call_id, _content(item.parts), item_id=item.item_id, custom=item.custom,
                inline=inline, status=FAILED if item.is_error else None,
                native=_native(item.native),
            )  # fmt: skip
        case Reasoning():
            own = item.protocol == openai_responses.PROTOCOL
            return render_reasoning(
                item.id, item.summaries, texts=item.texts, encrypted=item.seal,
                status=REDACTED if item.redacted else None,
                protocol=None if own else item.protocol, native=_native(item.native),
            )  # fmt: skip
        case Opaque():
            return render_message(item.role, item.json, type=f"{item.protocol}/{item.kind}")


def _native(native: Native | None) -> str | None:
    """What one protocol adds, as the value of an attribute."""
    if native is None:
        return None
    return dumps({native.protocol: native.fields}).decode()


def _content(parts: tuple[Part, ...]) -> str | list[str | Picture | said.Element]:
    written = list(map(_written, parts))
    only = written[0] if len(written) == 1 else None
    return only if isinstance(only, str) else written


def _written(part: Part) -> str | Picture | said.Element:
    match part:
        case Text() | Refusal():
            return part.text
        case Image(source=Inline() as source) if source.media_type in SUFFIXES:
            try:
                return Picture(base64.b64decode(source.data, validate=True), source.media_type)
            except binascii.Error as error:
                return f"[{source.media_type} that cannot be read: {error}]"
        case Image(source=Link() as source):
            return said.Element("img", {"src": source.url})
    return f"[{type(part).__name__.lower()} that this file cannot hold]"
