"""Load for an MCP server: one client for all of them, by hand, so that only the servers differ."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import orjson

from benchmarks.measure import environment

VERSION = "2025-11-25"
_HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_LIMIT = 1 << 24
_START_S = 60

Params: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls cost, in seconds."""

    elapsed: float
    """Of one call, on the average."""
    cpu: float
    """Of one call, that the server used."""
    p99: float
    """That 99 of 100 calls waited at most."""

    def least(self, other: Cost) -> Cost:
        """The better of both, in each respect."""
        return Cost(
            min(self.elapsed, other.elapsed), min(self.cpu, other.cpu), min(self.p99, other.p99)
        )


@dataclass(frozen=True, slots=True)
class Program:
    """A server that can be started; one that is to listen gets its port as the last argument."""

    command: Sequence[str | os.PathLike[str]]
    call: Params
    """The parameters of its `tools/call`."""
    token: str = ""


class Client(Protocol):
    """A session with a server."""

    async def ask(self, method: str, params: Params) -> Any:
        """The result of one request."""

    async def hurry(self, params: Params, calls: int, at_once: int) -> list[float]:
        """How long each of many calls took, of which so many are under way at a time."""

    async def close(self) -> None:
        """End it."""


class Serving:
    """A server that runs, and a client that has listed its tools.

    Args:
        program: what is started.
        runner: runs the client.
        sessions: how many connections to a port there are; 0 is standard input and output.
    """

    def __init__(self, program: Program, runner: asyncio.Runner, sessions: int = 0) -> None:
        self._program = program
        self._runner = runner
        self._port = _free_port() if sessions else None
        pipe = subprocess.PIPE if self._port is None else subprocess.DEVNULL
        port = [] if self._port is None else [str(self._port)]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the server
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            [*program.command, *port], env=environment(), stdin=pipe, stdout=pipe,
            stderr=self._said,
        )  # fmt: skip
        try:
            self._clients = runner.run(self._connect(max(sessions, 1)))
        except Exception as error:
            self._process.kill()
            self._said.seek(0)
            said = self._said.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{program.command} does not serve: {said}") from error
        self.start = Cost(time.perf_counter() - begun, self.cpu(), 0)
        """What it took until the tools were listed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            self._runner.run(client.close())
        if self._port is not None:
            self._process.terminate()
        self._process.wait()
        self._said.close()

    def cpu(self) -> float:
        """CPU seconds that the server has used, in all its threads."""
        return time.clock_gettime(~self._process.pid << 3 | 2)

    def memory(self) -> float:
        """KiB that the server holds."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return float(status.partition("VmRSS:")[2].split()[0])

    def load(self, calls: int, at_once: int) -> Cost:
        """Make calls, on one pipe or on as many connections."""
        before, begun = self.cpu(), time.perf_counter()
        waits = self._runner.run(self._hurry(calls, at_once))
        elapsed, used = time.perf_counter() - begun, self.cpu() - before
        return Cost(elapsed / len(waits), used / len(waits), sorted(waits)[len(waits) * 99 // 100])

    async def _hurry(self, calls: int, at_once: int) -> list[float]:
        call = self._program.call
        if self._port is None:
            return await self._clients[0].hurry(call, calls, at_once)
        chosen = self._clients[:at_once]
        waits = await asyncio.gather(*(one.hurry(call, calls // at_once, 1) for one in chosen))
        return [wait for one in waits for wait in one]

    async def _connect(self, sessions: int) -> list[Client]:
        async with asyncio.timeout(_START_S):
            clients = [await self._client() for _ in range(sessions)]
            await clients[0].ask("tools/list", {})
            return clients

    async def _client(self) -> Client:
        if self._port is None:
            return await PipeClient.open(self._process)
        while True:
            try:
                return await WebClient.open(self._port, self._program.token)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)


class PipeClient:
    """Requests as lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, process: subprocess.Popen[bytes]) -> Self:
        """A session on the pipes of a process."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(_LIMIT)
        protocol = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: protocol, process.stdout)
        transport, flow = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, process.stdin
        )
        client = cls(reader, asyncio.StreamWriter(transport, flow, None, loop))
        await client.ask("initialize", _HELLO)
        client._writer.write(_note("notifications/initialized") + b"\n")
        return client

    async def ask(self, method: str, params: Params) -> Any:
        """The result of one request."""
        self._writer.write(_request(0, method, params) + b"\n")
        return _answer(await self._reader.readline())[1]

    async def hurry(self, params: Params, calls: int, at_once: int) -> list[float]:
        """How long each of many calls took, of which so many are under way at a time."""
        begun: dict[int, float] = {}
        waits: list[float] = []

        def send() -> None:
            number = len(begun) + 1
            begun[number] = time.perf_counter()
            self._writer.write(_request(number, "tools/call", params) + b"\n")

        for _ in range(at_once):
            send()
        while len(waits) < calls:
            number, _ = _answer(await self._reader.readline())
            waits.append(time.perf_counter() - begun[number])
            if len(begun) < calls:
                send()
        return waits

    async def close(self) -> None:
        """End it."""
        self._writer.close()


class WebClient:
    """Requests as POSTs on a connection that is kept."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._fields = [
            "POST /mcp HTTP/1.1", f"host: 127.0.0.1:{port}", "content-type: application/json",
            "accept: application/json, text/event-stream", f"authorization: Bearer {token}",
        ]  # fmt: skip

    @classmethod
    async def open(cls, port: int, token: str) -> Self:
        """A session with the server on a port."""
        client = cls(port, token)
        await client._connect()
        head, _ = await client._post(_request(0, "initialize", _HELLO))
        session = head[b"mcp-session-id"].decode()
        client._fields += [f"mcp-session-id: {session}", f"mcp-protocol-version: {VERSION}"]
        await client._post(_note("notifications/initialized"))
        return client

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._port, limit=_LIMIT
        )

    async def ask(self, method: str, params: Params) -> Any:
        """The result of one request."""
        return _answer((await self._post(_request(0, method, params)))[1])[1]

    async def hurry(self, params: Params, calls: int, at_once: int) -> list[float]:
        """How long each of many calls took, one after another."""
        self._writer.close()  # servers do so with connections that were idle for some seconds
        await self._connect()
        waits = []
        for number in range(calls):
            begun = time.perf_counter()
            _answer((await self._post(_request(number, "tools/call", params)))[1])
            waits.append(time.perf_counter() - begun)
        return waits

    async def close(self) -> None:
        """End it."""
        self._writer.close()

    async def _post(self, body: bytes) -> tuple[dict[bytes, bytes], bytes]:
        fields = (*self._fields, f"content-length: {len(body)}", "", "")
        self._writer.write("\r\n".join(fields).encode() + body)
        status, *lines = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
        if b" 20" not in status:
            raise RuntimeError(f"the server answers {status.decode()}")
        head = {name.lower(): value for name, value in (line.split(b": ", 1) for line in lines)}
        said = await self._body(head)
        if b"event-stream" in head.get(b"content-type", b""):
            said = next(line[6:] for line in said.splitlines() if line.startswith(b"data: "))
        return head, said

    async def _body(self, head: Mapping[bytes, bytes]) -> bytes:
        if b"transfer-encoding" not in head:
            return await self._reader.readexactly(int(head.get(b"content-length", b"0")))
        said = b""
        while size := int(await self._reader.readline(), 16):
            said += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return said


def _request(number: int, method: str, params: Params) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def _note(method: str) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "method": method})


def _answer(text: bytes) -> tuple[int, Any]:
    """The number of a request and its result."""
    answer = orjson.loads(text)
    if "result" not in answer or answer["result"].get("isError"):
        raise RuntimeError(f"the server did not do it: {text[:500]!r}")
    return answer["id"], answer["result"]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
