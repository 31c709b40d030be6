"""Hostile files give diagnostics: never an exception, a hang or a changed byte."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from tests.chatmd.hostile import FILES, GOOD, broken_copies
from whence.chatmd import walk
from whence.chatmd.parse import parse
from whence.chatmd.scan import BadTag, bad_tag
from whence.shapes.document import Document


def _look_at_everything(document: Document) -> None:
    assert all(node.span.end <= len(document.source) for node in document.nodes)
    assert all(found.suggestion for found in document.diagnostics)
    assert sum(1 for _ in document.items()) <= len(document.nodes)


def test_there_are_enough_of_them() -> None:
    assert len(FILES) >= 100
    assert len(broken_copies()) >= 500


def test_the_good_file_is_good() -> None:
    document = parse(GOOD)

    assert document.diagnostics[:] == ()
    _look_at_everything(document)


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_diagnosed_and_kept(name: str) -> None:
    document = parse(FILES[name])

    assert document.source == FILES[name]
    assert document.diagnostics
    _look_at_everything(document)


def test_every_broken_copy_of_a_good_file_is_read_and_kept() -> None:
    for name, source in broken_copies():
        document = parse(source)

        assert document.source == source, name
        _look_at_everything(document)


def test_a_cut_inside_an_element_is_always_noticed() -> None:
    good = GOOD.encode()
    whole = {node.span.end for node in parse(good).nodes}
    for at in range(len(good)):
        if (
            at in whole
            or good[:at].rstrip() == good[: max(end for end in {0, *whole} if end <= at)]
        ):
            continue
        assert parse(good[:at]).errors, good[max(0, at - 40) : at]


@pytest.mark.parametrize("ending", [b"</user>", b"", b'<doc src="', b"RAW|<!--"], ids=repr)
def test_a_file_of_100_megabytes_is_read(ending: bytes) -> None:
    source = b"<user>" + (b"a < b | c" + b"x" * 90 + b"\n") * 1_000_000 + ending
    document = parse(source)

    assert document.source is source
    assert len(document.nodes) == 1
    assert bool(document.diagnostics) == (ending != b"</user>")


class _Counted(bytes):
    """Bytes that count how many of them are searched."""

    searched = 0

    def find(self, sub: bytes, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        stop = len(self) if end is None else min(end, len(self))
        found = super().find(sub, start, stop)
        _Counted.searched += (stop if found < 0 else found) - start
        return found


def _work(source: bytes) -> int:
    """Function calls and searched bytes of a parse with its diagnostics."""
    _Counted.searched = calls = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        document = parse(_Counted(source))
        assert len(document.diagnostics) >= 0
    finally:
        sys.setprofile(None)
    return calls + _Counted.searched


@pytest.mark.parametrize(
    "unit",
    [
        GOOD,
        "<user>RAW|x|RAW</user>\n",
        "<user>a < b <b> <user> DRAW| x</user>\n",
        "<user>RAW|",
        "<user>RAW|x</user>\n",
        "<user><!--</user>",
        "<user>\n<assistant>\n<system>\n",
        '<user a="',
        '<user><doc " a="',
        "<user>|RAW RAW|x|RAW</user>",
        "</user>",
        "<",
        "<foo>",
        "\n<<<<<<< a\n",
        "\n<<<<<<< a\n=======\n",
    ],
)
def test_ten_times_the_file_is_ten_times_the_work(unit: str) -> None:
    small = unit.encode() * max(1, 4_000 // len(unit))

    assert _work(small * 10) <= 11 * _work(small) + 4_000


@pytest.mark.parametrize("unit", ['<doc " a="', "<doc a='<doc b=\"", '<doc " a="" ', "<img a=b "])
def test_a_broken_tag_is_not_read_again_and_again(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    def counted(source: bytes, start: int, name_end: int, limit: int) -> BadTag:
        nonlocal read
        bad = bad_tag(source, start, name_end, limit)
        read += bad.failed - start
        return bad

    monkeypatch.setattr(walk, "bad_tag", counted)
    source = b"<user>" + unit.encode() * 2_000
    parse(source)

    assert 0 < read <= 3 * len(source)
