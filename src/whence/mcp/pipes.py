"""A server that is a program: the protocol's messages on its standard input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from whence.errors import ParseError, Unavailable, WhenceError
from whence.mcp.faults import shown
from whence.mcp.lines import read_line

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

_JUNK_KEPT = 200
_FAREWELL_S = 0.5


class Talk(Protocol):
    """A running program, line by line."""

    @property
    def returncode(self) -> int | None:
        """The exit status; None while it runs."""
        ...

    @property
    def stderr(self) -> bytes:
        """The end of what it wrote there."""
        ...

    async def send(self, line: bytes) -> None:
        """Say a line."""
        ...

    def __aiter__(self) -> Talk:
        """Its lines."""
        ...

    async def __anext__(self) -> bytes:
        """The next line."""
        ...

    async def ended(self) -> int:
        """The exit status, once there is one."""
        ...

    async def stop(self) -> None:
        """End it."""
        ...


class Pipes:
    """A program that speaks the protocol on its standard input and output."""

    is_program = True

    def __init__(self, start: Callable[[], Awaitable[Talk]]) -> None:
        self.failure: WhenceError | None = None
        self.is_over = False
        self._start = start
        self._talk: Talk | None = None
        self._junk = b""
        self._is_stopped = False

    async def begin(self) -> None:
        """Start the program."""
        self._talk = await self._start()

    async def abandon(self) -> None:
        """End the program, where nobody came to talk to it."""
        if self._talk is not None:
            self._is_stopped = self._talk.returncode is None
            await self._talk.stop()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """Messages to and from the program, which is ended at the end."""
        import anyio
        from mcp.shared.message import SessionMessage

        talk = self._talk
        assert talk is not None  # noqa: S101 - whoever connects has begun
        heard_in, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, said_out = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hear, talk, heard_in)
                tasks.start_soon(self._say, talk, said_out, heard_in)
                try:
                    yield heard, said
                finally:
                    with anyio.CancelScope(shield=True):
                        await self.abandon()
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (heard_in, heard, said, said_out):
                stream.close()

    def last_words(self) -> str:
        """How it ended, and the end of what it wrote where people read."""
        talk = self._talk
        if talk is None:
            return ""
        words = [] if self.failure is None else [self.failure.message]
        if talk.returncode is not None and not self._is_stopped:
            words.append(f"exit status {talk.returncode}")
        if stderr := talk.stderr.decode("utf-8", "replace").strip():
            words.append(f"it wrote {shown(stderr[-_JUNK_KEPT:])!r}")
        elif self._junk:
            junk = shown(self._junk.decode("utf-8", "replace"))
            words.append(f"it wrote {junk!r} where messages belong")
        return "; ".join(words)

    async def _hear(
        self, talk: Talk, to: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        import anyio
        from mcp.shared.message import SessionMessage

        async with to:
            try:
                async for line in talk:
                    messages = read_line(line)
                    if not messages:  # what a library prints is no reason to give up
                        self._junk = self._junk or line[:_JUNK_KEPT]
                    for message in messages:
                        await to.send(SessionMessage(message))
                with anyio.move_on_after(_FAREWELL_S):
                    await talk.ended()  # whoever waits for an answer is told how it ended
            except ParseError as error:
                self.failure = error
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                pass  # nobody listens any more
            finally:
                self.is_over = True

    async def _say(
        self,
        talk: Talk,
        of: MemoryObjectReceiveStream[SessionMessage],
        heard: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        async with of:
            async for message in of:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await talk.send(text.encode())
                except Unavailable:
                    self.is_over = True
                    heard.close()  # whoever waits for an answer learns that none will come
                    return
