"""Whole outputs and arguments, as files beside the journal that names them."""

from __future__ import annotations

import os
import re

UNDO = os.path.join("tool", "undo")
"""Where a session keeps what taking an edit back needs, below its directory."""
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 200


def artifact_path(tool: str, name: str) -> str:
    """`tool/<group>/<name>`, where a session's directory has the file of that name."""
    group = _UNSAFE.sub("_", tool.partition(".")[0]) or "tool"
    # Names begin with the id of a call, which a model may have made up.
    return f"tool/{group}/{_UNSAFE_NAME.sub('_', name)[-_LONGEST:]}"


def write_artifact(directory: str, tool: str, name: str, data: bytes) -> str:
    """Write `tool/<group>/<name>` below a session's directory; the path relative to it."""
    relative = artifact_path(tool, name)
    path = os.path.join(directory, relative)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
    except OSError:
        os.unlink(path)  # half of an output is worse than none, and a full disk needs the room
        raise
    return relative
