"""Bringing a JSON Schema into the form that a provider takes, by rules; the original stays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.errors import InvalidArgs
from whence.provider.losses import Note
from whence.provider.schema_pieces import flat_top, merged, nullable
from whence.shapes.json import JSONObject
from whence.shapes.schema import resolve, schema_list, type_list

_MAX_NODES = 20_000
_TOLD = frozenset(
    """minLength maxLength pattern default minItems maxItems minimum maximum multipleOf format
    exclusiveMinimum exclusiveMaximum uniqueItems minProperties maxProperties enum
    examples""".split()
)
"""Rules that a model can follow when it is told of them in words."""
_SILENT = frozenset(
    "$schema $id $anchor $comment $vocabulary title examples deprecated readOnly writeOnly".split()
)
"""Keywords that say nothing about which values are right."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What one provider takes as the schema of a tool."""

    name: str
    name_pattern: re.Pattern[str] = re.compile(r"[A-Za-z0-9_-]{1,64}")
    max_tools: int | None = None
    strict: bool = False
    """The provider holds the model to the schema: every property is required and every object
    closed; what was optional may be null instead."""
    keywords: frozenset[str] | None = None
    """The keywords that may stand; None: all of them."""
    formats: frozenset[str] | None = None
    """The values of `format` that may stand; None: all of them."""
    top_combinators: bool = False
    """Whether the schema itself may be a choice (`anyOf`, `oneOf`, `allOf`)."""
    references: bool = True
    """Whether `$ref` may stand; otherwise what it names is put in its place."""
    type_lists: bool = True
    """Whether `type` may be a list; otherwise null becomes `nullable` and the rest `anyOf`."""
    maps: bool = True
    """Whether an object may have keys that are not named."""

    @property
    def takes_everything(self) -> bool:
        """Whether nothing below the top has to be looked at."""
        free = self.keywords is None and self.formats is None and self.maps
        return free and self.references and self.type_lists and not self.strict


class Rewriter:
    """Rewrites one schema; `notes` says what it had to leave out."""

    def __init__(self, profile: Profile, root: JSONObject) -> None:
        self._profile = profile
        self._root = root
        self._nodes = 0
        self.notes: list[Note] = []
        self.needs_freedom: list[str] = []
        """What a strict provider could not express at all."""

    def top(self) -> dict[str, Any]:
        """The whole schema, an object in any case."""
        schema: Mapping[str, Any] = self._root
        if not self._profile.top_combinators:
            schema, notes = flat_top(schema, self._root)
            self.notes += notes
        if not self._profile.takes_everything:
            schema = self._rewrite(schema, "", ())
        return {"type": "object", "properties": {}, **schema}

    def _rewrite(self, schema: object, path: str, refs: tuple[str, ...]) -> dict[str, Any]:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise InvalidArgs(
                f"the schema has more than {_MAX_NODES} parts once its references are followed",
                "Make it smaller: no model fills such arguments reliably.",
            )
        if not isinstance(schema, Mapping):
            return self._anything(path)
        if "$ref" in schema and not self._profile.references:
            return self._followed(schema, path, refs)
        given = self._simplified(schema)
        kept = self._kept(given, path)
        self._descend(given, kept, path, refs)
        if self._is_object(kept):
            self._close(given, kept, path)
        elif self._profile.strict:
            self._check_strict(kept, path)
        return kept

    def _anything(self, path: str) -> dict[str, Any]:
        if self._profile.strict:
            self.needs_freedom.append(f"{_place(path)}, which may be anything")
        return {}

    def _followed(
        self, schema: Mapping[str, Any], path: str, refs: tuple[str, ...]
    ) -> dict[str, Any]:
        ref = str(schema["$ref"])
        if ref in refs:
            self.notes.append(Note(_place(path), "changed", f"{ref} contains itself; it ends here"))
            return {"type": "object", "description": "The same again."}
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        target = resolve(ref, self._root)
        if not isinstance(target, Mapping):
            return self._rewrite(rest, path, refs)
        return self._rewrite({**target, **rest}, path, (*refs, ref))

    def _simplified(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The same meaning in words that the provider may know."""
        out = dict(schema)
        words = self._profile.keywords
        if words is None:
            return out
        if "allOf" in out and "allOf" not in words:
            out = merged(out, self._root)
        if "oneOf" in out and "oneOf" not in words:
            out["anyOf"] = [*schema_list(out.get("anyOf")), *schema_list(out.pop("oneOf"))]
        if "const" in out and "const" not in words:
            out["enum"] = [out.pop("const")]
        if not self._profile.type_lists:
            out = _without_type_list(out)
        return out

    def _kept(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        kept = {}
        told = []
        for key, value in schema.items():
            if self._may_stand(key, value):
                kept[key] = value
                continue
            if key in _TOLD and _is_short(value):
                told.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
            if key not in _SILENT and key not in ("$defs", "definitions", "additionalProperties"):
                reason = f"{self._profile.name} does not take it; the gate still checks it"
                self.notes.append(Note(f"{key} of {_place(path)}", "dropped", reason))
        if told:
            said = str(kept.get("description", "")).rstrip()
            kept["description"] = f"{said} ({'; '.join(told)})".strip()
        return kept

    def _may_stand(self, key: str, value: object) -> bool:
        words = self._profile.keywords
        if key == "format" and self._profile.formats is not None:
            return value in self._profile.formats
        if key == "enum" and not self._profile.type_lists:
            return all(isinstance(item, str) for item in schema_list(value))
        return words is None or key in words

    def _descend(
        self, given: dict[str, Any], kept: dict[str, Any], path: str, refs: tuple[str, ...]
    ) -> None:
        for key in ("properties", "$defs", "definitions", "patternProperties"):
            if isinstance(kept.get(key), Mapping):
                kept[key] = {
                    name: self._rewrite(inner, f"{path}.{name}", refs)
                    for name, inner in kept[key].items()
                }
        for key in ("items", "additionalProperties"):
            if isinstance(kept.get(key), Mapping):
                kept[key] = self._rewrite(kept[key], f"{path}[]", refs)
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            if isinstance(kept.get(key), Sequence):
                kept[key] = [self._rewrite(one, path, refs) for one in schema_list(kept[key])]

    def _is_object(self, schema: dict[str, Any]) -> bool:
        return "object" in type_list(schema) or "properties" in schema

    def _close(self, given: dict[str, Any], kept: dict[str, Any], path: str) -> None:
        free = given.get("additionalProperties")
        is_map = bool(given.get("patternProperties")) or (free is not None and free is not False)
        bare = not given.get("properties") and path != "" and free is not False
        if (is_map or bare) and not self._profile.maps:
            self.needs_freedom.append(f"the free keys of {_place(path)}")
            self.notes.append(
                Note(f"free keys of {_place(path)}", "changed", "only its named keys are shown")
            )
        if not self._profile.strict:
            return
        properties = dict(kept.get("properties") or {})
        required = set(schema_list(kept.get("required")))
        kept["properties"] = {
            name: inner if name in required else nullable(inner)
            for name, inner in properties.items()
        }
        kept["required"] = list(properties)
        kept["additionalProperties"] = False

    def _check_strict(self, kept: dict[str, Any], path: str) -> None:
        if not any(key in kept for key in ("type", "$ref", "anyOf", "enum", "const")):
            self.needs_freedom.append(f"{_place(path)}, which has no type")
        elif "array" in type_list(kept) and "items" not in kept:
            self.needs_freedom.append(f"{_place(path)}, whose items have no type")


def _without_type_list(schema: dict[str, Any]) -> dict[str, Any]:
    """`nullable` and `anyOf` in place of a list of types or of a choice with null."""
    out = dict(schema)
    kinds = type_list(out)
    if "null" in kinds:
        out["nullable"] = True
        kinds = [kind for kind in kinds if kind != "null"]
    if isinstance(out.get("type"), list):
        out.pop("type")
        if len(kinds) == 1:
            out["type"] = kinds[0]
        elif kinds:
            out["anyOf"] = [*schema_list(out.get("anyOf")), *({"type": kind} for kind in kinds)]
    choices = schema_list(out.get("anyOf"))
    if {"type": "null"} in choices:
        out["nullable"] = True
        rest = [choice for choice in choices if choice != {"type": "null"}]
        out.pop("anyOf")
        out = {**rest[0], **out} if len(rest) == 1 else {**out, "anyOf": rest}
    if None in schema_list(out.get("enum")):
        out["nullable"] = True
        out["enum"] = [item for item in out["enum"] if item is not None]
    return out


def _is_short(value: object) -> bool:
    return not isinstance(value, Mapping) and len(str(value)) <= 120


def _place(path: str) -> str:
    return path.removeprefix(".") or "the arguments"
