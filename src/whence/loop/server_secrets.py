"""What a server was told in confidence, taken out of all that it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote, quote_plus

from whence.declare.mcp import headers
from whence.errors import InvalidArgs
from whence.shapes.declaration import McpServer

Discretion: TypeAlias = Callable[[Any], Any]
"""Takes secrets out of a JSON-like value, or a text."""
_SHORTEST = 8
"""Shorter values are words that mean other things, too."""
_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|PAT$", re.IGNORECASE)
_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[^\s/]{16,}")


def discretion(server: McpServer, environ: Mapping[str, str]) -> Discretion:
    """What takes out the values that a server gets from the environment, as far as they are secret.

    Headers and the client secret are; a variable of a program is by its name or its looks, since
    results would be spoilt if `production` or a path were taken out.
    """
    found = {form: f"[REDACTED ${name}]" for name, value in _secrets(server, environ)
             for form in _forms(value)}  # fmt: skip
    if not found:
        return lambda value: value
    longest_first = "|".join(re.escape(form) for form in sorted(found, key=len, reverse=True))
    pattern = re.compile(longest_first)

    def discreet(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda match: found[match[0]], value)
        if isinstance(value, dict):
            return {discreet(key): discreet(item) for key, item in value.items()}
        return [discreet(item) for item in value] if isinstance(value, list) else value

    return discreet


def _secrets(server: McpServer, environ: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for name in server.env:
        value = environ.get(name, "")
        if _NAME.search(name) or _RANDOM.fullmatch(value):
            yield name, value
    if server.client_secret_env:
        yield server.client_secret_env, environ.get(server.client_secret_env, "")
    if server.headers_env:
        for value in _header_values(server, environ):
            yield server.headers_env, value


def _header_values(server: McpServer, environ: Mapping[str, str]) -> Iterable[str]:
    try:
        values = headers(server, environ).values()
    except InvalidArgs:  # said where it is connected to
        return
    for value in values:
        yield value
        yield value.partition(" ")[2]  # `Bearer …` may be quoted without its first word


def _forms(value: str) -> Iterable[str]:
    """A value as it is, and as it stands in an address."""
    return (value, quote(value), quote_plus(value)) if len(value) >= _SHORTEST else ()
