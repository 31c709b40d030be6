"""Answers that hold for ever: rules that are added to a file of settings, whose text stays."""

from __future__ import annotations

from typing import Any

import yaml

from whence.declare.yaml_text import load_yaml
from whence.errors import Conflict
from whence.loop.own import DIRECTORY, rewrite

FILE = "permissions.yaml"
SHOWN = f"{DIRECTORY}/{FILE}"
KEY = "always"
_HEAD = "# Answers to questions; they settle what `ask` rules here would ask again.\n"


def remember(workspace: str, rule: str) -> None:
    """Add a rule to the workspace's answers; everything else in the file stays as it is.

    Raises:
        Conflict: the file is laid out so that it can only be changed by hand.
        Unavailable: it cannot be written.
    """
    rewrite(workspace, FILE, lambda text: added(text, rule))


def added(text: str, rule: str) -> str:
    """The text of a settings file with one more answer."""
    try:
        before = load_yaml(text) or {}
        listed = before.get(KEY) or []
        if rule in listed:
            return text
        quoted = yaml.safe_dump(rule, default_style='"', width=len(rule) * 10 + 100).strip()
        after = _inserted(text, quoted)
        wanted = {**before, KEY: [*listed, rule]}
        same = load_yaml(after) == wanted
    except (yaml.YAMLError, AttributeError, TypeError):
        same = False
    if not same:
        raise Conflict(
            f"the answer {rule!r} could not be added to {SHOWN}",
            f"Add it there by hand, to the list `{KEY}`.",
        )
    return after


def _inserted(text: str, item: str) -> str:
    root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return f"{_lines(text)}{_HEAD}{KEY}:\n  - {item}\n"
    if root.flow_style:
        comma = ", " if root.value else ""
        return _at(text, root.end_mark.index - 1, f"{comma}{KEY}: [{item}]")
    value = next((value for key, value in root.value if key.value == KEY), None)
    if value is None:
        return f"{_lines(text)}\n{_HEAD}{KEY}:\n  - {item}\n"
    if not isinstance(value, yaml.SequenceNode):
        return _below(text, value.end_mark.index, f"  - {item}")
    if value.flow_style:
        comma = ", " if value.value else ""
        return _at(text, value.end_mark.index - 1, f"{comma}{item}")
    last: Any = value.value[-1]
    return _below(text, last.end_mark.index, f"{' ' * value.start_mark.column}- {item}")


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _at(text: str, index: int, more: str) -> str:
    return text[:index] + more + text[index:]


def _below(text: str, index: int, line: str) -> str:
    """With a line below the one that holds the place, so that a comment stays where it is."""
    if text[index - 1 : index] == "\n":
        return _at(text, index, f"{line}\n")
    end = text.find("\n", index)
    return _at(text, len(text) if end < 0 else end, f"\n{line}")
