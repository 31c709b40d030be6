"""The block around a line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.work.indentation import Around, block_around, header_end

PYTHON = """\
import os
from sys import (
    argv,
)

# The first one.
class One:
    def a(self):
        if x:
            return 1
        return 2

    def b(self):
        return 3


class Two:
    pass
""".splitlines()


def around(line: int, *, lines: list[str] = PYTHON, most: int = 99, **how: int) -> list[str]:
    ranges = block_around(lines, Around(line - 1, **how), most)  # type: ignore[arg-type]
    return [f"{start + 1}-{end}" for start, end in ranges]


@pytest.mark.requirement("roo:read")
def test_levels_count_enclosing_blocks() -> None:
    assert around(10, levels=1, header=False) == ["9-10"]
    assert around(10, levels=2, header=False) == ["8-11"]
    assert around(10, levels=2, header=False, siblings=True) == ["8-14"]


@pytest.mark.requirement("roo:read")
def test_without_levels_the_outermost_block_comes_with_its_comment_and_the_header() -> None:
    assert around(10) == ["1-4", "6-14"]
    assert around(10, header=False) == ["7-14"]
    assert around(7) == ["1-4", "6-14"]


@pytest.mark.requirement("roo:read")
def test_one_level_is_what_the_file_indents_by() -> None:
    lines = ["a {", "  b {", "    c;", "  }", "}"]

    assert around(3, lines=lines, levels=1, header=False) == ["2-4"]
    assert around(3, lines=[line.replace("  ", "\t") for line in lines], levels=1) == ["2-4"]


@pytest.mark.requirement("roo:read")
def test_a_block_goes_on_through_its_other_branches() -> None:
    lines = ["if a:", "    b()", "else:", "    c()", "d()"]

    assert around(2, lines=lines) == ["1-4"]


def test_the_answer_is_limited_and_holds_the_anchor() -> None:
    assert around(10, most=1) == ["10-10"]
    assert around(10, most=3, header=False) == ["9-11"]


def test_a_header_is_comments_docstrings_and_imports() -> None:
    assert header_end(PYTHON) == 4
    assert header_end(['"""Words', "more", '"""', "", "import x", "", "x = 1", "import y"]) == 5
    assert header_end(["// c", "#include <a>", "use b;", "const c = require('c')", "f()"]) == 4
    assert header_end(["f()"]) == 0
    assert header_end([]) == 0


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.sampled_from(["", "a", "  b", "    c", "\td", "# e", "import f"]), min_size=1),
    st.data(),
)
def test_ranges_are_ordered_disjoint_limited_and_around_the_anchor(
    lines: list[str], data: st.DataObject
) -> None:
    anchor = data.draw(st.integers(0, len(lines) - 1))
    most = data.draw(st.integers(1, 20))
    how = Around(
        anchor, data.draw(st.integers(0, 3)), data.draw(st.booleans()), data.draw(st.booleans())
    )

    ranges = block_around(lines, how, most)

    flat = [edge for each in ranges for edge in each]
    assert flat == sorted(flat)
    assert sum(end - start for start, end in ranges) <= most
    assert ranges[-1][0] <= anchor < ranges[-1][1] or not lines[anchor].strip()
