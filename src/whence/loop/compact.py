"""A conversation that has grown too long: its older part summed up, the transcript kept whole."""

from __future__ import annotations

from collections.abc import Sequence

from whence.declare.toolbox import Toolbox
from whence.errors import WhenceError
from whence.provider.exchange import Completion, Settings
from whence.provider.model import Model
from whence.shapes.item import Item, Message, ToolCall, ToolOutcome

KEPT = 8
"""At least so many of the last items stay as they are."""
LIMIT = 150_000
"""Tokens of input at which a conversation is summed up, where nobody says otherwise."""
_LONGEST = 2_000
_ASK = (
    "Sum up the conversation below for yourself, so that you can go on without it: what was asked, "
    "what was found out and decided, which files were read or changed and why, what is still open. "
    "Name paths, commands and values exactly. Answer with the summary alone.\n\n"
)
_HEAD = "Summary of the conversation so far; the transcript has all of it:\n\n"


def split(items: Sequence[Item], instructions: int, kept: int = KEPT) -> int:
    """Where the part to be kept begins, never between a call and its outcome."""
    at = max(len(items) - kept, instructions)
    while at > instructions and not _begins_turn(items, at):
        at -= 1
    return at


def _begins_turn(items: Sequence[Item], at: int) -> bool:
    """Whether everything before is settled: no call there waits for its outcome."""
    open_calls = {item.id for item in items[:at] if isinstance(item, ToolCall)}
    open_calls -= {item.call_id for item in items[:at] if isinstance(item, ToolOutcome)}
    return not open_calls and not isinstance(items[at], ToolOutcome)


async def summarise(model: Model, settings: Settings, items: Sequence[Item]) -> Message:
    """The message that stands for these items: in the model's words, or as a list of what was done.

    A model that cannot be asked, or says nothing, must not end the run.
    """
    told = digest(items)
    try:
        conversation = model.converse(
            Settings(settings.model, max_output_tokens=settings.max_output_tokens), Toolbox()
        )
        conversation.add([Message.of("user", _ASK + told)])
        words = ""
        async for piece in conversation.answer():
            if isinstance(piece, Completion):
                words = piece.text.strip()
    except WhenceError:
        words = ""
    return Message.of("user", _HEAD + (words or told))


def digest(items: Sequence[Item]) -> str:
    """The conversation in short: what was said, and each call with its reason."""
    return "\n".join(line for item in items if (line := _line(item)))


def _line(item: Item) -> str:
    match item:
        case Message():
            return f"{item.role}: {_short(item.text)}" if item.text.strip() else ""
        case ToolCall():
            return f"call {item.name} {_short(item.text)}"
        case ToolOutcome():
            return f"  → {_short(item.text)}"
    return ""


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
