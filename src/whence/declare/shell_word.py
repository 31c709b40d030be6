"""Words of a shell line: quotes removed, and everything noted that the shell would still change.

Only what every POSIX shell reads the same way is read. Whatever else there is, such as `$'…'`,
`${x:-…}`, `{a,b}` or arithmetic, is not guessed at: it raises `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from whence.shapes.command import Kind, Known, Part, Word

BLANKS = " \t"
_ENDS = BLANKS + "\n;&|<>()"
_PLAIN = re.compile(r"[A-Za-z0-9_./,+@%-]+")
_SPECIAL = re.compile(r"[\\*?\[]")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NOT_PLAIN = re.compile(r"[\\'\"#]|<<")
_SUBSTITUTION = Part(Kind.SIGN, (Word.exact("$()"),))


class Unreadable(Exception):
    """The line holds something that shells read differently, or that is not read here at all."""


class Cursor:
    """A place in a line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        """The character there; empty at the end."""
        return self.text[self.at : self.at + 1]

    def take(self, sign: str) -> bool:
        """Go past the sign if it stands here."""
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def until(self, sign: str, what: str) -> str:
        """The text up to the sign, which is gone past."""
        end = self.text.find(sign, self.at)
        if end < 0:
            raise Unreadable(f"{what} is not closed")
        taken, self.at = self.text[self.at : end], end + len(sign)
        return taken


Substitute = Callable[[Cursor, str], None]
"""Reads the commands of a substitution, up to and with the sign that closes it."""


class WordReader:
    """Reads the word that begins at a place; afterwards the cursor stands where it ended."""

    def __init__(self, cursor: Cursor, substitute: Substitute) -> None:
        self._cursor = cursor
        self._substitute = substitute
        self._text: list[str] = []
        self._pattern: list[str] = []
        self._known = Known.EXACT
        self.extras: list[Part] = []
        """What the word brings with it: variables and substitutions."""
        self.bare = ""
        """Its beginning, up to the first quote or expansion: names and reserved words are bare."""
        self._is_bare = True

    def read(self) -> Word:
        """The word."""
        cursor = self._cursor
        start = cursor.at
        while (char := cursor.peek()) and char not in _ENDS:
            if plain := _PLAIN.match(cursor.text, cursor.at):
                cursor.at = plain.end()
                self._unquoted(plain[0])
            else:
                cursor.at += 1
                self._character(char)
        if cursor.peek() == "(":
            raise Unreadable("a parenthesis behind a word")
        source, text = cursor.text[start : cursor.at], "".join(self._text)
        if self._known is Known.PATTERN and source != "[":
            return Word("".join(self._pattern), source, Known.PATTERN)
        return Word(text, source, self._known if source != "[" else Known.EXACT)

    @property
    def is_bare(self) -> bool:
        """Whether it was read to its end without a quote or an expansion."""
        return self._is_bare

    def _character(self, char: str) -> None:
        if char == "\\":
            self._escaped()
        elif char == "'":
            self._literal(self._cursor.until("'", "a single quote"))
        elif char == '"':
            self._double_quoted()
        elif char in "$`":
            self._expansion(char, quoted=False)
        else:
            self._special(char)

    def _special(self, char: str) -> None:
        if char in "{}" and not (char == "{" and self._cursor.take("}")):
            raise Unreadable("braces")
        if char == "~" and (not self._text or self._text[-1] in ("=", ":")):
            self._variable("~")
        if char in "*?[" and self._known is Known.EXACT:
            self._known = Known.PATTERN
        self._unquoted("{}" if char == "{" else char)

    def _unquoted(self, text: str) -> None:
        self._text.append(text)
        self._pattern.append(text)
        if self._is_bare:
            self.bare += text

    def _literal(self, text: str) -> None:
        self._is_bare = False
        self._text.append(text)
        self._pattern.append(_SPECIAL.sub(r"\\\g<0>", text))

    def _escaped(self) -> None:
        char = self._cursor.peek()
        if not char:
            raise Unreadable("a backslash at the end")
        if char == "\n":
            raise Unreadable("a line that goes on in the middle of a word")
        self._cursor.at += 1
        self._literal(char)

    def _double_quoted(self) -> None:
        cursor = self._cursor
        self._literal("")
        while (char := cursor.peek()) != '"':
            if not char:
                raise Unreadable("a double quote is not closed")
            cursor.at += 1
            if char == "\\" and cursor.peek() and cursor.peek() in '$`"\\\n':
                self._escaped()
            elif char in "$`":
                self._expansion(char, quoted=True)
            else:
                self._literal(char)
        cursor.at += 1

    def _expansion(self, sign: str, *, quoted: bool) -> None:
        cursor = self._cursor
        start = cursor.at - 1
        if sign == "`":
            self._backquoted()
        elif cursor.take("("):
            if cursor.peek() == "(":
                raise Unreadable("arithmetic")
            self.extras.append(_SUBSTITUTION)
            self._substitute(cursor, ")")
        elif not self._parameter(quoted=quoted):
            self._literal("$")
            return
        self._is_bare = False
        self._known = Known.OPEN
        self._text.append(cursor.text[start : cursor.at])

    def _backquoted(self) -> None:
        content = self._cursor.until("`", "a backquote")
        if _NOT_PLAIN.search(content):
            raise Unreadable("quotes inside backquotes")
        self.extras.append(_SUBSTITUTION)
        self._substitute(Cursor(content), "")

    def _parameter(self, *, quoted: bool) -> bool:
        """Whether the dollar sign begins a plain variable; what else it may begin is unreadable."""
        cursor = self._cursor
        found = _BRACED.match(cursor.text, cursor.at)
        name = found[1] if found else ""
        if not found and (found := _PARAMETER.match(cursor.text, cursor.at)):
            name = found[0]
        if found:
            cursor.at = found.end()
            self._variable(f"${name}")
            return True
        if cursor.peek() and (cursor.peek() in "{[\\" or (not quoted and cursor.peek() in "'\"")):
            raise Unreadable(f"an expansion that begins with ${cursor.peek()}")
        return False

    def _variable(self, name: str) -> None:
        self._known = Known.OPEN
        self.extras.append(Part(Kind.VARIABLE, (Word.exact(name),)))
