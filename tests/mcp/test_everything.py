"""A server that others made, from its registry, as people use it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.loop.agents import call
from tests.mcp.publishing import calls, command, publish
from tests.mcp.serving import SERVERS, outcomes

PACKAGE = "@modelcontextprotocol/server-everything"
VERSION = "2026.8.31"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script of the server, installed once."""
    folder = tmp_path_factory.mktemp("everything")
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("node and npm are not here")
    try:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--prefix", folder, f"{PACKAGE}@{VERSION}"],
            capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        pytest.skip("the registry takes too long")
    if done.returncode:
        pytest.skip(f"the registry does not have it: {done.stderr[-200:]}")
    return folder / "node_modules" / PACKAGE / "dist" / "index.js"


@pytest.mark.anyio
@pytest.mark.requirement("mcp:stdio")
async def test_the_protocols_own_example_server_can_be_called(
    tmp_path: Path, everything: Path
) -> None:
    server = f'<tool mcp_server="stdio:node {everything} stdio"/>'
    calls = [call("echo", message="hello"), call("get-sum", a=2, b=3), call("get-tiny-image")]
    echo, total, image = await outcomes(tmp_path, calls, server)
    assert echo.result == "Echo: hello"
    assert "5" in str(total.result)
    assert isinstance(image.result, list)
    assert any(isinstance(part, dict) and part["type"] == "image" for part in image.result)


@pytest.mark.requirement("serve:eras")
def test_the_protocols_own_typescript_client_is_served(tmp_path: Path, everything: Path) -> None:
    (tmp_path / ".env").write_text("SECRET=1")
    publish(tmp_path, "hello", ["Good day."])
    done = subprocess.run(
        ["node", SERVERS / "client.mjs", everything.parents[1],
         *command(tmp_path, "prompts", "--catalog", "moollm")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert {"hello", "fs_read"} <= set(seen["names"])
    assert seen["hello"]["content"] == [{"type": "text", "text": "Good day."}]
    assert seen["secret"]["structuredContent"]["content"] == "SECRET=1"
    assert "looks like a file of secrets" in seen["asked"][0]
    assert seen["messages"][-1]["content"]["text"] == "Hi"
    assert seen["unknown"] == -32602
    assert calls(tmp_path)[0] == ("hello", "Greet from TypeScript")
