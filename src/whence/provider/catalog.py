"""The providers that are known by name: where they are, and which variable holds their key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from urllib.parse import urlsplit, urlunsplit

from whence.errors import InvalidArgs, NotFound

Speech: TypeAlias = Literal["chat", "responses", "anthropic"]
_PATHS: Mapping[Speech, str] = {
    "chat": "/chat/completions",
    "responses": "/responses",
    "anthropic": "/v1/messages",
}


@dataclass(frozen=True, slots=True)
class Provider:
    """One kind of model ids: what stands before the slash."""

    id: str
    base_url: str
    keys: tuple[str, ...]
    """Variables that may hold the key; the first that does counts."""
    base_name: str
    """The variable that may hold another address."""
    speech: Speech = "chat"
    free: bool = False
    """Whether it can be used without a key, as a server of one's own."""


def _own(id: str, base_url: str) -> Provider:
    return Provider(id, base_url, (f"{id.upper()}_API_KEY",), f"{id.upper()}_BASE_URL")


def _local(id: str, port: int) -> Provider:
    return replace(_own(id, f"http://localhost:{port}/v1"), free=True)


_OPENAI = ("https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL")
_GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"
PROVIDERS: Mapping[str, Provider] = {
    provider.id: provider
    for provider in (
        Provider("openai", *_OPENAI, "responses"),
        Provider("openai-chat", *_OPENAI),
        Provider(
            "anthropic",
            "https://api.anthropic.com",
            ("ANTHROPIC_API_KEY",),
            "ANTHROPIC_BASE_URL",
            "anthropic",
        ),
        Provider("gemini", _GEMINI, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "GEMINI_BASE_URL"),
        _own("openrouter", "https://openrouter.ai/api/v1"),
        _own("groq", "https://api.groq.com/openai/v1"),
        _own("mistral", "https://api.mistral.ai/v1"),
        _own("deepseek", "https://api.deepseek.com"),
        _own("xai", "https://api.x.ai/v1"),
        _own("together", "https://api.together.xyz/v1"),
        _own("fireworks", "https://api.fireworks.ai/inference/v1"),
        _own("cerebras", "https://api.cerebras.ai/v1"),
        _local("ollama", 11434),
        _local("vllm", 8000),
        _local("llamacpp", 8080),
        _local("lmstudio", 1234),
    )
}


def provider_of(model_id: str) -> tuple[Provider, str]:
    """The provider and the name in `provider/name`.

    Raises:
        InvalidArgs: The id has no such form.
        NotFound: No provider is called so.
    """
    provider_id, slash, name = model_id.partition("/")
    if not slash or not name.strip():
        guess = "anthropic" if model_id.startswith("claude") else "openai"
        example = f"{provider_id}/NAME" if slash else f"{guess}/{model_id or 'NAME'}"
        raise InvalidArgs(
            f"{model_id!r} is no model id: it names no {'model' if slash else 'provider'}",
            f"Write provider/name, such as {example}.",
        )
    if provider_id not in PROVIDERS:
        from difflib import get_close_matches

        close = get_close_matches(provider_id, PROVIDERS, n=1, cutoff=0.7)
        raise NotFound(
            f"there is no provider called {provider_id!r}",
            f"Did you mean {close[0]}/{name}?" if close else
            "`whence models` lists them; any other server that speaks Chat Completions is"
            " openai-chat/NAME, with its address in OPENAI_BASE_URL.",
        )  # fmt: skip
    return PROVIDERS[provider_id], name


def endpoint(base_url: str, speech: Speech) -> str:
    """The address that requests go to, at a base as people write it.

    Raises:
        InvalidArgs: It is no http or https address, or carries a password.
    """
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        usable = usable and parts.netloc.isprintable() and " " not in parts.netloc
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc:
        secret = "@" in base_url
        raise InvalidArgs(
            "the base URL carries a password" if secret else f"{base_url!r} is no base URL",
            "Write it like https://host/v1; a key belongs into the provider's variable.",
        )
    path, ending = parts.path.rstrip("/"), _PATHS[speech]
    if speech == "anthropic":
        path = path.removesuffix("/v1")
    whole = path if path.endswith(ending) else path + ending
    return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))
