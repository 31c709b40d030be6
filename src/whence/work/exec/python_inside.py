"""Runs somebody's Python inside the sandbox and reports what came of it. Imports nothing of ours.

A script of its own, run by `python -I -c`. On standard input come a line of JSON and the bytes that
it announces; a report of the same form goes to standard output. The code runs in a child, so that
whatever it does to its own process, its output and its files can still be reported.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import select
import signal
import sys
import time
import traceback
from types import ModuleType
from typing import Any

NAME = "<code>"
MOST_VALUE = 4_000_000
MOST_FILES = 100
MOST_LISTED = 10_000
MOST_DEEP = 20
MOST_FILE = 8_000_000
MOST_BYTES = 24_000_000
HALF_STREAM = 2_000_000
_TICK_MS = 20


class Kept:
    """The beginning and the end of a stream, and how much is missing between them."""

    def __init__(self, half: int) -> None:
        self.half, self.total = half, 0
        self.head, self.tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self.half - len(self.head)
        self.head += data[:room] if room > 0 else b""
        self.tail += data[room:] if room > 0 else data
        if len(self.tail) > 2 * self.half:
            del self.tail[: -self.half]

    def whole(self) -> tuple[bytes, int]:
        """What is left of it, and how many bytes are not."""
        tail = bytes(self.tail[-self.half :])
        return bytes(self.head) + tail, self.total - len(self.head) - len(tail)


def told(value: object) -> bytes:
    """A value as JSON (J), else as text (R), which may have been cut (T)."""
    try:
        text = json.dumps(value, allow_nan=False)
    except Exception:
        pass
    else:
        if len(text) <= MOST_VALUE:
            return b"J" + text.encode()
    try:
        shown = repr(value)
    except Exception as error:
        shown = f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    kind = b"T" if len(shown) > MOST_VALUE else b"R"
    return kind + shown[:MOST_VALUE].encode("utf-8", "backslashreplace")


def evaluate(code: str) -> object:
    """The value of the last statement, if it is an expression."""
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    names = main.__dict__
    exec(compile(tree, NAME, "exec", dont_inherit=True), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), NAME, "eval", dont_inherit=True), names)


def run(code: str, back: int) -> int:
    """Run the code in this process and send its value back; the exit status."""
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    sys.argv, sys.path[:0] = [NAME], [os.getcwd()]
    try:
        value = evaluate(code)
        if value is not None:
            send(back, told(value))
    except SystemExit:
        raise
    except BaseException as error:
        # The first frames are ours and would only confuse.
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
            trace = trace.tb_next
        sys.stdout.flush()
        traceback.print_exception(type(error), error, trace)
        send(back, b"E" + type(error).__name__.encode("utf-8", "backslashreplace"))
        return 1
    return 0


def send(descriptor: int, data: bytes) -> None:
    """Write everything."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def watch(child: int, sinks: dict[int, Kept], deadline: float) -> tuple[int, bool]:
    """Take what the child writes until it ends; its exit status, and whether it had to be ended."""
    poll, status, timed_out = select.poll(), None, False
    for descriptor in sinks:
        os.set_blocking(descriptor, False)
        poll.register(descriptor, select.POLLIN)
    waiting = set(sinks)
    while status is None:
        left = deadline - time.monotonic()
        if left <= 0:
            timed_out = True
            end(child)
        for descriptor, _ in poll.poll(_TICK_MS if waiting else 1):
            if not take(descriptor, sinks[descriptor]):
                poll.unregister(descriptor)
                waiting.discard(descriptor)
        ended, found = os.waitpid(child, 0 if timed_out else os.WNOHANG)
        status = found if ended else None
    end(child)
    for descriptor in waiting:
        while take(descriptor, sinks[descriptor]) and time.monotonic() < deadline + 1:
            continue
    return os.waitstatus_to_exitcode(status), timed_out


def take(descriptor: int, sink: Kept) -> bool:
    """Read once; False when there is nothing more."""
    try:
        data = os.read(descriptor, 65536)
    except BlockingIOError:
        return False
    sink.add(data)
    return bool(data)


def end(child: int) -> None:
    """End the child and its group."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


def found(given: dict[str, bytes]) -> tuple[list[tuple[str, int, bytes | None]], int]:
    """Files that are new or changed, with their content where it is not too much; and how many more."""
    files: list[tuple[str, int, bytes | None]] = []
    waiting, room, more = [""], MOST_BYTES, 0
    seen = 0
    while waiting and seen < MOST_LISTED:
        folder = waiting.pop(0)
        try:
            entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            seen += 1
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__" and path.count("/") < MOST_DEEP:
                    waiting.append(path)
            elif entry.is_file(follow_symlinks=False):
                data = content(path, min(room, MOST_FILE))
                if data is not None and given.get(path) == data:
                    continue
                if len(files) == MOST_FILES:
                    more += 1
                    continue
                files.append((path, entry.stat(follow_symlinks=False).st_size, data))
                room -= len(data or b"")
    return files, more + len(waiting)


def content(path: str, most: int) -> bytes | None:
    """A file's content; None where it is more or cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None


def report(head: dict[str, Any], parts: list[bytes]) -> None:
    """Say what came of it."""
    head["parts"] = [len(part) for part in parts]
    send(1, json.dumps(head).encode() + b"\n" + b"".join(parts))


def become(code: str, ends: list[int], close: list[int]) -> None:
    """Turn this process into the one that runs the code."""
    os.setsid()
    for descriptor in close:
        os.close(descriptor)
    out, err, back = ends
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdin = open(0, encoding="utf-8")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.exit(run(code, back))


def main() -> None:
    """Run the code of the request; the child does not come back from here."""
    head = json.loads(sys.stdin.buffer.readline())
    code = sys.stdin.buffer.read(head["code"]).decode()
    given = {path: sys.stdin.buffer.read(size) for path, size in head["files"]}
    place = os.path.join(os.environ.get("TMPDIR", "/tmp"), "work")
    os.mkdir(place)
    os.chdir(place)
    for path, data in given.items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
    pipes = [os.pipe() for _ in range(3)]
    ours, theirs = [read for read, _ in pipes], [write for _, write in pipes]
    child = os.fork()
    if child == 0:
        become(code, theirs, ours)
    for descriptor in theirs:
        os.close(descriptor)
    out, err, back = Kept(HALF_STREAM), Kept(HALF_STREAM), Kept(MOST_VALUE + 1)
    deadline = time.monotonic() + head["timeout_s"]
    status, timed_out = watch(child, dict(zip(ours, (out, err, back))), deadline)
    (stdout, lost_out), (stderr, lost_err), (value, _) = out.whole(), err.whole(), back.whole()
    files, more = found(given)
    listed = [[os.fsencode(path).decode("utf-8", "replace"), size, data is not None]
              for path, size, data in files]  # fmt: skip
    told = {"status": status, "timed_out": timed_out, "dropped": [lost_out, lost_err],
            "files": listed, "more_files": more}  # fmt: skip
    report(told, [stdout, stderr, value, *(data for _, _, data in files if data is not None)])


if __name__ == "__main__":
    main()
