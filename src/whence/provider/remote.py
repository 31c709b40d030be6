"""Models by id: opened, or listed with the reason why they can or cannot be used here."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from whence.errors import InvalidArgs, Unavailable, WhenceError
from whence.provider.catalog import PROVIDERS, Provider, endpoint, provider_of
from whence.provider.keys import Keys, check_key, key_file
from whence.provider.model import Model
from whence.provider.proxy import proxy_of
from whence.provider.retry import DEFAULT_PATIENCE, DEFAULT_TIMEOUTS, Patience, Timeouts

if TYPE_CHECKING:
    from whence.provider.codec import Codec

_VERSION = {"anthropic-version": "2023-06-01"}
_PROBE_S = 0.3
_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Options:
    """How a model behind a network is used."""

    strict: bool = False
    """Hold the model to the schemas of the tools, where the provider can."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with each request, such as `anthropic-beta`."""
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    patience: Patience = DEFAULT_PATIENCE
    tls: ssl.SSLContext | None = None


DEFAULT_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a provider can be used here."""

    id: str
    """What stands before the slash of a model id."""
    usable: bool
    reason: str


def open_model(
    id: str,
    *,
    environ: Mapping[str, str] = os.environ,
    base_url: str | None = None,
    options: Options = DEFAULT_OPTIONS,
) -> Model:
    """The model of that id, such as `anthropic/NAME`. Nothing is sent before the first answer.

    Args:
        id: `provider/name`; the name may hold slashes of its own.
        environ: Where keys, addresses and proxies are looked for, before the key file.
        base_url: Another address that speaks the provider's protocol. The provider's key is sent
            there, so it must not come from a file that somebody else wrote.
        options: Time limits, retries and the like.

    Raises:
        InvalidArgs: The id, the address or a header is malformed.
        NotFound: No provider is called so.
        Unavailable: There is no key for it.
    """
    from whence.provider.http import Line
    from whence.provider.refusal import Asked
    from whence.provider.remote_model import RemoteModel

    provider, name = provider_of(id)
    keys = Keys(environ)
    base = base_url or keys.get(provider.base_name) or provider.base_url
    url = endpoint(base, provider.speech)
    own = base == provider.base_url and not provider.free
    key_name, key = _key(provider, keys, needed_for=id if own else None)
    headers = {**_headers(provider, key, url), **_checked(options.headers)}
    line = Line(url, headers, options.timeouts, proxy=proxy_of(url, environ), tls=options.tls)
    asked = Asked(provider.id, name, url.partition("?")[0], key_name, bool(key))
    codec = _codec(provider, url, strict=options.strict)
    return RemoteModel(asked, codec, line, options.patience, key)


def available(environ: Mapping[str, str] = os.environ) -> list[Availability]:
    """Every provider, and whether it can be used here. Only servers on this machine are tried."""
    keys = Keys(environ)
    return [_availability(provider, keys) for provider in PROVIDERS.values()]


def _availability(provider: Provider, keys: Keys) -> Availability:
    try:
        base = keys.get(provider.base_name)
        found = keys.first(provider.keys)
        url = endpoint(base or provider.base_url, provider.speech)
    except WhenceError as error:
        return Availability(provider.id, usable=False, reason=error.message)
    at = urlsplit(url).netloc
    if provider.free or (base and not found):
        usable, reason = _listening(url)
        return Availability(provider.id, usable, reason)
    if found is None:
        return Availability(provider.id, usable=False, reason=f"{provider.keys[0]} is not set")
    return Availability(provider.id, usable=True, reason=f"{found[0]} is set, for {at}")


def _listening(url: str) -> tuple[bool, str]:
    """Whether something listens at an address of this machine; others are not asked."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if host not in _OWN_MACHINE:
        return True, f"at {parts.netloc}, which was not asked"
    try:
        with socket.create_connection((host, port), _PROBE_S):
            return True, f"a server listens at {parts.netloc}"
    except OSError:
        return False, f"nothing listens at {parts.netloc}"


def _key(provider: Provider, keys: Keys, *, needed_for: str | None) -> tuple[str, str]:
    """The variable of the key, and the key; both may be unused by a server of one's own."""
    found = keys.first(provider.keys)
    if found is not None:
        check_key(found[1], found[0])
        return found
    if needed_for is not None:
        wanted = provider.keys[0]
        file = key_file(keys.environ) or "the file that WHENCE_KEYS names"
        raise Unavailable(
            f"there is no key for {needed_for}: {wanted} is not set",
            f"Set {wanted}, or write `{wanted}: …` into {file}.",
        )
    return provider.keys[0], ""


def _headers(provider: Provider, key: str, url: str) -> dict[str, str]:
    from whence.provider.chat_dialect import is_azure

    accept = {"content-type": "application/json", "accept-encoding": "identity"}
    if provider.speech == "anthropic":
        return {**accept, **_VERSION, **({"x-api-key": key} if key else {})}
    if is_azure(urlsplit(url).netloc) and "." not in key:  # a dot: a token of its directory
        return {**accept, **({"api-key": key} if key else {})}
    return {**accept, **({"authorization": f"Bearer {key}"} if key else {})}


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not (name.isascii() and value.isascii() and (name + value).isprintable()):
            # The value may be a secret, and is not shown.
            raise InvalidArgs(
                f"the header {name!r} cannot be sent: it has a line break or is not ASCII",
                "Correct it, or leave it out.",
            )
    return {name.lower(): value for name, value in headers.items()}


def _codec(provider: Provider, url: str, *, strict: bool) -> Codec:
    from whence.provider.chat_dialect import dialect_of
    from whence.provider.codec import anthropic_codec, chat_codec, responses_codec

    if provider.speech == "anthropic":
        return anthropic_codec(strict=strict)
    if provider.speech == "responses":
        return responses_codec(strict=strict)
    named = provider.base_url if provider.id != "openai-chat" else url
    return chat_codec(dialect_of(urlsplit(named).netloc), strict=strict)
