"""Characters that do not look like what they are."""

from __future__ import annotations

import re
import unicodedata

_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Printable by their class, and still nothing to be seen."""
_LETTERS = re.compile(r"[^\W\d_]+")
_ALIKE = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts with letters that look like Latin ones."""
_SPACES = re.compile(" {17,}")


def is_hidden(char: str) -> bool:
    """Whether a person does not see it, or a terminal obeys it; a plain space is seen."""
    return not char.isprintable() or _BLANK.match(char) is not None


def named(char: str) -> str:
    """The number and the name of a character."""
    return f"U+{ord(char):04X} {unicodedata.name(char, 'CONTROL CHARACTER')}"


def visible(text: str) -> str:
    """One line in which everything can be seen and nothing is obeyed.

    Hidden characters become their number, and long runs of spaces their length, which could push
    words out of sight.
    """
    if not text.isprintable() or _BLANK.search(text):
        text = "".join(f"<U+{ord(char):04X}>" if is_hidden(char) else char for char in text)
    return _SPACES.sub(lambda found: f"<{len(found[0])} spaces>", text)


def visible_lines(text: str) -> list[str]:
    """The lines of a text, each of them `visible`; only a newline ends one."""
    return [visible(line) for line in text.split("\n")] if text else []


def misleading(word: str, *, program: bool = False) -> str | None:
    """The first character that makes a word look like another one; None: it is what it seems.

    A program's name is held to ASCII. Elsewhere other scripts are fine, though not mixed with Latin
    letters in one run; so are tabs and line breaks, which `visible` shows.
    """
    if word.isascii() and word.isprintable():
        return None
    for char in word:
        if (is_hidden(char) and char not in "\t\n") or (program and not char.isascii()):
            return char
    for letters in _LETTERS.findall(word):
        foreign = [char for char in letters if _script(char) in _ALIKE]
        if foreign and any(_script(char) == "LATIN" for char in letters):
            return str(foreign[0])
    return None


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
