"""Runs somebody's Python inside the sandbox and reports what came of it. Imports nothing of ours.

A script of its own, run by `python -I -c`. On standard input come a line of JSON and the bytes that
it announces; a report of the same form goes to standard output. The code runs in a child, so that
whatever it does to its own process, its output and its files can still be reported. Standard error
gets the beginning of that output, both streams of it, as it comes.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from _ast import Expr, Expression

TYPE_CHECKING = False  # typing, traceback, ast and signal take longer than most code to be run
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_VALUE = 4_000_000
MOST_FILES = 100
MOST_COUNTED = 10_000
MOST_FOLDERS = 1_000
MOST_FILE = 8_000_000
MOST_BYTES = 24_000_000
HALF_STREAM = 2_000_000
MOST_LIVE = 1_000_000
_TICK_MS = 20
_ONLY_PARSE = 0x400
_KILL = 9


class Kept:
    """The beginning and the end of a stream, and how much is missing between them."""

    def __init__(self, half: int, live: int = 0) -> None:
        self.half, self.live, self.total = half, live, 0
        self.head, self.tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        """Take the next bytes, and show them at once."""
        if self.total < self.live:
            send(2, data)
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


def encoded(value: object) -> str | None:
    """A value as JSON, if it can be."""
    try:
        return json.dumps(value, allow_nan=False)
    except Exception:  # noqa: BLE001 - a value may raise whatever it likes
        return None


def told(value: object) -> bytes:
    """A value as JSON (J), else as text (R), which may have been cut (T)."""
    text = encoded(value)
    if text is not None and len(text) <= MOST_VALUE:
        return b"J" + text.encode()
    try:
        shown = repr(value)
    except Exception as error:  # noqa: BLE001 - it is not our code that raises
        shown = f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    kind = b"T" if len(shown) > MOST_VALUE else b"R"
    return kind + shown[:MOST_VALUE].encode("utf-8", "backslashreplace")


def evaluate(code: str, name: str) -> object:
    """The value of the last statement, if it is an expression."""
    tree: Any = compile(code, name, "exec", _ONLY_PARSE, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], Expr) else None
    main = type(sys)("__main__")
    main.__file__ = name
    sys.modules["__main__"] = main
    names = main.__dict__
    exec(compile(tree, name, "exec", dont_inherit=True), names)  # noqa: S102 - what this is for
    if last is None:
        return None
    final = compile(Expression(last.value), name, "eval", dont_inherit=True)
    return eval(final, names)  # noqa: S307 - as above


def run(code: str, name: str, back: int) -> int:
    """Run the code in this process and send its value back; the exit status."""
    sys.argv, sys.path[:0] = [name], [os.getcwd()]
    try:
        value = evaluate(code, name)
        if value is not None:
            send(back, told(value))
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - an exception of the code is a result
        # The first frames are ours and would only confuse.
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        sys.stderr = sys.__stderr__
        sys.__excepthook__(type(error), error.with_traceback(trace), trace)
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
        os.killpg(child, _KILL)
    except ProcessLookupError:
        return


def files_below(unseen: list[str]) -> Iterator[tuple[str, int]]:
    """Regular files with their sizes, those further up first; links are not followed.

    Directories that could not be looked into, or were too many, are added to `unseen`.
    """
    waiting, left = [""], MOST_FOLDERS
    while waiting:
        folder, left = waiting.pop(0), left - 1
        if left < 0:
            unseen += [folder, *waiting]
            return
        try:
            entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
        except OSError:
            unseen.append(folder)
            continue
        for entry in entries:
            path = os.path.join(folder, entry.name)
            if entry.is_file(follow_symlinks=False):
                yield path, entry.stat(follow_symlinks=False).st_size
            elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                waiting.append(path)


def found(given: dict[str, bytes]) -> tuple[list[tuple[str, int, bytes | None]], int]:
    """Files that are new or changed, with their content where that is not too much.

    Also how many more there are, as far as they are counted.
    """
    files: list[tuple[str, int, bytes | None]] = []
    room, more, unseen = MOST_BYTES, 0, list[str]()
    for path, size in files_below(unseen):
        if len(files) == MOST_FILES:
            more += 1
            if more == MOST_COUNTED:
                break
            continue
        data = content(path, min(room, MOST_FILE)) if size <= room else None
        if data is None or given.get(path) != data:
            files.append((path, size, data))
            room -= len(data or b"")
    return files, more + len(unseen)


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


def become(code: str, name: str, ends: list[int], close: list[int]) -> None:
    """Turn this process into the one that runs the code."""
    os.setsid()
    for descriptor in close:
        os.close(descriptor)
    out, err, back = ends
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdin = os.fdopen(0)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.exit(run(code, name, back))


def prepared(code: str, given: dict[str, bytes]) -> str:
    """Go to a directory that has nothing but the given files; the name of the code's own file.

    That one lies beside the directory, so that tracebacks can show its lines.
    """
    place = os.environ.get("TMPDIR", "/tmp")  # noqa: S108 - one of its own
    name = os.path.join(place, "code.py")
    with open(name, "x", encoding="utf-8") as file:
        file.write(code)
    os.mkdir(os.path.join(place, "work"))
    os.chdir(os.path.join(place, "work"))
    for path, data in given.items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "xb") as given_file:
            given_file.write(data)
    return name


def main() -> None:
    """Run the code of the request; the child does not come back from here."""
    head = json.loads(sys.stdin.buffer.readline())
    code = sys.stdin.buffer.read(head["code"]).decode()
    given = {path: sys.stdin.buffer.read(size) for path, size in head["files"]}
    name = prepared(code, given)
    ours, theirs = map(list, zip(*(os.pipe() for _ in range(3))))  # noqa: B905 - any Python 3
    child = os.fork()
    if child == 0:
        become(code, name, theirs, ours)
    for descriptor in theirs:
        os.close(descriptor)
    streams = [Kept(HALF_STREAM, MOST_LIVE), Kept(HALF_STREAM, MOST_LIVE)]
    sinks = [*streams, Kept(MOST_VALUE + 1)]
    deadline = time.monotonic() + head["timeout_s"]
    status, timed_out = watch(child, dict(zip(ours, sinks)), deadline)  # noqa: B905
    parts, dropped = map(list, zip(*(sink.whole() for sink in sinks)))  # noqa: B905
    files, more = found(given)
    listed = [
        (os.fsencode(path).decode("utf-8", "replace"), size, data is not None)
        for path, size, data in files
    ]
    ended = {"status": status, "timed_out": timed_out, "dropped": dropped[:2]}
    contents = [data for _, _, data in files if data is not None]
    report({**ended, "files": listed, "more_files": more}, parts + contents)


if __name__ == "__main__":
    main()
