"""What each provider accepts as the schema of a tool, and how a schema is brought into that form.

A profile never changes the tool: the gate goes on checking arguments against the tool's own
schema. What a provider does not take is left out of a copy, told to the model in words where that
helps it, and reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from whence.errors import InvalidArgs
from whence.provider.losses import Note
from whence.provider.schema_rewrite import Profile, Rewriter
from whence.shapes.json import JSONObject

__all__ = [
    "ANTHROPIC",
    "ANTHROPIC_STRICT",
    "GEMINI",
    "OPENAI",
    "OPENAI_STRICT",
    "PLAIN",
    "Adapted",
    "Profile",
    "adapt",
    "check_name",
]

_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split())
_ANNOTATIONS = frozenset({"title", "description"})
_COMMON = frozenset(
    """type properties required items enum anyOf minimum maximum minItems maxItems pattern
    format""".split()
)
_STRICT = _COMMON | frozenset(
    """additionalProperties const $ref $defs definitions multipleOf exclusiveMinimum
    exclusiveMaximum""".split()
)
_GEMINI = _COMMON | frozenset(
    "minLength maxLength minProperties maxProperties default nullable".split()
)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A schema in a provider's form."""

    schema: JSONObject
    strict: bool
    """Whether the provider can be asked to hold the model to it."""
    notes: tuple[Note, ...] = ()


PLAIN = Profile("plain", top_combinators=True)
"""Servers that take JSON Schema as it is."""
OPENAI = Profile("openai", max_tools=128)
OPENAI_STRICT = replace(
    OPENAI,
    name="openai-strict",
    strict=True,
    keywords=_STRICT | _ANNOTATIONS,
    formats=_FORMATS,
    maps=False,
)
ANTHROPIC = Profile("anthropic", name_pattern=re.compile(r"[A-Za-z0-9_-]{1,128}"))
ANTHROPIC_STRICT = replace(
    ANTHROPIC,
    name="anthropic-strict",
    strict=True,
    keywords=(_STRICT | _ANNOTATIONS | {"default"})
    - {"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "maxItems"},
    formats=_FORMATS,
    maps=False,
)
STRICT: Mapping[str, Profile] = {OPENAI.name: OPENAI_STRICT, ANTHROPIC.name: ANTHROPIC_STRICT}
"""By the name of the usual one: how a provider is asked to hold a model to a schema."""
GEMINI = Profile(
    "gemini",
    name_pattern=re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"),
    max_tools=128,
    keywords=_GEMINI | _ANNOTATIONS,
    formats=frozenset({"date-time", "enum", "int32", "int64", "float", "double"}),
    references=False,
    type_lists=False,
    maps=False,
)


def adapt(schema: JSONObject, profile: Profile) -> Adapted:
    """A copy of the schema that the provider takes, and what it does not say any more.

    Where a strict profile cannot say something that the tool needs, such as an object with free
    keys, the schema is sent without strictness instead of being made unusable.
    """
    if profile == PLAIN:
        return Adapted(schema, strict=False)
    rewriter = Rewriter(profile, schema)
    adapted = rewriter.top()
    if profile.strict and rewriter.needs_freedom:
        loose = Rewriter(_loosened(profile), schema)
        reason = f"{profile.name} cannot be strict about {rewriter.needs_freedom[0]}"
        note = Note("strictness", "dropped", reason)
        return Adapted(loose.top(), strict=False, notes=(note, *loose.notes))
    return Adapted(adapted, profile.strict, tuple(rewriter.notes))


def _loosened(profile: Profile) -> Profile:
    return replace(profile, strict=False, keywords=None, formats=None, maps=True)


def check_name(name: str, profile: Profile) -> None:
    """Refuse a tool name that the provider would refuse.

    Raises:
        InvalidArgs: The name is too long or has a character that is not allowed.
    """
    if not profile.name_pattern.fullmatch(name):
        raise InvalidArgs(
            f"{profile.name} takes no tool called {name!r}",
            f"Use a name of the form {profile.name_pattern.pattern}.",
        )
