"""Pages that were fetched a moment ago."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from whence.shapes.web import HostPolicy


@dataclass(frozen=True, slots=True)
class Page:
    """A document from the web, ready to be read."""

    markdown: str
    title: str
    url: str
    """Where it came from in the end."""
    warnings: tuple[str, ...] = ()


def page_key(url: str, allow: HostPolicy, form: str = "markdown") -> str:
    """What a page is kept under: what another policy allowed to fetch is not found by this one."""
    parts = [url, form, sorted(allow.hosts), sorted(allow.networks), allow.proxy]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class PageCache:
    """Keeps the latest pages for a while, in memory and, if a directory is given, there too.

    Only pages are kept, never errors: whoever fetches puts in what succeeded.
    """

    def __init__(
        self,
        *,
        ttl_s: float = 300.0,
        entries: int = 128,
        directory: Path | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._ttl_s = ttl_s
        self._entries = entries
        self._directory = directory
        self._now = now
        self._pages: OrderedDict[str, tuple[float, Page]] = OrderedDict()

    def get(self, key: str) -> Page | None:
        """The page, if it was put here less than the time to live ago."""
        for find in (self._pages.get, self._load):
            kept = find(key)
            if kept is not None and 0 <= self._now() - kept[0] < self._ttl_s:
                self._remember(key, kept)
                return kept[1]
        self._forget(key)
        return None

    def put(self, key: str, page: Page) -> None:
        """Keep a page from now on."""
        kept = (self._now(), page)
        self._remember(key, kept)
        self._store(key, kept)

    def _remember(self, key: str, kept: tuple[float, Page]) -> None:
        self._pages[key] = kept
        self._pages.move_to_end(key)
        while len(self._pages) > self._entries:
            self._pages.popitem(last=False)

    def _forget(self, key: str) -> None:
        self._pages.pop(key, None)
        if self._directory is not None:
            with suppress(OSError):
                (self._directory / key).unlink()

    def _load(self, key: str) -> tuple[float, Page] | None:
        if self._directory is None:
            return None
        try:
            kept = json.loads((self._directory / key).read_bytes())
            page = {**kept["page"], "warnings": tuple(kept["page"]["warnings"])}
            return float(kept["at"]), Page(**page)
        except (OSError, ValueError, TypeError, KeyError):  # absent, or not what was written here
            return None

    def _store(self, key: str, kept: tuple[float, Page]) -> None:
        if self._directory is None:
            return
        data = json.dumps({"at": kept[0], "page": asdict(kept[1])}).encode()
        with suppress(OSError):  # the page was fetched all the same
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self._directory)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, self._directory / key)
