"""What the `.gitignore` files of a tree leave out."""

from __future__ import annotations

import os
from dataclasses import dataclass

from whence.work.lexical.globs import Rules

_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Level:
    """A directory that has a say in what is excluded below it."""

    offset: int
    """Where, in an absolute path below it, the path relative to it begins."""
    rules: Rules | None
    is_repository: bool
    above: Level | None


def levels_above(top: bytes) -> Level | None:
    """The directories above `top` that have a say, up to the root of its repository."""
    above: list[bytes] = []
    while top != b"/" and not os.path.lexists(os.path.join(top, b".git")):
        top = os.path.dirname(top)
        above.insert(0, top)
    level = None
    for directory in above:
        marks = (b".git", b".gitignore")
        names = {name for name in marks if os.path.lexists(os.path.join(directory, name))}
        level = level_of(directory, names, level)
    return level


def level_of(directory: bytes, names: set[bytes], above: Level | None) -> Level | None:
    """Who has a say inside a directory; of its names, only those of git itself matter."""
    rules = _gitignore(os.path.join(directory, b".gitignore")) if b".gitignore" in names else None
    is_repository = b".git" in names
    if rules is None and not is_repository:
        return above
    return Level(len(os.path.join(directory, b"")), rules, is_repository, above)


def _gitignore(path: bytes) -> Rules | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            text = file.read(_LARGEST).decode("utf-8-sig", "replace")
    except OSError:
        return None  # one that cannot be read excludes nothing
    return Rules.of(text.split("\n"))


def is_excluded(path: bytes, is_directory: bool, level: Level | None) -> bool:
    """Whether a path is left out, the directories above it aside."""
    while level is not None:
        if level.rules is not None:
            relative = path[level.offset :].decode("utf-8", "replace")
            verdict = level.rules.excludes(relative, is_directory=is_directory)
            if verdict is not None:
                return verdict
        level = None if level.is_repository else level.above
    return False


def lies_excluded(directory: bytes, level: Level | None) -> bool:
    """Whether a directory, or one above it, is left out by the levels above it."""
    while level is not None:
        if len(directory) <= level.offset:
            level = level.above
        elif is_excluded(directory, True, level):
            return True
        else:
            directory = os.path.dirname(directory)
    return False
