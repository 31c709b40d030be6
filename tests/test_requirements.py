"""Promises and tests match, in both directions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
MARK = re.compile(r"""mark\.requirement\(\s*["']([^"']+)["']""")


def promised() -> set[str]:
    tables = tomllib.loads((HERE / "requirements.toml").read_text(encoding="utf-8"))
    return {promise for table in tables.values() for promise in table}


def marked() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py"))
    return {promise for text in texts for promise in MARK.findall(text)}


def test_every_promise_has_a_test() -> None:
    assert sorted(promised() - marked()) == []


def test_every_mark_names_a_promise() -> None:
    assert sorted(marked() - promised()) == []
