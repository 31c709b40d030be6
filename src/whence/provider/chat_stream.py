"""A streamed Chat Completions answer, put together."""

from __future__ import annotations

from typing import Any

from whence.errors import ParseError
from whence.provider.arguments import make_call
from whence.provider.chat_calls import GrowingCalls
from whence.provider.chat_decode import (
    REASONING_FIELDS,
    call_fields,
    decode_calls,
    decode_thoughts,
    decode_words,
    stop_of,
    usage_of,
)
from whence.provider.exchange import Completion, Failure
from whence.provider.failure import failure_of
from whence.provider.ids import CallIds
from whence.provider.sse import SseEvent
from whence.provider.stream import Delta, ItemDone, ReasoningDelta, TextBuffer, TextDelta
from whence.provider.wire import loads, mapping, objects, string, text_or_none
from whence.shapes.item import Item, StopReason, ToolCall, Usage

_DONE = b"[DONE]"
_MERGED = ("reasoning.text", "reasoning.summary")
_KNOWN = ("role", "content", "refusal", "tool_calls", "channel", *REASONING_FIELDS)


class ChatAssembler:
    """Calls are given out at the end: only then is it certain that none of them grows any more."""

    def __init__(self, ids: CallIds | None = None) -> None:
        self._ids = ids or CallIds()
        self._text = TextBuffer()
        self._refusal = TextBuffer()
        self._thoughts: dict[str, TextBuffer] = {}
        self._details: list[dict[str, Any]] = []
        self._parts: list[Any] = []
        self._extra: dict[str, Any] = {}
        self._calls = GrowingCalls()
        self._word: str | None = None
        self._usage = Usage()
        self._id: str | None = None
        self._model: str | None = None
        self._failure: Failure | None = None
        self._done = False

    def feed(self, event: SseEvent) -> list[Delta]:
        """What a chunk adds; chunks that say nothing about the answer are passed over."""
        if event.data == _DONE:
            self._done = True
            return []
        try:
            chunk = mapping(loads(event.data))
            words = _only_words(chunk) if self._id is not None else None
            if words is not None:
                shown = self._text.add(words)
                return [TextDelta(shown)] if shown else []
        except ParseError as error:
            if event.data.strip() == _DONE:
                self._done = True
            elif event.whole:
                self._failure = self._failure or Failure(error.message)
            return []
        self._take_envelope(chunk, event.event)
        deltas: list[Delta] = []
        for choice in objects(chunk.get("choices")):
            if not choice.get("index"):
                deltas += self._take_choice(choice)
        return deltas

    def finish(self) -> tuple[list[Delta], Completion]:
        """The items, and the calls that nothing can be added to any more."""
        message = self._message()
        items: list[Item] = [*decode_thoughts(message), *decode_words(message)]
        items += self._finished_calls()
        completion = Completion(
            tuple(items),
            self._stop(),
            self._word,
            self._usage,
            self._id,
            self._model,
            self._failure,
        )
        return [ItemDone(item) for item in items], completion

    def _take_envelope(self, chunk: dict[str, Any], event: str) -> None:
        if chunk.get("error") is not None or event == "error":
            self._failure = failure_of(chunk) or self._failure
        if chunk.get("usage") or chunk.get("x_groq"):
            self._usage = usage_of(chunk) if usage_of(chunk) != Usage() else self._usage
        if objects(chunk.get("choices")):
            self._id = text_or_none(chunk.get("id")) or self._id
            self._model = text_or_none(chunk.get("model")) or self._model

    def _take_choice(self, choice: dict[str, Any]) -> list[Delta]:
        self._word = text_or_none(choice.get("finish_reason")) or self._word
        if choice.get("error"):
            self._failure = failure_of({"error": choice["error"]}) or self._failure
        delta = mapping(choice.get("delta")) or mapping(choice.get("message"))
        deltas = self._take_thoughts(delta)
        deltas += self._take_content(delta.get("content"))
        self._refusal.add(string(delta.get("refusal")))
        for piece in objects(delta.get("tool_calls")):
            deltas.append(self._calls.add(piece))
        for key, value in delta.items():
            if key not in _KNOWN and value not in (None, [], ""):
                known = self._extra.get(key)
                both = isinstance(known, list) and isinstance(value, list)
                self._extra[key] = known + value if both else value
        return deltas

    def _take_content(self, content: object) -> list[Delta]:
        if isinstance(content, str):
            shown = self._text.add(content)
            return [TextDelta(shown)] if shown else []
        deltas: list[Delta] = []
        for part in objects(content):
            if part.get("type") == "text":
                deltas += self._take_content(string(part.get("text")))
            elif part.get("type") == "thinking":
                deltas += self._take_thinking(part)
            else:
                self._parts.append(part)
        return deltas

    def _take_thinking(self, part: dict[str, Any]) -> list[Delta]:
        inner = part.get("thinking")
        said = (
            inner
            if isinstance(inner, str)
            else "".join(string(piece.get("text")) for piece in objects(inner))
        )
        shown = self._thoughts.setdefault("thinking", TextBuffer()).add(said)
        return [ReasoningDelta(shown)] if shown else []

    def _take_thoughts(self, delta: dict[str, Any]) -> list[Delta]:
        shown = ""
        for field in ("reasoning_content", "reasoning"):
            piece = delta.get(field)
            if isinstance(piece, str) and (piece or field in self._thoughts):
                added = self._thoughts.setdefault(field, TextBuffer()).add(piece)
                shown = shown or added
        details = objects(delta.get("reasoning_details"))
        for detail in details:
            _merge_detail(self._details, detail)
        if not shown and not delta.get("reasoning"):
            shown = "".join(string(one.get("text") or one.get("summary")) for one in details)
        return [ReasoningDelta(shown)] if shown else []

    def _message(self) -> dict[str, Any]:
        """The message that an unstreamed answer would have had, apart from its calls."""
        thoughts = {field: buffer.value for field, buffer in self._thoughts.items()}
        thinking = thoughts.pop("thinking", "")
        content: Any = self._text.value
        if thinking or self._parts:
            spoken = [{"type": "text", "text": content}] if content else []
            content = [*_thinking_parts(thinking), *spoken, *self._parts]
        message: dict[str, Any] = {"content": content, **thoughts, **self._extra}
        if self._refusal.value:
            message["refusal"] = self._refusal.value
        if self._details:
            message["reasoning_details"] = self._details
        return message

    def _finished_calls(self) -> list[ToolCall]:
        calls = self._calls.finished()
        if self._is_cut():
            return [self._broken(call) for call in calls]
        return decode_calls(calls, self._ids, cut=self._stop() is StopReason.LENGTH)

    def _broken(self, call: dict[str, Any]) -> ToolCall:
        call_id, name, text, native, _ = call_fields(call)
        return make_call(self._ids.claim(call_id), name, text, native=native, cut=True)

    def _is_cut(self) -> bool:
        return self._word is None and not (self._done and self._failure is None)

    def _stop(self) -> StopReason:
        if self._word is None and self._done and self._failure is None:
            return StopReason.CALLS if len(self._calls) else StopReason.END
        return stop_of(self._word, self._failure, calls=bool(len(self._calls)))


def _only_words(chunk: dict[str, Any]) -> str | None:
    """The text of a chunk that adds nothing else, as most chunks do; None for any other."""
    choices = chunk.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or chunk.get("usage") is not None:
        return None
    choice = choices[0]
    if "error" in chunk or not isinstance(choice, dict) or choice.get("finish_reason") is not None:
        return None
    delta = choice.get("delta")
    if not isinstance(delta, dict) or choice.get("index") or "error" in choice:
        return None
    content = delta.get("content")
    alone = len(delta) == 1 or (len(delta) == 2 and "role" in delta)
    return content if alone and isinstance(content, str) else None


def _thinking_parts(thinking: str) -> list[dict[str, Any]]:
    if not thinking:
        return []
    return [{"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}]


def _merge_detail(details: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    """Join the pieces of one thought; everything else stays as it came."""
    last = details[-1] if details else {}
    same = all(last.get(key) == piece.get(key) for key in ("type", "index"))
    if not (same and piece.get("type") in _MERGED):
        details.append(dict(piece))
        return
    for key, value in piece.items():
        if key in ("text", "summary") and isinstance(value, str):
            last[key] = string(last.get(key)) + value
        elif value is not None:
            last[key] = value
