"""`<tool command="git log -n {count}"/>`: one program as a tool, started without a shell.

With `<param>` elements, each `{name}` in the command is filled in from the call; without them a
call adds `arguments`, a list of words. How a command is read, `command.py` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

from whence.chatmd.suggest import closest, quoted
from whence.declare.command import commands_of, holes, split_command, word_of
from whence.declare.report import Report
from whence.declare.typed import object_of, read_params
from whence.declare.values import (
    choice,
    duration_ms,
    effects,
    filled,
    hosts,
    text,
    tool_name,
    variables,
    whole_number,
)
from whence.errors import InvalidArgs
from whence.shapes.declaration import MAX_OUTPUT, TIMEOUT_MS, Declared, Param, ShellCommand, Word
from whence.shapes.document import Element, truth
from whence.shapes.json import JSONObject
from whence.shapes.tool import Effect, Sandbox, Tool

PLAIN_ARGUMENTS: JSONObject = {
    "type": "object",
    "properties": {"arguments": {"type": "array", "items": {"type": "string"}}},
    "required": ["arguments"],
    "additionalProperties": False,
}
"""What a command takes that declares no parameters."""


class _Demand(StrEnum):
    """How much of a sandbox a command must have."""

    REQUIRED = "required"
    BEST = "best"


_GRACE_MS = 5_000
"""What ending a program at its own time limit may take."""
_OPERATORS = frozenset("| || & && ; < > >> 2> 2>&1 &>".split())


def declare(element: Element, report: Report) -> list[Declared]:
    """The tool that wraps a command; its handler comes from whoever may start programs."""
    name = tool_name(element, report)
    children = [child for child in element.children if child.tag == "param"]
    params = read_params(children, report)
    argv = _argv(element, report, typed=bool(children))
    usable = not children or _check_holes(element, argv, params, report)
    declared = effects(element, report) or frozenset()
    hosts = _hosts(element, declared, report)
    command = ShellCommand(
        argv,
        params,
        timeout_ms=duration_ms(element, "timeout", report) or TIMEOUT_MS,
        max_output=whole_number(element, "max_output", report) or MAX_OUTPUT,
        cwd=filled(element, "cwd", report),
        env=variables(element, "env", report),
        hosts=hosts,
        isolated=choice(element, "sandbox", _Demand, report) is _Demand.REQUIRED,
    )
    if name is None or not argv or not usable:
        return []
    does = declared | {Effect.EXECUTE} | ({Effect.NETWORK} if hosts else set())
    return [Declared(_tool(element, name, command, does), command, element.span)]


def _tool(element: Element, name: str, command: ShellCommand, does: frozenset[Effect]) -> Tool:
    given = "these arguments" if command.params else "the given arguments"
    lines = [f"Runs `{text(element, 'command')}` with {given} and returns its output."]
    lines += [said] if (said := text(element, "description")) else []
    return Tool(
        name=name,
        description="\n".join(lines),
        input_schema=object_of(command.params) if command.params else dict(PLAIN_ARGUMENTS),
        handler=None,
        category="exec",
        effects=does,
        sandbox=Sandbox(
            network=bool(command.hosts),
            timeout_ms=command.timeout_ms + _GRACE_MS,
            hosts=command.hosts,
            output_chars=command.max_output,
        ),
        commands=commands_of(command),
        source="shell",
    )


def _argv(element: Element, report: Report, *, typed: bool) -> tuple[Word, ...]:
    """The words of the command; without parameters, braces are letters like any others."""
    try:
        words = split_command(text(element, "command") or "")
    except InvalidArgs as error:
        report.relay("bad-command", element, error, at="command")
        return ()
    _warn_of_shell_syntax(element, words, report)
    argv = tuple(word_of(word) for word in words)
    if typed:
        return argv
    _warn_of_braces(element, argv, report)
    return tuple((word,) for word in words)


def _warn_of_shell_syntax(element: Element, words: Iterable[str], report: Report) -> None:
    for sign in dict.fromkeys(word for word in words if word in _OPERATORS):
        message = f"There is no shell: {quoted(sign)} is passed on as it stands."
        hint = "Put the pipeline into a script, and declare that."
        report.warning("shell-syntax", element, message, hint, at="command")


def _warn_of_braces(element: Element, argv: Iterable[Word], report: Report) -> None:
    for name in dict.fromkeys(name for word in argv for name in holes(word)):
        message = f"{{{name}}} is passed on as it stands, for this tool has no parameters."
        hint = f'To have a value there, put <param name="{name}"/> inside the tool.'
        report.warning("unknown-placeholder", element, message, hint, at="command")


def _check_holes(
    element: Element, argv: Sequence[Word], params: Sequence[Param], report: Report
) -> bool:
    """Whether every hole has its parameter, and the program none."""
    known = {param.name: param for param in params}
    used = dict.fromkeys(name for word in argv for name in holes(word))
    unknown = [name for name in used if name not in known]
    for name in unknown:
        near = closest(name, known)
        what = f"Write {{{near}}}" if near else f'Add <param name="{name}"/>'
        hint = f"{what}, or {{{{{name}}}}} for the letters themselves."
        message = f"{{{name}}} is no parameter of this tool."
        report.error("unknown-placeholder", element, message, hint, at="command")
    for child in element.children:
        name = text(child, "name") or ""
        if argv and name in known and name not in used:
            hint = f"Write {{{name}}} where its value belongs, or remove the parameter."
            report.error("unused-param", child, f"The command does not use {name}.", hint)
    chosen = bool(argv and holes(argv[0]))
    if chosen:
        message = "The program itself cannot be chosen by a call."
        report.bad(element, "command", message, "Declare one tool for each program.")
    _warn_of_lonely_options(element, argv, known, report)
    return not unknown and not chosen


def _warn_of_lonely_options(
    element: Element, argv: Sequence[Word], params: Mapping[str, Param], report: Report
) -> None:
    """`-n {count}`: without the count, `-n` would take the next word for its value."""
    for before, word in pairwise(argv):
        option, names = "".join(map(str, before)), holes(word)
        param = params.get(names[0]) if len(word) == len(names) == 1 else None
        if param is None or param.required or "default" in param.schema or holes(before):
            continue
        if option.startswith("-") and option.strip("-") and "=" not in option:
            message = f"Without {param.name}, {option} would stand alone."
            hint = f"Write them as one word, or give {param.name} a default, or `required`."
            report.warning("lonely-option", element, message, hint, at="command")


def _hosts(element: Element, declared: frozenset[Effect], report: Report) -> tuple[str, ...]:
    written = text(element, "network")
    if written is None:
        return ("*",) if Effect.NETWORK in declared else ()
    if truth(written) is False:
        if Effect.NETWORK in declared:
            message = "effects names the network, which network denies."
            report.bad(element, "effects", message, "Let them say the same.")
        return ()
    return hosts(element, report) or ()
