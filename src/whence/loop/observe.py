"""Telling a host what happens, without letting the host's own failure break a run in two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from whence.loop.news import News


class Observer:
    """Passes news on. A host that fails is told nothing more, and its run is stopped.

    It is stopped by cancelling the task, so that calls which are being made get their outcomes
    and the transcript stays whole; the host's exception is raised at the end.
    """

    def __init__(self, on: Callable[[News], None] | None) -> None:
        self._on = on
        self._failure: BaseException | None = None
        self._task: asyncio.Task[object] | None = None

    def tell(self, news: News) -> None:
        """Let the host know."""
        if self._on is None or self._failure is not None:
            return
        try:
            self._on(news)
        except BaseException as error:  # noqa: BLE001 - raised again when the run has ended
            self._failure = error
            if self._task is not None:
                self._task.cancel()

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._failure is not None:
            if self._task is not None:
                self._task.uncancel()
            raise self._failure
