"""What the command line imports before it knows what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

WHENCE = Path(sys.executable).parent / "whence"
HEAVY = {
    "asyncio", "concurrent", "email", "http", "httpx", "httpx2", "importlib.metadata", "inspect",
    "jsonschema", "jsonschema_rs", "logging", "msgspec", "pathspec", "pydantic", "rapidfuzz", "re2",
    "socket", "ssl", "subprocess", "tomllib", "typing", "urllib", "yaml",
}  # fmt: skip
IMPORTED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)


def imported_by(*arguments: str | Path) -> set[str]:
    """Every module that a fresh interpreter imports beyond what it imports for nothing."""
    return _imports(*arguments) - _imports("-c", "pass")


def _imports(*arguments: str | Path) -> set[str]:
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(IMPORTED.findall(done.stderr))


def heavy(modules: set[str]) -> set[str]:
    return {name for name in modules if not HEAVY.isdisjoint({name, name.partition(".")[0]})}


@pytest.mark.requirement("cli:start-up")
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_installed_command_answers_without_heavy_imports(option: str) -> None:
    modules = imported_by(WHENCE, option)

    assert "whence.cli" in modules
    assert heavy(modules) == set()


@pytest.mark.requirement("cli:start-up")
def test_the_version_needs_no_argument_parser() -> None:
    assert "argparse" not in imported_by(WHENCE, "--version")


def test_listing_the_tools_of_a_file_loads_only_what_they_need() -> None:
    """Neither YAML, schemas, patterns nor sockets, and no catalog beyond those searched."""
    librarian = Path(__file__).parents[1] / "examples" / "librarian.chatmd"

    modules = imported_by(WHENCE, "tools", librarian)

    assert "whence.catalogs" in modules
    assert heavy(modules) <= {"inspect", "typing"} | {m for m in modules if m.startswith("msgspec")}
    assert not any(name.startswith("whence.catalogs.roo") for name in modules)


def test_importing_the_package_imports_nothing_else() -> None:
    assert imported_by("-c", "import whence") <= {"whence", "__future__"}


def test_the_check_itself_sees_a_heavy_import() -> None:
    assert "asyncio" in heavy(imported_by("-c", "import asyncio"))
