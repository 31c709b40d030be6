"""The language of `.gitignore` lines and of globs, as ripgrep reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import re2

_TOKEN = re.compile(
    r"""
      \\(?P<escaped>.)
    | (?P<deep>(?:^|(?<=/))\*\*/)
    | (?P<rest>(?:^|(?<=/))\*\*$)
    | (?P<stars>\*+)
    | (?P<any>\?)
    | \[(?P<negated>[!^]?)(?P<members>\]?[^\]]*)\]
    | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a `.gitignore`."""

    regex: str
    """Matches the whole of a path relative to the file's directory."""
    negated: bool
    """Takes back what earlier lines excluded."""
    directories_only: bool


def parse_rule(line: str) -> Rule | None:
    """The rule that a line states; None for a comment or a blank.

    Raises:
        ValueError: It is not a pattern; the text says why.
    """
    if line.startswith("#"):
        return None
    pattern = line if line.endswith("\\ ") else line.rstrip()
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    directories_only = pattern.endswith("/")
    pattern = pattern[: len(pattern) - directories_only]
    if not pattern:
        return None
    anchored = "/" in pattern
    return Rule(_regex(pattern.removeprefix("/"), anchored), negated, directories_only)


def _regex(glob: str, anchored: bool) -> str:
    """A regular expression for the glob; one that is not anchored may match below any directory."""
    parts = [] if anchored else ["(?:.*/)?"]
    depth = 0
    for token in _TOKEN.finditer(glob):
        plain = token["plain"]
        depth += (plain == "{") - (plain == "}")
        if depth < 0:
            raise ValueError("there is a } without its {")
        parts.append(_piece(token, within=depth > 0))
    if depth:
        raise ValueError("a { is not closed")
    return f"(?s){''.join(parts)}"


def _piece(token: re.Match[str], *, within: bool) -> str:
    """What one token of a glob is in a regular expression; `within` braces, a comma separates."""
    if (plain := token["plain"]) is not None:
        if plain in "[\\":
            raise ValueError(f"a {plain} is not closed")
        return {"{": "(?:", "}": ")", ",": "|" if within else ","}.get(plain) or re.escape(plain)
    if token["members"] is not None:
        members = "".join(c if c == "-" else re.escape(c) for c in token["members"])
        return f"[{'^' if token['negated'] else ''}{members}]"
    if token["escaped"] is not None:
        return re.escape(token["escaped"])
    return {"deep": "(?:.*/)?", "rest": ".*", "stars": "[^/]*", "any": "[^/]"}[str(token.lastgroup)]


class Rules:
    """Rules in order: the last one that matches decides."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._for_files = _Matcher([rule for rule in rules if not rule.directories_only])
        self._for_directories = _Matcher(rules)

    @classmethod
    def of(cls, lines: Iterable[str]) -> Rules:
        """The rules of a `.gitignore`; a line that makes no sense excludes nothing."""
        rules = []
        for line in lines:
            try:
                rules.append(parse_rule(line))
            except ValueError:
                continue
        return cls([rule for rule in rules if rule is not None])

    def excludes(self, path: str, *, is_directory: bool) -> bool | None:
        """Whether a path is excluded (True) or taken back (False); None where no rule matches.

        The directories above the path are not looked at: who walks does not enter excluded ones.
        """
        matcher = self._for_directories if is_directory else self._for_files
        return matcher.decide(path)


class _Matcher:
    def __init__(self, rules: Sequence[Rule]) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 64 << 20
        self._set = re2.Set.FullMatchSet(options)
        self._verdicts = [not rule.negated for rule in rules if self._takes(rule.regex)]
        self._set.Compile()

    def _takes(self, regex: str) -> bool:
        try:
            self._set.Add(regex)
        except re2.error:
            return False
        return True

    def decide(self, path: str) -> bool | None:
        matching = self._set.Match(path) if self._verdicts else None
        return self._verdicts[max(matching)] if matching else None
