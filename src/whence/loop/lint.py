"""What is legal in an agent file and still wrong: tools that cannot work, and a dangerous mix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from whence.errors import Unavailable, WhenceError
from whence.gate.mode import group_of
from whence.loop.agent_file import AgentFile, Reach
from whence.loop.locked import compare, compare_servers
from whence.loop.measure import program_path
from whence.loop.settings import load_mode
from whence.shapes.declaration import ShellCommand
from whence.shapes.document import Diagnostic, Element, Severity, Span, places
from whence.shapes.tool import Effect, Tool

_WORDS = ("user", "system", "developer", "msg", "assistant")


def lint(agent: AgentFile, workspace: str, *, locked: bool = False) -> list[Diagnostic]:
    """Warnings and errors beyond what the file's text alone shows; also what is not as pinned."""
    found = [
        *_commands(agent, workspace),
        *_files(agent, workspace),
        *_mode(agent, workspace),
        *_mix(agent),
        *_scripts(agent),
        *_model(agent),
    ]
    found += _unpinned(agent, workspace) if locked else ()
    return _placed(agent.document.source, found)


def _commands(agent: AgentFile, workspace: str) -> Iterator[Diagnostic]:
    """Programs that a run would not find."""
    for name, binding in agent.resolved.bindings.items():
        if isinstance(binding, ShellCommand):
            place = "on the sandbox's PATH, which has the system's programs only"
            span = agent.resolved.spans[name]
            yield from _program(binding, workspace, f"tool {name!r}", place, span)
    for server in agent.resolved.servers:
        if server.argv:
            words = tuple((word,) for word in server.argv)
            command = ShellCommand(words, env=("PATH",), cwd=server.cwd)
            of = f"server {server.label!r}"
            yield from _program(command, workspace, of, "on PATH", server.span)


def _program(
    command: ShellCommand, workspace: str, of: str, place: str, span: Span
) -> Iterator[Diagnostic]:
    try:
        program_path(command, workspace, os.environ)
    except Unavailable:
        program = "".join(part for part in command.argv[0] if isinstance(part, str))
        where = "there" if "/" in program else place
        yield _found(
            "missing-command",
            f"{program!r}, the command of {of}, is not {where}.",
            "Install it, or give its path from the workspace, as in .venv/bin/pytest.",
            span,
        )


def _files(agent: AgentFile, workspace: str) -> Iterator[Diagnostic]:
    """Local documents and pictures that cannot be reached."""
    reach = Reach(agent.path, workspace)
    try:
        for message in agent.document.holding(*_WORDS):
            for element in message.children:
                yield from _file(element, agent, reach)
    finally:
        reach.close()


def _file(element: Element, agent: AgentFile, reach: Reach) -> Iterator[Diagnostic]:
    src = element.get("src")
    if element.tag not in ("doc", "img", "agent") or not src:
        return
    code, is_local = "unreachable-file", element.tag == "agent" or element.flag("local")
    if not is_local:
        known = ("http://", "https://", *(["data:"] if element.tag == "img" else []))
        if not src.startswith(known):
            said = f"<{element.tag}>: {src!r} is no address."
            yield _found(code, said, "Write local behind it if it is a file.", element.span)
        return
    try:
        reach.find(src, agent.expanded.origin(element.span.start)[0])
    except WhenceError as error:
        yield _found(code, f"<{element.tag}>: {error.message}.", error.suggestion, element.span)


def _scripts(agent: AgentFile) -> Iterator[Diagnostic]:
    """What is written for another program, and may be what keeps the agent in check there."""
    for element in agent.document.tagged("script"):
        said = "Scripts are not run here: what this one would check or change, it does not."
        yield _found("idle-script", said, "Use rules, modes and budgets.", element.span)


def _mode(agent: AgentFile, workspace: str) -> Iterator[Diagnostic]:
    """Tools that the file's own mode never lets through."""
    slug = agent.resolved.config.mode
    if slug is None:
        return
    config = agent.document.config
    span = config.span if config else Span(0, 0)
    try:
        mode = load_mode(workspace, slug)
    except WhenceError as error:
        yield _found("unknown-mode", f"{error.message}.", error.suggestion, span, Severity.ERROR)
        return
    for tool in agent.resolved.tools:
        group = group_of(tool)
        if group is not None and group not in mode.groups:
            yield _found(
                "dead-tool",
                f"{tool.name!r} is of the group {group!r}, which mode {slug!r} does not have.",
                "Remove the tool, or choose another mode.",
                agent.resolved.spans[tool.name],
            )


def _model(agent: AgentFile) -> Iterator[Diagnostic]:
    """A model of a provider that does not exist."""
    from whence.provider.catalog import provider_of

    name, config = agent.resolved.config.model or "", agent.document.config
    if config is None or "/" not in name or name.startswith(("local/", "script/", "replay/")):
        return
    try:
        provider_of(name)
    except WhenceError as error:
        yield _found("unknown-model", f"{error.message}.", error.suggestion, config.span)


def _mix(agent: AgentFile) -> Iterator[Diagnostic]:
    """Private data, untrusted input and a way out, all in one agent."""
    tools = agent.resolved.tools
    private = _names(tool for tool in tools if Effect.READ in tool.effects and _is_local(tool))
    private += _names(tool for tool in tools if Effect.EXECUTE in tool.effects)
    network = _names(tool for tool in tools if Effect.NETWORK in tool.effects)
    network += [server.label for server in agent.resolved.servers]
    if private and network:
        first = next(iter(agent.resolved.spans.values()), Span(0, 0))
        yield _found(
            "exfiltration-risk",
            f"One agent reads private data ({_some(private)}), takes in what strangers wrote and "
            f"can send it out ({_some(network)}).",
            "Split it into two agents, or have the network tools ask.",
            first,
        )


def _is_local(tool: Tool) -> bool:
    return bool(tool.paths) or Effect.NETWORK not in tool.effects


def _names(tools: Iterator[Tool]) -> list[str]:
    return [tool.name for tool in tools]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _unpinned(agent: AgentFile, workspace: str) -> Iterator[Diagnostic]:
    """Tools that are not what the capability lock says, or not in it."""
    found = compare(agent, workspace, os.environ)
    servers = {server.label: server.span for server in agent.resolved.servers}
    if servers:
        import asyncio

        found += asyncio.run(compare_servers(agent, workspace, os.environ))
    for held in found:
        if not held.sound:
            said = held.problem or (held.drift.reason if held.drift else "it has no pin")
            hint = f"Look at it with `whence lock --check {held.agent}`; --update accepts it."
            named = agent.resolved.spans.get(held.tool) or servers.get(held.tool)
            span = named or next(iter(servers.values()))
            yield _found("not-locked", f"{held.tool}: {said}.", hint, span, Severity.ERROR)


def _found(
    code: str, message: str, suggestion: str, span: Span, severity: Severity = Severity.WARNING
) -> Diagnostic:
    return Diagnostic(severity, code, message, suggestion, span, 0, 0, "")


def _placed(source: bytes, found: list[Diagnostic]) -> list[Diagnostic]:
    found.sort(key=lambda item: item.span.start)
    where = places(source, (item.span.start for item in found))
    return [
        replace(item, line=place.line, column=place.column, source_line=place.text)
        for item, place in zip(found, where, strict=True)
    ]


def shown_path(path: str) -> str:
    """A path as a person would type it from here."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
