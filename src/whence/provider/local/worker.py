"""The process that holds the two networks; it reads requests and writes answers, one per line.

It is a process of its own because the engine takes over the handlers of signals, opens threads
and keeps its memory: a run must stay stoppable, and give all of it back.

    {"id": 1, "rank": [query, texts]}                      -> {"id": 1, "value": [0.7, …]}
    {"id": 2, "complete": [prompt, grammar, limit, fresh]} -> {"id": 2, "value": ["words", 80, 5]}
    {"id": 2, "stop": true}                                -> the request 2 ends early
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from whence.provider.local.minilm import MiniLM
from whence.provider.local.weights import CHAT, MINILM, VOCABULARY

CONTEXT = 2048
"""In tokens; prompts are kept well below it, and memory is paid for all of it."""


class Chat:
    """SmolLM2; it is loaded while other work is done, and waited for when it is needed."""

    def __init__(self, weights: Path, first: str) -> None:
        self.stopped: set[int] = set()
        self._server: Any = None
        self._problem = ""
        self._first = first
        self._loading = threading.Thread(target=self._load, args=(weights,), daemon=True)
        self._loading.start()

    def complete(
        self, number: int, prompt: str, grammar: str, limit: int, fresh: bool
    ) -> tuple[str, int, int]:
        """The most likely words that the grammar allows, and the tokens read and written."""
        self._loading.join()
        if self._server is None:
            raise RuntimeError(self._problem)
        if fresh:
            self._read_beginning(self._server)
        chunks: list[dict[str, Any]] = []

        def take(chunk: dict[str, Any]) -> bool:
            """Whether to end here."""
            chunks.append(chunk)
            return number in self.stopped

        self._server.handle_completions(_asked(prompt, grammar, limit), take)
        return _joined(chunks)

    def _load(self, weights: Path) -> None:
        try:
            server = _server(weights)
            self._read_beginning(server)
            self._server = server
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits must hear of it
            self._problem = f"{type(error).__name__}: {error}"

    def _read_beginning(self, server: Any) -> None:
        """Read what every prompt begins with, while the tool is being chosen.

        Later it costs a token or two. What was read of other prompts is forgotten by it: reused,
        that would make answers depend, in their last digits, on what was asked before.
        """
        server.handle_completions(_asked(self._first, "", 1), lambda chunk: False)


def _joined(chunks: list[dict[str, Any]]) -> tuple[str, int, int]:
    errors = [str(chunk["error"].get("message")) for chunk in chunks if "error" in chunk]
    if errors:
        raise RuntimeError(errors[0])
    text = "".join(choice["text"] for chunk in chunks for choice in chunk["choices"])
    used: dict[str, int] = next(
        (chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), {}
    )
    return text, used.get("prompt_tokens", 0), used.get("completion_tokens", 0)


def _asked(prompt: str, grammar: str, limit: int) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "prompt": prompt,
        "temperature": 0,
        "n_predict": limit,
        "cache_prompt": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return {**asked, "grammar": grammar} if grammar else asked


def _server(weights: Path) -> Any:
    xllamacpp = import_module("xllamacpp")
    cores = len(os.sched_getaffinity(0))
    params = xllamacpp.CommonParams()
    params.model.path = os.fspath(weights)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = 0
    params.ui = False
    # The engine listens on a local port whether we want it or not; nobody knows this key.
    params.api_keys = [secrets.token_hex(32)]
    params.cpuparams.n_threads = max(1, cores - 1)
    params.cpuparams_batch.n_threads = cores
    return xllamacpp.Server(params)


def main(models: Path, first: str) -> None:
    """Serve until the other side closes its end."""
    answers = _private_stdout()
    chat = Chat(models / CHAT, first)
    minilm = MiniLM(models / MINILM, models / VOCABULARY)
    for request in _requests(chat):
        number = request["id"]
        try:
            if "rank" in request:
                value: Any = minilm.rank(*request["rank"])
            else:
                value = chat.complete(number, *request["complete"])
            answer = {"id": number, "value": value}
        except Exception as error:  # noqa: BLE001 - the other side decides what it means
            answer = {"id": number, "error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _private_stdout() -> IO[bytes]:
    """Where answers go; what libraries print goes elsewhere, so that it cannot mix with them."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _requests(chat: Chat) -> Iterator[dict[str, Any]]:
    """Requests in order; a stop overtakes those that wait."""
    arrived: list[dict[str, Any]] = []
    some = threading.Condition()

    def read() -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            with some:
                if "stop" in request:
                    chat.stopped.add(request["id"])
                else:
                    arrived.append(request)
                    some.notify()
        # Nobody is left to answer to; whatever is being computed is not waited for.
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        with some:
            some.wait_for(lambda: bool(arrived))
            request = arrived.pop(0)
        if request["id"] not in chat.stopped:
            yield request


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
