"""Programs that will not end, and programs whose starter is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.execute.sandbox.driver import drive
from tests.execute.sandbox.leftovers import all_gone, with_token


@pytest.mark.requirement("process:timeout")
def test_who_ignores_the_request_to_end_is_ended(who: str, level: str, token: str) -> None:
    script = (
        f"# {token}\nimport os,signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.fork(); print('on', flush=True)\nwhile 1: signal.pause()\n"
    )

    ended = drive(who, level, script=script, timeout_s=0.5)

    assert (ended["timed_out"], ended["exit_code"]) == (True, -signal.SIGKILL)
    assert all_gone(token)


@pytest.mark.requirement("process:daemons")
def test_a_daemon_does_not_survive_its_program(who: str, level: str, token: str) -> None:
    script = (
        f"# {token}\nimport os,signal\nread,write=os.pipe()\n"
        "if os.fork(): print(os.read(read,1), flush=True); os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "os.close(1); os.close(2); os.write(write,b'x')\nwhile 1: signal.pause()\n"
    )

    ended = drive(who, level, script=script)

    assert (ended["exit_code"], ended["output"]) == (0, "b'x'\n")
    assert all_gone(token)


@pytest.mark.requirement("process:daemons")
def test_children_of_threads_are_ended(who: str, level: str, token: str) -> None:
    script = (
        f"# {token}\nimport os,signal,threading\nread,write=os.pipe()\n"
        "def begin():\n"
        " if not os.fork():\n"
        "  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "  os.close(1); os.close(2); os.write(write,b'x')\n  while 1: signal.pause()\n"
        " threading.Event().wait()\n"
        "threading.Thread(target=begin, daemon=True).start()\n"
        "print(os.read(read,1), flush=True)\nos._exit(0)\n"
    )

    ended = drive(who, level, script=script)

    assert (ended["exit_code"], ended["output"]) == (0, "b'x'\n")
    assert all_gone(token)


@contextmanager
def temporary_files() -> Iterator[str]:
    """A place for those of somebody who is killed and cannot remove them; anybody may write."""
    with tempfile.TemporaryDirectory(prefix="whence-killed-") as place:
        os.chmod(place, 0o777)
        yield place


@pytest.mark.requirement("process:orphans")
def test_all_ends_when_whence_is_killed(who: str, level: str, token: str) -> None:
    script = (
        f"# {token}\nimport os,signal\nif not os.fork(): os.setsid()\n"
        "print('on', flush=True)\nwhile 1: signal.pause()\n"
    )
    request = {"who": who, "sandbox": level, "script": script, "live": True}
    with (
        temporary_files() as place,
        subprocess.Popen(
            [sys.executable, "-m", "tests.execute.sandbox.driver", json.dumps(request)],
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": place},
        ) as running,
    ):
        assert running.stdout is not None
        assert running.stdout.readline() == b"on\n"
        assert running.stdout.readline() == b"on\n"
        inside = [pid for pid in with_token(token) if pid != running.pid]
        running.kill()

        assert len(inside) >= 2
        assert all_gone(token)
