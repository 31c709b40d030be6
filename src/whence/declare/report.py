"""What is wrong with the declarations of one file, collected and then placed."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple

from whence.chatmd.scan import attributes
from whence.errors import WhenceError
from whence.shapes.document import Diagnostic, Element, Severity, Span, places


class _Finding(NamedTuple):
    span: Span
    severity: Severity
    code: str
    message: str
    suggestion: str


class Report:
    """Takes problems in any order; gives diagnostics in the order of the file."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._found: list[_Finding] = []

    def error(
        self, code: str, element: Element, message: str, suggestion: str, *, at: str | None = None
    ) -> None:
        """Remember what must be corrected; `at` names the attribute that is meant."""
        self._add(Severity.ERROR, code, self._span(element, at), message, suggestion)

    def warning(
        self, code: str, element: Element, message: str, suggestion: str, *, at: str | None = None
    ) -> None:
        """Remember what somebody should look at."""
        self._add(Severity.WARNING, code, self._span(element, at), message, suggestion)

    def error_at(self, code: str, span: Span, message: str, suggestion: str) -> None:
        """Remember what must be corrected, by its place alone."""
        self._add(Severity.ERROR, code, span, message, suggestion)

    def bad(self, element: Element, attribute: str, message: str, suggestion: str) -> None:
        """An error with the value of an attribute; its code is `bad-` and the attribute's name."""
        code = f"bad-{attribute.replace('_', '-')}"
        self.error(code, element, message, suggestion, at=attribute)

    def relay(self, code: str, element: Element, error: WhenceError, *, at: str) -> None:
        """An error that somebody raised, as the end of a sentence or a whole one."""
        first, *_ = error.message.split(" ", 1)
        message = (
            error.message[:1].upper() + error.message[1:] if first.isalpha() else error.message
        )
        self.error(code, element, message.rstrip(".") + ".", error.suggestion, at=at)

    def line(self, span: Span) -> int:
        """The line on which something begins."""
        return bisect_left(self._newlines, span.start) + 1

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was found, by its place."""
        ordered = sorted(self._found, key=lambda found: found.span.start)
        placed = places(self._source, (found.span.start for found in ordered))
        return tuple(
            Diagnostic(each.severity, each.code, each.message, each.suggestion, each.span, *place)
            for each, place in zip(ordered, placed, strict=True)
        )

    def _add(
        self, severity: Severity, code: str, span: Span, message: str, suggestion: str
    ) -> None:
        self._found.append(
            _Finding(span, severity, code, _printable(message), _printable(suggestion))
        )

    def _span(self, element: Element, attribute: str | None) -> Span:
        """The attribute where it stands; else the opening tag."""
        start, name_end = element.span.start, element.span.start + 1 + len(element.tag)
        end = element.span.end if element.body is None else element.body.start
        written = [
            Span(one.start, one.end)
            for one in attributes(self._source, name_end, end)
            if one.name == attribute
        ]
        return written[-1] if written else Span(start, end)

    @cached_property
    def _newlines(self) -> list[int]:
        return [found.start() for found in re.finditer(rb"\n", self._source)]


def _printable(text: str) -> str:
    """Text that can be written as UTF-8, whatever bytes the file held."""
    return text.encode("utf-8", "backslashreplace").decode()
