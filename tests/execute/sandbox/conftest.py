"""Who attacks, and at which level."""

from __future__ import annotations

import os
import secrets

import pytest

from tests.execute.sandbox.driver import can_leave_root
from whence.execute.sandbox.choose import best_sandbox


@pytest.fixture(params=["root", "user"], scope="session")
def who(request: pytest.FixtureRequest) -> str:
    """Root where the tests run as root, and an ordinary user everywhere."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("these tests do not run as root here")
    if request.param == "user" and not can_leave_root():
        pytest.skip("root cannot become anybody else in this container")
    return str(request.param)


@pytest.fixture(params=["best", "landlock"])
def level(request: pytest.FixtureRequest) -> str:
    """The best level of this machine, and the second best whether it is needed or not."""
    return best_sandbox().name if request.param == "best" else "landlock"


@pytest.fixture
def token() -> str:
    """A word by which processes of a test can be told from all others."""
    return f"token{secrets.token_hex(8)}"
