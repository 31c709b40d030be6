"""YAML with its comments: they are data, and a plain load would lose them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

import yaml

from whence.declare.yaml_text import BoundedLoader
from whence.errors import ParseError
from whence.shapes.call import Comment
from whence.shapes.json import JSONValue

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(_TAG + name for name in ("str", "int", "float", "bool", "null"))
_HASH = re.compile(r"(?:^|(?<=[ \t]))#", re.MULTILINE)


class _Loader(BoundedLoader):
    """YAML 1.2's idea of scalars: `no`, `12:30:00`, `017` and dates stay strings."""

    deepest = 200  # more than the journal ever writes
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _name, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*|0o[0-7]+|0x[0-9a-fA-F]+)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:(?:\.\d+|\d+\.\d*)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.inf|\.Inf)|\.nan|\.NaN",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(
        _TAG + _name, re.compile(rf"^(?:{_pattern})$", re.ASCII), list(_first)
    )


def load_with_comments(text: str) -> tuple[JSONValue, tuple[Comment, ...]]:
    """The value of one YAML document and its comments, each with the keys that it is about.

    A comment on a line of its own is about the key that follows, one behind a value about that
    value; one that nothing follows is about the whole.

    Raises:
        ParseError: Not YAML, or more than JSON can say: aliases, tags, repeated keys.
    """
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None, tuple(Comment((), words) for _, words in _found(text, []))
            marks = _Marks(node)
            value: JSONValue = loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ParseError(
            f"not readable as YAML: {_one_line(error)}",
            "Check the indentation and quote strings that hold ': ' or ' #'.",
        ) from error
    return value, marks.attach(text) if "#" in text else ()


class _Marks:
    """Where the keys of a document start, and where its scalars lie."""

    def __init__(self, root: yaml.Node) -> None:
        self.spans: list[tuple[int, int]] = []
        self.keys: list[tuple[int, int, bool, tuple[str, ...]]] = []
        self._seen: set[int] = set()
        self._visit(root, ())
        self.spans.sort()
        self.keys.sort(key=lambda key: (key[0], len(key[3])))
        self._starts = [key[0] for key in self.keys]

    def attach(self, text: str) -> tuple[Comment, ...]:
        return tuple(
            Comment(self._target(text, position), words)
            for position, words in _found(text, self.spans)
        )

    def _target(self, text: str, position: int) -> tuple[str, ...]:
        line_start = text.rfind("\n", 0, position) + 1
        before = text[line_start:position]
        if before.strip(" \t-"):
            return self._behind(line_start, position)
        following = bisect_right(self._starts, position)
        if following == len(self.keys):
            return ()
        if "-" in before:  # behind the dash of an item: about the item's first key
            following = bisect_right(self._starts, self._starts[following]) - 1
        return self.keys[following][3]

    def _behind(self, line_start: int, position: int) -> tuple[str, ...]:
        here = bisect_left(self._starts, line_start)
        before = bisect_left(self._starts, position)
        on_line = self.keys[here:before] or self.keys[max(before - 1, 0) : before]
        named = [key for key in on_line if key[2]] or on_line
        return named[0][3] if named else ()

    def _visit(self, node: yaml.Node, path: tuple[str, ...]) -> None:
        if id(node) in self._seen:
            raise _refusal(node, "an alias", "Write the value out where it is needed.")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            self._visit_mapping(node, path)
        elif isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            for index, item in enumerate(node.value):
                self._note(item, (*path, str(index)), named=False)
                self._visit(item, (*path, str(index)))
        elif isinstance(node, yaml.ScalarNode) and node.tag in _PLAIN_TAGS:
            self.spans.append((node.start_mark.index, node.end_mark.index))
        else:
            raise _refusal(node, f"the tag {node.tag}", "Use plain values without tags.")

    def _visit_mapping(self, node: yaml.MappingNode, path: tuple[str, ...]) -> None:
        names: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refusal(key, "a key that is not a string", "Use strings as keys.")
            if key.value in names:
                raise _refusal(key, f"the key {key.value!r} twice", "Keep one of the two.")
            names.add(key.value)
            key.tag = _TAG + "str"
            self._note(key, (*path, key.value), named=True)
            self._visit(key, path)
            self._visit(value, (*path, key.value))

    def _note(self, node: yaml.Node, path: tuple[str, ...], *, named: bool) -> None:
        self.keys.append((node.start_mark.index, node.start_mark.line, named, path))


def _found(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, str]]:
    """Each comment's position and words; spans are the scalars, which have no comments."""
    starts = [start for start, _ in spans]
    after = 0
    for match in _HASH.finditer(text):
        position = match.start()
        nearest = bisect_right(starts, position) - 1
        if position < after or (nearest >= 0 and position < spans[nearest][1]):
            continue
        after = text.find("\n", position)
        after = len(text) if after < 0 else after
        yield position, text[position + 1 : after].strip()


def _refusal(node: yaml.Node, what: str, suggestion: str) -> ParseError:
    mark = node.start_mark
    return ParseError(f"line {mark.line + 1}, column {mark.column + 1}: {what}", suggestion)


def _one_line(error: Any) -> str:
    return " ".join(str(error).split())
