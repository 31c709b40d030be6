"""What a run may use up: turns, tokens, seconds and money. A sub-agent spends its parents', too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from whence.errors import BudgetExceeded
from whence.shapes.item import Usage

MAX_TURNS = 100
"""Where nobody says otherwise."""


@dataclass(slots=True)
class Budget:
    """Limits, what was spent of them, and whose budget it is part of."""

    turns: int | None = MAX_TURNS
    tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None
    parent: Budget | None = None
    clock: Callable[[], float] = time.monotonic
    spent: Usage = field(default_factory=Usage)
    taken: int = 0
    """Turns."""
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def begin_turn(self) -> None:
        """Count a turn.

        Raises:
            BudgetExceeded: something is used up, here or above.
        """
        self._check()
        self.taken += 1

    def spend(self, usage: Usage) -> None:
        """Count what an answer used."""
        self.spent += usage
        if self.parent is not None:
            self.parent.spend(usage)

    @property
    def price_unknown(self) -> bool:
        """Whether there is a limit of money, and tokens were used whose price nobody said."""
        used = self.spent.input_tokens + self.spent.output_tokens
        return self.dollars is not None and used > 0 and self.spent.cost is None

    @property
    def seconds_left(self) -> float | None:
        """The time that is left, of the shortest limit here and above."""
        above = self.parent.seconds_left if self.parent is not None else None
        if self.seconds is None:
            return above
        own = self.seconds - (self.clock() - self.started)
        return own if above is None else min(own, above)

    def _check(self) -> None:
        spent = self.spent
        used = spent.input_tokens + spent.output_tokens
        passed = self.clock() - self.started
        _within("turns", self.taken, self.turns, "max_turns")
        _within("tokens", used, self.tokens, "budget")
        _within("seconds", round(passed, 1), self.seconds, "budget")
        _within("dollars", spent.cost or 0.0, self.dollars, "budget")
        if self.parent is not None:
            self.parent._check()


def _within(what: str, used: float, limit: float | None, name: str) -> None:
    if limit is not None and used >= limit:
        raise BudgetExceeded(
            f"the run has used {used:g} of {limit:g} {what}",
            f"What was done is kept: run it again to go on, or allow more with {name}.",
            details={"what": what, "used": used, "limit": limit},
        )
