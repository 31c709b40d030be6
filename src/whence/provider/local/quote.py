"""What a tool gave back, in words: its own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec

from whence.errors import ParseError
from whence.provider.wire import loads
from whence.shapes.item import Image, ToolOutcome

LINES = 60
"""Longer outputs are cut, and say so."""

_CHARS = 6000
_REMARK = re.compile(r"\n\[(?:warning|truncated): [^\n]*\](?=\n|$)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z“\"(])")
_BARE = "#>*-•| \t`"
_WORDS_OF_SENTENCE = 4
_FULL_LINE = 50
_CONTINUED = re.compile(r"\s{0,3}[^\W_]")


class Sentence(NamedTuple):
    """A sentence and its line, counted from 1."""

    text: str
    line: int


def value_of(outcome: ToolOutcome) -> Any:
    """The result as a value, also where only its text is left."""
    if outcome.structured is not None:
        return outcome.structured
    text = _REMARK.sub("", outcome.text)
    try:
        return loads(text.encode())
    except ParseError:
        return text


def main_text(value: Any) -> str | None:
    """The text that a result is about: the result itself, or the one long field of it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        texts = [part for part in value.values() if isinstance(part, str)]
        whole = sum(len(str(part)) for part in value.values()) or 1
        longest = max(texts, key=len, default="")
        if "\n" in longest or len(longest) * 2 > whole:
            return longest
    return None


def quote(outcome: ToolOutcome) -> str:
    """The result for a person, as far as it goes."""
    if any(isinstance(part, Image) for part in outcome.parts):
        return "It is a picture, which I cannot see."
    value = value_of(outcome)
    text = main_text(value)
    return _cut(text.rstrip("\n") if text is not None else _shown(value)) or "It gave no output."


def fault(outcome: ToolOutcome) -> str:
    """Why a call failed, and what would help."""
    value = value_of(outcome)
    error = value.get("error") if isinstance(value, Mapping) else None
    if isinstance(error, Mapping):
        return ". ".join(str(error[key]) for key in ("message", "suggestion") if error.get(key))
    return outcome.text.strip() or "it did not say why."


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of a document that tell something, without what only lays it out."""
    return [
        Sentence(sentence.strip(_BARE), number)
        for lines in _paragraphs(_prose(text))
        for sentence, number in _cut_sentences(lines)
        if len(sentence.split()) >= _WORDS_OF_SENTENCE and not sentence.endswith("?")
    ]


def _paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[list[Sentence]]:
    """Lines that belong together: one that was broken to fit goes on in the next."""
    held: list[Sentence] = []
    for number, line in lines:
        if held and not _goes_on(held[-1].text, line):
            yield held
            held = []
        held.append(Sentence(line, number))
    if held:
        yield held


def _goes_on(line: str, following: str) -> bool:
    """Whether a sentence was broken off at the end of a line only because it was full."""
    full = len(line) >= _FULL_LINE and not line.rstrip().endswith((".", "!", "?", ":", ";", "|"))
    return full and _CONTINUED.match(following) is not None


def _cut_sentences(lines: Sequence[Sentence]) -> Iterator[tuple[str, int]]:
    """Sentences and the lines on which they begin."""
    joined = " ".join(line.text.strip(_BARE) for line in lines)
    ends = list(accumulate(len(line.text.strip(_BARE)) + 1 for line in lines))
    at = 0
    for sentence in _SENTENCE.split(joined):
        at = joined.index(sentence, at)
        yield sentence, lines[bisect_right(ends, at)].line
        at += len(sentence)


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are no code between fences, counted from 1."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _shown(value: Any) -> str:
    if value is None or value in ({}, []):
        return "Nothing was found." if value == [] else "Done."
    if isinstance(value, Mapping):
        return "\n".join(f"{key}: {_scalar(part)}" for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n".join(_entry(part) for part in value)
    return _scalar(value)


def _entry(value: Any) -> str:
    """One of many: a name, a hit in a file, or whatever it has."""
    if not isinstance(value, Mapping):
        return _scalar(value)
    if "path" in value and "line" in value:
        return f"{value['path']}:{value['line']}: {str(value.get('content', '')).strip()}"
    if isinstance(value.get("name"), str):
        folder = value.get("type") in ("dir", "directory", "folder")
        return f"{value['name']}{'/' if folder else ''}"
    return ", ".join(f"{key}: {_scalar(part)}" for key, part in value.items())


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cut(text: str) -> str:
    lines = text[:_CHARS].split("\n")[:LINES]
    kept = "\n".join(lines)
    left = len(text) - len(kept)
    return f"{kept}\n… {left} more characters" if left > 0 else kept
