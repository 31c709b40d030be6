"""`<tool name="triage" agent="prompts/triage.chatmd" local/>`: another agent file as a tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from whence.chatmd.suggest import quoted
from whence.declare.interface import read_interface
from whence.declare.report import Report
from whence.declare.values import duration_ms, text, tool_name
from whence.errors import WhenceError
from whence.shapes.declaration import AgentReference, Declared, Interface
from whence.shapes.document import Document, Element, Severity
from whence.shapes.tool import Effect, Sandbox, Tool

LoadDocument: TypeAlias = Callable[[str], Document]
"""Reads the agent file of a path as it is written in a file. Raises WhenceError."""

_TIMEOUT_MS = 600_000
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def declare(element: Element, load_document: LoadDocument, report: Report) -> list[Declared]:
    """The tool that runs another agent; its handler comes from whoever runs agents."""
    name = tool_name(element, report)
    reference = _reference(element, report)
    timeout_ms = duration_ms(element, "timeout", report) or _TIMEOUT_MS
    if name is None or reference is None:
        return []
    interface = _interface(element, reference, load_document, report)
    if interface is None:
        return []
    said = text(element, "description")
    tool = Tool(
        name=name,
        description=said or f"Hands a task to the agent {reference.path}; returns its answer.",
        input_schema=interface.input_schema,
        handler=None,
        output_schema=interface.output_schema,
        category="agent",
        effects=frozenset({Effect.NETWORK} if reference.remote else ()),
        sandbox=Sandbox(network=reference.remote, timeout_ms=timeout_ms),
        source="agent",
    )
    return [Declared(tool, reference, element.span)]


def _reference(element: Element, report: Report) -> AgentReference | None:
    path = text(element, "agent") or ""
    scheme = _SCHEME.match(path)
    if not path or "\0" in path:
        hint = 'Name an agent file: agent="prompts/triage.chatmd".'
        report.bad(element, "agent", f"agent is {quoted(path)}.", hint)
    elif scheme and scheme[1].lower() != "https":
        hint = "Use a file, or an address that begins with https://."
        report.bad(element, "agent", f"agent is {quoted(path)}.", hint)
    elif scheme and element.flag("local"):
        message = f"{quoted(path)} is an address, and yet said to be local."
        report.bad(element, "agent", message, "Remove local, or name a file.")
    else:
        return AgentReference(path, remote=bool(scheme))
    return None


def _interface(
    element: Element, reference: AgentReference, load_document: LoadDocument, report: Report
) -> Interface | None:
    """What that file says it takes; an address is not fetched for this, so that it takes text."""
    if reference.remote:
        return Interface()
    try:
        document = load_document(reference.path)
    except WhenceError as error:
        report.relay("unusable-agent", element, error, at="agent")
        return None
    inner = Report(document.source)
    interface = read_interface(document, inner)
    for found in inner.diagnostics():
        if found.severity is Severity.ERROR:
            message = f"{reference.path}:{found.line}:{found.column}: {found.message}"
            report.error("unusable-agent", element, message, found.suggestion, at="agent")
            return None
    return interface
