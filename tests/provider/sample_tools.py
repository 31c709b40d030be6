"""A small toolbox."""

from __future__ import annotations

from typing import Annotated, Literal

from whence.declare.function import tool
from whence.declare.toolbox import Toolbox
from whence.shapes.tool import Effect


@tool("fs.read", paths={"path": Effect.READ})
def read(path: Annotated[str, "The file."], limit: int | None = None) -> str:
    """Read a file."""
    return path


@tool("fs.write", paths={"path": Effect.WRITE})
def write(path: str, content: str, mode: Literal["new", "append"] = "new") -> str:
    """Write a file."""
    return path


def toolbox() -> Toolbox:
    return Toolbox([read, write])
