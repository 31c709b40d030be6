"""A server that speaks chat completions from a script: `t10` calls a tool in ten turns, then ends.

`p50` makes fifty calls in one turn. It prints its port and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
ARGUMENTS = json.dumps(
    {"path": "src/a.txt", "limit": 0, "why": "Find out where the settings are read"}
)


def chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    body = {
        "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "bench",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }  # fmt: skip
    return piece(b"data: " + json.dumps(body).encode() + b"\n\n")


def piece(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def call(position: int, number: int) -> bytes:
    arguments = ARGUMENTS.replace('"limit": 0', f'"limit": {number}')
    function = {"name": "read", "arguments": arguments}
    made = {"index": position, "id": f"c{number}", "type": "function", "function": function}
    return chunk({"tool_calls": [made]})


def answer(body: bytes) -> bytes:
    kind, amount = json.loads(body[: body.index(b"messages") - 2] + b"}")["model"], 0
    kind, amount = kind[0], int(kind[1:])
    done = body.count(b'"tool_call_id"')
    if kind == "t" and done < amount:
        said = [call(0, done)]
    elif kind == "p" and done == 0:
        said = [call(position, position) for position in range(amount)]
    else:
        words = [chunk({"content": f"word{n} "}) for n in range(10)]
        return b"".join((*words, chunk({}, "stop"), piece(b"data: [DONE]\n\n"), b"0\r\n\r\n"))
    return b"".join((*said, chunk({}, "tool_calls"), piece(b"data: [DONE]\n\n"), b"0\r\n\r\n"))


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            break
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        body = await reader.readexactly(int(fields[b"content-length"]))
        writer.write(HEAD + answer(body))
        await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


asyncio.run(main())
