"""Rules about commands: every part of a line is judged on its own. Pure.

The pattern of a rule is itself a line, such as `git log *`, `npm test | tee *` or `> build/*`, or
a lone sign such as `|` or `$()`. A restriction holds where it fits any part of what is to be run. A
call is permitted where the permissions together cover every command and every construct of it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from posixpath import basename
from typing import TypeAlias

from whence.declare.shell_grammar import read_line
from whence.gate.word_match import is_wide, words_fit
from whence.shapes.command import Commands, Kind, Known, Part, Word
from whence.shapes.glyph import misleading, named

Keys: TypeAlias = frozenset[tuple[int, ...]]
"""Places in a line that need a permission: (segment, part) or (segment, part, extra)."""

_ANY = Word("**", "**", Known.PATTERN)
_LONE_SIGNS = {
    sign: Part(Kind.SIGN, (Word("\n" if sign == "\\n" else sign, sign),))
    for sign in ("|", "&&", "||", ";", "&", "()", "\\n")
}
_LONE_REDIRECTION = re.compile(r"[0-9]?(?:<<|<>|>>|>\||<&|>&|<|>)")
_LONE_VARIABLE = re.compile(r"~|\$(?:\*|[A-Za-z_][A-Za-z0-9_]*|[0-9@#?$!-])")
_CARRIERS = frozenset(
    "builtin busybox chroot command doas env exec find flock ionice nice nohup parallel setsid"
    " stdbuf strace sudo timeout toybox unshare watch xargs".split()
)
"""Programs that run the program which their arguments name."""
_SHELLS = frozenset("ash bash dash eval ksh mksh sh zsh".split())
"""Programs that read a command line from their arguments."""
_LOOKED_AT = 64


@lru_cache(maxsize=4096)
def read_pattern(pattern: str, *, after_program: bool = False) -> Commands:
    """What a rule's pattern stands for; `unread` says what is wrong with it.

    Args:
        pattern: as a person wrote it.
        after_program: whether it holds only what comes after the program's name.
    """
    pattern = pattern.strip()
    if after_program:
        read = read_line(f"program {pattern}")
        (first, *rest), *inner = read.segments if read.segments[0] else ((Part(Kind.COMMAND),),)
        if rest or inner or first.extras:
            return Commands(pattern, (), "no shell runs this tool: write only words")
        return Commands(pattern, ((Part(Kind.COMMAND, first.words[1:]),),), read.unread)
    lone = _lone(pattern)
    return Commands(pattern, ((lone,),)) if lone else read_line(pattern)


def _lone(pattern: str) -> Part | None:
    """A construct without a command."""
    extra = None
    if pattern == "$()":
        extra = Part(Kind.SIGN, (Word.exact(pattern),))
    elif _LONE_REDIRECTION.fullmatch(pattern):
        extra = Part(Kind.REDIRECTION, (Word.exact(pattern), _ANY))
    elif _LONE_VARIABLE.fullmatch(pattern):
        known = Known.PATTERN if pattern == "$*" else Known.EXACT
        extra = Part(Kind.VARIABLE, (Word(pattern, pattern, known),))
    return Part(Kind.COMMAND, (), (extra,)) if extra else _LONE_SIGNS.get(pattern)


def needed(commands: Commands) -> Keys:
    """Everything that needs a permission."""
    return frozenset(key for key, _ in _places(commands))


def covered(pattern: Commands, commands: Commands) -> Keys:
    """What a permission covers: nothing, unless all of its own parts are there."""
    keys: set[tuple[int, ...]] = set()
    for run in pattern.segments:
        hits = list(_hits(run, commands, loose=False))
        if not hits:
            return frozenset()
        for segment, start in hits:
            for at, part in enumerate(run, start):
                keys |= _covered_by(part, commands.segments[segment][at], (segment, at))
    return frozenset(keys)


def restricted(pattern: Commands, commands: Commands) -> bool:
    """Whether a restriction fits, or might fit, some of it or of what it passes on to be run."""
    whole = Commands(commands.line, (*commands.segments, *_carried(commands)))
    return all(any(_hits(run, whole, loose=True)) for run in pattern.segments)


def disguised(commands: Commands) -> str | None:
    """What is wrong with the first word that looks like another one."""
    for segment in commands.segments:
        for part in segment:
            for index, word in enumerate(_all_words(part)):
                program = index == 0 and part.kind is Kind.COMMAND and bool(part.words)
                if char := misleading(word.text, program=program):
                    return f"{named(char)} in {word.text!r} makes it look like something else"
    if commands.unread and (char := misleading(commands.line)):
        return f"{named(char)} in it makes it look like something else"
    return None


def first_missing(commands: Commands, keys: Keys) -> str:
    """As it is written, the first piece of a line that the keys leave out."""
    for key, part in _places(commands):
        if key not in keys:
            return part.source
    return ""


def smallest_pattern(commands: Commands, *, after_program: bool) -> str | None:
    """The narrowest pattern that covers all of it; None: there is none.

    It is the line itself, unless the line holds what a rule would take for more than it is.
    """
    if after_program:
        words = commands.segments[0][0].words[1:]
        joined = shlex.join(word.text for word in words)
        return None if read_pattern(joined, after_program=True).unread else joined
    pattern = read_pattern(commands.line)
    if commands.unread or pattern.unread:
        return None
    parts = (part for segment in pattern.segments for part in segment)
    if any(is_wide(piece.words) for part in parts for piece in (part, *part.extras)):
        return None
    return commands.line.strip() if covered(pattern, commands) >= needed(commands) else None


def for_program(pattern: Commands, program: Word) -> Commands:
    """A pattern that was written for a tool that names its program itself."""
    ((part,),) = pattern.segments
    whole = Part(Kind.COMMAND, (program, *part.words))
    return Commands(pattern.line, ((whole,),), pattern.unread)


def _places(commands: Commands) -> Iterator[tuple[tuple[int, ...], Part]]:
    for s, segment in enumerate(commands.segments):
        for i, part in enumerate(segment):
            if part.words:
                yield (s, i), part
            for k, extra in enumerate(part.extras):
                yield (s, i, k), extra


def _all_words(part: Part) -> Iterator[Word]:
    yield from part.words
    for extra in part.extras:
        yield from extra.words


def _hits(run: tuple[Part, ...], commands: Commands, *, loose: bool) -> Iterator[tuple[int, int]]:
    """Where a run of parts is found."""
    for s, segment in enumerate(commands.segments):
        for start in range(len(segment) - len(run) + 1):
            found = segment[start : start + len(run)]
            if all(_fits(a, b, loose=loose) for a, b in zip(run, found, strict=True)):
                yield s, start


def _fits(wanted: Part, part: Part, *, loose: bool) -> bool:
    if wanted.kind is not part.kind:
        return False
    command = wanted.kind is Kind.COMMAND
    if wanted.words and not words_fit(wanted.words, part.words, loose=loose, program=command):
        return False
    return all(
        any(_extra_fits(extra, found, loose=loose) for found in part.extras)
        for extra in wanted.extras
    )


def _extra_fits(wanted: Part, part: Part, *, loose: bool) -> bool:
    return wanted.kind is part.kind and words_fit(
        wanted.words, part.words, loose=loose, program=False
    )


def _covered_by(wanted: Part, part: Part, key: tuple[int, int]) -> set[tuple[int, ...]]:
    keys: set[tuple[int, ...]] = {key} if wanted.words else set()
    for k, found in enumerate(part.extras):
        if any(_extra_fits(extra, found, loose=False) for extra in wanted.extras):
            keys.add((*key, k))
    return keys


def _carried(commands: Commands) -> Iterator[tuple[Part, ...]]:
    """Commands that a command passes on to be run, as far as its words show them."""
    for segment in commands.segments:
        for part in segment:
            if part.kind is Kind.COMMAND and part.words:
                yield from _passed_on(part.words)


def _passed_on(words: tuple[Word, ...]) -> Iterator[tuple[Part, ...]]:
    program = basename(words[0].text)
    if program in _CARRIERS:
        for start in range(1, min(len(words), _LOOKED_AT)):
            yield (Part(Kind.COMMAND, words[start:]),)
            if basename(words[start].text) in _SHELLS:
                yield from _passed_on(words[start:])
    elif program in _SHELLS:
        for word in words[1:_LOOKED_AT]:
            inner = read_line(word.text)
            yield from inner.segments
            yield from _carried(inner)
