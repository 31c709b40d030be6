"""Command lines: what is read is what shells do, and what is not sure is not read."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.declare.shell_grammar import LONGEST, read_line
from whence.gate.word_match import words_fit
from whence.shapes.command import Commands, Kind, Known, Part, Word

SHELLS = [shell for shell in ("/bin/sh", "/bin/bash", "/bin/dash") if os.access(shell, os.X_OK)]


def simple(commands: Commands) -> list[list[str]]:
    """The words of every simple command, as written where they are not exact."""
    return [
        [word.text if word.known is Known.EXACT else f"?{word.source}" for word in part.words]
        for segment in commands.segments
        for part in segment
        if part.kind is Kind.COMMAND
    ]


def around(commands: Commands) -> list[str]:
    """Signs and extras, as written."""
    parts = [part for segment in commands.segments for part in segment]
    signs = [part.source for part in parts if part.kind is Kind.SIGN]
    return signs + [extra.source for part in parts for extra in part.extras]


@pytest.mark.parametrize(
    ("line", "words", "others"),
    [
        ("git log", [["git", "log"]], []),
        ("'git'  \"log\" a\\ b ''", [["git", "log", "a b", ""]], []),
        ('echo "a\\$b\\n" \'$(x)\'', [["echo", "a$b\\n", "$(x)"]], []),
        ("a \\\n  b", [["a", "b"]], []),
        ("a b # c; d", [["a", "b"]], []),
        ("a#b", [["a#b"]], []),
        ("find . -exec rm {} +", [["find", ".", "-exec", "rm", "{}", "+"]], []),
        ("[ -f x ]", [["[", "-f", "x", "]"]], []),
        ("a | b && c || d; e &", [["a"], ["b"], ["c"], ["d"], ["e"]], ["|", "&&", "||", ";", "&"]),
        ("a\n\n b\n", [["a"], ["b"]], ["\\n"]),
        ("a &&\n b", [["a"], ["b"]], ["&&"]),
        ("(a; b) > f", [["a"], ["b"], []], ["()", ";", "> f"]),
        ("FOO=1 B='x y' make", [["make"]], ["FOO=1", "B='x y'"]),
        ("FOO=1", [[]], ["FOO=1"]),
        ("make FOO=1", [["make", "FOO=1"]], []),
        ("a > f 2>> g <h 2>&1", [["a"]], ["> f", "2>> g", "< h", "2>& 1"]),
        ("echo 2>f", [["echo"]], ["2> f"]),
        ("echo a2>f", [["echo", "a2"]], ["> f"]),
        ("echo $(rm -rf x) `id`", [["echo", "?$(rm -rf x)", "?`id`"], ["rm", "-rf", "x"], ["id"]],
         ["$()", "$()"]),
        ('echo "$(a "$(b)")"', [["echo", '?"$(a "$(b)")"'], ["a", '?"$(b)"'], ["b"]],
         ["$()", "$()"]),
        ("ls *.py \\* '?'", [["ls", "?*.py", "*", "?"]], []),
        ("echo $HOME ${X} ~/x", [["echo", "?$HOME", "?${X}", "?~/x"]], ["$HOME", "$X", "~"]),
        ("$X y", [["?$X", "y"]], ["$X"]),
        ("cat <<'E' | sh\nrm $x\nE\nls", [["cat"], ["sh"], ["ls"]], ["|", "\\n", "<< 'E'…"]),
        ('"if" x', [["if", "x"]], []),
    ],
)  # fmt: skip
@pytest.mark.requirement("rules:grammar")
def test_every_simple_command_and_every_construct_is_found(
    line: str, words: list[list[str]], others: list[str]
) -> None:
    read = read_line(line)
    assert read.unread == ""
    assert simple(read) == words
    assert around(read) == others


@pytest.mark.parametrize(
    "line",
    [
        "", "  ", "# only a comment", "a &&", "a |", "| a", "a ;; b", "a & & b", "(a", "a)", "(a))",
        "'a", '"a', "a \\", "$(a", "`a", "echo a\\\nb", '"a\\\nb"', "echo $'x'", 'echo $"x"',
        "ls {a,b}", "ls {1..3}", "{ a; }", "x+=1 rm y", "x[0]=1 rm y", "x=(1 2)", "a |& b",
        "a &> f", "a >& f", "a >&- b", "a <<< b", "diff <(a) <(b)", "a >(b)", "echo ${x:-$(id)}",
        "echo ${x@P}", "echo ${!x}", "echo $((1+1))", "((1))", "echo $[1]", "f() { a; }",
        "f () { a; }", "function f { a; }", "if a; then b; fi", "for i in a; do b; done",
        "while a; do b; done", "case a in a) b;; esac", "! a", "time a", "coproc a", "[[ a ]]",
        "select i in a; do b; done", "cat <<E\n$(id)\nE\n", "cat <<E\n`id`\nE\n", "cat <<E\nx",
        "cat <<-E\n\tx\nE\n", "cat << $X\nx\n", "echo `a \"b\"`", "echo `a \\`b\\``", "a 12>f",
        "echo $(cat <<E\nx\nE\n)", "a >", "a > ; b", "\0", "a" * (LONGEST + 1),
        "echo " + "$(" * 40 + "a" + ")" * 40, "a;" * 40_000, "echo " + "$(a) " * 19_000,
    ],
    ids=lambda line: repr(line[:24]),
)  # fmt: skip
@pytest.mark.requirement("rules:fails-closed")
def test_what_shells_read_differently_or_what_is_a_program_is_not_read(line: str) -> None:
    assert read_line(line).unread


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose only program, `args`, writes its words down."""
    folder = tmp_path_factory.mktemp("shell")
    program = folder / "bin" / "args"
    program.parent.mkdir()
    program.write_text(
        f"""#!/bin/sh\nprintf '%s\\0' "$#" "$@" >> '{folder}/log'\necho args said\n""", "utf-8"
    )
    program.chmod(0o755)
    return folder


def really_run(shell: str, line: str, folder: Path) -> list[list[str]]:
    """The words that `args` was really started with."""
    place = folder / "cwd"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (folder / "log").write_bytes(b"")
    environment = {"PATH": str(folder / "bin"), "HOME": "/nowhere", "LC_ALL": "C.UTF-8", "X": "x y"}
    subprocess.run(
        [shell, "-c", line], cwd=place, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    fields = (folder / "log").read_bytes().split(b"\0")[:-1]
    found: list[list[str]] = []
    while fields:
        count = int(fields[0])
        found.append([field.decode("utf-8", "surrogateescape") for field in fields[1 : count + 1]])
        fields = fields[count + 1 :]
    return found


PLAIN = st.text(st.sampled_from("ab*?[]'\"\\$ \t=~#!%^:,.-+/é{}()`"), max_size=12)


@settings(max_examples=250, deadline=None)
@given(rest=PLAIN)
@pytest.mark.requirement("rules:real-shell")
def test_one_simple_command_gets_exactly_the_words_that_were_read(
    recorder: Path, rest: str
) -> None:
    line = f"args {rest}"
    read = read_line(line)
    if read.unread or len(read.segments) > 1 or len(read.segments[0]) > 1:
        return
    (part,) = read.segments[0]
    if part.extras or any(word.known is not Known.EXACT for word in part.words):
        return
    for shell in SHELLS:
        assert really_run(shell, line, recorder) == [[word.text for word in part.words[1:]]]


PIECES = st.sampled_from(
    ["args", "args", "args", "a", "'b c'", '"d"', "\\e", "$(", "$(args", ")", ";", "&&", "|", "||",
     "\n", "\n", "#", "(", "`args y`", "\\\n", "=", "X=1", "{", "}", "*", "$X", '"$X"', '"', "'",
     "<<E\nq\nE\n", "<<'E'\n$(args h)\nE\n", "if", "then", "fi", ">f", "2>&1", "!", "<", "&", "$",
     "~", "''", "-x", "eval", "\\", "`", '"$(args z)"', "<(args", "time", ";;", "[", "12", ">"]
)  # fmt: skip
LINES = st.lists(st.tuples(PIECES, st.sampled_from([" ", " ", ""])), min_size=1, max_size=9).map(
    lambda pieces: "".join(piece + gap for piece, gap in pieces)
)


@settings(max_examples=600, deadline=None)
@given(line=LINES)
@pytest.mark.requirement("rules:real-shell")
def test_nothing_runs_that_was_not_read(recorder: Path, line: str) -> None:
    """Whatever a shell starts is among the commands that were found, or the line was not read."""
    read = read_line(line)
    if read.unread or "eval" in line:
        return
    parts = [part for segment in read.segments for part in segment if part.kind is Kind.COMMAND]
    for shell in SHELLS:
        for words in really_run(shell, line, recorder):
            started = tuple(Word.exact(word) for word in ("args", *words))
            assert any(_may_be(part, started) for part in parts), (shell, words)


def _may_be(part: Part, started: tuple[Word, ...]) -> bool:
    return bool(part.words) and words_fit(started, part.words, loose=True)


@settings(max_examples=500, deadline=None)
@given(line=st.text(max_size=60))
def test_any_text_is_read_or_refused_and_never_fails(line: str) -> None:
    read = read_line(line)
    assert read.line == line
    assert read.unread or any(read.segments)
