"""Reading the YAML of the protocol's documents, shorthand included, with a line for every key."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from whence.declare.type_text import MAX_DEPTH, MAX_TEXT, Path
from whence.errors import ParseError

_FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,})\s*(?P<info>[^`]*)")


@dataclass(frozen=True, slots=True)
class Block:
    """YAML text, and where it stands in its page."""

    text: str
    first_line: int
    fenced: bool


def blocks(text: str) -> Iterator[Block]:
    """The `yaml` fences of a page; the whole text where it has no fence."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not any(line.startswith(("```", "~~~")) for line in lines):
        yield Block("\n".join(lines), 1, fenced=False)
        return
    opening, start = None, 0
    for number, line in enumerate([*lines, ""]):
        fence = _FENCE.fullmatch(line)
        if opening is None:
            opening, start = fence, number + 1
        elif number == len(lines) or _closes(fence, opening):
            if opening["info"].lower().split()[:1] in (["yaml"], ["yml"]):
                inside = (_dedented(inner, opening["indent"]) for inner in lines[start:number])
                yield Block("\n".join(inside), start + 1, fenced=True)
            opening = None


def _closes(fence: re.Match[str] | None, opening: re.Match[str]) -> bool:
    return fence is not None and not fence["info"] and fence["marks"].startswith(opening["marks"])


def _dedented(line: str, indent: str) -> str:
    return line.removeprefix(indent) if line.startswith(indent) else line.lstrip(" ")


class Document:
    """A YAML document as plain values, built event by event, with the line of every key.

    Keys are always text, scalars are those of YAML 1.2 (`no` is a word), and nothing is expanded.
    """

    def __init__(self, source: str, first_line: int) -> None:
        self.source = source
        self.first_line = first_line
        self.value: object = None
        self.lines: dict[Path, int] = {}
        self.repeats: list[tuple[Path, int, int]] = []
        self._open: list[dict[str, object] | list[object]] = []
        self._at: list[Any] = []
        """For each open container the current key or index; None where a key comes next."""

    def take(self, event: yaml.Event) -> None:
        """Add what one event says."""
        line = self.first_line + (event.start_mark.line if event.start_mark else 0)
        if isinstance(event, yaml.NodeEvent):
            self._refuse_indirection(event, line)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.MappingStartEvent):
            self._enter({}, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._enter([], line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._at.pop()
            self._put(self._open.pop())

    def _refuse_indirection(self, event: yaml.NodeEvent, line: int) -> None:
        if event.anchor is not None:
            raise self.problem(line, f"the anchor {event.anchor!r} is not read", "Write it out.")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            raise self.problem(line, f"the tag {event.tag!r} is not read", "Drop the tag.")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        if self._at and self._at[-1] is None:
            self._key(event.value, line)
            return
        self._begin_item(line)
        self._put(_resolved(event.value) if event.implicit[0] else event.value)

    def _key(self, name: str, line: int) -> None:
        self._at[-1] = name
        first = self.lines.setdefault(tuple(self._at), line)
        if name in self._open[-1]:
            self.repeats.append((tuple(self._at), first, line))

    def _enter(self, container: dict[str, object] | list[object], line: int) -> None:
        if self._at and self._at[-1] is None:
            raise self.problem(line, "a key is a list or a mapping", "Use text for keys.")
        if len(self._open) >= MAX_DEPTH:
            raise self.problem(line, f"nested more than {MAX_DEPTH} levels deep", "Flatten it.")
        self._begin_item(line)
        self._open.append(container)
        self._at.append(None if isinstance(container, dict) else 0)

    def _begin_item(self, line: int) -> None:
        """Remember where an item of a list, or the whole, starts; a key has its own line."""
        if not self._open or isinstance(self._open[-1], list):
            self.lines[tuple(self._at)] = line

    def _put(self, value: object) -> None:
        if not self._open:
            self.value = value
            return
        container = self._open[-1]
        if isinstance(container, dict):
            container.setdefault(self._at[-1], value)
            self._at[-1] = None
        else:
            container.append(value)
            self._at[-1] += 1

    def line_of(self, at: Path) -> int:
        """The line of a key, or of the nearest one above it that is known."""
        known = (self.lines[at[:end]] for end in range(len(at), -1, -1) if at[:end] in self.lines)
        return next(known, self.first_line)

    def problem(self, line: int, message: str, suggestion: str) -> ParseError:
        """The error that names this line."""
        details = {"source": self.source, "line": line}
        return ParseError(f"{self.source}:{line}: {message}", suggestion, details=details)


_INTEGER = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_CONSTANTS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_CONSTANTS |= {"true": True, "True": True, "TRUE": True}
_CONSTANTS |= {"false": False, "False": False, "FALSE": False}


def _resolved(text: str) -> object:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if len(text) < 400 and _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def read(block: Block, source: str) -> list[Document]:
    """The documents of a block as they stand, else with their shorthand quoted."""
    try:
        return _parsed(block.text, block.first_line, source)
    except yaml.YAMLError:
        pass
    try:
        return _parsed(_with_quotes(block.text), block.first_line, source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        offset = mark.line if mark else block.text.count("\n", 0, getattr(error, "position", 0))
        line = block.first_line + offset
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
        raise ParseError(
            f"{source}:{line}: {problem}",
            "Correct the YAML; quote what holds `: ` or ` #`, and shorthand of several lines.",
            details={"source": source, "line": line},
        ) from None


def _parsed(text: str, first_line: int, source: str) -> list[Document]:
    documents: list[Document] = []
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents.append(Document(source, first_line))
        elif documents:
            documents[-1].take(event)
    return documents


_QUOTED = re.compile(r"""\"(?:[^"\\]|\\.)*+\"|'(?:[^']|'')*+'""")
_ENTRY = re.compile(
    r"""(?P<dashes>\ *(?:-\ +)*)
    (?P<key>(?:"[^"]*"\ *|'[^']*'\ *|[^\s"'#\[\]{}|>&*!%@`,?:-][^:#]*):\ +)?
    (?P<value>.*)""",
    re.VERBOSE,
)
_BLOCK_SCALAR = re.compile(r"[|>][-+1-9]{0,2} *(?:#.*)?")


def _with_quotes(text: str) -> str:
    """YAML whose shorthand values are quoted, line by line; block scalars and comments stay."""
    lines: list[str] = []
    scalar_indent, quote = math.inf, ""
    for line in text.split("\n"):
        lines.append(line)
        if not line.strip() or len(line) - len(line.lstrip(" ")) > scalar_indent:
            continue
        scalar_indent = math.inf
        if quote:
            quote = "" if _closing(quote + line, 0) else quote
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None or not (entry["key"] or entry["dashes"].strip()) or not entry["value"]:
            continue
        if _BLOCK_SCALAR.fullmatch(entry["value"]):
            dashes = entry["dashes"]
            scalar_indent = len(dashes) if entry["key"] else len(dashes.rstrip()) - 1
        elif entry["value"][0] in "\"'" and not _closing(entry["value"], 0):
            quote = entry["value"][0]
        elif len(line) <= MAX_TEXT:
            lines[-1] = line[: entry.start("value")] + _quoted_where_needed(entry["value"])
    return "\n".join(lines)


def _quoted_where_needed(value: str) -> str:
    end = _closing(value, 0) if value[0] in "\"'{[" else None
    comment = value.find(" #", end or 0)
    body, rest = (value, "") if comment < 0 else (value[:comment], value[comment:])
    return _readable(body, in_flow=False, depth=0) + rest


def _readable(text: str, *, in_flow: bool, depth: int) -> str:
    """One value, quoted where YAML would not read it as the text that it is."""
    body = text.strip()
    if not body or depth > MAX_DEPTH or (body[-1] == "," and not in_flow):
        return text
    if body[0] in "\"'{[":
        end = _closing(body, 0)
        after = body[end:].strip() if end else "unclosed"
        quote = after[:1] in ("?", "[", "|")
        inner = _flow(body, depth) if not after and body[0] in "{[" else body
    else:
        quote = any(sign in body for sign in "[]{}") if in_flow else ": " in body and "{" in body
        inner = body
    fixed = "'" + body.replace("'", "''") + "'" if quote else inner
    return text.replace(body, fixed, 1)


def _flow(body: str, depth: int) -> str:
    """A closed `{…}` or `[…]`, each of its parts made readable."""
    parts, position = [body[0]], 1
    while position < len(body):
        end = _part_end(body, position)
        parts += [_readable(body[position:end], in_flow=True, depth=depth + 1), body[end : end + 1]]
        position = end + 1
    return "".join(parts)


def _part_end(body: str, position: int) -> int:
    while position < len(body):
        sign = body[position]
        if sign in ",}]" or (sign == ":" and body[position + 1 : position + 2] in ("", " ")):
            return position
        end = _closing(body, position) if sign in "\"'{[(" else None
        position = end or position + 1
    return position


def _closing(text: str, start: int) -> int | None:
    """The position after what closes the quote or bracket at `start`; None: it stays open."""
    depth, position = 0, start
    while position < len(text):
        if text[position] in "\"'":
            quoted = _QUOTED.match(text, position)
            if quoted is None:
                return None
            position = quoted.end()
        else:
            depth += (text[position] in "{[(") - (text[position] in "}])")
            position += 1
        if depth == 0:
            return position
    return None
