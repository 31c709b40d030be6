"""The visible text of pages."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import Unavailable
from whence.work.web.strip import crude_text, visible_text

PAGE = """<html><head><title>T &amp; U</title><style>p{color:red}</style>
<script>var x = "<p>no</p>";</script></head>
<body><!-- no --><nav>menu</nav><p>  one <b>two</b>
</p><template><p>no</template><noscript>no</noscript><p></p> three &lt;3</body></html>"""


@pytest.mark.parametrize("strip", [visible_text, crude_text])
def test_each_piece_of_text_is_a_trimmed_line(strip: object) -> None:
    assert callable(strip)
    assert strip(PAGE) == "T & U\nmenu\none\ntwo\nthree <3"


def test_pages_that_defeat_parsers_are_stripped_all_the_same() -> None:
    assert visible_text("<div>" * 100_000 + "deep") == "deep"
    assert visible_text("<!--" * 1_000_000 + "x") == ""
    assert visible_text("<script>" * 300_000 + "x") == ""


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)

    with pytest.raises(Unavailable) as caught:
        visible_text("<p>x")

    assert "whence[web]" in caught.value.suggestion


@settings(deadline=None)
@given(st.text())
def test_any_text_gives_lines_without_blanks(text: str) -> None:
    for strip in (visible_text, crude_text):
        lines = strip(text).split("\n")
        assert all(line == line.strip() for line in lines)
        assert lines == [""] or all(lines)
