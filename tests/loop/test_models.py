"""One agent file on every kind of model, and what happens when a provider does not play along."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.local_server import LOOPBACK, answer, serving
from tests.loop.agents import Heard, load
from tests.provider.asking import CHAT, KEY, Voice, every_voice
from tests.replay_server import Answer, ReplayServer, answering, events, streamed, then_close, whole
from whence.errors import PermissionDenied, Unavailable, WhenceError
from whence.loop.news import CallEnded, Compacted, Notice, TextPiece

pytestmark = pytest.mark.anyio
ARGUMENTS = {"why": "Find out what the note says", "path": "note.txt"}
FILE = """\
<tool name="fs.read"/>
<system>Answer with what the note says.</system>
<user>Read the file note.txt</user>
"""


def agent_file(folder: Path) -> Path:
    (folder / "note.txt").write_text("the tide turns at noon\n", "utf-8")
    path = folder / "agent.chatmd"
    path.write_text(FILE, "utf-8")
    return path


def calling(provider: str) -> dict[str, Any]:
    """An answer in one piece that makes the call, as that provider writes it."""
    written = json.dumps(ARGUMENTS)
    if provider == "anthropic":
        block = {"type": "tool_use", "id": "toolu_1", "name": "fs_read", "input": ARGUMENTS}
        return {
            "type": "message", "id": "m", "role": "assistant", "model": "m", "content": [block],
            "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 7},
        }  # fmt: skip
    if provider == "openai":
        entry = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "fs_read",
                "arguments": written, "status": "completed"}  # fmt: skip
        return {"object": "response", "id": "r", "status": "completed", "output": [entry]}
    function = {"name": "fs_read", "arguments": written}
    call: dict[str, Any] = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


def environment(voice: Voice, server: ReplayServer) -> Mapping[str, str]:
    name = "ANTHROPIC_BASE_URL" if voice.provider == "anthropic" else "OPENAI_BASE_URL"
    suffix = "" if voice.provider == "anthropic" else "/v1"
    return {voice.variable: KEY, name: server.url + suffix, "PATH": os.environ["PATH"]}


@pytest.mark.requirement("loop:kinds")
@every_voice
async def test_the_file_runs_on_each_provider(voice: Voice, tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    final = streamed([events(*voice.says("It turns at noon."))])
    async with answering(whole(calling(voice.provider)), final) as server:
        agent = load(path, model=f"{voice.provider}/m", environ=environment(voice, server))
        heard = Heard()
        result = await agent.run(on=heard)

        assert result.text == "It turns at noon."
        assert "the tide turns at noon" in server.requests[1].body.decode()
    (ended,) = heard.of(CallEnded)
    assert ended.outcome.ok
    assert [one.text for one in heard.of(TextPiece)]
    text = path.read_text("utf-8")
    assert text.count("<tool_response ") == 1
    assert KEY not in text + (tmp_path / ".agent").joinpath("sessions").as_posix()


@pytest.mark.requirement("loop:kinds")
async def test_the_file_runs_on_a_script_and_on_a_recording(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    script = [{"calls": [{"tool": "fs_read", "args": ARGUMENTS}]}, "It turns at noon."]
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(script), "utf-8")
    copy = tmp_path / "copy.chatmd"
    first = await load(path, model="script/script.yaml", output=copy).run()
    again = await load(path, model="replay/copy.chatmd", ephemeral=True).run()
    assert first.text == again.text == "It turns at noon."


@pytest.mark.requirement("loop:kinds")
async def test_the_file_runs_on_the_embedded_model(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    environ = {**os.environ}
    heard = Heard()
    try:
        agent = load(path, model="local/smollm2", environ=environ)
        result = await agent.run(on=heard)
    except Unavailable as error:
        pytest.skip(f"{error.message}: {error.suggestion}")
    assert "the tide turns at noon" in result.text
    (ended,) = heard.of(CallEnded)
    assert (ended.outcome.tool, ended.outcome.ok) == ("fs.read", True)


@pytest.mark.requirement("loop:xml")
@every_voice
async def test_a_conversation_in_xml_stays_xml(voice: Voice, tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    path.write_text('<config protocol="xml"/>\n' + FILE, "utf-8")
    call = "<fs_read>\n<why>Find out what it says</why>\n<path>note.txt</path>\n</fs_read>"
    answers = [
        streamed([events(*voice.says(words))]) for words in (f"Let me see.\n{call}", "Noon.")
    ]
    async with answering(*answers) as server:
        options: dict[str, Any] = {
            "model": f"{voice.provider}/m", "environ": environment(voice, server)
        }  # fmt: skip
        result = await load(path, **options).run()
        assert result.text == "Noon."
        first, second = (request.body.decode() for request in server.requests)
        assert '"tools"' not in first
        assert "tide turns at noon" in second

        # Nothing but the history says so now, and it still is XML.
        path.write_text(path.read_text("utf-8").replace('<config protocol="xml"/>\n', ""), "utf-8")
        await load(path, **options).run("And tomorrow?")
        third = server.requests[-1].body.decode()
        assert '"tools"' not in third
        assert "tide turns at noon" in third


def broken(voice: Voice) -> Answer:
    return then_close(streamed([events(*voice.words("The tide"))], end=False))


@pytest.mark.requirement("run:provider-down")
@every_voice
async def test_an_answer_that_breaks_off_is_kept_and_can_be_gone_on_with(
    voice: Voice, tmp_path: Path
) -> None:
    path = agent_file(tmp_path)
    final = streamed([events(*voice.says("It turns at noon."))])
    async with answering(broken(voice), final) as server:
        options: dict[str, Any] = {
            "model": f"{voice.provider}/m", "environ": environment(voice, server)
        }  # fmt: skip
        with pytest.raises(Unavailable, match="broke off"):
            await load(path, **options).run()
        text = path.read_text("utf-8")
        assert "The tide" in text
        assert 'status="incomplete"' in text
        assert load(path).file.problems() == []

        result = await load(path, **options).run("Go on")
        assert result.text == "It turns at noon."


@pytest.mark.requirement("run:provider-down")
@every_voice
async def test_a_provider_that_refuses_is_told_in_one_message(voice: Voice, tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    before = path.read_bytes()
    refusal = whole({"error": {"message": "bad key", "type": "auth"}}, 401)
    async with answering(refusal) as server:
        agent = load(path, model=f"{voice.provider}/m", environ=environment(voice, server))
        with pytest.raises(PermissionDenied) as caught:
            await agent.run()
    assert voice.variable in caught.value.message + caught.value.suggestion
    assert KEY not in str(caught.value) + caught.value.suggestion
    assert path.read_bytes() == before


async def test_without_its_key_a_files_model_gives_way_to_the_embedded_one(tmp_path: Path) -> None:
    path = agent_file(tmp_path)
    path.write_text('<config model="gpt-5"/>\n' + FILE, "utf-8")
    heard = Heard()
    try:
        await load(path, ephemeral=True, environ={**os.environ, "OPENAI_API_KEY": ""}).run(on=heard)
    except Unavailable as error:
        pytest.skip(f"{error.message}: {error.suggestion}")
    (notice,) = [one.text for one in heard.of(Notice) if "embedded" in one.text]
    assert "OPENAI_API_KEY" in notice
    with pytest.raises(WhenceError, match="OPENAI_API_KEY"):
        await load(path, model="gpt-5", environ={"PATH": ""}).run()


@pytest.mark.requirement("loop:compaction")
async def test_a_conversation_that_a_provider_finds_too_long_is_summed_up(tmp_path: Path) -> None:
    path = tmp_path / "agent.chatmd"
    turns = "".join(
        f"<user>question {n}</user><assistant>answer {n}</assistant>\n" for n in range(9)
    )
    path.write_text(f"<system>Be brief.</system>\n{turns}", "utf-8")
    said = {"message": "maximum context length exceeded", "code": "context_length_exceeded"}
    answers = [
        whole({"error": said}, 400),
        *(streamed([events(*CHAT.says(words))]) for words in ("They talked.", "Fine.")),
    ]
    heard = Heard()
    async with answering(*answers) as server:
        agent = load(path, model="openai-chat/m", environ=environment(CHAT, server))
        result = await agent.run("And now?", on=heard)
    assert result.text == "Fine."
    (summed,) = heard.of(Compacted)
    assert "They talked." in summed.summary
    last = server.requests[-1].body.decode()
    assert "question 1" not in last
    assert "And now?" in last
    assert "question 1" in path.read_text("utf-8")


def png() -> bytes:
    """One grey point."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    points = zlib.compress(b"\0\x80")
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", points) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.requirement("run:remote-content")
async def test_remote_documents_and_pictures_reach_the_model(tmp_path: Path) -> None:
    page = "<html><body><main><h1>Tides</h1><p>Noon.</p></main></body></html>"
    routes = {"/page": answer(page), "/picture": answer(png(), "image/png")}
    heard = Heard()
    final = streamed([events(*CHAT.says("Noon."))])
    async with serving(routes) as pages, answering(final) as server:
        path = tmp_path / "agent.chatmd"
        path.write_text(
            f'<user>Sum up: <doc src="{pages.url("/page")}" markdown/>'
            f'<img src="{pages.url("/picture")}"/><doc src="{pages.url("/gone")}"/></user>\n',
            "utf-8",
        )
        options = {"model": "openai-chat/m", "environ": environment(CHAT, server)}
        await load(path, ephemeral=True, web=LOOPBACK, **options).run(on=heard)
        await load(path, ephemeral=True, **options).run(on=heard)
    with_all, without = (request.body.decode() for request in server.requests)
    assert "# Tides" in with_all
    assert "data:image/png;base64," in with_all
    assert "# Tides" not in without
    notices = [one.text for one in heard.of(Notice)]
    assert [text for text in notices if "404" in text]
    assert len([text for text in notices if "127.0.0.1" in text]) >= 4
