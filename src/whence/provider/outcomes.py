"""Outcomes for protocols whose results are only words.

OpenAI's protocols have no flag for a failed call and no place for a structured value. An error is
marked in the words themselves, `<error>…</error>`, in a form that can be read back: a result that
happens to look like a mark is put between `<result>` and `</result>`.
"""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import ParseError
from whence.provider.losses import Note
from whence.provider.wire import dumps, loads
from whence.shapes.item import Part, Text, ToolOutcome

_ERROR = ("<error>", "</error>")
_RESULT = ("<result>", "</result>")


def shown_parts(outcome: ToolOutcome) -> tuple[tuple[Part, ...], list[Note]]:
    """The parts that a model is shown, with the structured value where no part says it."""
    if outcome.structured is None or _says(outcome.parts, outcome.structured):
        return outcome.parts, []
    words = Text(dumps(outcome.structured).decode())
    note = Note("structured content", "changed", "it is sent as JSON text")
    return (*outcome.parts, words), [note]


def _says(parts: Sequence[Part], value: object) -> bool:
    return any(isinstance(part, Text) and _holds(part.text, value) for part in parts)


def _holds(text: str, value: object) -> bool:
    try:
        return bool(loads(text) == value)
    except ParseError:
        return False


def mark(parts: tuple[Part, ...], *, is_error: bool) -> tuple[Part, ...]:
    """The parts with their fate written into them, where that is needed."""
    if is_error:
        return _between(parts, _ERROR)
    return _between(parts, _RESULT) if _looks_marked(parts) else parts


def unmark(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], bool]:
    """The parts as they were before `mark`, and whether they were an error."""
    inner = _inside(parts, _ERROR)
    if inner is not None:
        return inner, True
    inner = _inside(parts, _RESULT)
    if inner is not None and _looks_marked(inner):
        return inner, False
    return parts, False


def _looks_marked(parts: tuple[Part, ...]) -> bool:
    inner: tuple[Part, ...] | None = parts
    while inner is not None:
        if _inside(inner, _ERROR) is not None:
            return True
        inner = _inside(inner, _RESULT)
    return False


def _between(parts: tuple[Part, ...], marks: tuple[str, str]) -> tuple[Part, ...]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return (Text(marks[0] + parts[0].text + marks[1], parts[0].native),)
    return (Text(marks[0]), *parts, Text(marks[1]))


def _inside(parts: tuple[Part, ...], marks: tuple[str, str]) -> tuple[Part, ...] | None:
    if not parts:
        return None
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return _inside_words(first, marks)
    if first == Text(marks[0]) and last == Text(marks[1]):
        return parts[1:-1]
    return None


def _inside_words(part: Part, marks: tuple[str, str]) -> tuple[Part, ...] | None:
    if not isinstance(part, Text):
        return None
    start, end = marks
    if not (part.text.startswith(start) and part.text.endswith(end)):
        return None
    if len(part.text) < len(start) + len(end):
        return None
    return (Text(part.text[len(start) : -len(end)], part.native),)
