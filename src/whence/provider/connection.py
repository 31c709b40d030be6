"""HTTP/1.1 over one socket: a request goes out in one piece, its answer comes as it arrives."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import h11

from whence.provider.network import Broken, Socket, Unheard

_LONGEST_HEAD = 100 * 1024
_HEAD_TOO_LONG = 431
Headers = Sequence[tuple[bytes, bytes]]


class Connection:
    """One request after the other."""

    def __init__(self, socket: Socket, silence_s: float) -> None:
        self._socket = socket
        self._silence_s = silence_s
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)
        self._may_have_ended = False
        """Whether it was kept, and nothing has come since."""

    async def ask(
        self, method: bytes, target: bytes, headers: Headers, body: bytes = b""
    ) -> h11.Response:
        """The head of the answer.

        Raises:
            Unheard: there is none, for the server had ended a connection that was kept.
            Broken: there is none.
        """
        send = self._state.send
        asked = h11.Request(method=method, target=target, headers=list(headers))
        parts = (send(asked), send(h11.Data(data=body)) if body else b"", send(h11.EndOfMessage()))
        self._socket.write(b"".join(part for part in parts if part))
        try:
            while not isinstance(event := await self._next(), h11.Response):
                pass
        except Broken as error:
            if self._may_have_ended and error.kind == "broken":
                raise Unheard(error.kind, error.reason) from error
            raise
        return event

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body as it arrives."""
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    def renew(self) -> bool:
        """Make ready for another request; False where there can be none."""
        done = self._state.our_state is self._state.their_state is h11.DONE
        if not done or self._state.trailing_data[0]:  # what nobody asked for answers nothing
            return False
        self._state.start_next_cycle()
        self._may_have_ended = True
        return True

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
                too_long = error.error_status_hint == _HEAD_TOO_LONG
                raise Broken(
                    "broken", "its headers are too long" if too_long else str(error)
                ) from error
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value]
            data = await self._socket.read(self._silence_s)
            if not data and self._state.their_state is h11.SEND_RESPONSE:
                raise Broken("broken", "it hung up")
            self._may_have_ended = False
            self._state.receive_data(data)
