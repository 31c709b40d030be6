"""A workspace, its tools and its journal, open for calls."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import msgspec

from whence.catalogs import load_catalogs
from whence.declare.toolbox import Toolbox
from whence.errors import UsageError, WhenceError
from whence.execute.containment import Root
from whence.execute.process import Processes
from whence.execute.transaction import recover
from whence.gate.gate import named_paths
from whence.gate.permission import SANDBOXED
from whence.gate.quota import Usage, fingerprint
from whence.journal.read import last_entries
from whence.journal.sessions import SESSIONS
from whence.journal.write import Journal
from whence.loop import events
from whence.loop.changes import Known
from whence.loop.perform import Room, perform
from whence.loop.settings import load_policy
from whence.loop.shelf import SessionShelf
from whence.provider.ids import CallIds
from whence.shapes.approval import Approver
from whence.shapes.call import Call, Outcome
from whence.shapes.event import Entry, Event
from whence.shapes.policy import Policy
from whence.shapes.process import ProcessRunner
from whence.shapes.tool import Effect, Tool

_REMEMBERED = 128
_REFUSALS = frozenset(
    {"MISSING_WHY", "INVALID_ARGS", "PARSE_ERROR", "PERMISSION_DENIED", "QUOTA_EXCEEDED"}
)


def new_session_id() -> str:
    """A name that sorts by time and that nobody else has."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


class Session:
    """Open for calls until it is closed; every call goes through the gate into the journal.

    Args:
        workspace: the directory that file tools are held to.
        tools: what may be called; the built-in catalogs where it is left out.
        policy: reasons, rules, quotas and limits; files in the workspace and of the administrator
            tighten it.
        session: the journal's name; an existing one is continued.
        approver: asked about what needs a person; without one, such calls are refused.
        durable: whether a call is on disk, not only written, before its effect.
        purpose: what the session is for, as the journal's first event says it.
    """

    def __init__(  # noqa: PLR0913 - by name, each with a default
        self,
        workspace: str | os.PathLike[str] = ".",
        tools: Iterable[Tool] | None = None,
        *,
        policy: Policy = Policy(),
        session: str | None = None,
        approver: Approver | None = None,
        durable: bool = True,
        purpose: str = "",
    ) -> None:
        if not os.path.isdir(workspace):
            raise UsageError(
                f"{str(workspace)!r} is not a directory", "Name an existing workspace."
            )
        root = Root(workspace)
        toolbox = Toolbox(load_catalogs() if tools is None else tools)
        processes = Processes()
        policy = _aware(load_policy(root.path, toolbox, policy), toolbox, processes)
        half_done = recover(root)
        journal = Journal.open(
            os.path.join(root.path, SESSIONS),
            session or new_session_id(),
            purpose=purpose,
            durable=durable,
        )
        journal.append(*map(events.half_done, half_done))
        usage, ids = _so_far(journal)
        known, redactor = Known(journal.directory), journal.redactor
        shelf = SessionShelf(journal.directory, root.prefix, redactor)
        self._room = Room(
            root, toolbox, policy, journal, usage, processes, redactor, known, shelf, ids, approver
        )

    @property
    def id(self) -> str:
        """The journal's name."""
        return self._room.journal.session

    @property
    def toolbox(self) -> Toolbox:
        """The tools that may be called."""
        return self._room.toolbox

    @property
    def policy(self) -> Policy:
        """What is allowed now; answers that hold for the session have been added."""
        return self._room.policy

    async def perform(self, call: Call) -> Outcome:
        """Take a call through the gate to its outcome; faults are outcomes, too."""
        return await perform(call, self._room)

    async def call(self, tool: str, why: str, **arguments: Any) -> Outcome:
        """Call a tool: `await session.call("fs.read", "Find the entry point", path="a.py")`."""
        mounted = self._room.toolbox.find(tool)
        key = mounted.why_key if mounted else "why"
        return await self.perform(Call(tool, {key: why, **arguments}))

    def child(self, tools: Iterable[Tool], policy: Policy) -> Session:
        """A session for a sub-agent: its own tools, the same journal, workspace and quotas.

        It need not be closed.
        """
        toolbox = Toolbox(tools)
        policy = _aware(policy, toolbox, self._room.processes)
        return self._with(toolbox=toolbox, policy=policy, turn_chars=0)

    def under(self, policy: Policy) -> Session:
        """The same session, held to another policy; it need not be closed."""
        return self._with(policy=policy)

    def apart(self, approver: Approver | None) -> Session:
        """The same journal and tools, with quotas and an approver of its own."""
        return self._with(usage=Usage(), turn_chars=0, approver=approver)

    def _with(self, **changes: Any) -> Session:
        inner = object.__new__(Session)
        inner._room = replace(self._room, **changes)
        return inner

    def claim(self, call_id: str) -> str:
        """The id under which a call goes into the journal: this one, if no other call has it."""
        return self._room.ids.claim(call_id)

    def record(self, *events: Event) -> None:
        """Add to the journal what is no call."""
        self._room.journal.append(*events)

    def touched(self, tool: str, arguments: Mapping[str, Any]) -> list[tuple[Effect, str]]:
        """What a call would do to which real paths; of one that will be refused, nothing."""
        mounted = self._room.toolbox.find(tool)
        if mounted is None:
            return []
        try:
            named = named_paths(mounted, arguments)
            return [(effect, self._room.root.locate(given).real) for effect, given in named]
        except WhenceError:
            return []

    def next_turn(self) -> None:
        """Say that a new turn begins: quotas and limits per turn start again."""
        self._room.next_turn()

    def close(self, reason: str | None = None) -> None:
        """Make everything durable and let go; a reason ends the session in the journal, too.

        What was left running is ended: at once where this is called inside the event loop, else
        when that is closed.
        """
        try:
            self._room.shelf.end_jobs()
            self._room.known.save()
            self._room.journal.close(reason)
        finally:
            self._room.root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close("error" if error is not None else "done")


def runs_programs(tool: Tool) -> bool:
    """Whether its calls start programs in the sandbox."""
    return Effect.EXECUTE in tool.effects and tool.source in SANDBOXED


def _aware(policy: Policy, toolbox: Toolbox, processes: ProcessRunner) -> Policy:
    """The policy, knowing how well programs are kept apart here, where tools start some."""
    if policy.isolated or not any(runs_programs(mounted.tool) for mounted in toolbox):
        return policy
    return replace(policy, isolated=processes.isolation().full)


def _so_far(journal: Journal) -> tuple[Usage, CallIds]:
    """Quotas and ids are the session's, not of the process that happens to continue it."""
    usage, ids = Usage(calls=journal.calls), CallIds()
    if usage.calls:
        entries = last_entries(journal.directory, _REMEMBERED)
        refused = {str(entry.fields.get("call_id")) for entry in entries if _is_refusal(entry)}
        for entry in entries:
            if entry.type == "tool_call":
                call_id = str(entry.fields.get("call_id"))
                ids.reserve([call_id])
                if call_id not in refused:
                    usage.recent.append(_fingerprint(entry.fields))
    return usage, ids


def _is_refusal(entry: Entry) -> bool:
    """Whether a call ended at the gate: made again with a better reason, it is not a repetition."""
    error = entry.fields.get("error")
    return isinstance(error, dict) and str(error.get("code")) in _REFUSALS


def _fingerprint(fields: Any) -> bytes:
    made = fields.get("args")
    listed = made.items() if isinstance(made, dict) else ()  # a log may have been edited by hand
    args = {key: value for key, value in listed if key not in ("why", "_why")}
    try:
        return fingerprint(str(fields.get("tool")), msgspec.json.encode(args))
    except TypeError:  # YAML has more than JSON: no call that can be made is this one again
        return b""
