"""Edits written as V4A patches: applied exactly, or refused, and nothing else."""

from __future__ import annotations

import difflib
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whence.errors import Conflict, WhenceError
from whence.work.edits import v4a

ROOT = Path(__file__).parents[4]
WIDTHS = (3, 1, 0)

_Changes = list[tuple[int, int, int, int]]
"""Old lines from and to, new lines from and to."""


def written(
    old: Sequence[str],
    new: Sequence[str],
    width: int,
    *,
    anchor: Callable[[Sequence[str], int], str] = lambda *_: "@@",
    blank: str = " ",
    one_by_one: bool = False,
) -> str:
    """A patch from old to new lines, with so many lines of context around each change."""
    out = ["*** Begin Patch", "*** Update File: x"]
    for changes in grouped(old, new, 0 if one_by_one else 2 * width):
        start, end = max(changes[0][0] - width, 0), changes[-1][1] + width
        out.append(anchor(old, start))
        for first, last, new_first, new_last in changes:
            out += [f" {line}" if line else blank for line in old[start:first]]
            out += [f"-{line}" for line in old[first:last]]
            out += [f"+{line}" for line in new[new_first:new_last]]
            start = last
        out += [f" {line}" if line else blank for line in old[start:end]]
    return "\n".join([*out, "*** End Patch", ""])


def grouped(old: Sequence[str], new: Sequence[str], gap: int) -> Iterator[_Changes]:
    group: _Changes = []
    for tag, *span in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        a, b, c, d = span
        if group and a - group[-1][1] > gap:
            yield group
            group = []
        group.append((a, b, c, d))
    if group:
        yield group


def applied(patch: str, text: str) -> str | Conflict:
    (section,) = v4a.parse(patch).sections
    assert isinstance(section, v4a.Update)
    try:
        return v4a.apply(section, text).text
    except Conflict as error:
        return error


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Lines with many repetitions, and what a few changes make of them."""
    word = st.sampled_from(["a", "b", "", "  a", "def f():", "}"]) | st.integers(0, 30).map(str)
    old = draw(st.lists(word, min_size=1, max_size=30))
    new = list(old)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(new)))
        new[at : at + draw(st.integers(0, 2))] = draw(st.lists(word, max_size=2))
    return old, new


@st.composite
def endings(draw: st.DrawFn, count: int) -> list[str]:
    """One ending for all, or mixed; the last may be missing."""
    kinds = st.sampled_from(["\n", "\r\n", "\r"])
    one = draw(kinds)
    chosen = draw(st.just([one] * count) | st.lists(kinds, min_size=count, max_size=count))
    return [*chosen[:-1], draw(st.sampled_from([chosen[-1], ""]))]


def expected(old: Sequence[str], ends: Sequence[str], new: Sequence[str]) -> str:
    """The new lines, where old ones keep their endings and others get the most frequent one."""
    present = [end for end in ends if end]
    most = Counter(present).most_common(1)[0][0] if present else "\n"
    full = [end or most for end in ends]
    lines: list[tuple[str, str]] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            lines += [(old[n], full[n]) for n in range(a, b)]
        else:
            lines += [(new[n], most) for n in range(c, d)]
    if lines and not ends[-1]:
        lines[-1] = (lines[-1][0], "")
    return "".join(line + end for line, end in lines)


@pytest.mark.requirement("v4a:exact-or-refused")
@settings(deadline=None, max_examples=250)
@given(edits(), st.sampled_from(WIDTHS), st.booleans(), st.sampled_from([" ", ""]), st.data())
def test_a_random_edit_is_exact_or_refused(
    pair: tuple[list[str], list[str]], width: int, one_by_one: bool, blank: str, data: st.DataObject
) -> None:
    old, new = pair
    ends = data.draw(endings(len(old)))
    text = "".join([line + end for line, end in zip(old, ends, strict=True)])
    assume(old != new)
    # CR and LF around an empty line are one ending, and an empty rest is no line.
    assume(re.split("\r\n|\r|\n", text) == (old if not ends[-1] and old[-1] else [*old, ""]))
    result = applied(written(old, new, width, blank=blank, one_by_one=one_by_one), text)

    if isinstance(result, Conflict):
        assert result.details["reason"] in {"ambiguous", "unplaced"}
    else:
        assert result == expected(old, ends, new)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 10_000), min_size=3, max_size=40, unique=True), st.data())
def test_an_edit_of_lines_that_differ_is_never_refused(
    numbers: list[int], data: st.DataObject
) -> None:
    old = [f"line {n}" for n in numbers]
    at = data.draw(st.integers(0, len(old) - 1))
    new = [*old[:at], "changed", *old[at + 1 :]]
    width = data.draw(st.sampled_from(WIDTHS))

    assert applied(written(old, new, width), "\n".join([*old, ""])) == "\n".join([*new, ""])


def nearest_definition(lines: Sequence[str], start: int) -> str:
    heads = (
        line for line in reversed(lines[:start]) if re.match(r"\s*(async def|def|class) ", line)
    )
    return f"@@ {next(heads, '').strip()}".rstrip()


STYLES: dict[str, Callable[[Sequence[str], Sequence[str], int], str]] = {
    "plain": written,
    "one-by-one": lambda a, b, width: written(a, b, width, one_by_one=True),
    "stripped-blanks": lambda a, b, width: written(a, b, width, blank=""),
    "anchored": lambda a, b, width: written(a, b, width, anchor=nearest_definition),
}


def outcomes(pairs: Sequence[tuple[str, str]], style: str, width: int) -> Counter[str]:
    """How many edits ended how."""
    counts: Counter[str] = Counter()
    for before, after in pairs:
        old, new = (text.removesuffix("\n").split("\n") for text in (before, after))
        result = applied(STYLES[style](old, new, width), before)
        refused = isinstance(result, WhenceError)
        counts["refused" if refused else "exact" if result == after else "WRONG"] += 1
    return counts


def made_up_edits(count: int) -> list[tuple[str, str]]:
    """Files of the standard library, with several of their lines changed, moved and doubled."""
    chance = random.Random(4)
    files = sorted(Path(difflib.__file__).parent.glob("*.py"))
    pairs = []
    for path in chance.sample(files, count):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:1500]
        if len(lines) > 20:
            pairs.append(("\n".join([*lines, ""]), "\n".join([*changed(lines, chance), ""])))
    return pairs


def changed(lines: Sequence[str], chance: random.Random) -> list[str]:
    new = list(lines)
    for _ in range(chance.randint(2, 8)):
        at = chance.randrange(len(new) - 5)
        size = chance.randint(1, 3)
        kind = chance.choice(["delete", "double", "rename", "insert", "move"])
        if kind == "delete":
            del new[at : at + size]
        elif kind == "double":
            new[at:at] = new[at : at + size]
        elif kind == "rename":
            new[at : at + size] = [line.replace("self", "this") + " " for line in new[at:][:size]]
        elif kind == "insert":
            new[at:at] = chance.sample(list(lines), size)
        else:
            part = new[at : at + size]
            del new[at : at + size]
            target = chance.randrange(len(new))
            new[target:target] = part
    return new


@pytest.fixture(scope="module")
def library_edits() -> list[tuple[str, str]]:
    return made_up_edits(60)


@pytest.mark.requirement("v4a:exact-or-refused")
@pytest.mark.parametrize("style", list(STYLES))
@pytest.mark.parametrize("width", WIDTHS)
def test_edits_of_real_files_are_exact_or_refused(
    library_edits: list[tuple[str, str]], style: str, width: int
) -> None:
    counts = outcomes(library_edits, style, width)

    assert counts["WRONG"] == 0
    if width == 3:
        assert counts["exact"] > 5 * counts["refused"]


def edits_in_history(count: int) -> list[tuple[str, str]]:
    """What recent commits of this repository did to files that they changed in several places."""
    log = git("log", "--no-merges", "--diff-filter=M", "--format=:%H", "--name-only", "-n", "40")
    pairs: list[tuple[str, str]] = []
    commit = ""
    for line in log.split("\n"):
        if line.startswith(":"):
            commit = line[1:]
        elif line and len(pairs) < count:
            before, after = (git("show", f"{commit}{back}:{line}") for back in ("~", ""))
            if before.endswith("\n") and after.endswith("\n") and before != after:
                pairs.append((before, after))
    return pairs


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    return done.stdout.decode(errors="replace") if not done.returncode else ""


@pytest.fixture(scope="module")
def history() -> list[tuple[str, str]]:
    pairs = edits_in_history(80)
    if not pairs:
        pytest.skip("no history of this repository here")
    return pairs


@pytest.mark.requirement("v4a:exact-or-refused")
@pytest.mark.parametrize("style", list(STYLES))
@pytest.mark.parametrize("width", WIDTHS)
def test_edits_that_were_really_made_are_exact_or_refused(
    history: list[tuple[str, str]], style: str, width: int
) -> None:
    counts = outcomes(history, style, width)

    assert counts["WRONG"] == 0
    if width == 3:
        assert counts["exact"] >= 0.9 * counts.total()
