"""Agent files and built-in tools, offered to other programs: each call goes through the gate."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from whence.errors import NotFound
from whence.execute.ports import Ports
from whence.loop.news import CallStarted, News, Notice
from whence.loop.outcomes import shown
from whence.loop.published_files import PublishedFiles
from whence.loop.published_tools import agent_tool, effects_of, writing_tools
from whence.loop.question import shown as asked_of
from whence.loop.session import Session
from whence.loop.settings import stricter
from whence.mcp.offer import Caller
from whence.provider.mcp_tools import decode_call, encode_result, encode_tool, hints
from whence.shapes.approval import Answer, Question
from whence.shapes.call import Call
from whence.shapes.json import JSONObject
from whence.shapes.policy import WhyPolicy
from whence.shapes.tool import Handler, Tool
from whence.shapes.vision import is_image

if TYPE_CHECKING:
    from whence.loop.agent_file import AgentFile
    from whence.loop.scope import Scope


@dataclass(frozen=True, slots=True)
class _Request:
    """What the handler of an agent must know of the request that it works for."""

    session: Session
    caller: Caller


_request: ContextVar[_Request] = ContextVar("request")


class Published:
    """What a server offers.

    Args:
        session: its journal and its policy; tools that are published are added to it.
        workspace: where agents work.
        files: what is published as tools and prompts.
        builtin: what is published besides.
        model: what agents run on, whatever their files say.
        say: hears what whoever started the server should know.
    """

    instructions = (
        "Every tool takes `why`: one sentence that says what the call is meant to achieve. "
        "It is kept in the log, next to the call and its outcome."
    )

    def __init__(
        self,
        session: Session,
        workspace: str,
        files: PublishedFiles,
        builtin: Iterable[Tool] = (),
        *,
        model: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._builtin = tuple(builtin)
        self._model = model
        self._say = say
        self._session = session
        self._policy = session.policy
        self._is_news = False
        self._listed: list[JSONObject] | None = None
        self._mount()

    def has_changed(self) -> bool:
        """Whether tools or prompts have changed since this was last asked."""
        self._look()
        news, self._is_news = self._is_news, False
        return news

    def tools(self) -> list[JSONObject]:
        """The tools as the protocol shows them."""
        self._look()
        if self._listed is None:
            self._listed = self._list()
        return self._listed

    def _list(self) -> list[JSONObject]:
        demanded = self._session.policy.why in (WhyPolicy.REQUIRED, WhyPolicy.STRICT)
        listed: list[JSONObject] = []
        for mounted in self._session.toolbox:
            tool = encode_tool(mounted, require_why=demanded)
            if tool.get("outputSchema", {}).get("type") != "object":
                tool.pop("outputSchema", None)  # the protocol has none for other values
            agent = self._files.agents.get(mounted.name)
            if agent is not None:
                tool["annotations"] = hints(replace(mounted.tool, effects=effects_of(agent)))
            listed.append(tool)
        return listed

    async def call(self, params: Mapping[str, Any], caller: Caller) -> JSONObject:
        """The result of a call, which the journal has, whatever comes of it.

        Raises:
            NotFound: there is no such tool.
        """
        self._look()
        asked = decode_call(params, "")
        session = self._session.apart(_approver(caller) if caller.can_be_asked else None)
        mounted = session.toolbox.find(asked.name)
        given: Any = asked.arguments
        if isinstance(given, Mapping):
            given = {**_reason(params, mounted.why_key if mounted else "why"), **given}
        unparsed = asked.text if asked.arguments is None else None
        _request.set(_Request(session, caller))
        outcome = await session.perform(
            Call(asked.name, given, unparsed=unparsed, parse_problem=asked.problem or "")
        )
        if mounted is None and outcome.fault is not None:
            raise NotFound(outcome.fault.message, outcome.fault.suggestion)
        answer = shown(asked, outcome)
        if isinstance(outcome.result, dict) and not is_image(outcome.result):
            answer = replace(answer, structured=outcome.result)
        return encode_result(answer)[0]

    def is_brief(self, tool: str) -> bool:
        """Whether it only reads and writes files."""
        mounted = self._session.toolbox.find(tool)
        return mounted is not None and mounted.is_harmless and mounted.tool.source == "builtin"

    def prompts(self) -> list[JSONObject]:
        """The agent files as the protocol shows prompts."""
        from whence.loop.published_prompts import arguments_of

        self._look()
        return [
            {
                "name": mounted.wire,
                "description": mounted.tool.description,
                "arguments": arguments_of(self._files.agents[mounted.name]),
            }
            for mounted in self._session.toolbox
            if mounted.name in self._files.agents
        ]

    def prompt(self, name: str, arguments: Mapping[str, str]) -> JSONObject:
        """What an agent file says, and what is asked of it.

        Raises:
            NotFound: There is no such prompt.
            InvalidArgs: An argument is missing, or nobody knows it.
        """
        from whence.loop.published_prompts import messages_of

        self._look()
        mounted = self._session.toolbox.find(name)
        agent = self._files.agents.get(mounted.name) if mounted else None
        if mounted is None or agent is None:
            known = ", ".join(str(each["name"]) for each in self.prompts()) or "none"
            raise NotFound(f"there is no prompt {name!r}", f"Prompts: {known}.")
        messages = messages_of(agent, arguments, self._workspace)
        return {"description": mounted.tool.description, "messages": messages}

    def _look(self) -> None:
        if self._files.has_sources and self._files.refresh():
            self._mount()
            self._is_news = True

    def _mount(self) -> None:
        agents = [self._agent_tool(name) for name in self._files.agents]
        writing = writing_tools() if self._files.has_sources else ()
        rules = (*self._policy.rules, *self._files.protection(writing))
        self._session = self._session.child(
            (*self._builtin, *agents), replace(self._policy, rules=rules)
        )
        self._listed = None

    def _agent_tool(self, name: str) -> Tool:
        from whence.loop.published_prompts import description_of

        agent = self._files.agents[name]
        handler = self._handler(agent)
        return replace(agent_tool(name, agent), description=description_of(agent), handler=handler)

    def _handler(self, agent: AgentFile) -> Handler:
        async def run(arguments: JSONObject, ports: object, /) -> object:
            from whence.loop.bind import message_of, run_child

            assert isinstance(ports, Ports)  # noqa: S101 - the executor gives nothing else
            request = _request.get()
            scope = self._scope(agent, request)
            asked = message_of(arguments, agent.resolved.interface)
            end = "Failed"
            request.caller.tell(0, "Starting agent")
            try:
                reply = await run_child(agent, [asked], scope, ports.call_id, why=ports.why)
                end = "Completed"
                return reply
            finally:
                request.caller.tell(1, end)
                for servers in scope.servers:
                    await servers.close()
                await scope.model.aclose()

        return run

    def _scope(self, agent: AgentFile, request: _Request) -> Scope:
        """Where an agent runs for a request: whatever clients owe, it owes reasons."""
        from whence.loop.budget import Budget
        from whence.loop.models import choose_model
        from whence.loop.scope import Scope

        declared = agent.resolved.config.model
        model, notice = choose_model(self._model, declared, self._workspace, os.environ)
        if notice is not None:
            self._say(notice)
        policy = request.session.policy
        held = replace(policy, why=stricter(policy.why, WhyPolicy.REQUIRED))
        return Scope(
            self._workspace, _progress(request.caller), Budget(turns=None),
            request.session.under(held), model, named_model=self._model, environ=os.environ,
        )  # fmt: skip


def _progress(caller: Caller) -> Callable[[News], None]:
    """Tells a caller what an agent does: always further, and never there before its end."""
    steps = count(2)

    def emit(news: News) -> None:
        if isinstance(news, CallStarted):
            caller.tell(1 - 1 / next(steps), f"{news.tool}: {news.why}")
        elif isinstance(news, Notice):
            caller.tell(1 - 1 / next(steps), news.text)

    return emit


def _approver(caller: Caller) -> Callable[[Question], Awaitable[Answer]]:
    async def ask(question: Question) -> Answer:
        approved = await caller.ask("\n".join(asked_of(question)))
        return Answer(approved=approved, by="client")

    return ask


def _reason(params: Mapping[str, Any], key: str) -> dict[str, str]:
    """The reason that travels beside the arguments."""
    meta = params.get("_meta")
    why = meta.get("why") if isinstance(meta, Mapping) else None
    return {key: why} if isinstance(why, str) else {}
