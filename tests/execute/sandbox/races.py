"""Programs that change the workspace behind our back, run by root or by somebody else.

Everything is imported first, since the project may lie where an ordinary user cannot read it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.execute.sandbox.driver import SANDBOXES, leave_root
from whence.errors import WhenceError
from whence.execute.process import Processes
from whence.shapes.process import Confinement, Program

ROUNDS = 12
SECRET = "not for programs"
REACH = (
    "import os\n"
    "for top, folders, files in os.walk('.', followlinks=True):\n"
    " for name in files:\n"
    "  try: print(open(os.path.join(top, name), errors='replace').read())\n"
    "  except OSError as error: print(error.strerror)\n"
)
"""Prints whatever it can read."""
SWAP = (
    "import ctypes, os, sys\n"
    "libc = ctypes.CDLL(None)\n"
    "os.makedirs('new/.git'); os.symlink(sys.argv[1], 'new/other')\n"
    "print('on', flush=True)\n"
    "while True: libc.renameat2(-100, b'new/.git', -100, b'new/other', 2)\n"
)
"""Puts a link to the outside in the place of a directory, and back, for ever."""
HIDE = (
    "import ctypes, os\n"
    "libc = ctypes.CDLL(None)\n"
    "os.mkdir('other'); print('on', flush=True)\n"
    "while True:\n"
    " libc.renameat2(-100, b'deep', -100, b'other', 2)\n"
    " libc.unlink(b'deep/.env'); libc.unlink(b'other/.env')\n"
)
"""Lets a directory with a secret and an empty one change places, for ever.

The secret is covered here and cannot be removed; what is made in the empty one can.
"""
BUSY = (
    "import os\nos.mkdir('made'); print('on', flush=True)\n"
    "while True:\n open('made/file', 'w').close(); os.rename('made/file', 'made/other')\n"
)
"""Makes and moves files that are nobody's secrets, for ever."""
FORGE = (
    "import os\nbefore = os.stat('.')\nos.rename('deep', 'moved')\n"
    "os.utime('.', ns=(before.st_atime_ns, before.st_mtime_ns))\n"
)
"""Moves a directory with a secret, and sets the clock of the directory above it back."""


def raced(who: str, sandbox: str, race: str) -> Any:
    """What came of a race, run by root or by somebody else."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.execute.sandbox.races", who, sandbox, race],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


class Course:
    """A workspace, an outside with a secret, and a runner of programs."""

    def __init__(self, home: Path, sandbox: str) -> None:
        self.workspace, self.outside = home / "workspace", home / "outside"
        for folder in (self.workspace, self.outside):
            folder.mkdir()
        (self.outside / "config").write_text(SECRET)
        self._processes = Processes(grace_s=0.2, sandbox=SANDBOXES[sandbox]())

    async def run(self, script: str, *words: str, cwd: str = "", **more: Any) -> str:
        """What a script printed, or the code of the error that it came to."""
        place = str(self.workspace)
        argv = ("/usr/bin/python3", "-I", "-S", "-c", script, *words)
        program = Program(argv, str(self.workspace / cwd), Confinement((place,)))
        try:
            return (await self._processes.run(program, **more)).output.decode()
        except WhenceError as error:
            return error.code

    async def settle(self) -> None:
        """Let the directory become old enough to be remembered, and be looked at."""
        await asyncio.sleep(0.1)
        await self.run("pass")


async def forged_time(course: Course) -> list[str]:
    """A directory with a secret is moved, and the times are as they were."""
    (course.workspace / "deep").mkdir()
    (course.workspace / "deep" / ".env").write_text(SECRET)
    await course.settle()
    before = await course.run(REACH)
    await course.run(FORGE)
    return [before, await course.run(REACH)]


async def replaced_directory(course: Course) -> list[str]:
    """The working directory has become a link to the outside."""
    (course.workspace / "here").symlink_to(course.outside)
    return [await course.run(REACH, cwd="here")]


async def swapped_lock(course: Course) -> list[str]:
    """While one program swaps a directory for a link, others are started, again and again."""
    return await beside(course, SWAP)


async def moved_secret(course: Course) -> list[str]:
    """While one program moves a secret about, others are started, again and again."""
    (course.workspace / "deep").mkdir()
    (course.workspace / "deep" / ".env").write_text(SECRET)
    return await beside(course, HIDE)


async def no_race(course: Course) -> list[str]:
    """One program runs and changes nothing that matters; others are started beside it."""
    for name in (".ssh/id_rsa", "deep/.env", ".git/config"):
        (course.workspace / name).parent.mkdir(exist_ok=True)
        (course.workspace / name).write_text(name)
    return await beside(course, BUSY)


async def beside(course: Course, script: str) -> list[str]:
    """What programs see that are started while a script runs."""
    begun = asyncio.Event()
    swapping = asyncio.create_task(
        course.run(script, str(course.outside), on_output=lambda chunk: begun.set())
    )
    async with asyncio.timeout(30):
        await begun.wait()
    seen = [await course.run(REACH) for _ in range(ROUNDS)]
    swapping.cancel()
    with suppress(asyncio.CancelledError):
        await swapping
    return seen


RACES: dict[str, Callable[[Course], Coroutine[Any, Any, list[str]]]] = {
    "forged time": forged_time,
    "replaced directory": replaced_directory,
    "swapped lock": swapped_lock,
    "moved secret": moved_secret,
    "no race": no_race,
}


def main() -> None:
    who, sandbox, race = sys.argv[1:]
    if os.geteuid() == 0 and who == "user":
        leave_root()
    with tempfile.TemporaryDirectory(prefix="whence-race-") as home:
        print(json.dumps(asyncio.run(RACES[race](Course(Path(home), sandbox)))))


if __name__ == "__main__":
    main()
