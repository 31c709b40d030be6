"""Handlers for the tools that only a run can give them: commands, other agents, forks of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import msgspec
from msgspec import structs

from whence.catalogs import DEFAULT, Catalogs
from whence.chatmd.include import expand
from whence.chatmd.parse import parse
from whence.declare.command import command_line
from whence.declare.resolve import resolve
from whence.errors import ParseError, PermissionDenied, Unavailable
from whence.execute.ports import Ports
from whence.loop.agent_file import AgentFile, Reach, load_agent
from whence.loop.budget import Budget
from whence.loop.conversation import Reader
from whence.loop.converse import converse
from whence.loop.digest import digest
from whence.loop.inline import fetch
from whence.loop.live import showing
from whence.loop.lock import Lock, LockGuard
from whence.loop.measure import agent_name, measure, named_inside, program_files, source_hashes
from whence.loop.outcomes import interrupted
from whence.loop.pairing import speaks
from whence.loop.scope import Scope
from whence.loop.session import runs_programs
from whence.loop.settings import load_mode, stricter
from whence.loop.transcript import Transcript
from whence.shapes.call import Reply
from whence.shapes.declaration import AgentReference, Interface, PythonReference, ShellCommand
from whence.shapes.item import Item, Message, Text, ToolCall, ToolOutcome
from whence.shapes.json import JSONObject
from whence.shapes.policy import Policy
from whence.shapes.tool import Handler, Tool
from whence.shapes.web import PUBLIC
from whence.work.commands import run_command

FORK = "fork"
_SWAPPED = "the program or its script was changed while it ran"


def bind(file: AgentFile, scope: Scope) -> tuple[Tool, ...]:
    """The tools of a file, those of other agents ready to be called; none of its servers'."""
    return tuple(_bound(tool, file, scope) for tool in file.resolved.tools)


async def bind_all(file: AgentFile, scope: Scope) -> tuple[Tool, ...]:
    """The tools of a file and of the MCP servers that it names."""
    if not file.resolved.servers:
        return bind(file, scope)
    from whence.loop.server_tools import server_tools
    from whence.loop.servers import Servers

    if not scope.servers:
        scope.servers.append(Servers(scope.workspace, scope.environ))
    scope.lock = scope.lock or Lock(scope.workspace)
    found = await server_tools(file, scope.servers[0], scope.lock, scope.say)
    return (*bind(file, scope), *found)


def _bound(tool: Tool, file: AgentFile, scope: Scope) -> Tool:
    bound = _with_handler(tool, file, scope)
    if bound.handler is None or not runs_programs(bound):
        return bound
    return replace(bound, handler=showing(bound.handler, scope))


def _with_handler(tool: Tool, file: AgentFile, scope: Scope) -> Tool:
    reference = file.resolved.bindings.get(tool.name)
    if isinstance(reference, AgentReference):
        guard = _guard(tool, file, scope)
        return replace(tool, guard=guard, handler=_agent_tool(file, reference, scope, guard))
    if isinstance(reference, ShellCommand):
        guard = _guard(tool, file, scope)
        return replace(tool, guard=guard, handler=_command_tool(reference, scope, guard))
    if isinstance(reference, PythonReference):
        return replace(tool, guard=_guard(tool, file, scope))
    if tool.name == FORK and tool.handler is None:
        return replace(tool, handler=_fork_tool(file, scope))
    return tool


def _guard(tool: Tool, file: AgentFile, scope: Scope) -> LockGuard:
    """Holds a tool to what was behind it when it was first used."""
    scope.lock = scope.lock or Lock(scope.workspace)
    name = agent_name(file.path, scope.workspace)
    look = partial(measure, file, tool, scope.workspace, scope.environ)
    return LockGuard(scope.lock, name, tool.name, look)


def message_of(arguments: JSONObject, interface: Interface) -> Message:
    """What an agent is asked: its one text, or its named inputs line by line."""
    if not interface.inputs:
        return Message.of("user", str(arguments.get("input", "")))
    lines = [f"{name}: {_value(value)}" for name, value in arguments.items()]
    return Message.of("user", "\n".join(lines))


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _command_tool(command: ShellCommand, scope: Scope, guard: LockGuard) -> Handler:
    async def run(arguments: JSONObject, ports: object, /) -> object:
        assert isinstance(ports, Ports)  # noqa: S101 - the executor gives nothing else
        files = program_files(command, scope.workspace, scope.environ)
        guard.confirm(named_inside(files, scope.workspace))
        argv = (next(iter(files)), *command_line(command, arguments)[1:])
        reply = await run_command(ports, argv, command, environ=scope.environ)
        if any(digest(path) != trusted for path, trusted in files.items()):
            return structs.replace(reply, warnings=(*reply.warnings, _SWAPPED))
        return reply

    return run


def _agent_tool(
    file: AgentFile, reference: AgentReference, scope: Scope, guard: LockGuard
) -> Handler:
    async def run(arguments: JSONObject, ports: object, /) -> object:
        assert isinstance(ports, Ports)  # noqa: S101 - the executor gives nothing else
        child = await _load(file, reference, scope, ports)
        if not reference.remote:
            guard.confirm(source_hashes(child.expanded.sources, scope.workspace))
        asked = message_of(arguments, child.resolved.interface)
        return await run_child(child, [asked], scope, ports.call_id, why=ports.why)

    return run


async def run_child(
    file: AgentFile, asked: Sequence[Item], scope: Scope, call_id: str, *, why: str = ""
) -> Reply:
    """A fresh conversation with another agent; its answer.

    It has its own tools and no more than its parent may do: the parent's rules and quotas hold,
    and each mode above it.
    """
    inner = scope.below(call_id, Budget.of(file.resolved.config, parent=scope.budget))
    inner.session = scope.session.child(await bind_all(file, inner), _policy(file, scope))
    fetched = await fetch(file, inner, ask_agent)
    reader = Reader(file, scope.workspace, fetched)
    told = [*_reason(why), *reader.items()]
    for note in reader.notes:
        inner.say(note)
    result = await converse(file, inner, told, asked, Transcript(None))
    return Reply(result.text if result.value is None else result.value)


async def ask_agent(file: AgentFile, asked: Message, scope: Scope) -> str:
    """The words of another agent, for a message that names it; what it does is no call's."""
    no_call = scope.session.claim(f"agent-{os.path.basename(file.path).partition('.')[0]}")
    reply = await run_child(file, [asked], scope, no_call)
    return _value(reply.value)


def _reason(why: str) -> list[Message]:
    return [Message.of("system", f"You are asked by another agent, because: {why}")] if why else []


def _policy(file: AgentFile, scope: Scope) -> Policy:
    """The parent's, with its mode as a ceiling and the child's own mode and demands."""
    above, config = scope.session.policy, file.resolved.config
    ceiling = (*above.ceiling, above.mode) if above.mode else above.ceiling
    return replace(
        above,
        why=stricter(above.why, config.why),
        mode=load_mode(scope.workspace, config.mode) if config.mode else None,
        ceiling=ceiling,
    )


async def _load(
    file: AgentFile, reference: AgentReference, scope: Scope, ports: Ports
) -> AgentFile:
    """The agent as it is now: edits hold at once."""
    if reference.remote:
        child = await _fetch(reference.path, ports)
    else:
        reach = Reach(file.path, scope.workspace)
        try:
            child = load_agent(reach.find(reference.path, file.path), scope.workspace)
        finally:
            reach.close()
    wrong = child.first_error()
    if wrong is not None:
        raise ParseError(
            f"the agent {reference.path} cannot be run: {wrong.diagnostic}",
            "`whence check` shows everything that is wrong with it.",
        )
    return child


async def _fetch(url: str, ports: Ports) -> AgentFile:
    """An agent from the web: it may name neither files nor Python functions of this machine."""
    fetched = await ports.http.get(url, allow=PUBLIC)

    def refuse(src: str, base: str) -> tuple[str, bytes]:
        raise PermissionDenied(
            f"{url} names the file {src!r}, and it comes from the web", "Save it here first."
        )

    def no_function(src: str, name: str) -> Tool:
        raise PermissionDenied(
            f"{url} names the function {src}:{name}, and it comes from the web",
            "Save it here first.",
        )

    expanded = expand(fetched.body, url, refuse)
    resolved = resolve(
        expanded.document,
        catalogs=Catalogs(),
        default_catalogs=DEFAULT,
        load_document=lambda src: parse(refuse(src, url)[1]),
        load_function=no_function,
    )
    return AgentFile(url, expanded, resolved)


def _fork_tool(file: AgentFile, scope: Scope) -> Handler:
    async def run(arguments: JSONObject, ports: object, /) -> object:
        assert isinstance(ports, Ports)  # noqa: S101 - the executor gives nothing else
        above = scope.run
        if above is None:
            raise Unavailable(
                "fork continues a conversation, and there is none", "Let an agent call it."
            )
        inner = scope.below(ports.call_id, Budget.of(file.resolved.config, parent=scope.budget))
        inner.session = scope.session.child(await bind_all(file, inner), scope.session.policy)
        items = forked(above.items, above.open[ports.call_id], _task(arguments))
        result = await converse(file, inner, [*above.system, *items], [], Transcript(None))
        return Reply(result.text)

    return run


def _task(arguments: Mapping[str, object]) -> str:
    given = arguments.get("arguments")
    listed = [str(word) for word in given] if isinstance(given, list) else []
    return "\n".join([str(arguments.get("command", "")), *(f"- {word}" for word in listed)])


def forked(items: Sequence[Item], own: ToolCall, task: str) -> list[Item]:
    """The conversation as its fork sees it: its own call is answered with its task."""
    last = max(at for at, item in enumerate(items) if item is own)
    answered = {item.call_id for item in items[last:] if isinstance(item, ToolOutcome)}
    start = next((at for at in range(last, 0, -1) if not speaks(items[at - 1])), 0)
    ends: list[Item] = []
    for item in items[start:]:
        if item is own:
            ends.append(_yours(own, task))
        elif isinstance(item, ToolCall) and item.id not in answered:
            ends.append(interrupted(item, "it is not the fork's"))
    return [*items, *ends]


def _yours(call: ToolCall, task: str) -> ToolOutcome:
    text = (
        "You are the fork: you know everything that was said so far, and only your final answer "
        f"goes back to where you came from. Do this, and answer with its result:\n{task}"
    )
    return ToolOutcome(call.id, (Text(text),), name=call.name)
