"""What of the machine a program gets to see, and where it finds the program to run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import lru_cache

from whence.errors import InvalidArgs, PermissionDenied, Unavailable
from whence.shapes.process import Program

_TREES = ("usr", "bin", "sbin", "opt", "nix", "gnu")
_SETTINGS = (
    "alternatives", "fonts", "group", "hosts", "ld.so.cache", "localtime", "nsswitch.conf",
    "os-release", "passwd", "pki", "ssl/certs", "ssl/openssl.cnf",
)  # fmt: skip
_LINKER = ("ld.so.cache",)
_FORBIDDEN = ("/", "/proc", "/dev", "/sys", "/usr", "/etc", "/run", "/boot")


@lru_cache(maxsize=1)
def system_trees() -> tuple[str, ...]:
    """Directories of the system that hold programs, and links to such."""
    names = [name for name in sorted(os.listdir("/")) if name in _TREES or name.startswith("lib")]
    return tuple(f"/{name}" for name in names)


@lru_cache(maxsize=2)
def settings(*, bare: bool = False) -> tuple[str, ...]:
    """Files below /etc that programs need and that hold no secrets; bare: that all of them need."""
    names = _LINKER if bare else _SETTINGS
    return tuple(path for name in names if os.path.exists(path := f"/etc/{name}"))


def directories(program: Program) -> dict[str, bool]:
    """The directories that a program is given, outer ones first, and whether it may write there.

    Raises:
        InvalidArgs: One of them cannot be given away.
        PermissionDenied: The working directory is inside one, and leads out of it.
    """
    confinement = program.confinement
    given = dict.fromkeys(map(_checked, confinement.readable), False)
    given |= dict.fromkeys(map(_checked, confinement.writable), True)
    here = os.path.realpath(program.cwd)
    if not is_below(here, (*given, *system_trees())):
        _check_stays(program)
        given[_checked(here)] = False
    return dict(sorted(given.items()))


def _check_stays(program: Program) -> None:
    """It may have been replaced by a link since somebody found it to be inside."""
    confinement = program.confinement
    meant = os.path.abspath(program.cwd)
    if is_below(meant, (*confinement.writable, *confinement.readable)):
        raise PermissionDenied(
            f"{program.cwd!r} leads out of the directory that it is in",
            "Run it in a directory that is no link.",
        )


def _checked(path: str) -> str:
    real = os.path.realpath(path)
    if not os.path.isabs(path) or not os.path.isdir(real):
        raise InvalidArgs(
            f"a sandbox cannot be given {path!r}", "Name a directory that exists, absolutely."
        )
    if real in _FORBIDDEN or real.startswith(("/proc/", "/dev/", "/sys/")):
        raise InvalidArgs(
            f"a sandbox cannot be given {real!r}, which belongs to the system",
            "Work in a directory of your own.",
        )
    return real


def is_below(path: str, trees: Iterable[str]) -> bool:
    """Whether a path is one of the trees or inside one."""
    return any(path == tree or path.startswith(tree + "/") for tree in trees)


def find_program(program: Program, search: str, trees: Iterable[str]) -> str:
    """The path of the program to run, as it is inside.

    Raises:
        Unavailable: There is none, or it cannot be seen from inside.
    """
    name, trees = program.argv[0], tuple(trees)
    if "/" in name:
        candidates = [os.path.normpath(os.path.join(program.cwd, name))]
    else:
        candidates = [os.path.join(place, name) for place in search.split(":") if place]
    there = [path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK)]
    for path in there:
        if is_below(path, trees) and is_below(os.path.realpath(path), trees):
            return path
    if there:
        raise Unavailable(
            f"cannot run {name!r}: {there[0]} cannot be seen inside the sandbox",
            "Name a program of the system or of the workspace, or declare its directory readable.",
        )
    raise Unavailable(
        f"cannot run {name!r}: there is no such program",
        "Install the program, or name one that is on the PATH of the sandbox.",
        details={"path": search},
    )


@lru_cache(maxsize=1)
def inner_python() -> tuple[str, tuple[str, ...]]:
    """A Python that can be run inside, and the directories that must be readable for it."""
    own = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    for path in (own, "/usr/bin/python3", "/usr/local/bin/python3"):
        if os.access(path, os.X_OK) and is_below(os.path.realpath(path), system_trees()):
            return path, ()
    return own, (os.path.realpath(sys.base_prefix),)
