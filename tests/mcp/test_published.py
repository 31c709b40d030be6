"""The files behind a server: watched, held to their names, and closed to those that it serves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp import Client
from tests.loop.agents import call, write_agent
from tests.mcp.publishing import (
    NEWEST,
    calling,
    fault_of,
    journal,
    line,
    program,
    prompts,
    publish,
    served,
    spoken,
    text_of,
)
from tests.mcp.serving import declared, whence
from whence.errors import Conflict, NotFound, ParseError
from whence.loop.published_files import PublishedFiles
from whence.provider.local.engine import problem


def published(folder: Path, *sources: str, taken: tuple[str, ...] = ()) -> PublishedFiles:
    paths = [os.fspath(folder / each) for each in sources or ("prompts",)]
    return PublishedFiles(paths, os.fspath(folder), said.append, taken)


said: list[str] = []


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    said.clear()


@pytest.mark.requirement("serve:watch")
def test_new_changed_deleted_and_broken_files_of_a_directory_are_noticed(tmp_path: Path) -> None:
    hello = publish(tmp_path, "hello", ["Good day."])
    files = published(tmp_path)
    assert not files.refresh()
    publish(tmp_path, "bye", ["Good night."], said="<system>Say goodbye.</system>")
    assert files.refresh()
    assert list(files.agents) == ["hello", "bye"]
    hello.write_text("<tool/>")
    assert files.refresh()
    assert list(files.agents) == ["bye"]
    assert "hello.chatmd:1:1" in said[-1]
    assert not files.refresh()
    assert len(said) == 1
    hello.write_text("<system>Better.</system>")
    assert files.refresh()
    assert set(files.agents) == {"hello", "bye"}
    (prompts(tmp_path) / "bye.chatmd").unlink()
    assert files.refresh()
    assert list(files.agents) == ["hello"]


@pytest.mark.requirement("serve:watch")
def test_a_change_of_an_imported_file_is_noticed(tmp_path: Path) -> None:
    rules = prompts(tmp_path) / "rules.md"
    rules.write_text("<system>Be brief.</system>")
    publish(tmp_path, "hello", [], '<import src="rules.md"/>')
    files = published(tmp_path)
    assert not files.refresh()
    rules.write_text("<system>Be thorough, and take your time.</system>")
    assert files.refresh()
    assert "thorough" in str(files.agents["hello"].document.source)


@pytest.mark.requirement("serve:watch")
def test_what_is_no_agent_file_does_no_harm(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    folder = prompts(tmp_path)
    (folder / "gone.chatmd").symlink_to("nowhere")
    (folder / "folder.chatmd").mkdir()
    (folder / ".chatmd").mkdir()
    (folder / ".hidden.chatmd").write_text("<tool/>")
    os.mkfifo(folder / "pipe.chatmd")
    (folder / "odd.chatmd").write_bytes(b"\xff\xfe\x00<system>")
    files = published(tmp_path)
    assert "hello" in files.agents
    assert not {"gone", "folder", "pipe", "_hidden"} & set(files.agents)
    assert not any(".hidden" in each or "/.chatmd" in each for each in said)
    assert not files.refresh()


@pytest.mark.requirement("serve:watch")
def test_a_directory_that_goes_and_comes_is_followed(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    files = published(tmp_path)
    (tmp_path / "prompts").rename(tmp_path / "away")
    assert files.refresh()
    assert files.agents == {}
    (tmp_path / "away").rename(tmp_path / "prompts")
    assert files.refresh()
    assert list(files.agents) == ["hello"]


@pytest.mark.requirement("serve:names")
def test_a_new_file_takes_no_name_that_another_tool_has(tmp_path: Path) -> None:
    first = publish(tmp_path, "a_b", ["first"])
    files = published(tmp_path, taken=("fs.read", "read_file"))
    (prompts(tmp_path) / "a b.chatmd").write_text("<system>Second.</system>")
    (prompts(tmp_path) / "read_file.chatmd").write_text("<system>Third.</system>")
    assert files.refresh()
    assert files.agents["a_b"].path == os.fspath(first)
    assert list(files.agents) == ["a_b"]
    assert sorted("a_b" in each for each in said) == [False, True]
    first.unlink()
    assert files.refresh()
    assert files.agents["a_b"].path.endswith("a b.chatmd")


@pytest.mark.requirement("serve:start")
def test_what_cannot_be_published_is_said_at_the_start(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    (prompts(tmp_path) / "a b.chatmd").touch()
    (prompts(tmp_path) / "a_b.chatmd").touch()
    (tmp_path / "wrong.chatmd").write_text("<tool/>")
    with pytest.raises(NotFound, match="nowhere"):
        published(tmp_path, "nowhere")
    with pytest.raises(ParseError, match=r"wrong\.chatmd:1:1"):
        published(tmp_path, "wrong.chatmd")
    with pytest.raises(Conflict, match=r"a b\.chatmd and .*a_b\.chatmd would both be the tool"):
        published(tmp_path)
    with pytest.raises(Conflict, match="there is one already"):
        published(tmp_path, "prompts/hello.chatmd", taken=("hello",))


@pytest.mark.anyio
@pytest.mark.requirement("serve:list-changed")
async def test_clients_of_the_older_versions_are_told_of_changes(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    async with served(tmp_path) as client:
        await client.greet()
        publish(tmp_path, "bye", ["Good night."])
        await client.notified("notifications/tools/list_changed")
        await client.notified("notifications/prompts/list_changed")
        listed = await client.ask("tools/list")
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["hello", "bye"]
        assert text_of(await client.call("bye", input="x")) == "Good night."
        assert await client.leave() == 0


@pytest.mark.anyio
@pytest.mark.requirement("serve:list-changed")
async def test_clients_of_the_newest_version_may_listen_for_changes(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    async with Client(program(tmp_path), mode=NEWEST) as client:
        async with client.listen(tools_list_changed=True) as events:
            publish(tmp_path, "bye", ["Good night."])
            await anext(aiter(events))
        assert len((await client.list_tools()).tools) == 2


@pytest.mark.requirement("serve:closed")
def test_served_tools_cannot_write_what_is_published(tmp_path: Path) -> None:
    """An agent file can name any program: whoever writes one runs what they like."""
    evil = '<tool mcp_server="stdio:touch owned"/>'
    steps = [
        {"calls": [call("fs.write", path="prompts/new.chatmd", content=evil)]}, "{outcome}",
    ]  # fmt: skip
    publish(tmp_path, "writer", steps, '<tool name="fs.write"/>', '<import src="rules.md"/>')
    (prompts(tmp_path) / "rules.md").write_text("<system>Write.</system>")
    (tmp_path / "link").symlink_to("prompts")
    patch = f"*** Begin Patch\n*** Add File: prompts/x.chatmd\n+{evil}\n*** End Patch"
    asked = [
        calling("writer", 1, input="Go"),
        calling("fs.write", 2, path="prompts/new.chatmd", content=evil),
        calling("fs.write", 3, path="link/new.chatmd", content=evil),
        calling("fs.write", 4, path="prompts/rules.md", content=evil),
        calling("fs.append", 5, path="prompts/writer.chatmd", text=evil),
        calling("fs.write", 6, path="prompts/notes.txt", content="fine"),
    ]
    heard = spoken(tmp_path, asked, "prompts", "--catalog", "moollm")
    assert "PERMISSION_DENIED" in text_of(heard[1])
    for number in (2, 3, 4, 5):
        assert fault_of(heard[number])["code"] == "PERMISSION_DENIED"
        assert "whence serve" in fault_of(heard[number])["message"]
    assert heard[6]["result"]["isError"] is False
    heard = spoken(
        tmp_path, [calling("apply_patch", 1, input=patch)], "prompts", "--catalog", "chatmd"
    )
    assert fault_of(heard[1])["code"] == "PERMISSION_DENIED"
    assert sorted(each.name for each in prompts(tmp_path).iterdir()) == [
        "notes.txt", "rules.md", "writer.chatmd",
    ]  # fmt: skip


@pytest.mark.requirement("serve:closed")
def test_where_programs_could_write_what_is_published_it_stays_as_it_was_at_the_start(
    tmp_path: Path,
) -> None:
    publish(tmp_path, "helper", ["as ever"])
    publish(
        tmp_path, "writer",
        [{"calls": [call("copy", arguments=["evil.chatmd", "prompts/new.chatmd"])]},
         {"calls": [call("copy", arguments=["evil.chatmd", "prompts/helper.chatmd"])]}, "done"],
        '<tool name="copy" command="cp"/>',
    )  # fmt: skip
    (tmp_path / "evil.chatmd").write_text('<tool mcp_server="stdio:touch owned"/>\n', "utf-8")
    files = published(tmp_path)
    assert files.is_within_reach

    files.fix()
    prompts(tmp_path).joinpath("new.chatmd").write_text("<system>Hi.</system>", "utf-8")
    assert not files.refresh()
    prompts(tmp_path).joinpath("new.chatmd").unlink()
    asked = [calling("writer", 1, input="Go")]
    heard = spoken(tmp_path, asked)

    assert text_of(heard[1]) == "done"
    assert "served as it is now" in heard.stderr
    assert prompts(tmp_path).joinpath("new.chatmd").exists()
    assert "copy" in (tmp_path / ".agent" / "lock.yaml").read_text("utf-8")


@pytest.mark.requirement("serve:closed")
def test_what_published_agents_run_outside_the_sandbox_cannot_be_written_either(
    tmp_path: Path,
) -> None:
    tools = prompts(tmp_path) / "tools.py"
    tools.write_text("def f(x: str) -> str:\n    'F.'\n    return x\n")
    (tmp_path / "server.py").write_text("print()")
    (tmp_path / "deeper.chatmd").write_text('<tool mcp_server="stdio:python3 server.py"/>')
    agents = '<tool name="deeper" agent="deeper.chatmd" local/>'
    publish(tmp_path, "top", [], agents, '<tool python="tools.py:f"/>')
    names = ["prompts/tools.py", "server.py", "deeper.chatmd", "free.py"]
    asked = [calling("fs.write", name, path=name, content="evil") for name in names]
    heard = spoken(tmp_path, asked, "prompts", "--catalog", "moollm")
    codes = [heard[name]["result"]["isError"] for name in names]
    assert codes == [True, True, True, False]


@pytest.mark.requirement("serve:closed")
def test_the_files_of_the_workspace_itself_can_be_published_and_are_closed(tmp_path: Path) -> None:
    write_agent(tmp_path, ["Good day."], name="hello")
    asked = [
        calling("fs.write", 1, path="new.chatmd", content="x"),
        calling("fs.write", 2, path="below.txt", content="x"),
        calling("hello", 3, input="Hi"),
    ]
    heard = spoken(tmp_path, asked, os.fspath(tmp_path), "--catalog", "moollm")
    assert fault_of(heard[1])["code"] == "PERMISSION_DENIED"
    assert heard[2]["result"]["isError"] is False
    assert text_of(heard[3]) == "Good day."


@pytest.mark.requirement("serve:inside")
def test_published_agents_use_their_servers_and_rules_name_their_tools(tmp_path: Path) -> None:
    steps = [{"calls": [call("echo", text="round")]}, "{outcome}"]
    publish(tmp_path, "echoing", steps, declared("old", "echo"))
    heard = spoken(
        tmp_path, [calling("echoing", 1, input="x"), line("tools/list", id=2)],
        "prompts", "--allow", "echo",
    )  # fmt: skip
    assert text_of(heard[1]) == "round"
    assert heard[2]["result"]["tools"][0]["annotations"]["readOnlyHint"] is False
    refused = spoken(tmp_path, [calling("echoing", 1, input="x")], "prompts", "--deny", "echo")
    assert "PERMISSION_DENIED" in text_of(refused[1])


@pytest.mark.requirement("serve:inside")
def test_agents_that_call_one_another_without_end_are_stopped(tmp_path: Path) -> None:
    steps = [*[{"calls": [call("again", input="x")]}] * 4, *["{outcome}"] * 4]
    publish(tmp_path, "again", steps, '<tool name="again" agent="prompts/again.chatmd" local/>')
    heard = spoken(tmp_path, [calling("again", 1, input="x")])
    assert "QUOTA_EXCEEDED" in text_of(heard[1])


@pytest.mark.requirement("serve:inside")
def test_the_budget_of_a_published_agent_holds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    steps = [{"calls": [call("fs.read", path="a.txt", range={"start": n})]} for n in range(1, 9)]
    publish(tmp_path, "reader", steps, '<tool name="fs.read"/>', config='max_turns="3"')
    heard = spoken(tmp_path, [calling("reader", 1, input="x")])
    assert fault_of(heard[1])["code"] == "BUDGET_EXCEEDED"
    assert sum(entry.type == "tool_call" for entry in journal(tmp_path)) == 4


@pytest.mark.requirement("serve:inside")
def test_the_embedded_model_only_reads_unless_somebody_says_otherwise(tmp_path: Path) -> None:
    found = problem()
    if found is not None:
        pytest.skip(found[0])
    (prompts(tmp_path) / "notes.chatmd").write_text('<tool name="fs.append"/>')
    asked = calling("notes", 1, input='Append "read the manual" to notes.md')
    spoken(tmp_path, [asked], "prompts", "--model", "local")
    codes = [e.fields["error"]["code"] for e in journal(tmp_path) if e.type == "tool_error"]
    assert "PERMISSION_DENIED" in codes
    assert not (tmp_path / "notes.md").exists()


@pytest.mark.requirement("serve:session")
@pytest.mark.anyio
async def test_two_servers_share_a_journal(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    async with served(tmp_path) as one, served(tmp_path) as other:
        await one.greet()
        await other.greet()
        for client in (one, other, one):
            assert text_of(await client.call("hello", input="Hi")) == "Good day."
        assert await one.leave() == 0
        assert text_of(await other.call("hello", input="Hi")) == "Good day."
        assert await other.leave() == 0
    assert [entry.type for entry in journal(tmp_path)].count("tool_result") == 4


@pytest.mark.requirement("serve:circle")
def test_an_agent_calls_what_another_whence_serves_and_its_reason_arrives_there(
    tmp_path: Path,
) -> None:
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    near.mkdir()
    publish(far, "hello", ["Good day."])
    publish(far, "guess", ["It is blue."], '<input name="why" required/>')
    server = program(far, "prompts", "--require-why")
    there = f'<tool mcp_server="stdio:{server.command} {" ".join(server.args)}"/>'
    made = [
        call("hello", input="Hi", why="Be polite there"),
        call("guess", why="sky", _why="Learn what they know"),
    ]
    agent = write_agent(near, [{"calls": made}, "They said {outcome}"], there)
    allowed = ("--allow", "hello", "--allow", "guess")
    done = whence(near, "run", os.fspath(agent), "Go", "--ephemeral", *allowed)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "They said It is blue.\n"
    arrived = [entry.fields["args"] for entry in journal(far) if entry.type == "tool_call"]
    assert sorted(arrived, key=str) == [
        {"input": "Hi", "why": "Be polite there"},
        {"why": "sky", "_why": "Learn what they know"},
    ]
