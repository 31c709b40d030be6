"""Roo's editing tools, called as a model calls them: through the gate, on real files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs.calling import WHY, fault, result
from whence.catalogs import load_catalog
from whence.loop.session import Session
from whence.shapes.policy import Mode, Policy

pytestmark = pytest.mark.anyio


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_bytes(b"one\ntwo\nthree\n")
    return work


@pytest.fixture
def session(work: Path) -> Iterator[Session]:
    with Session(work, load_catalog("roo"), durable=False) as opened:
        yield opened


def block(search: str, replace: str, line: int | None = None) -> str:
    stated = f":start_line:{line}\n-------\n" if line else ""
    new = f"{replace}\n" if replace else ""
    return f"<<<<<<< SEARCH\n{stated}{search}\n=======\n{new}>>>>>>> REPLACE\n"


@pytest.mark.requirement("roo:apply-diff:all-or-nothing")
async def test_apply_diff_applies_every_block_and_reports_each(
    session: Session, work: Path
) -> None:
    diff = block("three", "drei", 3) + block("one", "eins", 9)

    done = await result(session, "apply_diff", path="a.py", diff=diff)

    assert (work / "a.py").read_text() == "eins\ntwo\ndrei\n"
    assert (done["path"], done["operation"]) == ("a.py", "modified")
    assert done["notice"]
    assert [(each["block"], each["start_line"], each["end_line"]) for each in done["blocks"]] == [
        (1, 3, 3), (2, 1, 1),
    ]  # fmt: skip
    assert done["blocks"][1]["note"] == "applied at line 1, not at line 9"


@pytest.mark.requirement("roo:apply-diff:exact")
async def test_apply_diff_keeps_mark_endings_mode_and_the_missing_newline(
    session: Session, work: Path
) -> None:
    (work / "a.py").write_bytes(b"\xef\xbb\xbfone\r\ntwo\nthree")
    (work / "a.py").chmod(0o751)

    await result(session, "apply_diff", path="a.py", diff=block("one\ntwo", "1\ntwo\n2"))

    assert (work / "a.py").read_bytes() == b"\xef\xbb\xbf1\r\ntwo\n2\nthree"
    assert (work / "a.py").stat().st_mode & 0o777 == 0o751


@pytest.mark.requirement("roo:apply-diff:all-or-nothing")
async def test_a_refused_diff_leaves_the_file_alone(session: Session, work: Path) -> None:
    before = (work / "a.py").stat()

    found = await fault(
        session, "apply_diff", path="a.py", diff=block("one", "1") + block("four", "4")
    )

    assert found.code == "CONFLICT"
    assert found.details["failed"][0]["block"] == 2
    assert (work / "a.py").stat() == before
    wrong = await fault(session, "apply_diff", path="a.py", diff="<<<<<<< SEARCH\none\n")
    assert wrong.code == "INVALID_ARGS"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_diff", {"path": "PATH", "diff": block("a", "b")}),
        ("search_and_replace", {"path": "PATH", "operations": [{"search": "a", "replace": "b"}]}),
        ("edit", {"file_path": "PATH", "old_string": "a", "new_string": "b"}),
        ("search_replace", {"file_path": "PATH", "old_string": "a", "new_string": "b"}),
        ("edit_file", {"file_path": "PATH", "old_string": "a", "new_string": "b"}),
    ],
)
async def test_what_cannot_be_edited_is_refused_by_every_edit_tool(
    session: Session, work: Path, tool: str, arguments: dict[str, Any]
) -> None:
    (work / "binary").write_bytes(b"a\0b")
    (work / "latin").write_bytes(b"a\xe9\n")
    (work / "folder").mkdir()
    os.mkfifo(work / "fifo")
    codes = {}
    for name in ("missing.py", "binary", "latin", "folder", "fifo"):
        given = {key: name if value == "PATH" else value for key, value in arguments.items()}
        codes[name] = (await fault(session, tool, **given)).code

    assert codes == {
        "missing.py": "NOT_FOUND", "binary": "INVALID_ARGS", "latin": "INVALID_ARGS",
        "folder": "INVALID_ARGS", "fifo": "INVALID_ARGS",
    }  # fmt: skip


@pytest.mark.requirement("roo:edit-family")
async def test_search_and_replace_makes_operations_in_order_all_or_none(
    session: Session, work: Path
) -> None:
    first, then = {"search": "one", "replace": "uno"}, {"search": "uno\ntwo", "replace": "$&"}

    done = await result(session, "search_and_replace", path="a.py", operations=[first, then])

    assert (work / "a.py").read_text() == "$&\nthree\n"
    assert "2 replacements" in done["notice"]
    found = await fault(
        session,
        "search_and_replace",
        path="a.py",
        operations=[{"search": "three", "replace": "3"}, {"search": "nothing", "replace": "x"}],
    )
    assert found.code == "CONFLICT"
    assert "operation 2" in found.message
    assert (work / "a.py").read_text() == "$&\nthree\n"
    empty = await fault(session, "search_and_replace", path="a.py", operations=[])
    assert empty.code == "INVALID_ARGS"


@pytest.mark.requirement("roo:edit-family")
async def test_edit_replaces_one_or_all(session: Session, work: Path) -> None:
    (work / "a.py").write_bytes(b"x\r\ny\r\nx\r\n")

    found = await fault(session, "edit", file_path="a.py", old_string="x", new_string="z")
    assert found.details["lines"] == [1, 3]
    done = await result(
        session, "edit", file_path="a.py", old_string="x", new_string="$1\nz", replace_all=True
    )

    assert "2 replacements" in done["notice"]
    assert (work / "a.py").read_bytes() == b"$1\r\nz\r\ny\r\n$1\r\nz\r\n"
    same = await fault(session, "edit", file_path="a.py", old_string="y", new_string="y")
    assert (same.code, "identical" in same.message) == ("INVALID_ARGS", True)
    empty = await fault(session, "edit", file_path="a.py", old_string="", new_string="y")
    assert empty.code == "INVALID_ARGS"
    missing = await fault(session, "edit", file_path="a.py", old_string="y")
    assert "new_string" in missing.message


@pytest.mark.requirement("roo:edit-family")
async def test_search_replace_takes_relative_and_absolute_paths(
    session: Session, work: Path
) -> None:
    await result(session, "search_replace", file_path="a.py", old_string="two\n", new_string="")
    path = os.fspath(work / "a.py")
    await result(session, "search_replace", file_path=path, old_string="one", new_string="$$")

    assert (work / "a.py").read_text() == "$$\nthree\n"


@pytest.mark.requirement("roo:edit-file:ladder")
async def test_edit_file_creates_counts_and_tolerates(session: Session, work: Path) -> None:
    made = await result(
        session, "edit_file", file_path="new/b.txt", old_string="", new_string="Line\n" * 3
    )
    assert made["operation"] == "created"
    again = await fault(session, "edit_file", file_path="a.py", old_string="", new_string="x")
    assert again.code == "CONFLICT"

    found = await fault(
        session, "edit_file", file_path="new/b.txt", old_string="Line", new_string="L"
    )
    assert (found.details["expected"], found.details["found"]) == (1, 3)
    arguments = {"file_path": "new/b.txt", "old_string": "Line", "new_string": "$100"}
    done = await result(session, "edit_file", expected_replacements=3, **arguments)
    assert "3 replacements" in done["notice"]
    assert (work / "new" / "b.txt").read_text() == "$100\n" * 3

    (work / "a.py").write_bytes(b"if a:\r\n\tb()\r\n")
    outcome = await session.call(
        "edit_file", WHY, file_path="a.py", old_string="if a:\n    b()", new_string="if a:\n    c()"
    )
    assert outcome.ok
    assert "white space" in outcome.warnings[0]
    assert (work / "a.py").read_bytes() == b"if a:\r\n\tc()\r\n"


@pytest.mark.requirement("roo:write")
@pytest.mark.parametrize(
    "content",
    ["```python\nx = 1\n```\n", "&lt;a&gt; &amp;", "1 | a\n2 | b\n", "", "é\r\n", "no newline"],
)
async def test_a_new_file_holds_exactly_what_was_given(
    session: Session, work: Path, content: str
) -> None:
    done = await result(session, "write_to_file", path="deep/er/new.txt", content=content)

    assert (work / "deep" / "er" / "new.txt").read_bytes() == content.encode()
    assert done["operation"] == "created"


@pytest.mark.requirement("roo:write")
async def test_a_rewritten_file_keeps_its_habits_and_says_so(session: Session, work: Path) -> None:
    (work / "a.py").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (work / "a.py").chmod(0o600)

    outcome = await session.call("write_file", WHY, path="a.py", content="three\nfour")

    assert outcome.ok
    assert (work / "a.py").read_bytes() == b"\xef\xbb\xbfthree\r\nfour\r\n"
    assert (work / "a.py").stat().st_mode & 0o777 == 0o600
    assert "CRLF" in " ".join(outcome.warnings)
    await result(session, "write_to_file", path="a.py", content="")
    assert (work / "a.py").read_bytes() == b""


@pytest.mark.requirement("roo:write")
async def test_content_that_looks_like_a_slip_is_written_with_a_warning(session: Session) -> None:
    numbered = await session.call("write_to_file", WHY, path="n.txt", content="1 | a\n2 | b\n")
    fenced = await session.call("write_to_file", WHY, path="f.py", content="```py\nx\n```\n")
    markdown = await session.call("write_to_file", WHY, path="f.md", content="```py\nx\n```\n")

    assert "number" in numbered.warnings[0]
    assert "fences" in fenced.warnings[0]
    assert not markdown.warnings


PATCH = """\
*** Begin Patch
*** Update File: a.py
@@
 one
-two
+zwei
*** Add File: docs/new.md
+# New
*** End Patch
"""


@pytest.mark.requirement("roo:apply-patch")
async def test_apply_patch_changes_all_files_and_reports_each(session: Session, work: Path) -> None:
    done = await result(session, "apply_patch", patch=PATCH)

    assert (work / "a.py").read_text() == "one\nzwei\nthree\n"
    assert (work / "docs" / "new.md").read_text() == "# New\n"
    assert [(each["path"], each["operation"]) for each in done["files"]] == [
        ("a.py", "modified"), ("docs/new.md", "created"),
    ]  # fmt: skip
    assert "zwei" in done["changes"]


@pytest.mark.requirement("roo:apply-patch")
async def test_a_patch_that_fails_in_one_file_changes_none(session: Session, work: Path) -> None:
    (work / "docs").mkdir()
    (work / "docs" / "new.md").write_text("here\n")

    assert (await fault(session, "apply_patch", patch=PATCH)).code == "CONFLICT"
    assert (work / "a.py").read_text() == "one\ntwo\nthree\n"
    assert (await fault(session, "apply_patch", patch="nonsense")).code == "INVALID_ARGS"


MARKDOWN_ONLY = Mode("architect", "Architect", {"read": None, "edit": r"\.md$"})


@pytest.mark.requirement("roo:schemas")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_to_file", {"path": "a.py", "content": ""}),
        ("apply_diff", {"path": "a.py", "diff": block("one", "1")}),
        ("edit", {"file_path": "a.py", "old_string": "one", "new_string": "1"}),
        ("search_replace", {"file_path": "a.py", "old_string": "one", "new_string": "1"}),
        ("edit_file", {"file_path": "a.py", "old_string": "one", "new_string": ""}),
        ("search_and_replace", {"path": "a.py", "operations": [{"search": "one", "replace": ""}]}),
        ("apply_patch", {"patch": PATCH}),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Update File: x.md\n*** Move to: x.py\n*** End Patch"},
        ),
        ("apply_patch", {"patch": "*** Begin Patch\n *** Add File: x.js\n+x\n*** End Patch"}),
    ],
)
async def test_a_mode_holds_every_edit_tool_to_its_files(
    work: Path, tool: str, arguments: dict[str, Any]
) -> None:
    (work / "x.md").write_text("x\n")
    with Session(
        work, load_catalog("roo"), durable=False, policy=Policy(mode=MARKDOWN_ONLY)
    ) as session:
        found = await fault(session, tool, **arguments)

    assert found.code in ("PERMISSION_DENIED", "INVALID_ARGS")
    assert (work / "a.py").read_text() == "one\ntwo\nthree\n"
    assert sorted(path.name for path in work.iterdir()) == [".agent", "a.py", "x.md"]


@pytest.mark.requirement("roo:ignore")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_to_file", {"path": "secret/new", "content": "x"}),
        ("write_to_file", {"path": "./a/../secret/s.txt", "content": "x"}),
        ("write_to_file", {"path": ".rooignore", "content": ""}),
        ("write_to_file", {"path": "way-in/s.txt", "content": "x"}),
        ("apply_diff", {"path": "key.pem.txt", "diff": block("one", "1")}),
        ("edit", {"file_path": "named-link", "old_string": "one", "new_string": "1"}),
        ("search_replace", {"file_path": "secret/s.txt", "old_string": "s", "new_string": "1"}),
        ("edit_file", {"file_path": "secret/s.txt", "old_string": "s", "new_string": "1"}),
        ("search_and_replace",
         {"path": "secret/s.txt", "operations": [{"search": "s", "replace": "1"}]}),
        ("apply_patch",
         {"patch": "*** Begin Patch\n*** Delete File: secret/s.txt\n*** End Patch"}),
        ("apply_patch",
         {"patch": "*** Begin Patch\n*** Update File: a.py\n*** Move to: secret/a.py\n@@\n-one\n"
                   "+1\n*** End Patch"}),
        ("list_files", {"path": "secret", "recursive": False}),
        ("search_files", {"path": "secret", "regex": "s"}),
        ("read_file", {"path": "secret/s.txt"}),
        ("read_file", {"files": [{"path": "secret/s.txt"}]}),
    ],
)  # fmt: skip
async def test_no_tool_touches_what_the_ignore_file_covers(
    session: Session, work: Path, tool: str, arguments: dict[str, Any]
) -> None:
    (work / ".rooignore").write_text("secret/\n*.pem.*\n!open.pem.txt\nnamed-link\n")
    (work / "secret").mkdir()
    (work / "secret" / "s.txt").write_text("s\n")
    (work / "key.pem.txt").write_text("one\n")
    (work / "way-in").symlink_to("secret")
    (work / "named-link").symlink_to("a.py")

    found = await fault(session, tool, **arguments)

    assert found.code == "PERMISSION_DENIED"
    assert ".rooignore" in found.message
    assert found.details["type"] == "access_denied"
    assert (work / "secret" / "s.txt").read_text() == "s\n"
    assert (work / "a.py").read_text() == "one\ntwo\nthree\n"


@pytest.mark.requirement("roo:ignore")
async def test_the_ignore_file_can_take_paths_back_and_is_read_anew_for_every_call(
    session: Session, work: Path
) -> None:
    (work / ".rooignore").write_text("*.pem.*\n!open.pem.txt\n")
    await result(session, "write_to_file", path="open.pem.txt", content="x")
    await fault(session, "write_to_file", path="b.pem.txt", content="x")

    (work / ".rooignore").unlink()
    await result(session, "write_to_file", path="b.pem.txt", content="x")


@pytest.mark.requirement("roo:ignore")
async def test_an_ignore_file_that_cannot_be_read_closes_everything(
    session: Session, work: Path
) -> None:
    (work / ".rooignore").mkdir()

    for tool, more in (("read_file", {}), ("write_to_file", {"content": "x"})):
        assert (await fault(session, tool, path="a.py", **more)).code == "PERMISSION_DENIED"


@pytest.mark.requirement("roo:write")
@pytest.mark.parametrize("old", ["hi\r\n".encode("utf-16"), b"caf\xe9\r\n"], ids=["wide", "latin"])
async def test_a_file_that_was_no_utf8_is_rewritten_with_a_warning(
    session: Session, work: Path, old: bytes
) -> None:
    (work / "old").write_bytes(old)

    outcome = await session.call("write_to_file", WHY, path="old", content="a\nb")

    assert (work / "old").read_bytes() == b"a\nb"
    assert "the file was not UTF-8 text before; it is now" in outcome.warnings


@pytest.mark.requirement("roo:edit-family")
async def test_a_number_without_a_fraction_is_a_whole_number(session: Session, work: Path) -> None:
    wanted = {"old_string": "e", "new_string": "E", "expected_replacements": 3.0}

    await result(session, "edit_file", file_path="a.py", **wanted)

    assert (work / "a.py").read_bytes() == b"onE\ntwo\nthrEE\n"
