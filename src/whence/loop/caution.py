"""A model that is often wrong is held to reading, unless somebody says otherwise."""

from __future__ import annotations

from dataclasses import replace

from whence.loop.session import Session
from whence.provider.model import Model
from whence.shapes.policy import Rule, Verdict
from whence.shapes.tool import Effect

_QUIET = frozenset({Effect.READ})
_SOURCE = "the embedded model (it is often wrong)"


def cautious(session: Session, model: Model) -> Session:
    """The session as such a model may use it: whatever does more than read asks first."""
    if not getattr(model, "cautious", False):
        return session
    rules = session.policy.rules
    settled = {rule.tool for rule in rules if rule.verdict is Verdict.ALLOW}
    asking = tuple(
        Rule(Verdict.ASK, mounted.name, None, _SOURCE)
        for mounted in session.toolbox
        if not mounted.tool.effects <= _QUIET and mounted.name not in settled
    )
    return session.under(replace(session.policy, rules=(*rules, *asking)))
