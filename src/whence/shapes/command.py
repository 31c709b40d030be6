"""What a call is going to run, taken apart so that rules can judge every piece of it.

Commands            a line, or the words of one program
└── segments        the line itself, then each substitution inside it
└── Part        a simple command, or the sign between two of them
├── words   the program and its arguments
└── extras  what comes with it: assignments, redirections, variables, substitutions
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from shlex import quote
from typing import TypeAlias

from whence.shapes.dataclass import dataclass
from whence.shapes.json import JSONObject


class Known(StrEnum):
    """How much of a word is known before the shell has seen it."""

    EXACT = "exact"
    """The program gets exactly this."""
    PATTERN = "pattern"
    """It has `*`, `?` or `[`, and becomes the names of files that match."""
    OPEN = "open"
    """It holds a variable or a substitution, and becomes any number of words."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    text: str
    """Without quotes; what the program gets, where it is exact."""
    source: str
    """As it is written."""
    known: Known = Known.EXACT

    @classmethod
    def exact(cls, text: str) -> Word:
        """A word that means itself."""
        return cls(text, text)


class Kind(StrEnum):
    """What a part of a line is."""

    COMMAND = "command"
    SIGN = "sign"
    """`|`, `&&`, `||`, `;`, `&`, a newline, `()`; as an extra, `$()`."""
    ASSIGNMENT = "assignment"
    REDIRECTION = "redirection"
    """The operator, and the file or the text."""
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a line that needs its own permission."""

    kind: Kind
    words: tuple[Word, ...] = ()
    extras: tuple[Part, ...] = ()

    @property
    def source(self) -> str:
        """As it is written."""
        return " ".join(word.source for word in self.words)


@dataclass(frozen=True, slots=True)
class Commands:
    """What a call is going to run."""

    line: str
    """As a person is to see it."""
    segments: tuple[tuple[Part, ...], ...]
    unread: str = ""
    """What could not be understood of it; then the parts are not all that there are."""

    @classmethod
    def of(cls, argv: Iterable[str]) -> Commands:
        """One program, started without a shell."""
        words = tuple(Word(text, quote(text)) for text in argv)
        line = " ".join(word.source for word in words)
        return cls(line, ((Part(Kind.COMMAND, words),),))


CommandsOf: TypeAlias = Callable[[JSONObject], Commands]
"""What a call with these checked arguments would run. Pure; raises InvalidArgs, nothing else."""
