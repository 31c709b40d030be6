"""Searches with ripgrep: makes its command line and reads its plain output."""

from __future__ import annotations

import os
import re
from shutil import which

from whence.errors import ExecutionFailed, TimedOut, WhenceError
from whence.shapes.process import ProcessStreamer
from whence.work.lexical.hits import (
    AROUND,
    NOTHING_SEARCHED,
    SNIFFED,
    Found,
    Hit,
    Query,
    bad_glob,
    bad_pattern,
    binary,
    found,
    partly_binary,
    readable,
    timed_out,
    unreadable,
)

# Sorted output is what makes a limited answer the same every time and lets the search stop at the
# limit. It binds ripgrep to one thread: more elapsed time on many cores, but less work in all (0.80
# against 1.04 s of CPU over 105,000 files). Plain output, because JSON repeats lines of any length.
_FLAGS = (
    "--no-config", "--sort=path", "--hidden", "--crlf", "--no-mmap",
    "--no-require-git", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global",
    "--no-ignore-messages", "--color=never", "--no-heading", "--with-filename", "--null",
    "--line-number", f"--context={AROUND}", "--no-context-separator",
    "--max-columns=2100", "--max-columns-preview",
)  # fmt: skip
_EXCLUDED = ("--glob=!.git", "--glob=!/.agent/sessions")

_LINE = re.compile(rb"(.*?)\0(\d+)([:-])(.*)", re.DOTALL)
_NUL_NOTE = re.compile(
    rb"(.*): (?:WARNING: stopped searching binary file after match|binary file matches) "
    rb"\(found .* byte around offset \d+\)"
)
_FILE_NOTE = re.compile(
    r"^(?:rg: )?(/.*?)(?:: IO error for operation on .*)?: ([^:]*) \(os error \d+\)$", re.MULTILINE
)
_CARETS = re.compile(r"^(.*)\n( *)\^+ *$", re.MULTILINE)


def installed(root: str) -> str | None:
    """Where ripgrep is; None: nowhere.

    One inside the workspace does not count, whatever the PATH says: a program that a sandbox let
    write there could have put it there, and would be run without any.
    """
    inside = os.path.join(os.path.realpath(root), "")
    outside = [
        entry
        for entry in os.get_exec_path()
        if os.path.isabs(entry) and not f"{os.path.realpath(entry)}/".startswith(inside)
    ]
    found = which("rg", path=os.pathsep.join(outside))
    return None if found is None or os.path.realpath(found).startswith(inside) else found


async def search(query: Query, runner: ProcessStreamer, rg: str) -> Found:
    """What ripgrep finds, stopped as soon as there is one hit too many."""
    if query.is_file and _is_binary(query.target):
        return found(query, [], [binary(query.shown(os.fsencode(query.target)))], "rg")
    # The last matching glob decides, so ours come after the caller's.
    globs = () if query.glob is None else (f"--glob={query.glob}",)
    closed = [f"--glob=!{pattern}" for pattern in query.closed]
    common = [rg, *_FLAGS, *globs, *_EXCLUDED, *closed]
    output = _Output(query)
    try:
        await _run([*common, "--", query.pattern], runner, output)
        if query.glob is not None and not output.hits and not query.is_file:
            await _look_for_files([*common, "--files", "--"], runner, output)
    except TimedOut as late:
        raise timed_out(query, output.seen) from late
    return found(query, output.hits, output.warnings, "rg")


async def _run(command: list[str], runner: ProcessStreamer, output: _Output) -> None:
    # The path is absolute: ripgrep 13 errs about relative ones with ignore files above them.
    query = output.query
    argv = [*command, query.target]
    async with runner.stream(argv, cwd=query.base, timeout_s=query.timeout_s) as stream:
        async for line in stream:
            output.add(line)
            if output.is_full:
                break
        else:
            output.end(stream.returncode, stream.stderr.decode("utf-8", "replace"))
    output.close_run()


async def _look_for_files(command: list[str], runner: ProcessStreamer, output: _Output) -> None:
    """Warn if there was nothing to search."""
    query = output.query
    argv = [*command, query.target]
    async with runner.stream(argv, cwd=query.base, timeout_s=query.timeout_s) as stream:
        if await anext(stream, None) is None:
            output.warnings.append(NOTHING_SEARCHED)


def _is_binary(path: str) -> bool:
    """Whether a file that is named as the scope is binary: ripgrep would search it all the same."""
    try:
        with open(path, "rb") as file:
            head = file.read(SNIFFED)
    except OSError:
        return False  # ripgrep says what is wrong with it
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


class _Output:
    """Puts hits and their context together from ripgrep's numbered lines."""

    def __init__(self, query: Query) -> None:
        self.hits: list[Hit] = []
        self.warnings: list[str] = []
        self.seen = 0
        self.query = query
        self._unfinished = b""
        self._path = b""
        self._last = 0
        self._run: list[tuple[bool, bytes]] = []
        self._due = 0

    @property
    def is_full(self) -> bool:
        """Whether a hit too many was seen, and the last one that counts has its context."""
        return self.seen > self.query.cap and self._last >= self._due

    def add(self, line: bytes) -> None:
        """Take a line of output."""
        numbered = _LINE.fullmatch(self._unfinished + line)
        if numbered is None:
            self._add_other(line)
            return
        self._unfinished = b""
        path, number, mark, text = numbered.groups()
        self._add_text(path, int(number), mark == b":", text)

    def end(self, returncode: int | None, stderr: str) -> None:
        """Take the end of the output.

        Raises:
            InvalidArgs: ripgrep does not understand the pattern or the glob.
            ExecutionFailed: It broke down.
        """
        said = stderr.removeprefix("rg: ")
        # A remark about a file begins with its path, and the search goes on after it.
        if returncode not in (0, 1) and not (returncode == 2 and said.startswith("/")):
            raise _refusal(self.query, returncode, said)
        for note in _FILE_NOTE.finditer(stderr):
            self.warnings.append(unreadable(self.query.shown(os.fsencode(note[1])), note[2]))

    def _add_other(self, line: bytes) -> None:
        """Take a line without a number: a remark, or the beginning of a name with a newline."""
        if note := _NUL_NOTE.fullmatch(line):
            self.warnings.append(partly_binary(self.query.shown(note[1])))
        else:
            self._unfinished += line + b"\n"

    def _add_text(self, path: bytes, number: int, matches: bool, text: bytes) -> None:
        if path != self._path or number != self._last + 1:
            self.close_run()
        self._path, self._last = path, number
        self._run.append((matches, text))
        self.seen += matches
        if matches and self.seen == self.query.cap:
            self._due = number + AROUND

    def close_run(self) -> None:
        """Make hits of the lines that came without a gap."""
        path, first = self.query.shown(self._path), self._last - len(self._run) + 1
        for index, (matches, text) in enumerate(self._run):
            if matches:
                around = self._run[max(0, index - AROUND) : index]
                around += self._run[index + 1 : index + 1 + AROUND]
                context = tuple(readable(line) for _, line in around)
                self.hits.append(Hit(path, first + index, readable(text), context))
        self._run = []
        self._due = 0


def _refusal(query: Query, returncode: int | None, stderr: str) -> WhenceError:
    """The error for a search that ripgrep did not begin or not finish."""
    said = stderr.partition("\n\n")[0].strip()
    if returncode != 2:
        return ExecutionFailed(
            f"ripgrep ended with status {returncode}: {said[:500]}",
            "Search again with a narrower scope.",
        )
    if query.glob is not None and said.startswith("error parsing glob"):
        return bad_glob(query, said.partition("': ")[2])
    carets = _CARETS.search(said)
    position = None
    if carets is not None and query.pattern in carets[1]:
        position = len(carets[2]) - carets[1].index(query.pattern)
    return bad_pattern(query, said.rpartition("error: ")[2], position)
