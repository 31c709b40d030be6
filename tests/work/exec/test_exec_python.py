"""Python in the sandbox: what it says, what it leaves, and what it cannot do."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from typing import Any

import pytest
from tests.exec_driver import drive

from whence.execute.containment import Root
from whence.execute.files import WorkspaceFiles
from whence.execute.http import Http
from whence.execute.ports import Ports
from whence.execute.process import Processes
from whence.execute.sandbox.landlock import version
from whence.execute.sandbox.launched import Landlock, LimitsOnly
from whence.work.exec.python import run_python
from whence.work.exec.results import Evaluated

VALUES = {
    "1 + 1": 2,
    "x = 3\nx": 3,
    "x = 3": None,
    "": None,
    "# only a remark": None,
    "{'a': [1, None, True, 2.5], 'b': ('é', '😀')}": {"a": [1, None, True, 2.5], "b": ["é", "😀"]},
    "2 ** 100": 2**100,
    "{1, 2}": "{1, 2}",
    "float('nan')": "nan",
    "float('inf')": "inf",
    "b'ab'": "b'ab'",
    "x = {}\nx['x'] = x\nx": "{'x': {...}}",
    "10 ** 5000": "<int, whose repr raised ValueError>",
    "class A:\n    def __repr__(self): raise KeyError\nA()": "<A, whose repr raised KeyError>",
    "__name__": "__main__",
    "import sys\nsys.modules['__main__'].__dict__ is globals()": True,
}

FORGED = (
    "import os\n"
    "with open(f'/proc/{os.getppid()}/fd/1', 'w') as out:\n"
    '    out.write(\'{"status": 0, "timed_out": false, "dropped": [0, 0], "files": \'\n'
    '     \'[["/etc/shadow", -1, true]], "more_files": 0, "parts": [99999999, -5]}\\n\')\n'
    "os.kill(os.getppid(), 9)"
)


@pytest.mark.requirement("exec:python-value")
def test_the_value_is_that_of_the_last_expression_as_json_or_as_text(who: str) -> None:
    answers = drive(who, "python", VALUES)
    assert [answer["value"]["return_value"] for answer in answers] == list(VALUES.values())


def test_a_value_that_is_nested_deeper_than_others_can_walk_comes_as_text() -> None:
    (answer,) = drive("user", "python", ["x = []\nfor _ in range(200): x = [x]\nx"])
    assert answer["value"]["return_value"] == "[" * 201 + "]" * 201


@pytest.mark.requirement("exec:python-exceptions")
def test_an_exception_is_a_result_with_a_traceback_of_its_own_lines_only() -> None:
    code = "print('before')\ndef half(x):\n    return x / 0\nhalf(1)"
    raised, unreadable, left, gone = drive(
        "user", "python", [code, "def f(:", "import sys\nsys.exit(3)", "import os\nos._exit(7)"]
    )
    assert raised["value"]["stdout"] == "before\n"
    assert raised["value"]["return_value"] is None
    trace = raised["value"]["stderr"]
    assert trace.startswith('Traceback (most recent call last):\n  File "/')
    assert trace.count("code.py") == trace.count("File ") == 2
    assert "return x / 0" in trace
    assert trace.endswith("ZeroDivisionError: division by zero\n")
    assert "ZeroDivisionError" in raised["warnings"][0]
    assert "SyntaxError" in unreadable["value"]["stderr"]
    assert left["warnings"] == ["the interpreter ended with exit status 3"]
    assert gone["warnings"] == ["the interpreter ended with exit status 7"]


@pytest.mark.requirement("exec:python-artifacts")
def test_files_that_the_code_writes_are_listed_and_others_are_not() -> None:
    code = (
        "import os\n"
        "os.makedirs('plots/deep')\n"
        "open('plots/deep/a.bin', 'wb').write(bytes(range(256)))\n"
        "open('note.txt', 'w').write('hé')\n"
        "os.symlink('/etc/passwd', 'link')\n"
        "os.mkfifo('fifo')\n"
        "open(b'\\xff', 'w').write('odd')\n"
        "open('/tmp/elsewhere', 'w').write('x')\n"
    )
    (answer,) = drive("user", "python", [code])
    listed = {one["path"]: one for one in answer["value"]["artifacts"]}
    assert list(listed) == ["note.txt", "�", "plots/deep/a.bin"]
    assert listed["note.txt"]["content"] == "hé"
    binary = listed["plots/deep/a.bin"]
    assert binary["bytes"] == 256
    assert binary["sha256"] == hashlib.sha256(bytes(range(256))).hexdigest()
    assert "content" not in binary


@pytest.mark.requirement("exec:python-hostile")
def test_floods_bombs_and_litter_are_bounded(who: str) -> None:
    hostile = {
        "flood": "print('a' * 10**8)\nprint('end')",
        "memory": "bytearray(10**10)",
        "huge file": "open('huge', 'wb').truncate(200_000_000)",
        "full disk": "with open('f', 'wb') as f:\n    while True: f.write(bytes(10**7))",
        "many files": "for i in range(500): open(str(i), 'w').close()",
        "deep": "import os\nfor i in range(3000):\n    os.mkdir('d'); os.chdir('d')",
        "large value": "'x' * 10**8",
    }
    answers = dict(zip(hostile, drive(who, "python", hostile.values()), strict=True))
    flood = answers["flood"]["value"]["stdout"]
    assert len(flood) < 10**7
    assert flood.startswith("aaa")
    assert flood.endswith("a\nend\n")
    assert answers["flood"]["truncated"]
    assert "MemoryError" in answers["memory"]["value"]["stderr"]
    assert answers["huge file"]["warnings"] == ["too large to keep: huge"]
    assert "OSError" in answers["full disk"]["value"]["stderr"]
    assert len(answers["many files"]["value"]["artifacts"]) == 100
    assert answers["many files"]["warnings"] == ["at least 400 more files were not looked at"]
    assert "more files" in answers["deep"]["warnings"][0]
    assert len(answers["large value"]["value"]["return_value"]) < 10**7
    assert answers["large value"]["truncated"]


@pytest.mark.requirement("exec:python-hostile")
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while True: pass", id="loop"),
        pytest.param(
            "import threading, time\n"
            "threading.Thread(target=lambda: [time.sleep(1) for _ in iter(int, 1)]).start()",
            id="thread",
        ),
        pytest.param(
            "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", id="forks"
        ),
        pytest.param(
            "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
            "while True: time.sleep(1)",
            id="deaf",
        ),
        pytest.param("import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n"
                     "while True: pass", id="stops-its-keeper"),
    ],
)  # fmt: skip
def test_what_never_ends_is_ended_with_what_it_had_said(who: str, code: str) -> None:
    (answer,) = drive(who, "python", [f"print('begun')\n{code}"], timeout_ms=1500)
    assert answer["error"]["code"] == "TIMEOUT"
    if "SIGSTOP" not in code:
        assert answer["error"]["details"]["stdout"] == "begun\n"


@pytest.mark.requirement("exec:python-hostile")
def test_code_that_kills_its_keeper_or_forges_its_report_only_harms_itself() -> None:
    kill, forge, nonsense = drive(
        "user",
        "python",
        [
            "import os\nos.kill(os.getppid(), 9)\nwhile True: pass",
            FORGED,
            "import os\nopen(f'/proc/{os.getppid()}/fd/1', 'wb').write(b'\\xff' * 100)",
        ],
    )
    for answer in (kill, forge, nonsense):
        assert answer["value"]["artifacts"] == []
        assert "are lost" in answer["warnings"][0]


@pytest.mark.requirement("exec:isolated")
def test_the_code_has_no_network_no_home_and_no_secrets(who: str) -> None:
    code = (
        "import os, socket\n"
        "def refused(act):\n"
        "    try: act()\n"
        "    except OSError: return True\n"
        "[refused(lambda: socket.create_connection(('127.0.0.1', 22), 1)),\n"
        " refused(lambda: open('/etc/shadow').read()),\n"
        " refused(lambda: os.listdir('/root')),\n"
        " refused(lambda: open('/usr/x', 'w')),\n"
        " sorted(os.environ)]"
    )
    (answer,) = drive(who, "python", [code])
    *walls, names = answer["value"]["return_value"]
    isolation = answer["isolation"]
    if set(isolation.values()) != {"enforced"}:
        pytest.skip(f"this machine isolates only so far: {isolation}")
    assert walls == [True] * 4
    assert set(names) <= {"HOME", "LANG", "LC_CTYPE", "PATH", "PWD", "TMPDIR"}


def test_two_runs_share_nothing(who: str) -> None:
    temporary = "import tempfile\nplace = tempfile.gettempdir()\n"
    left, seen = drive(
        who,
        "python",
        [f"{temporary}open('left', 'w').write('x')\nopen(place + '/left', 'w').write('x')",
         f"{temporary}import os\nos.listdir('.') + os.listdir(place)"],
    )  # fmt: skip
    assert left["value"]["artifacts"][0]["path"] == "left"
    listed: list[Any] = seen["value"]["return_value"]
    assert "left" not in listed


@pytest.mark.requirement("exec:isolated")
@pytest.mark.parametrize("make", [Landlock, LimitsOnly], ids=["landlock", "limits-only"])
def test_on_a_weaker_level_it_works_and_says_how_far_it_is_kept_apart(make: Any) -> None:
    if make is Landlock and not version():
        pytest.skip("this kernel has no Landlock")
    files = WorkspaceFiles(Root(sys.prefix), {}, (), None)
    ports = Ports(files, Processes(sandbox=make()), Http())
    code = "open('made', 'w').write('x')\nopen('d/given').read()"
    reply = asyncio.run(run_python(ports, code, {"d/given": "g"}, 20_000))
    assert isinstance(reply.value, Evaluated)
    assert reply.value.return_value == "g"
    assert [one["path"] for one in reply.value.artifacts] == ["made"]
    assert reply.isolation is not None
    assert reply.isolation["filesystem"] != "enforced"
