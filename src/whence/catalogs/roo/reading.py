"""`read_file`, in both forms: one file with a part of it, and several files with ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from whence.declare.function import tool
from whence.errors import InvalidArgs, WhenceError
from whence.execute.ports import Ports
from whence.shapes.call import Reply
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Example, Sandbox, Tool
from whence.work import slices
from whence.work.ignored import Ignored
from whence.work.indentation import Around
from whence.work.slices import Slice, numbered

READ = Effect.READ
_BETWEEN = "\n\n---\n\n"
_LINE = Meta(ge=1, description="Line, counted from 1")


class Indentation(msgspec.Struct, forbid_unknown_fields=True):
    """Which block is wanted."""

    anchor_line: Annotated[int, Meta(ge=1, description="Line in the block; default: offset")] | None = None
    max_levels: Annotated[int, Meta(ge=0, description="Enclosing blocks; 0: all")] = 0
    include_siblings: Annotated[bool, Meta(description="Also the blocks beside it")] = False
    include_header: Annotated[bool, Meta(description="Also imports and comments on top")] = True
    max_lines: Annotated[int, Meta(ge=1, description="Lines at most; default: limit")] | None = None
