"""Titles, narratives and comments: words for people, which can never pass for structure.

No line of them may look like a heading, a rule, a fence or a key to any reader of the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_STRUCTURE = re.compile(r"([ \t]*)(#|~~~|\\|[-=_*]{2}|[-=]\s*$)")
_UNDONE = re.compile(r"([ \t]*)\\(?=#|~~~|\\|[-=_*]{2}|[-=]\s*$)")
_KEY = re.compile(r"[^\s:]+:|\{")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)


def one_line(text: str) -> str:
    """The text as a title: a single line without fences."""
    if text.isprintable() and "```" not in text and "<!--" not in text:
        return text.strip()
    return " ".join(_harmless(part).strip() for part in text.splitlines()).strip()


def paragraphs(text: str) -> str:
    """The text as a narrative; a line that looks like structure is escaped."""
    if text.isprintable() and text[:1].isalpha() and not _doubtful(text):
        return text
    lines = [_escaped(_harmless(line)) for line in text.splitlines()]
    return "\n".join(lines).strip("\n")


def plain(text: str) -> str:
    """A narrative as it was before `paragraphs` escaped it."""
    return "\n".join(_plain_line(line) for line in text.split("\n"))


def comment_lines(texts: Iterable[str]) -> list[str]:
    """The `# …` lines of some comments."""
    return [
        f"# {_harmless(line).strip()}".rstrip()
        for text in texts
        for line in (text.splitlines() or [""])
    ]


def _doubtful(text: str) -> bool:
    return ":" in text or "```" in text or "<!--" in text


def _harmless(line: str) -> str:
    line = _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", line)
    return line.replace("```", "'''").replace("<!--", "<\\!--")


def _escaped(line: str) -> str:
    if _STRUCTURE.match(line):
        return _STRUCTURE.sub(r"\1\\\2", line, count=1)
    return f" {line}" if _KEY.match(line) else line


def _plain_line(line: str) -> str:
    if line[:1] == " " and _KEY.match(line, 1):
        return line[1:]
    return _UNDONE.sub(r"\1", line, count=1)
