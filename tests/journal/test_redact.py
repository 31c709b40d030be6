"""Secrets never reach the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.journal.samples import call, open_journal, text
from whence.journal.compose import record_of
from whence.journal.read import read_entries
from whence.journal.record import NO_HASH
from whence.journal.redact import Redactor, redact
from whence.journal.verify import verify
from whence.shapes.call import Comment
from whence.shapes.event import Event

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabcdef\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

SECRETS = [
    ("sk-proj-abcdefghijklmnop1234", "use {} here"),
    ("sk-ant-api03-abcdefghijklmnop", "use {} here"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "git clone with {}"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "{}"),
    ("AKIAIOSFODNN7EXAMPLE", "id {}"),
    ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = {}"),
    ("xoxb-123456789012-abcdefGHIJ", "slack {}"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "maps {}"),
    (JWT, "cookie={}"),
    ("glpat-abcdEFGH1234ijklMNOP", "gitlab {}"),
    ("sk_live_abcdEFGH1234ijklMNOP", "stripe {}"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm {}"),
    ("pypi-" + "AgEIcHlwaS5vcmcCJ" * 4, "upload with {}"),
    ("hf_abcdefghijklmnopqrstuvwxyzABCDEF12", "hub {}"),
    ("SG.abcdefghijklmnopqr.stuvwxyzABCDEFGHIJ", "mail {}"),
    ("T00000000/B00000000/XXXXXXXXXXXXXXXXXXXX", "https://hooks.slack.com/services/{}"),
    ("SK0123456789abcdef0123456789abcdef", "twilio {}"),
    ("123456789:AAabcdefghijklmnopqrstuvwxyz0123456", "bot {}"),
    ("xai-" + "abcdEFGH12" * 5, "grok {}"),
    ("dop_v1_" + "0123456789abcdef" * 4, "droplet {}"),
    ("AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN" * 3, "age {}"),
    ("abcdefghijklmnopqrstuvwx", "https://discord.com/api/webhooks/123456789/{}"),
    ("Zm9vYmFyYmF6cXV4", "AccountName=a;AccountKey={};EndpointSuffix=b"),
    ("MIIEpAIBAAKCAQEA7", PEM.replace("MIIEpAIBAAKCAQEA7", "{}")),
    ("abcdefghijklmnop", "Authorization: Bearer {}"),
    ("dXNlcjpwYXNz", "curl -H 'Authorization: Basic {}'"),
    ("hunter2", "postgres://admin:{}@db.example/prod"),
    ("tok3nTok3nTok3nTok3n", "https://{}@github.com/x/y.git"),
    ("hunter2", "password = {}"),
    ("swordfish", "PASSWORD={}"),
    ("correct horse", 'db_password: "{}"'),
    ("hunter22", '{{"client_secret": "{}"}}'),
    ("hunter22", '{{\\"api_key\\": \\"{}\\"}}'),
    ("s3cr3t", "--token {}".replace(" ", "=")),
    ("Sup3r", "secret: {}"),
]


@pytest.mark.requirement("journal:redaction")
@pytest.mark.parametrize(("secret", "around"), SECRETS)
def test_a_secret_is_neither_in_the_file_nor_read_back(
    secret: str, around: str, tmp_path: Path
) -> None:
    phrase = around.format(secret)
    event = call(why=phrase, content=["x", {"deep": f"line\n{phrase}\nline"}])
    journal = open_journal(tmp_path)
    journal.append_call(
        Event(event.type, event.fields, phrase, phrase, (Comment(("args", "why"), phrase),))
    )
    journal.close("done")

    assert secret not in text(journal)
    assert "[REDACTED " in text(journal)
    assert secret not in str(list(read_entries(journal.directory)))
    assert verify(journal.directory).ok


@pytest.mark.parametrize("secret", ['qu"ote\\back', "new\nline-secret", "pä$$wörd!", "plainsecret"])
def test_the_value_of_a_secret_variable_is_found_however_it_is_written(
    secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", secret)
    journal = open_journal(tmp_path)
    journal.append_call(call(why=f"Use {secret} now", content=f"a\n{secret}\nb"))
    journal.close("done")

    assert secret not in str(list(read_entries(journal.directory)))
    assert text(journal).count("[REDACTED $MY_SERVICE_TOKEN]") == 3


@pytest.mark.parametrize(
    "harmless",
    [
        "max_tokens: 4096",
        "token = get_token()",
        "def login(password: str) -> Token:",
        "token = os.environ['TOKEN']",
        '"token": {"type": "string"}',
        "the password field is required",
        "https://example.com/a@b",
        "a task-list with risk-free words",
        "git@github.com:whence/whence.git",
    ],
)
def test_ordinary_text_is_left_alone(harmless: str) -> None:
    assert Redactor({}).redact(harmless) == harmless


@pytest.mark.requirement("journal:redaction")
@pytest.mark.parametrize("break_", ["\n", "\t", "\r\n"])
@pytest.mark.parametrize(("secret", "around"), SECRETS)
def test_a_secret_at_the_start_of_a_line_is_found_in_json(
    secret: str, around: str, break_: str
) -> None:
    written = json.dumps({"content": f"one{break_}{around.format(secret)}"})

    assert secret not in Redactor({}).redact(written)


def test_keys_that_name_a_secret_hide_their_values() -> None:
    value = {
        "user": "ann",
        "password": "x",
        "nested": [{"apiKey": "k", "pageToken": "p1"}],
        "pwd": 12,
    }

    assert Redactor({}).redact(value) == {
        "user": "ann",
        "password": "[REDACTED password]",
        "nested": [{"apiKey": "[REDACTED apikey]", "pageToken": "p1"}],
        "pwd": "[REDACTED pwd]",
    }


def test_short_variables_and_ordinary_ones_are_not_secrets() -> None:
    redactor = Redactor({"API_KEY": "short", "HOME_PAGE": "example.com/about"})

    assert redactor.redact("short example.com/about") == "short example.com/about"


def test_the_environment_is_read_when_redact_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "correct-horse-battery")

    assert redact({"a": ["correct-horse-battery"]}) == {"a": ["[REDACTED $DB_PASSWORD]"]}


secret_strings = st.sampled_from([around.format(secret) for secret, around in SECRETS])
json_values = st.recursive(
    st.text() | st.integers() | secret_strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(json_values)
def test_redaction_keeps_the_shape_and_does_nothing_the_second_time(value: Any) -> None:
    redactor = Redactor({})
    once = redactor.redact(value)

    assert redactor.redact(once) == once
    assert type(once) is type(value)
    json.dumps(once)


@settings(deadline=None)
@given(st.text(), secret_strings, st.text())
def test_whatever_surrounds_a_secret_the_filter_before_sees_it(
    before: str, secret: str, after: str
) -> None:
    value = f"{before} {secret} {after}"
    redactor = Redactor({})
    event = Event("x", {"a": {"b": value}}, "")

    if redactor.redact(value) != value:
        assert b"[REDACTED " in record_of(event, redactor, 1, NO_HASH)[0]


def test_a_long_run_of_word_characters_costs_linear_time() -> None:
    assert Redactor({}).redact("password" * 200_000)
    assert Redactor({}).redact("://" + "a:" * 200_000 + "password=")
