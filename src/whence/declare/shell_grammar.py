"""A shell command line, read as a POSIX shell reads it, into its parts.

Every simple command is found, also inside substitutions and subshells, and every construct around
it. What shells do not agree on, and what is a program rather than a command (`if`, functions, `[[`,
here-strings, arrays), is not read: the answer then says so, and nothing may be built on it.
"""

from __future__ import annotations

import re

from whence.declare.shell_word import BLANKS, Cursor, Unreadable, WordReader
from whence.shapes.command import Commands, CommandsOf, Kind, Known, Part, Word
from whence.shapes.json import JSONObject

LONGEST = 100_000
MOST_PARTS = 256
"""How much may stand in one line, so that judging it stays cheap."""
_DEEPEST = 16
_RESERVED = frozenset(
    "! { } case coproc do done elif else esac fi for function if in select then time until while"
    " [[ ]]".split()
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OTHER_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\+=|\[)")
_REDIRECTION = re.compile(r"([0-9]?)(<<|<>|<&|>&|>>|>\||<|>)")
_USUAL = {"<": "0", "<<": "0", "<>": "0", "<&": "0"}
"""The descriptor that an operator means where none is written; for the others it is 1."""
_EXPANDED = re.compile(r"[$`\\]")
_SIGNS = ("&&", "||", "|", "&", ";", "\n")
_TIES = frozenset({"&&", "||", "|"})
"""Signs after which a command must follow, on the next line, too."""


def read_line(line: str) -> Commands:
    """The parts of a command line; `unread` says what keeps it from being understood."""
    reader = _Reader(Cursor(line), 0)
    if len(line) > LONGEST:
        return Commands(line, ((),), f"more than {LONGEST} characters")
    if "\0" in line:
        return Commands(line, ((),), "a NUL character")
    try:
        reader.commands("")
    except Unreadable as problem:
        return Commands(line, reader.segments(), str(problem))
    return Commands(line, reader.segments())


def lines_in(argument: str) -> CommandsOf:
    """For a tool that takes a command line as this argument: what a call of it would run."""

    def commands_of(arguments: JSONObject) -> Commands:
        return read_line(str(arguments.get(argument, "")))

    return commands_of


class _Reader:
    """Reads commands up to the sign that closes them."""

    def __init__(self, cursor: Cursor, depth: int) -> None:
        if depth > _DEEPEST:
            raise Unreadable(f"substitutions more than {_DEEPEST} deep")
        self._cursor = cursor
        self._depth = depth
        self._parts: list[Part] = []
        self._inner: list[tuple[Part, ...]] = []
        self._waiting: list[tuple[Part, bool]] = []
        """Here-documents whose text comes after this line, and whether their end is quoted."""

    def segments(self) -> tuple[tuple[Part, ...], ...]:
        """What was read."""
        return (tuple(self._parts), *self._inner)

    def commands(self, closing: str) -> None:
        """Simple commands and the signs between them."""
        self._lines()
        while True:
            if len(self._parts) + sum(map(len, self._inner)) > MOST_PARTS:
                raise Unreadable(f"more than {MOST_PARTS} commands")
            self._command()
            sign = self._sign()
            more = self._lines() if sign else False
            ended = not self._cursor.peek() or self._cursor.peek() == ")"
            if sign in _TIES and ended:
                raise Unreadable(f"nothing follows {sign}")
            if sign and not (sign == "\n" and ended):
                self._add_sign(sign)
            if more and not ended and sign not in _TIES and sign != "\n":
                self._add_sign("\n")
            if not sign or ended:
                break
        if self._waiting:
            raise Unreadable("a here-document without its text")
        if not self._cursor.take(closing) or (not closing and self._cursor.peek()):
            raise Unreadable("parentheses that do not match, or a function")

    def _add_sign(self, sign: str) -> None:
        shown = "\\n" if sign == "\n" else sign
        self._parts.append(Part(Kind.SIGN, (Word(sign, shown),)))

    def _sign(self) -> str:
        self._blanks()
        sign = next((sign for sign in _SIGNS if self._cursor.take(sign)), "")
        if sign in ("&", "|") and self._cursor.peek() in ("&", ">"):
            raise Unreadable(f"{sign}{self._cursor.peek()}")
        if sign == "\n":
            self._here_documents()
        return sign

    def _lines(self) -> bool:
        """Go past empty lines; whether there were any."""
        found = False
        self._blanks()
        while self._cursor.take("\n"):
            self._here_documents()
            found = True
            self._blanks()
        return found

    def _blanks(self) -> None:
        """Go past blanks, lines that go on, and comments."""
        cursor = self._cursor
        while True:
            if cursor.peek() and cursor.peek() in BLANKS:
                cursor.at += 1
            elif not cursor.take("\\\n"):
                break
        if cursor.peek() == "#":
            if self._depth:
                raise Unreadable("a comment inside a substitution")
            end = cursor.text.find("\n", cursor.at)
            cursor.at = len(cursor.text) if end < 0 else end

    def _command(self) -> None:
        words: list[Word] = []
        extras: list[Part] = []
        if self._cursor.take("("):
            self._subshell()
            self._redirections(extras)
            self._parts += [Part(Kind.COMMAND, (), tuple(extras))] if extras else []
            return
        while self._redirections(extras) or self._word(words, extras):
            continue
        if not words and not extras:
            raise Unreadable("a command is missing")
        self._parts.append(Part(Kind.COMMAND, tuple(words), tuple(extras)))

    def _word(self, words: list[Word], extras: list[Part]) -> bool:
        if not self._cursor.peek() or self._cursor.peek() in "\n;&|<>()":
            return False
        reader = WordReader(self._cursor, self._substitute)
        word = reader.read()
        if word.source.isdecimal() and self._cursor.peek() in ("<", ">"):
            raise Unreadable(f"the descriptor {word.source}")
        if not words:
            if reader.is_bare and reader.bare in _RESERVED:
                raise Unreadable(f"`{reader.bare}`")
            if _OTHER_ASSIGNMENT.match(reader.bare):
                raise Unreadable(f"`{word.source}`")
            if _ASSIGNMENT.match(reader.bare):
                extras += [Part(Kind.ASSIGNMENT, (word,)), *reader.extras]
                return True
        words.append(word)
        extras += reader.extras
        return True

    def _redirections(self, extras: list[Part]) -> bool:
        """Read what stands here of them; whether there was any."""
        self._blanks()
        found = False
        while match := _REDIRECTION.match(self._cursor.text, self._cursor.at):
            self._cursor.at = match.end()
            self._redirection(match[1], match[2], extras)
            self._blanks()
            found = True
        return found

    def _redirection(self, number: str, operator: str, extras: list[Part]) -> None:
        following = self._cursor.peek()
        if following and (following in "<>&(|" or operator + following == "<<-"):
            raise Unreadable(f"`{operator}{following}`")
        self._blanks()
        reader = WordReader(self._cursor, self._substitute)
        word = reader.read()
        if not word.source:
            raise Unreadable(f"nothing follows {operator}")
        usual = number in ("", _USUAL.get(operator, "1"))
        made = Part(Kind.REDIRECTION, (Word.exact(operator if usual else number + operator), word))
        if operator in (">&", "<&") and not (reader.is_bare and word.text.isdecimal()):
            raise Unreadable(f"`{operator}{word.source}`")
        extras += [made, *reader.extras]
        if operator == "<<":
            self._await_text(made, quoted=not reader.is_bare)

    def _await_text(self, made: Part, *, quoted: bool) -> None:
        if self._depth or made.words[1].known is not Known.EXACT:
            raise Unreadable("a here-document inside a substitution, or with an odd end")
        self._waiting.append((made, quoted))

    def _here_documents(self) -> None:
        """Read the texts of the line that has just ended, each into its part."""
        for part, quoted in self._waiting:
            operator, end = part.words
            lines: list[str] = []
            while (line := self._cursor.until("\n", "a here-document")) != end.text:
                lines.append(f"{line}\n")
                if self._cursor.text[self._cursor.at :] == end.text:
                    self._cursor.at = len(self._cursor.text)
                    break
            text = "".join(lines)
            if not quoted and _EXPANDED.search(text):
                raise Unreadable("a here-document with expansions; quote its end, as in <<'END'")
            made = Part(Kind.REDIRECTION, (operator, Word(text, f"{end.source}…")))
            self._parts = [_replaced(command, part, made) for command in self._parts]
        self._waiting = []

    def _subshell(self) -> None:
        if self._cursor.peek() == "(":
            raise Unreadable("arithmetic")
        self._parts.append(Part(Kind.SIGN, (Word.exact("()"),)))
        inner = self._read_inside(self._cursor, ")")
        self._parts += inner._parts
        self._inner += inner._inner

    def _substitute(self, cursor: Cursor, closing: str) -> None:
        self._inner += self._read_inside(cursor, closing).segments()

    def _read_inside(self, cursor: Cursor, closing: str) -> _Reader:
        if len(self._inner) > MOST_PARTS:
            raise Unreadable(f"more than {MOST_PARTS} substitutions")
        inner = _Reader(cursor, self._depth + 1)
        inner.commands(closing)
        return inner


def _replaced(command: Part, part: Part, made: Part) -> Part:
    if not any(extra is part for extra in command.extras):
        return command
    extras = tuple(made if extra is part else extra for extra in command.extras)
    return Part(command.kind, command.words, extras)
