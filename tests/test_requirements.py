"""Promises and tests match, in both directions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
MARK = re.compile(r"""mark\.requirement\(\s*["']([^"']+)["']""")


def promised() -> set[str]:
    files = (HERE / "requirements").glob("*.toml")
    listed = [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]
    return {promise for tables in listed for table in tables.values() for promise in table}


def marked() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py"))
    return {promise for text in texts for promise in MARK.findall(text)}


def test_every_promise_has_a_test() -> None:
    assert sorted(promised() - marked()) == []


def test_every_mark_names_a_promise() -> None:
    assert sorted(marked() - promised()) == []
