"""Agent files and scripted models for tests: real files, a real loop, answers from a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from whence.loop.agent import Agent
from whence.loop.news import News
from whence.shapes.approval import Answer, Approver, Question

WHY = "Prove that the loop holds"


def call(tool: str, **args: Any) -> dict[str, Any]:
    """A call of a scripted answer."""
    args.setdefault("why", WHY)
    return {"tool": tool, "args": args}


def write_agent(
    folder: Path,
    answers: Iterable[Any],
    *declarations: str,
    name: str = "agent",
    said: str = "",
    config: str = "",
) -> Path:
    """An agent file whose model is a script beside it."""
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(list(answers)), "utf-8")
    path = folder / f"{name}.chatmd"
    lines = [f'<config model="script/{name}.yaml" {config}/>', *declarations, said]
    path.write_text("\n".join(line for line in lines if line) + "\n", "utf-8")
    return path


def load(path: Path, **options: Any) -> Agent:
    """The agent of a file, in the folder where it lies."""
    return Agent.load(path, path.parent, **options)


class Heard:
    """Collects what a run tells."""

    def __init__(self) -> None:
        self.news: list[News] = []

    def __call__(self, news: News, /) -> None:
        self.news.append(news)

    def of(self, kind: type[Any]) -> list[Any]:
        return [one for one in self.news if isinstance(one, kind)]


def approving(*, yes: bool = True, seen: Callable[[Question], None] | None = None) -> Approver:
    """Somebody who always gives the same answer."""

    async def approve(question: Question) -> Answer:
        if seen is not None:
            seen(question)
        return Answer(approved=yes)

    return approve
