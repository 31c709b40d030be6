"""Canonical names and the names that travel to a provider, as one table for both directions.

A wire name is at most 64 of `[A-Za-z0-9_-]` and starts with a letter or `_`. A name is only ever
looked up, never decoded: `fs_read` may be `fs.read`, or a tool that is really called `fs_read`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from whence.errors import Conflict, NotFound
from whence.shapes.dataclass import dataclass

MAX_WIRE_LENGTH = 64
_KEPT_BEFORE_HASH = 55
_MIN_LIKENESS = 60
_LONGEST_GUESS = 256

CANONICAL = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,128}(?<!\.)")
"""What a tool may be called."""
HOW_TO_NAME = "Use 1 to 128 letters, digits, `_`, `-` and `.`, with no dot at either end."

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_LEGAL_START = re.compile(r"[A-Za-z_]")


@dataclass(frozen=True, slots=True)
class Names:
    """The table of one toolbox; make it with `Names.of`."""

    wires: Mapping[str, str]
    """Canonical name to wire name, in sorted order."""
    owners: Mapping[str, str]
    """Every name that can be asked for (canonical, wire, unshared alias) to its canonical name."""

    @classmethod
    def of(cls, tools: Iterable[tuple[str, Sequence[str]]]) -> Names:
        """The table of these canonical names and aliases, whatever order they come in.

        Raises:
            Conflict: two tools have the same canonical name.
        """
        declared = list(tools)
        wires = _assign_wires(_distinct(canonical for canonical, _ in declared))
        taken = {**{wire: canonical for canonical, wire in wires.items()}, **{c: c for c in wires}}
        return cls(wires, {**_unshared_aliases(declared), **taken})

    def wire(self, canonical: str) -> str:
        """The name that a provider is given for a tool.

        Raises:
            NotFound: no tool has this canonical name.
        """
        if canonical not in self.wires:
            raise NotFound(
                f"no tool is called {canonical[:_LONGEST_GUESS]!r}", self._hint(canonical)
            )
        return self.wires[canonical]

    def canonical(self, any_name: str) -> str | None:
        """The tool that a canonical name, a wire name or an alias means; None where there is none.

        An alias never hides a canonical or wire name, and one that two tools claim means neither.
        """
        return self.owners.get(any_name)

    def closest(self, name: str, n: int = 3) -> list[str]:
        """At most `n` canonical names that look like `name`, the likeliest first."""
        from rapidfuzz import fuzz, process, utils

        found = process.extract(
            name[:_LONGEST_GUESS],
            list(self.owners),
            scorer=fuzz.ratio,
            processor=utils.default_process,
            score_cutoff=_MIN_LIKENESS,
            limit=None,
        )
        ranked = sorted((-score, self.owners[known]) for known, score, _ in found)
        return list(dict.fromkeys(canonical for _, canonical in ranked))[:n]

    def _hint(self, name: str) -> str:
        near = self.closest(name)
        return f"Did you mean {', '.join(near)}?" if near else "Use a name that the toolbox lists."


def _distinct(names: Iterable[str]) -> list[str]:
    counted = Counter(names)
    for name, times in counted.items():
        if times > 1:
            raise Conflict(
                f"{times} tools are called {name!r}",
                "Give each tool its own name, or declare only one of them.",
            )
    return sorted(counted)


def _assign_wires(canonicals: Sequence[str]) -> dict[str, str]:
    """A wire name for each: first the names that need no change, then plain forms, then hashes.

    The order makes the table independent of who was declared first, and lets a name that is legal
    as it stands never lose it to the changed form of another.
    """
    wires = {name: name for name in canonicals if _plain_form(name) == name and _fits(name)}
    taken = set(wires)
    rest = []
    for name in canonicals:
        form = _plain_form(name)
        if name in wires:
            continue
        if form in taken or not _fits(form):
            rest.append(name)
            continue
        wires[name] = form
        taken.add(form)
    for name in rest:
        wires[name] = _hashed_form(name, taken)
        taken.add(wires[name])
    return {name: wires[name] for name in canonicals}


def _plain_form(canonical: str) -> str:
    form = _ILLEGAL.sub("_", canonical)
    return form if _LEGAL_START.match(form) else f"_{form}"


def _fits(form: str) -> bool:
    return len(form) <= MAX_WIRE_LENGTH


def _hashed_form(canonical: str, taken: set[str]) -> str:
    stem = _plain_form(canonical)[:_KEPT_BEFORE_HASH]
    forms = (f"{stem}_{_digest(canonical, attempt)}" for attempt in count())
    return next(form for form in forms if form not in taken)


def _digest(canonical: str, attempt: int) -> str:
    from hashlib import sha256

    salted = canonical if attempt == 0 else f"{canonical}\n{attempt}"
    return sha256(salted.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _unshared_aliases(declared: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    claims: dict[str, set[str]] = {}
    for canonical, aliases in declared:
        for alias in aliases:
            claims.setdefault(alias, set()).add(canonical)
    return {alias: min(owners) for alias, owners in claims.items() if len(owners) == 1}
