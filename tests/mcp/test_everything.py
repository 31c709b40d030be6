"""A server that others made, from its registry, as people use it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.loop.agents import call
from tests.mcp.serving import outcomes

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
