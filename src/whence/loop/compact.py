"""A conversation that has grown too long: its older part summed up, the transcript kept whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.declare.toolbox import Toolbox
from whence.errors import WhenceError
from whence.loop.news import Compacted
from whence.loop.pairing import speaks
from whence.loop.transcript import COMPACTED
from whence.provider.exchange import Completion, Settings
from whence.provider.model import Model
from whence.shapes.item import Item, Message, StopReason, ToolCall, ToolOutcome, Usage

if TYPE_CHECKING:
    from whence.loop.turns import Run

KEPT = 8
"""At least so many of the last items stay as they are."""
LIMIT = 150_000
"""Tokens of input at which a conversation is summed up, where nobody says otherwise."""
_LONGEST_ITEM = 2_000
_LONGEST = 100_000
_ASK = (
    "Sum up the conversation below for yourself, so that you can go on without it: what was asked, "
    "what was found out and decided, which files were read or changed and why, what is still open. "
    "Name paths, commands and values exactly. Answer with the summary alone.\n\n"
)
_USELESS = (StopReason.CUT, StopReason.ERROR, StopReason.REFUSAL)
_HEAD = "Summary of the conversation so far; the transcript has all of it:\n\n"


async def shorten(run: Run, model: Model, settings: Settings, kept: int = KEPT) -> bool:
    """Put a summary in the place of what is older; False where there is nothing to be gained."""
    at = split(run.items, kept)
    if at == 0 or (at == 1 and _is_summary(run.items[0])):
        return False
    async with run.in_time():
        summary, usage = await summarise(model, settings, run.items[:at])
    run.budget.spend(usage)
    later = run.items[at:]
    run.transcript.add([summary], f"{COMPACTED} {run.transcript.entries(later)}")
    run.items = []
    run.conversation = run.begin()
    run.tell([summary, *later])
    run.emit(Compacted(at, summary.text, run.parent))
    return True


def split(items: Sequence[Item], kept: int = KEPT) -> int:
    """Where the part to be kept begins, never inside an answer or before an outcome of it."""
    for at in range(len(items) - max(kept, 1), 0, -1):
        inside = isinstance(items[at], ToolOutcome) or (speaks(items[at - 1]) and speaks(items[at]))
        if not inside:
            return at
    return 0


def _is_summary(item: Item) -> bool:
    return isinstance(item, Message) and item.text.startswith(_HEAD)


async def summarise(
    model: Model, settings: Settings, items: Sequence[Item]
) -> tuple[Message, Usage]:
    """The message that stands for these items: in the model's words, or as a list of what was done.

    A model that cannot be asked, breaks off, declines or says nothing, must not end the run.
    """
    told = digest(items)
    words, usage = "", Usage()
    try:
        conversation = model.converse(
            Settings(settings.model, max_output_tokens=settings.max_output_tokens), Toolbox()
        )
        conversation.add([Message.of("user", _ASK + told)])
        async for piece in conversation.answer():
            if isinstance(piece, Completion):
                usage = piece.usage
                words = "" if piece.stop in _USELESS else piece.text.strip()
    except WhenceError:
        words = ""
    return Message.of("user", _HEAD + (words or told)), usage


def digest(items: Sequence[Item]) -> str:
    """The conversation in short: what was said, and each call with its reason."""
    text = "\n".join(line for item in items if (line := _line(item)))
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    left_out = len(text) - _LONGEST
    return f"{text[:half]}\n… ({left_out} characters left out)\n{text[-half:]}"


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
    if len(text) <= _LONGEST_ITEM:
        return text
    return f"{text[:_LONGEST_ITEM]}… ({len(text)} characters)"
