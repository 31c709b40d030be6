"""Rows 2 and 11: reading, resuming and appending to a long agent file, and listing its tools."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import peers
from benchmarks.measure import Ratio, Result, compare, of_command, of_function, peak_memory
from benchmarks.startup import WHENCE
from whence.chatmd.append import append
from whence.chatmd.parse import parse
from whence.chatmd.render import render_message, render_tool_call, render_tool_response
from whence.chatmd.resume import resume

LARGE = 50_000_000
SMALL = LARGE // 10
LAST = 200
LIBRARIAN = Path(__file__).parents[1] / "examples" / "librarian.chatmd"
NEEDED = """
import sys
before = set(sys.modules)
from whence.cli import main
main(["tools", sys.argv[1]])
print(", ".join(m for m in sys.modules if m not in before), file=sys.stderr, end="")
"""
PARSE = "import sys; from whence.chatmd.parse import parse; parse(open(sys.argv[1], 'rb').read())"
NOTHING = "import sys; import whence.chatmd.parse"


def ratios() -> Iterator[Result]:
    yield from _tools()
    with tempfile.TemporaryDirectory() as directory:
        large, small = Path(directory, "large.chatmd"), Path(directory, "small.chatmd")
        empty = Path(directory, "empty.chatmd")
        for path, size in ((large, LARGE), (small, SMALL), (empty, 0)):
            path.write_bytes(_transcript(size))
        yield from _whole(large, small)
        yield from _ends(large, empty)


def _tools() -> Iterator[Result]:
    what = f"whence tools FILE ÷ llm tools list ({peers.LLM.requirement})"
    ours = of_command(WHENCE, "tools", LIBRARIAN)
    try:
        llm = of_command(peers.programs(peers.LLM) / "llm", "tools", "list")
    except peers.Missing as missing:
        yield missing.instead("2", what)
    else:
        yield compare("2", what, ours, llm, goal=0.12)
    needed = subprocess.run(
        [sys.executable, "-c", NEEDED, LIBRARIAN], capture_output=True, text=True, check=True
    )
    floor = of_command(sys.executable, "-c", f"import {needed.stderr}")
    what = "whence tools FILE ÷ python importing what it needs"
    yield compare("2", what, ours, floor, goal=1.3, rounds=9)


def _whole(large: Path, small: Path) -> Iterator[Result]:
    ours = of_function(lambda: parse(large.read_bytes()))
    less = of_function(lambda: parse(small.read_bytes()))
    floor = of_function(lambda: _line_machine(large))
    yield compare("11", "reading 50 MB ÷ a line state machine", ours, floor, goal=2)
    yield compare("11", "reading 50 MB ÷ reading 5 MB", ours, less, goal=13)
    what = f"reading 50 MB ÷ loading the same conversation, {peers.PYDANTIC_AI.requirement}"
    turns = large.read_bytes().count(b"<user>")
    try:
        with peers.driving(peers.PYDANTIC_AI, "pydantic_ai_load.py") as driver:
            yield compare("11", what, ours, lambda: driver(turns), goal=0.15)
    except peers.Missing as missing:
        yield missing.instead("11", what)
    used = peak_memory(sys.executable, "-c", PARSE, large) - peak_memory(
        sys.executable, "-c", NOTHING
    )
    yield Ratio("11", "reading 50 MB, peak memory ÷ the file", used * 1024, LARGE, 3)


def _ends(large: Path, empty: Path) -> Iterator[Result]:
    resumed = of_function(lambda: resume(large, LAST), 20)
    sought = of_function(lambda: _seek(large, LAST), 20)
    yield compare("11", f"resuming 50 MB, last {LAST} ÷ seek and split", resumed, sought, goal=2)
    turn = render_message("user", "and then?") + render_message("assistant", "word " * 200)
    ours = of_function(lambda: append(large, turn, durable=False), 50)
    floor = of_function(lambda: append(empty, turn, durable=False), 50)
    yield compare("11", "appending a turn to 50 MB ÷ to an empty file", ours, floor, goal=1.3)


def _transcript(size: int) -> bytes:
    """Questions, calls, outcomes and answers until there are enough of them."""
    pieces = [b'<config model="x"/>\n<tool name="fs.read"/>\n']
    length = number = 0
    while length < size:
        call = f"call-{number}"
        turn = (
            render_message("user", f"What is in file {number}? " + "please " * 20)
            + render_tool_call(call, "fs_read", f'{{"path": "file-{number}"}}', inline=True)
            + render_tool_response(call, "line of text\n" * 150, inline=True)
            + render_message("assistant", "It says: " + "word " * 150)
        )
        pieces.append(turn.text)
        length += len(turn.text)
        number += 1
    return b"".join(pieces)


def _line_machine(path: Path) -> list[tuple[bytes, int, int]]:
    """The least that finds every element: one look at the beginning of each line."""
    found: list[tuple[bytes, int, int]] = []
    inside, start, position = b"", 0, 0
    with open(path, "rb") as file:
        for line in file:
            if not inside and line.startswith(b"<"):
                name = line[1:].split(None, 1)[0].rstrip(b">/\n")
                if line.rstrip().endswith((b"/>", b"</" + name + b">")):
                    found.append((name, position, position + len(line)))
                else:
                    inside, start = b"</" + name, position
            elif inside and line.startswith(inside):
                found.append((inside, start, position + len(line)))
                inside = b""
            position += len(line)
    return found


def _seek(path: Path, count: int) -> list[bytes]:
    """The last elements by seeking from the end, as text."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        block = count * 1536
        while True:
            file.seek(max(0, size - block))
            parts = file.read().split(b"\n</")
            if len(parts) > count or block >= size:
                return parts[-count:]
            block *= 2
