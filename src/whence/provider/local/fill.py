"""Arguments from a request: what is plain is taken, what is open SmolLM2 decides.

Every text is a span of the request and every number occurs in it; a grammar holds the model to
that, so that it can choose wrongly but never make something up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from whence.declare.toolbox import Mounted
from whence.provider.local import commands, paths, plainly, verbs
from whence.provider.local.engine import Networks
from whence.provider.local.grammar import is_common, is_vague, one_of, spans
from whence.provider.local.lists import take_list
from whence.provider.local.pairs import take_pairs
from whence.provider.local.pieces import Kind, number_of
from whence.provider.local.plainly import Known
from whence.provider.local.slots import Slot, Want, name_words, slots_of

EXAMPLES = """\
Tool: book_table (Reserve a table in a restaurant)
restaurant = Name of the restaurant; guests = How many people; day
Request: I would like a table for 4 people at the Golden Lion on Sunday
Call: {"guests": 4, "restaurant": "the Golden Lion", "day": "Sunday"}

Tool: rename_branch (Give a branch another name)
old = The present name; new = The new name
Request: rename the branch fix-1 to hotfix
Call: {"old": "fix-1", "new": "hotfix"}

Tool: post_note (Pin a note to the wall of a channel)
channel = Where it is shown; note = What it says
Request: let everyone in the garden channel know that we meet at noon
Call: {"channel": "garden", "note": "we meet at noon"}

Tool: order_shirts (Order shirts)
count = How many; size = The size
Request: I need 12 shirts of size 40
Call: {"count": 12, "size": 40}

Tool: find_recipe (Search for a recipe)
dish = What to cook
Request: how do I cook an apple pie?
Call: {"dish": "apple pie"}

"""
"""Shows what a call looks like; the tools are none that anybody has."""

_VALUE_TOKENS = 96
_SHOWN = 800
"""Characters of anything in a prompt: the whole must fit."""


@dataclass(frozen=True, slots=True)
class Filled:
    """Arguments, without the reason, and what finding them cost."""

    arguments: dict[str, Any] | None
    """None: the request does not say what the tool needs."""
    read_tokens: int = 0
    written_tokens: int = 0


async def fill(request: str, mounted: Mounted, networks: Networks) -> Filled:
    """The arguments that a request gives a tool; they fit the tool's schema."""
    filler = _Filler(request, mounted, networks)
    arguments = await filler.arguments()
    return Filled(arguments, filler.read_tokens, filler.written_tokens)


class _Filler:
    def __init__(self, request: str, mounted: Mounted, networks: Networks) -> None:
        self._known = Known.of(request)
        self._mounted = mounted
        self._networks = networks
        self._slots = slots_of(mounted)
        self._own = frozenset(name_words(mounted.name))
        self.read_tokens = 0
        self.written_tokens = 0

    async def arguments(self) -> dict[str, Any] | None:
        """What has a shape of its own goes first: it tells what is left for texts."""
        if not self._fill_command():
            return None
        take_pairs(self._slots, self._known)
        await self._fill_choices()
        for want in (Want.URL, Want.EMAIL, Want.GLOB, Want.TIME):
            await self._fill_shapes(want)
        await self._fill_numbers()
        await self._fill_paths()
        for slot in self._of(Want.TRUTH):
            truth = plainly.said_truth(slot, self._known)
            if truth is not None:
                self._known.take(slot, truth)
        for slot in self._of(Want.LIST):
            take_list(slot, self._known, self._own)
        await self._fill_texts()
        return self._result()

    def _result(self) -> dict[str, Any] | None:
        arguments: dict[str, Any] = {}
        for slot in self._slots:
            if slot.at in self._known.values:
                place = arguments
                for key in slot.at[:-1]:
                    place = place.setdefault(key, {})
                place[slot.name] = self._known.values[slot.at]
            elif slot.required:
                return None
        return arguments if self._mounted.validator.is_valid(arguments) else None

    def _of(self, want: Want) -> list[Slot]:
        """The open places of a kind, needed ones first."""
        found = [s for s in self._slots if s.want is want and s.at not in self._known.values]
        return sorted(found, key=lambda slot: not slot.required)

    def _fill_command(self) -> bool:
        """Whether the request can mean a command, if the tool needs one."""
        for slot in self._slots:
            if slot.required and commands.takes_command(slot):
                elsewhere = any(other.want is Want.PATH for other in self._slots)
                said = commands.said_command(self._known, elsewhere=elsewhere)
                if said is None:
                    return not self._wants_else()
                is_list = slot.want is Want.LIST
                line = commands.words_of(said.line) if is_list else said.line
                self._known.take(slot, line, said.pieces)
        return True

    def _wants_else(self) -> bool:
        """Whether the request says what it wants, and that is not to run something it quotes."""
        wanted = verbs.wanted(plainly.words(self._known))
        return bool(wanted) and "run" not in wanted and not self._known.free((Kind.QUOTED,))

    async def _fill_choices(self) -> None:
        for slot in self._of(Want.CHOICE):
            said = plainly.said_choices(slot, self._known)
            if said:
                texts = [str(choice) for choice, _ in said]
                choice, indices = said[await self._pick(slot, texts)]
                self._known.take(slot, choice, indices)
            elif slot.required:
                texts = [str(choice) for choice in slot.choices]
                near = await self._networks.rank(self._known.request, texts)
                self._known.take(slot, slot.choices[near.index(max(near))])

    async def _fill_shapes(self, want: Want) -> None:
        for slot in self._of(want):
            indices = self._known.free(plainly.SHAPES[want])
            if want is Want.GLOB and slot.required and not indices:
                indices = self._known.free((Kind.DOTTED,))
            if indices:
                await self._take_one(slot, indices)

    async def _fill_numbers(self) -> None:
        slots = sorted(self._numbers(), key=lambda slot: not self._named_number(slot))
        for position, slot in enumerate(slots):
            said = [index for _, index in plainly.said_numbers(slot, self._known)]
            if said:
                index = await self._choose(slot, said, len(slots) - position)
                self._known.take(slot, number_of(self._known.pieces[index]), [index])

    def _numbers(self) -> list[Slot]:
        """The open places for numbers; nobody means a time limit who does not say so."""
        return [
            slot
            for slot in self._of(Want.NUMBER)
            if slot.required or "timeout" not in slot.words or self._named_number(slot)
        ]

    def _named_number(self, slot: Slot) -> bool:
        said = [index for _, index in plainly.said_numbers(slot, self._known)]
        return len(plainly.beside_name(slot, self._known, said)) == 1

    async def _fill_paths(self) -> None:
        slots = self._of(Want.PATH)
        needed = sum(slot.required for slot in slots)
        for slot in slots:
            indices = self._paths_for(slot, needed)
            if not indices and slot.required and self._is_here(slot):
                self._known.take(slot, ".")
            elif indices:
                index = await self._choose(slot, indices, max(needed, 1))
                self._known.take(slot, self._known.pieces[index].text, [index])
            needed -= slot.required

    def _is_here(self, slot: Slot) -> bool:
        return paths.says_here(self._known) or paths.is_here_by_default(slot)

    def _paths_for(self, slot: Slot, needed: int) -> list[int]:
        """What looks like a path, else what stands where paths stand, else any single word."""
        known = self._known
        indices = paths.shaped_paths(slot, known)
        if not indices and paths.says_here(known):
            return []
        if len(indices) < max(needed, 1):
            indices = sorted({*indices, *paths.bare_paths(slot, known)})
        if indices or not slot.required:
            return indices
        # The verb that a request begins with is no path.
        words = [i for i in known.free((Kind.WORD,)) if i and not is_common(known.pieces[i])]
        return known.free((Kind.QUOTED,)) or words

    async def _choose(self, slot: Slot, indices: Sequence[int], places: int) -> int:
        """The piece for a place: beside its name, or in the order of the places, or as asked."""
        named = plainly.beside_name(slot, self._known, indices)
        if len(named) == 1:
            return named[0]
        if len(indices) == places:
            return indices[0]
        return indices[await self._pick(slot, [self._known.pieces[i].text for i in indices])]

    async def _take_one(self, slot: Slot, indices: Sequence[int]) -> None:
        texts = [self._known.pieces[index].text for index in indices]
        index = indices[await self._pick(slot, texts)]
        self._known.take(slot, self._known.pieces[index].text, [index])

    async def _fill_texts(self) -> None:
        """Places that the request names go first: what stands behind the name is theirs."""
        slots = [s for s in self._slots if s.at not in self._known.values and self._is_text(s)]
        slots.sort(key=lambda slot: not plainly.behind_name(slot, self._known))
        for position, slot in enumerate(slots, 1):
            await self._fill_text(slot, slots[position:])

    def _is_text(self, slot: Slot) -> bool:
        if slot.required:
            return slot.want in (Want.TEXT, Want.URL, Want.EMAIL, Want.GLOB, Want.TIME)
        named = any(plainly.names(slot, piece) for piece in self._known.pieces)
        return slot.want in (Want.TEXT, Want.TIME) and named

    async def _fill_text(self, slot: Slot, later: Sequence[Slot]) -> None:
        quoted = self._known.free((Kind.QUOTED,))
        behind = plainly.behind_name(slot, self._known)
        if quoted and (not later or len(quoted) > 1) and not (behind and behind[0] not in quoted):
            await self._take_one(slot, [i for i in quoted if i in behind] or quoted)
            return
        allowed, starts = plainly.text_places(slot, self._known, later)
        grammar = spans(self._known.request, self._known.pieces, allowed, starts)
        if grammar is not None:
            said = await self._ask(slot, '"', grammar)
            self._take_span(slot, said.removesuffix('"'), allowed)

    def _take_span(self, slot: Slot, text: str, allowed: Sequence[int]) -> None:
        known = self._known
        for first in allowed:
            start = known.pieces[first].start
            if known.request.startswith(text, start):
                inside = [i for i in allowed if start <= known.pieces[i].start < start + len(text)]
                is_whole = known.pieces[inside[-1]].end == start + len(text)
                if is_whole and not all(is_vague(known.pieces[i]) for i in inside):
                    lead = plainly.kind_of_thing([known.pieces[i] for i in inside], self._own)
                    value = text[known.pieces[inside[lead]].start - start :]
                    known.take(slot, value, inside)
                    return

    async def _pick(self, slot: Slot, texts: Sequence[str]) -> int:
        """Which of the texts belongs in the place."""
        if len(set(texts)) == 1:
            return 0
        is_number = slot.want is Want.NUMBER
        end = "," if is_number else '"'
        grammar = one_of(dict.fromkeys(texts), end)
        said = await self._ask(slot, "" if is_number else '"', grammar)
        return texts.index(said.removesuffix(end))

    async def _ask(self, slot: Slot, opening: str, grammar: str) -> str:
        prompt = self._prompt(slot) + opening
        fresh = not self.read_tokens
        done = await self._networks.complete(prompt, grammar, _VALUE_TOKENS, fresh=fresh)
        self.read_tokens += done.read_tokens
        self.written_tokens += done.written_tokens
        return done.text

    def _prompt(self, slot: Slot) -> str:
        tool = self._mounted.tool
        described = "; ".join(
            f"{s.name} = {s.description}" if s.description else s.name for s in self._slots
        )
        so_far = ", ".join(
            f"{_json(at[-1])}: {_json(value)}" for at, value in self._known.values.items()
        )
        first_line = tool.description.partition("\n")[0]
        return (
            f"{EXAMPLES}Tool: {self._mounted.wire} ({first_line[:_SHOWN]})\n{described[:_SHOWN]}\n"
            f"Request: {self._known.request[:_SHOWN]}\n"
            f"Call: {{{so_far[-_SHOWN:]}{', ' if so_far else ''}{_json(slot.name)}: "
        )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
