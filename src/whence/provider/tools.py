"""Tools in a provider's form: names checked, schemas adapted, losses reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from whence.declare.toolbox import Mounted
from whence.errors import InvalidArgs
from whence.provider.exchange import Encoded, Frame, Settings, ToolDefinition
from whence.provider.losses import Ledger, foreign_fields
from whence.provider.parts import own_fields
from whence.provider.profiles import STRICT, Adapted, Profile, adapt, check_name
from whence.provider.wire import dumps


def encode_definitions(
    tools: Iterable[Mounted | ToolDefinition],
    profile: Profile,
    protocol: str,
    write: Callable[[ToolDefinition, Adapted], dict[str, Any]],
) -> Encoded:
    """One fragment for each tool, in order.

    Raises:
        InvalidArgs: A name that the provider refuses, or more tools than it takes.
    """
    listed = [_definition(tool, profile) for tool in tools]
    if profile.max_tools is not None and len(listed) > profile.max_tools:
        raise InvalidArgs(
            f"{profile.name} takes at most {profile.max_tools} tools, not {len(listed)}",
            "Declare fewer tools, or restrict them by a mode.",
        )
    ledger = Ledger()
    fragments = []
    for definition, form in listed:
        check_name(definition.name, profile)
        adapted = adapt(definition.schema, form)
        native = definition.native
        ledger.add(definition.name, [*adapted.notes, *foreign_fields(native, protocol)])
        fragments.append(dumps({**write(definition, adapted), **own_fields(protocol, native)}))
    return Encoded(tuple(fragments), ledger.book())


def _definition(tool: Mounted | ToolDefinition, profile: Profile) -> tuple[ToolDefinition, Profile]:
    """A tool as a model is shown it, and the form that its schema takes."""
    if not isinstance(tool, Mounted):
        return tool, profile
    form = STRICT.get(profile.name, profile) if tool.tool.strict else profile
    return ToolDefinition.of(tool), form


def strictness(definition: ToolDefinition, adapted: Adapted) -> bool | None:
    """Whether the provider is asked to hold the model to the schema; None: nothing is said."""
    return True if adapted.strict else definition.strict


def framed(
    settings: Settings,
    messages: str,
    body: dict[str, Any],
    tools: Sequence[bytes],
    system: Encoded,
) -> Frame:
    """A request around the field of that name, with the provider's own settings last."""
    fields = {**body, **settings.extra}
    listed = b',"tools":[' + b",".join(tools) + b"]" if tools else b""
    rest = b"," + dumps(fields)[1:-1] if fields else b""
    head = b'{"model":' + dumps(settings.model) + b',"' + messages.encode() + b'":['
    return Frame(head, b"]" + rest + listed + b"}", system.fragments, system.losses)
