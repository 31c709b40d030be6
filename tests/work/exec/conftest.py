"""Who runs the code: root where the tests run as root, and an ordinary user everywhere."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(params=["root", "user"], scope="session")
def who(request: pytest.FixtureRequest) -> str:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("these tests do not run as root here")
    return str(request.param)
