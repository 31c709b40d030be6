"""What happens in a run, for a person at a terminal, a pipe or a program."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any, BinaryIO, Protocol

from whence.cli.status import Status, columns
from whence.cli.text import fitted, harmless, json_bytes, width_of
from whence.errors import WhenceError
from whence.loop.news import (
    CallEnded,
    CallStarted,
    Compacted,
    Finished,
    News,
    Notice,
    Output,
    TextPiece,
    Thought,
    TurnEnded,
    as_json,
)
from whence.provider.model import Waiting
from whence.shapes.call import Fault

_LEAST = 12
_MODEL = "waiting for the model"


class Reporter(Protocol):
    """Told everything; closed at the end, also of a run that failed."""

    def __call__(self, news: News, /) -> None:
        """Show it, or not."""
        ...

    def start(self) -> None:
        """The event loop runs."""
        ...

    def fail(self, error: WhenceError) -> None:
        """The run has ended without an answer."""
        ...

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to somebody else for a while."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


def reporter(*, as_json: bool, quiet: bool) -> Reporter:
    """The one for where the output goes."""
    if as_json:
        return JsonLines(sys.stdout.buffer)
    live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Lines(sys.stdout, sys.stderr, quiet=quiet, live=live)


class JsonLines:
    """One event per line."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def __call__(self, news: News, /) -> None:
        """Write it at once."""
        self._write(as_json(news))

    def start(self) -> None:
        """Nothing is drawn."""

    def fail(self, error: WhenceError) -> None:
        """The last event: what went wrong."""
        self._write({"type": "failed", "error": Fault.of(error).as_json()})

    def _write(self, event: dict[str, Any]) -> None:
        self._out.write(json_bytes(event) + b"\n")
        self._out.flush()

    def aside(self) -> AbstractContextManager[None]:
        """Nothing but events goes to this side."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is held back."""


class Lines:
    """The answer streams to one side, a line per call goes to the other.

    Words that a model says before its calls are comments on its work, not the answer: until it is
    known which they are, a terminal sees them as they come and a pipe does not see them at all.
    """

    def __init__(self, out: IO[str], err: IO[str], *, quiet: bool, live: bool) -> None:
        self._out = out
        self._err = err
        self._quiet = quiet
        self._live = live
        self._streams = out.isatty()
        self._done, self._failed, self._more = _marks(err)
        self._words: list[str] = []
        self._half_line = False
        """Whether the terminal's last line is one of the answer's."""
        self._said = False
        """Whether the words are an answer that is whole."""
        self._running: dict[str, tuple[str, str]] = {}
        self._held: list[str] | None = None
        """Lines that wait until a question is answered."""
        self._status = Status(err, live=live and not quiet)
        self._wait(_MODEL)

    def __call__(self, news: News, /) -> None:
        """Show it where it belongs."""
        match news:
            case TextPiece(parent=None):
                self._say(news.text)
            case TurnEnded(parent=None):
                self._said = True
                if news.calls:
                    self._comment()
            case Finished(parent=None):
                self._finish(news.result.text)
            case _:
                self._tell(news)

    def start(self) -> None:
        """From now on the progress line shows the time."""
        self._status.tick()

    def fail(self, error: WhenceError) -> None:
        """It is said by whoever ends the program."""

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to a question."""
        return self._leave()

    def close(self) -> None:
        """Leave no half line behind."""
        self._status.clear()
        self._end_line()
        self._out.flush()

    def _tell(self, news: News) -> None:
        match news:
            case CallStarted():
                self._running[news.call_id] = (news.tool, news.why)
                self._show_running()
            case CallEnded():
                _, why = self._running.pop(news.call_id, ("", ""))
                self._line(self._called(news, why), news.parent)
                self._advise(news)
                self._show_running()
            case Waiting():
                self._line(f"{self._more} {news.reason}: asking again in {news.seconds:.2g} s")
                self._wait(_MODEL)
            case Notice():
                self._line(news.text, news.parent)
            case Compacted():
                self._line(f"summed up {news.items} items of the conversation", news.parent)
            case Output() if news.text.strip():
                self._wait(news.text.strip().rpartition("\n")[2])
            case Thought(parent=None):
                self._wait("thinking")

    @contextmanager
    def _leave(self) -> Iterator[None]:
        self._end_line()
        self._held = []
        try:
            with self._status.aside():
                yield
        finally:
            held, self._held = self._held, None
            for line in held:
                self._write(line)
        self._show_running()

    def _show_running(self) -> None:
        if not self._running:
            self._wait(_MODEL)
            return
        tool, why = next(reversed(self._running.values()))
        others = f" (and {len(self._running) - 1} more)" if len(self._running) > 1 else ""
        self._wait(f"{tool}{others}: {why}")

    def _wait(self, text: str) -> None:
        if not self._half_line:
            self._status.show(f"{self._more} {text}")

    def _say(self, text: str) -> None:
        if self._said:
            self._comment()
        self._words.append(text)
        if self._streams:
            self._status.clear()
            self._out.write(_printable(text))
            self._out.flush()
            self._half_line = True
        else:
            self._wait("the model answers")

    def _comment(self) -> None:
        """The words were not the answer."""
        words = "".join(self._words).strip()
        self._words.clear()
        self._said = False
        if self._streams:
            self._end_line()
        elif words:
            self._line(words.replace("\n", " "))

    def _finish(self, answer: str) -> None:
        self._status.clear()
        if not (self._streams and self._words):
            self._out.write(f"{_printable(answer) if self._streams else answer}\n")
        self._end_line()
        self._out.flush()

    def _end_line(self) -> None:
        if self._half_line:
            self._out.write("\n")
            self._out.flush()
            self._half_line = False

    def _line(self, text: str, parent: str | None = None) -> None:
        self._status.clear()
        if not self._quiet:
            self._end_line()
            self._write(f"{'  ' if parent else ''}{harmless(text)}")

    def _write(self, line: str) -> None:
        if self._held is not None:
            self._held.append(line)
            return
        cut = fitted(line, columns(self._err), self._more) if self._live else line
        self._err.write(f"{cut}\n")
        self._err.flush()

    def _advise(self, news: CallEnded) -> None:
        """The way on for a person, where a rule would have let the call through."""
        fault = news.outcome.fault
        rule = fault.details.get("would_allow") if fault is not None else None
        if isinstance(rule, str):
            self._line(f"  to let it through: --allow {shlex.quote(rule)}", news.parent)

    def _called(self, news: CallEnded, why: str) -> str:
        """One line; of a long reason, what leaves room for the rest."""
        outcome = news.outcome
        mark = self._done if outcome.ok else self._failed
        seconds = outcome.duration_ms / 1000
        took = f"{outcome.duration_ms:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
        fault = f"  {outcome.fault.code}: {outcome.fault.message}" if outcome.fault else ""
        head, rest = f"{mark} {outcome.tool}  ", f"  ({took}){fault}"
        if self._live:
            room = columns(self._err) - width_of(head) - width_of(rest) - 2 * bool(news.parent)
            why = fitted(harmless(why), max(room, _LEAST), self._more)
        return head + why + rest


def _marks(err: IO[str]) -> tuple[str, str, str]:
    """Of a call that went well, of one that did not, and of something that goes on."""
    marks = ("✓", "✗", "…")
    try:
        "".join(marks).encode(getattr(err, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "+", "!", "..."
    return marks


def _printable(text: str) -> str:
    """Words of a model, without anything that a terminal would obey but the ends of lines."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
