"""Which tool a request is for, if any.

Three kinds of evidence are added up: how near the request is to the tool's description in meaning
(MiniLM), the words that they share and other tools do not have, and whether the pieces of the
request are what the tool takes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whence.declare.toolbox import Mounted
from whence.provider.local import commands, paths, plainly, verbs
from whence.provider.local.engine import Networks
from whence.provider.local.fit import fit
from whence.provider.local.grammar import is_telling
from whence.provider.local.pieces import Kind, Piece, pieces_of
from whence.provider.local.plainly import Known, same_word
from whence.provider.local.reason import is_question
from whence.provider.local.slots import Slot, name_words, slots_of

ENOUGH = 0.18
"""A tool with less evidence than this is not meant."""

_SHARED, _MISSING, _UNUSED, _SAID = 0.15, 0.15, 0.1, 0.1
_VERB, _PLAIN_VERB, _OTHER_VERB, _ACTS = 0.1, 0.15, 0.05, 0.2
_NO_WAY = 0.5
"""For a tool that does something else, however near it is."""
_MOST_SHARED = 2.0
_DOUBT = 0.1
"""By how much small talk must be nearer than a tool."""
_MASKS = {
    Kind.QUOTED: "some text",
    Kind.URL: "a web page",
    Kind.PATH: "a file",
    Kind.DOTTED: "a file",
    Kind.HOST: "a server",
    Kind.EMAIL: "an email address",
    Kind.GLOB: "all",
}
_SMALL_TALK = (
    "hello there",
    "good day to you",
    "goodbye, until next time",
    "thank you so much",
    "you are doing well",
    "you are stupid",
    "how are you feeling?",
    "who are you and what is your name?",
    "what are you able to do for me?",
    "are you a person or a machine?",
    "what do you like best, what is your opinion?",
    "I am happy or sad today",
    "I like my family and my life",
    "make me laugh",
    "excuse me, I did not mean it",
    "alright then",
    "no, leave it",
    "what is the purpose of our life?",
)
"""What people say when they want nothing done."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool, and how much speaks for it."""

    mounted: Mounted
    score: float


class Chooser:
    """Knows the tools of a conversation."""

    def __init__(self, tools: Iterable[Mounted], networks: Networks) -> None:
        self._tools = tuple(tools)
        self._networks = networks
        self._slots = [slots_of(mounted) for mounted in self._tools]
        self._texts = [
            _described(mounted, slots)
            for mounted, slots in zip(self._tools, self._slots, strict=True)
        ]
        self._words = [_own_words(mounted) for mounted in self._tools]
        self._rarity = _rarity(self._words)
        self._runs = [any(map(commands.takes_command, slots)) for slots in self._slots]
        self._does = [verbs.done_by(mounted.tool) for mounted in self._tools]

    async def candidates(self, request: str) -> list[Candidate]:
        """The tools that a request may be for, best first; none where it is small talk."""
        found = [candidate for candidate in await self.ranked(request) if candidate.score >= ENOUGH]
        if found and await self.is_small_talk(request, found[0].score):
            return []
        return found

    async def ranked(self, request: str) -> list[Candidate]:
        """All tools, best first."""
        known = Known.of(request)
        plain = await self._networks.rank(request, self._texts)
        masked = await self._networks.rank(masked_text(known), self._texts)
        found = [
            Candidate(mounted, (plain[index] + masked[index]) / 2 + self._evidence(index, known))
            for index, mounted in enumerate(self._tools)
        ]
        return sorted(found, key=lambda candidate: -candidate.score)

    async def is_small_talk(self, request: str, score: float) -> bool:
        """Whether a request is nearer to small talk than to a tool with that score."""
        return max(await self._networks.rank(request, _SMALL_TALK)) > score + _DOUBT

    def _evidence(self, index: int, known: Known) -> float:
        fits = fit(self._slots[index], Known.of(known.request))
        shared = self._shared(self._words[index], known.pieces)
        lacking = _MISSING * fits.missing + _UNUSED * fits.unused
        runs = self._runs[index] and _says_program(known)
        verb = _verb_evidence(known, self._does[index], runs=runs)
        return _SHARED * shared + _SAID * (fits.said + runs) + verb - lacking

    def _shared(self, own: frozenset[str], pieces: Sequence[Piece]) -> float:
        """How telling the words are that the request and the tool have in common."""
        said = {piece.text.lower() for piece in pieces if piece.kind is Kind.WORD}
        common = [[word for word in own if same_word(other, word)] for other in said]
        telling = sum(max(self._rarity[word] for word in words) for words in common if words)
        return min(telling, _MOST_SHARED)


def _says_program(known: Known) -> bool:
    """Whether a request says what program to run."""
    said = commands.said_command(known, elsewhere=True)
    return said is not None and commands.looks_run(said)


def _verb_evidence(known: Known, does: frozenset[str], *, runs: bool) -> float:
    """Whether a tool does what the request says with its verb; a question wants to be told."""
    wanted = verbs.wanted(plainly.words(known))
    asks = not runs and (is_question(known.request) or verbs.tells(wanted))
    evidence = -_ACTS if verbs.only_acts(does) and asks else 0.0
    if not runs and verbs.is_no_way(wanted, does):
        evidence -= _NO_WAY
    if paths.asks_inside(known):
        wanted |= verbs.LISTING
    elif is_question(known.request) and paths.names_file(known) and not wanted & verbs.SEARCHING:
        wanted |= verbs.READING
    if wanted and does:
        evidence += _agreement(wanted, does)
    return evidence


def _agreement(wanted: frozenset[str], does: frozenset[str]) -> float:
    """A verb that means only one thing says more."""
    if not wanted & does:
        return -_OTHER_VERB
    return _PLAIN_VERB if len(wanted) == 1 else _VERB


def _described(mounted: Mounted, slots: Sequence[Slot]) -> str:
    """A tool in words: its name, what it does, what it takes."""
    tool = mounted.tool
    takes = ", ".join(
        " ".join(name_words(slot.name)) + (f" ({slot.description})" if slot.description else "")
        for slot in slots
    )
    return f"{' '.join(name_words(tool.name))}: {tool.description}. {takes}"


def _own_words(mounted: Mounted) -> frozenset[str]:
    """The words of a tool's names and of its description."""
    tool = mounted.tool
    named = [word for name in (tool.name, *tool.aliases) for word in name_words(name)]
    said = [piece.text.lower() for piece in pieces_of(tool.description)]
    return frozenset(word for word in (*named, *said) if is_telling(word))


def _rarity(listed: Sequence[frozenset[str]]) -> dict[str, float]:
    """1 for a word that one tool alone has, towards 0 for one that all have."""
    counts = Counter(word for words in listed for word in words)
    most = math.log(1 + len(listed))
    return {word: math.log((1 + len(listed)) / count) / most for word, count in counts.items()}


def masked_text(known: Known) -> str:
    """The request with what it is about replaced by the kind of thing that it is."""
    folders = paths.inside_of(known)
    parts: list[str] = []
    at = 0
    for index, piece in enumerate(known.pieces):
        mask = "a folder" if index in folders else _mask(piece)
        if mask:
            parts += [known.request[at : piece.start], mask]
            at = piece.end
    return "".join([*parts, known.request[at:]])


def _mask(piece: Piece) -> str | None:
    return "some text" if "_" in piece.text else _MASKS.get(piece.kind)
