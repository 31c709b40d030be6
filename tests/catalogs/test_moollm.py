"""The protocol's tools, called as a model calls them: through the gate, on real files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs.calling import WHY, fault, result
from whence.catalogs import load_catalog
from whence.declare.protocol import load_tools
from whence.loop.session import Session
from whence.shapes.call import Outcome
from whence.shapes.policy import Policy, Rule, Verdict

SHARED = Path(__file__).parents[3] / "shared"
SEED = SHARED / "seeds" / "002_9ce93a70bbe994c8.txt"

pytestmark = pytest.mark.anyio


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "a.py").write_text("one\ntwo\nthree\n")
    (work / "README.md").write_text("# Title\n")
    with Session(work, durable=False) as opened:
        yield opened


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.mark.requirement("moollm:schemas")
@pytest.mark.skipif(not SEED.exists(), reason="the protocol's document is not here")
async def test_names_arguments_and_outputs_are_those_of_the_document() -> None:
    documented = {tool.name: tool for tool in load_tools(SEED.read_text("utf-8"), source="seed")}

    for ours in load_catalog("moollm"):
        theirs = documented[ours.name]
        assert ours.description == theirs.description
        assert ours.category == theirs.category
        assert shape(ours.input_schema) == shape(theirs.input_schema), ours.name
        if theirs.output_schema is not None:
            assert shape(ours.output_schema) == shape(theirs.output_schema), ours.name


def shape(schema: Any) -> Any:
    """Names, types and what is required; not descriptions and bounds."""
    if not isinstance(schema, dict):
        return schema
    kind: dict[str, Any] = {"type": schema.get("type")}
    if "enum" in schema:
        kind = {"enum": sorted(schema["enum"])}
    if "items" in schema:
        kind["items"] = shape(schema["items"])
    if "properties" in schema:
        kind["properties"] = {name: shape(value) for name, value in schema["properties"].items()}
    return kind


@pytest.mark.requirement("moollm:ls")
async def test_ls_lists_by_name_with_type_size_and_time(session: Session, work: Path) -> None:
    (work / ".hidden").write_text("x")
    (work / "link").symlink_to("src")
    (work / "out").symlink_to("/etc/passwd")
    os.utime(work / "README.md", (0, 0))

    listed = await result(session, "fs.ls", path=".")

    assert [(entry["name"], entry["type"]) for entry in listed] == [
        (".agent", "directory"), (".hidden", "file"), ("README.md", "file"),
        ("link", "directory"), ("out", "file"), ("src", "directory"),
    ]  # fmt: skip
    assert listed[2] == {
        "name": "README.md", "type": "file", "size": 8, "modified": "1970-01-01T00:00:00Z",
    }  # fmt: skip
    assert listed[5]["size"] == 0


@pytest.mark.requirement("moollm:ls")
async def test_ls_of_a_large_directory_is_cut_and_says_so(session: Session, work: Path) -> None:
    (work / "many").mkdir()
    for number in range(1200):
        (work / "many" / f"{number:04}").touch()

    outcome = await session.call("fs.ls", WHY, path="many")

    assert outcome.truncated
    assert isinstance(outcome.result, list)
    assert len(outcome.result) == 1000
    assert "1200" in outcome.warnings[0]


async def test_ls_of_what_is_not_there_suggests_what_is(session: Session) -> None:
    found = await fault(session, "fs.ls", path="scr")

    assert found.code == "NOT_FOUND"
    assert "src" in found.suggestion
    assert (await fault(session, "fs.ls", path="README.md")).code == "INVALID_ARGS"


@pytest.mark.requirement("moollm:read")
async def test_read_gives_content_and_the_count_of_all_lines(session: Session) -> None:
    assert await result(session, "fs.read", path="src/a.py") == {
        "content": "one\ntwo\nthree\n", "lines": 3, "truncated": False,
    }  # fmt: skip


@pytest.mark.requirement("moollm:read")
@pytest.mark.parametrize(
    ("given", "content"),
    [
        ({"start": 2, "end": 2}, "two\n"),
        ({"start": 2}, "two\nthree\n"),
        ({"end": 1}, "one\n"),
        ({"start": 3, "end": 99}, "three\n"),
        ({}, "one\ntwo\nthree\n"),
    ],
)
async def test_a_range_is_inclusive_and_clamped(
    session: Session, given: dict[str, int], content: str
) -> None:
    read = await result(session, "fs.read", path="src/a.py", range=given)

    assert read == {"content": content, "lines": 3, "truncated": False}


async def test_a_range_that_cannot_be_is_invalid(session: Session) -> None:
    for wrong in (
        {"start": 4},
        {"start": 0},
        {"start": 3, "end": 2},
        {"start": "x"},
        {"from": 1},
        3,
    ):
        assert (
            await fault(session, "fs.read", path="src/a.py", range=wrong)
        ).code == "INVALID_ARGS"


@pytest.mark.requirement("moollm:read")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x00\x01\x02", "binary"),
        (b"ok\nna\xefve\n", "line 2"),
        (b"\xff\xfea\x00", "UTF-16"),
    ],
)
async def test_what_is_not_utf8_text_is_refused_and_says_why(
    session: Session, work: Path, content: bytes, said: str
) -> None:
    (work / "x").write_bytes(content)

    found = await fault(session, "fs.read", path="x")

    assert found.code == "INVALID_ARGS"
    assert said in found.message


@pytest.mark.requirement("moollm:read")
async def test_a_two_gigabyte_file_is_read_by_range_only(session: Session, work: Path) -> None:
    with open(work / "huge", "wb") as file:
        file.write(b"first\nsecond\n")
        file.truncate(2_000_000_000)

    found = await fault(session, "fs.read", path="huge")

    assert found.code == "QUOTA_EXCEEDED"
    assert "range" in found.suggestion
    read = await result(session, "fs.read", path="huge", range={"start": 2, "end": 2})
    assert read["content"] == "second\n"


async def test_a_long_file_is_cut_at_a_line_and_says_where_to_go_on(
    session: Session, work: Path
) -> None:
    (work / "long").write_text("".join(f"line {n}\n" for n in range(300_000)))

    outcome = await session.call("fs.read", WHY, path="long", range={"start": 1, "end": 250_000})

    assert outcome.truncated
    assert outcome.artifact
    assert '"start": 9' in " ".join(outcome.warnings)


@pytest.mark.parametrize("path", ["fifo", "src", "nowhere", "a\0b"])
async def test_what_is_no_file_is_refused_at_once(session: Session, work: Path, path: str) -> None:
    os.mkfifo(work / "fifo")

    for tool, extra in (("fs.read", {}), ("fs.patch", {"diff": "@@ -1 +1 @@\n-a\n+b\n"})):
        assert (await fault(session, tool, path=path, **extra)).code in (
            "INVALID_ARGS",
            "NOT_FOUND",
        )


@pytest.mark.requirement("moollm:append")
async def test_append_adds_exactly_the_text(session: Session, work: Path) -> None:
    first = await result(session, "fs.append", path="log/notes.md", text="a")
    second = await result(session, "fs.append", path="log/notes.md", text="\r\nb")

    assert first == {"bytes_written": 1, "created": True}
    assert second == {"bytes_written": 3, "created": False}
    assert (work / "log" / "notes.md").read_bytes() == b"a\r\nb"


@pytest.mark.requirement("moollm:write")
async def test_write_replaces_the_file_and_says_what_was_before(
    session: Session, work: Path
) -> None:
    made = await result(session, "fs.write", path="deep/er/x", content="é")
    (work / "deep" / "er" / "x").chmod(0o600)
    again = await result(session, "fs.write", path="deep/er/x", content="")

    assert made["created"]
    assert made["bytes_written"] == 2
    assert again["sha256_before"] == made["sha256_after"]
    assert (work / "deep" / "er" / "x").read_bytes() == b""
    assert (work / "deep" / "er" / "x").stat().st_mode & 0o777 == 0o600


async def test_write_where_a_directory_is_or_a_file_is_in_the_way_is_refused(
    session: Session,
) -> None:
    assert (await fault(session, "fs.write", path="src", content="x")).code == "INVALID_ARGS"
    found = await fault(session, "fs.write", path="README.md/x", content="x")
    assert found.code in ("INVALID_ARGS", "CONFLICT")


@pytest.mark.requirement("moollm:mkdir")
async def test_mkdir_makes_parents_and_may_be_repeated(session: Session, work: Path) -> None:
    assert await result(session, "fs.mkdir", path="a/b/c") == {"created": True}
    assert await result(session, "fs.mkdir", path="a/b/c") == {"created": False}
    assert (work / "a" / "b" / "c").is_dir()
    assert (await fault(session, "fs.mkdir", path="README.md/x")).code == "CONFLICT"


@pytest.mark.requirement("moollm:copy")
async def test_copy_copies_files_and_trees_with_modes_and_links(
    session: Session, work: Path
) -> None:
    (work / "src" / "run").write_text("#!/bin/sh\n")
    (work / "src" / "run").chmod(0o755)
    (work / "src" / "ln").symlink_to("a.py")

    one = await result(session, "fs.copy", src="README.md", dst="new/copy.md")
    tree = await result(session, "fs.copy", src="src", dst="lib")

    assert one == {"files": 1, "bytes_written": 8}
    assert tree["files"] == 3
    assert (work / "lib" / "run").stat().st_mode & 0o777 == 0o755
    assert (work / "lib" / "ln").is_symlink()
    assert (work / "lib" / "a.py").read_text() == "one\ntwo\nthree\n"


@pytest.mark.requirement("moollm:copy")
async def test_copy_never_overwrites_and_leaves_nothing_half_done(
    session: Session, work: Path
) -> None:
    (work / "src" / "zz").symlink_to("/etc/passwd")

    assert (await fault(session, "fs.copy", src="src", dst="lib")).code == "PERMISSION_DENIED"
    assert (await fault(session, "fs.copy", src="README.md", dst="src/a.py")).code == "CONFLICT"
    assert (await fault(session, "fs.copy", src="src", dst="src/in")).code == "INVALID_ARGS"
    assert (await fault(session, "fs.copy", src="nothing", dst="x")).code == "NOT_FOUND"
    assert sorted(path.name for path in work.iterdir()) == [".agent", "README.md", "src"]


PATCH = """\
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@
 one
-two
+zwei
 three
"""


@pytest.mark.requirement("moollm:patch")
async def test_patch_applies_a_unified_diff(session: Session, work: Path) -> None:
    done = await result(session, "fs.patch", path="src/a.py", diff=PATCH)

    assert done == {"hunks_applied": 1, "added": 1, "removed": 1}
    assert (work / "src" / "a.py").read_text() == "one\nzwei\nthree\n"


@pytest.mark.requirement("moollm:patch")
async def test_a_stale_patch_is_refused_with_the_place_and_changes_nothing(
    session: Session, work: Path
) -> None:
    (work / "src" / "a.py").write_text("one\n2\nthree\n")

    found = await fault(session, "fs.patch", path="src/a.py", diff=PATCH)

    assert found.code == "CONFLICT"
    assert found.details
    assert (work / "src" / "a.py").read_text() == "one\n2\nthree\n"


@pytest.mark.requirement("moollm:patch")
async def test_patch_keeps_crlf_and_byte_order_mark_and_can_create_and_delete(
    session: Session, work: Path
) -> None:
    (work / "src" / "a.py").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    await result(session, "fs.patch", path="src/a.py", diff=PATCH)
    assert (work / "src" / "a.py").read_bytes() == b"\xef\xbb\xbfone\r\nzwei\r\nthree\r\n"

    made = "--- /dev/null\n+++ b/n/new.txt\n@@ -0,0 +1 @@\n+hello\n"
    await result(session, "fs.patch", path="n/new.txt", diff=made)
    assert (work / "n" / "new.txt").read_text() == "hello\n"
    gone = "--- a/n/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n"
    await result(session, "fs.patch", path="n/new.txt", diff=gone)
    assert not (work / "n" / "new.txt").exists()


@pytest.mark.requirement("moollm:search")
@pytest.mark.parametrize("engine", ["rg", "python"])
async def test_search_finds_lines_with_their_context(
    session: Session, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "python":
        monkeypatch.setenv("PATH", "/nonexistent")
    elif shutil.which("rg") is None:
        pytest.skip("rg is not installed")

    hits = await result(session, "search.lexical", query="t(wo|o)", glob="*.py")

    assert hits == [{"path": "src/a.py", "line": 2, "content": "two", "context": ["one", "three"]}]
    assert await result(session, "search.lexical", query="two", scope="src") == hits
    assert await result(session, "search.lexical", query="nowhere") == []
    assert (await fault(session, "search.lexical", query="(")).code == "INVALID_ARGS"
    assert (await fault(session, "search.lexical", query="x", scope="none")).code == "NOT_FOUND"


@pytest.mark.requirement("gate:defaults")
@pytest.mark.parametrize("engine", ["rg", "python"])
async def test_a_search_does_not_look_into_what_must_be_asked_for(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "python":
        monkeypatch.setenv("PATH", "/nonexistent")
    (tmp_path / "deep" / "secrets").mkdir(parents=True)
    for name in (".env", "deep/server.key", "deep/.env.local", "deep/secrets/x", "deep/plain"):
        (tmp_path / name).write_text("needle\n")
    policy = Policy(rules=(Rule(Verdict.DENY, "*", "deep/secrets/**"),))

    with Session(tmp_path, durable=False, policy=policy) as session:
        hits = await result(session, "search.lexical", query="needle")
        again = await result(session, "search.lexical", query="needle", glob="*")
        named = await fault(session, "search.lexical", query="needle", scope="deep/secrets")

    assert [hit["path"] for hit in hits] == ["deep/plain"]
    assert [hit["path"] for hit in again] == ["deep/plain"]
    assert named.code == "PERMISSION_DENIED"


@pytest.mark.requirement("gate:defaults")
async def test_a_copy_of_a_tree_stops_at_what_must_be_asked_for(
    session: Session, work: Path
) -> None:
    (work / "src" / ".env").write_text("SECRET=1\n")

    assert (await fault(session, "fs.copy", src="src", dst="lib")).code == "PERMISSION_DENIED"
    assert not (work / "lib").exists()
    (work / "src" / ".env").unlink()
    await result(session, "fs.copy", src="src", dst="lib")


async def test_a_pattern_that_would_backtrack_for_ever_answers(
    session: Session, work: Path
) -> None:
    (work / "aaa").write_text("a" * 50_000 + "b\n")

    assert isinstance(await session.call("search.lexical", WHY, query="(a+)+$"), Outcome)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "link/passwd", "/proc/self/environ"])
async def test_the_outside_is_closed_to_every_tool(session: Session, work: Path, path: str) -> None:
    (work / "link").symlink_to("/etc")
    for tool, arguments in (
        ("fs.ls", {"path": path}),
        ("fs.read", {"path": path}),
        ("fs.append", {"path": path, "text": "x"}),
        ("fs.write", {"path": path, "content": "x"}),
        ("fs.patch", {"path": path, "diff": PATCH}),
        ("fs.mkdir", {"path": path}),
        ("fs.copy", {"src": path, "dst": "y"}),
        ("fs.copy", {"src": "README.md", "dst": path}),
        ("search.lexical", {"query": "root", "scope": path}),
    ):
        found = await fault(session, tool, **arguments)
        assert found.code == "PERMISSION_DENIED", tool


async def test_a_file_name_that_is_not_utf8_is_listed(session: Session, work: Path) -> None:
    with open(os.fsencode(work) + b"/caf\xe9", "wb"):
        pass

    listed = await result(session, "fs.ls", path=".")

    assert any(entry["name"].startswith("caf") for entry in listed)


async def test_a_diff_does_not_remove_a_link(session: Session, work: Path) -> None:
    (work / "link").symlink_to("README.md")
    diff = "--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-# Title\n"

    found = await fault(session, "fs.patch", path="link", diff=diff)

    assert found.code == "INVALID_ARGS"
    assert "README.md" in found.suggestion
    assert (work / "link").is_symlink()
    assert (work / "README.md").exists()


async def test_a_tree_that_is_too_deep_is_not_copied_by_halves(
    session: Session, work: Path
) -> None:
    os.makedirs(work / "tree" / "/".join(["d"] * 120))

    refused = await fault(session, "fs.copy", src="tree", dst="copy")

    assert refused.code == "INVALID_ARGS"
    assert "100 levels" in refused.message
    assert sorted(os.listdir(work)) == [".agent", "README.md", "src", "tree"]
