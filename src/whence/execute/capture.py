"""What a program writes, taken as it comes and kept up to a bound."""

from __future__ import annotations

import asyncio
import os
import subprocess
from array import array
from collections.abc import Container
from functools import partial

from whence.shapes.process import OnOutput

_CHUNK = 65536
_PIPE_AT_MOST = 1 << 20
"""More cannot be waiting in a pipe whose writers are gone."""


class Capture:
    """Reads both pipes of a process for as long as it runs; what exceeds the bound is counted.

    Args:
        process: whose output it is.
        keep: how many bytes of it are kept.
        on_output: shown what comes.
        shows: the streams that it is shown.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        keep: int,
        on_output: OnOutput | None,
        shows: Container[int] = (0, 1),
    ) -> None:
        self.dropped = 0
        self._pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
        self._keep, self._on_output, self._shows = keep, on_output, shows
        self._kept = bytearray()
        # Where the other stream begins; the first stretch is standard output's.
        self._turns = array("Q")
        self._loop = asyncio.get_running_loop()
        self._open = {}
        for stream, pipe in enumerate(self._pipes):
            os.set_blocking(pipe.fileno(), False)
            self._open[pipe.fileno()] = stream
            self._loop.add_reader(pipe.fileno(), partial(self._take, pipe.fileno()))

    def finish(self) -> None:
        """Take what is still there, once the process has ended, and close the pipes."""
        for descriptor in tuple(self._open):
            for _ in range(_PIPE_AT_MOST // _CHUNK):
                if not self._take(descriptor):
                    break
        self.close()

    def close(self) -> None:
        """Let go of the pipes."""
        for descriptor in tuple(self._open):
            self._shut(descriptor)
        for pipe in self._pipes:
            pipe.close()

    def of_stream(self, stream: int) -> bytes:
        """All that was kept of standard output, 0, or standard error, 1."""
        view, ends = memoryview(self._kept), [*self._turns, len(self._kept)]
        stretches = zip([0, *self._turns], ends, strict=True)
        return b"".join(view[start:end] for start, end in list(stretches)[stream::2])

    def both(self) -> bytes:
        """All that was kept, in the order in which it came."""
        return bytes(self._kept)

    def _take(self, descriptor: int) -> bool:
        """Read once; False when there is nothing to read now or ever."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._shut(descriptor)
            return False
        self._put(self._open[descriptor], chunk)
        return True

    def _put(self, stream: int, chunk: bytes) -> None:
        kept = chunk[: max(self._keep - len(self._kept), 0)]
        self.dropped += len(chunk) - len(kept)
        if len(self._turns) % 2 != stream:
            self._turns.append(len(self._kept))
        self._kept += kept
        if self._on_output is not None and stream in self._shows:
            self._on_output(chunk)

    def _shut(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        del self._open[descriptor]
