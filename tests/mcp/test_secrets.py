"""What a server is told in confidence shows nowhere, also if it says it itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.loop.agents import Heard, call
from tests.mcp.serving import command, declared, listening, outcomes, whence
from whence.declare.mcp import server_at
from whence.loop.server_secrets import discretion

pytestmark = pytest.mark.anyio
SECRET = "hush-hush-99/=+"


def files_with(folder: Path, secret: str) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]


@pytest.mark.requirement("mcp:discreet")
async def test_a_programs_secret_variable_is_taken_out_of_results_and_errors(
    tmp_path: Path,
) -> None:
    environ, heard = {**os.environ, "TOKEN": SECRET}, Heard()
    declaration = declared("old", more='env="TOKEN"')
    calls = [call("who"), call("die")]
    who, died = await outcomes(tmp_path, calls, declaration, environ=environ, heard=heard)
    assert "[REDACTED $TOKEN]" in str(who.result)
    assert died.fault is not None
    assert "goodbye [REDACTED $TOKEN]" in died.fault.message
    assert SECRET not in repr(heard.news)
    assert files_with(tmp_path, SECRET) == []


@pytest.mark.requirement("mcp:discreet")
async def test_headers_and_client_secret_are_taken_out_of_what_an_address_answers(
    tmp_path: Path,
) -> None:
    environ = {**os.environ, "AUTH": "Authorization: Bearer t0p-s3cret-t0p", "SECRET": SECRET}
    heard = Heard()
    async with listening("web") as url:
        more = 'headers_env="AUTH" client_secret_env="SECRET"'
        declaration = f'<tool mcp_server="{url}" {more}/>'
        (done,) = await outcomes(
            tmp_path, [call("mirror")], declaration, environ=environ, heard=heard
        )
    assert "'Authorization': '[REDACTED $AUTH]'" in str(done.result)
    assert "client_secret=[REDACTED $SECRET]" in str(done.result)
    for secret in ("t0p-s3cret-t0p", SECRET, "hush-hush-99"):
        assert secret not in repr(heard.news)
        assert files_with(tmp_path, secret) == []


@pytest.mark.requirement("mcp:discreet")
def test_a_server_that_cannot_start_does_not_print_its_key(tmp_path: Path) -> None:
    script = "stdio:sh -c 'echo no $MY_KEY >&2; exit 1'"
    done = whence(tmp_path, "mcp", script, "--env", "MY_KEY", MY_KEY=SECRET)
    assert done.returncode == 1
    assert "it wrote 'no [REDACTED $MY_KEY]'" in done.stderr
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("API_KEY", "abcdefgh", True),
        ("API_KEY", "short", False),
        ("PLACE", "a1b2c3d4e5f6a7b8", True),
        ("PLACE", "production", False),
        ("PLACE", "/srv/data/of/2026/here", False),
    ],
    ids=["named", "short", "random", "word", "path"],
)
def test_ordinary_values_are_left_where_they_are(name: str, value: str, is_secret: bool) -> None:
    server = server_at(command("old"), env=name)
    said = discretion(server, {name: value})({"a": [f"x {value}", 3], value: None})
    shown = f"[REDACTED ${name}]" if is_secret else value
    assert said == {"a": [f"x {shown}", 3], shown: None}
