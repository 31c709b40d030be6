"""Calls in streamed text: words go through as they come, calls when they are certainly whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from whence.declare.toolbox import Mounted
from whence.provider.arguments import cut_short
from whence.provider.exchange import ToolDefinition
from whence.provider.stream import CallDelta, Delta, ItemDone, TextDelta
from whence.provider.wire import dumps
from whence.provider.xml_parse import PARAMETER, Ending, Reader
from whence.provider.xml_prose import Prose
from whence.provider.xml_values import read_value
from whence.shapes.item import Item, Message, Native, Text, ToolCall
from whence.shapes.json import JSONObject

PROTOCOL = "xml"
Definitions: TypeAlias = Mapping[str, ToolDefinition]
_NEVER = re.compile(r"(?!)")


def definitions_of(tools: Iterable[Mounted | ToolDefinition]) -> Definitions:
    """The tools by the name of their tag."""
    listed = (ToolDefinition.of(tool) if isinstance(tool, Mounted) else tool for tool in tools)
    return {definition.name: definition for definition in listed}


class XmlCallReader:
    """Splits an answer into words and calls while it arrives."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        names = "|".join(re.escape(name) for name in sorted(definitions, key=len, reverse=True))
        self._opening = re.compile(rf"<({names})(\s*/)?>") if definitions else _NEVER
        self._longest = max(map(len, definitions), default=0) + 8
        self._prose = Prose()
        self._shown = 0
        self._looked = 0
        self._call: re.Match[str] | None = None
        self._calls = 0
        self._items: list[Item] = []
        self._words: list[str] = []
        self._behind_call = False
        self._cut = False

    def feed(self, piece: str) -> list[Delta]:
        """What can be said about the text so far."""
        self._prose.text += piece
        deltas: list[Delta] = []
        if self._call is not None:
            deltas.append(CallDelta(self._calls, self._call.group(1), piece))
        return deltas + self._advance(final=False)

    def finish(self, *, cut: bool = False) -> tuple[list[Delta], tuple[Item, ...]]:
        """What was held back, and everything that the answer consists of, in order.

        Where the answer was cut off, its last call is not taken for whole: what looks like its end
        may stand in the middle of an argument.
        """
        self._cut = cut
        deltas = self._advance(final=True)
        self._end_words()
        return deltas, tuple(self._items)

    def _advance(self, *, final: bool) -> list[Delta]:
        deltas: list[Delta] = []
        while True:
            step = self._in_call(final=final) if self._call else self._in_words(final=final)
            if step is None:
                return deltas
            deltas += step

    def _in_words(self, *, final: bool) -> list[Delta] | None:
        """Words up to the next call; None where there is nothing more to say."""
        if self._behind_call and self._shown < len(self._prose.text):
            self._behind_call = False
            self._skip_newline()
        found, waits = self._next_call(final=final)
        if found is not None:
            self._call = found
            before = found.start()
            deltas = self._show(self._less_newline(before))
            self._shown = before
            return [*deltas, CallDelta(self._calls, found.group(1), "")]
        limit = len(self._prose.text) if final else self._less_newline(waits)
        return self._show(limit) or None

    def _skip_newline(self) -> None:
        """The line break behind a call sets it off and is not part of the words."""
        if self._prose.text[self._shown] == "\n":
            self._shown += 1
            self._looked = max(self._looked, self._shown)
            self._prose.skip(self._shown)

    def _next_call(self, *, final: bool) -> tuple[re.Match[str] | None, int]:
        """The next call, or how far the text is certain to be words."""
        text = self._prose.text
        at = text.find("<", self._looked)
        while at >= 0:
            found = self._opening.match(text, at)
            if found is None:
                if not final and self._may_become_tag(at):
                    return None, at
            else:
                certain = self._begins_call(found, final=final)
                if certain:
                    return found, at
                if certain is None:
                    return None, at
            self._looked = at + 1
            at = text.find("<", self._looked)
        self._looked = len(text)
        return None, len(text)

    def _may_become_tag(self, at: int) -> bool:
        rest = self._prose.text[at:]
        if len(rest) > self._longest or ">" in rest:
            return False
        bare = rest[1:].rstrip(" \t\r\n/")
        return any(name.startswith(bare) for name in self._definitions)

    def _begins_call(self, found: re.Match[str], *, final: bool) -> bool | None:
        code = self._prose.is_code(found.start(), found.end(), final=final)
        if code is None or code:
            return None if code is None else False
        if found.group(2):
            return True
        rest = self._prose.text[found.end() :].lstrip()
        if rest.startswith(f"</{found.group(1)}>") or PARAMETER.match(rest):
            return True
        undecided = not rest or (rest[0] == "<" and ">" not in rest and len(rest) < 200)
        return None if undecided and not final else False

    def _less_newline(self, limit: int) -> int:
        """The line break before a call sets it off and is not part of the words."""
        if limit > self._shown and self._prose.text[limit - 1 : limit] == "\n":
            return limit - 1
        return limit

    def _show(self, limit: int) -> list[Delta]:
        shown = self._prose.text[self._shown : limit]
        self._shown = max(self._shown, limit)
        if not shown:
            return []
        self._words.append(shown)
        return [TextDelta(shown)]

    def _in_call(self, *, final: bool) -> list[Delta] | None:
        opening = self._call
        if opening is None:
            return None
        if opening.group(2):
            return self._done(opening, Ending(opening.end(), {}, settled=True))
        name = opening.group(1)
        schema = self._definitions[name].schema
        reader = Reader(self._prose.text, opening.end(), name, frozenset(_properties(schema)))
        ending = self._chosen(reader, final=final)
        if ending is not None:
            return self._done(opening, ending)
        return self._broken(opening) if final else None

    def _chosen(self, reader: Reader, *, final: bool) -> Ending | None:
        first = reader.text.find(reader.closing, reader.start)
        if first < 0 or not (final or self._opening.search(reader.text, first)):
            return None
        endings = reader.endings()
        chosen = next((one for one in endings if reader.is_balanced(one)), None)
        if chosen is None and final:
            chosen = endings[0] if endings else None
        if chosen is None or not (final or chosen.settled):
            return None
        next_call = self._opening.search(reader.text, chosen.end)
        limit = next_call.start() if next_call else len(reader.text)
        prose = Prose(reader.text, chosen.end)
        for one in sorted(endings):
            if chosen.end < one.end <= limit and not prose.is_code(
                one.end - 1, one.end, final=True
            ):
                chosen = one
        return chosen if next_call or (final and not self._cut) else None

    def _done(self, opening: re.Match[str], ending: Ending) -> list[Delta]:
        name = opening.group(1)
        arguments = _arguments(self._definitions[name], ending.values)
        source = self._prose.text[opening.start() : ending.end]
        native = Native(PROTOCOL, {"source": source})
        call = ToolCall("", name, dumps(arguments).decode(), arguments, native=native)
        return self._leave(call, ending.end)

    def _broken(self, opening: re.Match[str]) -> list[Delta]:
        name = opening.group(1)
        closing = self._prose.text.find(f"</{name}>", opening.end())
        whole = closing < 0 or self._cut
        end = len(self._prose.text) if whole else closing + len(name) + 3
        source = self._prose.text[opening.start() : end]
        problem = f"the call has no closing tag </{name}>, at character {len(source)}"
        if self._cut:
            problem = cut_short(source)
        elif not whole:
            problem = (
                f"between <{name}> and </{name}> stands something other than parameters, or a"
                f" parameter is not closed, before character {len(source)}"
            )
        return self._leave(ToolCall("", name, source, None, problem), end)

    def _leave(self, call: ToolCall, end: int) -> list[Delta]:
        self._end_words()
        self._items.append(call)
        self._calls += 1
        self._call = None
        self._behind_call = True
        self._shown = self._looked = end
        self._prose.skip(end)
        return [ItemDone(call)]

    def _end_words(self) -> None:
        words = "".join(self._words)
        self._words.clear()
        if words:
            self._items.append(Message("assistant", (Text(words),)))


def _arguments(definition: ToolDefinition, written: Mapping[str, str]) -> JSONObject:
    """What stands between the tags, as the schema or an older form of the call has it."""
    schema, properties = definition.schema, _properties(definition.schema)
    older = definition.legacy(written) if definition.legacy else {}
    read = {
        key: read_value(text, properties.get(key, {"type": "string"}), schema)
        for key, text in written.items()
        if not older or key in properties
    }
    return {**read, **older}


def _properties(schema: JSONObject) -> Mapping[str, object]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def read_text(text: str, definitions: Definitions) -> tuple[Item, ...]:
    """The words and calls of a whole answer."""
    reader = XmlCallReader(definitions)
    reader.feed(text)
    return reader.finish()[1]
