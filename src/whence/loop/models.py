"""Which model a run uses: by its id, or where none is named or usable, the embedded one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import yaml

from whence.declare.yaml_text import load_yaml, problem_of
from whence.errors import NotFound, ParseError, Unavailable
from whence.journal.artifacts import artifact_path
from whence.journal.read import read_entries
from whence.loop.agent_file import load_agent, read_file
from whence.loop.conversation import Reader
from whence.provider.arguments import make_call
from whence.provider.model import Model
from whence.provider.recorded import Answer, RecordedModel, answers_in, read_script
from whence.shapes.item import Item, Message

EMBEDDED = "local/smollm2"
"""What runs where no other model can."""
VARIABLE = "WHENCE_MODEL"
"""The model of files that name none."""


def choose_model(
    named: str | None, declared: str | None, workspace: str, environ: Mapping[str, str]
) -> tuple[Model, str | None]:
    """The model, and a line for the person where it is not the one that the file names.

    Args:
        named: by the caller; it is used, or an error says why it cannot be.
        declared: by the file; without its key, the embedded model takes its place.
        workspace: where the files of scripts and recordings are.
        environ: keys, and the model of files that name none.
    """
    wanted = named or declared or environ.get(VARIABLE)
    if wanted is None:
        return open_any(EMBEDDED, workspace, environ), _embedded("no model is named")
    try:
        return open_any(wanted, workspace, environ), None
    except Unavailable as error:
        if named is not None:
            raise
        return open_any(EMBEDDED, workspace, environ), _embedded(error.message)


def open_any(id: str, workspace: str, environ: Mapping[str, str]) -> Model:
    """The model of an id: `provider/name`, `local/…`, `script/FILE` or `replay/FILE`."""
    provider, _, name = id.partition("/")
    match provider:
        case "script":
            text = read_file(os.path.join(workspace, name))
            return RecordedModel(id, read_script(_yaml(text, name), name))
        case "replay":
            return RecordedModel(id, *_recording(name, workspace))
        case "local":
            from whence.provider.local.model import open_local

            return open_local(name, environ)
    from whence.provider.remote import open_model

    return open_model(_qualified(id), environ=environ)


def _qualified(id: str) -> str:
    """Files of other programs name models without their provider."""
    if "/" in id:
        return id
    return f"anthropic/{id}" if id.startswith("claude") else f"openai/{id}"


def _embedded(reason: str) -> str:
    return f"using the embedded model {EMBEDDED}: {reason}; `whence models` lists the others"


def _yaml(text: bytes, shown: str) -> object:
    try:
        return load_yaml(text)
    except yaml.YAMLError as error:
        raise ParseError(f"{shown} is not YAML: {problem_of(error)}", "Correct it.") from None


def _recording(name: str, workspace: str) -> list[list[Answer]]:
    """The answers of a transcript, or of a session's journal where it is the name of one."""
    path = os.path.join(workspace, name)
    journal = os.path.join(workspace, ".agent", "sessions", name)
    if os.path.isdir(journal) and not os.path.isfile(path):
        return [answers_in(items) for items in _journalled(journal)]
    agent = load_agent(path, workspace, run_python=False)
    return [answers_in(Reader(agent, workspace).items())]


def _journalled(directory: str) -> list[list[Item]]:
    """Conversations as far as a journal tells them: the agent's own, then those of sub-agents.

    Sub-agents come in the order in which they were called.
    """
    spoken: dict[str | None, list[Item]] = {None: []}
    for entry in read_entries(directory):
        fields: Mapping[str, Any] = entry.fields
        items = spoken.setdefault(fields.get("parent"), [])
        if entry.type == "model_turn":
            items.append(Message.of("user", ""))
            if fields.get("text"):
                items.append(Message.of("assistant", _said(fields["text"])))
        elif entry.type == "tool_call":
            spoken.setdefault(str(fields["call_id"]), [])
            items.append(make_call("", str(fields["tool"]), _arguments(directory, fields)))
    return [items for items in spoken.values() if items]


def _said(text: Any) -> str:
    """Words of a turn; of many, the journal has only the first."""
    return f"{text['head']}…" if isinstance(text, dict) else str(text)


def _arguments(directory: str, fields: Mapping[str, Any]) -> str:
    """The arguments of a call: as the journal has them, or beside it where they are long."""
    if "unparsed" in fields:
        return str(fields["unparsed"])
    name = artifact_path(str(fields["tool"]), f"{fields['call_id']}.args.json")
    args = dict(fields.get("args") or {})
    with suppress(NotFound):
        args |= msgspec.json.decode(read_file(os.path.join(directory, name)))
    return msgspec.json.encode(args).decode()
