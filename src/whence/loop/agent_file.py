"""An agent file from disk: imports in place, declarations resolved, problems located."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whence.catalogs import DEFAULT, Catalogs
from whence.chatmd.include import Expanded, Located, expand
from whence.chatmd.parse import parse
from whence.declare.python import load_function
from whence.declare.resolve import resolve
from whence.errors import InvalidArgs, NotFound, ParseError, PermissionDenied, QuotaExceeded
from whence.loop.roots import grant_roots
from whence.shapes.dataclass import dataclass
from whence.shapes.declaration import Resolved
from whence.shapes.document import Diagnostic, Document, Severity
from whence.shapes.json import JSONObject
from whence.shapes.tool import Tool

if TYPE_CHECKING:
    from whence.execute.containment import Root

LARGEST = 512_000_000
"""Bytes of an agent file."""
_ANYTHING: JSONObject = {"type": "object", "additionalProperties": True}
_PUT_RIGHT = frozenset({"duplicate-call-id", "duplicate-response", "response-without-call"})
"""What crashes, merges and editors do to a transcript, and `pairing` undoes in each request."""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """Everything that a file says, before anything is run."""

    path: str
    expanded: Expanded
    resolved: Resolved

    @property
    def document(self) -> Document:
        """The file with its imports in place."""
        return self.expanded.document

    def problems(self, more: Iterable[Diagnostic] = ()) -> list[Located]:
        """Every problem, where a person finds it, in the order of files and lines."""
        found = self.expanded.diagnostics((*self.resolved.problems, *more))
        first = self.path
        return sorted(
            found, key=lambda item: (item.path != first, item.path, item.diagnostic.span.start)
        )

    @property
    def has_errors(self) -> bool:
        """Whether something in it is wrong."""
        return any(item.diagnostic.severity is Severity.ERROR for item in self.problems())

    def first_error(self) -> Located | None:
        """Why it cannot be run; what a run puts right itself is no reason."""
        for located in self.problems():
            found = located.diagnostic
            if found.severity is Severity.ERROR and found.code not in _PUT_RIGHT:
                return located
        return None


def load_agent(path: str, workspace: str, *, run_python: bool = True) -> AgentFile:
    """Read a file and all that it names.

    Args:
        path: The file, as a person gave it.
        workspace: Imports may lie here, or in the file's own directory, and nowhere else.
        run_python: Whether Python tools are imported; otherwise they are only looked at.

    Raises:
        NotFound: there is no such file.
        InvalidArgs: it is a directory or a device.
    """
    source = read_file(path)
    reach = Reach(path, workspace)
    try:
        expanded = expand(source, path, reach.read, os.path.realpath(path))
        resolved = resolve(
            expanded.document,
            catalogs=Catalogs(),
            default_catalogs=DEFAULT,
            load_document=lambda src: parse(reach.read(src, path)[1]),
            load_function=lambda src, name: _function(
                reach.find(src, path), name, workspace if run_python else None
            ),
        )
    finally:
        reach.close()
    return AgentFile(path, expanded, grant_roots(resolved, expanded, path, workspace))


def load_runnable(path: str, workspace: str, *, run_python: bool = True) -> AgentFile:
    """As `load_agent`, where nothing in the file stands in the way of a run.

    Raises:
        ParseError: the first error of the file, with its place.
    """
    file = load_agent(path, workspace, run_python=run_python)
    wrong = file.first_error()
    if wrong is not None:
        found = wrong.diagnostic
        where = f"{wrong.path}:{found.line}:{found.column}"
        hint = f"{found.suggestion} `whence check` has all."
        raise ParseError(f"{where}: {found.message}", hint)
    return file


class Reach:
    """The files that an agent file may name: below its own directory or the workspace.

    A path is looked for beside the file that names it first, then in the workspace.
    """

    def __init__(self, path: str, workspace: str) -> None:
        self._directories = (os.path.dirname(os.path.abspath(path)), workspace)

    @cached_property
    def _roots(self) -> list[Root]:
        from whence.execute.containment import Root  # most files name no others

        return [Root(directory) for directory in self._directories]

    def close(self) -> None:
        """Give the descriptors back."""
        for root in vars(self).get("_roots", ()):
            root.close()

    def read(self, src: str, base: str) -> tuple[str, bytes]:
        """The path and the bytes of a file that `base` names."""
        path = self.find(src, base)
        return path, read_file(path)

    def find(self, src: str, base: str) -> str:
        """The path of a file that `base` names.

        Raises:
            PermissionDenied: it lies outside.
            NotFound: it lies nowhere.
        """
        beside = os.path.dirname(os.path.abspath(base))
        outside = False
        for directory in dict.fromkeys((beside, self._roots[1].path)):
            place = self._inside(os.path.join(directory, src))
            outside = outside or place is None
            if place is not None and os.path.lexists(place):
                return place
        if outside:
            raise PermissionDenied(
                f"{src!r} leads outside the workspace and the file's own directory",
                "Move it inside, or run with -C DIR above both.",
            )
        raise NotFound(f"no such file: {src!r}", "Check the path; it is relative to the file.")

    def _inside(self, path: str) -> str | None:
        for root in self._roots:
            place = root.locate(path)
            if place.inside:
                return place.real
        return None


def read_file(path: str) -> bytes:
    """The bytes of a regular file; nothing else is opened for longer than a look."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotFound(f"no such file: {path!r}", _closest_file(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidArgs(f"{path!r} cannot be read: {reason}", "Check the path.") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise InvalidArgs(f"{path!r} is not a regular file", "Name a file.")
    with os.fdopen(descriptor, "rb") as file:
        if found.st_size > LARGEST:
            raise QuotaExceeded(
                f"{path!r} has {found.st_size} bytes", f"At most {LARGEST} are read."
            )
        return file.read()


def _closest_file(path: str) -> str:
    """What to do about a path that leads to nothing."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        close = get_close_matches(name, os.listdir(folder or "."), n=1)
    except OSError:
        close = []
    return f"Did you mean {os.path.join(folder, close[0])}?" if close else "Check the path."


def replace_file(path: str, content: bytes) -> None:
    """Write an agent file whole or not at all; its mode stays."""
    from whence.execute.containment import Root
    from whence.execute.files import WorkspaceFiles

    root = Root(os.path.dirname(os.path.abspath(path)))
    try:
        name = os.path.basename(path)
        with WorkspaceFiles(root, {name: root.locate(name)}).replacing(name) as out:
            out.write(content)
    finally:
        root.close()


def _function(path: str, name: str, workspace: str | None) -> Callable[..., Any] | Tool:
    """The function, or, without a workspace or where its file changed, only its outline."""
    from whence.loop.lock import is_changed

    if workspace is None:
        return _glimpse(path, name)
    if is_changed(path, workspace):
        return replace(_glimpse(path, name), input_schema=_ANYTHING)
    return load_function(path, name)


def _glimpse(path: str, name: str) -> Tool:
    """A function as its file shows it, without running a line of it."""
    try:
        tree = ast.parse(read_file(path), path)
    except (SyntaxError, ValueError) as error:
        raise InvalidArgs(f"{path!r} is not Python: {error}", "Correct it there.") from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            _check_typed(path, node)
            return Tool(name, ast.get_docstring(node) or name, {"type": "object"}, None)
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return Tool(name, name, {"type": "object"}, None)
    raise NotFound(f"{path!r} has no function {name!r}", "Check the name behind the colon.")


def _check_typed(path: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    given = function.args
    for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        if parameter.annotation is None:
            raise InvalidArgs(
                f"{path}:{parameter.lineno}: parameter {parameter.arg!r} of {function.name} has no"
                " type",
                f"Write one, such as {parameter.arg}: str.",
            )
