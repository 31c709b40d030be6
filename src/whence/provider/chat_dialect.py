"""How servers that speak Chat Completions differ from one another."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from whence.provider.profiles import GEMINI, OPENAI, PLAIN, Profile

PROTOCOL = "openai-chat"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one server understands."""

    name: str
    profile: Profile = OPENAI
    developer_role: bool = True
    """Whether it knows `developer`; otherwise such a message is sent as `system`."""
    one_system: bool = False
    """Whether instructions must be one message at the beginning, as many templates demand."""
    replays_reasoning: bool = True
    """Whether reasoning may go back in the fields in which it came."""
    reasoning_field: str | None = None
    """Where reasoning goes that did not come from such a server."""
    requires_reasoning: bool = False
    """Whether a message with calls must have that field, be it empty."""
    documents: Literal["file", "document_url"] | None = "file"
    document_links: bool = False
    """Whether the server fetches a document by its address."""
    video: bool = False
    names_results: bool = False
    """Whether a result must say which tool it is of."""
    id_pattern: re.Pattern[str] = re.compile(r"[^\s]{1,64}")
    id_length: int = 40
    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    """Whether usage has to be asked for when an answer is streamed."""


OPENAI_CHAT = Dialect("openai", max_tokens_field="max_completion_tokens")
OPENROUTER = Dialect("openrouter", developer_role=False, document_links=True, video=True)
GROQ = Dialect(
    "groq",
    developer_role=False,
    replays_reasoning=False,
    documents=None,
    max_tokens_field="max_completion_tokens",
)
MISTRAL = Dialect(
    "mistral",
    developer_role=False,
    documents="document_url",
    document_links=True,
    id_pattern=re.compile(r"[A-Za-z0-9]{9}"),
    id_length=9,
    stream_usage=False,
)
DEEPSEEK = Dialect(
    "deepseek",
    developer_role=False,
    reasoning_field="reasoning_content",
    requires_reasoning=True,
    documents=None,
)
GEMINI_CHAT = Dialect(
    "gemini", profile=GEMINI, developer_role=False, names_results=True, video=True
)
COMPATIBLE = Dialect("compatible", profile=PLAIN, developer_role=False, one_system=True, video=True)
"""Ollama, vLLM, llama.cpp and every other server that is not named above."""

_BY_HOST = {
    "api.openai.com": OPENAI_CHAT,
    "openrouter.ai": OPENROUTER,
    "api.groq.com": GROQ,
    "api.mistral.ai": MISTRAL,
    "api.deepseek.com": DEEPSEEK,
    "generativelanguage.googleapis.com": GEMINI_CHAT,
}
_AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")


def is_azure(host: str) -> bool:
    """Whether OpenAI's models are served there by Azure."""
    return host.lower().partition(":")[0].endswith(_AZURE)


def dialect_of(host: str) -> Dialect:
    """The dialect that is spoken at a host."""
    known = OPENAI_CHAT if is_azure(host) else _BY_HOST.get(host.lower().partition(":")[0])
    return known or replace(COMPATIBLE, name=host or COMPATIBLE.name)
