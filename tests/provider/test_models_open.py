"""Models by id: which provider, which address, which key, and what is said where one is missing."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path

import pytest

from tests.provider.asking import CHAT, KEY, heard, talk
from tests.replay_server import answering, events, streamed
from whence.errors import (
    InvalidArgs,
    NotFound,
    ParseError,
    PermissionDenied,
    Unavailable,
    WhenceError,
)
from whence.provider.catalog import PROVIDERS, endpoint
from whence.provider.remote import Options, available, open_model

OPENAI = {"OPENAI_API_KEY": KEY}


def home(tmp_path: Path, text: str | None = None, mode: int = 0o600) -> dict[str, str]:
    """An environment with a key file in its home."""
    if text is not None:
        path = tmp_path / ".config" / "whence" / "keys.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
    return {"HOME": os.fspath(tmp_path)}


@pytest.mark.parametrize(
    ("id", "environ", "url"),
    [
        ("openai/m", OPENAI, "https://api.openai.com/v1/responses"),
        ("openai-chat/m", OPENAI, "https://api.openai.com/v1/chat/completions"),
        ("anthropic/m", {"ANTHROPIC_API_KEY": KEY}, "https://api.anthropic.com/v1/messages"),
        (
            "openrouter/anthropic/claude",
            {"OPENROUTER_API_KEY": KEY},
            "https://openrouter.ai/api/v1/chat/completions",
        ),
        ("groq/m", {"GROQ_API_KEY": KEY}, "https://api.groq.com/openai/v1/chat/completions"),
        ("mistral/m", {"MISTRAL_API_KEY": KEY}, "https://api.mistral.ai/v1/chat/completions"),
        ("deepseek/m", {"DEEPSEEK_API_KEY": KEY}, "https://api.deepseek.com/chat/completions"),
        (
            "gemini/m",
            {"GOOGLE_API_KEY": KEY},
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        ),
        ("ollama/qwen3:8b", {}, "http://localhost:11434/v1/chat/completions"),
        ("vllm/org/m", {}, "http://localhost:8000/v1/chat/completions"),
        ("llamacpp/m", {}, "http://localhost:8080/v1/chat/completions"),
        (
            "openai-chat/m",
            {"OPENAI_BASE_URL": "http://gpu:9000/v1/"},
            "http://gpu:9000/v1/chat/completions",
        ),
        (
            "anthropic/m",
            {"ANTHROPIC_BASE_URL": "http://gpu:9000"},
            "http://gpu:9000/v1/messages",
        ),
    ],
)
@pytest.mark.requirement("models:ids")
def test_an_id_leads_to_its_providers_address(
    id: str, environ: dict[str, str], url: str, tmp_path: Path
) -> None:
    model = open_model(id, environ={**home(tmp_path), **environ})

    assert model.id == id
    assert model.asked.url == url  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("base", "speech", "url"),
    [
        ("https://h/v1", "chat", "https://h/v1/chat/completions"),
        ("https://h/v1/", "responses", "https://h/v1/responses"),
        ("https://h/v1/chat/completions", "chat", "https://h/v1/chat/completions"),
        ("https://h/v1", "anthropic", "https://h/v1/messages"),
        ("https://h/proxy/v1/messages", "anthropic", "https://h/proxy/v1/messages"),
        ("https://h/d?api-version=1", "chat", "https://h/d/chat/completions?api-version=1"),
        ("http://[::1]:8000/v1", "chat", "http://[::1]:8000/v1/chat/completions"),
    ],
)
@pytest.mark.requirement("models:base-url")
def test_a_base_url_may_be_written_as_people_write_it(base: str, speech: str, url: str) -> None:
    assert endpoint(base, speech) == url  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "base",
    [
        "",
        "gpu:9000/v1",
        "ftp://h/v1",
        "http://",
        "http://h:99999/v1",
        "http://[::1/v1",
        "x",
        "http://a b/v1",
    ],
)
def test_a_base_url_that_is_none_is_refused_by_name(base: str) -> None:
    with pytest.raises(InvalidArgs) as raised:
        endpoint(base, "chat")

    assert repr(base) in raised.value.message


def test_a_password_in_a_base_url_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidArgs) as raised:
        endpoint("https://me:hunter2@h/v1", "chat")

    assert "hunter2" not in f"{raised.value.message} {raised.value.suggestion}"


@pytest.mark.parametrize(
    ("id", "kind", "hint"),
    [
        ("gpt-5", InvalidArgs, "openai/gpt-5"),
        ("claude-x", InvalidArgs, "anthropic/claude-x"),
        ("openai/", InvalidArgs, "provider/name"),
        ("", InvalidArgs, "provider/name"),
        ("opnai/m", NotFound, "openai"),
    ],
)
@pytest.mark.requirement("models:ids")
def test_an_id_that_is_none_says_how_to_write_it(
    id: str, kind: type[WhenceError], hint: str
) -> None:
    with pytest.raises(kind) as raised:
        open_model(id, environ=OPENAI)

    assert hint in raised.value.suggestion


@pytest.mark.requirement("models:no-key")
def test_a_missing_key_is_named_with_both_places_for_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as raised:
        open_model("anthropic/m", environ=home(tmp_path))

    assert "ANTHROPIC_API_KEY" in raised.value.message
    assert os.fspath(tmp_path / ".config" / "whence" / "keys.yaml") in raised.value.suggestion


def test_a_key_file_is_never_looked_for_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home(tmp_path, f"OPENAI_API_KEY: {KEY}")
    monkeypatch.chdir(tmp_path)
    for environ in ({}, {"XDG_CONFIG_HOME": ".config"}, {"HOME": "."}):
        with pytest.raises(Unavailable, match="OPENAI_API_KEY is not set"):
            open_model("openai/m", environ=environ)


@pytest.mark.requirement("models:no-key")
def test_a_server_of_ones_own_needs_no_key(tmp_path: Path) -> None:
    environ = home(tmp_path)

    assert open_model("openai-chat/m", environ=environ, base_url="http://gpu:1/v1").id
    assert open_model("ollama/m", environ=environ).id


@pytest.mark.anyio
@pytest.mark.requirement("models:key-file")
async def test_a_key_may_stand_in_a_file_of_its_owner(tmp_path: Path) -> None:
    async with answering(streamed([events(*CHAT.says("Hello"))])) as server:
        text = f"OPENAI_API_KEY: {KEY}\nOPENAI_BASE_URL: {server.url}/v1\n"
        model = open_model("openai-chat/m", environ=home(tmp_path, text))
        await heard(talk(model))
        await model.aclose()

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.requirement("models:key-file")
def test_the_key_file_may_be_named_and_the_environment_wins(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("OPENAI_API_KEY: from-the-file\nOPENAI_BASE_URL: http://file:1/v1\n")
    path.chmod(0o600)
    named = {"WHENCE_KEYS": os.fspath(path)}

    def url(environ: dict[str, str]) -> str:
        return open_model("openai/m", environ=environ).asked.url  # type: ignore[attr-defined,no-any-return]

    assert url(named) == "http://file:1/v1/responses"
    assert url({**named, "OPENAI_BASE_URL": "http://env:2"}) == "http://env:2/responses"
    assert url({**named, "OPENAI_BASE_URL": " "}) == "http://file:1/v1/responses"


@pytest.mark.requirement("models:key-file")
@pytest.mark.parametrize("mode", [0o604, 0o644, 0o666, 0o602])
def test_a_key_file_that_everybody_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    environ = home(tmp_path, f"OPENAI_API_KEY: {KEY}\n", mode)

    with pytest.raises(PermissionDenied) as raised:
        open_model("openai/m", environ=environ)

    assert "chmod 600" in raised.value.suggestion
    assert KEY not in raised.value.message


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"- {KEY}",
        f"{KEY}: {KEY}",
        f"openai: {KEY}",
        f"OPENAI_API_KEY: [{KEY}]",
        f"OPENAI_API_KEY: {KEY}: {KEY}",
        f"OPENAI_API_KEY: '{KEY}",
        "OPENAI_API_KEY: 7",
        "OPENAI_API_KEY:",
        "\x00",
    ],
    ids=range(10),
)
@pytest.mark.requirement("models:key-file")
def test_a_malformed_key_file_is_told_without_its_keys(tmp_path: Path, text: str) -> None:
    with pytest.raises(ParseError) as raised:
        open_model("openai/m", environ=home(tmp_path, text))

    error = raised.value
    assert "keys.yaml" in error.message
    assert KEY not in f"{error.message} {error.suggestion}"


def test_a_key_file_that_is_a_directory_or_no_utf8_is_told(tmp_path: Path) -> None:
    binary = tmp_path / "k.yaml"
    binary.write_bytes(b"\xff\xfe")
    binary.chmod(0o600)
    for path in (tmp_path, binary):
        with pytest.raises(ParseError, match="cannot be read"):
            open_model("openai/m", environ={"WHENCE_KEYS": os.fspath(path)})


@pytest.mark.parametrize("key", ["sk-two words", "sk-line\nbreak", "sk-ümlaut"])
@pytest.mark.requirement("models:secret")
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(InvalidArgs) as raised:
        open_model("openai/m", environ={"OPENAI_API_KEY": key})

    assert "OPENAI_API_KEY" in raised.value.message
    assert "sk-" not in f"{raised.value.message} {raised.value.suggestion}"


def test_a_header_that_cannot_be_sent_is_refused_without_its_value() -> None:
    with pytest.raises(InvalidArgs) as raised:
        open_model("openai/m", environ=OPENAI, options=Options(headers={"x-pass": "hun\nter"}))

    assert "x-pass" in raised.value.message
    assert "ter" not in raised.value.message.split("sent")[0]


@pytest.mark.parametrize("proxy", ["socks5://p:1", "gopher://p", "http://p:port"])
def test_a_proxy_that_cannot_be_used_is_told_at_once(proxy: str) -> None:
    with pytest.raises(Unavailable, match="proxy"):
        open_model("openai/m", environ={**OPENAI, "https_proxy": proxy})


@pytest.mark.anyio
@pytest.mark.requirement("models:secret")
async def test_a_key_is_in_no_repr_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with answering(streamed([events(*CHAT.says("Hello"))])) as server:
        options = Options(headers={"x-secret": "also-secret"})
        model = open_model(
            "openai-chat/m", environ=OPENAI, base_url=f"{server.url}/v1", options=options
        )
        conversation = talk(model)
        await heard(conversation)
        await model.aclose()

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = f"{model!r} {conversation!r} {options!r} {vars(conversation)} {caplog.text}"
    assert KEY not in shown
    assert "also-secret" not in shown


@pytest.mark.requirement("models:available")
def test_every_provider_is_listed_with_the_reason(tmp_path: Path) -> None:
    listed = {one.id: one for one in available({**home(tmp_path), **OPENAI})}

    assert list(listed) == list(PROVIDERS)
    assert listed["openai"].usable
    assert "OPENAI_API_KEY is set" in listed["openai"].reason
    assert not listed["anthropic"].usable
    assert listed["anthropic"].reason == "ANTHROPIC_API_KEY is not set"
    assert KEY not in repr(listed)


@pytest.mark.requirement("models:available")
def test_a_server_on_this_machine_is_usable_when_it_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        base = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        environ = {**home(tmp_path), "OLLAMA_BASE_URL": base, "VLLM_BASE_URL": "http://gpu:1/v1"}
        before = {one.id: one for one in available(environ)}
    after = {one.id: one for one in available(environ)}

    assert before["ollama"].usable
    assert not after["ollama"].usable
    assert "nothing listens" in after["ollama"].reason
    assert before["vllm"].usable
    assert "not asked" in before["vllm"].reason


@pytest.mark.requirement("models:available")
def test_a_key_file_that_cannot_be_used_is_a_reason_too(tmp_path: Path) -> None:
    listed = {one.id: one for one in available(home(tmp_path, f"OPENAI_API_KEY: {KEY}", 0o644))}

    assert not listed["openai"].usable
    assert "everybody" in listed["openai"].reason


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("key", "header"),
    [("0123456789abcdef", "api-key"), ("eyJ0.eyJh.c2ln", "authorization")],
    ids=["key", "token"],
)
async def test_azure_is_asked_at_its_deployment_with_its_own_header(key: str, header: str) -> None:
    async with answering(streamed([events(*CHAT.says("Hello"))])) as server:
        model = open_model(
            "openai-chat/m",
            environ={"OPENAI_API_KEY": key, "http_proxy": server.url},
            base_url="http://mine.openai.azure.com/openai/deployments/d?api-version=1",
        )
        await heard(talk(model))
        await model.aclose()

    (asked,) = server.requests
    assert asked.target.endswith("/openai/deployments/d/chat/completions?api-version=1")
    assert [name for name in ("api-key", "authorization") if name in asked.headers] == [header]
