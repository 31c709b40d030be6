"""YAML of files that anybody may have written: what cannot be read is an error, never a crash.

The parser recurses in C, where a thousand brackets in a row end the process, and an alias of an
alias of an alias can stand for more than the memory holds.
"""

from __future__ import annotations

from typing import Any

import yaml

_LARGEST = 10_000_000
"""Characters and values, aliases written out."""


class BoundedLoader(yaml.CSafeLoader):
    """The safe loader, for documents that are not nested too deep."""

    deepest = 64
    """How many values may stand inside one another."""
    _depth = 0

    def descend_resolver(self, parent: Any, index: Any) -> None:
        """Called at the start of each value."""
        self._depth += 1
        if self._depth > self.deepest:
            raise yaml.YAMLError(f"nested more than {self.deepest} levels deep")
        super().descend_resolver(parent, index)

    def ascend_resolver(self) -> None:
        """Called at the end of each value."""
        self._depth -= 1
        super().ascend_resolver()


def load_yaml(text: str | bytes) -> Any:
    """The value of one document.

    Raises:
        yaml.YAMLError: It is not YAML, or its values are impossible, too deep or too many.
    """
    try:
        value = yaml.load(text, Loader=BoundedLoader)  # noqa: S506 - made from the safe one
    except ValueError as error:  # a date such as 2026-99-99, a number of 5,000 digits
        raise yaml.YAMLError(str(error)) from None
    _check_size(value)
    return value


def problem_of(error: yaml.YAMLError) -> str:
    """What is wrong, and where, in one line."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return " ".join(str(error).split())
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}"


def _check_size(value: Any) -> None:
    left, waiting = _LARGEST, [value]
    while waiting:
        item = waiting.pop()
        left -= 1 + (len(item) if isinstance(item, str | bytes) else 0)
        if left < 0:
            raise yaml.YAMLError(f"larger than {_LARGEST:,} characters, aliases written out")
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set):
            waiting += item
