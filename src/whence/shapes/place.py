"""Where a path argument really leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec


class Place(msgspec.Struct, frozen=True, gc=False):
    """A path as it was given, and the file that it means once every link is followed."""

    given: str
    real: str
    """Absolute, without links."""
    path: str
    """Relative to the workspace, with slashes; absolute where it lies outside."""
    inside: bool
    """Whether it lies in the workspace."""


Locate: TypeAlias = Callable[[str], Place]
"""Resolves a path argument. Raises InvalidArgs for text that can be no path."""
