r"""Unified diffs for one file: read them, apply them, make them.

    patch = parse(diff)           InvalidArgs names the line that is wrong
    done = apply(patch, text)     Conflict says why not; nothing is applied by halves
    back = make(done.text, text, path)

Everything here is pure: text in, text out. Text keeps its line endings as they are in the file
(`newline=""`).

**What a line is.** Only LF ends a line. A CR before it belongs to the ending; any other CR, form
feed or U+2028 is text like the rest.

**What is forgiven in a diff.** A Markdown fence around it, text above it, a missing file header,
text below it after an empty line if the counts are right, counts in `@@` lines that are wrong
while the lines themselves are clear (with a warning), `@@` lines without numbers, blank context
lines that lost their space.
Nothing is forgiven inside a hunk: each line begins with a space, `-`, `+` or `\`. A second file,
or a second header for the same file, is refused.

**Where a hunk goes.** Its old lines, context and removed ones, must all be there; no context is
ever dropped. The place is the first of these that applies:

1. The stated line, moved as far as the hunk before it had to be moved. If that was some distance
   and the hunk fits at its unmoved line too, it is ambiguous; as it is if it fits at its stated
   line and also moved as far as the hunk after it had to be.
2. The only other fit after the last change of the hunk before it. The distance is reported, and
   a warning says it. Lines that are all blank fit everywhere and are no reason to move a hunk.
3. None: several fits are ambiguous, and no fit is stale. The error shows the candidates, or the
   region that is most alike and its first difference.

A hunk without numbers has only the second way. A hunk without old lines goes after its stated
line and is refused if any other hunk of the diff had to be moved, because nothing else vouches
for its place. A hunk with a `\ No newline at end of file` fits only at the end.

**What was applied before is refused.** The new lines stand where the old ones are due; or all
hunks fit backwards, at their lines or with context elsewhere; or lines added at an edge without
context stand beyond that edge already.

**Line endings.** Lines are compared without them. If a hunk is right about the endings of all its
old lines, its added lines are taken as they are. Otherwise they end like the lines that they
replace, or else like the line above; and the end of the file stays as it is, with a newline or
without, unless a marker speaks of it. A `-` and a `+` line that differ in nothing but their
ending change the ending.

**Creation and deletion.** `--- /dev/null`, or a lone hunk that only adds and begins at line 0 or
nowhere, creates: the file must be absent or empty. `+++ /dev/null` deletes: the diff must show
every line of the file.

**Cost.** One pass over the diff and one over the file. A search turns every line into one
character and leaves the rest to `str.find`; the closest region is looked for once, for the first
hunk that fails, with a bounded number of comparisons.
"""

from __future__ import annotations

from whence.work.edits.unified.apply import Applied, apply
from whence.work.edits.unified.make import make
from whence.work.edits.unified.parse import parse
from whence.work.edits.unified.shapes import Hunk, Patch

__all__ = ["Applied", "Hunk", "Patch", "apply", "make", "parse"]
