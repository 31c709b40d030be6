"""Words cut into the pieces that MiniLM knows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

_LONGEST_WORD = 100
_CONTROL = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """An uncased vocabulary; a text becomes the numbers of its longest known pieces."""

    def __init__(self, vocabulary: Path) -> None:
        pieces = vocabulary.read_text("utf-8").split("\n")
        self._numbers = {piece: number for number, piece in enumerate(pieces) if piece}
        self._unknown = self._numbers["[UNK]"]
        self._first = self._numbers["[CLS]"]
        self._last = self._numbers["[SEP]"]
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, limit: int) -> list[int]:
        """At most `limit` numbers, with the marks for beginning and end."""
        numbers = [self._first]
        for word in words(text):
            if len(numbers) >= limit - 1:
                break
            numbers += self._pieces(word)
        return [*numbers[: limit - 1], self._last]

    def _pieces(self, word: str) -> tuple[int, ...]:
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = tuple(self._cut(word))
        return found

    def _cut(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        numbers: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._numbers.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return [self._unknown]
            numbers.append(number)
            start = end
        return numbers


def words(text: str) -> Iterator[str]:
    """Lower-case words without accents; signs and ideographs stand alone."""
    word: list[str] = []
    for char in unicodedata.normalize("NFD", _cleaned(text).lower()):
        if unicodedata.category(char) == "Mn":
            continue
        if not (char.isspace() or _stands_alone(char)):
            word.append(char)
            continue
        if word:
            yield "".join(word)
            word.clear()
        if not char.isspace():
            yield char
    if word:
        yield "".join(word)


def _cleaned(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    kept = (char for char in text if char != "\ufffd")
    return "".join(
        " " if char.isspace() else char
        for char in kept
        if char.isspace() or unicodedata.category(char) not in _CONTROL
    )


def _stands_alone(char: str) -> bool:
    if char.isascii():
        return not char.isalnum()
    if unicodedata.category(char).startswith("P"):
        return True
    return any(low <= ord(char) <= high for low, high in _IDEOGRAPHS)
