"""Rules and limits from files: the workspace's own, and an administrator's that no agent can write.

# .agent/permissions.yaml, or /etc/whence/permissions.yaml
why: strict
allow: ["fs.write(src/**)"]
ask: ["fs.write"]
deny: ["fs.*(secrets/**)"]
always: ["fs.write(notes.md)"]  # answers to questions; they settle what `ask` would ask again
quotas: {calls: 200}
"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import Any

import yaml

from whence.declare.modes import find_mode, parse_modes
from whence.declare.toolbox import Toolbox
from whence.declare.yaml_text import load_yaml, problem_of
from whence.errors import ParseError, UsageError
from whence.loop.answers import KEY, SHOWN
from whence.loop.rules import answer_of, shared_rules
from whence.shapes.policy import Mode, Policy, Quotas, Verdict, WhyPolicy

ADMIN_FILE = "/etc/whence/permissions.yaml"
_KEYS = {"why", "allow", "ask", "deny", "always", "quotas"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_STRICTNESS = (WhyPolicy.OFF, WhyPolicy.OPTIONAL, WhyPolicy.REQUIRED, WhyPolicy.STRICT)


def load_policy(workspace: str, toolbox: Toolbox, base: Policy = Policy()) -> Policy:
    """The base, tightened by the workspace's file and then by the administrator's."""
    policy = base
    own = os.path.join(workspace, ".agent", "permissions.yaml")
    admin = os.environ.get("WHENCE_ADMIN_FILE", ADMIN_FILE)
    for path, shown in ((own, SHOWN), (admin, admin)):
        settings = _read(path, shown)
        if settings:
            policy = _tightened(policy, settings, shown, toolbox, ceiling=path == admin)
    return policy


def load_mode(workspace: str, slug: str) -> Mode:
    """The mode of that name, from `.agent/modes.yaml`, `.roomodes` or the built-in ones."""
    custom: dict[str, Mode] = {}
    for name in (".roomodes", os.path.join(".agent", "modes.yaml")):
        text = _text(os.path.join(workspace, name), name)
        if text is not None:
            custom.update(parse_modes(text, name))
    return find_mode(slug, custom)


def _tightened(
    policy: Policy, settings: dict[str, Any], shown: str, toolbox: Toolbox, *, ceiling: bool
) -> Policy:
    unknown = settings.keys() - _KEYS
    if unknown:
        raise UsageError(
            f"{shown}: unknown key {min(unknown)!r}", f"Keys: {', '.join(sorted(_KEYS))}."
        )
    written = {verdict: _rule_list(settings, verdict, shown) for verdict in Verdict}
    rules = shared_rules(written, shown, toolbox)
    if ceiling:
        rules = tuple(replace(rule, ceiling=rule.verdict is not Verdict.ALLOW) for rule in rules)
    answers = (answer_of(text, shown, toolbox) for text in _rule_list(settings, KEY, shown))
    return replace(
        policy,
        why=stricter(policy.why, _why(settings.get("why"), shown)),
        rules=(*policy.rules, *rules, *(rule for rule in answers if rule is not None)),
        quotas=_smaller(policy.quotas, settings.get("quotas"), shown),
    )


def _rule_list(settings: dict[str, Any], key: str, shown: str) -> list[str]:
    listed = settings.get(key) or []
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise UsageError(f"{shown}: {key} is {listed!r}", "Give it a list of rules.")
    return listed


def stricter(why: WhyPolicy, other: WhyPolicy | None) -> WhyPolicy:
    """The one of the two that demands more."""
    return why if other is None else max(why, other, key=_STRICTNESS.index)


def _why(text: object, shown: str) -> WhyPolicy | None:
    try:
        return None if text is None else WhyPolicy(str(text))
    except ValueError:
        choices = ", ".join(WhyPolicy)
        raise UsageError(f"{shown}: why is {text!r}", f"Choose one of {choices}.") from None


def _smaller(quotas: Quotas, settings: object, shown: str) -> Quotas:
    if settings is None:
        return quotas
    names = {field.name for field in fields(Quotas)}
    if not isinstance(settings, dict) or not settings.keys() <= names:
        raise UsageError(f"{shown}: quotas is {settings!r}", f"Quotas: {', '.join(sorted(names))}.")
    changed: dict[str, Any] = {}
    for name, limit in settings.items():
        if not isinstance(limit, int | float) or isinstance(limit, bool) or limit < 0:
            raise UsageError(f"{shown}: quota {name} is {limit!r}", "Give it a number.")
        present = getattr(quotas, name)
        changed[name] = limit if present is None else min(present, limit)
    return replace(quotas, **changed)


def _read(path: str, shown: str) -> dict[str, Any] | None:
    text = _text(path, shown)
    if text is None:
        return None
    try:
        loaded = load_yaml(text)
    except yaml.YAMLError as error:
        raise ParseError(
            f"{shown} is not YAML: {problem_of(error)}", "Correct it: nothing runs until then."
        ) from None
    if loaded is not None and not isinstance(loaded, dict):
        raise ParseError(f"{shown} is not a mapping", "Write keys such as allow, ask and deny.")
    return loaded


def _text(path: str, shown: str) -> str | None:
    try:
        with open(path, "rb") as file:
            text = file.read()
        return text.decode("utf-16" if text.startswith(_UTF16) else "utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError(
            f"{shown} cannot be read: {error}", "Correct it: nothing runs until then."
        ) from None
