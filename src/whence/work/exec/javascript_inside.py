"""Runs somebody's JavaScript inside the sandbox. Imports nothing of ours.

A script of its own, run by `python -I -S -c` with the directory of the engine for its argument. On
standard input come three lengths in a line, then the prelude, the code and its input as JSON. Each
line of standard output is a letter and JSON:

    L  a line for the console
    P  the value is a promise; D when it is settled; N at the end where it never was
    R  the value
    E  the name and the description of what was thrown
    U  why the engine cannot be used
    X  how many lines for the console were left out
    Z  the end
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # typing takes longer than most code to be run
if TYPE_CHECKING:
    from typing import Any

MOST_LOGS = 2_000_000
MOST_LINES = 10_000
MEMORY = 256_000_000
STACK = 4_000_000


class Report:
    """Writes what the code has to say, as long as it is not too much."""

    def __init__(self) -> None:
        self.room, self.lines, self.left_out, self.pending = MOST_LOGS, MOST_LINES, 0, False

    def emit(self, kind: str, text: str) -> None:
        """One line; called by the engine."""
        if kind == "L":
            self.room, self.lines = self.room - len(text), self.lines - 1
            if self.room < 0 or self.lines < 0:
                self.left_out += 1
                return
        self.pending = kind == "P" or (self.pending and kind != "D")
        send(f"{kind}{text}\n".encode())


def send(data: bytes) -> None:
    """Write everything, now: nothing is lost when the time is over."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def evaluate(quickjs: Any, prelude: str, code: str, given: str, report: Report) -> None:
    """Run the code, and then whatever it left for later."""
    context = quickjs.Context()
    context.set_memory_limit(MEMORY)
    context.set_max_stack_size(STACK)
    context.add_callable("__emit", report.emit)
    context.set("__input", given)
    context.eval(prelude)
    run, wait, fire = (context.get(name) for name in ("__run", "__wait", "__fire"))
    context.eval("delete globalThis.__run; delete globalThis.__wait; delete globalThis.__fire")
    run(code)
    while True:
        while context.execute_pending_job():
            continue
        delay = wait()
        if delay < 0:
            return
        time.sleep(delay / 1000)
        fire()


def main() -> None:
    """Run the code of the request."""
    source = sys.stdin.buffer
    sizes = [int(size) for size in source.readline().split()]
    prelude, code, given = (source.read(size) for size in sizes)
    sys.path[:0] = sys.argv[1:]
    try:
        import _quickjs as quickjs  # type: ignore[import-not-found]
    except ImportError as error:
        send(f"U{error}\n".encode())
        return
    report = Report()
    try:
        evaluate(quickjs, prelude.decode(), code.decode(), given.decode(), report)
    except quickjs.JSException as error:  # where not even the description of an error found room
        text = str(error).encode("unicode_escape").decode().replace('"', "'")
        send(f'E["","{text}"]\n'.encode())
    if report.pending:
        send(b"N\n")
    if report.left_out:
        send(f"X{report.left_out}\n".encode())
    send(b"Z\n")


if __name__ == "__main__":
    main()
