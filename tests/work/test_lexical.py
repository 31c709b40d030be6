from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whence.errors import ExecutionFailed, InvalidArgs, NotFound, TimedOut
from whence.execute.process import Processes
from whence.work import lexical
from whence.work.lexical import Found, Hit

pytestmark = pytest.mark.anyio

RG = shutil.which("rg")
ENGINES = [
    pytest.param("rg", marks=pytest.mark.skipif(RG is None, reason="ripgrep is not installed")),
    "python",
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Workspace:
    """A directory of files, searched with one engine."""

    def __init__(self, root: Path, engine: str) -> None:
        self.root = root
        self.engine = engine

    def put(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    async def search(
        self,
        query: str,
        scope: str = ".",
        glob: str | None = None,
        *,
        cap: int = 200,
        timeout_s: float = 60.0,
    ) -> Found:
        return await lexical.search(
            query,
            root=str(self.root),
            scope=os.path.normpath(self.root / scope),
            glob=glob,
            runner=Processes(),
            rg=RG if self.engine == "rg" else None,
            cap=cap,
            timeout_s=timeout_s,
        )

    async def places(self, query: str, scope: str = ".", glob: str | None = None) -> list[str]:
        found = await self.search(query, scope, glob)
        return [f"{hit.path}:{hit.line}" for hit in found.hits]


@pytest.fixture
def workspace(tmp_path: Path, engine: str) -> Workspace:
    return Workspace(tmp_path.resolve(), engine)


async def test_a_hit_has_its_place_its_line_and_the_lines_around_it(workspace: Workspace) -> None:
    workspace.put("src/a.py", "one\ntwo\nthree\nneedle = 4\nfive\nsix\nseven\n")

    found = await workspace.search(r"needle\s*=")

    assert found == Found(
        hits=(Hit("src/a.py", 4, "needle = 4", ("two", "three", "five", "six")),),
        truncated=False,
        warnings=(),
        engine=workspace.engine,
    )


async def test_neighbouring_hits_are_context_of_one_another(workspace: Workspace) -> None:
    workspace.put("a", "x1\nx2\n-\nx3")

    found = await workspace.search("x")

    assert [(hit.line, hit.context) for hit in found.hits] == [
        (1, ("x2", "-")),
        (2, ("x1", "-", "x3")),
        (4, ("x2", "-")),
    ]


async def test_hits_come_in_path_order_and_then_by_line(workspace: Workspace) -> None:
    for name in ("b.txt", "a/z.txt", "a-b.txt", "a/b/c.txt", "B.txt", "é.txt"):
        workspace.put(name, "x\nx\n")

    assert await workspace.places("x") == [
        f"{name}:{line}"
        for name in ("B.txt", "a/b/c.txt", "a/z.txt", "a-b.txt", "b.txt", "é.txt")
        for line in (1, 2)
    ]


async def test_nothing_found_is_an_answer(workspace: Workspace) -> None:
    workspace.put("a", "x\n")

    assert await workspace.search("absent") == Found((), False, (), workspace.engine)


@pytest.mark.parametrize(("present", "truncated"), [(6, False), (7, True), (5000, True)])
async def test_the_limit_is_kept_and_said(
    workspace: Workspace, present: int, truncated: bool
) -> None:
    workspace.put("a", "x\n-\n-\n-\n" * 3)
    workspace.put("b", "x\n" * (present - 3))

    found = await workspace.search("x", cap=6)

    assert len(found.hits) == 6
    assert found.truncated is truncated
    assert found.hits[2].context == ("-", "-", "-", "-")
    assert found.hits[5].context == ("x", "x") + ("x", "x") * truncated * (present > 7) + ("x",) * (
        present == 7
    )


async def test_a_limited_answer_is_the_beginning_of_the_whole_one(workspace: Workspace) -> None:
    for number in range(40):
        workspace.put(f"d{number % 7}/f{number}.txt", "x\n-\n-\nx\nx\n")

    whole = await workspace.search("x")
    for cap in (1, 2, 3, 17, 119):
        part = await workspace.search("x", cap=cap)

        assert part.hits == whole.hits[:cap]
        assert part.truncated


async def test_the_scope_is_a_directory_or_a_file(workspace: Workspace) -> None:
    workspace.put("a/x.txt", "needle\n")
    workspace.put("a/b/x.txt", "needle\n")
    workspace.put("c.txt", "needle\n")

    assert await workspace.places("needle", "a") == ["a/b/x.txt:1", "a/x.txt:1"]
    assert await workspace.places("needle", "c.txt") == ["c.txt:1"]


async def test_a_scope_outside_the_workspace_is_shown_with_its_whole_path(
    tmp_path: Path, engine: str
) -> None:
    other = tmp_path.resolve() / "other"
    inner = Workspace(tmp_path.resolve() / "inner", engine)
    inner.put("x", "")
    Workspace(other, engine).put("src/b.txt", "needle\n")

    assert await inner.places("needle", "../other") == [f"{other}/src/b.txt:1"]
    assert await inner.places("needle", "../other", "src/*.txt") == [f"{other}/src/b.txt:1"]
    assert await inner.places("needle", "../other/src/b.txt") == [f"{other}/src/b.txt:1"]


async def test_a_scope_that_is_not_there_is_named(workspace: Workspace) -> None:
    with pytest.raises(NotFound, match="no/such") as missing:
        await workspace.search("x", "no/such")
    assert missing.value.suggestion


async def test_a_scope_that_would_never_end_is_refused(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "fifo")

    with pytest.raises(InvalidArgs, match="fifo"):
        await workspace.search("x", "fifo")


async def test_a_fifo_in_the_tree_is_passed_by(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "fifo")
    os.mkfifo(workspace.root / "sub.gitignore")
    workspace.put("a", "x\n")

    assert await workspace.places("x") == ["a:1"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["a.py", "lib/b.py", "src/deep/c.py"]),
        ("src/**/*.ts", ["src/a.ts", "src/deep/b.ts"]),
        ("/*.py", ["a.py"]),
        ("./src/*.ts", ["src/a.ts"]),
        ("!*.py", ["src/a.ts", "src/deep/b.ts"]),
        ("*.{py,ts}", ["a.py", "lib/b.py", "src/a.ts", "src/deep/b.ts", "src/deep/c.py"]),
        ("[ab].py", ["a.py", "lib/b.py"]),
        ("", ["a.py", "lib/b.py", "src/a.ts", "src/deep/b.ts", "src/deep/c.py"]),
    ],
)
async def test_a_glob_selects_by_name_or_by_path(
    workspace: Workspace, glob: str, expected: list[str]
) -> None:
    for name in ("a.py", "lib/b.py", "src/a.ts", "src/deep/b.ts", "src/deep/c.py"):
        workspace.put(name, "needle\n")

    assert await workspace.places("needle", glob=glob) == [f"{name}:1" for name in expected]


async def test_a_glob_that_names_nothing_is_remarked_upon(workspace: Workspace) -> None:
    workspace.put("a.py", "needle\n")

    found = await workspace.search("needle", glob="*.rb")

    assert found.hits == ()
    assert "no file was searched" in found.warnings[0]


@pytest.mark.parametrize("glob", ["{a", "[a", "x\\"])
async def test_a_glob_that_makes_no_sense_is_refused(workspace: Workspace, glob: str) -> None:
    with pytest.raises(InvalidArgs, match="names of files") as refused:
        await workspace.search("x", glob=glob)
    assert refused.value.details["reason"]
    assert repr(glob) in refused.value.message


async def test_gitignore_is_honoured_with_and_without_a_repository(workspace: Workspace) -> None:
    workspace.put(".gitignore", "*.log\n/build/\n!keep.log\n")
    workspace.put("sub/.gitignore", "*.txt\n!x.log\n")
    for name in ("a.log", "keep.log", "build/a.txt", "sub/build/a.md", "sub/a.txt", "sub/x.log"):
        workspace.put(name, "needle\n")
    expected = ["keep.log:1", "sub/build/a.md:1", "sub/x.log:1"]

    assert await workspace.places("needle") == expected
    (workspace.root / ".git").mkdir()
    assert await workspace.places("needle") == expected


async def test_a_repository_does_not_obey_the_one_around_it(workspace: Workspace) -> None:
    workspace.put(".gitignore", "*.txt\n")
    workspace.put("inner/.git/HEAD", "needle\n")
    workspace.put("inner/a.txt", "needle\n")
    workspace.put("a.txt", "needle\n")

    assert await workspace.places("needle") == ["inner/a.txt:1"]


async def test_gitignore_files_above_the_scope_count(workspace: Workspace) -> None:
    workspace.put(".gitignore", "/a/b/*.log\n")
    workspace.put("a/.gitignore", "*.tmp\n")
    for name in ("x.log", "x.tmp", "x.txt"):
        workspace.put(f"a/b/{name}", "needle\n")

    assert await workspace.places("needle", "a/b") == ["a/b/x.txt:1"]


async def test_what_is_ignored_can_be_asked_for(workspace: Workspace) -> None:
    workspace.put(".gitignore", "vendor/\n*.log\n")
    workspace.put("vendor/a.txt", "needle\n")
    workspace.put("a.log", "needle\n")

    assert await workspace.places("needle") == []
    assert await workspace.places("needle", "vendor") == ["vendor/a.txt:1"]
    assert await workspace.places("needle", "a.log") == ["a.log:1"]
    assert await workspace.places("needle", glob="*.log") == ["a.log:1"]


async def test_hidden_files_are_searched_but_git_and_the_journal_are_not(
    workspace: Workspace,
) -> None:
    for name in (".env", ".git/config", "sub/.git", ".agent/sessions/1/session-log.md"):
        workspace.put(name, "needle\n")
    workspace.put(".agent/modes.yaml", "needle\n")

    assert await workspace.places("needle") == [".agent/modes.yaml:1", ".env:1"]
    assert await workspace.places("needle", glob="**") == [".agent/modes.yaml:1", ".env:1"]
    assert await workspace.places("needle", ".agent/sessions") == [
        ".agent/sessions/1/session-log.md:1"
    ]


async def test_links_lead_nowhere(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("needle\n")
    (workspace.root / "dir").symlink_to(outside)
    (workspace.root / "file.txt").symlink_to(outside / "secret.txt")
    (workspace.root / "loop").symlink_to(workspace.root)
    workspace.put("a.txt", "needle\n")

    assert await workspace.places("needle") == ["a.txt:1"]


async def test_binary_files_are_passed_by(workspace: Workspace) -> None:
    workspace.put("a.bin", b"\x7fELF\0needle\n")
    workspace.put("b.txt", "needle\n")

    assert await workspace.places("needle") == ["b.txt:1"]
    asked_for = await workspace.search("needle", "a.bin")
    assert asked_for.hits == ()
    assert asked_for.warnings == ("a.bin: not searched, it is binary",)


async def test_a_file_that_turns_binary_is_searched_up_to_there(workspace: Workspace) -> None:
    workspace.put("a", b"needle\n" + b"text\n" * 100_000 + b"\0\nneedle\n")

    found = await workspace.search("needle")

    assert [hit.line for hit in found.hits] == [1]
    assert found.warnings == ("a: searched only up to its first NUL byte",)


@pytest.fixture
def readable_by_all() -> Iterator[Path]:
    """A directory that somebody without privileges can enter."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made).resolve()


async def test_what_cannot_be_read_is_named(readable_by_all: Path, engine: str) -> None:
    workspace = Workspace(readable_by_all, engine)
    for name in ("a.txt", "locked.txt", "locked/b.txt"):
        workspace.put(name, "needle\n")
    assert len(await workspace.places("needle")) == 3
    (workspace.root / "locked.txt").chmod(0)
    (workspace.root / "locked").chmod(0)

    owner = os.geteuid()
    os.seteuid(65534 if owner == 0 else owner)  # to root, nothing is locked
    try:
        found = await workspace.search("needle")
    finally:
        os.seteuid(owner)
        (workspace.root / "locked").chmod(0o700)

    assert [hit.path for hit in found.hits] == ["a.txt"]
    assert sorted(found.warnings) == [
        "locked.txt: not searched, Permission denied",
        "locked: not searched, Permission denied",
    ]


async def test_lines_end_with_crlf_as_well(workspace: Workspace) -> None:
    workspace.put("a", "one\r\nneedle\r\nthree\r\n")

    found = await workspace.search("^needle$")

    assert found.hits == (Hit("a", 2, "needle", ("one", "three")),)


async def test_utf16_and_a_byte_order_mark_are_understood(workspace: Workspace) -> None:
    workspace.put("a", "größe\nzwei\n".encode("utf-16"))
    workspace.put("b", "größe\n".encode("utf-8-sig"))

    found = await workspace.search("^größe$")

    assert found.hits == (Hit("a", 1, "größe", ("zwei",)), Hit("b", 1, "größe", ()))


async def test_long_lines_are_cut(workspace: Workspace) -> None:
    workspace.put("a", "é" * 500 + "\n" + "needle" + "x" * 3_000_000 + "\n" + "y" * 501)

    found = await workspace.search("needle")

    assert found.hits == (Hit("a", 2, "needle" + "x" * 494 + "…", ("é" * 500, "y" * 500 + "…")),)


async def test_bytes_that_are_no_text_still_make_valid_json(workspace: Workspace) -> None:
    (workspace.root / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"caf\xe9 needle\n\xff\n")

    found = await workspace.search("needle", glob="*.txt")

    assert found.hits == (Hit("caf\ufffd.txt", 1, "caf\ufffd needle", ("\ufffd",)),)
    json.dumps([hit.path for hit in found.hits]).encode("ascii")


async def test_odd_file_names_are_given_whole(workspace: Workspace) -> None:
    names = ["-e", "a:12:b", "new\nline", "two\n\nlines\n", "~", "[x]", "with space"]
    for name in names:
        workspace.put(name, "needle\n")

    found = await workspace.search("needle")

    assert sorted(hit.path for hit in found.hits) == sorted(names)


@pytest.mark.parametrize("query", ["-e", "--files", "-", "--pre=sh"])
async def test_a_query_is_never_an_option(workspace: Workspace, query: str) -> None:
    workspace.put("a", f"before\n{query}\n")

    assert await workspace.places(query) == ["a:2"]


@pytest.mark.parametrize("glob", ["--pre=sh", "-u", "--"])
async def test_a_glob_is_never_an_option(workspace: Workspace, glob: str) -> None:
    workspace.put("a", "needle\n")
    workspace.put(glob, "needle\n")

    assert await workspace.places("needle", glob=glob) == [f"{glob}:1"]


@pytest.mark.parametrize(
    ("query", "position"), [("foo(bar", 3), ("*x", 0), ("a[z-b]", 2), ("(?=x)y", 0)]
)
async def test_a_query_that_is_no_regex_is_refused_with_the_way_out(
    workspace: Workspace, query: str, position: int
) -> None:
    workspace.put("a", f"text {query} text\n")

    with pytest.raises(InvalidArgs, match="not a regular expression") as refused:
        await workspace.search(query)

    assert repr(query) in refused.value.message
    assert refused.value.details["reason"]
    literal = refused.value.suggestion.partition("with '")[2].removesuffix("'.")
    assert await workspace.places(literal.replace("\\\\", "\\")) == ["a:1"]
    if workspace.engine == "rg":
        assert refused.value.details["position"] == position


@pytest.mark.parametrize("query", ["", "a\nb", r"a\nb", "a\0b", "a\ud800b", "x" * 10_001])
async def test_a_query_that_cannot_match_a_line_is_refused(
    workspace: Workspace, query: str
) -> None:
    with pytest.raises(InvalidArgs, match="query") as refused:
        await workspace.search(query)
    assert refused.value.suggestion


@pytest.mark.parametrize("query", [r"a[^\n]b", r"a\\nb", r"[\\]nb"])
async def test_a_backslash_and_an_n_are_not_always_a_newline(
    workspace: Workspace, query: str
) -> None:
    workspace.put("a", "a\\nb axb\n")

    assert await workspace.places(query) == ["a:1"]


async def test_a_pattern_does_not_reach_across_lines(workspace: Workspace) -> None:
    workspace.put("a", "one\n\ntwo\n")

    assert await workspace.places(r"one\s+two") == []
    assert await workspace.places(r"[^x]+") == ["a:1", "a:3"]
    assert await workspace.places("^$") == ["a:2"]
    assert await workspace.places("(?s)e.t") == []


@pytest.mark.parametrize("query", ["(a+)+$", "(a|a)*c", "(a*)*b$", "(.*a){12}c"])
async def test_a_pattern_that_would_backtrack_for_ever_is_answered(
    workspace: Workspace, query: str
) -> None:
    workspace.put("a", "a" * 50_000 + "b\n")

    found = await workspace.search(query, timeout_s=20.0)

    assert len(found.hits) == (1 if query == "(a*)*b$" else 0)


async def test_large_files_are_searched_whole(workspace: Workspace) -> None:
    filler = b"".join(b"line %07d\n" % number for number in range(1_300_000))
    workspace.put("big.txt", b"needle\n" + filler + b"needle\nend")

    found = await workspace.search("needle|line 0(4[39]|99)0000$")

    assert [(hit.line, hit.content, hit.context) for hit in found.hits] == [
        (1, "needle", ("line 0000000", "line 0000001")),
        *(
            (at + 2, f"line {at:07}", tuple(f"line {at + by:07}" for by in (-2, -1, 1, 2)))
            for at in (430_000, 490_000, 990_000)
        ),
        (1_300_002, "needle", ("line 1299998", "line 1299999", "end")),
    ]


async def test_a_search_that_takes_too_long_says_how_far_it_came(workspace: Workspace) -> None:
    workspace.put("a", "needle\n")

    with pytest.raises(TimedOut, match="needle") as late:
        await workspace.search("needle", timeout_s=0.0)

    assert late.value.details["timeout_s"] == 0.0
    assert isinstance(late.value.details["hits"], int)


async def test_a_search_can_be_cancelled(workspace: Workspace) -> None:
    for number in range(200):
        workspace.put(f"{number}.txt", "x\n" * 1000)

    task = asyncio.ensure_future(workspace.search("absent"))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


@contextmanager
def shallow_stack() -> Iterator[None]:
    """Lets functions call one another less deeply than directories may contain one another."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


async def test_a_deep_tree_is_walked(workspace: Workspace) -> None:
    workspace.put("d/" * 500 + "a", "needle\n")

    with shallow_stack():
        assert await workspace.places("needle") == ["d/" * 500 + "a:1"]
        assert await workspace.places("needle", "d/" * 499) == ["d/" * 500 + "a:1"]


async def test_a_ripgrep_that_breaks_down_is_said_so(tmp_path: Path) -> None:
    broken = tmp_path / "rg"
    broken.write_text("#!/bin/sh\necho panicked >&2\nexit 101\n")
    broken.chmod(0o755)

    with pytest.raises(ExecutionFailed, match="101: panicked"):
        await lexical.search(
            "x",
            root=str(tmp_path),
            scope=str(tmp_path),
            glob=None,
            runner=Processes(),
            rg=str(broken),
        )


def test_a_ripgrep_inside_the_workspace_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "bin"
    for place in (work / ".venv/bin", elsewhere):
        place.mkdir(parents=True)
        (place / "rg").write_text("#!/bin/sh\n")
        (place / "rg").chmod(0o755)
    (tmp_path / "alias").symlink_to(work / ".venv/bin")
    monkeypatch.chdir(work / ".venv/bin")

    inside = ["", ".", str(work / ".venv/bin"), str(tmp_path / "alias")]
    monkeypatch.setenv("PATH", os.pathsep.join(inside))
    assert lexical.installed(str(work)) is None

    monkeypatch.setenv("PATH", os.pathsep.join([*inside, str(elsewhere)]))
    assert lexical.installed(str(work)) == str(elsewhere / "rg")
