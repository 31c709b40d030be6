"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"
"""Documents that some tests read; they skip where it is absent."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The machine's own settings must not decide what a test sees."""
    monkeypatch.delenv("WHENCE_SESSION", raising=False)
    monkeypatch.setenv("WHENCE_ADMIN_FILE", os.fspath(tmp_path / "no-such-admin-file"))
