"""An agent: a file that can be run.

agent = Agent.load("librarian.chatmd")
result = await agent.run("Which chapters mention the journal?")
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import msgspec

from whence.declare.toolbox import Mounted, Toolbox
from whence.errors import Conflict, InvalidArgs, ParseError
from whence.gate import schema
from whence.loop import events
from whence.loop.agent_file import AgentFile, load_agent
from whence.loop.bind import ask_agent, bind, message_of
from whence.loop.conversation import Reader
from whence.loop.converse import budget_of, converse
from whence.loop.inline import fetch
from whence.loop.models import choose_model
from whence.loop.news import Finished, News, Notice, Result
from whence.loop.scope import Scope
from whence.loop.session import Session
from whence.loop.settings import load_mode, stricter
from whence.loop.transcript import Transcript
from whence.provider.model import Model
from whence.shapes.approval import Approver
from whence.shapes.document import Severity
from whence.shapes.item import Message
from whence.shapes.policy import Policy, Rule, Verdict
from whence.shapes.tool import Effect, Tool
from whence.shapes.web import PUBLIC, HostPolicy

_QUIET = frozenset({Effect.READ})


class Agent:
    """A file that can be run, again and again; each run adds to its transcript."""

    def __init__(  # noqa: PLR0913 - by name, each with a default
        self,
        file: AgentFile,
        workspace: str | os.PathLike[str] = ".",
        *,
        model: str | None = None,
        tools: Iterable[Tool] = (),
        policy: Policy = Policy(),
        mode: str | None = None,
        approver: Approver | None = None,
        session: str | None = None,
        transcript: str | os.PathLike[str] | None = None,
        max_turns: int | None = None,
        parallel: int | None = None,
        compact_at: int | None = None,
        web: HostPolicy = PUBLIC,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.file = file
        self.workspace = os.fspath(workspace)
        self._model = model
        self._tools = tuple(tools)
        self.policy = policy
        """Rules, quotas and limits of the next run."""
        self._mode = mode or file.resolved.config.mode
        self._approver = approver
        self._session = session
        self._transcript = Path(transcript) if transcript is not None else None
        self._max_turns = max_turns
        self._parallel = parallel
        self._compact_at = compact_at
        self._web = web
        self._environ = environ
        self._scope: Scope | None = None
        self._waiting: list[str] = []

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
        **options: Any,
    ) -> Self:
        """The agent of a file.

        Args:
            path: The agent file; its runs are added to it.
            workspace: The directory that its tools are held to.
            output: A copy of the file that is made, and that runs are added to instead.
            ephemeral: Add runs nowhere.
            **options: `model`, an id such as `anthropic/claude-…`; `tools`, more of them, such as
                functions with `@tool`; `policy`; `mode`; `approver`; `session`; `max_turns`;
                `parallel`; `compact_at`; `web`, the servers that documents may come from.

        Raises:
            ParseError: It has errors; `whence check` shows all of them.
            NotFound: There is no such file.
            Conflict: There is a file where the copy should be.
        """
        name = os.fspath(path)
        file = load_agent(name, os.fspath(workspace))
        for located in file.problems():
            found = located.diagnostic
            if found.severity is Severity.ERROR:
                where = f"{located.path}:{found.line}:{found.column}"
                hint = f"{found.suggestion} `whence check` has all."
                raise ParseError(f"{where}: {found.message}", hint)
        transcript = None if ephemeral else _copied(name, output)
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
            on: Called with everything that happens, as it happens.

        Raises:
            WhenceError: There is no answer; what happened until then is kept.
        """
        emit = on or _ignore
        scope = self._open(emit)
        reason = "error"
        try:
            result = await self._run(scope, input)
            reason = "done"
        except (KeyboardInterrupt, asyncio.CancelledError):
            reason = "interrupted"
            raise
        finally:
            self._scope = None
            self._opened.close(reason)
            if scope.model is not None:
                await scope.model.aclose()
        emit(Finished(result))
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

    def run_sync(self, input: str | Mapping[str, Any] | None = None) -> Result:
        """The same as `run`, for programs without an event loop."""
        return asyncio.run(self.run(input))

    def steer(self, text: str) -> None:
        """Say something while it runs: the model hears it with its next turn."""
        run = self._scope.run if self._scope is not None else None
        (run.steering if run is not None else self._waiting).append(text)

    def _open(self, emit: Callable[[News], None]) -> Scope:
        config = self.file.resolved.config
        model, notice = choose_model(self._model, config.model, self.workspace, self._environ)
        if notice is not None:
            emit(Notice(notice))
        tools = self.tools
        self._opened = Session(
            self.workspace, tools, policy=_cautious(self._policy_of(), tools, model),
            session=self._session, approver=self._approver,
            purpose=f"run {os.path.basename(self.file.path)}",
        )  # fmt: skip
        scope = Scope(
            self.workspace, emit, budget_of(config, self._max_turns), self._opened,
            named_model=self._model, model=model, parallel=self._parallel, web=self._web,
            environ=self._environ,
        )  # fmt: skip
        bound = (*bind(self.file, scope), *self._tools)
        scope.session = self._opened.child(bound, self._opened.policy)
        if self._compact_at is not None:
            scope.compact_at = self._compact_at
        self._scope = scope
        return scope

    def _policy_of(self) -> Policy:
        policy, config = self.policy, self.file.resolved.config
        mode = load_mode(self.workspace, self._mode) if self._mode else policy.mode
        return replace(policy, mode=mode, why=stricter(policy.why, config.why))

    async def _run(self, scope: Scope, input: str | Mapping[str, Any] | None) -> Result:
        config = self.file.resolved.config
        transcript = Transcript(self._transcript, inline=config.show_tool_call)
        asked = None if input is None else self._asked(input)
        if asked is not None:
            scope.session.record(events.user_message(asked.text))
        fetched = await fetch(self.file, scope, ask_agent)
        reader = Reader(self.file, self.workspace, fetched)
        items = reader.items()
        for note in reader.notes:
            scope.emit(Notice(note))
        new = [asked] if asked is not None else []
        answered = False
        try:
            result = await converse(self.file, scope, items, new, transcript)
            answered = True
        finally:
            transcript.end(answered=answered)
        for repaired in transcript.repaired:
            scope.emit(Notice(repaired))
        return result

    def _asked(self, input: str | Mapping[str, Any]) -> Message:
        interface = self.file.resolved.interface
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
        if not inputs:
            return {"input": input}
        try:
            return msgspec.json.decode(input, type=dict[str, Any])
        except msgspec.DecodeError as error:
            names = ", ".join(param.name for param in inputs)
            raise InvalidArgs(
                f"{self.file.path} takes named inputs ({names}), not {input!r:.100}: {error}",
                f'Give them as JSON, as in {{"{inputs[0].name}": …}}.',
            ) from None


def _ignore(news: News) -> None:
    """Nobody listens."""


def _copied(path: str, output: str | os.PathLike[str] | None) -> str:
    """The file that runs are added to."""
    if output is None:
        return path
    if os.path.exists(output):
        raise Conflict(
            f"{os.fspath(output)!r} is there already", "Run that file itself, or name another."
        )
    shutil.copyfile(path, output)
    payloads = os.path.join(os.path.dirname(os.path.abspath(path)), ".chatmd")
    if os.path.isdir(payloads):
        beside = os.path.join(os.path.dirname(os.path.abspath(output)), ".chatmd")
        shutil.copytree(payloads, beside, dirs_exist_ok=True)
    return os.fspath(output)


def _cautious(policy: Policy, tools: Iterable[Tool], model: Model) -> Policy:
    """With a model that is often wrong, whatever does more than read asks first."""
    if not getattr(model, "cautious", False):
        return policy
    mounted = Toolbox(tools)
    allowed = {rule.tool for rule in policy.rules if rule.verdict is Verdict.ALLOW}
    asking = tuple(
        Rule(Verdict.ASK, tool.name, None, "the embedded model, which is often wrong")
        for tool in mounted
        if not tool.tool.effects <= _QUIET and tool.name not in allowed
    )
    return replace(policy, rules=(*policy.rules, *asking))
