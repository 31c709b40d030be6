"""Roo's tools that read, list and search, called through the gate on real files."""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs.calling import WHY, called, fault, result
from tests.work.office_files import docx, paragraph, xlsx
from tests.work.web.test_web_pdf import pdf
from whence.catalogs import load_catalog, load_catalogs
from whence.catalogs.roo import tools
from whence.declare.toolbox import Toolbox
from whence.gate.mode import group_of
from whence.loop.agent_file import load_agent
from whence.loop.session import Session
from whence.provider.xml import definitions_of, read_text
from whence.shapes.item import ToolCall

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


def shape(schema: Any) -> Any:
    """Names, types, choices and what is required."""
    if "anyOf" in schema:
        (schema,) = [kind for kind in schema["anyOf"] if kind != {"type": "null"}]
    kind: dict[str, Any] = (
        {"enum": schema["enum"]} if "enum" in schema else {"type": schema["type"]}
    )
    if "items" in schema:
        kind["items"] = shape(schema["items"])
    if "properties" in schema:
        required = schema.get("required", [])
        kind["properties"] = {
            name + "!" * (name in required): shape(value)
            for name, value in schema["properties"].items()
        }
    return kind


TEXT, YES, NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
PAIR = {"type": "array", "items": {"type": "array", "items": NUMBER}}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "apply_diff": {"path!": TEXT, "diff!": TEXT},
    "apply_patch": {"patch!": TEXT},
    "list_files": {"path!": TEXT, "recursive!": YES},
    "read_file": {
        "path": TEXT,
        "mode": {"enum": ["indentation", "slice"]},
        "offset": NUMBER,
        "limit": NUMBER,
        "indentation": {
            "type": "object",
            "properties": {
                "anchor_line": NUMBER, "max_levels": NUMBER, "include_siblings": YES,
                "include_header": YES, "max_lines": NUMBER,
            },
        },
        "files": {
            "type": "array",
            "items": {"type": "object", "properties": {"path!": TEXT, "line_ranges": PAIR}},
        },
    },
    "search_and_replace": {
        "path!": TEXT,
        "operations!": {
            "type": "array",
            "items": {"type": "object", "properties": {"search!": TEXT, "replace!": TEXT}},
        },
    },
    "search_replace": {"file_path!": TEXT, "old_string!": TEXT, "new_string!": TEXT},
    "edit_file": {
        "file_path!": TEXT, "old_string!": TEXT, "new_string!": TEXT,
        "expected_replacements": NUMBER,
    },
    "edit": {"file_path!": TEXT, "old_string!": TEXT, "new_string!": TEXT, "replace_all": YES},
    "search_files": {"path!": TEXT, "regex!": TEXT, "file_pattern": TEXT},
    "write_to_file": {"path!": TEXT, "content!": TEXT},
    "execute_command": {"command!": TEXT, "cwd": TEXT, "timeout": {"type": "number"}},
    "read_command_output": {
        "artifact_id!": TEXT, "search": TEXT, "offset": NUMBER, "limit": NUMBER,
        "end": {"type": "boolean"},  # ours: Roo's user ends a command, here the model can
    },
}  # fmt: skip
GROUPS = {
    "list_files": "read", "read_file": "read", "search_files": "read",
    "execute_command": "command", "read_command_output": None,
}  # fmt: skip


@pytest.mark.requirement("roo:schemas")
async def test_names_arguments_and_groups_are_those_of_roo() -> None:
    catalog = load_catalog("roo")

    assert [tool.name for tool in catalog] == list(ARGUMENTS)
    for tool in catalog:
        assert shape(tool.input_schema)["properties"] == ARGUMENTS[tool.name], tool.name
        assert tool.input_schema["additionalProperties"] is False
        assert group_of(tool) == GROUPS.get(tool.name, "edit")
    assert next(tool for tool in catalog if tool.name == "write_to_file").aliases == ("write_file",)


@pytest.mark.requirement("roo:declare")
async def test_an_agent_file_mounts_the_catalog_and_the_default_toolbox_stays_whole(
    tmp_path: Path,
) -> None:
    file = tmp_path / "agent.chatmd"
    file.write_text('<tool catalog="roo" name="apply_diff"/>\n<tool catalog="roo" name="edit"/>\n')
    several = tmp_path / "several.chatmd"
    several.write_text('<tool catalog="roo"/>\n')
    bare = tmp_path / "bare.chatmd"
    bare.write_text('<tool name="apply_diff"/>\n')

    agent = load_agent(str(file), str(tmp_path))
    assert not agent.has_errors
    assert [tool.name for tool in agent.resolved.tools] == ["apply_diff", "edit"]
    assert len(load_agent(str(several), str(tmp_path)).resolved.tools) == len(ARGUMENTS)
    problems = load_agent(str(bare), str(tmp_path)).problems()
    assert 'catalog="roo"' in problems[0].diagnostic.suggestion
    assert not {"apply_diff", "list_files"} & {tool.name for tool in Toolbox(load_catalogs())}


@pytest.mark.requirement("roo:read")
async def test_a_file_comes_with_aligned_numbers_and_no_phantom_line(
    session: Session, work: Path
) -> None:
    (work / "ten").write_bytes(b"\xef\xbb\xbf" + b"x\r\n" * 9 + b"y")

    assert await result(session, "read_file", path="a.py") == (
        "File: a.py\n1 | one\n2 | two\n3 | three"
    )
    ten = await result(session, "read_file", path="ten")
    assert ten.split("\n")[1] == " 1 | x"
    assert ten.split("\n")[-1] == "10 | y"


@pytest.mark.requirement("roo:read")
async def test_a_slice_says_where_to_go_on(session: Session, work: Path) -> None:
    (work / "long").write_text("".join(f"line {n}\n" for n in range(1, 2501)))

    outcome = await session.call("read_file", WHY, path="long")
    assert outcome.truncated
    text = str(outcome.result)
    assert "Status: Showing lines 1-2000 of 2500 total lines." in text
    assert "offset=2001 and limit=2000" in text
    assert text.endswith("2000 | line 2000")

    rest = await session.call("read_file", WHY, path="long", mode="slice", offset=2001)
    assert not rest.truncated
    assert str(rest.result).startswith("File: long\n2001 | line 2001\n")
    few = await result(session, "read_file", path="long", offset=5, limit=2)
    assert few.endswith("5 | line 5\n6 | line 6")
    assert "Showing lines 5-6 of 2500" in few


@pytest.mark.requirement("roo:read")
async def test_empty_past_the_end_and_wrong_lines_are_told_apart(
    session: Session, work: Path
) -> None:
    (work / "empty").touch()
    (work / "blank").write_text("\n")

    assert await result(session, "read_file", path="empty") == "File: empty\nNote: File is empty"
    assert await result(session, "read_file", path="blank") == "File: blank\n1 | "
    past = await fault(session, "read_file", path="a.py", offset=4)
    assert (past.code, "3 lines" in past.message) == ("INVALID_ARGS", True)
    for wrong in (0, -1):
        found = await fault(session, "read_file", path="a.py", offset=wrong)
        assert "counted from 1" in found.message
    anchor = {"anchor_line": 9}
    found = await fault(session, "read_file", path="a.py", mode="indentation", indentation=anchor)
    assert "9 is out of range" in found.message


@pytest.mark.requirement("roo:read")
async def test_a_long_line_and_a_long_answer_are_cut_where_they_say(
    session: Session, work: Path
) -> None:
    (work / "wide").write_text("x" * 5000 + "\n" + "y" * 1500 + "\n" * 2)
    (work / "much").write_text("".join(f"{n} " + "x" * 1000 + "\n" for n in range(1, 301)))

    wide = await result(session, "read_file", path="wide")
    assert wide.split("\n")[1] == "1 | " + "x" * 1997 + "..."
    outcome = await session.call("read_file", WHY, path="much")
    text = str(outcome.result)
    assert outcome.truncated
    assert len(text) < 100_000
    last = int(text.rsplit("\n", 1)[1].partition("|")[0])
    assert f"Showing lines 1-{last} of 300" in text
    assert f"offset={last + 1} " in text


@pytest.mark.requirement("roo:read")
async def test_several_files_come_with_their_ranges_and_their_own_errors(
    session: Session, work: Path
) -> None:
    (work / "b.txt").write_text("".join(f"{n}\n" for n in range(1, 21)))

    text = await result(
        session,
        "read_file",
        files=[
            {"path": "a.py", "line_ranges": None},
            {"path": "b.txt", "line_ranges": [[2, 3], [19, 99]]},
            {"path": "no.py"},
        ],
    )

    first, second, third = text.split("\n\n---\n\n")
    assert first == "File: a.py\nLines 1-3:\n1 | one\n2 | two\n3 | three"
    assert second == "File: b.txt\nLines 2-3:\n2 | 2\n3 | 3\n\nLines 19-20:\n19 | 19\n20 | 20"
    assert third.startswith("File: no.py\nError: no such file")
    for ranges in ([[3, 2]], [[0, 2]]):
        found = await fault(session, "read_file", files=[{"path": "a.py", "line_ranges": ranges}])
        assert (found.code, "no range" in found.message) == ("INVALID_ARGS", True)


@pytest.mark.requirement("roo:read:options")
async def test_options_limit_files_and_partial_reads(work: Path) -> None:
    (one, *_) = (
        tool for tool in tools(partial_reads=False, most_files=2) if tool.name == "read_file"
    )

    assert shape(one.input_schema)["properties"] == {
        "path": TEXT,
        "files": {"type": "array", "items": {"type": "object", "properties": {"path!": TEXT}}},
    }
    with Session(work, [one], durable=False) as session:
        many = await fault(session, "read_file", files=[{"path": "a.py"}] * 3)
        none = await fault(session, "read_file")
        both = await fault(session, "read_file", path="a.py", files=[{"path": "a.py"}])
        assert "one" in await result(session, "read_file", path="a.py")
    assert "3 files" in many.message
    assert "batches of 2" in many.suggestion
    assert (none.code, both.code) == ("INVALID_ARGS", "INVALID_ARGS")


@pytest.mark.requirement("roo:read")
async def test_every_path_of_a_call_passes_the_gate(session: Session, work: Path) -> None:
    (work / ".env").write_text("SECRET=1\n")

    for path in ("../outside", "/etc/passwd", ".env"):
        found = await fault(session, "read_file", files=[{"path": "a.py"}, {"path": path}])
        assert found.code == "PERMISSION_DENIED"


@pytest.mark.requirement("roo:read")
async def test_a_block_is_read_by_its_indentation(session: Session, work: Path) -> None:
    (work / "c.py").write_text(
        "import os\n\n\ndef a():\n    b()\n    c()\n\n\ndef d():\n    pass\n"
    )

    text = await result(
        session, "read_file", path="c.py", mode="indentation", indentation={"anchor_line": 5}
    )
    only = await result(
        session, "read_file", path="c.py", mode="indentation", offset=6,
        indentation={"include_header": False, "max_lines": 2, "anchor_line": None},
    )  # fmt: skip

    assert text == (
        "File: c.py\nIncluded ranges: 1-1, 4-6 (total: 10 lines)\n\n"
        "1 | import os\n...\n4 | def a():\n5 |     b()\n6 |     c()"
    )
    assert only.endswith("5 |     b()\n6 |     c()")


@pytest.mark.requirement("roo:read")
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("binary", b"\x7fELF\0\0", "binary"),
        ("wide.txt", b"\xff\xfea\0", "UTF-16"),
        ("folder", None, "directory"),
    ],
)
async def test_what_is_no_text_is_refused(
    session: Session, work: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is None:
        (work / name).mkdir()
    else:
        (work / name).write_bytes(content)

    found = await fault(session, "read_file", path=name)

    assert (found.code, said in found.message) == ("INVALID_ARGS", True)


@pytest.mark.requirement("roo:read:documents")
async def test_documents_are_read_as_text_with_numbered_lines(session: Session, work: Path) -> None:
    (work / "a.docx").write_bytes(docx("".join(paragraph(word) for word in "abcd")))
    (work / "B.XLSX").write_bytes(xlsx('<row><c r="B1"><v>7</v></c></row>'))
    (work / "c.pdf").write_bytes(pdf("Hello", "World"))

    some = await result(session, "read_file", path="a.docx", offset=2, limit=2)
    ranges = await result(
        session, "read_file", files=[{"path": "a.docx", "line_ranges": [[1, 1], [3, 9]]}]
    )
    cells = await called(session, "read_file", path="B.XLSX")
    pages = await result(session, "read_file", path="c.pdf")

    assert some.startswith("File: a.docx\nNote: ")
    assert "Showing lines 2-3 of 4" in some
    assert some.endswith("2 | b\n3 | c")
    assert ranges.endswith("Lines 1-1:\n1 | a\n\nLines 3-4:\n3 | c\n4 | d")
    assert str(cells.result).endswith("1 | ## One\n2 | \t7")
    assert cells.warnings == ("hidden sheets were left out: 'Two'",)
    assert "3 | Hello" in pages
    assert "7 | World" in pages


@pytest.mark.requirement("roo:read:documents")
@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("a.docx", b"PK\3\4", "EXECUTION_FAILED", "damaged"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "INVALID_ARGS", "password"),
        ("a.pdf", b"%PDF-1.4\n", "EXECUTION_FAILED", "damaged"),
        ("a.docx", None, "NOT_FOUND", "no such file"),
    ],
    ids=["broken", "encrypted", "broken PDF", "missing"],
)
async def test_a_document_that_cannot_be_read_is_named(
    session: Session, work: Path, name: str, content: bytes | None, code: str, said: str
) -> None:
    if content is not None:
        (work / name).write_bytes(content)

    found = await fault(session, "read_file", path=name)

    assert found.code == code
    assert name in found.message
    assert said in found.message


@pytest.mark.requirement("roo:read:documents")
async def test_lines_that_a_document_does_not_have_are_refused(
    session: Session, work: Path
) -> None:
    (work / "a.docx").write_bytes(docx(paragraph("a")))
    (work / "empty.docx").write_bytes(docx(""))

    beyond = await fault(session, "read_file", path="a.docx", offset=2)
    empty = await result(session, "read_file", path="empty.docx")

    assert (beyond.code, "has 1 lines" in beyond.message) == ("INVALID_ARGS", True)
    assert empty.endswith("Note: File is empty")


@pytest.mark.requirement("roo:read")
async def test_bytes_that_are_not_utf8_are_shown_as_such(session: Session, work: Path) -> None:
    (work / "latin").write_bytes(b"caf\xe9\n")

    assert (await result(session, "read_file", path="latin")).endswith("1 | caf\ufffd")


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0")
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


@pytest.mark.requirement("roo:read:options")
async def test_pictures_are_shown_where_the_option_says_so(session: Session, work: Path) -> None:
    (work / "red.png").write_bytes(png())
    (work / "fake.png").write_text("words")

    assert "not shown" in await result(session, "read_file", path="red.png")
    with Session(work, tools(images=True), durable=False) as seeing:
        text, picture = await result(seeing, "read_file", path="red.png")
        fake = await fault(seeing, "read_file", path="fake.png")
    assert text.startswith("File: red.png\nNote: Image file (")
    assert (picture["type"], picture["media_type"]) == ("image", "image/png")
    assert fake.code == "INVALID_ARGS"


async def listed(session: Session, path: str = ".", *, recursive: bool = True) -> list[str]:
    text: str = await result(session, "list_files", path=path, recursive=recursive)
    return text.split("\n")


@pytest.mark.requirement("roo:list")
async def test_a_listing_leaves_out_what_git_and_habit_leave_out(
    session: Session, work: Path
) -> None:
    for name in (
        "src/a10.py", "src/a9.py", "src/gen/x.py", "src/.deep/y", ".github/w.yml", ".git/HEAD",
        "node_modules/m.js", "src/node_modules/n.js", "build/dependencies/d", "build/keep", "x.log",
        "src/x.log", ".hidden",
    ):  # fmt: skip
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    (work / ".gitignore").write_text("*.log\n/src/gen/\n")

    assert await listed(session) == [
        ".agent/", ".github/", ".gitignore", ".hidden", "a.py", "build/", "build/keep",
        "src/", "src/a9.py", "src/a10.py",
    ]  # fmt: skip
    assert await listed(session, recursive=False) == [
        ".agent/", ".github/", ".gitignore", ".hidden", "a.py", "build/", "src/",
    ]  # fmt: skip
    assert await listed(session, "node_modules") == ["m.js"]
    assert await listed(session, ".github") == ["w.yml"]
    assert await listed(session, "src/gen") == ["x.py"]
    assert await listed(session, "src", recursive=False) == [".deep/", "a9.py", "a10.py"]


@pytest.mark.requirement("roo:list")
async def test_a_long_listing_is_cut_and_keeps_the_directories_of_the_first_level(
    session: Session, work: Path
) -> None:
    for number in range(30):
        (work / f"d{number}" / "sub").mkdir(parents=True)
        for name in range(20):
            (work / f"d{number}" / f"f{name}").touch()

    outcome = await session.call("list_files", WHY, path=".", recursive=True)

    assert outcome.truncated
    lines = str(outcome.result).split("\n")
    assert lines[-1].startswith("(File list truncated.")
    assert len(lines) == 202
    assert {f"d{number}/" for number in range(30)} <= set(lines)
    assert lines.index("d9/") < lines.index("d10/")


@pytest.mark.requirement("roo:list")
async def test_an_empty_and_a_missing_directory_are_told_apart(
    session: Session, work: Path
) -> None:
    (work / "empty").mkdir()

    assert await listed(session, "empty") == ["No files found."]
    assert (await fault(session, "list_files", path="emty", recursive=False)).code == "NOT_FOUND"
    assert (await fault(session, "list_files", path="a.py", recursive=True)).code == "INVALID_ARGS"


@pytest.mark.requirement("roo:ignore")
async def test_a_listing_shows_what_is_ignored_as_locked(session: Session, work: Path) -> None:
    (work / ".rooignore").write_text("secret/\n*.key\n")
    (work / "secret").mkdir()
    (work / "secret" / "s").touch()
    (work / "x.key").touch()

    assert await listed(session) == [".agent/", "🔒 .rooignore", "a.py", "🔒 secret/", "🔒 x.key"]


@pytest.fixture(params=["rg", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setenv("PATH", "/nonexistent")
    elif shutil.which("rg") is None:
        pytest.skip("rg is not installed")
    return str(request.param)


@pytest.mark.requirement("roo:search")
@pytest.mark.usefixtures("engine")
async def test_hits_come_in_groups_with_a_line_around_them(session: Session, work: Path) -> None:
    (work / "b.txt").write_text("".join(f"{n}\n" for n in range(1, 21)).replace("12", "x" * 600))

    text = await result(session, "search_files", path=".", regex="^(t|5$|6$|10$|x)")

    assert text == (
        "Found 3 results.\n\n"
        "# a.py\n  1 | one\n  2 | two\n  3 | three\n----\n\n"
        "# b.txt\n  4 | 4\n  5 | 5\n  6 | 6\n  7 | 7\n----\n"
        "  9 | 9\n 10 | 10\n 11 | 11\n 12 | " + "x" * 500 + " [truncated...]\n 13 | 13\n----"
    )
    assert (await result(session, "search_files", path="a.py", regex="two")).startswith(
        "Found 1 result."
    )


@pytest.mark.requirement("roo:search")
@pytest.mark.usefixtures("engine")
async def test_a_pattern_narrows_and_a_wrong_expression_is_no_empty_result(
    session: Session,
) -> None:
    nothing = await result(session, "search_files", path=".", regex="two", file_pattern="*.md")

    assert nothing == "No results found"
    assert "two" in await result(session, "search_files", path=".", regex="two", file_pattern=None)
    assert (await fault(session, "search_files", path=".", regex="(")).code == "INVALID_ARGS"
    assert (await fault(session, "search_files", path="nowhere", regex="x")).code == "NOT_FOUND"


@pytest.mark.requirement("roo:search")
@pytest.mark.usefixtures("engine")
async def test_many_results_are_cut_and_say_so(session: Session, work: Path) -> None:
    (work / "many").write_text("x\n\n\n\n" * 400)

    outcome = await session.call("search_files", WHY, path="many", regex="x")

    assert outcome.truncated
    assert str(outcome.result).startswith("Showing first 300 of 300+ results.")


@pytest.mark.requirement("roo:ignore")
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("rules", ["secret/\n*.key\n", "secret/\n*.key\n!open.key\n", "[sx]*\n"])
async def test_a_search_does_not_show_what_is_ignored(
    session: Session, work: Path, rules: str
) -> None:
    (work / ".rooignore").write_text(rules)
    (work / "secret").mkdir()
    for name in ("secret/two", "x.key", "open.txt"):
        (work / name).write_text("two\n")

    text = await result(session, "search_files", path=".", regex="two")

    assert [line for line in text.split("\n") if line[:1] == "#"] == ["# a.py", "# open.txt"]


@pytest.mark.requirement("roo:read")
async def test_bytes_that_are_no_utf8_are_shown_with_a_warning(
    session: Session, work: Path
) -> None:
    (work / "latin").write_bytes(b"one\ncaf\xe9\n")
    (work / "marked").write_text("a \ufffd of its own\n", "utf-8")

    damaged = await session.call("read_file", WHY, path="latin")
    sound = await session.call("read_file", WHY, path="marked")

    assert damaged.result == "File: latin\n1 | one\n2 | caf\ufffd"
    assert damaged.warnings == ("latin is not valid UTF-8; \ufffd stands for other bytes",)
    assert sound.warnings == ()


@pytest.mark.requirement("roo:list")
async def test_names_with_line_ends_stay_in_one_line(session: Session, work: Path) -> None:
    (work / "two\nlines").write_text("hit\n")

    listed = await result(session, "list_files", path=".", recursive=False)
    found = await result(session, "search_files", path=".", regex="hit")

    assert '"two\\nlines"' in listed.split("\n")
    assert '# "two\\nlines"' in found.split("\n")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "<args>\n<file>\n<path>a&amp;b</path>\n<line_range>1-50</line_range>\n"  # noqa: ISC004
            "<line_range>60 - 70</line_range>\n</file>\n<file><path>b</path></file>\n</args>",
            {"files": [{"path": "a&b", "line_ranges": [[1, 50], [60, 70]]}, {"path": "b"}]},
        ),
        (
            "<path>a.ts</path><start_line>5</start_line><end_line>9</end_line>",
            {"path": "a.ts", "offset": 5, "limit": 5},
        ),
        ("<path>a.ts</path><end_line>9</end_line>", {"path": "a.ts", "offset": 1, "limit": 9}),
        ("<path>a.ts</path><start_line>5</start_line>", {"path": "a.ts", "offset": 5}),
        ("<path>a.ts</path><limit>5</limit>", {"path": "a.ts", "limit": 5}),
        ("<path>a</path><start_line>x</start_line>", {"path": "a", "start_line": "x"}),
        ("<args>nothing</args>", {"args": "nothing"}),
    ],
    ids=["several", "lines", "to a line", "from a line", "today", "no number", "no file"],
)
def test_a_call_in_words_may_have_the_older_form(call: str, expected: dict[str, Any]) -> None:
    words = f"<read_file>\n<why>See how it starts</why>\n{call}\n</read_file>"

    (made,) = read_text(words, definitions_of(Toolbox(load_catalog("roo"))))

    assert isinstance(made, ToolCall)
    assert made.arguments == {"why": "See how it starts", **expected}
