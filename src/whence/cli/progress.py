"""What happens in a run, for a person at a terminal, a pipe or a program."""

from __future__ import annotations

import sys
from typing import IO, Protocol

import msgspec

from whence.cli.text import harmless
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

_WIDTH = 100


class Reporter(Protocol):
    """Told everything; closed at the end, also of a run that failed."""

    def __call__(self, news: News, /) -> None:
        """Show it, or not."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


def reporter(*, as_json: bool, quiet: bool) -> Reporter:
    """The one for where the output goes."""
    if as_json:
        return JsonLines(sys.stdout)
    return Lines(sys.stdout, sys.stderr, quiet=quiet, live=sys.stderr.isatty())


class JsonLines:
    """One event per line."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def __call__(self, news: News, /) -> None:
        """Write it at once."""
        self._out.write(msgspec.json.encode(as_json(news)).decode() + "\n")
        self._out.flush()

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
        self._live = live and not quiet
        self._streams = out.isatty()
        self._words: list[str] = []
        self._running: dict[str, str] = {}
        self._status = ""

    def __call__(self, news: News, /) -> None:
        """Show it where it belongs."""
        match news:
            case TextPiece(parent=None):
                self._say(news.text)
            case TurnEnded(parent=None) if news.calls:
                self._comment()
            case Finished(parent=None):
                self._finish(news.result.text)
            case _:
                self._tell(news)

    def _tell(self, news: News) -> None:
        match news:
            case CallStarted():
                self._running[news.call_id] = news.why
                self._show_status(f"{news.tool}: {news.why}")
            case CallEnded():
                self._line(_called(news, self._running.pop(news.call_id, "")), news.parent)
            case Waiting():
                self._line(f"… {news.reason}: asking again in {news.seconds:.0f} s", None)
            case Notice():
                self._line(news.text, news.parent)
            case Compacted():
                self._line(f"summed up {news.items} items of the conversation", news.parent)
            case Output() if news.text.strip():
                self._show_status(news.text.strip().rpartition("\n")[2])
            case Thought(parent=None):
                self._show_status("thinking")

    def close(self) -> None:
        """Leave no half line behind."""
        self._clear()
        if self._words and self._streams:
            self._out.write("\n")
        self._out.flush()

    def _say(self, text: str) -> None:
        self._clear()
        self._words.append(text)
        if self._streams:
            self._out.write(_printable(text))
            self._out.flush()

    def _comment(self) -> None:
        """The words were not the answer."""
        words = "".join(self._words).strip()
        self._words.clear()
        if not words:
            return
        if self._streams:
            self._out.write("\n")
        else:
            self._line(words.replace("\n", " "), None)

    def _finish(self, answer: str) -> None:
        self._clear()
        if self._streams and self._words:
            self._out.write("\n")
        else:
            self._out.write(f"{answer}\n")
        self._words.clear()

    def _line(self, text: str, parent: str | None) -> None:
        self._clear()
        if not self._quiet:
            self._err.write(f"{'  ' if parent else ''}{harmless(text)}\n")
            self._err.flush()

    def _show_status(self, text: str) -> None:
        if self._live:
            self._clear()
            self._status = harmless(f"… {text}")[:_WIDTH]
            self._err.write(self._status)
            self._err.flush()

    def _clear(self) -> None:
        if self._status:
            self._err.write("\r\x1b[K")
            self._status = ""


def _called(news: CallEnded, why: str) -> str:
    outcome = news.outcome
    mark = "✓" if outcome.ok else "✗"
    seconds = outcome.duration_ms / 1000
    took = f"{outcome.duration_ms:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
    fault = f"  {outcome.fault.code}: {outcome.fault.message}" if outcome.fault else ""
    return f"{mark} {outcome.tool}  {why}  ({took}){fault}"


def _printable(text: str) -> str:
    """Words of a model, without anything that a terminal would obey but the ends of lines."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
