"""What a session has beyond a single call: files beside its journal, and what it left running."""

from __future__ import annotations

import os

from whence.execute.ports import Job
from whence.journal.artifacts import artifact_path, write_artifact
from whence.journal.redact import Redactor


class SessionShelf:
    """Keeps files for the calls of a session, and ends what they left running.

    Args:
        directory: where the session's journal is.
        prefix: what paths inside the workspace begin with.
        redactor: takes secrets out of what is text.
    """

    def __init__(self, directory: str, prefix: str, redactor: Redactor) -> None:
        self.jobs: dict[str, Job] = {}
        self._directory, self._prefix, self._redactor = directory, prefix, redactor

    def keep(self, tool: str, name: str, data: bytes) -> str | None:
        """Write a file beside the journal; its path as file tools take it, None on a full disk."""
        try:
            relative = write_artifact(self._directory, tool, name, self._redacted(data))
        except OSError:
            return None
        return f"{self._directory}/{relative}".removeprefix(self._prefix)

    def kept(self, tool: str, name: str) -> bytes | None:
        """What was written under that name, in this process or an earlier one; None: nothing."""
        try:
            with open(os.path.join(self._directory, artifact_path(tool, name)), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def end_jobs(self) -> None:
        """End everything that was left running."""
        while self.jobs:
            self.jobs.popitem()[1].end()

    def _redacted(self, data: bytes) -> bytes:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        redacted: str = self._redactor.redact(text)
        return redacted.encode()
