"""Commands as words: split once when they are declared, filled in for each call.

A command is split as a shell would split it, and nothing else of a shell happens: no variables, no
patterns, no pipes. `%20` means a space, as it always did in these files. `{name}` is where a value
goes, and `{{name}}` is those letters themselves. A word whose value was left out is left out too,
and one whose value is a list is repeated.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import islice, product
from typing import Any

from whence.chatmd.suggest import quoted
from whence.errors import InvalidArgs
from whence.shapes.command import Commands, CommandsOf
from whence.shapes.declaration import Hole, Param, ShellCommand, Word
from whence.shapes.json import JSONObject

MOST_WORDS = 10_000
"""How many words one call may make."""

# shlex takes quadratic time over one word.
_LONGEST = 16_384
_HOLE = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_-]*)\}\}|\{([A-Za-z_][A-Za-z0-9_-]*)\}")


def split_command(command: str) -> list[str]:
    """The words of a command.

    Raises:
        InvalidArgs: it is empty or too long, has a NUL, or a quote is not closed.
    """
    if len(command) > _LONGEST:
        raise InvalidArgs(
            f"The command has {len(command):,} characters, more than {_LONGEST:,}.",
            "Put it into a script of its own.",
        )
    if "\0" in command:
        raise InvalidArgs("The command holds a NUL character.", "Remove it.")
    try:
        words = shlex.split(command.replace("%20", " "))
    except ValueError as error:
        raise InvalidArgs(
            f"The command is {quoted(command)}: {str(error).lower()}.",
            "Close the quote; a backslash at the end needs a letter after it.",
        ) from None
    if not words or not words[0]:
        raise InvalidArgs("The command is empty.", "Name a program, such as `git status`.")
    return words


def word_of(text: str) -> Word:
    """A word with the holes that are written in it."""
    parts: list[str | Hole] = []
    end = 0
    for found in _HOLE.finditer(text):
        parts.append(text[end : found.start()])
        parts.append(f"{{{found[1]}}}" if found[1] else Hole(found[2]))
        end = found.end()
    parts.append(text[end:])
    return tuple(part for part in parts if part) or ("",)


def holes(word: Word) -> list[str]:
    """The names of the values that go into a word."""
    return [part.name for part in word if isinstance(part, Hole)]


def command_line(command: ShellCommand, arguments: JSONObject) -> tuple[str, ...]:
    """The program and its words for one call whose arguments fit the schema.

    Raises:
        InvalidArgs: a value would be read as an option, or there are too many words.
    """
    if not command.params:
        extra: Any = arguments.get("arguments") or ()
        return (*("".join(map(str, word)) for word in command.argv), *extra)
    params = {param.name: param for param in command.params}
    line: list[str] = []
    options_end = False
    for word in command.argv:
        made = _expanded(word, params, arguments)
        if not options_end:
            _refuse_options(word, made, params)
        options_end = options_end or word == ("--",)
        line += made
        if len(line) > MOST_WORDS:
            raise InvalidArgs(
                f"the command line would have more than {MOST_WORDS:,} words", "Give fewer values."
            )
    return tuple(line)


def commands_of(command: ShellCommand) -> CommandsOf:
    """What a call of the tool would run."""

    def of(arguments: JSONObject) -> Commands:
        return Commands.of(command_line(command, arguments))

    return of


def _expanded(word: Word, params: dict[str, Param], arguments: JSONObject) -> list[str]:
    choices = [
        _texts(params[part.name], arguments) if isinstance(part, Hole) else [part] for part in word
    ]
    return ["".join(parts) for parts in islice(product(*choices), MOST_WORDS + 1)]


def _texts(param: Param, arguments: JSONObject) -> list[str]:
    value = arguments.get(param.name)
    value = param.schema.get("default") if value is None else value
    values = value if isinstance(value, list) else [] if value is None else [value]
    import json

    return [each if isinstance(each, str) else json.dumps(each) for each in values]


def _refuse_options(word: Word, made: Sequence[str], params: dict[str, Param]) -> None:
    """A value must not turn into an option; numbers, and choices that the file lists, cannot."""
    first = word[0]
    if not isinstance(first, Hole):
        return
    schema: Any = params[first.name].schema
    schema = schema.get("items", schema)
    if len(word) == 1 and ("enum" in schema or schema.get("type") in ("integer", "number")):
        return
    for value in made:
        if value.startswith("-") and value != "-":
            raise InvalidArgs(
                f"{first.name} is {quoted(value)}, which the program would read as an option",
                "Give a value that does not begin with a dash, such as ./-name for a file; "
                "whoever declares the tool may write `--` before it.",
            )
