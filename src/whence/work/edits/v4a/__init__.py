r"""V4A patches, the format of `apply_patch`: read them, apply them, say what they did.

    patch = parse(text)               InvalidArgs names the line that is wrong
    edited = apply(update, content)   Conflict says why not; nothing is applied by halves

Everything here is pure: text in, text out. The files are the caller's affair.

**What is forgiven in a patch.** White space around the markers, a here-document or a Markdown fence
around the patch, empty lines between sections and below hunks, a bare `***`, `@@` doubled or left
at the end, `@@text` without a space, line numbers after `@@`, a blank context line without its
space, one that stands for the end of the file. A line in a hunk that has no sign is taken like the
one before it, with a warning. A patch without its last line is refused: it did not arrive whole.

**Where a hunk goes.** All its old lines, context and removed ones, must be there, at the least
forgiving level at which they are anywhere: as they are, without white space at line ends, without
white space around lines, as they look (quotes, dashes, spaces). The hunks of a section stand in the
order of the file, each change below the one before; contexts may overlap. They are applied if there
is exactly one way to place all of them, and refused otherwise. A hunk without old lines needs an
anchor to stand under, `*** End of File`, or an empty file.

**Anchors.** `@@ LINE` names a line that the hunk belongs below; several narrow from the outside in.
One that begins a class or a function holds what follows, up to the next that is not indented more;
any other holds the rest of the file. It need not be whole: `@@ def f` finds `def f(x):`, if no line
equals it. One that does not exist is refused.

**Line endings.** LF, CRLF and CR alone end a line. Lines are compared without endings; what stays
keeps its own, what is added gets the one that is most frequent in the file. A file without a
newline at its end stays without one.

**Indentation.** Where the old lines are found only without their indentation, added lines get that
of the file, if the old lines tell it; otherwise they stay as they are. A warning says which.

**Cost.** One pass over the patch and two over the file, however many hunks there are.
"""

from __future__ import annotations

from whence.work.edits.v4a.apply import Edited, apply
from whence.work.edits.v4a.grammar import APPLY_PATCH_GRAMMAR
from whence.work.edits.v4a.parse import parse
from whence.work.edits.v4a.shapes import Add, Delete, Hunk, Patch, Section, Update

__all__ = [
    "APPLY_PATCH_GRAMMAR",
    "Add",
    "Delete",
    "Edited",
    "Hunk",
    "Patch",
    "Section",
    "Update",
    "apply",
    "parse",
]
