"""`<tool mcp_server="stdio:npx -y some-server"/>`: the tools of a server, known once connected."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from whence.chatmd.suggest import quoted
from whence.declare.command import split_command
from whence.declare.report import Report
from whence.declare.values import (
    duration_ms,
    filled,
    hosts,
    include,
    text,
    variable,
    variables,
)
from whence.errors import InvalidArgs
from whence.shapes.declaration import TIMEOUT_MS, McpServer
from whence.shapes.document import Element, Severity

_SCHEME = re.compile(r"(stdio):|(?:mcp\+)?(https?)://|([A-Za-z][A-Za-z0-9+.-]*)://", re.IGNORECASE)
_SECRETS = re.compile(r"(client_)?secret|token|password|(api_?)?key", re.IGNORECASE)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HTTP_ONLY = ("client_id_env", "client_secret_env", "headers_env", "network")
_STDIO_ONLY = ("env", "cwd")


def declare(element: Element, report: Report) -> list[McpServer]:
    """The server that one element names, and which of its tools are wanted."""
    target = _target(element, report)
    options: dict[str, Any] = {
        "include": include(element, report),
        "strict": element.flag("strict"),
        "env": variables(element, "env", report),
        "cwd": filled(element, "cwd", report),
        "timeout_ms": duration_ms(element, "timeout", report) or TIMEOUT_MS,
        "span": element.span,
    }
    options |= {name: variable(element, name, report) for name in _HTTP_ONLY[:3]}
    options["networks"] = _networks(element, report)
    if target is None or options["include"] == ():
        return []
    _check_fit(element, target, report)
    return [McpServer(**target, **options)]


def _networks(element: Element, report: Report) -> tuple[str, ...]:
    """What `network` lists: the address names the host, so that only networks are left to say."""
    listed = hosts(element, report, networks=True)
    if listed is not None and not (listed and all("/" in each for each in listed)):
        hint = 'List networks by their addresses, as in network="10.0.0.0/8", or drop it.'
        report.bad(
            element, "network", f"network is {quoted(text(element, 'network') or '')}.", hint
        )
    return tuple(each for each in listed or () if "/" in each)


def server_at(target: str, **attributes: str) -> McpServer:
    """The server that a person names outside of a file, as `mcp_server` would be written there.

    Raises:
        InvalidArgs: It is neither a command nor an address.
    """
    given = {name: value for name, value in attributes.items() if value}
    report = Report(b"")
    found = declare(Element("tool", {"mcp_server": target, **given}), report)
    for problem in report.diagnostics():
        if problem.severity is Severity.ERROR:
            raise InvalidArgs(problem.message.rstrip("."), problem.suggestion)
    return found[0]


def _target(element: Element, report: Report) -> dict[str, Any] | None:
    """Transport, address and label."""
    written = text(element, "mcp_server") or ""
    scheme = _SCHEME.match(written)
    if scheme and scheme[2]:
        return _http(element, scheme[2].lower() + written[scheme.end(2) :], report)
    if not written or (scheme and scheme[3]):
        hint = 'Write "stdio:" and a command, or an address that begins with https://.'
        report.bad(element, "mcp_server", f"mcp_server is {quoted(written)}.", hint)
        return None
    if scheme is None:
        message = f"{quoted(written)} is taken for a command."
        hint = f'Write mcp_server="stdio:{written[:60]}".'
        report.warning("assumed-stdio", element, message, hint, at="mcp_server")
    command = written[scheme.end() :] if scheme else written
    try:
        argv = tuple(split_command(command.strip()))
    except InvalidArgs as error:
        report.relay("bad-mcp-server", element, error, at="mcp_server")
        return None
    return {"transport": "stdio", "argv": argv, "label": shlex.join(argv)}


def _http(element: Element, url: str, report: Report) -> dict[str, Any] | None:
    from urllib.parse import parse_qsl, urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or re.search(r"[\s\x00-\x20]", url):
        hint = "Write a whole address, such as https://tools.example.org/mcp."
        report.bad(element, "mcp_server", "mcp_server is no address.", hint)
        return None
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if parts.password or any(_SECRETS.fullmatch(name) for name in names):
        hint = "Take it out of the file: client_secret_env or headers_env name variables for it."
        message = "The address holds what looks like a secret."
        report.warning("secret-in-file", element, message, hint, at="mcp_server")
    place = parts.netloc.rpartition("@")[2]
    label = urlunsplit((parts.scheme, place, parts.path, "", ""))
    return {"transport": "http", "url": url, "label": label}


def _check_fit(element: Element, target: Mapping[str, Any], report: Report) -> None:
    stdio = target["transport"] == "stdio"
    for name in _HTTP_ONLY if stdio else _STDIO_ONLY:
        if name in element.attributes:
            what = "a program" if stdio else "an address"
            move = ", and list the variable in env" if stdio and name.endswith("_env") else ""
            hint = f"Remove it{move}."
            message = f"{name} does nothing for a server that is {what}."
            report.error("misplaced-attribute", element, message, hint, at=name)


def endpoint(server: McpServer, environment: Mapping[str, str]) -> str:
    """The address to connect to, with the credentials that the environment holds.

    The answer is a secret: it is neither to be logged nor shown.
    """
    from urllib.parse import urlencode, urlsplit, urlunsplit

    named = {"client_id": server.client_id_env, "client_secret": server.client_secret_env}
    given = {key: environment.get(name) for key, name in named.items() if name}
    credentials = {key: value for key, value in given.items() if value}
    if not credentials:
        return server.url
    parts = urlsplit(server.url)
    query = "&".join(filter(None, (parts.query, urlencode(credentials))))
    return urlunsplit(parts._replace(query=query))


def headers(server: McpServer, environment: Mapping[str, str]) -> dict[str, str]:
    """The headers that the environment holds for the server, one `Name: value` per line.

    Raises:
        InvalidArgs: a line is no header; the message does not show it.
    """
    written = environment.get(server.headers_env, "") if server.headers_env else ""
    found: dict[str, str] = {}
    for number, line in enumerate(written.splitlines(), 1):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not _HEADER.fullmatch(name.strip()) or not _sendable(value):
            raise InvalidArgs(
                f"line {number} of ${server.headers_env} is no header",
                "Write one `Name: value` per line, in ASCII.",
            )
        found[name.strip()] = value.strip()
    return found


def _sendable(value: str) -> bool:
    """Whether a header may have this value."""
    return value.isascii() and value.replace("\t", " ").isprintable()
