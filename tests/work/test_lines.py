"""Finding lines in files, large and small, whole and with holes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.work import lines as module
from whence.work.lines import Lines


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "_CHUNK", 7)
    monkeypatch.setattr(module, "_BLOCK", 5)
    monkeypatch.setattr(module, "_WORTH_KEEPING", 0)
    monkeypatch.setattr(module, "_SETTLED_NS", -(10**18))
    module._known.clear()
    yield
    module._known.clear()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], Path]:
    path = tmp_path_factory.mktemp("lines") / "f"

    def write(content: bytes) -> Path:
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        return path

    return write


def starts(content: bytes) -> list[int]:
    """Where each line begins, found the plain way."""
    found, at = [], 0
    for line in content.splitlines(keepends=True):
        found.append(at)
        at += len(line)
    return found


TEXTS = st.text(alphabet="ab\n", max_size=60).map(str.encode)


@pytest.mark.usefixtures("small_pieces")
@settings(deadline=None, max_examples=200, suppress_health_check=[])
@given(content=TEXTS, wanted=st.lists(st.integers(0, 70), min_size=1, max_size=8))
def test_lines_are_found_in_any_order_of_asking(
    written: Callable[[bytes], Path], content: bytes, wanted: list[int]
) -> None:
    expected = starts(content)
    module._known.clear()
    with written(content).open("rb") as file:
        lines = Lines(file)
        for line in wanted:
            place, before = asyncio.run(lines.start(line))
            if line < len(expected):
                assert (place, before) == (expected[line], line)
            else:
                assert (place, before) == (len(content), len(expected))
        assert asyncio.run(lines.total()) == len(expected)


@pytest.mark.usefixtures("small_pieces")
@settings(deadline=None, max_examples=200)
@given(content=TEXTS, count=st.integers(1, 30), most=st.integers(1, 80))
def test_the_tail_is_the_last_lines_that_fit(
    written: Callable[[bytes], Path], content: bytes, count: int, most: int
) -> None:
    with written(content).open("rb") as file:
        place = Lines(file).tail(count, most)

    fitting = [at for at in starts(content)[-count:] if len(content) - at <= most]
    if fitting or not content:
        assert place == (fitting[0] if fitting else 0)
    else:  # not even the last line fits: its end is what there is
        assert place == len(content) - most


@pytest.mark.usefixtures("small_pieces")
def test_a_file_that_changed_is_counted_again(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\nb\nc\n")
    with path.open("rb") as file:
        assert asyncio.run(Lines(file).total()) == 3
    path.write_bytes(b"a\n\n\n\n\n")
    os.utime(path, ns=(10**18, 10**18))
    with path.open("rb") as file:
        assert Lines(file).known_total is None
        assert asyncio.run(Lines(file).total()) == 5
        assert Lines(file).known_total == 5


@pytest.mark.usefixtures("small_pieces")
def test_only_a_few_files_are_remembered(tmp_path: Path) -> None:
    for number in range(40):
        path = tmp_path / str(number)
        path.write_bytes(b"x\n")
        with path.open("rb") as file:
            asyncio.run(Lines(file).total())

    assert len(module._known) == 16


def test_a_file_that_was_written_just_now_is_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x\n" * 5_000_000)
    for _ in range(2):
        with path.open("rb") as file:
            assert Lines(file).known_total is None
            assert asyncio.run(Lines(file).total()) == 5_000_000


def test_holes_have_no_lines_and_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"first\n")
        file.seek(40_000_000_000)
        file.write(b"\nmiddle\n")
        file.truncate(80_000_000_000)
    with path.open("rb") as file:
        lines = Lines(file)

        assert asyncio.run(lines.start(2))[0] == 40_000_000_001
        assert asyncio.run(lines.start(0)) == (0, 0)
        assert asyncio.run(lines.total()) == 4
        assert asyncio.run(lines.start(9)) == (80_000_000_000, 4)
