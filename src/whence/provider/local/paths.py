"""Which words of a request are paths, and whether they lead to a file or to a folder."""

from __future__ import annotations

import re

from whence.provider.local.grammar import is_loose
from whence.provider.local.pieces import Kind, Piece
from whence.provider.local.plainly import FOLDER_OR_FILE, Known
from whence.provider.local.slots import Slot

_HERE = re.compile(
    r"""\b(?:here|(?:current|this|working)\ (?:directory|folder|dir)|workspace
    |(?:this|my|our|the)\ project)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_FOLDER = re.compile(r"\b(?:folders?|director(?:y|ies)|dirs?)\b", re.IGNORECASE)
_FILE = re.compile(r"\bfile\b", re.IGNORECASE)
_INSIDE = re.compile(
    r"\b(?:[Ww]hat|[Ww]hich)\ files\ (?:are|is|do|does)\b"
    r"| \bfiles\ (?:are\ )?(?:in|inside|under|here)\b"
    r"| ^[Ww]hat(?:['’]?s|\ is|\ are)?(?:\ there)?\ (?:in|inside|under)\ (?:the\ )?[a-z]",
    re.VERBOSE,
)
"""What is asked of a folder."""
_BEFORE = frozenset("in inside under below within folder directory dir".split())
_BEFORE_REQUIRED = _BEFORE | frozenset("file into called named of from list read open".split())
_SEARCH = ("search", "grep", "find")
_THINGS = frozenset("files folders directories contents content everything".split())
_ARTICLES = frozenset("a an the my your our this that all any every each me".split())


def bare_paths(slot: Slot, known: Known) -> list[int]:
    """Words that are paths by where they stand: `the docs folder`, `in src`."""
    before = _BEFORE_REQUIRED if slot.required else _BEFORE
    found: list[int] = []
    for index in known.free((Kind.WORD,)):
        piece = known.pieces[index]
        word = piece.text.lower()
        if is_loose(piece) or word in _ARTICLES | _THINGS | before | FOLDER_OR_FILE:
            continue
        previous = _previous(index, known)
        following = known.pieces[index + 1].text.lower() if index + 1 < len(known.pieces) else ""
        searched = previous in _SEARCH and following == "for"
        if previous in before or searched or (following in FOLDER_OR_FILE and not piece.ends):
            found.append(index)
    return found


def _previous(index: int, known: Known) -> str:
    """The word before, articles left out."""
    for piece in reversed(known.pieces[:index]):
        if piece.text.lower() not in _ARTICLES:
            return piece.text.lower()
    return ""


def says_here(known: Known) -> bool:
    """Whether the request means the directory it is said in."""
    return _HERE.search(known.request) is not None


def asks_inside(known: Known) -> bool:
    """Whether a request wants to know what a folder has in it, going by how it is put."""
    return _INSIDE.search(known.request) is not None


def names_file(known: Known) -> bool:
    """Whether a request names a file."""
    return any(map(_has_ending, known.pieces))


def inside_of(known: Known) -> list[int]:
    """The words that name the folder of such a request."""
    if not asks_inside(known):
        return []
    last = len(known.pieces) - 1
    return [last] if last > 0 and not _has_ending(known.pieces[last]) else []


def is_other_thing(slot: Slot, known: Known) -> bool:
    """Whether the request speaks of a folder where the place takes a file, or the other way."""
    folder = _FOLDER.search(known.request) is not None or asks_inside(known)
    file = _FILE.search(known.request) is not None or names_file(known)
    takes_folder, takes_file = _takes(slot)
    if folder is file or takes_folder is takes_file:
        return False
    return folder is takes_file


def is_here_by_default(slot: Slot) -> bool:
    """Whether a place reads a folder: where none is named, it is the one that we are in."""
    return slot.reads and _takes(slot) == (True, False)


def shaped_paths(slot: Slot, known: Known) -> list[int]:
    """What looks like a path and can be meant by the place: a file is no folder."""
    shaped = known.free((Kind.PATH, Kind.DOTTED))
    found = [index for index in shaped if not _is_sought(index, known)]
    if _takes(slot) == (True, False):
        folders = [index for index in found if _can_be_folder(index, known)]
        return folders if folders or not slot.required else found
    return found


def _can_be_folder(index: int, known: Known) -> bool:
    """A file that something is to be found in takes the place of a folder."""
    return not _has_ending(known.pieces[index]) or _previous(index, known) in _BEFORE


def _is_sought(index: int, known: Known) -> bool:
    """Whether it is what to look for, and another word tells where: `for os.path in src`."""
    before = known.pieces[index - 1].text.lower() if index else ""
    after = known.pieces[index + 1].text.lower() if index + 1 < len(known.pieces) else ""
    return before in ("for", *_SEARCH) and after in _BEFORE


def _takes(slot: Slot) -> tuple[bool, bool]:
    """Whether a place takes a folder, and whether a file."""
    said = f"{slot.name} {slot.description}"
    return _FOLDER.search(said) is not None, _FILE.search(said) is not None


def _has_ending(piece: Piece) -> bool:
    name = piece.text.rpartition("/")[2]
    if piece.kind is Kind.DOTTED and not name.startswith("."):
        return True
    return piece.kind in (Kind.PATH, Kind.DOTTED) and "." in name[1:]
