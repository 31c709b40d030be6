"""Unified diffs for one file: read them, apply them, make them."""

from __future__ import annotations

from whence.work.edits.unified_apply import Applied, apply
from whence.work.edits.unified_make import make
from whence.work.edits.unified_parse import parse
from whence.work.edits.unified_shapes import Hunk, Patch

__all__ = ["Applied", "Hunk", "Patch", "apply", "make", "parse"]
