r"""Finds lines by regular expression: with ripgrep where it is installed, in Python elsewhere.

What is searched, by either engine: regular files below the scope, hidden ones included. Left out
are `.git`, the journals in `.agent/sessions`, binary files, symbolic links, and what `.gitignore`
files exclude, up to the root of the repository. A glob overrides `.gitignore` for the files that it
names, and whoever names an excluded directory or file as the scope gets it searched.

Hits come in path order, compared name by name, so that a limited answer is always the same one.
The dialect is that of the engine: both are linear in the text, without look-around and references.
`\d`, `\w`, `\s` and `\b` know all scripts with ripgrep, and ASCII in Python.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace

from whence.errors import InvalidArgs, NotFound
from whence.shapes.pattern import path_matcher
from whence.shapes.process import ProcessStreamer
from whence.work.lexical import ripgrep
from whence.work.lexical.hits import Found, Hit, Query
from whence.work.lexical.ripgrep import installed

__all__ = ["Found", "Hit", "installed", "search"]

_LONGEST = 10_000
_TOKEN = re.compile(r"\\(.)|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""One escape, one class or one character of a pattern; the group is what an escape escapes."""


async def search(  # noqa: PLR0913 - the arguments of the tool, the world, and two limits
    query: str,
    *,
    root: str,
    scope: str,
    glob: str | None,
    runner: ProcessStreamer,
    rg: str | None,
    closed: tuple[str, ...] = (),
    cap: int = 200,
    timeout_s: float = 9.5,
) -> Found:
    """Every line below `scope` that matches, up to `cap` of them, with the lines around each.

    Args:
        query: A regular expression for one line.
        root: The workspace; paths are shown, and globs with a slash anchored, relative to it.
        scope: The directory or file to search: absolute, and already contained by the caller. One
            outside of `root` is its own anchor, and its hits have absolute paths.
        glob: Which files, in the language of `.gitignore` and with `{a,b}`; `!` excludes.
        runner: Starts ripgrep.
        rg: Where ripgrep is; None searches in Python.
        closed: Patterns of paths below the scope that are not looked into.
        cap: How many hits are wanted at most.
        timeout_s: After this the search is given up.

    Raises:
        InvalidArgs: The query or the glob cannot be understood, or the scope cannot be searched.
        NotFound: There is no such scope.
        TimedOut: With the number of hits so far in its details.
    """
    _check(query)
    asked = _placed(query, root, scope, glob=_understood(glob), limits=(cap, timeout_s))
    if not asked.is_file:
        named = asked.shown(os.fsencode(asked.target))
        kept = tuple(pattern for pattern in closed if not path_matcher(pattern)(named))
        asked = replace(asked, closed=kept)
    if rg is not None:
        return await ripgrep.search(asked, runner, rg)
    from whence.work.lexical import scan

    return await scan.search(asked)


def _check(query: str) -> None:
    if not query:
        raise InvalidArgs("the query is empty", "Give the text or the pattern to look for.")
    if len(query) > _LONGEST:
        raise InvalidArgs(
            f"the query has {len(query)} characters: {query[:60]!r}…",
            f"Look for a shorter part of it, at most {_LONGEST} characters.",
        )
    _refuse_unwritable("query", query)
    if "\n" in query or any(token[1] == "n" for token in _TOKEN.finditer(query)):
        raise InvalidArgs(
            f"the query spans lines: {query!r}",
            "Look for one of the lines; its context shows two lines before and after.",
            details={"argument": "query"},
        )


def _understood(glob: str | None) -> str | None:
    """The glob without what people add by habit; None where it says nothing."""
    if glob is None or not glob.strip():
        return None
    _refuse_unwritable("glob", glob)
    bare = glob.strip().removeprefix("./")
    return f"\\{bare}" if bare.startswith("#") else bare


def _refuse_unwritable(argument: str, text: str) -> None:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidArgs(
            f"the {argument} contains a NUL or half of a character: {text!r}",
            "Remove it; binary files are not searched.",
            details={"argument": argument},
        )


def _placed(
    query: str, root: str, scope: str, *, glob: str | None, limits: tuple[int, float]
) -> Query:
    workspace, target = os.path.realpath(root), os.path.realpath(scope)
    try:
        mode = os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f"no such file or directory: {os.path.relpath(scope, root)!r}",
            "List the directory above it, or leave it out.",
        ) from None
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise InvalidArgs(
            f"neither a directory nor a file: {scope!r}", "Search a directory or a regular file."
        )
    is_file = stat.S_ISREG(mode)
    inside = os.path.commonpath([workspace, target]) == workspace
    base = workspace if inside else os.path.dirname(target) if is_file else target
    return Query(
        pattern=query,
        base=base,
        target=target,
        glob=glob,
        is_file=is_file,
        unshown=os.fsencode(os.path.join(workspace, "")) if inside else b"",
        cap=limits[0],
        timeout_s=limits[1],
    )
