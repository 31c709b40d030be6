from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from whence.errors import WhenceError
from whence.work.edits.unified import Applied, Hunk, apply, make, parse
from whence.work.edits.unified.apply import as_stated
from whence.work.edits.unified.endings import edited
from whence.work.edits.unified.place import FileLines, Misfit, Search, locate

few = settings(deadline=None, max_examples=60)
many = settings(deadline=None, max_examples=120)

AWKWARD = [
    "",
    " ",
    "a",
    "b",
    "-- a/x",
    "++ b/x",
    "@@ -1 +1 @@",
    "\\ No",
    "```",
    "\r",
    "\u2028",
    "ä\x0c",
]
line = st.sampled_from(["a", "b"]) | st.sampled_from(AWKWARD) | st.text(max_size=4)
ending = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", ""])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Text with repetitions, every kind of line ending, with and without a last newline."""
    one_ending = draw(ending)
    endings = st.just(one_ending) if one_ending.endswith("\n") else ending
    pieces = draw(st.lists(st.tuples(line, endings), max_size=25))
    return "".join([text + end for text, end in pieces])


@st.composite
def edits(draw: st.DrawFn, text: str) -> str:
    """The text after a few changes somewhere in it."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 6)))
        text = text[:start] + draw(texts()) + text[end:]
    return text


@st.composite
def versions(draw: st.DrawFn) -> tuple[str, str]:
    old = draw(texts())
    return old, draw(edits(old) | texts())


@many
@given(versions())
def test_a_made_diff_leads_exactly_from_old_to_new_and_back(pair: tuple[str, str]) -> None:
    old, new = pair
    assume(old != new)

    for before, after in [(old, new), (new, old)]:
        done = apply(parse(make(before, after, "x")), before)
        assert done.text == after
        assert not done.warnings
        assert not any(done.offsets)


@few
@given(st.text(alphabet="ab\n\r -+@\\", max_size=60), st.text(alphabet="ab\n\r -+@\\", max_size=60))
def test_a_made_diff_is_exact_for_any_two_strings(old: str, new: str) -> None:
    assume(old != new)

    assert apply(parse(make(old, new, "x")), old).text == new


@few
@given(texts())
def test_creation_and_deletion_undo_one_another(text: str) -> None:
    assert apply(parse(make(None, text, "x")), None).text == text
    assert apply(parse(make(text, None, "x")), text).text is None


@few
@given(versions())
def test_a_made_diff_can_be_fenced_and_sent_with_other_line_endings(pair: tuple[str, str]) -> None:
    old, new = (text.replace("\r", "") for text in pair)
    assume(old != new)
    assume("\n" in old)
    diff = make(old, new, "x")

    assert apply(parse(f"Change:\n\n```diff\n{diff}```\n"), old).text == new
    assert apply(parse(crlf(diff)), old).text == new
    assert apply(parse(diff), crlf(old)).text == crlf(new)


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


@many
@given(versions(), st.text(alphabet="-+ @\\ab\r\n", max_size=40), st.data())
def test_a_damaged_diff_is_applied_or_refused_but_never_crashes(
    pair: tuple[str, str], noise: str, data: st.DataObject
) -> None:
    diff = make(*pair, "x")
    start = data.draw(st.integers(0, len(diff)))
    end = data.draw(st.integers(start, min(len(diff), start + 10)))
    outcome = attempt(diff[:start] + noise + diff[end:], pair[0])

    assert isinstance(outcome, Applied) or (outcome.message and outcome.suggestion)


def attempt(diff: str, text: str) -> Applied | WhenceError:
    try:
        return apply(parse(diff), text)
    except WhenceError as error:
        return error


@many
@given(versions())
def test_the_shortcut_finds_what_the_search_by_lines_finds(pair: tuple[str, str]) -> None:
    old, new = pair
    assume(old and old != new)
    hunks = parse(make(old, new, "x")).hunks
    file = FileLines(old)
    places = locate(Search(file.keys, hunks), hunks)

    assert not isinstance(places, Misfit)
    assert edited(file, hunks, places) == new
    settled, shortcut = as_stated(old, hunks)
    assert settled < len(hunks) or shortcut == new
    assert locate(Search(file.keys, hunks), hunks, settled) == places


@st.composite
def drifted(draw: st.DrawFn) -> tuple[list[str], list[str], dict[int, list[str]]]:
    """Unique lines, the same after some changes, and what somebody else put between them."""
    old = [f"line {number}" for number in range(draw(st.integers(1, 60)))]
    new = list(old)
    for at in sorted(draw(st.sets(st.integers(0, len(old) - 1), min_size=1, max_size=4)))[::-1]:
        new[at : at + draw(st.integers(0, 2))] = [
            f"new {at}.{n}" for n in range(draw(st.integers(0, 2)))
        ]
    strangers = {
        at: [f"stranger {at}.{n}" for n in range(draw(st.integers(1, 9)))]
        for at in draw(st.sets(st.integers(0, len(old)), max_size=5))
    }
    return old, new, strangers


@many
@given(drifted(), st.sampled_from(["\n", "\r\n"]))
def test_changes_find_their_unique_lines_wherever_they_drifted(
    case: tuple[list[str], list[str], dict[int, list[str]]], end: str
) -> None:
    old, new, strangers = case
    assume(old != new)
    patch = parse(make(joined(old), joined(new), "x"))
    assume(all(hunk.old for hunk in patch.hunks))
    inside = {
        at
        for hunk in patch.hunks
        for at in range((hunk.old_at or 0) + 1, (hunk.old_at or 0) + len(hunk.old))
    }
    strangers = {at: lines for at, lines in strangers.items() if at not in inside}
    starts = {hunk.old_at: hunk for hunk in patch.hunks}
    present: list[str] = []
    expected: list[str] = []
    skipped_until = 0
    for at in range(len(old) + 1):
        present += strangers.get(at, []) + old[at : at + 1]
        expected += strangers.get(at, [])
        if at in starts:
            expected += starts[at].new
            skipped_until = at + len(starts[at].old)
        if at >= skipped_until:
            expected += old[at : at + 1]

    done = apply(patch, joined(present, end))

    assert done.text == joined(expected, end)


def joined(lines: Sequence[str], end: str = "\n") -> str:
    return "".join([text + end for text in lines])


def reference_places(keys: Sequence[str], hunks: Sequence[Hunk]) -> list[int] | None:
    """The rule in its plainest form: the due line if it fits, else the only fit, else nothing."""
    places: list[int] = []
    cursor = drift = 0
    for hunk in hunks:
        old, stated = list(hunk.old), hunk.old_at
        assert stated is not None
        fits = [
            at
            for at in range(cursor, len(keys) - len(old) + 1)
            if list(keys[at : at + len(old)]) == old
        ]
        due = stated + drift
        if due in fits and not (drift and stated in fits):
            place = due
        elif due not in fits and len(fits) == 1:
            place = fits[0]
        else:
            return None
        places.append(place)
        drift = place - stated
        cursor = place + len(old) - hunk.tail
    return None if contested(keys, hunks, places) else places


def contested(keys: Sequence[str], hunks: Sequence[Hunk], places: Sequence[int]) -> bool:
    """Whether a hunk also fits where it would be, were it moved as far as the one after it."""
    placed = [pair for pair in zip(hunks, places, strict=True) if pair[0].old]
    for (hunk, place), (later, later_place) in pairwise(placed):
        at = (hunk.old_at or 0) + later_place - (later.old_at or 0)
        is_before = at + len(hunk.old) - hunk.tail <= later_place + later.lead
        fits = at >= 0 and list(keys[at : at + len(hunk.old)]) == list(hunk.old)
        if at != place and is_before and fits:
            return True
    return False


def replaced(keys: Sequence[str], hunks: Sequence[Hunk], places: Sequence[int]) -> list[str]:
    result = list(keys)
    for hunk, place in reversed(list(zip(hunks, places, strict=True))):
        lead, tail = hunk.lead, hunk.tail
        new = hunk.new[lead : len(hunk.new) - tail]
        result[place + lead : place + len(hunk.old) - tail] = new
    return result


repetitive = st.lists(st.sampled_from(["x", "y", "z", ""]), min_size=1, max_size=24)


@st.composite
def three_versions(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """Repetitive lines, what a diff makes of them, and what the file holds by now."""
    old = draw(repetitive)

    def changed() -> list[str]:
        lines = list(old)
        for _ in range(draw(st.integers(1, 2))):
            at = draw(st.integers(0, len(lines)))
            lines[at : at + draw(st.integers(0, 2))] = draw(
                st.lists(st.sampled_from("xyzw"), max_size=2)
            )
        return lines

    return old, changed(), changed()


@settings(deadline=None, max_examples=300)
@given(three_versions(), st.sampled_from([0, 1, 3]))
def test_a_diff_of_another_version_is_applied_where_it_surely_belongs_or_refused(
    case: tuple[list[str], list[str], list[str]], context: int
) -> None:
    old, new, present = case
    assume(old != new)
    diff = "\n".join(difflib.unified_diff(old, new, "x", "x", n=context, lineterm=""))
    patch = parse(diff)
    assume(not patch.creates)
    sure = reference_places(present, patch.hunks)
    done = attempt(diff, joined(present))

    if isinstance(done, Applied):
        assert sure is not None
        assert done.text == joined(replaced(present, patch.hunks, sure))
        assert done.offsets == tuple(
            place - (hunk.old_at or 0) for hunk, place in zip(patch.hunks, sure, strict=True)
        )
    else:
        blank_only = any(not any(hunk.old) for hunk in patch.hunks)
        assert sure is None or blank_only or done.details["reason"] == "already_applied"
