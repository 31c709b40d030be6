"""What a request wants done, and what a tool does, as far as their verbs tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from whence.provider.local.slots import name_words
from whence.shapes.tool import Tool

_GROUPS = {
    "search": """search find look locate grep seek where contain contains mention mentions occur
        occurs appear appears""",
    "read": "read show display print open view see cat say says tail contents",
    "list": "list ls show display enumerate which dir",
    "get": "get fetch download retrieve check lookup how what show",
    "append": "append add put insert attach",
    "write": "write save store overwrite put create make note remember remind",
    "create": "create make new open file add mkdir book schedule plan order",
    "delete": "delete remove erase clear drop rm",
    "copy": "copy duplicate clone back",
    "move": "move rename",
    "send": "send tell text message notify mail post write say",
    "run": "run execute launch start begin do",
    "stop": "stop kill end close terminate quit cancel",
    "set": "set change adjust turn switch put make resize",
    "translate": "translate say",
    "add": "add sum plus calculate compute",
    "define": "define mean means",
    "play": "play hear listen",
    "roll": "roll throw",
    "commit": "commit save",
    "patch": "patch edit fix correct",
    "replace": "replace change substitute swap rename fix correct edit",
    "convert": "convert how",
}
_OF_WORD: dict[str, set[str]] = {}
for _group, _listed in _GROUPS.items():
    for _word in _listed.split():
        _OF_WORD.setdefault(_word, set()).add(_group)
_TELLING = frozenset("search read list get translate add define convert".split())
_CHANGING = frozenset("append write create delete copy move replace patch set".split())
_REMOVING = frozenset({"delete", "move"})
_ASKING = frozenset("what what's whats which who where when how is are does do".split())
_PLACING = frozenset("in to into from on at".split())
"""An order may begin with where, and say what only then."""
_LOOKING = (["look", "at"], ["look", "into"], ["look", "inside"])
"""Who looks at a thing does not search for it."""
LISTING, READING, SEARCHING = (frozenset({group}) for group in ("list", "read", "search"))
_LIGHT = frozenset("make take give do have".split())
_NOUNS = frozenset("file dir note message text mail".split())
"""Verbs when people say them, but things in the names of tools."""
_REACH = 4
_WORD = re.compile(r"[a-z]+")


def wanted(words: Sequence[str]) -> frozenset[str]:
    """What a request may want; its words begin with its verb, or with what it asks for.

    An order says it with its verb, or with what is to be made or taken; a question with any word.
    """
    if words[:2] in _LOOKING:
        words = ["view", *words[2:]]
    if words[:1] and words[0] in _ASKING:
        return _meant(word for word in words if word not in _NOUNS)
    if words[:1] and words[0] in _PLACING:
        words = [word for word in words if word in _OF_WORD]
    return _meant(words[: _REACH if words[:1] and words[0] in _LIGHT else 1])


def done_by(tool: Tool) -> frozenset[str]:
    """What the verbs in a tool's names and at the head of its description may mean."""
    head = _WORD.findall(tool.description.lower())[:1]
    named = [word for name in (tool.name, *tool.aliases) for word in _verbs_in(name)]
    return _meant([*named, *head])


def _verbs_in(name: str) -> list[str]:
    """The first word that says what is done, and those that an "and" adds: `find_and_replace`."""
    words = name_words(name)
    found = [word for word in words if word in _OF_WORD and word not in _NOUNS]
    return found if "and" in words else found[:1]


def tells(groups: frozenset[str]) -> bool:
    """Whether nothing but being told something is wanted."""
    return bool(groups) and groups <= _TELLING


def is_no_way(wanted: frozenset[str], does: frozenset[str]) -> bool:
    """Whether a tool is no way to a change: who wants a file deleted does not want it read."""
    if not wanted or not does or wanted & does:
        return False
    return wanted <= _REMOVING or (wanted <= _CHANGING and does <= _TELLING)


def is_verb(word: str) -> bool:
    """Whether a word says what to do."""
    return word in _OF_WORD


def only_acts(does: frozenset[str]) -> bool:
    """Whether a tool changes something and tells nothing."""
    return bool(does) and not does & _TELLING


def _meant(words: Iterable[str]) -> frozenset[str]:
    return frozenset(group for word in words for group in _OF_WORD.get(word, ()))
