"""Which model a run uses: by its id, or where none is named or usable, the embedded one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import yaml

from whence.errors import ParseError, Unavailable
from whence.journal.read import read_entries
from whence.loop.agent_file import load_agent, read_file
from whence.loop.conversation import Reader
from whence.provider.model import Model
from whence.provider.recorded import Answer, RecordedModel, answers_in, read_script
from whence.shapes.item import Item, Message, ToolCall

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
            return RecordedModel(id, _recording(name, workspace))
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
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ParseError(f"{shown} is not YAML: {error}", "Correct it.") from None


def _recording(name: str, workspace: str) -> list[Answer]:
    """The answers of a transcript, or of a session's journal where it is the name of one."""
    path = os.path.join(workspace, name)
    journal = os.path.join(workspace, ".agent", "sessions", name)
    if os.path.isdir(journal) and not os.path.isfile(path):
        return answers_in(_journalled(journal))
    agent = load_agent(path, workspace, run_python=False)
    return answers_in(Reader(agent, workspace).items())


def _journalled(directory: str) -> list[Item]:
    """The conversation as far as a journal tells it: what was said and called, turn by turn."""
    items: list[Item] = []
    for entry in read_entries(directory):
        fields: Mapping[str, Any] = entry.fields
        if entry.type == "model_turn":
            items.append(Message.of("user", ""))
            if fields.get("text"):
                items.append(Message.of("assistant", str(fields["text"])))
        elif entry.type == "tool_call" and "parent" not in fields:
            args = dict(fields.get("args") or {})
            items.append(ToolCall("", str(fields["tool"]), _json(args), args))
    return items


def _json(value: Any) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()
