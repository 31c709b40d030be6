from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.execute.process import Processes
from whence.work import lexical
from whence.work.lexical import Found

RG = shutil.which("rg")
pytestmark = pytest.mark.skipif(RG is None, reason="ripgrep is not installed")

NAMES = ["a", "b", "src", "build", "x.py", "y.ts", "n.log", ".hid", "Ä.md", "a b.txt", "-d", "a.b"]
IGNORES = [
    "*.log", "build/", "/src/x.py", "!n.log", "**/a", "a/**", "src/**/y.ts", "*.{py,ts}", "[ab]",
    "?.py", "\\!x", "# x.py", "x.py  ", "src/", "/a", "a/b", "*", "!*/", "!x.py", "a/*", "!a/x.py",
    "[!x].py", "**", "**/src/**", "Ä*", "[", "a\\ b.txt", "/", ".*", "src/*.py", "/**/y.ts",
    "b/", "!b/", "*.p[x-z]", "x.py\r",
]  # fmt: skip
GLOBS = [
    None, "*.py", "src/**/*.ts", "!*.log", "{*.py,*.ts}", "a", "a/", "**/b/*", "/x.py", "*", "b/**",
    "?.py", "[xy].*", "!a", ".hid", ".git", "build", "!src/", "./src/x.py", "a/x.py", "**",
    "*.{md,txt}", ".agent/**", "!**/x.py", "#a", "\\-d", "-d",
]  # fmt: skip
LINES = [
    b"needle", b"a needle here", b"import os", b"", b"  ", "ünïcode needle".encode(),
    b"tab\tneedle", b"x" * 700 + b"needle", b"\xff\xfe raw needle", b"NEEDLE", b"needle: 12-13:14",
    b"aaaa", "éé".encode() * 700,
]  # fmt: skip
QUERIES = [
    "needle", "^needle$", "n.e+dle", "(?i)NEEDLE", "^$", "^", "ü", "a{3,}", "needle|import", "os$",
    r"\bneedle\b", r"\s+needle", "^[^n]*$", "-13", r"[[:upper:]]+", "x*", "(needle)+", "é{2}",
]  # fmt: skip


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.sampled_from(LINES), max_size=12))
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    text = end.join(lines) + draw(st.sampled_from([b"", end, end * 2]))
    shape = draw(st.sampled_from(["plain"] * 8 + ["binary", "utf-8-sig", "utf-16"]))
    if shape == "binary":
        return b"\x7f\0" + text
    return text if shape == "plain" else text.decode("utf-8", "replace").encode(shape)


def trees() -> st.SearchStrategy[dict[str, bytes]]:
    directory = st.lists(st.sampled_from(NAMES[:3]), max_size=3).map("/".join)
    ignore = st.lists(st.sampled_from(IGNORES), min_size=1, max_size=4).map(
        lambda lines: "\n".join(lines).encode()
    )
    plain = st.tuples(st.tuples(directory, st.sampled_from(NAMES)).map("/".join), contents())
    special = st.tuples(directory.map(lambda d: f"{d}/.gitignore"), ignore)
    hidden = st.tuples(
        st.sampled_from(
            [".git/x.py", "a/.git/x.py", ".agent/sessions/1/a", ".agent/x.py", "a/.git"]
        ),
        contents(),
    )
    return st.lists(st.one_of(plain, plain, special, hidden), max_size=14).map(dict)


def plant(root: Path, tree: dict[str, bytes]) -> None:
    for name, data in tree.items():
        path = root / name.lstrip("/")
        if not any(parent.is_file() for parent in path.parents) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def found_by(rg: str | None, root: Path, query: str, scope: Path, glob: str | None) -> Found:
    return asyncio.run(
        lexical.search(
            query, root=str(root), scope=str(scope), glob=glob, runner=Processes(), rg=rg, cap=30
        )
    )


@settings(deadline=None, max_examples=250)
@given(trees(), st.sampled_from(QUERIES), st.sampled_from(GLOBS), st.integers(0, 12))
def test_both_engines_find_the_same(
    tree: dict[str, bytes], query: str, glob: str | None, pick: int
) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made).resolve()
        plant(root, tree)
        places = sorted(path for path in root.rglob("*") if path.is_file() or path.is_dir())
        scope = root if pick >= len(places) else places[pick]

        with_rg = found_by(RG, root, query, scope, glob)
        in_python = found_by(None, root, query, scope, glob)

        assert in_python.hits == with_rg.hits
        assert in_python.truncated == with_rg.truncated
        assert in_python.warnings == with_rg.warnings
