"""Any tree and any text, for the property tests of this room."""

from __future__ import annotations

from hypothesis import strategies as st

from whence.chatmd.grammar import ELEMENTS
from whence.shapes.document import Comment, Element, Node, Part, Text

_TRICKY = [
    *("RAW|", "|RAW", "RAW", "|", "R", "AW", "DRAW|", "<", ">", "</", "/>", "<!--", "-->", "<<<"),
    *("<user>", "</user>", "\n<user>", "</assistant>", '<doc src="x"/>', "<doc", "</doc>", "<b>"),
    *(" ", "\n", "\r\n", "\t", "\0", "\x1b", "\ufeff", "é", "日本", "😀", "\ud800", "\udc80"),
    *('"', "'", "\\", "&", "&amp;", "&#92;", "&lt", "=", "a = b", "\n=======\n", "<<<<<<< x\n"),
]

texts = st.lists(st.sampled_from(_TRICKY) | st.text(max_size=8), max_size=8).map("".join)
"""Text with everything in it that means something somewhere."""

_NAMES = ["id", "src", "local", "a", "B-1", "x:y", "-", "_", "7", "ochat-history-id"]
_values = st.lists(st.sampled_from([None, *_TRICKY, "plain"]), max_size=3)
_attributes = st.dictionaries(
    st.sampled_from(_NAMES),
    _values.map(lambda some: None if None in some else "".join(map(str, some))),
    max_size=3,
)
_words = st.lists(st.sampled_from([*_TRICKY, "plain"]), max_size=5).map("".join)


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Parts as a parser gives them: no empty text, no two texts in a row."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, Element):
            joined.append(part)
        elif joined and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + part.text)
        elif part.text:
            joined.append(part)
    return tuple(joined)


def _elements(tag: str, depth: int) -> st.SearchStrategy[Element]:
    rule = ELEMENTS[tag]
    if rule.void:
        return st.builds(Element, st.just(tag), _attributes)
    inner = [_elements(child, depth - 1) for child in sorted(rule.children) if depth > 0]
    parts = st.lists(st.one_of(_words.map(Text), *inner), max_size=3).map(_joined)
    return st.builds(Element, st.just(tag), _attributes, parts)


_TOP = [_elements(tag, 2) for tag, rule in ELEMENTS.items() if not rule.home]
_comments = _words.map(lambda text: Comment(text.replace(">", "")))

trees: st.SearchStrategy[list[Node]] = st.lists(st.one_of(*_TOP, _comments), max_size=3)
"""What a file may consist of."""

_PIECES = [
    *(f"<{tag}>" for tag in ELEMENTS),
    *(f"</{tag}>" for tag in ELEMENTS),
    *(f"\n<{tag} " for tag in ELEMENTS),
    *_TRICKY,
    *(' id="1"', " local", " a=b", ' a="', " a='", '">', '"/>', ' tool_call_id="c"', "\n"),
    *("<assistant>\nRAW|x|RAW\n</assistant>\n", "<user>hi</user>\n", "<user>RAW|a|RAW</user>"),
]

soups = st.lists(st.sampled_from(_PIECES) | st.text(max_size=4), max_size=30).map("".join)
"""Text that is nearly a file, and rarely one."""
