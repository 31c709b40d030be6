"""The system's own programs that sandboxes are built with."""

from __future__ import annotations

from functools import lru_cache
from shutil import which

from whence.errors import Unavailable

_PLACES = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"
"""Not the PATH, on which anybody may have put a program of the same name."""


@lru_cache(maxsize=8)
def system_tool(name: str) -> str:
    """The path of a program.

    Raises:
        Unavailable: It is not installed.
    """
    found = which(name, path=_PLACES)
    if found is None:
        package = "bubblewrap" if name == "bwrap" else "util-linux"
        raise Unavailable(f"{name!r} is not installed", f"Install the package {package}.")
    return found
