"""Measures the embedded model with the requests of requests.yaml."""

from __future__ import annotations

import posixpath
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from whence.catalogs import load_catalog
from whence.declare.toolbox import Toolbox
from whence.provider.exchange import Completion, Settings
from whence.provider.local.model import LocalModel
from whence.provider.model import Conversation
from whence.shapes.item import Message, StopReason, Text, ToolCall, ToolOutcome
from whence.shapes.tool import Tool

REQUESTS = Path(__file__).with_name("requests.yaml")
HALVES = ("dev", "seen", "held", "wide")


@dataclass(frozen=True)
class Tried:
    """A request and what the model made of it."""

    half: str
    say: str
    toolbox: Toolbox
    calls: tuple[tuple[str, dict[str, Any]], ...]
    """The tools and their arguments, without the reasons."""
    expected: tuple[tuple[str, dict[str, Any]], ...]
    """Empty for chit-chat."""
    reasons: tuple[str, ...]

    @property
    def right(self) -> bool:
        return len(self.calls) == len(self.expected) and all(
            tool == wanted and same(arguments, given, self._defaults(tool))
            for (tool, given), (wanted, arguments) in zip(self.calls, self.expected, strict=True)
        )

    def _defaults(self, tool: str) -> dict[str, Any]:
        mounted = self.toolbox.find(tool)
        properties: Any = mounted.tool.input_schema.get("properties") if mounted else {}
        return {name: part["default"] for name, part in properties.items() if "default" in part}


def same(wanted: Any, given: Any, defaults: dict[str, Any] | None = None) -> bool:
    """Whether arguments are what was wanted; a default is as good as nothing."""
    if isinstance(wanted, dict) and wanted.keys() == {"any"}:
        return any(same(value, given) for value in wanted["any"])
    if isinstance(wanted, dict) and isinstance(given, dict):
        left = {**(defaults or {}), **wanted}
        right = {**(defaults or {}), **given}
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(wanted, str) and isinstance(given, str) and wanted and given:
        return posixpath.normpath(wanted) == posixpath.normpath(given)
    return type(wanted) is type(given) and bool(wanted == given)


def load() -> tuple[dict[str, Toolbox], list[dict[str, Any]]]:
    """The toolboxes, and all requests; those of chit-chat have no calls."""
    data = yaml.safe_load(REQUESTS.read_text("utf-8"))
    boxes = {name: Toolbox(_tools(box)) for name, box in data["toolboxes"].items()}
    return boxes, [*data["requests"], *({**line, "calls": []} for line in data["chitchat"])]


def _tools(box: dict[str, Any]) -> Sequence[Tool]:
    if "catalog" in box:
        only = box.get("only")
        return [tool for tool in load_catalog(box["catalog"]) if not only or tool.name in only]
    return [Tool(t["name"], t["description"], t["schema"], None) for t in box["tools"]]


async def evaluate(model: LocalModel, halves: Sequence[str] = HALVES) -> AsyncIterator[Tried]:
    """Try every request of these halves."""
    boxes, requests = load()
    for request in requests:
        if request["half"] in halves:
            yield await _try(model, boxes[request["toolbox"]], request)


async def _try(model: LocalModel, toolbox: Toolbox, request: dict[str, Any]) -> Tried:
    conversation = model.converse(Settings(model.id), toolbox)
    conversation.add([Message.of("user", request["say"])])
    calls: list[ToolCall] = []
    while (completion := await ask(conversation)).stop is StopReason.CALLS:
        calls += completion.calls
        for call in completion.calls:
            conversation.add([call, ToolOutcome(call.id, (Text("done"),))])
    plain = []
    reasons = []
    for call in calls:
        mounted = toolbox.find(call.name)
        assert mounted is not None
        assert call.arguments is not None
        arguments = dict(call.arguments)
        reasons.append(str(arguments.pop(mounted.why_key)))
        plain.append((mounted.name, arguments))
    expected = tuple(next(iter(call.items())) for call in request["calls"])
    return Tried(request["half"], request["say"], toolbox, tuple(plain), expected, tuple(reasons))


async def ask(conversation: Conversation) -> Completion:
    """The completion of the next answer."""
    last = None
    async for progress in conversation.answer():
        last = progress
    assert isinstance(last, Completion)
    return last
