"""JavaScript in the sandbox: its value, its console, and what it cannot do."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.exec_driver import drive

from whence.errors import ExecutionFailed, Unavailable
from whence.execute.containment import Root
from whence.execute.files import WorkspaceFiles
from whence.execute.http import Http
from whence.execute.ports import Ports
from whence.execute.process import Processes
from whence.shapes.process import Finished, Program
from whence.work.exec import javascript
from whence.work.exec.javascript import run_javascript

pytest.importorskip("_quickjs", reason="the extra js is not installed")

VALUES = {
    "1 + 1": 2,
    "const x = 3; x * 2": 6,
    "({a: [1, null, true, 2.5, 'é😀']})": {"a": [1, None, True, 2.5, "é😀"]},
    "": None,
    "undefined": None,
    "return 5": 5,
    "const x = await Promise.resolve(4);\nreturn x": 4,
    "Promise.resolve([1])": [1],
    "new Promise(done => setTimeout(() => done('late'), 20))": "late",
    "10n ** 30n": str(10**30),
    "NaN": "NaN",
    "new Map([['a', new Set([1, 2])]])": {"a": [1, 2]},
    "(x => x)": "x => x",
    "Symbol('s')": "Symbol(s)",
    "const o = {}; o.o = o; o": "[object Object]",
    "Object.create(null)": {},
    "({toJSON() { throw 1 }})": "[object Object]",
    "[..'x'.repeat(3)].length": None,
    "JSON.stringify = () => 'mine'; Array.prototype.map = null; ({b: 1})": {"b": 1},
    "[3, 1].toSorted()": [1, 3],
    "typeof require + typeof process + typeof fetch + typeof std": "undefined" * 4,
}


@pytest.mark.requirement("exec:js-value")
def test_the_value_is_the_last_one_or_what_is_returned_or_resolved(who: str) -> None:
    answers = drive(who, "javascript", VALUES)
    assert [answer["value"]["result"] for answer in answers] == list(VALUES.values())


@pytest.mark.requirement("exec:js-logs")
def test_the_console_becomes_lines_in_order() -> None:
    code = (
        "console.log('a', 1, {b: [2]}, null, undefined, () => 1);\n"
        "console.warn('w'); console.error(new TypeError('t')); console.info();\n"
        "console.log('\\ud800');\n"
        "setTimeout(() => console.log('second'), 2); setTimeout(() => console.log('first'), 1);\n"
        "const gone = setTimeout(() => console.log('never')); clearTimeout(gone);\n"
        "queueMicrotask(() => console.log('soon')); 7"
    )
    (answer,) = drive("user", "javascript", [code])
    assert answer["value"]["result"] == 7
    first, warned, error, empty, _, *later = answer["value"]["logs"]
    assert first == 'a 1 {"b":[2]} null "undefined" "() => 1"'
    assert warned == "warn: w"
    assert error.startswith("error: TypeError: t\n")
    assert empty == ""
    assert later == ["soon", "first", "second"]


@pytest.mark.requirement("exec:js-thrown")
def test_what_is_thrown_is_a_result_that_says_where() -> None:
    thrown = {
        "1;\nnull.x": "TypeError: cannot read property 'x' of null\n    at <eval> (<input>:2:1)",
        "let = ;": "SyntaxError: unexpected token in expression: ';'\n    at <input>:1:7",
        "JSON.parse('{')": "SyntaxError: Expected property name",
        "throw {a: 1}": '{"a":1}',
        "throw 'words'": "words",
        "Promise.reject(new RangeError('r'))": "RangeError: r",
        "await 0; null.x": "TypeError: cannot read property 'x' of null\n    at <anonymous> (<in",
        "setTimeout(() => { throw new Error('later') }); undefined": "Error: later",
        "import x from 'fs'": "SyntaxError",
    }
    for code, answer in zip(thrown, drive("user", "javascript", thrown), strict=True):
        assert answer["value"]["result"] is None
        (line,) = answer["value"]["logs"]
        assert line.startswith(f"Uncaught {thrown[code]}")
        assert "evaluated" not in line
        assert "the code threw" in answer["warnings"][0]


def test_code_that_throws_a_syntax_error_when_it_runs_is_not_run_twice() -> None:
    twice = ["console.log(1); JSON.parse('{')", "console.log(1); eval('(')"]
    answers = drive("user", "javascript", twice)
    assert [len(answer["value"]["logs"]) for answer in answers] == [2, 2]


def test_a_promise_that_is_never_settled_is_said_to_be_so() -> None:
    (answer,) = drive("user", "javascript", ["new Promise(() => {})"])
    assert answer["value"] == {"result": None, "logs": []}
    assert "never settled" in answer["warnings"][0]


@pytest.mark.requirement("exec:js-hostile")
def test_bombs_and_recursion_are_errors_inside_and_floods_are_cut(who: str) -> None:
    memory, strings, stack, flood, large = drive(
        who,
        "javascript",
        [
            "const a = []; while (true) a.push(new Array(1e6).fill(1))",
            "let s = 'x'; while (true) s += s",
            "function f() { return f() + 1 }; f()",
            "for (let i = 0; i < 50000; i++) console.log('x'.repeat(100)); 'done'",
            "'x'.repeat(2e7)",
        ],
    )
    assert "out of memory" in memory["value"]["logs"][-1]
    assert strings["value"]["logs"][-1].startswith("Uncaught ")
    assert "call stack size" in stack["value"]["logs"][-1]
    assert flood["value"]["result"] == "done"
    assert len(flood["value"]["logs"]) == 10_000
    assert flood["truncated"]
    assert "40000 more lines" in flood["warnings"][0]
    assert len(large["value"]["result"]) == 4_000_000
    assert large["truncated"]


@pytest.mark.requirement("exec:js-hostile")
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while (true);", id="loop"),
        pytest.param("const f = () => { Promise.resolve().then(f) }; f()", id="promises"),
        pytest.param("const f = () => setTimeout(f, 1); f()", id="timers"),
        pytest.param("/(a+)+$/.test('a'.repeat(40) + 'b')", id="pattern"),
    ],
)
def test_what_never_ends_is_ended_with_its_lines(who: str, code: str) -> None:
    (answer,) = drive(who, "javascript", [f"console.log('begun'); {code}"], timeout_ms=1000)
    assert answer["error"]["code"] == "TIMEOUT"
    assert answer["error"]["details"]["logs"] == "begun"


@pytest.mark.requirement("exec:js-missing")
def test_without_the_engine_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(javascript, "_ENGINE", "no_such_engine")
    with pytest.raises(Unavailable, match="not installed") as caught:
        asyncio.run(run_javascript(_ports(), "1", None, 1000))
    assert "whence[js]" in caught.value.suggestion


@pytest.mark.requirement("exec:js-hostile")
def test_an_engine_that_crashes_is_a_fault_and_takes_nothing_along() -> None:
    class Crashing(Processes):
        """As if the engine had been brought to its knees by its code."""

        async def run(self, program: Program, **told: Any) -> Finished:
            crash = "import os, sys; sys.stdin.buffer.read(); os.abort()"
            broken = Program((program.argv[0], "-I", "-c", crash), program.cwd,
                             program.confinement, stdin=program.stdin)  # fmt: skip
            return await super().run(broken, **told)

    with pytest.raises(ExecutionFailed, match="signal 6"):
        asyncio.run(run_javascript(_ports(Crashing()), "1", None, 5000))


def test_an_engine_that_cannot_be_loaded_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "_quickjs.abi3.so").write_bytes(b"not a library")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "_quickjs")
    with pytest.raises(Unavailable, match="cannot be used"):
        asyncio.run(run_javascript(_ports(), "1", None, 5000))


@pytest.mark.requirement("exec:isolated")
def test_how_far_it_was_kept_apart_is_told() -> None:
    reply = asyncio.run(run_javascript(_ports(), "input.n", {"n": 5}, 5000))
    assert reply.isolation == Processes().isolation().as_json()
    assert reply.value.result == 5  # type: ignore[attr-defined]


def _ports(processes: Processes | None = None) -> Ports:
    files = WorkspaceFiles(Root(sys.prefix), {}, (), None)
    return Ports(files, processes or Processes(), Http())
