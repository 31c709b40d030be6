"""The tools of the MCP servers that an agent file names."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from whence.chatmd.suggest import closest
from whence.declare.names import CANONICAL
from whence.declare.toolbox import WHY_PROPERTY, Toolbox
from whence.errors import Conflict, InvalidArgs, PermissionDenied, WhenceError
from whence.execute.ports import Ports
from whence.loop.agent_file import AgentFile
from whence.loop.lock import Lock
from whence.loop.measure import agent_name, named_inside, pinned_definition, server_files
from whence.loop.server_guard import ServerGuard, is_of_server
from whence.loop.server_results import reply_of
from whence.loop.servers import Servers, host_of
from whence.provider.mcp_tools import decode_tools
from whence.provider.wire import mend
from whence.shapes.declaration import McpServer
from whence.shapes.document import Span, places
from whence.shapes.glyph import visible, visible_lines
from whence.shapes.json import JSONObject
from whence.shapes.pin import Pin
from whence.shapes.process import Isolation
from whence.shapes.tool import Effect, Handler, Sandbox, Tool

LARGEST = 100_000
"""Characters of one definition."""
_WORDS = ("description", "title")
_OPEN: JSONObject = {"type": "object", "additionalProperties": True}


@dataclass(frozen=True, slots=True)
class Offer:
    """What a file gets of one server."""

    declared: McpServer
    definitions: tuple[Mapping[str, Any], ...] = ()
    """As the model is to be shown them: as they are pinned, where they are."""
    missing: tuple[str, ...] = ()
    """Wanted by name, and not to be had."""
    notes: tuple[str, ...] = ()
    """What a person should know."""


async def server_tools(
    file: AgentFile, servers: Servers, lock: Lock, say: Callable[[str], None]
) -> tuple[Tool, ...]:
    """The tools of all servers of a file, ready to be called; servers are asked at the same time.

    A server that cannot be reached is told about; the tools that are known without it stay, and
    their calls try again.

    Raises:
        Conflict: Two tools have the same name.
        PermissionDenied: A file from the web names a program of this machine.
    """
    declared = file.resolved.servers
    if not declared:
        return ()
    _check_origin(file)
    agent = agent_name(file.path, servers.workspace)
    offers = await asyncio.gather(*(offer_of(each, agent, servers, lock) for each in declared))
    _check_distinct(file, offers)
    for note in (note for offer in offers for note in offer.notes):
        say(note)
    return tuple(tool for offer in offers for tool in _mounted(offer, agent, servers, lock))


async def with_server_tools(
    file: AgentFile, workspace: str, environ: Mapping[str, str]
) -> tuple[AgentFile, list[str]]:
    """The file with the tools of its servers among its own, to be looked at, and what to know."""
    notes: list[str] = []
    servers = Servers(workspace, environ)
    try:
        found = await server_tools(file, servers, Lock(workspace), notes.append)
    finally:
        await servers.close()
    tools = (*file.resolved.tools, *found)
    return replace(file, resolved=replace(file.resolved, tools=tools)), notes


async def offer_of(declared: McpServer, agent: str, servers: Servers, lock: Lock) -> Offer:
    """What a file gets of one server; it is started or asked only if the lock does not say."""
    wanted, held = declared.include, pinned_of(declared, lock.pins().get(agent, {}))
    known = {name: pinned_definition(pin)[1] for name, pin in held.items()}
    try:
        changed = is_changed_server(declared, held.values(), servers)
        if changed or (wanted is not None and all(name in known for name in wanted)):
            note = f"{declared.label} changed since it was pinned: its tools ask before it is used"
            return _offer(declared, known, known, (note,) if changed else ())
        offered = [(str(each.get("name")), each) for each in await servers.of(declared).tools()]
    except WhenceError as error:
        lead = "" if declared.label in error.message else f"{declared.label}: "
        said = f"{lead}{error.message}. {error.suggestion}"
        return _offer(declared, known, known, (said, *_unset(declared, servers.environ)))
    listed = dict(offered)
    twice = [name for name, count in Counter(name for name, _ in offered).items() if count > 1]
    said = "twice; the last of them is used"
    remarks = [f"{declared.label} offers {visible(name)[:80]!r} {said}" for name in twice]
    return _offer(declared, listed, known, (), remarks + _withdrawn(declared, listed, known))


def _withdrawn(
    declared: McpServer, listed: Mapping[str, object], known: Mapping[str, object]
) -> list[str]:
    """Tools that were used before, and that a server whose tools are all taken has no more."""
    gone = (name for name in known if name not in listed and declared.include is None)
    return [f"{declared.label} does not offer {name!r} any more" for name in gone]


def _unset(declared: McpServer, environ: Mapping[str, str]) -> list[str]:
    """Variables that the declaration names and that are not there, as a server may miss them."""
    http = (declared.headers_env, declared.client_id_env, declared.client_secret_env)
    named = dict.fromkeys(name for name in (*declared.env, *http) if name)
    return [f"{declared.label}: ${name} is not set" for name in named if name not in environ]


def pinned_of(declared: McpServer, pins: Mapping[str, Pin]) -> dict[str, Pin]:
    """The pins of a server's tools; those that it is to offer by name may be another server's."""
    wanted = declared.include or ()
    return {
        name: pin
        for name, pin in pins.items()
        if pin.kind == "mcp" and (name in wanted or pinned_definition(pin)[0] == declared.label)
    }


def is_changed_server(declared: McpServer, pins: Iterable[Pin], servers: Servers) -> bool:
    """Whether the server is not what any pin says: then its program is not to be started."""
    held = list(pins)
    files = server_files(declared, servers.workspace, servers.environ) if held else {}
    named = named_inside(files, servers.workspace)
    return bool(held) and not any(is_of_server(pin, declared, named) for pin in held)


def _offer(
    declared: McpServer,
    listed: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, Mapping[str, Any]],
    notes: tuple[str, ...],
    remarks: Sequence[str] = (),
) -> Offer:
    """The wanted ones; a definition that was pinned is shown as it was pinned.

    `notes` say why the server was not asked; `remarks` are what else is to be told.
    """
    names = list(listed) if declared.include is None else list(declared.include)
    kept, said = [], [*notes, *remarks]
    for name in names:
        definition = known.get(name) or listed.get(name)
        if definition is None:
            if not notes:
                near = closest(name, listed)
                hint = f" Did you mean {near}?" if near else ""
                said.append(f"{declared.label} does not offer the tool {name!r}.{hint}")
            continue
        problem = _problem(definition)
        if problem:
            said.append(f"{declared.label}: the tool {visible(name)[:80]!r} is left out: {problem}")
        else:
            kept.append(definition)
    missing = tuple(name for name in names if name not in known and name not in listed)
    return Offer(declared, tuple(kept), missing if notes else (), tuple(said))


def _problem(definition: Mapping[str, Any]) -> str:
    """Why a definition cannot be used; empty if it can."""
    if not CANONICAL.fullmatch(str(definition.get("name"))):
        return "its name is not up to 128 letters, digits, _ and -, with dots only inside"
    if len(json.dumps(definition)) > LARGEST:
        return f"its definition has more than {LARGEST} characters"
    try:
        for mounted in Toolbox([tool_of(definition, None)]):
            _ = mounted.validator  # compiled here: a schema that cannot be is no tool
    except InvalidArgs as error:
        return error.message
    return ""


def tool_of(definition: Mapping[str, Any], declared: McpServer | None) -> Tool:
    """A server's tool as a model is shown it, without a handler.

    Nothing hidden in its words stays hidden. What the server says of its harmlessness is not
    believed; what it says of its dangers is.
    """
    (decoded,) = decode_tools([definition])
    server = declared or McpServer("stdio")
    hints = definition.get("annotations") or {}
    effects = {Effect.EXECUTE if server.transport == "stdio" else Effect.NETWORK}
    effects |= {Effect.WRITE} if hints.get("destructiveHint") is True else set()
    effects |= {Effect.NETWORK} if hints.get("openWorldHint") is True else set()
    hosts = (host_of(server),) if server.transport == "http" else ()
    return Tool(
        decoded.name,
        _seen(decoded.description or str(definition.get("title") or decoded.name)),
        _seen_words(_without_reason(decoded.schema)),
        None,
        decoded.output_schema,
        category="mcp",
        effects=frozenset(effects),
        sandbox=Sandbox(network=bool(hosts), timeout_ms=server.timeout_ms, hosts=hosts),
        source="mcp",
        strict=server.strict,
    )


def _without_reason(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a tool that is served as we serve tools, without the reason that it takes.

    The gate asks for one anyway, and it travels beside the arguments.
    """
    properties = schema.get("properties") or {}
    key = "_why" if "_why" in properties else "why"
    if properties.get(key) != WHY_PROPERTY:
        return schema
    required = [name for name in schema.get("required", ()) if name != key]
    rest = {name: value for name, value in properties.items() if name != key}
    return {**schema, "properties": rest, "required": required}


def _mounted(offer: Offer, agent: str, servers: Servers, lock: Lock) -> Iterable[Tool]:
    for definition in offer.definitions:
        guard = ServerGuard(lock, agent, offer.declared, servers, definition)
        tool = tool_of(definition, offer.declared)
        yield replace(tool, guard=guard, handler=_handler(tool, offer.declared, servers, guard))
    for name in offer.missing:
        about = f"A tool of {offer.declared.label}, which cannot be reached now."
        yield replace(tool_of({"name": name, "description": about}, offer.declared),
                      input_schema=_OPEN)  # fmt: skip


def _handler(tool: Tool, declared: McpServer, servers: Servers, guard: ServerGuard) -> Handler:
    async def run(arguments: JSONObject, ports: object, /) -> object:
        assert isinstance(ports, Ports)  # noqa: S101 - the executor gives nothing else
        server = servers.of(declared)
        if not server.is_connected:
            await server.tools()
        guard.confirm_definition()
        meta = {"why": mend(ports.why)} if ports.why else {}
        result = await server.call(tool.name, arguments, meta)
        reply = await reply_of(result, tool.name, tool.output_schema, ports.call_id, ports.shelf)
        if declared.transport == "stdio":  # its program runs outside the sandbox, and says so
            return structs.replace(reply, isolation=Isolation().as_json())
        return reply

    return run


def _seen(text: str) -> str:
    """Words in which nothing is hidden."""
    plain = text.replace("\r\n", "\n").replace("\t", "    ").replace("\ufe0f", "")
    return "\n".join(visible_lines(plain))


def _seen_words(value: Any) -> Any:
    """A schema in whose words nothing is hidden; its values stay what they are."""
    if isinstance(value, dict):
        return {
            key: _seen(item) if key in _WORDS and isinstance(item, str) else _seen_words(item)
            for key, item in value.items()
        }
    return [_seen_words(item) for item in value] if isinstance(value, list) else value


def _check_origin(file: AgentFile) -> None:
    for server in file.resolved.servers if "://" in file.path else ():
        if server.transport == "stdio":
            raise PermissionDenied(
                f"{file.path} names the program {server.label!r}, and it comes from the web",
                "Save the file here first, and look at it.",
            )


def _check_distinct(file: AgentFile, offers: Sequence[Offer]) -> None:
    """No name twice, whoever offers it."""
    first = {name: ("this file", span) for name, span in file.resolved.spans.items()}
    for offer in offers:
        names = [str(each["name"]) for each in offer.definitions]
        for name in dict.fromkeys((*names, *offer.missing)):
            if name in first:
                whose, span = first[name]
                raise Conflict(
                    f"{_place(file, offer.declared.span)}: the tool {name!r} of "
                    f"{offer.declared.label} is already declared by {whose} at "
                    f"{_place(file, span)}",
                    'Take only what is needed of a server, with include="…".',
                )
            first[name] = (offer.declared.label, offer.declared.span)


def _place(file: AgentFile, span: Span) -> str:
    (place,) = places(file.document.source, [span.start])
    path, _ = file.expanded.origin(span.start)
    return f"{path}:{place.line}:{place.column}" if path == file.path else path
