"""`whence serve` for tests: the installed program, spoken to line by line or by the SDK."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from tests.loop.agents import write_agent
from tests.mcp.serving import WHENCE
from whence.cli import serve
from whence.journal.read import read_entries
from whence.journal.verify import verify
from whence.shapes.event import Entry

SESSION = "served"
PATIENCE_S = 60
NEWEST = "2026-07-28"


def prompts(folder: Path) -> Path:
    """The directory whose agents are served; the scripts of their models are in the workspace."""
    (folder / "prompts").mkdir(exist_ok=True)
    return folder / "prompts"


def publish(folder: Path, name: str, answers: Iterable[Any], *declared: str, **more: str) -> Path:
    """An agent file in that directory, whose model is a script."""
    written = write_agent(folder, answers, *declared, name=name, **more)
    return written.replace(prompts(folder) / written.name)


def line(method: str, params: dict[str, Any] | None = None, id: object = None) -> str:
    """A request, or without an id a notification."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return json.dumps(message)


def greeting(version: str = "2025-11-25", **capabilities: Any) -> list[str]:
    """What a client of the older versions says first."""
    info = {"name": "test", "version": "1"}
    given = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return [line("initialize", given, 0), line("notifications/initialized")]


def calling(tool: str, id: object = 1, /, **arguments: Any) -> str:
    """A call of a tool."""
    return line("tools/call", {"name": tool, "arguments": arguments}, id)


def command(folder: Path, *arguments: str) -> list[str]:
    """The command line of a server whose journal tests know."""
    given = (os.fspath(folder / each) if (folder / each).exists() else each for each in arguments)
    return [WHENCE, "serve", "-C", os.fspath(folder), "--session", SESSION, *given]


@dataclass
class Heard:
    """What a server said."""

    messages: list[dict[str, Any]]
    stderr: str

    def __getitem__(self, id: object) -> dict[str, Any]:
        """The answer to the request of that id."""
        (found,) = [each for each in self.messages if "id" in each and each["id"] == id]
        return found

    def of(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all notifications of that name."""
        return [each["params"] for each in self.messages if each.get("method") == method]


def spoken(
    folder: Path, said: Iterable[str], *arguments: str, greeted: Iterable[str] | None = None
) -> Heard:
    """What a server in this process answers to a file of lines."""
    source, sink = folder / "said.jsonl", folder / "heard.jsonl"
    lines = [*(greeting() if greeted is None else greeted), *said]
    source.write_text("".join(f"{each}\n" for each in lines), "utf-8")
    _, _, *words = command(folder, *(arguments or ("prompts",)))
    parser = argparse.ArgumentParser()
    serve.configure(parser)
    with (
        open(source, "rb") as read, open(sink, "wb") as written,
        redirect_stderr(StringIO()) as stderr,
    ):  # fmt: skip
        serve.serve(parser.parse_intermixed_args(words), (read.fileno(), written.fileno()))
    heard = [json.loads(each) for each in sink.read_text("utf-8").splitlines()]
    return Heard(heard, stderr.getvalue())


def journal(folder: Path) -> list[Entry]:
    """What the server wrote down, which must be whole."""
    directory = folder / ".agent" / "sessions" / SESSION
    report = verify(directory)
    assert report.ok, report
    return list(read_entries(directory))


def calls(folder: Path) -> list[tuple[str, Any]]:
    """Every call in the journal, with its reason."""
    return [
        (entry.fields["tool"], entry.fields["args"].get("why"))
        for entry in journal(folder)
        if entry.type == "tool_call"
    ]


def text_of(answer: dict[str, Any]) -> str:
    """The words of a result."""
    return "".join(part.get("text", "") for part in answer["result"]["content"])


def fault_of(answer: dict[str, Any]) -> dict[str, Any]:
    """The fault that a result is."""
    assert answer["result"]["isError"] is True
    error: dict[str, Any] = json.loads(text_of(answer))["error"]
    return error


class Lines:
    """A client that speaks the protocol line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[dict[str, Any]] = []
        """Everything that was no answer to what was asked."""
        self._ids = count(1)

    def send(self, text: str) -> None:
        """Say a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())

    async def greet(self, version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
        """Shake hands."""
        for each in greeting(version, **capabilities):
            self.send(each)
        return await self.answer(0)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer to a request."""
        number = next(self._ids)
        self.send(line(method, params, number))
        return await self.answer(number)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer to a call."""
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def answer(self, id: object) -> dict[str, Any]:
        """The answer to the request of that id."""
        return await self.until(lambda message: message.get("id") == id and "method" not in message)

    async def notified(self, method: str) -> dict[str, Any]:
        """The next notification or request of that name."""
        return await self.until(lambda message: message.get("method") == method)

    async def until(self, wanted: Any) -> dict[str, Any]:
        """The first message that is wanted, of those that were kept or that come."""
        for kept in self.heard:
            if wanted(kept):
                self.heard.remove(kept)
                return kept
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while True:
                text = await self.process.stdout.readline()
                assert text, "the server has ended"
                message: dict[str, Any] = json.loads(text)
                if wanted(message):
                    return message
                self.heard.append(message)

    async def leave(self) -> int:
        """Say nothing more, and wait for its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


@asynccontextmanager
async def served(folder: Path, *arguments: str, **environ: str) -> AsyncIterator[Lines]:
    """A running server."""
    process = await asyncio.create_subprocess_exec(
        *command(folder, *(arguments or ("prompts",))),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, cwd=folder, env={**os.environ, **environ}, limit=1 << 27,
    )  # fmt: skip
    try:
        yield Lines(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def program(folder: Path, *arguments: str) -> StdioServerParameters:
    """The server, as the SDK starts it."""
    first, *rest = command(folder, *(arguments or ("prompts",)))
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "WHENCE_ADMIN_FILE")}
    return StdioServerParameters(command=first, args=rest, env=kept, cwd=os.fspath(folder))
