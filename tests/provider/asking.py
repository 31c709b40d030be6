"""A model at a server of the test's own, and what each protocol would say to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.provider.sample_tools import toolbox
from tests.provider.streaming import chunk, piece
from tests.provider.test_anthropic_stream import START, STOP, begin, close, grow
from tests.provider.test_anthropic_stream import end as anthropic_end
from tests.provider.test_responses_stream import CALL, added, delta
from tests.provider.test_responses_stream import end as responses_end
from tests.replay_server import ReplayServer
from whence.declare.toolbox import Toolbox
from whence.provider.exchange import Completion, Settings
from whence.provider.model import Conversation, Model, Progress, Waiting
from whence.provider.remote import Options, open_model
from whence.provider.retry import DEFAULT_TIMEOUTS, Patience, Timeouts
from whence.provider.stream import ItemDone, TextDelta
from whence.shapes.item import Message, ToolCall

KEY = "sk-test-0123456789"


@dataclass(frozen=True)
class Voice:
    """How one protocol says what tests want to hear."""

    provider: str
    variable: str
    words: Callable[[str], list[Any]]
    """Events that begin an answer with these words."""
    end: list[Any]
    """Events that end it."""
    half_call: list[Any]
    """Events of a call whose arguments are not whole yet."""
    failure: Callable[[str, str], Any]
    """The event of a failure of that type."""
    whole: Callable[[str], dict[str, Any]]
    """An answer in one piece."""

    def says(self, text: str) -> list[Any]:
        return [*self.words(text), *self.end]


def _message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _responses_words(text: str) -> list[Any]:
    return [
        added(0, {**_message(""), "content": []}),
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}
        | {"item_id": "m1"},
    ]


CHAT = Voice(
    "openai-chat",
    "OPENAI_API_KEY",
    lambda text: [chunk({"role": "assistant", "content": ""}), chunk({"content": text})],
    [chunk({}, "stop"), "[DONE]"],
    [piece(0, "call_1", "fs_read", '{"path": "no'), piece(0, text="tes.t")],
    lambda kind, said: {"error": {"type": kind, "message": said}},
    lambda text: {
        "id": "c",
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        ],
    },
)
RESPONSES = Voice(
    "openai",
    "OPENAI_API_KEY",
    _responses_words,
    [responses_end()],
    [added(1, {**CALL, "name": "fs_read", "arguments": ""}), delta(1, '{"path": "notes.t')],
    lambda kind, said: {"type": "error", "code": kind, "message": said},
    lambda text: {"id": "r", "model": "m", "status": "completed", "output": [_message(text)]},
)
ANTHROPIC = Voice(
    "anthropic",
    "ANTHROPIC_API_KEY",
    lambda text: [START, begin(0, type="text", text=""), grow(0, "text_delta", text=text)],
    [close(0), anthropic_end("end_turn"), STOP],
    [
        begin(1, type="tool_use", id="a", name="fs_read", input={}),
        grow(1, "input_json_delta", partial_json='{"path": "notes.t'),
    ],
    lambda kind, said: {"type": "error", "error": {"type": kind, "message": said}},
    lambda text: {
        "id": "msg",
        "model": "m",
        "role": "assistant",
        "type": "message",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
)
every_voice = pytest.mark.parametrize(
    "voice", [CHAT, RESPONSES, ANTHROPIC], ids=lambda voice: voice.provider
)


@dataclass
class Naps:
    """Stands in for the clock: pauses are written down instead of being waited for."""

    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def patience(naps: Naps, attempts: int = 3) -> Patience:
    return Patience(attempts=attempts, first_s=1.0, sleep=naps, chance=lambda: 1.0)


@asynccontextmanager
async def model_at(
    server: ReplayServer | str,
    voice: Voice = CHAT,
    naps: Naps | None = None,
    *,
    attempts: int = 3,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    **options: Any,
) -> AsyncIterator[Model]:
    model = open_model(
        f"{voice.provider}/m",
        environ={voice.variable: KEY},
        base_url=server if isinstance(server, str) else f"{server.url}/v1",
        options=Options(timeouts=timeouts, patience=patience(naps or Naps(), attempts), **options),
    )
    try:
        yield model
    finally:
        await model.aclose()


def talk(model: Model, tools: Toolbox | None = None, **settings: Any) -> Conversation:
    """A conversation in which the user has said something."""
    conversation = model.converse(
        Settings("ignored", **settings), toolbox() if tools is None else tools
    )
    conversation.add([Message.of("user", "hello")])
    return conversation


@dataclass
class Heard:
    """Everything that an answer was made of."""

    progress: list[Progress]

    @property
    def completion(self) -> Completion:
        last = self.progress[-1]
        assert isinstance(last, Completion)
        return last

    @property
    def waits(self) -> list[Waiting]:
        return [one for one in self.progress if isinstance(one, Waiting)]

    @property
    def shown(self) -> str:
        return "".join(one.text for one in self.progress if isinstance(one, TextDelta))

    @property
    def calls_done(self) -> list[ToolCall]:
        done = [one.item for one in self.progress if isinstance(one, ItemDone)]
        return [item for item in done if isinstance(item, ToolCall)]


async def heard(conversation: Conversation) -> Heard:
    return Heard([one async for one in conversation.answer()])
