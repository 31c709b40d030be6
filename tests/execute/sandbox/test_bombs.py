"""Programs that use up whatever they can get."""

from __future__ import annotations

import signal

import pytest

from tests.execute.sandbox.driver import drive
from tests.execute.sandbox.leftovers import all_gone
from whence.execute.sandbox.choose import best_sandbox


@pytest.mark.requirement("sandbox:fork-bomb")
def test_a_program_cannot_have_more_processes_than_it_may(who: str, level: str) -> None:
    if level == "landlock" and who == "root":
        pytest.skip("there the kernel does not count what root runs")
    script = (
        "import os,signal\nmade=[]\n"
        "try:\n while len(made) < 500:\n  pid=os.fork()\n  if not pid: signal.pause()\n"
        "  made.append(pid)\n"
        "except BlockingIOError: print('refused')\n"
        "print(len(made))\n"
    )

    ended = drive(who, level, script=script, resources={"processes": 30})

    refused, made = ended["output"].split()
    most = 30 if level == "bubblewrap" else 400  # elsewhere all that a user runs is counted
    assert (refused, int(made) <= most) == ("refused", True)


@pytest.mark.requirement("sandbox:fork-bomb")
def test_a_fork_bomb_ends_with_its_time(who: str, level: str, token: str) -> None:
    script = f"# {token}\nimport os\nwhile 1:\n try: os.fork()\n except OSError: pass\n"
    if level == "landlock" and who == "root":
        pytest.skip("there the kernel does not count what root runs")

    ended = drive(who, level, script=script, resources={"processes": 60}, timeout_s=0.5)

    assert ended["timed_out"]
    assert all_gone(token)


@pytest.mark.requirement("sandbox:memory-bomb")
@pytest.mark.parametrize(
    "ask", ["bytearray(1 << 30)", "mmap.mmap(-1, 3 << 30)"], ids=["own", "map"]
)
def test_a_memory_bomb_is_refused_its_memory(who: str, level: str, ask: str) -> None:
    script = f"import mmap\ntry: {ask}\nexcept (MemoryError, OSError): print('refused')\n"

    ended = drive(who, level, script=script, resources={"memory_bytes": 256_000_000})

    assert ended["output"] == "refused\n"


@pytest.mark.requirement("sandbox:disk")
def test_a_file_cannot_grow_beyond_its_limit(who: str, level: str) -> None:
    script = (
        "f=open('big','wb',buffering=0)\n"
        "try:\n while 1: f.write(bytes(100_000))\n"
        "except OSError as error: print(error.strerror)\n"
    )

    ended = drive(who, level, script=script, resources={"file_bytes": 1_000_000})

    assert (ended["output"], ended["left"]) == ("File too large\n", 1_003_520)


@pytest.mark.requirement("sandbox:disk")
def test_a_program_that_fills_the_disk_with_many_files_is_ended(who: str, level: str) -> None:
    script = (
        "import itertools\n"
        "for n in itertools.count():\n open(f'f{n % 400}','wb').write(bytes(1_000_000))\n"
    )

    ended = drive(who, level, script=script, resources={"disk_bytes": 30_000_000})

    assert (ended["exceeded"], ended["timed_out"]) == ("disk", False)


@pytest.mark.requirement("sandbox:disk")
def test_temporary_files_are_bounded_like_memory(who: str) -> None:
    if best_sandbox().name != "bubblewrap":
        pytest.skip("there is no file system of its own at this level")
    script = (
        "import os\nfor place in ('/tmp','/dev/shm','/dev','/'):\n"
        " try:\n  for n in range(1000): open(f'{place}/f{n}','wb').write(bytes(1_000_000))\n"
        " except OSError as error: print(n < 100, error.strerror)\n"
    )

    ended = drive(who, "bubblewrap", script=script, resources={"memory_bytes": 100_000_000})

    room, shut = "True No space left on device\n", "True Read-only file system\n"
    assert ended["output"] == room + room + shut + shut


@pytest.mark.requirement("sandbox:flood")
def test_a_flood_of_output_costs_no_memory_and_is_counted(who: str, level: str) -> None:
    script = "import os\nfor _ in range(1000): os.write(1 + _ % 2, bytes(1_000_000))\n"

    ended = drive(who, level, script=script, keep_bytes=100_000)

    assert ended["exit_code"] == 0
    assert (len(ended["output"]), ended["dropped"]) == (100_000, 1_000_000_000 - 100_000)
    assert ended["peak_kib"] < 200_000


@pytest.mark.requirement("sandbox:limits")
def test_processor_time_is_limited(who: str, level: str) -> None:
    ended = drive(who, level, script="while 1: pass", resources={"cpu_s": 1})

    assert ended["exit_code"] in (-signal.SIGXCPU, -signal.SIGKILL)
    assert not ended["timed_out"]


@pytest.mark.requirement("sandbox:limits")
def test_descriptors_are_limited(who: str, level: str) -> None:
    script = (
        "import os\nn=0\n"
        "try:\n while 1: os.open('/dev/null', 0); n+=1\n"
        "except OSError as error: print(n < 50, error.strerror)\n"
    )

    ended = drive(who, level, script=script, resources={"descriptors": 50})

    assert ended["output"] == "True Too many open files\n"
