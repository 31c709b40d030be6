"""May this be done here? `deny` beats `ask` beats `allow`; without a rule, the defaults decide.

A rule is `tool(pattern)`. The tool is a name or a name pattern (`fs.*`). The path pattern is read
as in `.gitignore`, against the path with every link followed: relative to the workspace, absolute
beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from whence.declare.toolbox import Mounted, Toolbox
from whence.errors import UsageError
from whence.shapes.call import Fault
from whence.shapes.dataclass import dataclass
from whence.shapes.pattern import constant_matcher, matches_any, path_matcher
from whence.shapes.place import Place
from whence.shapes.policy import Policy, Rule, Verdict
from whence.shapes.tool import EVERYWHERE, Effect

if TYPE_CHECKING:
    from whence.shapes.command import Commands

_RULE = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
PROTECTED = ".agent/**"
"""The program's own state: no tool may write there, whatever the rules say."""
SENSITIVE = (
    ".env*", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "id_ecdsa*", ".netrc",
    ".npmrc", ".pypirc", ".ssh/", ".aws/", ".gnupg/", "*credentials*",
    ".agent/sessions/*/tool/undo/",
)  # fmt: skip
"""Files that usually hold secrets: touching them asks."""
_may_be_special = re.compile(r"(?:^|/)\.|\.(?:pem|key|p12|pfx)|id_|credentials").search
"""Cheaper than all the patterns, and true wherever one of them matches."""
_is_protected = constant_matcher(PROTECTED)
_is_sensitive = constant_matcher(*SENSITIVE)
_is_git = constant_matcher("**/.git/**")


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict and how it came about."""

    verdict: Verdict
    reason: str
    rule: Rule | None = None
    would_allow: str | None = None
    """The smallest rule that would let this call through; None: no rule can."""
    violation: str | None = None
    """What was violated, where somebody should hear of it: sandbox or append_only."""
    shown: str | None = None
    """The command that the call would run, as a person is to see it."""


Touched = Sequence[tuple[Effect, Place]]
SANDBOXED = frozenset({"builtin", "shell"})
"""Sources whose programs run in the sandbox; a Python function runs in this very process."""
_ISOLATED = Ruling(Verdict.ALLOW, "a declared tool may execute where the kernel keeps it apart")
_HARMLESS = frozenset({Effect.READ, Effect.WRITE})
_ALLOWED = Ruling(Verdict.ALLOW, "a declared tool may read and write inside the workspace")


def parse_rule(text: str, verdict: Verdict, source: str, toolbox: Toolbox) -> Rule:
    """A rule as a person writes it.

    A name that no tool has is refused: a typing error in a deny rule would deny nothing.
    """
    match = _RULE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{source}: {text!r} is not a rule",
            "Write it as tool(pattern), as in fs.write(src/**).",
        )
    name, pattern = match.group(1), match.group(2)
    if "*" not in name:
        canonical = toolbox.names.canonical(name)
        if canonical is None:
            close = ", ".join(toolbox.names.closest(name)) or "none"
            raise UsageError(f"{source}: no tool is called {name!r}", f"Closest names: {close}.")
        name = canonical
    rule = Rule(verdict, name, pattern, source)
    for mounted in toolbox:
        if pattern is not None and mounted.tool.commands is not None and concerns(rule, mounted):
            _check_command(rule, mounted)
    return rule


def _check_command(rule: Rule, mounted: Mounted) -> None:
    from whence.gate.command_ruling import problem_of

    problem = problem_of(rule, mounted)
    if problem:
        raise UsageError(
            f"{rule.source}: {rule} is not a rule for {mounted.name}, which runs commands: "
            f"{problem}",
            "Write the words of a command, as in git log *, or one sign, as in |.",
        )


def decide(
    mounted: Mounted, touched: Touched, policy: Policy, commands: Commands | None = None
) -> Ruling:
    """What the rules and the defaults say about a call."""
    if not policy.rules and _is_ordinary(mounted, touched):
        return _ALLOWED
    for effect, place in touched:
        if effect is Effect.WRITE and place.inside and _is_protected(place.path):
            return Ruling(
                Verdict.DENY, f"{place.path!r} belongs to the journal and its settings",
                violation="append_only",
            )  # fmt: skip
    sandbox = _beyond_sandbox(mounted, touched)
    if sandbox is not None:
        return sandbox
    if commands is not None:
        return _decide_commands(mounted, touched, policy, commands)
    ruled = _ruled(mounted, touched, policy.rules) if policy.rules else None
    return ruled or _default(mounted, touched, isolated=policy.isolated)


def _decide_commands(
    mounted: Mounted, touched: Touched, policy: Policy, commands: Commands
) -> Ruling:
    """A rule about commands opens no place; what is outside asks before any of them allows."""
    from whence.gate.command_ruling import rule_on, smallest_rule

    usual = _default(mounted, touched, isolated=policy.isolated)
    ruled = rule_on(mounted, commands, policy.rules)
    if ruled is not None and (ruled.verdict is not Verdict.ALLOW or usual.violation is None):
        return ruled
    asks = usual.verdict is Verdict.ASK
    smallest = smallest_rule(mounted, commands) if asks and not usual.violation else None
    return replace(usual, would_allow=smallest, shown=commands.line)


def _is_ordinary(mounted: Mounted, touched: Touched) -> bool:
    """The common case at a glance: nothing but ordinary files of the workspace."""
    if not mounted.is_harmless:
        return False
    for _, place in touched:  # noqa: SIM110 - a generator would cost as much as all the rest
        if not place.inside or _may_be_special(place.path):
            return False
    return True


def closed_below(mounted: Mounted, policy: Policy) -> tuple[str, ...]:
    """Patterns that stay closed below a directory that a call was let into.

    A tool that walks a tree must not touch there what it could not have named without asking.
    """
    if not policy.rules:
        return SENSITIVE
    restricted = [
        rule.pattern
        for rule in policy.rules
        if rule.verdict is not Verdict.ALLOW and rule.pattern and concerns(rule, mounted)
    ]
    return (*SENSITIVE, *restricted)


def refusal(mounted: Mounted, ruling: Ruling) -> Fault:
    """The fault of a denied call."""
    way_out = (
        f"Stay within what is allowed; a person can allow it with the rule {ruling.would_allow}."
        if ruling.would_allow and ruling.rule is None
        else "Use another path or tool; this one stays closed."
    )
    details: dict[str, object] = {"reason": ruling.reason}
    if ruling.rule is not None:
        details["rule"] = f"{ruling.rule.verdict} {ruling.rule} [{ruling.rule.source}]"
    if ruling.would_allow:
        details["would_allow"] = ruling.would_allow
    return Fault("PERMISSION_DENIED", f"{mounted.name}: {ruling.reason}", way_out, True, details)


def _ruled(mounted: Mounted, touched: Touched, rules: Iterable[Rule]) -> Ruling | None:
    matching = [rule for rule in rules if _applies(rule, mounted, touched)]
    if not matching:
        return None
    rule = min(matching, key=_weakness)
    reason = f"the rule {rule} of {rule.source} says {rule.verdict}"
    answerable = rule.verdict is Verdict.ASK and not rule.ceiling
    return Ruling(
        rule.verdict, reason, rule, smallest_rule(mounted, touched) if answerable else None
    )


def _weakness(rule: Rule) -> int:
    """The lower, the sooner it decides."""
    if rule.verdict is Verdict.DENY:
        return 0
    if rule.verdict is Verdict.ASK:
        return 1 if rule.ceiling else 3
    return 2 if rule.settles else 4


def _applies(rule: Rule, mounted: Mounted, touched: Touched) -> bool:
    """Restrictions hold when any path matches, permissions only when all do."""
    if not concerns(rule, mounted):
        return False
    outside = any(not place.inside for _, place in touched)
    if rule.pattern is None:
        return not (outside and rule.verdict is Verdict.ALLOW)
    if not touched:
        return rule.verdict is not Verdict.ALLOW
    hits = [_path_matches(rule.pattern, place) for _, place in touched]
    return all(hits) if rule.verdict is Verdict.ALLOW else any(hits)


def concerns(rule: Rule, mounted: Mounted) -> bool:
    """Whether a rule is about this tool."""
    name = mounted.name
    return rule.tool == name or ("*" in rule.tool and fnmatchcase(name, rule.tool))


def _path_matches(pattern: str, place: Place) -> bool:
    if place.inside:
        return path_matcher(pattern)(place.path)
    return pattern.startswith("/") and path_matcher(pattern)(place.path.lstrip("/"))


def _beyond_sandbox(mounted: Mounted, touched: Touched) -> Ruling | None:
    patterns, roots = mounted.tool.sandbox.filesystem, mounted.tool.sandbox.read_roots
    for effect, place in touched if roots else ():
        if effect is not Effect.READ or not _below(place, roots):
            return Ruling(
                Verdict.DENY,
                f"{place.given!r} is outside the configured read roots ({', '.join(roots)})",
                violation="sandbox",
            )
    if patterns == EVERYWHERE:
        return None
    for effect, place in touched:
        if place.inside and not _in_sandbox(patterns, effect, place.path):
            return Ruling(
                Verdict.DENY,
                f"{place.path!r} is outside its sandbox ({', '.join(patterns) or 'no files'})",
                violation="sandbox",
            )
    return None


def _below(place: Place, roots: tuple[str, ...]) -> bool:
    return any(f"{place.real}/".startswith(f"{root.rstrip('/')}/") for root in roots)


def _in_sandbox(patterns: tuple[str, ...], effect: Effect, path: str) -> bool:
    letter = "w" if effect is Effect.WRITE else "r"
    allowed, excluded = [], []
    for written in patterns:
        prefix, colon, rest = written.partition(":")
        narrowed = bool(colon) and prefix in ("r", "w", "rw")
        pattern = rest if narrowed else written
        if pattern.startswith("!"):
            excluded.append(pattern[1:])
        elif not narrowed or letter in prefix:
            allowed.append(pattern)
    return matches_any(allowed, path) and not matches_any(excluded, path)


def _default(mounted: Mounted, touched: Touched, *, isolated: bool) -> Ruling:
    tool = mounted.tool
    for effect, place in touched:
        if not place.inside and not _below(place, tool.sandbox.read_roots):
            reason = f"{place.given!r} leads outside the workspace"
            return Ruling(Verdict.ASK, reason, None, smallest_rule(mounted, touched), "sandbox")
        if _is_sensitive(place.path):
            reason = f"{place.path!r} looks like a file of secrets"
            return Ruling(Verdict.ASK, reason, None, smallest_rule(mounted, touched))
        if effect is Effect.WRITE and _is_git(place.path):
            reason = f"{place.path!r} belongs to git"
            return Ruling(Verdict.ASK, reason, None, smallest_rule(mounted, touched))
    if tool.effects <= _HARMLESS:
        return _ALLOWED
    apart = Effect.EXECUTE not in tool.effects or (isolated and tool.source in SANDBOXED)
    if apart and Effect.NETWORK not in tool.effects:
        return _ISOLATED
    reason = "it uses the network" if apart else "it executes without full isolation"
    return Ruling(Verdict.ASK, reason, None, smallest_rule(mounted, touched))


def smallest_rule(mounted: Mounted, touched: Touched) -> str:
    """The narrowest allow rule that covers this call and no other path."""
    paths = {place.path for _, place in touched}
    if len(paths) != 1:
        return mounted.name if not paths else f"{mounted.name}({_common(paths)}/**)"
    return f"{mounted.name}({paths.pop()})"


def _common(paths: set[str]) -> str:
    shared = min(paths).split("/")
    for path in paths:
        parts = path.split("/")
        shared = [a for a, b in zip(shared, parts, strict=False) if a == b]
    return "/".join(shared) or "."
