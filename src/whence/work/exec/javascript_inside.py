"""Runs somebody's JavaScript inside the sandbox. Imports nothing of ours.

A script of its own, run by `python -I -S -c` with the directory of the engine for its argument. It
is compiled anew for every call, so that it is short: what the prelude can do, the prelude does. On
standard input come three lengths in a line, then the prelude, the code and its input as JSON. Each
line of standard output is a letter and a text:

    L  a line for the console, as JSON; standard error gets it at once, as it is
    R  the value, as JSON
    E  the name and the description of what was thrown, as JSON
    F  an error that the prelude could not describe any more
    N  its promise was never settled
    X  how many lines for the console were left out
    U  why the engine cannot be used
    Z  the end
"""

import os
import sys
import time

TYPE_CHECKING = False  # typing takes longer than most code to be run
if TYPE_CHECKING:
    from typing import Any


def emit(kind: str, text: object, shown: object = None) -> None:
    """Write a line, now: nothing is lost when the time is over."""
    if shown is not None:
        send(2, f"{shown}\n".encode())
    send(1, f"{kind}{text}\n".encode())


def send(to: int, data: bytes) -> None:
    """Write everything."""
    while data:
        data = data[os.write(to, data) :]


def evaluate(engine: "Any", prelude: str, code: str, given: str) -> None:
    """Run the code, and then whatever it left for later."""
    context = engine.Context()
    context.set_memory_limit(256_000_000)
    context.set_max_stack_size(4_000_000)
    context.add_callable("__emit", emit)
    context.set("__input", given)
    turn = context.eval(prelude)
    delay = turn(code)
    while delay >= 0:
        time.sleep(delay / 1000)
        while context.execute_pending_job():
            pass
        delay = turn()


def main() -> None:
    """Run the code of the request."""
    source = sys.stdin.buffer
    sizes = source.readline().split()
    parts = [source.read(int(size)).decode() for size in sizes]
    sys.path.insert(0, sys.argv[1])
    try:
        import _quickjs  # type: ignore[import-not-found]
    except ImportError as error:
        return emit("U", error)
    try:
        evaluate(_quickjs, *parts)
    except _quickjs.JSException as error:
        emit("F", " ".join(str(error).split()))
    return emit("Z", "")


if __name__ == "__main__":
    main()
    os._exit(0)  # tidying up would take longer than most code
