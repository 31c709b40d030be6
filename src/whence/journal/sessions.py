"""Where the journals of a workspace are."""

from __future__ import annotations

import os

HEAD = "session-log.head"
"""Remembers where a session's log ends."""
SESSIONS = os.path.join(".agent", "sessions")
"""The directory of all sessions, below the workspace."""


def newest_session(sessions: str) -> str | None:
    """The session whose journal was written last."""
    newest: tuple[float, str] | None = None
    try:
        with os.scandir(sessions) as found:
            for entry in found:
                try:
                    written = os.stat(os.path.join(entry.path, HEAD)).st_mtime
                except OSError:
                    continue
                newest = max(newest or (written, entry.name), (written, entry.name))
    except OSError:
        return None
    return newest[1] if newest else None
