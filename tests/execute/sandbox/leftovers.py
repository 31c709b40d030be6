"""Processes that a test may have left behind."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator


def with_token(token: str) -> Iterator[int]:
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as command:
                words = command.read()
        except OSError:
            continue
        if token.encode() in words:
            yield int(name)


def all_gone(token: str) -> bool:
    """Whether every such process ends within a few seconds."""
    for pid in with_token(token):
        try:
            watched = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([watched], [], [], 10.0)[0]:
                return False
        finally:
            os.close(watched)
    return not list(with_token(token))
