"""Agent files and built-in tools, offered to other programs: each call goes through the gate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from whence.errors import InvalidArgs, NotFound
from whence.execute.ports import Ports
from whence.loop.agent_file import AgentFile
from whence.loop.bind import message_of, run_child
from whence.loop.budget import Budget
from whence.loop.conversation import Reader
from whence.loop.models import choose_model
from whence.loop.news import CallStarted, News, Notice
from whence.loop.outcomes import shown
from whence.loop.published_files import PublishedFiles
from whence.loop.scope import Scope
from whence.loop.session import Session
from whence.loop.settings import stricter
from whence.mcp.offer import Caller
from whence.provider.mcp_sampling import encode_items
from whence.provider.mcp_tools import decode_call, encode_result, encode_tool, hints
from whence.shapes.approval import Answer, Question
from whence.shapes.call import Call
from whence.shapes.item import Item, Message
from whence.shapes.json import JSONObject
from whence.shapes.policy import WhyPolicy
from whence.shapes.tool import Handler, Sandbox, Tool

_TIMEOUT_MS = 600_000
_DESCRIPTION = 300


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
        self._is_news = False
        self._mount()

    def has_changed(self) -> bool:
        """Whether tools or prompts have changed since this was last asked."""
        self._look()
        news, self._is_news = self._is_news, False
        return news

    def tools(self) -> list[JSONObject]:
        """The tools as the protocol shows them."""
        self._look()
        demanded = self._session.policy.why in (WhyPolicy.REQUIRED, WhyPolicy.STRICT)
        listed: list[JSONObject] = []
        for mounted in self._session.toolbox:
            tool = encode_tool(mounted, require_why=demanded)
            if tool.get("outputSchema", {}).get("type") != "object":
                tool.pop("outputSchema", None)  # the protocol has none for other values
            agent = self._files.agents.get(mounted.name)
            if agent is not None:
                effects = frozenset[Any]().union(*(one.effects for one in agent.resolved.tools))
                tool["annotations"] = hints(replace(mounted.tool, effects=effects))
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
        if mounted is not None and isinstance(given, Mapping):
            reason = _meta(params).get("why")
            given = {**({mounted.why_key: reason} if reason else {}), **given}
        unparsed = asked.text if asked.arguments is None else None
        _request.set(_Request(session, caller))
        outcome = await session.perform(
            Call(asked.name, given, unparsed=unparsed, parse_problem=asked.problem or "")
        )
        if mounted is None and outcome.fault is not None:
            raise NotFound(outcome.fault.message, outcome.fault.suggestion)
        answer = shown(asked, outcome)
        if isinstance(outcome.result, dict):
            answer = replace(answer, structured=outcome.result)
        return encode_result(answer)[0]

    def prompts(self) -> list[JSONObject]:
        """The agent files as the protocol shows prompts."""
        self._look()
        return [
            {
                "name": name,
                "description": _description(agent, self._workspace),
                "arguments": _arguments(agent),
            }
            for name, agent in self._files.agents.items()
        ]

    def prompt(self, name: str, arguments: Mapping[str, str]) -> JSONObject:
        """What an agent file says, and what is asked of it.

        Raises:
            NotFound: There is no such prompt.
            InvalidArgs: An argument is missing, or nobody knows it.
        """
        self._look()
        agent = self._files.agents.get(name)
        if agent is None:
            known = ", ".join(self._files.agents) or "none"
            raise NotFound(f"there is no prompt {name!r}", f"Prompts: {known}.")
        _check(name, arguments, agent)
        items: list[Item] = [*Reader(agent, self._workspace).items()]
        if arguments:
            items.append(message_of(dict(arguments), agent.resolved.interface))
        said, _ = encode_items([item for item in items if isinstance(item, Message)])
        messages = [
            {"role": message["role"], "content": block}
            for message in said
            for block in message["content"]
        ]
        return {"description": _description(agent, self._workspace), "messages": messages}

    def _look(self) -> None:
        if self._files.refresh():
            self._mount()
            self._is_news = True

    def _mount(self) -> None:
        agents = [self._agent_tool(name) for name in self._files.agents]
        self._session = self._session.child((*self._builtin, *agents), self._session.policy)

    def _agent_tool(self, name: str) -> Tool:
        agent = self._files.agents[name]
        tool = _tool(name, agent)
        description = _description(agent, self._workspace)
        return replace(tool, description=description, handler=self._handler(name))

    def _handler(self, name: str) -> Handler:
        async def run(arguments: JSONObject, ports: object, /) -> object:
            assert isinstance(ports, Ports)  # noqa: S101 - the executor gives nothing else
            agent, request = self._files.agents[name], _request.get()
            model, notice = choose_model(
                self._model, agent.resolved.config.model, self._workspace, os.environ
            )
            if notice is not None:
                self._say(notice)
            policy = request.session.policy
            held = request.session.under(
                replace(policy, why=stricter(policy.why, WhyPolicy.REQUIRED))
            )
            scope = Scope(
                self._workspace, _progress(request.caller), Budget(turns=None), held, model,
                named_model=self._model, environ=os.environ,
            )  # fmt: skip
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
                await model.aclose()

        return run


def known_tools(files: PublishedFiles, builtin: Iterable[Tool]) -> tuple[Tool, ...]:
    """Whatever a rule may be about: what is published, and what published agents use."""
    known: dict[str, Tool] = {}
    for name, agent in files.agents.items():
        known |= {tool.name: tool for tool in (*agent.resolved.tools, _tool(name, agent))}
    return (*(known | {tool.name: tool for tool in builtin}).values(),)


def _tool(name: str, agent: AgentFile) -> Tool:
    interface = agent.resolved.interface
    return Tool(
        name=name,
        description="",
        input_schema=interface.input_schema,
        output_schema=interface.output_schema,
        handler=None,
        category="agent",
        sandbox=Sandbox(timeout_ms=_TIMEOUT_MS),
        source="agent",
    )


def _progress(caller: Caller) -> Callable[[News], None]:
    """Tells a caller what an agent does; each step takes it half of what is left of the way."""
    steps = count(1)

    def emit(news: News) -> None:
        if isinstance(news, CallStarted):
            caller.tell(1 - 0.5 ** next(steps), f"{news.tool}: {news.why}")
        elif isinstance(news, Notice):
            caller.tell(1 - 0.5 ** next(steps), news.text)

    return emit


def _approver(caller: Caller) -> Callable[[Question], Any]:
    async def ask(question: Question) -> Answer:
        lines = [
            f"Allow {question.tool}?",
            f"why: {question.why}",
            f"asking: {question.reason}",
            f"arguments: {question.arguments}",
        ]
        approved = await caller.ask("\n".join(lines))
        return Answer(approved=approved, by="client")

    return ask


def _description(agent: AgentFile, workspace: str) -> str:
    """The first words of its instructions, or its name."""
    for item in Reader(agent, workspace).items():
        if isinstance(item, Message) and item.role in ("system", "developer") and item.text.strip():
            first = " ".join(item.text.strip().partition("\n\n")[0].split())
            return first if len(first) <= _DESCRIPTION else first[: _DESCRIPTION - 1] + "…"
    return f"Runs the agent {os.path.basename(agent.path)} and returns its answer."


def _arguments(agent: AgentFile) -> list[JSONObject]:
    inputs = agent.resolved.interface.inputs
    if not inputs:
        return [{"name": "input", "description": "What the agent is asked", "required": False}]
    return [
        {
            "name": param.name,
            "description": str(param.schema.get("description", "")),
            "required": param.required,
        }
        for param in inputs
    ]


def _check(name: str, arguments: Mapping[str, str], agent: AgentFile) -> None:
    taken = {str(one["name"]): bool(one["required"]) for one in _arguments(agent)}
    unknown = [key for key in arguments if key not in taken]
    missing = [key for key, needed in taken.items() if needed and key not in arguments]
    if unknown or missing:
        what = f"does not take {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"
        raise InvalidArgs(f"the prompt {name} {what}", f"It takes {', '.join(taken)}.")


def _meta(params: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, Mapping) else {}
