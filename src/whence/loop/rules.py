"""Rules as people write them, in a toolbox that need not have every tool that they name.

A command line and the files of a workspace speak of many agents' tools at once. A rule about a
built-in that is not here is kept, for a sub-agent may have it; a permission for any other tool that
is not here permits nothing; a prohibition of one is refused, for it may be misspelt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from whence.declare.toolbox import Toolbox
from whence.errors import UsageError
from whence.gate.permission import parse_rule
from whence.shapes.policy import Rule, Verdict


def rules_from(
    texts: Mapping[Verdict, Iterable[str]], source: str, toolbox: Toolbox
) -> tuple[Rule, ...]:
    """Rules of a person who has these tools before them; each must name one, or a built-in."""
    return tuple(
        parse_rule(text, verdict, source, _knowing(text, toolbox))
        for verdict, listed in texts.items()
        for text in listed
    )


def shared_rules(
    texts: Mapping[Verdict, Iterable[str]], source: str, toolbox: Toolbox
) -> tuple[Rule, ...]:
    """Rules of a file that all agents of a workspace share, as far as they concern these tools.

    Raises:
        UsageError: One is no rule, or prohibits what no tool is called.
    """
    concerned = {
        verdict: [text for text in listed if _concerns(text, verdict, source, toolbox)]
        for verdict, listed in texts.items()
    }
    return rules_from(concerned, source, toolbox)


def answer_of(text: str, source: str, toolbox: Toolbox) -> Rule | None:
    """The rule of an answer; None: it is about a tool that is not here, and so allows nothing."""
    if _absent(text, toolbox) is not None:
        return None
    return replace(parse_rule(text, Verdict.ALLOW, source, toolbox), settles=True)


def _absent(text: str, toolbox: Toolbox) -> str | None:
    """The tool that a rule names, where there is none of that name here."""
    name = text.partition("(")[0].strip()
    return None if "*" in name or toolbox.names.canonical(name) is not None else name


def _knowing(text: str, toolbox: Toolbox) -> Toolbox:
    """The toolbox that has the tool of a rule: this one, or else the catalog of a built-in."""
    name = _absent(text, toolbox)
    if name is None:
        return toolbox
    from whence.catalogs import NAMES, load_catalog

    shelves = (Toolbox(load_catalog(catalog)) for catalog in NAMES)
    return next((box for box in shelves if box.names.canonical(name) is not None), toolbox)


def _concerns(text: str, verdict: Verdict, source: str, toolbox: Toolbox) -> bool:
    name = _absent(text, toolbox)
    if name is None or _knowing(text, toolbox) is not toolbox or _is_slip(name, toolbox):
        return True
    if verdict is Verdict.ALLOW:
        return False
    raise UsageError(
        f"{source}: no tool is called {name!r}",
        f"Correct the name; if it is a tool of another agent, write {name}* for it.",
    )


def _is_slip(name: str, toolbox: Toolbox) -> bool:
    """Whether one letter less, more, other or swapped makes it the name of a tool that is here."""
    from rapidfuzz.distance import OSA

    return any(OSA.distance(name, known) == 1 for known in toolbox.names.owners)
