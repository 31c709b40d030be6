"""The real networks; fetched once, where they are not installed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from whence.errors import WhenceError
from whence.provider.local import weights
from whence.provider.local.engine import Engine, problem
from whence.provider.local.fill import EXAMPLES
from whence.provider.local.model import LocalModel


@pytest.fixture(scope="session")
def models() -> Path:
    try:
        place = weights.ensure()
    except WhenceError as error:
        pytest.skip(f"the weights cannot be installed here: {error.message}")
    found = problem(place)
    if found is not None:
        pytest.skip(found[0])
    return place


@pytest.fixture
async def engine(models: Path) -> AsyncIterator[Engine]:
    engine = Engine(EXAMPLES, models)
    yield engine
    await engine.aclose()


@pytest.fixture
async def local(engine: Engine) -> LocalModel:
    return LocalModel(engine)
