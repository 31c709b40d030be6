"""A unified diff for one file, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

_UNDONE = str.maketrans("-+", "+-")


class Hunk(NamedTuple):
    """One change with its context. A line's trailing CR belongs to its ending, as in a file."""

    number: int
    """Counted from 1."""
    line: int
    """Where its `@@` stands in the diff, counted from 1."""
    signs: str
    """The first character of each line: a space, `-` or `+`."""
    old: tuple[str, ...]
    """Context and removed lines, without sign and without LF."""
    new: tuple[str, ...]
    """Context and added lines, without sign and without LF."""
    old_keys: tuple[str, ...]
    """`old` without line endings: what is compared with the file."""
    new_keys: tuple[str, ...]
    old_at: int | None
    """How many lines of the old file come before it, as the diff says; None: it does not say."""
    new_at: int | None
    old_unterminated: bool = False
    """The diff says that the old file ends here, without a line ending."""
    new_unterminated: bool = False

    @property
    def ends_file(self) -> bool:
        """Whether it can only stand at the end of the file."""
        return self.old_unterminated or self.new_unterminated

    @property
    def lead(self) -> int:
        """How many context lines it begins with."""
        return len(self.signs) - len(self.signs.lstrip(" "))

    @property
    def tail(self) -> int:
        """How many context lines it ends with."""
        return len(self.signs) - len(self.signs.rstrip(" "))

    def new_with(self, sign: str) -> list[str]:
        """The new lines with this sign, a space or `+`, without endings."""
        signs = self.signs.replace("-", "")
        return [key for mark, key in zip(signs, self.new_keys, strict=True) if mark == sign]

    def undone(self) -> Hunk:
        """The hunk that takes this one back."""
        return Hunk(
            self.number,
            self.line,
            self.signs.translate(_UNDONE),
            self.new,
            self.old,
            self.new_keys,
            self.old_keys,
            self.new_at,
            self.old_at,
            self.new_unterminated,
            self.old_unterminated,
        )


@dataclass(frozen=True, slots=True)
class Patch:
    """What a unified diff for exactly one file says."""

    old_path: str | None
    """Without git's `a/`; None: no header, or `/dev/null`."""
    new_path: str | None
    """Without git's `b/`; None: no header, or `/dev/null`."""
    hunks: tuple[Hunk, ...]
    creates: bool
    """The file must be absent or empty."""
    deletes: bool
    """The file goes away; the diff shows all of its lines."""
    warnings: tuple[str, ...] = ()
    """What was wrong with the diff and could be understood all the same."""
