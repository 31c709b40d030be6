"""Files on GitHub by their address."""

from __future__ import annotations

import pytest

from whence.errors import InvalidArgs
from whence.work.web.github import Blob, blob_of, shown

BASE = "https://github.com/o/r/blob/main/src/a.py"
RAW = "https://raw.githubusercontent.com/o/r/main/src/a.py"
FILE = "".join(f"line {n}\n" for n in range(1, 101))


@pytest.mark.parametrize(
    ("url", "first", "last"),
    [
        (BASE, None, None),
        (f"{BASE}?plain=1", None, None),
        (f"{BASE}#L10", 10, 10),
        (f"{BASE}#L10-L80", 10, 80),
        (f"{BASE}#L10-80", 10, 80),
        (f"{BASE}#L80-L10", 10, 80),
        (f"{BASE}#L10C1-L20C5", 10, 20),
        (f"{BASE}#L10C2", 10, 10),
        (f"{BASE}#L0", 1, 1),
        (f"{BASE}#usage", None, None),
        (f"{BASE}#L10-", None, None),
        (BASE.replace("github.com", "www.GitHub.com"), None, None),
    ],
)
def test_the_lines_that_an_address_names(url: str, first: int | None, last: int | None) -> None:
    assert blob_of(url) == Blob(RAW, "a.py", first, last)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/o/r",
        "https://github.com/o/r/tree/main/src",
        "https://github.com/o/r/blob/main",
        "https://gitlab.com/o/r/blob/main/a.py",
        "https://evilgithub.com/o/r/blob/main/a.py",
        "https://user@github.com/o/r/blob/main/a.py",
        "ftp://github.com/o/r/blob/main/a.py",
        "not a url",
    ],
)
def test_other_pages_are_no_files(url: str) -> None:
    assert blob_of(url) is None


def test_lines_are_numbered_in_a_fence_with_the_language() -> None:
    converted = shown(Blob(RAW, "a.py", 10, 12), FILE)

    assert converted.markdown == "```python\n10. line 10\n11. line 11\n12. line 12\n```"
    assert converted.warnings == ()


def test_a_whole_file_is_numbered_from_one() -> None:
    assert shown(Blob(RAW, "Makefile"), "a:\r\n\tb").markdown == "```\n1. a:\n2. \tb\n```"
    assert shown(Blob(RAW, "x.zig"), "a").markdown == "```zig\n1. a\n```"


def test_a_fence_inside_the_file_is_outdone() -> None:
    assert shown(Blob(RAW, "a.py"), "````").markdown == "`````python\n1. ````\n`````"


def test_markdown_is_given_as_it_is() -> None:
    assert shown(Blob(RAW, "README.md", 2, 3), "# a\nb\nc\nd\n").markdown == "b\nc"


def test_lines_beyond_the_end_are_said_and_none_at_all_refused() -> None:
    assert shown(Blob(RAW, "a.py", 99, 120), FILE).warnings == ("a.py ends at line 100.",)
    with pytest.raises(InvalidArgs, match="100 lines, and line 101"):
        shown(Blob(RAW, "a.py", 101, 120), FILE)
