"""Path patterns, as `.gitignore` reads them, compiled once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache


def glob_regex(pattern: str) -> str:
    """The regular expression of a path pattern, the same for `re` and RE2.

    `*` and `?` stay within a name, `**` crosses names. A pattern with no inner slash matches at any
    depth; one that names a directory (`src`, `src/`, `src/**`) matches it and everything below it.
    """
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    body = body.removesuffix("/**")
    out = ["^" if anchored else "^(?:.*/)?"]
    at = 0
    while at < len(body):
        taken, piece = _piece(body, at)
        out.append(piece)
        at += taken
    return "(?s)" + "".join(out) + "(?:/.*)?$"


def _piece(body: str, at: int) -> tuple[int, str]:
    if body.startswith("**/", at):
        return 3, "(?:.*/)?"
    if body.startswith("**", at):
        return 2, ".*"
    char = body[at]
    if char == "*":
        return 1, "[^/]*"
    if char == "?":
        return 1, "[^/]"
    if char == "[":
        return _class(body, at)
    if char == "\\" and at + 1 < len(body):
        return 2, _literal(body[at + 1])
    return 1, _literal(char)


def _class(body: str, at: int) -> tuple[int, str]:
    end = body.find("]", at + 2)
    if end < 0:
        return 1, r"\["
    inner = body[at + 1 : end]
    negated = inner[0] in "!^"
    inner = inner[1:] if negated else inner
    if not inner or any(m == "-" and a > b for a, m, b in zip(inner, inner[1:], inner[2:])):  # noqa: B905
        return 1, r"\["
    safe = inner.replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^")
    if safe.startswith("-"):  # itself, and not a range from the slash before it
        safe = f"\\{safe}"
    return end - at + 1, f"[{'^/' if negated else ''}{safe}]"


def _literal(char: str) -> str:
    return f"\\{char}" if char in ".+*?()|[]{}^$\\" else char


@lru_cache(maxsize=4096)
def path_matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a path, relative and with slashes, matches the pattern."""
    import re2

    compiled = re2.compile(glob_regex(pattern))

    def matches(path: str) -> bool:
        try:
            return compiled.match(path) is not None
        except UnicodeEncodeError:  # a name that is not UTF-8: each odd byte is one character
            known = path.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            return compiled.match(known) is not None

    return matches


def matches_any(patterns: Iterable[str], path: str) -> bool:
    """Whether one of the patterns matches."""
    return any(path_matcher(pattern)(path) for pattern in patterns)


def constant_matcher(*patterns: str) -> Callable[[str], bool]:
    """One test for several patterns of our own, each with a single star at the most.

    Such patterns cannot backtrack, so that the faster standard engine will do.
    """
    compiled = re.compile("|".join(f"(?:{glob_regex(p)[4:]})" for p in patterns), re.DOTALL).match
    return lambda path: compiled(path) is not None
