"""Letting others run in between."""

from __future__ import annotations

from collections.abc import Generator
from types import coroutine


@coroutine
def pause() -> Generator[None]:
    """Give the event loop one turn, without having to load it."""
    yield
