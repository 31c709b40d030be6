"""`<tool python="tools.py:forecast"/>`: a typed function of a Python file as a tool."""

from __future__ import annotations

import ast
import inspect
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from types import CodeType, ModuleType
from typing import Any, TypeAlias

from whence.chatmd.suggest import closest, quoted
from whence.declare.function import tool
from whence.declare.report import Report
from whence.declare.values import duration_ms, effects, text, tool_name
from whence.errors import InvalidArgs, NotFound, WhenceError
from whence.shapes.declaration import TIMEOUT_MS, Declared, PythonReference
from whence.shapes.document import Element
from whence.shapes.tool import Effect, Sandbox, Tool

Loaded: TypeAlias = Callable[..., Any] | Tool
LoadFunction: TypeAlias = Callable[[str, str], Loaded]
"""Gives the function or tool of a path, as it is written, and a name. Raises WhenceError."""

_LARGEST = 4_000_000


def declare(element: Element, load_function: LoadFunction, report: Report) -> list[Declared]:
    """The tool that a function becomes; it runs in this process and is trusted with its effects."""
    name = tool_name(element, report) if "name" in element.attributes else ""
    reference = _reference(element, report)
    declared = effects(element, report)
    timeout_ms = duration_ms(element, "timeout", report)
    if name is None or reference is None:
        return []
    try:
        made = as_tool(load_function(reference.path, reference.function))
    except WhenceError as error:
        report.relay("unusable-python", element, error, at="python")
        return []
    made = replace(
        made,
        name=name or made.name,
        description=text(element, "description") or made.description,
        effects=made.effects if declared is None else declared,
    )
    if timeout_ms is not None:
        made = replace(made, sandbox=replace(made.sandbox, timeout_ms=timeout_ms))
    return [Declared(made, reference, element.span)]


def _reference(element: Element, report: Report) -> PythonReference | None:
    written = text(element, "python") or ""
    path, _, function = written.rpartition(":")
    if path.endswith(".py") and function.isidentifier() and "\0" not in path:
        return PythonReference(path, function)
    hint = 'Write the file and the function: python="tools.py:forecast".'
    report.bad(element, "python", f"python is {quoted(written)}.", hint)
    return None


def as_tool(loaded: Loaded) -> Tool:
    """The tool that a function becomes; what it does is not known, so that it counts as executing.

    Raises:
        InvalidArgs: its types cannot be described to a model.
    """
    if isinstance(loaded, Tool):
        return loaded
    try:
        return tool(effects={Effect.EXECUTE}, sandbox=Sandbox(timeout_ms=TIMEOUT_MS))(loaded)
    except Exception as error:  # noqa: BLE001 - annotations are code of the user's
        code = getattr(loaded, "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}: " if code else ""
        raise InvalidArgs(
            f"{where}{type(error).__name__}: {error}",
            "Give every parameter a type that JSON has, a dataclass, or a union of such.",
        ) from None


def load_function(path: str, name: str) -> Loaded:
    """The function, or the tool, of that name in a Python file, whose code runs once.

    A file that has not changed is not run again, so that its functions share their state.

    Raises:
        NotFound: there is no such file, or nothing of that name in it.
        InvalidArgs: the file does not run, or the name is no function whose parameters have types.
    """
    source = _source(path)
    module = _module(path, source)
    if not hasattr(module, name):
        own = [each for each, value in vars(module).items() if inspect.isfunction(value)]
        near = closest(name, own)
        listed = f"It has: {', '.join(own[:10]) or 'no function'}."
        hint = f"Did you mean {near}? {listed}" if near else listed
        raise NotFound(f"{path} has no function {quoted(name)}", hint)
    found = getattr(module, name)
    if isinstance(found, Tool):
        return found
    if not inspect.isfunction(found):
        kind, line = type(found).__name__, _bound_at(source, name)
        raise InvalidArgs(
            f"{path}:{line}: {name} is of type {kind}, not a function",
            "Name a function that is defined with `def` or `async def`.",
        )
    _check_types(path, found)
    return found


def _source(path: str) -> bytes:
    try:
        mode = os.stat(path)
        if not stat.S_ISREG(mode.st_mode) or mode.st_size > _LARGEST:
            raise InvalidArgs(f"{path} is no ordinary Python file", "Name a file of source code.")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        hint = "Correct the path; it is relative to the agent file."
        raise NotFound(f"there is no file {path}", hint) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidArgs(f"{path} cannot be read: {reason}", "Make it readable.") from None


class _Loader(SourceFileLoader):
    """Runs the source that was read: compiled files on disk may be older, and are not written."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self._source, self.path)
        return code


def _module(path: str, source: bytes) -> ModuleType:
    from hashlib import sha256

    real = os.path.realpath(path)
    digest = sha256(os.fsencode(real) + b"\0" + source).hexdigest()[:16]
    name = f"whence_tools_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _Loader(name, real, source)
    spec = ModuleSpec(name, loader, origin=real)
    spec.has_location = True
    module = module_from_spec(spec)
    # Dataclasses and pickling look a module up by its name while it runs.
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any code may run there
        del sys.modules[name]
        raise _unrunnable(path, real, error) from None
    return module


def _unrunnable(path: str, real: str, error: BaseException) -> InvalidArgs:
    line = _line(real, error)
    where = f"{path}:{line}" if line else path
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    if isinstance(error, ImportError):
        hint = "Install what it imports; other files beside it cannot be imported."
    else:
        hint = "Correct the file so that it can be imported; it should do nothing but define."
    return InvalidArgs(f"{where}: {type(error).__name__}: {reason}", hint)


def _line(real: str, error: BaseException) -> int | None:
    """The line of the file itself where it went wrong, not that of a library below it."""
    if isinstance(error, SyntaxError) and error.filename == real:
        return error.lineno
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == real:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _check_types(path: str, function: Callable[..., Any]) -> None:
    code = inspect.unwrap(function).__code__
    for parameter in inspect.signature(function).parameters.values():
        if parameter.annotation is parameter.empty:
            raise InvalidArgs(
                f"{path}:{code.co_firstlineno}: parameter {parameter.name!r} of "
                f"{function.__name__} has no type",
                f"Write one, such as {parameter.name}: str.",
            )


def _bound_at(source: bytes, name: str) -> int:
    """The last line at the top level that gives the name its value."""
    lines = [node.lineno for node in ast.parse(source).body if name in _bound_by(node)]
    return lines[-1] if lines else 1


def _bound_by(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {each.asname or each.name for each in node.names}
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}
