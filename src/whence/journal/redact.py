"""Secrets are taken out before anything is written or hashed.

Each rule has a hint, a pattern so simple that one automaton looks for all of them at once in the
bytes of a finished event: an event without a hint costs a microsecond. Patterns are RE2, since they
run over whatever a model or a program produced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from whence.shapes.call import Comment
from whence.shapes.dataclass import dataclass
from whence.shapes.event import Event

_NAME = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?"
    r"|(?:api|access|account|private|secret|auth|encryption)[_-]?key)"
)
_SECRET_KEY = re.compile(rf"{_NAME}$|^authorization$", re.IGNORECASE)
_ORDINARY_KEY = re.compile(r"(?:page|next|progress|sync|continuation)[_-]?token$", re.IGNORECASE)
_SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_ORDINARY_VALUE = re.compile(
    rf"{_NAME}s?|none|null|nil|true|false|undefined|str|string|int|integer|number|bool|boolean"
    r"|bytes|object|required|optional|any|\[REDACTED.*|\$.*|\*+|\.+|[a-z_]+(?:\.[a-z_]+)+",
    re.IGNORECASE,
).fullmatch
_UNBROKEN = re.compile(r"\w+")


_START = r"\b|\\[nrtbf]"
"""Where a word begins, also behind an escaped line break: `\\n` in the text of a JSON string."""


@dataclass(frozen=True, slots=True)
class _Rule:
    hint: str
    """Matches the rendered bytes of everything that `pattern` matches; escapes included."""
    pattern: str
    replace: Callable[[Any], str]


def _shape(kind: str, start: str, rest: str) -> _Rule:
    """A secret that is known by its looks."""
    hint = f"({_START})(?:{start})"
    return _Rule(hint, f"{hint}(?:{rest})", lambda match: f"{match[1]}[REDACTED {kind}]")


def _framed(kind: str, hint: str, pattern: str) -> _Rule:
    """A secret between two groups that stay."""
    return _Rule(hint, pattern, lambda match: f"{match[1]}[REDACTED {kind}]{match[3]}")


def _assigned(match: Any) -> str:
    """`name = value`, unless the value is a type, a variable or a piece of code."""
    lead, name, sign, value, rest = (match[group] for group in range(1, 6))
    quote = value[0] if value[0] in "\"'" else ""
    if (rest and not quote) or _ORDINARY_VALUE(value.strip("\"'\\")):
        return str(match[0])
    return f"{lead}{name}{sign}{quote}[REDACTED {name.lower()}]{quote}{rest}"


_TOKENS = (
    ("api key", "sk-", r"[A-Za-z0-9_-]{16,}"),
    ("api key", "xai-", r"[A-Za-z0-9]{40,}"),
    ("api key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("stripe key", "[sr]k_(?:live|test)_", r"[A-Za-z0-9]{16,}"),
    ("github token", "gh[pousr]_", r"[A-Za-z0-9]{16,}"),
    ("github token", "github_pat_", r"[A-Za-z0-9_]{16,}"),
    ("gitlab token", "glpat-", r"[A-Za-z0-9_-]{16,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    ("pypi token", "pypi-", r"[A-Za-z0-9_-]{50,}"),
    ("hugging face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("aws key", "A[KS]IA", r"[0-9A-Z]{16}\b"),
    ("twilio key", "SK[0-9a-f]{8}", r"[0-9a-f]{24}\b"),
    ("sendgrid key", r"SG\.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("slack token", "xox[a-z]-", r"[A-Za-z0-9-]{8,}"),
    ("slack webhook", r"hooks\.slack\.com/services/", r"[A-Za-z0-9/]{20,}"),
    ("discord webhook", r"discord(?:app)?\.com/api/webhooks/", r"[0-9]+/[A-Za-z0-9_-]{20,}"),
    ("telegram token", "[0-9]{8,10}:AA", r"[A-Za-z0-9_-]{32,}"),
    ("google key", "AIza", r"[0-9A-Za-z_-]{30,}"),
    ("digitalocean token", "do[opr]_v1_", r"[0-9a-f]{32,}"),
    ("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{40,}"),
    ("jwt", "eyJ", r"[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?"),
)
"""What tokens of well-known services are called, how they begin, and how they go on."""
_RULES = (
    _Rule(
        r"PRIVATE KEY",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|\z)",
        lambda _: "[REDACTED private key]",
    ),
    *(_shape(*token) for token in _TOKENS),
    _framed(
        "authorization",
        r"(?i)authorization",
        r"(?i)(authorization\\*[\"']?\s*[:=,]\s*\\*[\"']?(?:(?:bearer|basic|token)\s+)?)"
        r"([^\s\"',;\[\]\\]{7,})()",
    ),
    _framed(
        "bearer token", r"(?i)bearer", rf"(?i)((?:{_START})bearer\s+)([a-z0-9._~+/=-]{{12,}})()"
    ),
    _framed("password", r"://.*@", r"(://[^\s/:@\"']*:)([^\s/@\"'\[\]]+)(@)"),
    _framed("token", r"://.*@", r"(://)([A-Za-z0-9_-]{20,})(@)"),
    _Rule(
        rf"(?i){_NAME}[\\\"']*(?:\s|\\[nrt])*[:=]",
        rf"(?i)(^|[^a-z0-9])([a-z0-9_.-]*{_NAME})(\\*[\"']?\s*(?::=|=>|=|:)\s*\\*)"
        r"(\"[^\"\n]{4,}\"|'[^'\n]{4,}'|[^\s\"'`,;()\[\]{}<>]{4,})([(\[]?)",
        _assigned,
    ),
)


class Redactor:
    """Takes secrets out of events: well-known shapes, and the values of secret variables."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        variables = os.environ if environ is None else environ
        secret = [
            (value, f"[REDACTED ${name}]")
            for name, value in variables.items()
            if len(value) >= 8 and _SECRET_VARIABLE.search(name)
        ]
        self._literals = sorted(secret, key=lambda literal: -len(literal[0]))
        fragments = [_fragment(value) for value, _ in self._literals]
        self.suspects: Callable[[bytes], list[int] | None] = _automaton(*fragments).Match
        """What rendered text might hold; None: no secret. Escapes and indentation hide none."""

    def redact(self, value: Any) -> Any:
        """The JSON-like value, or text, without its secrets."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self.redact(key): self._item(key, item) for key, item in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self.redact(item) for item in value]
        return value

    def event(self, event: Event) -> Event:
        """The event without its secrets."""
        return Event(
            event.type,
            self.redact(event.fields),
            self.redact(event.title),
            self.redact(event.narrative),
            tuple(Comment(note.at, self.redact(note.text)) for note in event.comments),
        )

    def _item(self, key: object, value: Any) -> Any:
        named = isinstance(key, str) and _SECRET_KEY.search(key) and not _ORDINARY_KEY.search(key)
        if named and isinstance(value, str) and value and not _ORDINARY_VALUE(value):
            return f"[REDACTED {str(key).lower()}]"
        if named and type(value) is int and "token" not in str(key).lower():
            return f"[REDACTED {str(key).lower()}]"
        return self.redact(value)

    def _text(self, text: str) -> str:
        raw = text.encode("utf-8", "backslashreplace")
        hits = self.suspects(raw)
        if hits is None:
            return text
        for literal, replacement in self._literals:
            text = text.replace(literal, replacement)
        text = text.encode("utf-8", "backslashreplace").decode()
        for rule in (_RULES[hit] for hit in sorted(hits) if hit < len(_RULES)):
            text = _compiled(rule.pattern).sub(rule.replace, text)
        return text


def redact(value: Any) -> Any:
    """The JSON-like value, or text, without its secrets; reads the environment each time."""
    return Redactor().redact(value)


@cache
def _compiled(pattern: str) -> Any:
    import re2

    return re2.compile(pattern)


@lru_cache(maxsize=4)
def _automaton(*fragments: str) -> Any:
    """Looks for all hints at once, and for pieces of secrets."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    hints_at_once = re2.Set.SearchSet(options)
    for hint in (*(rule.hint for rule in _RULES), *fragments):
        hints_at_once.Add(hint.encode())
    hints_at_once.Compile()
    return hints_at_once


def _fragment(value: str) -> str:
    """A pattern for the part of a secret that no way of writing it can break up."""
    return re.escape(max(_UNBROKEN.findall(value), key=len, default=value))
