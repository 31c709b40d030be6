"""What a run may use up: turns, tokens, seconds and money. A sub-agent spends its parents', too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from whence.errors import BudgetExceeded
from whence.shapes.declaration import Config
from whence.shapes.item import Usage

MAX_TURNS = 100
"""Where nobody says otherwise."""


@dataclass(slots=True)
class Budget:
    """Limits, what was spent of them, and whose budget it is part of.

    Turns are each conversation's own; tokens, seconds and money are its parents', too.
    """

    turns: int | None = MAX_TURNS
    tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None
    parent: Budget | None = None
    clock: Callable[[], float] = time.monotonic
    spent: Usage = field(default_factory=Usage)
    taken: int = 0
    """Turns."""
    unpriced: bool = False
    """Whether something was used whose price nobody said."""
    uncounted: bool = False
    """Whether an answer came without a word about its tokens."""
    told: bool = False
    """Whether a person knows of that."""
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @classmethod
    def of(
        cls, config: Config, max_turns: int | None = None, parent: Budget | None = None
    ) -> Budget:
        """What a file allows its run; a caller's number of turns comes before the file's."""
        limits = config.budget
        return cls(
            turns=max_turns or config.max_turns or MAX_TURNS,
            tokens=limits.tokens if limits else None,
            seconds=limits.seconds if limits else None,
            dollars=limits.dollars if limits else None,
            parent=parent,
        )

    def begin_turn(self) -> None:
        """Count a turn.

        Raises:
            BudgetExceeded: something is used up, here or above.
        """
        _within("turns", self.taken, self.turns, "max_turns")
        self._check()
        self.taken += 1

    def spend(self, usage: Usage) -> None:
        """Count what an answer used."""
        self.spent += usage
        self.unpriced = self.unpriced or usage.cost is None
        self.uncounted = self.uncounted or not usage.input_tokens + usage.output_tokens
        if self.parent is not None:
            self.parent.spend(usage)

    def unkept(self) -> list[str]:
        """Limits, here or above, of which it has just come out that they cannot be kept.

        Money is given up then; tokens count as far as they are told. A person has to know once.
        """
        found = self.parent.unkept() if self.parent is not None else []
        if self.dollars is not None and self.unpriced:
            self.dollars = None
            found.append("dollars")
        if self.tokens is not None and self.uncounted and not self.told:
            self.told = True
            found.append("tokens")
        return found

    @property
    def seconds_left(self) -> float | None:
        """The time that is left, of the shortest limit here and above."""
        return min((one._left() for one in self._timed()), default=None)

    def out_of_time(self) -> BudgetExceeded:
        """What to raise when `seconds_left` have passed."""
        first = min(self._timed(), key=Budget._left)
        return _exceeded("seconds", first.clock() - first.started, first.seconds or 0, "budget")

    def _timed(self) -> list[Budget]:
        above = self.parent._timed() if self.parent is not None else []
        return above if self.seconds is None else [self, *above]

    def _left(self) -> float:
        return (self.seconds or 0.0) - (self.clock() - self.started)

    def _check(self) -> None:
        spent = self.spent
        used = spent.input_tokens + spent.output_tokens
        _within("tokens", used, self.tokens, "budget")
        if self.seconds is not None:
            _within("seconds", self.clock() - self.started, self.seconds, "budget")
        _within("dollars", spent.cost or 0.0, self.dollars, "budget")
        if self.parent is not None:
            self.parent._check()


def _within(what: str, used: float, limit: float | None, name: str) -> None:
    if limit is not None and used >= limit:
        raise _exceeded(what, used, limit, name)


def _exceeded(what: str, used: float, limit: float, name: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"the run has used {used:.6g} of {limit:g} {what}",
        f"What was done is kept: run it again to go on, or allow more with {name}.",
        details={"what": what, "used": used, "limit": limit},
    )
