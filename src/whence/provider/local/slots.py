"""The arguments of a tool as places to be filled, each with the kind of thing that fits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from whence.declare.toolbox import Mounted
from whence.shapes.tool import Effect


class Want(StrEnum):
    """What a place takes."""

    CHOICE = "choice"
    TRUTH = "truth"
    NUMBER = "number"
    PATH = "path"
    URL = "url"
    EMAIL = "email"
    GLOB = "glob"
    TIME = "time"
    TEXT = "text"
    LIST = "list"
    """Several texts."""
    OTHER = "other"
    """Nothing that a request could say."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One value of the arguments."""

    at: tuple[str, ...]
    """The keys that lead to it."""
    want: Want
    schema: Mapping[str, Any]
    required: bool
    choices: tuple[Any, ...] = ()
    reads: bool = False
    """Whether it is a path at which the tool only reads."""

    @property
    def name(self) -> str:
        """Its own key."""
        return self.at[-1]

    @property
    def description(self) -> str:
        """What the tool says about it."""
        said = self.schema.get("description")
        return said if isinstance(said, str) else ""

    @property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return frozenset(name_words(self.name))


_PATHS = frozenset("path file filename filepath folder directory dir src dst cwd".split())
_FILES = re.compile(r"\b(?:files?|folders?|director(?:y|ies)|paths?)\b", re.IGNORECASE)
_PLACES = frozenset("source destination target scope root".split())
"""Names of paths only where the description speaks of files."""
_URLS = frozenset("url uri link href website".split())
_GLOBS = frozenset("glob wildcard".split())
_TIMES = frozenset("time hour clock".split())
_WHEN = re.compile(r"when\b", re.IGNORECASE)
_PATCH = re.compile(r"\b(?:diff|patch)\b", re.IGNORECASE)
"""What nobody says in a sentence."""
_EXAMPLE = re.compile(r"\*\.\w")
"""A description that shows a wildcard."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_FORMATS = {
    "uri": Want.URL, "uri-reference": Want.URL, "iri": Want.URL, "email": Want.EMAIL,
    "time": Want.TIME, "date-time": Want.TIME,
}  # fmt: skip


def name_words(name: str) -> list[str]:
    """The words of a name like `fs.read`, `get_weather` or `dueDate`."""
    return [word.lower() for word in _WORD.findall(name)]


def slots_of(mounted: Mounted) -> tuple[Slot, ...]:
    """The places of a tool in the order of its schema; those of inner objects stand for them."""
    paths = mounted.tool.paths
    return tuple(_slots(mounted.tool.input_schema, (), paths, required=True))


def _slots(
    schema: Mapping[str, Any], at: tuple[str, ...], paths: Mapping[str, Effect], *, required: bool
) -> Iterator[Slot]:
    properties = schema.get("properties")
    listed = schema.get("required")
    needed = listed if isinstance(listed, list) else []
    for name, part in (properties if isinstance(properties, dict) else {}).items():
        inner = plain(part)
        here = (*at, name)
        must = required and name in needed
        if inner.get("type") == "object" and isinstance(inner.get("properties"), dict):
            yield from _slots(inner, here, paths, required=must)
        else:
            want, choices = _want(here, inner, paths)
            reads = not at and paths.get(name) is Effect.READ
            yield Slot(here, want, inner, must, choices, reads)


def plain(schema: object) -> Mapping[str, Any]:
    """The schema of a value that is there: without the null that stands for an absent one."""
    if not isinstance(schema, dict):
        return {}
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list):
            kept = [part for part in parts if not _is_null(part)]
            if len(kept) == 1 and isinstance(kept[0], dict):
                outer = {name: value for name, value in schema.items() if name != key}
                return {**outer, **kept[0]}
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kept_kinds = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": kept_kinds[0] if len(kept_kinds) == 1 else kept_kinds}
    return schema


def _is_null(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "null"


def _want(
    at: tuple[str, ...], schema: Mapping[str, Any], paths: Mapping[str, Effect]
) -> tuple[Want, tuple[Any, ...]]:
    choices = schema.get("enum")
    if isinstance(choices, list) or "const" in schema:
        listed = choices if isinstance(choices, list) else [schema["const"]]
        return Want.CHOICE, tuple(choice for choice in listed if choice is not None)
    match schema.get("type"):
        case "boolean":
            return Want.TRUTH, ()
        case "integer" | "number":
            return Want.NUMBER, ()
        case "string":
            return _want_of_string(at, schema, paths), ()
        case "array" if plain(schema.get("items")).get("type") == "string":
            return Want.LIST, ()
        case _:
            return Want.OTHER, ()


def _want_of_string(
    at: tuple[str, ...], schema: Mapping[str, Any], paths: Mapping[str, Effect]
) -> Want:
    if len(at) == 1 and at[0] in paths:
        return Want.PATH
    form = schema.get("format")
    if isinstance(form, str) and form in _FORMATS:
        return _FORMATS[form]
    words = name_words(at[-1])
    said = str(schema.get("description", ""))
    if _PATCH.search(f"{' '.join(words)} {said}"):
        return Want.OTHER
    if _EXAMPLE.search(said):
        return Want.GLOB
    if _WHEN.match(said):
        return Want.TIME
    if _PLACES.intersection(words) and _FILES.search(said):
        return Want.PATH
    for known, want in (
        (_URLS, Want.URL), (_GLOBS, Want.GLOB), (_PATHS, Want.PATH), (_TIMES, Want.TIME),
    ):  # fmt: skip
        if known.intersection(words):
            return want
    return Want.EMAIL if "email" in words else Want.TEXT
