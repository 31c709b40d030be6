"""A server on its pipes: what comes in, what goes out, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loop.agents import call
from tests.mcp.publishing import (
    Lines,
    calling,
    command,
    fault_of,
    greeting,
    journal,
    line,
    publish,
    served,
    spoken,
    text_of,
)
from whence.cli.command import run
from whence.errors import NotFound


@pytest.mark.requirement("serve:malformed")
@pytest.mark.parametrize(
    ("bad", "code", "named"),
    [
        ("no json", -32700, None),
        ('{"jsonrpc": "2.0", "id": 7, "meth', -32700, None),
        ("[" * 100_000, -32600, None),
        ("{}", -32600, None),
        ("[]", -32600, None),
        ('"text"', -32600, None),
        ('{"jsonrpc": "2.0", "id": 7}', -32600, 7),
        ('{"jsonrpc": "1.0", "id": "x", "method": "ping"}', -32600, "x"),
        ('{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": 3}', -32600, 7),
    ],
    ids=["words", "half", "deep", "empty", "no-batch", "string", "bare", "version", "params"],
)
def test_a_line_that_is_no_message_is_refused_and_the_next_is_answered(
    tmp_path: Path, bad: str, code: int, named: object
) -> None:
    publish(tmp_path, "hello", ["Good day."])
    heard = spoken(tmp_path, [bad, "", "  ", calling("hello", 1, input="Hi")])
    assert heard[named]["error"]["code"] == code
    assert text_of(heard[1]) == "Good day."


@pytest.mark.requirement("serve:malformed")
def test_params_that_are_wrong_are_an_error_of_their_request(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    heard = spoken(
        tmp_path,
        [
            line("tools/call", {}, 1),
            line("tools/call", {"name": 17}, 2),
            line("tools/call", {"name": "hello", "arguments": [1]}, 3),
            line("tools/call", {"name": "hello", "args": [1]}, 4),
            line("tools/call", {"name": "hello", "args": "x"}, 5),
            line("no/such/method", {}, 6),
            line("resources/list", {}, 7),
            line("tools/call", {"name": "hello", "arguments": {"input": "\ud83d"}}, 8),
            calling("hello", 9, input="Hi"),
        ],
    )
    assert [heard[number]["error"]["code"] for number in (1, 2, 3)] == [-32602] * 3
    assert fault_of(heard[4])["code"] == fault_of(heard[5])["code"] == "PARSE_ERROR"
    assert [heard[number]["error"]["code"] for number in (6, 7)] == [-32601] * 2
    assert text_of(heard[8]) == text_of(heard[9]) == "Good day."


@pytest.mark.requirement("serve:batch")
def test_a_batch_is_answered_message_by_message_also_where_one_of_it_is_broken(
    tmp_path: Path,
) -> None:
    publish(tmp_path, "hello", ["Good day."])
    batch = [line("ping", id=1), "3", line("ping", id=2), calling("hello", 3, input="Hi")]
    heard = spoken(tmp_path, [f"[{','.join(batch)}]"])
    assert heard[1]["result"] == heard[2]["result"] == {}
    assert heard[None]["error"]["code"] == -32600
    assert text_of(heard[3]) == "Good day."


@pytest.mark.requirement("serve:huge")
def test_large_messages_go_both_ways_and_too_large_ones_are_refused(tmp_path: Path) -> None:
    large = "x" * 5_000_000
    hidden = calling("fs.write", 9, path="hidden.txt", content="x")
    heard = spoken(
        tmp_path,
        [calling("fs.write", 1, path="large.txt", content=large),
         "y" * 70_000_000 + hidden, line("ping", id=2)],
        "--catalog", "moollm",
    )  # fmt: skip
    assert heard[1]["result"]["isError"] is False
    assert (tmp_path / "large.txt").read_text() == large
    assert heard[None]["error"]["code"] == -32700
    assert heard[2]["result"] == {}
    assert not (tmp_path / "hidden.txt").exists()


@pytest.mark.requirement("serve:stdin")
def test_a_last_line_without_an_end_is_a_line(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day."])
    done = subprocess.run(
        command(tmp_path, "prompts"),
        input="\n".join([*greeting(), calling("hello", 1, input="Hi")]),
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == ""
    assert text_of(json.loads(done.stdout.splitlines()[-1])) == "Good day."
    assert journal(tmp_path)[-1].fields["reason"] == "done"


@pytest.mark.requirement("serve:stdin")
@pytest.mark.parametrize("stdin", ["<&-", "</dev/null"], ids=["closed", "empty"])
def test_an_input_that_has_nothing_to_say_is_the_end(tmp_path: Path, stdin: str) -> None:
    publish(tmp_path, "hello", ["Good day."])
    done = subprocess.run(
        ["sh", "-c", f'"$@" {stdin}', "-", *command(tmp_path, "prompts")],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.requirement("serve:stdin")
def test_a_socket_serves_as_well_as_pipes(tmp_path: Path) -> None:
    publish(tmp_path, "hello", ["Good day." * 50_000])
    ours, theirs = socket.socketpair()
    with ours, theirs, subprocess.Popen(
        command(tmp_path, "prompts"), stdin=theirs.fileno(), stdout=theirs.fileno(), cwd=tmp_path
    ) as server:  # fmt: skip
        theirs.close()
        said = [*greeting(), calling("hello", 1, input="Hi")]
        ours.sendall("".join(f"{each}\n" for each in said).encode())
        ours.shutdown(socket.SHUT_WR)
        heard = b"".join(iter(lambda: ours.recv(65_536), b""))
        assert server.wait(60) == 0
    assert text_of(json.loads(heard.splitlines()[-1])).startswith("Good day.")


LOUD = """
import sys
print("loaded")

def shout(text: str) -> str:
    "Prints."
    print("x" * 100_000)
    sys.stdout.write("no end of line")
    return text + sys.stdin.read()
"""


@pytest.mark.requirement("serve:prints")
def test_what_tools_print_does_not_get_into_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    cat = '<tool name="cat" command="cat"/>'
    steps = [{"calls": [call("shout", text="heard"), call("cat", arguments=[])]}, "{outcome}", "b"]
    publish(tmp_path, "loud", steps, '<tool python="loud.py:shout"/>', cat)
    said = [*greeting(), calling("loud", 1, input="Hi"), line("ping", id=2)]
    done = subprocess.run(
        command(tmp_path, "prompts", "--allow", "shout", "--allow", "cat"),
        input="".join(f"{each}\n" for each in said), cwd=tmp_path, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    heard = [json.loads(each) for each in done.stdout.splitlines()]
    assert sorted(each["id"] for each in heard) == [0, 1, 2]
    assert "loaded" in done.stderr
    assert "no end of line" in done.stderr
    results = [e for e in journal(tmp_path) if e.type == "tool_result"]
    assert "heard" in [entry.fields.get("result") for entry in results]


async def waiting(folder: Path, client: Lines) -> None:
    """Have the server run an agent that waits for a program."""
    await client.greet()
    client.send(calling("waiter", "x", input="Wait"))
    async with asyncio.timeout(60):
        while not (folder / "begun").exists():
            await asyncio.sleep(0.02)


def publish_waiter(folder: Path, seconds: int) -> None:
    step = {"calls": [call("wait", arguments=[])]}
    program = f"command=\"sh -c 'touch begun; sleep {seconds}' -\""
    publish(folder, "waiter", [step, "end"], f'<tool name="wait" {program}/>')


def is_running(words: str) -> bool:
    return subprocess.run(["pgrep", "-f", words], capture_output=True, check=False).returncode == 0


@pytest.mark.anyio
@pytest.mark.requirement("serve:signals")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    ids=["term", "int", "hup"],
)
async def test_a_signal_ends_the_server_and_what_runs_in_it(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    publish_waiter(tmp_path, 700 + number)
    async with served(tmp_path, "prompts", "--allow", "wait") as client:
        await waiting(tmp_path, client)
        client.process.send_signal(number)
        async with asyncio.timeout(60):
            _, said = await client.process.communicate()
        assert client.process.returncode == code
        assert b"Traceback" not in said
    assert not is_running(f"sleep {700 + number}")
    entries = journal(tmp_path)
    codes = [each.fields["error"]["code"] for each in entries if each.type == "tool_error"]
    assert codes == ["CANCELLED", "CANCELLED"]
    assert entries[-1].fields["reason"] == "interrupted"


@pytest.mark.anyio
@pytest.mark.requirement("serve:deserted")
async def test_a_server_whose_client_is_gone_stops_what_it_does_and_ends(tmp_path: Path) -> None:
    publish_waiter(tmp_path, 731)
    ours, theirs = os.pipe()
    answers, to_us = os.pipe()
    server = subprocess.Popen(
        command(tmp_path, "prompts", "--allow", "wait"), stdin=ours, stdout=to_us, cwd=tmp_path
    )
    os.close(ours)
    os.close(to_us)
    said = [*greeting(), calling("waiter", "x", input="Wait")]
    os.write(theirs, "".join(f"{each}\n" for each in said).encode() + b'{"half')
    async with asyncio.timeout(60):
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.02)
    os.close(theirs)
    os.close(answers)
    assert server.wait(60) == 0
    assert not is_running("sleep 731")
    entries = journal(tmp_path)
    codes = [each.fields["error"]["code"] for each in entries if each.type == "tool_error"]
    assert codes == ["CANCELLED", "CANCELLED"]
    assert entries[-1].type == "session_end"


@pytest.mark.anyio
@pytest.mark.requirement("serve:unread")
async def test_a_cancelled_request_leaves_no_half_of_a_line_to_a_client_that_reads_late(
    tmp_path: Path,
) -> None:
    (tmp_path / "long.txt").write_text("word " * 18_000)
    async with served(tmp_path, "--catalog", "moollm") as client:
        await client.greet()
        assert client.process.stdout is not None
        for number in range(40):  # far more than a pipe holds
            client.send(calling("fs.read", f"x{number}", path="long.txt"))
        async with asyncio.timeout(60):
            while len([e for e in journal(tmp_path) if e.type == "tool_result"]) < 40:
                await asyncio.sleep(0.05)
        for number in range(40):
            client.send(line("notifications/cancelled", {"requestId": f"x{number}"}))
        assert (await client.ask("ping"))["result"] == {}
        assert await client.leave() == 0


@pytest.mark.requirement("serve:killed")
def test_a_server_that_was_killed_leaves_a_journal_that_goes_on(tmp_path: Path) -> None:
    publish_waiter(tmp_path, 741)

    async def kill() -> None:
        async with served(tmp_path, "prompts", "--allow", "wait") as client:
            await waiting(tmp_path, client)

    asyncio.run(kill())
    publish(tmp_path, "hello", ["Good day."])
    heard = spoken(tmp_path, [calling("hello", 1, input="Hi")])
    assert text_of(heard[1]) == "Good day."
    codes = [e.fields["error"]["code"] for e in journal(tmp_path) if e.type == "tool_error"]
    assert codes == ["INTERRUPTED", "INTERRUPTED"]


@pytest.mark.requirement("serve:start")
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere"], 1, "no such file or directory: 'nowhere'"),
        (["wrong.chatmd"], 1, "wrong.chatmd:1:1"),
        (["empty"], 1, "there is nothing to serve in empty"),
        (["hello.chatmd", "other/hello.chatmd"], 1, "would both be the tool 'hello'"),
        (["read_file.chatmd", "--catalog", "chatmd"], 1, "there is one already"),
        (["hello.chatmd", "--deny", "helo"], 2, "no tool is called 'helo'"),
        (["hello.chatmd", "--http", "99999"], 2, "no port 99999"),
        (["hello.chatmd", "--http", "x"], 2, "invalid int value"),
        (["hello.chatmd", "--http", "0", "--token-env", "NO_SUCH"], 2, "NO_SUCH"),
        (["hello.chatmd", "--model", "no/such"], 1, "no"),
        (["hello.chatmd", "--token-env", "HOME"], 2, "--token-env is for --http"),
    ],
    ids=[
        "none",
        "errors",
        "empty",
        "twice",
        "taken",
        "rule",
        "port",
        "word",
        "token",
        "model",
        "no-http",
    ],
)
def test_what_is_wrong_at_the_start_is_said_in_two_lines(
    tmp_path: Path,
    arguments: list[str],
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong.chatmd").write_text("<tool/>")
    for path in ("hello.chatmd", "other/hello.chatmd", "read_file.chatmd"):
        (tmp_path / path).write_text("<system>Hello.</system>")
    monkeypatch.chdir(tmp_path)
    assert run("serve", arguments) == code
    printed, said = capfd.readouterr()
    assert says in said
    assert printed == ""
    assert len(said.splitlines()) == 2, said


@pytest.mark.requirement("serve:default")
@pytest.mark.parametrize("elsewhere", [False, True], ids=["usual", "named"])
def test_without_a_source_the_usual_directory_and_tools_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool
) -> None:
    publish(tmp_path, "hello", ["Good day."])
    if elsewhere:
        (tmp_path / "prompts").rename(tmp_path / "agents")
        monkeypatch.setenv("MCP_PROMPTS_DIR", os.fspath(tmp_path / "agents"))
    heard = spoken(tmp_path, [line("tools/list", id=1)], "--why", "optional")
    names = {tool["name"] for tool in heard[1]["result"]["tools"]}
    assert {"hello", "apply_patch", "read_file"} <= names


@pytest.mark.requirement("serve:default")
def test_a_directory_that_a_variable_names_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_PROMPTS_DIR", os.fspath(tmp_path / "nowhere"))
    with pytest.raises(NotFound, match="nowhere"):
        spoken(tmp_path, [], "--why", "optional")


@pytest.mark.requirement("serve:prints")
def test_the_program_that_serves_imports_the_sdk_only_when_it_serves() -> None:
    lines = "import sys, whence.cli.serve\nprint({'mcp', 'uvicorn', 'anyio'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "set()\n"
