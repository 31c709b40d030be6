"""HTTP/1.1 over one socket: a request goes out in one piece, its answer comes as it arrives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import h11

from whence.provider.network import Broken, Socket

_LONGEST_HEAD = 100 * 1024
Headers = Sequence[tuple[bytes, bytes]]


class Connection:
    """One request after the other."""

    def __init__(self, socket: Socket, silence_s: float) -> None:
        self._socket = socket
        self._silence_s = silence_s
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)

    async def ask(
        self, method: bytes, target: bytes, headers: Headers, body: bytes = b""
    ) -> h11.Response:
        """The head of the answer.

        Raises:
            Broken: there is none.
        """
        send = self._state.send
        asked = h11.Request(method=method, target=target, headers=list(headers))
        parts = (send(asked), send(h11.Data(data=body)) if body else b"", send(h11.EndOfMessage()))
        self._socket.write(b"".join(part for part in parts if part))
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return event

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives."""
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    def renew(self) -> bool:
        """Make ready for another request; False where there can be none."""
        done = self._state.our_state is self._state.their_state is h11.DONE
        if done:
            self._state.start_next_cycle()
        return done

    def is_stale(self) -> bool:
        """Whether the other side has hung up meanwhile."""
        return self._socket.is_stale()

    async def aclose(self) -> None:
        """Let go of the socket."""
        await self._socket.aclose()

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._state.next_event()
            except h11.RemoteProtocolError as error:
                raise Broken("broken", str(error)) from error
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value]
            data = await self._socket.read(self._silence_s)
            if not data and self._state.their_state is h11.SEND_RESPONSE:
                raise Broken("broken", "it hung up")
            self._state.receive_data(data)
