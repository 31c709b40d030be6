"""Who runs the code: root where the tests run as root, and an ordinary user everywhere."""

from __future__ import annotations

import os

import pytest
from tests.execute.sandbox.driver import can_leave_root


@pytest.fixture(params=["root", "user"], scope="session")
def who(request: pytest.FixtureRequest) -> str:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("these tests do not run as root here")
    if request.param == "user" and not can_leave_root():
        pytest.skip("root cannot become anybody else in this container")
    return str(request.param)
