"""The journal as a writer sees it: append an event, and it is there, whatever happens next.

Several processes may write one session. Each append takes the session's lock, makes sure that it
knows the end of the log, writes once, and remembers the new end in the head.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from whence.errors import InvalidArgs, Unavailable
from whence.journal.commit import GroupSync
from whence.journal.compose import now, record_of
from whence.journal.head import pack_head
from whence.journal.index import write_index
from whence.journal.own import (
    continued,
    head_missing,
    interruptions,
    rotated,
    session_end,
    session_start,
)
from whence.journal.place import Place, size_of, survey
from whence.journal.record import header
from whence.journal.recover import recover
from whence.journal.redact import Redactor
from whence.journal.store import Store, unavailable
from whence.shapes.event import Event

_NOT_SYNCED = "what was recorded last may not outlive a power cut"
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}").fullmatch


class Journal:
    """The append-only log of one session, open for writing. Made by `open`, ended by `close`."""

    def __init__(
        self, store: Store, session: str, *, durable: bool, limits: tuple[int, int]
    ) -> None:
        self.session = session
        self.directory = store.path
        self.durable = durable
        """Whether there is anything for `commit` to wait for."""
        self._store = store
        self._rotate_bytes, self._rotate_events = limits
        disk = os.fstat(store.directory).st_dev
        self._group = GroupSync(store.sync, disk, lambda: int(store.lasting))
        self.redactor = Redactor()
        """Takes secrets out of whatever is recorded."""
        self._place = Place()

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str],
        session: str,
        *,
        purpose: str = "",
        durable: bool = True,
        rotate_bytes: int = 5_000_000,
        rotate_events: int = 10_000,
    ) -> Journal:
        """A session's journal, checked and ready; new, or taken up where it ended.

        Where no other writer is alive, calls that a crash left open are closed as INTERRUPTED.
        A damaged log is set aside and its readable events are carried over.

        Args:
            root: The directory that holds all sessions.
            session: Its name: letters, digits, dots, dashes and underscores.
            purpose: Why the session exists; recorded when it starts.
            durable: Whether `commit` waits for the disk.
            rotate_bytes: A part that has reached this size is closed, and a new one begun.
            rotate_events: The same, by the number of events.

        Raises:
            InvalidArgs: The name cannot be used for a directory.
            Unavailable: The directory or its files cannot be written.
        """
        if not _SESSION(session):
            raise InvalidArgs(
                f"{session!r} cannot name a session",
                "Use 1 to 128 letters, digits, dots, dashes and underscores; start with a letter.",
            )
        root = os.fspath(root)
        try:
            store = Store(root, session, durable=durable)
        except OSError as error:
            raise unavailable(os.path.join(root, session), error) from error
        journal = cls(store, session, durable=durable, limits=(rotate_bytes, rotate_events))
        try:
            with store:
                journal._begin(purpose)
        except BaseException:
            store.close()
            raise
        return journal

    def append(self, *events: Event) -> None:
        """Record events, all of them or none; they survive the end of this process.

        Raises:
            Unavailable: The disk is full or the file cannot be written; nothing was recorded.
        """
        self._append(events)

    def append_call(self, event: Event) -> str:
        """Record a call and return its id: the `call_id` in its fields, or a new one for None.

        A new id is taken under the lock, so that no two calls of a session share one.

        Raises:
            Unavailable: The disk is full or the file cannot be written; nothing was recorded.
        """
        return str(self._append((event,), event.fields))

    def _append(self, events: Sequence[Event], call: dict[str, Any] | None = None) -> Any:
        """Write under the lock; the id of a call, if it is one."""
        store = self._store
        with store.mutex:
            try:
                if not store.locked:
                    store.lock()
                    self._catch_up()
                if call is None:
                    self._write(events)
                    store.leaving = self._remember
                    return None
                if call.get("call_id") is None:
                    call["call_id"] = self._place.standing.next_call_id()
                self._write(events)  # its outcome, which follows, moves the head
                return call["call_id"]
            except OSError as error:
                store.unlock()  # whoever writes next looks first where the log ends
                raise unavailable(store.path, error) from error
            except BaseException:  # in the middle of anything: what is known no longer counts
                store.leaving = None
                store.unlock()
                self._place.inode = 0
                raise
            finally:
                if not store.lasting:
                    store.unlock()

    def step_aside(self) -> None:
        """Let other processes write now: what comes next may keep the event loop busy for long."""
        self._store.let_go()

    async def commit(self) -> None:
        """Return when everything that was appended is on disk; at once if not durable.

        Raises:
            Unavailable: The disk failed; what was appended may not outlive a power cut.
        """
        if not self.durable:
            return
        try:
            await self._group.wait()
        except OSError as error:
            raise unavailable(self.directory, error, _NOT_SYNCED) from error

    @property
    def calls(self) -> int:
        """How many calls the session has seen, by whichever process."""
        return self._place.standing.calls

    @property
    def syncs(self) -> int:
        """How often `commit` and `close` asked the disk."""
        return self._group.syncs

    def close(self, reason: str | None = None) -> None:
        """Sync once and let go. With a reason the session ends, if no other writer is alive.

        Raises:
            Unavailable: The end could not be recorded, or the disk failed.
        """
        if self._store.directory < 0:
            return
        try:
            if reason is not None:
                with self._store:
                    self._end(reason)
                    self._store.shut()
            if self.durable:
                self._group.finish()
        except OSError as error:
            raise unavailable(self.directory, error, _NOT_SYNCED) from error
        finally:
            self._store.close()

    def _begin(self, purpose: str) -> None:
        alone = self._store.claim_alone()
        vouched_for = self._load()
        events: list[Event] = []
        standing = self._place.standing
        if standing.seq == 0 or standing.ended:
            events.append(session_start(self.session, purpose, resumed=standing.seq > 0))
        if not vouched_for:
            events.append(head_missing())
        if alone:
            events.extend(interruptions(standing))
        self._write(events)
        self._remember()
        self._store.join_writers()

    def _end(self, reason: str) -> None:
        if not self._store.claim_alone():
            return
        self._catch_up()
        self._write(interruptions(self._place.standing))
        self._write([session_end(self.session, reason, self._place.standing)])
        self._remember()

    def _load(self) -> bool:
        """Find the end of the log, recovering it where needed; whether a head vouched for it."""
        found = survey(self._store.directory)
        if found.problem:
            recover(self._store.directory, self.session, found)
            found = survey(self._store.directory)
        if found.problem:
            raise Unavailable(
                f"the journal {self.directory} cannot be recovered: {found.problem}",
                "Move the session's directory away, or use another session.",
            )
        self._place = found.place
        self._place.inode = self._store.attach(found.place.part)
        self._store.put_head(found.place.head())
        return found.head is not None or found.place.size == 0

    def _catch_up(self) -> None:
        """Learn what other writers did since, if anything."""
        place = self._place
        size, inode = self._store.status()
        if size == place.size and inode == place.inode and place.standing.last_type != "rotated":
            return
        if inode != place.inode or size < place.size or place.follow(self._store.log, size):
            self._load()
        while self._place.ends and size_of(self._store.directory, self._place.part + 1):
            self._turn_page()
            size, _ = self._store.status()
            if self._place.follow(self._store.log, size):
                self._load()

    def _write(self, events: Sequence[Event]) -> None:
        """Add events to the log, in a new part where the current one is full."""
        if not events:
            return
        place = self._place
        full = place.size >= self._rotate_bytes or place.events >= self._rotate_events
        if full or place.ends:
            self._rotate()
            place = self._place
        if place.size:
            self._put(events)
        else:
            top = header(self.session, now(), place.part)
            first = (continued(place.part, place.standing),) if place.part > 1 else ()
            self._put((*first, *events), top)

    def _rotate(self) -> None:
        if not self._place.ends:
            self._put([rotated(self._place.part)])
            self._remember()
        with suppress(OSError):  # an index can be derived again at any time
            write_index(self._store.directory, self._place.part)
        self._turn_page()

    def _turn_page(self) -> None:
        place = Place(self._place.part + 1, standing=self._place.standing)
        place.inode = self._store.attach(place.part)
        self._place = place

    def _put(self, events: Sequence[Event], top: bytes = b"") -> None:
        place = self._place
        standing = place.standing
        seq, digest, data = standing.seq, standing.hash, b""
        for event in events:
            seq += 1
            record, digest = record_of(event, self.redactor, seq, digest, top)
            data, top = data + record if data else record, b""
        place.size += self._store.append(data, place.size)
        place.events += len(events)
        standing.seq, standing.hash = seq, digest
        for event in events:
            standing.take(event)
        if self.durable:
            self._group.written()

    def _remember(self) -> None:
        place = self._place
        end = place.standing
        try:
            self._store.put_head(
                pack_head(end.seq, end.last_call, place.part, place.size, end.hash)
            )
        except OSError:
            return  # the events are recorded, and a head that lags behind is harmless
