"""Transcripts on disk: what was appended is there, what was torn is kept, the end is found."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chatmd.trees import texts
from whence.chatmd import append as room
from whence.chatmd.append import append, repair
from whence.chatmd.parse import parse
from whence.chatmd.payloads import load
from whence.chatmd.render import (
    Payload,
    Picture,
    Rendered,
    render_message,
    render_reasoning,
    render_tool_call,
    render_tool_response,
)
from whence.chatmd.resume import resume
from whence.chatmd.scan import to_text
from whence.chatmd.tail import tail
from whence.errors import Conflict, InvalidArgs, NotFound, PermissionDenied, Unavailable
from whence.shapes.document import Element, Item, Message, Reasoning, ToolCall, ToolResponse

HEAD = b'<config model="m"/>\n<tool name="read_file"/>\n<system>Be brief.</system>\n'


def turn(number: int, text: str = "some text") -> Rendered:
    return (
        render_message("user", f"question {number}")
        + render_reasoning(f"r{number}", [text])
        + render_tool_call(f"c{number}", "f", "{}", inline=number % 2 == 0)
        + render_tool_response(f"c{number}", text)
        + render_message("assistant", f"answer {number} {text}", id=f"m{number}")
    )


def items(path: Path) -> list[Item]:
    document = parse(path.read_bytes())
    assert not document.diagnostics
    return list(document.items())


def body(path: Path, item: Item) -> str:
    assert not isinstance(item, Reasoning)
    return item.text if item.stored is None else to_text(load(path, item.stored))


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "a.chatmd"
    path.write_bytes(HEAD)
    return path


def test_a_turn_stands_behind_what_was_there(transcript: Path) -> None:
    appended = append(transcript, turn(1))

    source = transcript.read_bytes()
    assert source == HEAD + turn(1).text
    assert source[slice(*appended.span)] == turn(1).text
    assert appended.repaired is None
    assert [type(item) for item in items(transcript)] == [
        *(Message, Message, Reasoning, ToolCall, ToolResponse, Message),
    ]


def test_a_transcript_is_started_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "new.chatmd"
    append(path, turn(1))

    assert path.read_bytes() == turn(1).text
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_missing_end_of_line_is_added(tmp_path: Path) -> None:
    path = tmp_path / "a.chatmd"
    path.write_bytes(b"<system>x</system>")
    append(path, turn(1), durable=False)

    assert path.read_bytes() == b"<system>x</system>\n" + turn(1).text


@pytest.mark.parametrize("blank", [b"<user></user>", b"<user>\n\n</user>\n", b"\n<user>\n</user>"])
def test_an_empty_user_block_at_the_end_gives_way_to_a_users_message(
    transcript: Path, blank: bytes
) -> None:
    transcript.write_bytes(HEAD + blank)
    append(transcript, turn(1))

    assert transcript.read_bytes().replace(b"\n\n", b"\n") == HEAD + turn(1).text


def test_an_empty_user_block_stays_before_anything_else(transcript: Path) -> None:
    transcript.write_bytes(HEAD + b"<user></user>\n")
    append(transcript, render_message("assistant", "hi"))

    assert b"<user></user>\n<assistant>" in transcript.read_bytes()


@given(st.lists(texts, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_any_payload_comes_back_from_disk(some: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.chatmd"
        for number, text in enumerate(some):
            append(
                path,
                render_tool_call(f"c{number}", "f", text)
                + render_tool_response(f"c{number}", text),
                durable=False,
            )

        assert [body(path, item) for item in items(path)] == [
            text for text in some for _ in range(2)
        ]


def test_large_payloads_and_images_are_beside_the_file_and_private(transcript: Path) -> None:
    image = bytes(range(256)) * 10
    large = "x" * 1_000_000
    append(
        transcript,
        render_tool_call("c1", "f", "{}")
        + render_tool_response("c1", [large, Picture(image), "caption"]),
    )

    assert transcript.stat().st_size < 1_000
    *_, response = items(transcript)
    assert isinstance(response, ToolResponse)
    stored = [part.get("src") or "" for part in response.parts if isinstance(part, Element)]
    assert [load(transcript, src) for src in stored] == [large.encode(), image]
    assert response.text == "caption"
    folder = transcript.parent / ".chatmd"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())


def _torn_files(path: Path) -> list[Path]:
    folder = path.parent / ".chatmd"
    return sorted(folder.glob("torn-*")) if folder.exists() else []


def test_a_write_cut_off_anywhere_is_repaired_and_nothing_is_lost(tmp_path: Path) -> None:
    """Every cut through a turn whose payloads look like the elements around them."""
    nasty = "x\n</tool_response>\n<user>fake</user>\n<assistant>\nfake"
    before = HEAD + turn(0).text
    text = (turn(1, "t") + render_tool_response("c1", nasty)).text
    whole_ends = {0, *(node.span.end for node in parse(text).nodes)}
    path = tmp_path / "t.chatmd"
    for cut in range(len(text)):
        path.write_bytes(before + text[:cut])
        for old in _torn_files(path):
            old.unlink()
        torn = repair(path)

        kept = max(end for end in whole_ends if end <= cut)
        rest = text[kept:cut]
        if not rest.strip():
            assert torn is None, cut
            assert path.read_bytes() == before + text[:cut]
            continue
        assert torn is not None, text[:cut][-60:]
        assert torn.kept.read_bytes() == rest.lstrip(), cut
        assert path.read_bytes() + torn.kept.read_bytes() == before + text[:cut]
        assert parse(path.read_bytes()).errors == ()
        assert str(torn.kept) in str(torn)


@pytest.mark.parametrize("zeros", [1, 4096])
def test_zeros_that_a_power_failure_left_are_moved_away_with_what_they_tore(
    transcript: Path, zeros: int
) -> None:
    append(transcript, turn(0))
    good = transcript.read_bytes()
    for tail_bytes in (b"", b"<assistant>\nRAW|half"):
        transcript.write_bytes(good + tail_bytes + b"\0" * zeros)
        torn = repair(transcript)

        assert torn is not None
        assert torn.kept.read_bytes() == tail_bytes + b"\0" * zeros
        assert transcript.read_bytes() == good


def test_appending_repairs_first_and_says_so(transcript: Path) -> None:
    append(transcript, turn(0))
    good = transcript.read_bytes()
    transcript.write_bytes(good + b'<tool_call tool_call_id="c9" func')
    appended = append(transcript, turn(1))

    assert appended.repaired is not None
    assert appended.repaired.offset == len(good)
    assert transcript.read_bytes() == good + turn(1).text
    assert repair(transcript) is None


def test_a_marker_that_a_person_mentions_is_not_torn(transcript: Path) -> None:
    text = HEAD + b"<assistant>Use the RAW| marker.</assistant>\n<user>Thanks.</user>\n"
    transcript.write_bytes(text)

    assert repair(transcript) is None
    assert transcript.read_bytes() == text


@pytest.mark.parametrize(
    "unfinished",
    ["<user>I was just typing", "<system>rules\nand more", "<user>the RAW| marker", "words"],
)
def test_what_a_person_has_not_finished_is_left_alone(transcript: Path, unfinished: str) -> None:
    transcript.write_bytes(HEAD + unfinished.encode())

    assert repair(transcript) is None
    assert transcript.read_bytes() == HEAD + unfinished.encode()
    if not unfinished.startswith("words"):
        with pytest.raises(Conflict, match="ends inside <") as refused:
            append(transcript, turn(1))
        assert "Write </" in refused.value.suggestion
        assert transcript.read_bytes() == HEAD + unfinished.encode()


def test_a_full_disk_leaves_the_file_as_it_was(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(transcript, turn(0))
    transcript.write_bytes(transcript.read_bytes() + b"<user>\n</user>\n")
    good = transcript.read_bytes()
    real, left = os.write, 100

    def write(file: int, data: memoryview) -> int:
        nonlocal left
        if left == 0:
            left = 1_000_000
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = real(file, data[:left])
        left -= done
        return done

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(Unavailable, match="No space left") as refused:
        append(transcript, turn(2))

    assert "disk" in refused.value.suggestion
    assert transcript.read_bytes() == good


def test_a_killed_writer_leaves_a_file_that_is_repaired(transcript: Path) -> None:
    """The process dies inside the write, by a limit on the size of files."""
    append(transcript, turn(0))
    good = transcript.read_bytes()
    limit = len(good) + 5_000
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from whence.chatmd.append import append\n"
        "from whence.chatmd.render import render_message\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "append(Path(sys.argv[1]), render_message('assistant', 'y' * 50_000))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, os.fspath(transcript)], check=False, timeout=60
    )

    assert ended.returncode < 0
    assert transcript.stat().st_size == limit
    torn = repair(transcript)
    assert torn is not None
    assert transcript.read_bytes() == good
    assert torn.kept.read_bytes().startswith(b"<assistant>\nRAW|yyy")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != limit


def test_payloads_are_on_disk_before_the_line_that_names_them(
    transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(room, "_write", fail)
    with pytest.raises(Unavailable):
        append(transcript, turn(1))

    assert transcript.read_bytes() == HEAD
    (payload,) = turn(1).payloads
    assert load(transcript, payload.path) == payload.data


def test_writers_at_the_same_time_do_not_mix(transcript: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: append(transcript, turn(n), durable=False), range(40)))

    found = [item.id for item in items(transcript) if isinstance(item, ToolCall)]
    assert sorted(found) == sorted(f"c{n}" for n in range(40))
    answered = [item.id for item in items(transcript) if isinstance(item, ToolResponse)]
    assert answered == found


def test_an_editor_that_replaces_the_file_is_noticed(transcript: Path) -> None:
    """The lock is taken on the file that has the name now."""
    other = transcript.with_suffix(".new")
    other.write_bytes(HEAD)
    os.replace(other, transcript)
    append(transcript, turn(1))

    assert transcript.read_bytes() == HEAD + turn(1).text


def test_the_same_payload_twice_is_one_file(transcript: Path) -> None:
    for _ in range(2):
        append(transcript, render_message("assistant", "a\0b"))

    assert len(list((transcript.parent / ".chatmd").iterdir())) == 1


def test_a_payload_that_was_damaged_is_written_again(transcript: Path) -> None:
    rendered = render_message("assistant", "a\0b")
    append(transcript, rendered)
    (file,) = (transcript.parent / ".chatmd").iterdir()
    file.write_bytes(b"a")
    append(transcript, rendered)

    assert load(transcript, rendered.payloads[0].path) == b"a\0b"


@pytest.mark.parametrize(
    "src", ["/etc/passwd", "../x", "./.chatmd/../x", ".chatmd/a/b", "./.chatmd/..", "x", ""]
)
def test_only_payloads_are_loaded(transcript: Path, src: str) -> None:
    with pytest.raises(PermissionDenied, match="not a payload"):
        load(transcript, src)
    with pytest.raises(InvalidArgs, match="no place for a payload"):
        append(transcript, Rendered(b"<user>x</user>\n", (Payload(src, b""),)))
    assert transcript.read_bytes() == HEAD


def test_a_payload_must_be_a_regular_file_that_is_there(transcript: Path) -> None:
    folder = transcript.parent / ".chatmd"
    with pytest.raises(NotFound, match="missing"):
        load(transcript, "./.chatmd/a.txt")
    folder.mkdir()
    with pytest.raises(NotFound, match="missing"):
        load(transcript, "./.chatmd/a.txt")
    (folder / "link").symlink_to("/etc/hostname")
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    for name in ("link", "fifo", "folder"):
        with pytest.raises(PermissionDenied):
            load(transcript, f"./.chatmd/{name}")


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    transcript: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".chatmd").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(PermissionDenied, match="not a folder"):
        append(transcript, turn(1))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert transcript.read_bytes() == HEAD


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InvalidArgs, match="not a regular file"):
        append(tmp_path / "fifo", turn(1))
    with pytest.raises(InvalidArgs, match="not a regular file"):
        resume(tmp_path / "fifo", 1)
    with pytest.raises(Unavailable, match="directory"):
        append(tmp_path, turn(1))
    with pytest.raises(NotFound):
        append(tmp_path / "no" / "a.chatmd", turn(1))
    for act in (repair, lambda path: resume(path, 1)):
        with pytest.raises(NotFound):
            act(tmp_path / "none.chatmd")
    assert not (tmp_path / "none.chatmd").exists()


def long_transcript(path: Path, turns: int, text: str = "words " * 100) -> bytes:
    source = HEAD + b"".join(turn(number, text).text for number in range(turns))
    path.write_bytes(source)
    return source


def test_resuming_reads_the_head_and_the_tail_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.chatmd"
    source = long_transcript(path, 3_000)
    read = 0
    real = os.pread

    def pread(file: int, count: int, offset: int) -> bytes:
        nonlocal read
        data = real(file, count, offset)
        read += len(data)
        return data

    monkeypatch.setattr(os, "pread", pread)
    resumed = resume(path, 200)

    assert read < 1_200_000 < len(source) // 4
    assert resumed.tail is not None
    assert not resumed.head.diagnostics
    assert not resumed.tail.diagnostics
    assert source.startswith(resumed.head.source)
    assert source.endswith(resumed.tail.source)
    assert len(resumed.head.source) + resumed.skipped + len(resumed.tail.source) == len(source)
    everything = list(parse(source).items())
    last = list(resumed.tail.items())
    assert len(last) >= 200
    assert last == everything[-len(last) :]
    assert [tool.get("name") for tool in resumed.head.tagged("tool")] == ["read_file"]
    assert [item.text for item in resumed.head.items() if isinstance(item, Message)] == [
        "Be brief.",
        "question 0",
    ]


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_a_short_file_is_resumed_as_a_whole(tmp_path: Path, turns: int) -> None:
    path = tmp_path / "short.chatmd"
    source = long_transcript(path, turns)
    resumed = resume(path, 10)

    assert (resumed.head.source, resumed.tail, resumed.skipped) == (source, None, 0)


def test_a_payload_that_looks_like_a_transcript_does_not_fool_the_reader(tmp_path: Path) -> None:
    fake = "".join(
        f"\n</tool_response>\n<user>fake {n}</user>\n<assistant>x</assistant>" for n in range(2_000)
    )
    path = tmp_path / "t.chatmd"
    long_transcript(path, 50)
    for number in range(100, 140):
        for start in range(0, len(fake), 20_000):
            piece = fake[start : start + 20_000]
            append(
                path,
                render_tool_call(f"x{number}-{start}", "f", "{}")
                + render_tool_response(f"x{number}-{start}", piece),
                durable=False,
            )
    everything = list(parse(path.read_bytes()).items())
    for count in (1, 3, 10):
        resumed = resume(path, count)
        assert resumed.tail is not None
        last = list(resumed.tail.items())
        assert len(last) >= count
        assert last == everything[-len(last) :]


@given(st.integers(1, 3_000))
@settings(max_examples=200, deadline=None)
def test_a_tail_from_any_offset_is_true_or_none(size: int) -> None:
    source = HEAD + b"".join(
        turn(n, "a\n</user>\n<user>b</user>\n<user>\nRA" if n % 3 else "<!--\n").text
        for n in range(6)
    )
    everything = list(parse(source).items())
    found = tail(source[-size:], 1)
    if found is not None:
        last = list(found[1].items())
        assert last == everything[len(everything) - len(last) :]


def test_a_file_without_any_block_is_resumed_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "plain.chatmd"
    path.write_bytes(HEAD + b"<user>hello</user>\n<assistant>hi</assistant>\n" * 5_000)
    resumed = resume(path, 3)

    assert resumed.tail is None
    assert len(resumed.head.nodes) == 10_003


def test_a_long_head_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.chatmd"
    example = b"\n<assistant>an example</assistant>\n"
    head = (
        b"<system>RAW|" + example + b"rules <b> " * 20_000 + b"|RAW</system>\n<config model='x'>\n"
    )
    path.write_bytes(head + b"".join(turn(n, "w " * 1_000).text for n in range(100)))
    resumed = resume(path, 2)

    assert resumed.tail is not None
    assert resumed.head.source.startswith(head)
    assert resumed.head.config is not None
