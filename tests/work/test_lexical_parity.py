"""Both engines give the same answer: which files they read, and what they find in them."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whence.execute.process import Processes
from whence.work import lexical
from whence.work.lexical import Found, text

RG = shutil.which("rg")
pytestmark = pytest.mark.skipif(RG is None, reason="ripgrep is not installed")
checked = settings(
    deadline=None,
    max_examples=120,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

DIRECTORIES = ["a", "b", "src"]
PLACES = [
    "/".join(names) for depth in range(4) for names in itertools.product(DIRECTORIES, repeat=depth)
]
FILES = ["x.py", "y.ts", "n.log", ".hid", "Ä.md", "a b.txt", "-d", "a.b", "!x", "{c}", "[d]"]
HIDDEN = [".git/x.py", "a/.git/x.py", "b/.git", ".agent/sessions/1/x.py", ".agent/x.py"]
IGNORES = [
    "*.log", "b/", "/src/x.py", "!n.log", "**/a", "a/**", "src/**/y.ts", "*.{py,ts}", "[ab]",
    "?.py", "\\!x", "# x.py", "x.py  ", "src/", "/a", "a/b", "*", "!*/", "!x.py", "a/*", "!a/x.py",
    "[!x].py", "**", "**/src/**", "Ä*", "[", "a\\ b.txt", "/", ".*", "src/*.py", "/**/y.ts",
    "b/", "!b/", "*.p[x-z]", "x.py\r", "**/b/*.ts", "/a/b/x.py", "a/**/b", "!/a", "?", "*.*",
    "\\[d]",
]  # fmt: skip
GLOBS = [
    "*.py", "src/**/*.ts", "!*.log", "{*.py,*.ts}", "a", "a/", "**/b/*", "/x.py", "*", "b/**",
    "?.py", "[xy].*", "!a", ".hid", ".git", "b", "!src/", "./src/x.py", "a/x.py", "**",
    "*.{md,txt}", ".agent/**", "!**/x.py", "#a", "\\-d", "-d", "[^x]*", "a/**/x.py", "{a,b}/*.py",
]  # fmt: skip

LINES = [
    b"needle", b"a needle here", b"import os", b"", b"  ", "ünïcode needle".encode(), b"\tneedle",
    b"x" * 700 + b"needle", b"\xff\xfe raw needle", b"NEEDLE", b"needle: 12-13:14", b"aaaa",
    "éé".encode() * 700, b"needle\r", b"\r",
]  # fmt: skip
QUERIES = [
    "needle", "^needle$", "n.e+dle", "(?i)NEEDLE", "^$", "^", "ü", "a{3,}", "needle|import", "os$",
    r"\bneedle\b", r"\s+needle", "^[^n]*$", "-13", "[[:upper:]]+", "x*", "(needle)+", "é{2}", "$",
]  # fmt: skip


def found_by(rg: str | None, root: Path, query: str, scope: Path, glob: str | None) -> Found:
    return asyncio.run(
        lexical.search(
            query, root=str(root), scope=str(scope), glob=glob, runner=Processes(), rg=rg, cap=500
        )
    )


def assert_same(root: Path, query: str, scope: Path, glob: str | None = None) -> None:
    with_rg = found_by(RG, root, query, scope, glob)
    in_python = found_by(None, root, query, scope, glob)

    assert in_python.hits == with_rg.hits
    assert in_python.truncated == with_rg.truncated
    assert in_python.warnings == with_rg.warnings


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file name in every directory."""
    root = tmp_path_factory.mktemp("tree").resolve()
    for place in PLACES:
        for name in FILES:
            put(root / place / name, b"needle\n")
    return root


@checked
@given(
    ignores=st.dictionaries(
        st.sampled_from(PLACES[:13]),
        st.lists(st.sampled_from(IGNORES), min_size=1, max_size=4),
        max_size=4,
    ),
    hidden=st.sets(st.sampled_from(HIDDEN), max_size=3),
    place=st.one_of(st.just(""), st.sampled_from(PLACES), st.sampled_from([*HIDDEN, "a/x.py"])),
    glob=st.one_of(st.none(), st.sampled_from(GLOBS)),
)
def test_both_engines_read_the_same_files(
    tree: Path, ignores: dict[str, list[str]], hidden: set[str], place: str, glob: str | None
) -> None:
    made = [tree / directory / ".gitignore" for directory in ignores]
    for path, lines in zip(made, ignores.values(), strict=True):
        path.write_text("\n".join(lines))
    for name in hidden:
        put(tree / name, b"needle\n")
    try:
        assert_same(tree, "needle", tree / place if (tree / place).exists() else tree, glob)
    finally:
        for path in made:
            path.unlink()
        for name in (".git", "a/.git", ".agent"):
            shutil.rmtree(tree / name, ignore_errors=True)
        (tree / "b/.git").unlink(missing_ok=True)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.sampled_from(LINES), max_size=12))  # some end with half a CRLF
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    text = end.join(line.rstrip(end) for line in lines) + draw(st.sampled_from([b"", end, end * 2]))
    shape = draw(st.sampled_from(["plain"] * 5 + ["binary", "utf-8-sig", "utf-16"]))
    if shape == "binary":
        return b"\x7f\0" + text
    return text if shape == "plain" else text.decode("utf-8", "replace").encode(shape)


@checked
@given(
    files=st.lists(contents(), min_size=1, max_size=4),
    query=st.sampled_from(QUERIES),
    alone=st.booleans(),
)
def test_both_engines_find_the_same_lines(
    tmp_path: Path, files: list[bytes], query: str, alone: bool
) -> None:
    root = (tmp_path / "texts").resolve()
    shutil.rmtree(root, ignore_errors=True)
    for number, data in enumerate(files):
        put(root / f"{number}.txt", data)

    assert_same(root, query, root / "0.txt" if alone else root)


@checked
@given(data=contents(), query=st.sampled_from(QUERIES), block=st.integers(1, 60))
def test_a_file_in_many_blocks_gives_the_same_lines(
    tmp_path: Path, data: bytes, query: str, block: int
) -> None:
    put(tmp_path / "texts/0.txt", data.replace(b"\x7f\0", b""))

    at_once = found_by(None, tmp_path, query, tmp_path / "texts/0.txt", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", block)
        patch.setattr(text, "_WHOLE", 3)
        in_blocks = found_by(None, tmp_path, query, tmp_path / "texts/0.txt", None)

    assert in_blocks == at_once
