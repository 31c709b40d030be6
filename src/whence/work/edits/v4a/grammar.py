"""The words of the V4A patch language, and its grammar for models that write under one."""

from __future__ import annotations

from whence.errors import InvalidArgs
from whence.work.edits.words import cut

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ADD = "*** Add File:"
DELETE = "*** Delete File:"
UPDATE = "*** Update File:"
MOVE = "*** Move to:"
END_OF_FILE = "*** End of File"
BREAK = "***"
"""A line of its own that ends a section."""
ANCHOR = "@@"

HOW_TO = (
    f"Begin with `{BEGIN}`, end with `{END}`, and between them name each file in a line "
    f"`{ADD} PATH`, `{UPDATE} PATH` or `{DELETE} PATH`."
)
HOW_TO_CHANGE = (
    f"Below `{UPDATE}`, each line begins with a space (context), - or +; a line `{ANCHOR}`, alone "
    "or with a line of the file after it, begins the next hunk."
)

APPLY_PATCH_GRAMMAR = f"""\
start: "{BEGIN}" LF section+ "{END}" LF?

section: creation | removal | revision
creation: "{ADD} " TEXT LF added+
removal: "{DELETE} " TEXT LF
revision: "{UPDATE} " TEXT LF renaming? hunks?
renaming: "{MOVE} " TEXT LF

hunks: (anchor | changed)+ at_end?
anchor: ("{ANCHOR}" | "{ANCHOR} " TEXT) LF
changed: ("+" | "-" | " ") TEXT? LF
added: "+" TEXT? LF
at_end: "{END_OF_FILE}" LF

TEXT: /[^\\r\\n]+/
LF: /\\r?\\n/
"""
"""The patch language as a Lark grammar, for a free-form tool whose text must follow it."""


def syntax_error(number: int, problem: str, suggestion: str = HOW_TO) -> InvalidArgs:
    """The error for a line of the patch, counted from 1."""
    return InvalidArgs(
        f"Syntax error at line {number}: {problem}", suggestion, details={"line": number}
    )


def shown(line: str) -> str:
    """A line as a message quotes it."""
    return repr(cut(line, 120))
