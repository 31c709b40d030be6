"""What the rules say about a call that runs commands, and what they leave out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from whence.declare.toolbox import Mounted
from whence.gate.command import (
    Keys,
    covered,
    disguised,
    first_missing,
    for_program,
    needed,
    read_pattern,
    restricted,
    smallest_pattern,
)
from whence.gate.permission import Ruling, concerns
from whence.shapes.command import Commands
from whence.shapes.glyph import visible
from whence.shapes.policy import Rule, Verdict

_NOTHING: Keys = frozenset()


def wraps_program(mounted: Mounted) -> bool:
    """Whether the tool names its program itself, so that rules for it leave the program out."""
    return mounted.tool.source == "shell"


def problem_of(rule: Rule, mounted: Mounted) -> str:
    """What is wrong with a rule's pattern for this tool; empty: nothing."""
    after_program = wraps_program(mounted) and "*" not in rule.tool
    return read_pattern(rule.pattern or "", after_program=after_program).unread


def rule_on(mounted: Mounted, commands: Commands, rules: Iterable[Rule]) -> Ruling | None:
    """What the rules say; None: nothing, so that the defaults decide."""
    about = [rule for rule in rules if concerns(rule, mounted)]
    denies = [rule for rule in about if rule.verdict is Verdict.DENY]
    asks = [rule for rule in about if rule.verdict is Verdict.ASK]
    allows = [rule for rule in about if rule.verdict is Verdict.ALLOW]
    answers = [rule for rule in allows if rule.settles]
    smallest = smallest_rule(mounted, commands)
    ruling = (
        _restriction(mounted, commands, denies, None)
        or _disguise(commands)
        or _restriction(mounted, commands, [rule for rule in asks if rule.ceiling], None)
        or _permission(mounted, commands, answers)
        or _restriction(mounted, commands, asks, smallest)
        or _permission(mounted, commands, allows)
        or _uncovered(mounted, commands, allows, smallest)
    )
    return ruling and replace(ruling, shown=commands.line)


def smallest_rule(mounted: Mounted, commands: Commands) -> str | None:
    """The narrowest rule that allows these commands; None: no rule can say it."""
    pattern = smallest_pattern(commands, after_program=wraps_program(mounted))
    return None if pattern is None else f"{mounted.name}({pattern})"


def _restriction(
    mounted: Mounted, commands: Commands, rules: Sequence[Rule], smallest: str | None
) -> Ruling | None:
    """The first rule that fits; of a line that cannot be read, any of them might."""
    for rule in rules:
        if _restricts(rule, mounted, commands):
            reason = f"the rule {rule} of {rule.source} says {rule.verdict}"
            return Ruling(rule.verdict, reason, rule, smallest)
    for rule in sorted(rules, key=lambda rule: not rule.ceiling) if commands.unread else ():
        reason = f"{_unread(commands)}, and the rule {rule} of {rule.source} might fit it"
        return Ruling(rule.verdict if rule.ceiling else Verdict.ASK, reason, rule)
    return None


def _restricts(rule: Rule, mounted: Mounted, commands: Commands) -> bool:
    if rule.pattern is None:
        return True
    return any(restricted(pattern, commands) for pattern in _patterns(rule, mounted, commands))


def _patterns(rule: Rule, mounted: Mounted, commands: Commands) -> list[Commands]:
    """What a rule stands for here; a restriction is read either way, a permission only one."""
    written = rule.pattern or ""
    if not wraps_program(mounted):
        return [read_pattern(written)]
    whole = read_pattern(written) if written.strip() else None
    if "*" in rule.tool:
        return [whole] if whole else []
    program = commands.segments[0][0].words[0]
    found = [for_program(read_pattern(written, after_program=True), program)]
    return found if rule.verdict is Verdict.ALLOW or whole is None else [*found, whole]


def _disguise(commands: Commands) -> Ruling | None:
    problem = disguised(commands)
    return Ruling(Verdict.ASK, problem) if problem else None


def _covered(mounted: Mounted, commands: Commands, rules: Sequence[Rule]) -> dict[Rule, Keys]:
    """What each rule covers, of those that cover anything."""
    found: dict[Rule, Keys] = {}
    for rule in rules:
        if rule.pattern is None:
            return {rule: needed(commands)}
        patterns = [] if commands.unread else _patterns(rule, mounted, commands)
        keys = _NOTHING.union(*(covered(pattern, commands) for pattern in patterns))
        if keys:
            found[rule] = keys
    return found


def _permission(mounted: Mounted, commands: Commands, rules: Sequence[Rule]) -> Ruling | None:
    found = _covered(mounted, commands, rules)
    whole = any(rule.pattern is None for rule in found)
    if not whole and (commands.unread or not _NOTHING.union(*found.values()) >= needed(commands)):
        return None
    if not found:
        return None
    listed = " and ".join(f"the rule {rule} of {rule.source}" for rule in found)
    return Ruling(Verdict.ALLOW, f"{listed} says allow", next(iter(found)))


def _uncovered(
    mounted: Mounted, commands: Commands, rules: Sequence[Rule], smallest: str | None
) -> Ruling | None:
    """Where somebody wrote which commands are allowed, the others ask."""
    if not any(rule.pattern is not None and not rule.settles for rule in rules):
        return None
    if commands.unread:
        return Ruling(Verdict.ASK, f"{_unread(commands)}, and no rule can allow that")
    keys = _NOTHING.union(*_covered(mounted, commands, rules).values())
    missing = first_missing(commands, keys)
    return Ruling(Verdict.ASK, f"no rule allows {visible(missing)}", None, smallest)


def _unread(commands: Commands) -> str:
    return f"it cannot be told what it would run ({commands.unread})"
