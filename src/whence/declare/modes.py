"""Modes: named sets of tool groups, built in or from a file. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from whence.declare.yaml_text import load_yaml, problem_of
from whence.errors import NotFound, ParseError
from whence.shapes.policy import Mode

GROUPS = ("read", "edit", "command", "mcp", "modes")
_RETIRED = "browser"
_OPTIONS = ("fileRegex", "description")
_INDENTED = re.compile("^[ \xa0\u200b-\u200d\u2060]+", re.MULTILINE)

BUILT_IN: Mapping[str, Mode] = {
    mode.slug: mode
    for mode in (
        Mode("architect", "Architect", {"read": None, "edit": r"\.md$", "mcp": None}),
        Mode("code", "Code", {"read": None, "edit": None, "command": None, "mcp": None}),
        Mode("ask", "Ask", {"read": None, "mcp": None}),
        Mode("debug", "Debug", {"read": None, "edit": None, "command": None, "mcp": None}),
        Mode("orchestrator", "Orchestrator", {}),
    )
}


def find_mode(slug: str, custom: Mapping[str, Mode]) -> Mode:
    """The mode of that name; a custom one replaces a built-in one wholly."""
    mode = custom.get(slug) or BUILT_IN.get(slug)
    if mode is None:
        known = ", ".join(sorted({*custom, *BUILT_IN}))
        raise NotFound(f"there is no mode {slug!r}", f"Modes: {known}.")
    return mode


def parse_modes(text: str, source: str) -> dict[str, Mode]:
    """The modes of a `customModes` file; one wrong mode makes the whole file wrong."""
    try:
        loaded = load_yaml(_plain(text))
    except yaml.YAMLError as error:
        raise ParseError(
            f"{source} is not YAML: {problem_of(error)}", "Correct it there."
        ) from None
    listed = loaded.get("customModes") if isinstance(loaded, dict) else None
    if not isinstance(listed, list):
        raise ParseError(
            f"{source} has no list `customModes`", "Put the modes below `customModes:`."
        )
    modes: dict[str, Mode] = {}
    for number, entry in enumerate(listed, 1):
        mode = _mode(entry, f"{source}: mode {number}")
        if mode.slug in modes:
            raise ParseError(f"{source}: two modes are called {mode.slug!r}", "Rename one of them.")
        modes[mode.slug] = mode
    return modes


def _plain(text: str) -> str:
    """What was copied from a web page is often indented with spaces that YAML does not know."""
    known = str.maketrans({"\xa0": " ", **dict.fromkeys("\u200b\u200c\u200d\u2060")})
    return _INDENTED.sub(lambda found: found[0].translate(known), text.lstrip("\ufeff"))


def _mode(entry: Any, where: str) -> Mode:
    if not isinstance(entry, dict):
        raise ParseError(f"{where} is not a mapping", "Give it slug, name, roleDefinition, groups.")
    slug, name, role = (entry.get(key) for key in ("slug", "name", "roleDefinition"))
    if not isinstance(slug, str) or re.fullmatch("[a-zA-Z0-9-]+", slug) is None:
        raise ParseError(f"{where}: slug is {slug!r}", "Use letters, digits and dashes.")
    for key, value in (("name", name), ("roleDefinition", role)):
        if not isinstance(value, str) or not value.strip():
            raise ParseError(f"{where} ({slug}): {key} is {value!r}", "Give it a text.")
    more = entry.get("customInstructions")
    if not isinstance(more, str | None):
        raise ParseError(f"{where} ({slug}): customInstructions is {more!r}", "Give it a text.")
    groups = entry.get("groups")
    if not isinstance(groups, list):
        raise ParseError(
            f"{where} ({slug}): groups is {groups!r}", f"List some of {', '.join(GROUPS)}."
        )
    told = "\n\n".join(text.strip() for text in (str(role), more or "") if text.strip())
    return Mode(slug, str(name), _groups(groups, f"{where} ({slug})"), told)


def _groups(listed: list[Any], where: str) -> dict[str, str | None]:
    groups: dict[str, str | None] = {}
    for entry in listed:
        name, options = (entry, {}) if isinstance(entry, str) else _pair(entry, where)
        if name == _RETIRED:
            continue
        if name not in GROUPS:
            raise ParseError(f"{where}: unknown group {name!r}", f"Groups: {', '.join(GROUPS)}.")
        if name in groups:
            raise ParseError(f"{where}: group {name!r} stands twice", "Keep one of them.")
        unknown = next((key for key in options if key not in _OPTIONS), None)
        if unknown is not None:
            raise ParseError(
                f"{where}: group {name!r} has no option {unknown!r}",
                f"Options: {', '.join(_OPTIONS)}.",
            )
        groups[name] = _regex(options.get("fileRegex"), where)
    return groups


def _pair(entry: Any, where: str) -> tuple[str, dict[str, Any]]:
    if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], dict):
        return str(entry[0]), entry[1]
    raise ParseError(
        f"{where}: group {entry!r} is neither a name nor a pair", "Write [edit, {fileRegex: '…'}]."
    )


def _regex(pattern: Any, where: str) -> str | None:
    if pattern is None:
        return None
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except (re2.error, TypeError) as error:
        raise ParseError(
            f"{where}: fileRegex {pattern!r} cannot be used: {error}", "Correct the expression."
        ) from None
    return str(pattern)
