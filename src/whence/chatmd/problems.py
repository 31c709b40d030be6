"""Everything that can be wrong with a file: codes, words, and what to do."""

from __future__ import annotations

from typing import NamedTuple

from whence.shapes.document import Severity

_QUOTE_IT = "put RAW| and |RAW around the text"


class Problem(NamedTuple):
    """What one code means; braces are filled in where it is found."""

    severity: Severity
    message: str
    suggestion: str


def _error(message: str, suggestion: str) -> Problem:
    return Problem(Severity.ERROR, message, suggestion)


def _warning(message: str, suggestion: str) -> Problem:
    return Problem(Severity.WARNING, message, suggestion)


PROBLEMS: dict[str, Problem] = {
    # Structure
    "text-outside": _error(
        "Unexpected text at top level: {text}.",
        "Put it inside a message such as <user>…</user>, or in a comment <!-- … -->.",
    ),
    "unknown-element": _error("There is no element <{name}>.", "{hint}"),
    "misplaced-element": _error("<{tag}> does nothing here.", "Put it inside <{home}>."),
    "content-outside": _warning("<{tag}> does nothing here.", "Put it inside a {home}."),
    "stray-closing-tag": _error(
        "{text} closes nothing.", "Remove it, or open the element before it."
    ),
    "unclosed-element": _error(
        "<{tag}> is not closed{where}.",
        "Write </{tag}> where it ends; if a tag in it is only mentioned, " + _QUOTE_IT + ".",
    ),
    "unclosed-void": _warning("<{tag}> has no body and is not closed.", "End the tag with `/>`."),
    "unclosed-tag": _error("The tag <{tag} has no end.", "End it with `>` or `/>`."),
    "unclosed-quote": _error(
        "The value of {name} in <{tag} is never closed (expected {quote}).",
        "Close it with {quote}; write a {quote} in a value as an entity, a last \\ as &#92;.",
    ),
    "malformed-tag": _error(
        "{text} has no place in the tag <{tag}.",
        'Write attributes as name="value", separated by spaces; look for a quote too many.',
    ),
    "unclosed-comment": _error(
        "The comment `<!--` never ends.",
        "Close it with `-->`; if it is only mentioned, " + _QUOTE_IT + ".",
    ),
    "unclosed-raw": _error(
        "The block `RAW|` never ends.",
        "Close it with `|RAW`, or put a letter before it if it is only mentioned.",
    ),
    "nested-element": _warning(
        "<{tag}> begins inside <{around}> and is only text there.",
        "If so, " + _QUOTE_IT + "; if not, write </{around}> before it.",
    ),
    "too-deep": _error(
        "<{tag}> is nested more than {most} deep.", "Move the inner part to a file of its own."
    ),
    "comment-hides-tag": _warning(
        "The comment that begins here hides </{tag}>.",
        "Close the comment before it; if the `<!--` is only mentioned, " + _QUOTE_IT + ".",
    ),
    "raw-in-raw": _warning(
        "Another `RAW|` stands in this block.",
        "If this one is only mentioned, put a letter before it; if a |RAW is missing, add it.",
    ),
    "stray-raw-end": _warning(
        "`|RAW` closes no block here.", "Open the block with `RAW|`, or remove it."
    ),
    "merge-conflict": _error(
        "A merge left its conflict marker {marker} here.",
        "Keep the lines that belong to the conversation and remove the markers.",
    ),
    "merge-conflict-text": _warning(
        "A merge may have left its conflict markers in this text.",
        "Keep the lines that belong here and remove the markers.",
    ),
    # Attributes
    "unknown-attribute": _error("<{tag}> has no attribute {name}.", "{hint}"),
    "duplicate-attribute": _error(
        "The attribute {name} is there twice.", "Remove one of them; the last one counts."
    ),
    "missing-attribute": _error("<{tag}> needs the attribute {name}.", 'Write {name}="…".'),
    "too-many-attributes": _error(
        "<{tag}> has more than {most} attributes.", "The others do not count; remove them."
    ),
    "not-a-flag": _error(
        "{name} is {value}, which is neither true nor false.",
        'Write {name} alone for true, or {name}="false".',
    ),
    "unknown-role": _error("unknown role {value}", "Use one of: {known}."),
    "tag-in-value": _warning(
        "A value in the tag <{tag}> contains another tag.",
        "If a quote is missing, close it; if not, write &lt; for the < in it.",
    ),
    "ignored-text": _error("{text} means nothing inside <{tag}>.", "Remove it; allowed: {known}."),
    "late-declaration": _warning(
        "<{tag}> stands behind the beginning of the conversation.",
        "Move it to the top, where people and programs look for it.",
    ),
    # Calls
    "duplicate-call-id": _error(
        "There is another call with the id {id}.",
        "Give each call an id of its own, and its response the same one.",
    ),
    "duplicate-response": _error(
        "There is another response to the call {id}.", "Remove one of them."
    ),
    "response-without-call": _error(
        "No call before this response has the id {id}.",
        "Put the call before it, or remove the response.",
    ),
    "call-without-response": _warning(
        "The call {id} has no response.",
        "A run records it as interrupted; or remove the call.",
    ),
    # Bytes
    "not-utf8": _error("{what} is not UTF-8.", "Save the file as UTF-8."),
    "nul-byte": _warning(
        "There are {count} NUL bytes, the first one here.",
        "Remove them; a power failure may have left them at the end.",
    ),
    "too-many": _error(
        "There are more than {most} problems; the others are not listed.", "Correct these first."
    ),
}
"""Every code; an editor may filter by it."""


class Finding(NamedTuple):
    """A problem at a place, before its line is known."""

    code: str
    start: int
    end: int
    words: dict[str, object]

    def message(self) -> str:
        """What is wrong."""
        return PROBLEMS[self.code].message.format_map(self.words)

    def suggestion(self) -> str:
        """What to do."""
        return PROBLEMS[self.code].suggestion.format_map(self.words)


class Findings:
    """What is wrong, up to a number that somebody could read."""

    most = 1000

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self._count = dict.fromkeys(Severity, 0)

    def add(self, code: str, start: int, end: int, **words: object) -> None:
        """Remember a problem."""
        severity = PROBLEMS[code].severity
        self._count[severity] += 1
        if self._count[severity] <= self.most:
            self.found.append(Finding(code, start, end, words))

    @property
    def full(self) -> bool:
        """Whether there are so many errors that reading on helps nobody."""
        return self._count[Severity.ERROR] >= self.most

    def copy(self) -> Findings:
        """The same, to be added to."""
        copy = Findings()
        copy.found = self.found[:]
        copy._count = self._count.copy()
        return copy
