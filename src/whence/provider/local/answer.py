"""The last word of a turn: quotations, or that there is nothing to quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whence.declare.toolbox import Mounted
from whence.provider.local.engine import Networks
from whence.provider.local.grammar import is_common
from whence.provider.local.pieces import Kind, pieces_of
from whence.provider.local.plainly import same_word
from whence.provider.local.quote import Sentence, main_text, quote, sentences_of, value_of
from whence.provider.local.reason import is_question
from whence.shapes.item import ToolOutcome

_SURE = 0.35
"""A sentence that is less near than this answers nothing."""
_CLOSE = 0.08
"""A sentence almost as near as the best is quoted, too."""
_MOST_QUOTED = 3
_MOST_RANKED = 160
_SHORT = 400
_LISTED = 12
_SHOWN = 100


async def answer_from(
    step: str, arguments: Mapping[str, Any], outcome: ToolOutcome, networks: Networks
) -> str:
    """What came of a call: the passage that answers a question, or the whole."""
    text = main_text(value_of(outcome))
    wanted = topic(step, arguments)
    if text is None or not wanted or not (is_question(step) or "about" in step.lower().split()):
        return quote(outcome)
    if len(text) < _SHORT:
        return quote(outcome)
    source = next((str(value) for value in arguments.values() if isinstance(value, str)), "")
    found = await best_sentences(step, wanted, text, networks)
    return quoted(found, source) or f"I do not know: nothing in {source or 'it'} answers that."


async def best_sentences(
    question: str, wanted: Sequence[str], text: str, networks: Networks
) -> list[Sentence]:
    """The sentences that answer a question, in their order; none where none does."""
    sentences = _likely(sentences_of(text), wanted)
    scores = await networks.rank(question, [sentence.text for sentence in sentences])
    if not scores or max(scores) < _SURE:
        return []
    enough = max(_SURE, max(scores) - _CLOSE)
    near = [pair for pair in zip(scores, sentences, strict=True) if pair[0] >= enough]
    best = sorted(near, key=lambda pair: -pair[0])[:_MOST_QUOTED]
    return sorted((sentence for _, sentence in best), key=lambda sentence: sentence.line)


def _likely(sentences: list[Sentence], wanted: Sequence[str]) -> list[Sentence]:
    """Of many sentences, those that share words with the question: ranking all takes too long."""
    if len(sentences) <= _MOST_RANKED:
        return sentences

    def shared(sentence: Sentence) -> int:
        words = [word.strip(".,;:!?()\"'").lower() for word in sentence.text.split()]
        return sum(any(same_word(word, want) for word in words) for want in wanted)

    return sorted(sentences, key=lambda sentence: -shared(sentence))[:_MOST_RANKED]


def quoted(sentences: Sequence[Sentence], source: str) -> str:
    """Sentences with the place where they stand."""
    where = f"{source}:" if source else "line "
    return "\n".join(f"“{sentence.text}” ({where}{sentence.line})" for sentence in sentences)


def topic(step: str, arguments: Mapping[str, Any]) -> list[str]:
    """The words of a request that say what it is after, besides the arguments themselves."""
    given = " ".join(str(value) for value in arguments.values()).lower()
    return [
        piece.text.lower()
        for piece in pieces_of(step)
        if piece.kind is Kind.WORD and not is_common(piece) and piece.text.lower() not in given
    ]


def nothing_fits(request: str, tools: Sequence[Mounted], *, small_talk: bool) -> str:
    """What the model can do here, said to somebody who wanted something else."""
    if not tools:
        return (
            "I am a small embedded model and there are no tools here, so there is nothing that I "
            "can do. Declare tools in the agent file, or choose a larger model: `whence models`."
        )
    listed = "\n".join(f"- {_line(mounted)}" for mounted in tools[:_LISTED])
    more = f"\n- … and {len(tools) - _LISTED} more" if len(tools) > _LISTED else ""
    return (
        f"{_refusal(request, small_talk=small_talk)} I am a small embedded model: I call tools "
        f"that a request names plainly, and quote what they say. The tools here:\n{listed}{more}"
    )


def _refusal(request: str, *, small_talk: bool) -> str:
    if small_talk:
        return "I do not chat."
    what = "I do not know" if is_question(request) else "I cannot do that"
    return f"{what}: no tool here fits."


def _line(mounted: Mounted) -> str:
    return f"{mounted.name}: {mounted.tool.description.partition(chr(10))[0]}"


def needs_more(step: str, mounted: Mounted) -> str:
    """What to add to a request that does not say all that its tool needs."""
    needed = ", ".join(sorted(mounted.required))
    shown = step if len(step) <= _SHOWN else f"{step[:_SHOWN]}…"
    return (
        f"“{shown}” sounds like {mounted.name}, but I cannot tell from it what that needs: "
        f"{needed or 'its arguments'}. Name each plainly, texts in quotes."
    )
