"""Pages that were fetched a moment ago."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from whence.shapes.web import HostPolicy


@dataclass(frozen=True, slots=True)
class Page:
    """A document from the web, ready to be read."""

    markdown: str
    title: str
    url: str
    """Where it came from in the end."""
    warnings: tuple[str, ...] = ()


def page_key(url: str, allow: HostPolicy, form: str) -> str:
    """What a page is kept under: what another policy allowed to fetch is not found by this one."""
    parts = [url, form, sorted(allow.hosts), sorted(allow.networks)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class PageCache:
    """Keeps the latest pages for a while.

    Only pages are kept, never errors: whoever fetches puts in what succeeded.
    """

    def __init__(
        self,
        *,
        ttl_s: float = 300.0,
        entries: int = 128,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._ttl_s = ttl_s
        self._entries = entries
        self._now = now
        self._pages: dict[str, tuple[float, Page]] = {}
        """The one used last stands last."""

    def get(self, key: str) -> Page | None:
        """The page, if it was put here less than the time to live ago."""
        at, page = self._pages.pop(key, (0.0, None))
        if page is None or not 0 <= self._now() - at < self._ttl_s:
            return None
        self._pages[key] = (at, page)
        return page

    def put(self, key: str, page: Page) -> None:
        """Keep a page from now on; the one used longest ago may go."""
        self._pages.pop(key, None)
        self._pages[key] = (self._now(), page)
        if len(self._pages) > self._entries:
            del self._pages[next(iter(self._pages))]
