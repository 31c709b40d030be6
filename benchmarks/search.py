"""Row 9: search.lexical beside the ripgrep process that it runs, and its fallback beside both."""

from __future__ import annotations

import asyncio
import shutil
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from benchmarks.measure import Result, Side, Skipped, compare, of_command, of_function
from benchmarks.peers import CACHE
from whence.execute.process import Processes
from whence.loop.session import Session
from whence.shapes.policy import Policy, Quotas
from whence.shapes.process import ProcessStream
from whence.work import lexical

CORPUS_BYTES = 200_000_000
NEEDLE = "quodlibetical"
UNLIMITED = Policy(quotas=Quotas(calls=None, calls_per_turn=None, repeats=None))
QUERIES = (
    ("rare literal", NEEDLE, 1.6),
    ("regex with alternation", rf"(?:def|class)\s+{NEEDLE}\w*", 6.0),
)


def ratios() -> Iterator[Result]:
    rg = shutil.which("rg")
    if rg is None:
        yield Skipped("9", "search.lexical ÷ rg", "rg is not installed")
        return
    corpus = str(_corpus())
    with asyncio.Runner() as runner, Session(corpus, policy=UNLIMITED, durable=False) as session:
        for name, query, _ in (*QUERIES, ("common literal, capped at 200 hits", "self", 0)):
            ours = of_function(lambda query=query: runner.run(_call(session, query)))  # type: ignore[misc]
            bare = _rg(runner, corpus, query, rg)
            yield compare("9", f"search.lexical, {name} ÷ the rg it runs", ours, bare, goal=1.2)
        for name, query, goal in QUERIES:
            fallback = of_function(lambda query=query: runner.run(_scan(corpus, query)))  # type: ignore[misc]
            bare = _rg(runner, corpus, query, rg)
            what = f"search.lexical without rg, {name} ÷ rg"
            yield compare("9", what, fallback, bare, goal=goal, rounds=5)


async def _call(session: Session, query: str) -> None:
    outcome = await session.call("search.lexical", "Find the one place to change", query=query)
    if outcome.fault is not None or not outcome.result:
        raise RuntimeError(f"search.lexical found nothing: {outcome}")


async def _scan(corpus: str, query: str) -> None:
    found = await lexical.search(
        query, root=corpus, scope=corpus, glob=None, runner=Processes(), rg=None, timeout_s=60
    )
    if not found.hits:
        raise RuntimeError(f"the fallback found nothing for {query!r}")


class _Recorder:
    """Remembers what was run."""

    argv: Sequence[str] = ()

    def stream(
        self, argv: Sequence[str], *, cwd: str, timeout_s: float, max_line: int = 65536
    ) -> AbstractAsyncContextManager[ProcessStream]:
        self.argv = argv
        return Processes().stream(argv, cwd=cwd, timeout_s=timeout_s, max_line=max_line)


def _rg(runner: asyncio.Runner, corpus: str, query: str, rg: str) -> Side:
    """The same ripgrep, with the same arguments, to its end."""
    recorder = _Recorder()
    runner.run(lexical.search(query, root=corpus, scope=corpus, glob=None, runner=recorder, rg=rg))
    return of_command(*recorder.argv, cwd=corpus)


def _corpus() -> Path:
    """The standard library's sources, over and over, and a needle in three of its copies."""
    home = CACHE / "corpus"
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        sources = [
            path
            for path in Path(sysconfig.get_path("stdlib")).rglob("*.py")
            if "site-packages" not in path.parts
        ]
        size = sum(path.stat().st_size for path in sources)
        for copy in range(max(3, CORPUS_BYTES // size)):
            _copy(sources, home / f"copy-{copy}", needle=copy < 3)
        (home / ".git").mkdir()  # ends the search for .gitignore files above
        (home / "complete").touch()
    shutil.rmtree(home / ".agent", ignore_errors=True)  # journals of earlier runs
    return home


def _copy(sources: Sequence[Path], target: Path, *, needle: bool) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    for source in sources:
        path = target / source.relative_to(library)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
    if needle:
        (target / "needle.py").write_text(f"def {NEEDLE}():\n    return 0\n", encoding="utf-8")
