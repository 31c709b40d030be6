"""ochat's built-ins, called as a model calls them: through the gate, on real files."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.catalogs.calling import called, fault, result
from whence.catalogs import DEFAULT, load_catalog, load_catalogs
from whence.catalogs.chatmd import HELPERS
from whence.declare.toolbox import Toolbox
from whence.loop.agent_file import load_agent
from whence.loop.session import Session
from whence.shapes.policy import Policy, Quotas

CAP = 380_928
UNLIMITED = Policy(quotas=Quotas(repeats=None))

pytestmark = pytest.mark.anyio


@pytest.fixture
def work(tmp_path: Path) -> Path:
    here = tmp_path / "work"
    (here / "src").mkdir(parents=True)
    (here / "src" / "a.py").write_text("one\ntwo\nthree\n")
    return here


@pytest.fixture
def session(work: Path) -> Iterator[Session]:
    with Session(work, durable=False, policy=UNLIMITED) as opened:
        yield opened


def shape(schema: Any) -> Any:
    """Names, types, bounds and choices; not descriptions."""
    kept = ("type", "minimum", "enum", "items")
    return {
        name: {key: shape(value) if key == "items" else value for key, value in body.items()}
        if name == "items"
        else {key: value for key, value in body.items() if key in kept}
        for name, body in schema["properties"].items()
    }


STRING = {"type": "string"}
NUMBER = {"type": "integer", "minimum": 0}
SCHEMAS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "read_file": (
        {
            "file": STRING, "offset": NUMBER, "line_count": NUMBER,
            "root": {"type": "string", "enum": ["cwd"]},
        },
        ["file"],
    ),
    "read_directory": ({"path": STRING}, ["path"]),
    "append_to_file": ({"path": STRING, "content": STRING}, ["path", "content"]),
    "find_and_replace": (
        {"path": STRING, "find": STRING, "replace": STRING, "all": {"type": "boolean"}},
        ["path", "find", "replace", "all"],
    ),
    "apply_patch": ({"input": STRING}, ["input"]),
    "webpage_to_markdown": ({"url": STRING}, ["url"]),
    "import_image": ({"path": STRING}, ["path"]),
    "fork": (
        {"command": STRING, "arguments": {"type": "array", "items": STRING}},
        ["command", "arguments"],
    ),
}  # fmt: skip


@pytest.mark.requirement("ochat:schemas")
def test_names_and_schemas_are_those_of_the_table() -> None:
    catalog = {tool.name: tool for tool in load_catalog("chatmd")}

    assert set(catalog) == set(SCHEMAS)
    for name, (properties, required) in SCHEMAS.items():
        schema: Any = catalog[name].input_schema
        assert shape(schema) == properties, name
        assert sorted(schema["required"]) == sorted(required)
        assert schema["additionalProperties"] is False
        assert catalog[name].description


@pytest.mark.requirement("ochat:schemas")
def test_declaration_names_lead_to_the_names_that_models_see() -> None:
    names = Toolbox(load_catalog("chatmd")).names

    assert names.canonical("read_dir") == "read_directory"
    assert names.canonical("get_contents") == "read_file"


@pytest.mark.requirement("ochat:default")
def test_the_default_catalogs_share_no_name_and_no_alias() -> None:
    tools = load_catalogs()
    claimed = [name for tool in tools for name in (tool.name, *tool.aliases)]

    assert DEFAULT == ("chatmd", "moollm")
    assert len(claimed) == len(set(claimed))
    assert {name: Toolbox(tools).names.canonical(name) for name in claimed}.keys() == set(claimed)


@pytest.mark.requirement("ochat:default")
def test_a_name_without_a_catalog_means_the_one_of_chatmd(work: Path) -> None:
    file = work / "a.chatmd"
    file.write_text('<tool name="read_file"/>\n<tool name="fs.read"/>\n<user>hi</user>\n')

    resolved = load_agent(str(file), str(work)).resolved

    assert resolved.problems == ()
    assert [str(each) for each in resolved.bindings.values()] == [
        "Builtin(catalog='chatmd')", "Builtin(catalog='moollm')",
    ]  # fmt: skip


@pytest.mark.requirement("ochat:read-file")
@pytest.mark.parametrize(
    ("arguments", "span", "body"),
    [
        ({}, "1-3", "\none\ntwo\nthree"),
        ({"offset": 1}, "2-3", "\ntwo\nthree"),
        ({"offset": 1, "line_count": 1}, "2-2", "\ntwo"),
        ({"line_count": 2}, "1-2", "\none\ntwo"),
        ({"line_count": 99}, "1-3", "\none\ntwo\nthree"),
        ({"line_count": 0}, "1-1", ""),
        ({"offset": 3}, "4-4", ""),
        ({"offset": 3, "line_count": 2}, "4-4", ""),
        ({"offset": 50}, "51-51", ""),
        ({"offset": 50, "line_count": 2}, "2-3", "\ntwo\nthree"),
        ({"offset": None, "line_count": None, "root": None}, "1-3", "\none\ntwo\nthree"),
        ({"root": "cwd", "offset": 2}, "3-3", "\nthree"),
    ],
    ids=range(12),
)
async def test_lines_stand_under_a_header(
    session: Session, arguments: dict[str, Any], span: str, body: str
) -> None:
    shown = await result(session, "read_file", file="src/a.py", **arguments)

    assert shown == f"src/a.py:{span}:\n[total_lines=3]{body}"


@pytest.mark.requirement("ochat:read-file")
async def test_file_may_be_called_path_and_the_tool_get_contents(session: Session) -> None:
    shown = await result(session, "get_contents", path="src/a.py", line_count=1)

    assert shown == "src/a.py:1-1:\n[total_lines=3]\none"
    assert (await fault(session, "read_file", file="src/a.py", path="x")).code == "INVALID_ARGS"
    unknown = await fault(session, "read_file", pth="src/a.py")
    assert "'pth'" in unknown.message
    assert "file" in unknown.suggestion


@pytest.mark.requirement("ochat:read-file")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "[total_lines=0]"),
        (b"\n", "[total_lines=1]\n"),
        (b"a\r\nb\r\n", "[total_lines=2]\na\nb"),
        (b"\xef\xbb\xbfa\n", "[total_lines=1]\na"),
        ("é\u2028x\x0cy\x1b[31m\n".encode(), "[total_lines=1]\né\u2028x\x0cy\x1b[31m"),
    ],
    ids=["empty", "newline", "crlf", "bom", "unusual"],
)
async def test_text_is_shown_line_by_line(
    session: Session, work: Path, content: bytes, expected: str
) -> None:
    (work / "f").write_bytes(content)

    assert (await result(session, "read_file", file="f")).partition("\n")[2] == expected


@pytest.mark.requirement("ochat:read-cap")
async def test_a_long_file_ends_with_the_mark_and_can_be_read_on(
    session: Session, work: Path
) -> None:
    (work / "long").write_text("".join(f"{number:099}\n" for number in range(5000)))

    outcome = await called(session, "read_file", file="long")

    shown = str(outcome.result).split("\n")
    count = CAP // 100
    assert shown[0] == f"long:1-{count}:"
    assert shown[count + 1 :] == [
        f"{count - 1:099}", "", "---", "[File truncated]",
        f"[File truncated: {5000 - count} more lines not shown]",
    ]  # fmt: skip
    assert outcome.truncated
    assert f'{{"offset": {count}}}' in outcome.warnings[-1]
    rest = await result(session, "read_file", file="long", offset=count)
    assert rest.startswith(f"long:{count + 1}-5000:\n")
    assert "[File truncated" not in rest


@pytest.mark.requirement("ochat:read-cap")
async def test_a_line_that_is_too_long_is_shown_in_part(session: Session, work: Path) -> None:
    (work / "wide").write_text("ü" * 1_000_000 + "\nnext\n")

    outcome = await called(session, "read_file", file="wide")

    lines = str(outcome.result).split("\n")
    assert lines[2].strip("ü") == ""
    assert CAP - 2 <= len(lines[2].encode()) <= CAP
    assert lines[4:6] == ["---", "[File truncated]"]
    assert '{"offset": 1}' in outcome.warnings[-1]
    assert (await result(session, "read_file", file="wide", offset=1)).endswith("\nnext")


@pytest.mark.requirement("ochat:read-cap")
async def test_a_range_that_is_given_whole_has_no_mark(session: Session, work: Path) -> None:
    (work / "long").write_text("x" * 99 + "\n" + "y\n" * 400_000)

    outcome = await called(session, "read_file", file="long", line_count=10)

    assert not outcome.truncated
    assert "truncated" not in str(outcome.result)


@pytest.mark.requirement("ochat:read-binary")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"ab\0cd", "0x00"),
        (b"\x7fELF\x01\x02", "0x01"),
        (b"caf\xe9\n", "not valid UTF-8"),
        (b"\xff\xfea\0b\0", "UTF-16"),
        (b"\x89PNG\r\n\x1a\n" + b"text\n" * 5000, "0x1a"),
    ],
    ids=["nul", "control", "latin1", "utf16", "only-at-the-beginning"],
)
async def test_what_is_not_text_is_refused(
    session: Session, work: Path, content: bytes, said: str
) -> None:
    (work / "x").write_bytes(content)

    found = await fault(session, "read_file", file="x", offset=2000 if len(content) > 99 else 0)

    assert found.code == "INVALID_ARGS"
    assert found.message.startswith("Refusing to read binary file: x")
    assert said in found.message


async def test_what_cannot_be_read_says_why(session: Session, work: Path) -> None:
    os.mkfifo(work / "fifo")
    (work / "out").symlink_to("/etc/passwd")

    assert (await fault(session, "read_file", file="src/b.py")).code == "NOT_FOUND"
    assert "src/a.py" in (await fault(session, "read_file", file="src/b.py")).suggestion
    for wrong in ("src", "fifo"):
        assert (await fault(session, "read_file", file=wrong)).code == "INVALID_ARGS"
    for outside in ("out", "/etc/passwd", "../x"):
        assert (await fault(session, "read_file", file=outside)).code == "PERMISSION_DENIED"
    for bad in ({"offset": -1}, {"line_count": -1}, {"root": "docs"}, {"offset": 1.5}):
        arguments: dict[str, Any] = {"file": "src/a.py", **bad}
        assert (await fault(session, "read_file", **arguments)).code == "INVALID_ARGS"
    absolute = str(work / "src" / "a.py")
    relative = await fault(session, "read_file", file=absolute, root="cwd")
    assert "file must be relative when root is provided" in relative.message


@pytest.mark.requirement("ochat:read-any-size")
async def test_both_ends_of_a_two_gigabyte_file_are_read(session: Session, work: Path) -> None:
    with open(work / "huge.log", "wb") as file:
        file.write(b"first\nsecond\n")
        file.seek(2_000_000_000)
        file.write(b"\n" + b"".join(b"entry %d\n" % number for number in range(200)))

    head = await result(session, "read_file", file="huge.log", line_count=2)
    tail = await result(session, "read_file", file="huge.log", offset=2**53, line_count=100)

    assert head == "huge.log:1-2:\n[total_lines=unknown]\nfirst\nsecond"
    entries = "\n".join(f"entry {number}" for number in range(100, 200))
    assert tail == f"huge.log:last 100:\n[total_lines=unknown]\n{entries}"
    middle = await result(session, "read_file", file="huge.log", offset=3, line_count=1)
    assert middle.endswith("\nentry 0")


@pytest.mark.requirement("ochat:read-directory")
async def test_a_directory_is_listed_by_name(session: Session, work: Path) -> None:
    (work / ".hidden").touch()
    (work / "B").touch()

    assert await result(session, "read_dir", path=".") == ".agent\n.hidden\nB\nsrc"
    (work / "empty").mkdir()
    assert await result(session, "read_directory", path="empty") == ""
    assert (await fault(session, "read_directory", path="scr")).code == "NOT_FOUND"
    assert (await fault(session, "read_directory", path="src/a.py")).code == "INVALID_ARGS"


@pytest.mark.requirement("ochat:read-directory")
async def test_a_crowded_directory_is_cut_and_says_so(session: Session, work: Path) -> None:
    (work / "many").mkdir()
    for number in range(1200):
        (work / "many" / f"{number:04}").touch()

    outcome = await called(session, "read_directory", path="many")

    assert outcome.truncated
    assert str(outcome.result).split("\n")[-1] == "0999"
    assert "1200" in outcome.warnings[-1]


@pytest.mark.requirement("ochat:append")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"new\nlines"),
        (b"", b"new\nlines"),
        (b"a", b"a\nnew\nlines"),
        (b"a\n", b"a\n\nnew\nlines"),
        (b"a\r\nb\r\n", b"a\r\nb\r\n\r\nnew\r\nlines"),
        (b"a\r\nb\n", b"a\r\nb\n\nnew\nlines"),
    ],
    ids=["absent", "empty", "unfinished", "lf", "crlf", "mixed"],
)
async def test_text_is_appended_on_a_line_of_its_own(
    session: Session, work: Path, before: bytes | None, after: bytes
) -> None:
    if before is not None:
        (work / "n.txt").write_bytes(before)

    said = await result(session, "append_to_file", path="n.txt", content="new\nlines")

    assert said == "Content appended to n.txt successfully."
    assert (work / "n.txt").read_bytes() == after


@pytest.mark.requirement("ochat:append")
async def test_parents_are_made_and_the_journal_is_closed_to_appending(session: Session) -> None:
    await result(session, "append_to_file", path="a/b/c.txt", content="x")

    denied = await fault(session, "append_to_file", path=".agent/x", content="x")
    assert denied.code == "PERMISSION_DENIED"
    assert (await fault(session, "append_to_file", path="src", content="x")).code == "INVALID_ARGS"


@pytest.mark.requirement("ochat:replace")
async def test_the_only_occurrence_is_replaced(session: Session, work: Path) -> None:
    (work / "f").write_bytes(b"\xef\xbb\xbfone two\r\nthree\r\n")
    (work / "f").chmod(0o640)

    said = await result(
        session, "find_and_replace", path="f", find="two\nthree", replace="2\n3 $1 \\1", all=False
    )

    assert said == (
        "Replaced first occurrence of 'two\nthree' with '2\n3 $1 \\1' in f successfully."
    )
    assert (work / "f").read_bytes() == b"\xef\xbb\xbfone 2\r\n3 $1 \\1\r\n"
    assert (work / "f").stat().st_mode & 0o777 == 0o640


@pytest.mark.requirement("ochat:replace")
async def test_every_occurrence_is_replaced(session: Session, work: Path) -> None:
    (work / "f").write_text("aa a aaa\n")

    said = await result(session, "find_and_replace", path="f", find="aa", replace="b", all=True)

    assert said == "Replaced 'aa' with 'b' in f successfully."
    assert (work / "f").read_text() == "b a ba\n"


@pytest.mark.requirement("ochat:replace")
async def test_several_occurrences_and_none_are_errors_that_change_nothing(
    session: Session, work: Path
) -> None:
    (work / "f").write_text("x = 1\ny = 2\nx = 1\n")

    several = await fault(
        session, "find_and_replace", path="f", find="x = 1", replace="x = 3", all=False
    )
    none = await fault(
        session, "find_and_replace", path="f", find="x = 7", replace="x = 3", all=True
    )

    assert several.message == (
        "Error Found multiple occurrences of 'x = 1' in f, but all set to false. "
        "Use apply_patch instead."
    )
    assert several.details["lines"] == [1, 3]
    assert none.message == "No occurrences of 'x = 7' found in f."
    assert (several.code, none.code) == ("CONFLICT", "CONFLICT")
    assert (work / "f").read_text() == "x = 1\ny = 2\nx = 1\n"


@pytest.mark.requirement("ochat:replace")
@pytest.mark.parametrize(
    "arguments",
    [
        {"find": "", "replace": "x", "all": True},
        {"find": "one", "replace": "one", "all": True},
        {"find": "one", "replace": "x"},
        {"find": "one", "replace": "x", "all": "no"},
    ],
    ids=["nothing", "same", "all-is-missing", "all-is-text"],
)
async def test_a_senseless_replacement_is_refused(
    session: Session, arguments: dict[str, Any]
) -> None:
    found = await fault(session, "find_and_replace", path="src/a.py", **arguments)

    assert found.code == "INVALID_ARGS"


async def test_a_long_text_is_not_repeated_in_full(session: Session, work: Path) -> None:
    (work / "f").write_text("x" * 10_000)

    said = await result(
        session, "find_and_replace", path="f", find="x" * 9000, replace="y" * 9000, all=True
    )

    assert len(said) < 600


@pytest.mark.requirement("image:import")
async def test_a_picture_is_imported_whole_and_costs_the_turn_no_text(
    session: Session, work: Path
) -> None:
    noise = Image.effect_noise((900, 900), 90).convert("RGB")
    noise.save(work / "shot.bin", "PNG")
    data = (work / "shot.bin").read_bytes()
    assert len(data) > 300_000

    outcome = await called(session, "import_image", path="shot.bin")

    assert outcome.result == {
        "type": "image", "media_type": "image/png", "data": base64.b64encode(data).decode(),
    }  # fmt: skip
    assert not outcome.truncated
    (work / "long").write_text("x\n" * 150_000)
    assert "truncated" not in await result(session, "read_file", file="long")


@pytest.mark.requirement("image:import")
async def test_an_import_says_what_was_done_or_why_not(session: Session, work: Path) -> None:
    Image.new("RGB", (4000, 10)).save(work / "wide.png")

    outcome = await called(session, "import_image", path="wide.png")

    assert outcome.warnings == ("scaled from 4000×10 to 1568×4: wide.png",)
    missing = await fault(session, "import_image", path="none.png")
    assert (missing.code, missing.message) == (
        "NOT_FOUND", "Image file none.png does not exist.",
    )  # fmt: skip
    assert (await fault(session, "import_image", path="src/a.py")).code == "INVALID_ARGS"
    assert (await fault(session, "import_image", path="src")).code == "INVALID_ARGS"
    (work / "huge.png").touch()
    os.truncate(work / "huge.png", 10_000_000_000)
    assert (await fault(session, "import_image", path="huge.png")).code == "QUOTA_EXCEEDED"


@pytest.mark.requirement("image:message")
async def test_a_picture_in_a_message_is_checked_and_scaled(work: Path) -> None:
    from whence.loop.conversation import Reader
    from whence.shapes.item import Image as Shown
    from whence.shapes.item import Inline, Message

    Image.new("RGB", (3136, 20)).save(work / "wide.jpg", "PNG")
    (work / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n not really")
    file = work / "a.chatmd"
    file.write_text('<user>See <img src="wide.jpg" local/> <img src="bad.png" local/></user>\n')

    reader = Reader(load_agent(str(file), str(work)), str(work))
    (message,) = reader.items()

    assert isinstance(message, Message)
    (picture,) = [part for part in message.parts if isinstance(part, Shown)]
    assert isinstance(picture.source, Inline)
    assert picture.source.media_type == "image/png"
    assert Image.open(io.BytesIO(base64.b64decode(picture.source.data))).size == (1568, 10)
    assert "bad.png" in reader.notes[0]


@pytest.mark.requirement("ochat:helpers")
async def test_helpers_can_be_mounted_by_a_program_only(work: Path) -> None:
    with Session(work, HELPERS, durable=False) as session:
        said = await result(session, "mkdir", path="a/b")
        numbered = await result(session, "add_line_numbers", text="x\n\ny")

    assert said == "Directory a/b created successfully."
    assert (work / "a" / "b").is_dir()
    assert numbered == "1. x\n2. \n3. y"
    mountable = {name for tool in load_catalogs() for name in (tool.name, *tool.aliases)}
    assert mountable.isdisjoint(tool.name for tool in HELPERS)


async def test_fork_is_declared_and_needs_a_run(session: Session) -> None:
    found = await fault(session, "fork", command="count", arguments=[])

    assert found.code == "UNAVAILABLE"
    assert "whence run" in found.suggestion


@pytest.mark.requirement("ochat:append")
@pytest.mark.parametrize(
    "content", ["hi\n".encode("utf-16"), "hi\n".encode("utf-16-le"), b"\x00\x01"], ids=range(3)
)
@pytest.mark.parametrize("tool", ["append_to_file", "fs.append"])
async def test_text_is_not_added_to_what_is_no_utf8(
    session: Session, work: Path, tool: str, content: bytes
) -> None:
    (work / "wide").write_bytes(content)

    name = "content" if tool == "append_to_file" else "text"
    found = await fault(session, tool, path="wide", **{name: "more"})

    assert found.code == "INVALID_ARGS"
    assert (work / "wide").read_bytes() == content


@pytest.mark.requirement("ochat:append")
async def test_a_log_that_begins_with_a_hole_can_be_added_to(session: Session, work: Path) -> None:
    (work / "log").write_bytes(b"\0" * 4096 + b"one\n" * 100)

    await result(session, "fs.append", path="log", text="two\n")

    assert (work / "log").read_bytes().endswith(b"one\ntwo\n")


@pytest.mark.requirement("ochat:read-directory")
async def test_a_name_with_a_line_end_is_shown_quoted_in_one_line(
    session: Session, work: Path
) -> None:
    (work / 'two\nlines "x".txt').write_text("text\n")
    (work / 'it\'s "plain"').write_text("")

    listed = await result(session, "read_directory", path=".")
    page = await result(session, "read_file", file='two\nlines "x".txt')

    quoted = '"two\\nlines \\"x\\".txt"'
    assert listed.split("\n")[1:] == ['it\'s "plain"', "src", quoted]
    assert page.split("\n") == [f"{quoted}:1-1:", "[total_lines=1]", "text"]


@pytest.mark.requirement("ochat:read-cap")
async def test_a_line_that_is_too_long_is_told_apart_from_lines_that_follow(
    session: Session, work: Path
) -> None:
    (work / "long").write_text("x" * (CAP + 1) + "\nnext\n")

    outcome = await called(session, "read_file", file="long")

    (warning,) = outcome.warnings
    assert "line 1 is cut after 380928 bytes" in warning
    assert '{"offset": 1}' in warning


async def test_a_missing_file_is_not_mistaken_for_a_letter_of_its_name(
    session: Session, work: Path
) -> None:
    (work / "e").write_text("")
    (work / "names.md").write_text("")

    assert "mean" not in (await fault(session, "read_file", file="zebra")).suggestion
    assert "names.md" in (await fault(session, "read_file", file="name.md")).suggestion
