"""An agent: a file that can be run.

agent = Agent.load("librarian.chatmd")
result = await agent.run("Which chapters mention the journal?")
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import msgspec

from whence.declare.toolbox import Mounted, Toolbox
from whence.errors import Conflict, InvalidArgs
from whence.gate import schema
from whence.loop import events
from whence.loop.agent_file import AgentFile, load_runnable
from whence.loop.bind import ask_agent, bind, message_of
from whence.loop.budget import Budget
from whence.loop.compact import LIMIT
from whence.loop.conversation import Reader
from whence.loop.converse import converse
from whence.loop.inline import fetch
from whence.loop.lock import Lock
from whence.loop.models import choose_model
from whence.loop.news import Finished, News, Notice, Result
from whence.loop.observe import observed
from whence.loop.options import Options
from whence.loop.scope import Scope
from whence.loop.session import Session
from whence.loop.settings import load_mode, stricter
from whence.loop.transcript import Transcript
from whence.provider.model import Model
from whence.provider.recorded import RecordedModel
from whence.provider.wire import mend
from whence.shapes.call import Call, Outcome
from whence.shapes.item import Item, Message
from whence.shapes.policy import Policy
from whence.shapes.tool import Tool
from whence.shapes.web import PUBLIC

if TYPE_CHECKING:
    from whence.loop.servers import Servers

T = TypeVar("T")


class Agent:
    """A file that can be run, again and again; each run adds to its transcript."""

    def __init__(
        self,
        file: AgentFile,
        workspace: str | os.PathLike[str] = ".",
        *,
        transcript: str | os.PathLike[str] | None = None,
        **options: Unpack[Options],
    ) -> None:
        unknown = options.keys() - Options.__annotations__.keys()
        if unknown:
            known = ", ".join(Options.__annotations__)
            raise TypeError(f"there is no option {min(unknown)!r}; there are {known}")
        self.file = file
        self.workspace = os.fspath(workspace)
        self.policy = options.get("policy", Policy())
        """Rules, quotas and limits of the next run."""
        self.policy_for: Callable[[Toolbox], Policy] | None = None
        """Makes the policy once all tools are known, where the file names servers."""
        self._options = options
        self._tools = tuple(options.get("tools", ()))
        self._environ = options.get("environ", os.environ)
        self._transcript = None if transcript is None else Path(transcript)
        self._steering: list[str] = []
        self._lock: Lock | None = None
        self._running = False
        self._has_run = False

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What it may call."""
        return (*self.file.resolved.tools, *self._tools)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        workspace: str | os.PathLike[str] = ".",
        *,
        output: str | os.PathLike[str] | None = None,
        ephemeral: bool = False,
        **options: Unpack[Options],
    ) -> Self:
        """The agent of a file.

        Args:
            path: The agent file; its runs are added to it.
            workspace: The directory that its tools are held to.
            output: A copy of the file that is made, and that runs are added to instead.
            ephemeral: Add runs nowhere.
            **options: See `Options`.

        Raises:
            ParseError: It has errors; `whence check` shows all of them.
            NotFound: There is no such file.
            Conflict: There is a file where the copy should be.
        """
        name = os.fspath(path)
        file = load_runnable(name, os.fspath(workspace))
        transcript = None if ephemeral else _free(name, output)
        return cls(file, workspace, transcript=transcript, **options)

    async def run(
        self,
        input: str | Mapping[str, Any] | None = None,
        *,
        on: Callable[[News], None] | None = None,
    ) -> Result:
        """Run to the final answer.

        Args:
            input: What is asked: text, or the values of the file's `<input>`s. Without it, the
                last message of the file is answered, or a run that broke off goes on.
            on: Called with everything that happens, as it happens. If it raises, the run is
                stopped as if it were cancelled, and the exception is raised here.

        Raises:
            WhenceError: There is no answer; what happened until then is kept.
        """
        if self._running:
            raise Conflict(
                f"{self.file.path} is running already", "Wait for it, or steer it with `steer`."
            )
        self._running = True
        try:
            result = await observed(partial(self._run, input), on)
        finally:
            self._running = False
        if on is not None:
            on(Finished(result))
        return result

    async def stream(
        self, input: str | Mapping[str, Any] | None = None
    ) -> AsyncGenerator[News, None]:
        """Everything that happens, as it happens; the last is `Finished`."""
        queue: asyncio.Queue[News | None] = asyncio.Queue()
        task = asyncio.create_task(self.run(input, on=queue.put_nowait))
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (news := await queue.get()) is not None:
                yield news
            await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def call(self, call: Call, *, on: Callable[[News], None] | None = None) -> Outcome:
        """One call of its tools, as its model could make it; its transcript stays as it is.

        Args:
            call: The tool's name and its arguments.
            on: Called with what happens meanwhile, where the tool is an agent.

        Raises:
            WhenceError: A server cannot be reached, or there is no model for an agent.
        """
        model = self._model_for(call.tool)
        try:
            return await self._in_session(
                on or _ignore, model, lambda scope: scope.session.perform(call)
            )
        finally:
            await model.aclose()

    def _model_for(self, tool: str) -> Model:
        """The model of an agent that is called; other tools need none."""
        mounted = Toolbox(self.tools).find(tool)
        if mounted is None or mounted.tool.source != "agent":
            return RecordedModel("script/none", [])
        config = self.file.resolved.config
        named = self._options.get("model")
        return choose_model(named, config.model, self.workspace, self._environ)[0]

    def run_sync(self, input: str | Mapping[str, Any] | None = None) -> Result:
        """The same as `run`, for programs without an event loop."""
        return asyncio.run(self.run(input))

    def steer(self, text: str) -> None:
        """Say something while it runs: the model hears it with its next turn."""
        self._steering.append(mend(text))

    async def _run(
        self, input: str | Mapping[str, Any] | None, emit: Callable[[News], None]
    ) -> Result:
        if self._has_run and self._transcript is not None:
            self.file = load_runnable(str(self._transcript), self.workspace)
        asked = None if input is None else self._asked(input)
        model, notice = choose_model(
            self._options.get("model"), self.file.resolved.config.model, self.workspace,
            self._environ,
        )  # fmt: skip
        if notice is not None:
            emit(Notice(notice))
        if self._transcript is not None:
            _copy(self.file.path, self._transcript)
        try:
            return await self._in_session(emit, model, partial(self._answer, asked))
        finally:
            self._has_run = True
            await model.aclose()

    async def _in_session(
        self, emit: Callable[[News], None], model: Model, work: Callable[[Scope], Awaitable[T]]
    ) -> T:
        servers: list[Servers] = []
        try:
            remote = await self._server_tools(servers, emit)
            return await self._with_tools(emit, model, work, servers, remote)
        finally:
            for each in servers:
                await each.close()

    async def _server_tools(
        self, servers: list[Servers], emit: Callable[[News], None]
    ) -> tuple[Tool, ...]:
        """The tools of the servers that the file names, known before any rule is read."""
        if not self.file.resolved.servers:
            return ()
        from whence.loop.server_tools import server_tools
        from whence.loop.servers import Servers

        servers.append(Servers(self.workspace, self._environ))
        self._lock = Lock(self.workspace)
        return await server_tools(
            self.file, servers[0], self._lock, lambda note: emit(Notice(note))
        )

    async def _with_tools(
        self, emit: Callable[[News], None], model: Model, work: Callable[[Scope], Awaitable[T]],
        servers: list[Servers], remote: tuple[Tool, ...],
    ) -> T:  # fmt: skip
        tools, options = (*self.tools, *remote), self._options
        session = Session(
            self.workspace, tools, policy=self._policy_of(tools),
            session=options.get("session"), approver=options.get("approver"),
            purpose=f"run {os.path.basename(self.file.path)}",
        )  # fmt: skip
        reason = "error"
        try:
            result = await work(self._scope(emit, model, session, servers, remote))
            reason = "done"
        except (KeyboardInterrupt, asyncio.CancelledError):
            reason = "interrupted"
            raise
        finally:
            session.close(reason)
        return result

    def _scope(
        self, emit: Callable[[News], None], model: Model, session: Session,
        servers: list[Servers], remote: tuple[Tool, ...],
    ) -> Scope:  # fmt: skip
        options = self._options
        scope = Scope(
            self.workspace, emit,
            Budget.of(self.file.resolved.config, options.get("max_turns")), session, model,
            named_model=options.get("model"), parallel=options.get("parallel"),
            compact_at=options.get("compact_at") or LIMIT, web=options.get("web", PUBLIC),
            environ=self._environ, steering=self._steering, lock=self._lock, servers=servers,
        )  # fmt: skip
        if self.file.resolved.tools:
            bound = (*bind(self.file, scope), *remote, *self._tools)
            scope.session = session.child(bound, session.policy)
        return scope

    async def _answer(self, asked: Message | None, scope: Scope) -> Result:
        if asked is not None:
            scope.session.record(events.user_message(asked.text))
        fetched = await fetch(self.file, scope, ask_agent)
        reader = Reader(self.file, self.workspace, fetched)
        items = reader.items()
        for note in reader.notes:
            scope.say(note)
        transcript = Transcript(
            self._transcript, inline=self.file.resolved.config.show_tool_call, say=scope.say
        )
        with transcript:
            new = [] if asked is None or _is_waiting(asked, items) else [asked]
            result = await converse(self.file, scope, items, new, transcript)
            transcript.invite()
        return result

    def _policy_of(self, tools: tuple[Tool, ...]) -> Policy:
        policy, config = self.policy, self.file.resolved.config
        if self.policy_for is not None:
            policy = self.policy_for(Toolbox(tools))
        name = self._options.get("mode") or config.mode
        mode = load_mode(self.workspace, name) if name else policy.mode
        return replace(policy, mode=mode, why=stricter(policy.why, config.why))

    def _asked(self, input: str | Mapping[str, Any]) -> Message:
        interface = self.file.resolved.interface
        if isinstance(input, str) and not interface.inputs:
            return Message.of("user", mend(input))
        given = self._given(input)
        tool = Mounted(Tool("input", "", interface.input_schema, None), "input")
        checked, fault = schema.check(tool, given)
        if fault is not None:
            raise InvalidArgs(fault.message, fault.suggestion)
        return message_of(checked, interface)

    def _given(self, input: str | Mapping[str, Any]) -> dict[str, Any]:
        inputs = self.file.resolved.interface.inputs
        if not isinstance(input, str):
            return dict(input)
        try:
            return msgspec.json.decode(input, type=dict[str, Any])
        except msgspec.DecodeError as error:
            names = ", ".join(param.name for param in inputs)
            raise InvalidArgs(
                f"{self.file.path} takes named inputs ({names}), not {input!r:.100}: {error}",
                f'Give them as JSON, as in {{"{inputs[0].name}": …}}.',
            ) from None


def _is_waiting(asked: Message, items: Sequence[Item]) -> bool:
    """Whether a run that failed has left these words at the end: they are not said twice."""
    last = items[-1] if items else None
    return (
        isinstance(last, Message)
        and last.role == asked.role
        and last.text.strip() == asked.text.strip()
    )


def _free(path: str, output: str | os.PathLike[str] | None) -> str | os.PathLike[str]:
    """The file that runs are added to; one that is still to be made is not there yet."""
    if output is not None and os.path.exists(output):
        raise Conflict(
            f"{os.fspath(output)!r} is there already", "Run that file itself, or name another."
        )
    return path if output is None else output


def _copy(path: str, output: Path) -> None:
    """Make the file that runs are added to; once they can begin, for a failed start leaves none."""
    if output.exists():
        return
    import shutil

    shutil.copyfile(path, output)
    payloads = os.path.join(os.path.dirname(os.path.abspath(path)), ".chatmd")
    beside = os.path.join(os.path.dirname(os.path.abspath(output)), ".chatmd")
    if os.path.isdir(payloads) and payloads != beside:
        shutil.copytree(payloads, beside, dirs_exist_ok=True)


def _ignore(_: News) -> None:
    """Nobody wants to know."""
