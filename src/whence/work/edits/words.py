"""How messages about edits speak of lines."""

from __future__ import annotations

from collections.abc import Sequence


def cut(line: str, most: int = 300) -> str:
    """A line, or the beginning of one that has more characters."""
    return line if len(line) <= most else line[: most - 1] + "…"


def listed(numbers: Sequence[int], most: int = 8) -> str:
    """`line 3`, `lines 3, 9 and 12`, or the first few of many."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    if len(numbers) > most:
        return f"lines {', '.join(map(str, numbers[:most]))} and {len(numbers) - most} more"
    return f"lines {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def listed_places(places: Sequence[int], many: int) -> str:
    """The same for places that are counted from 0, of which no more than `many` were looked for."""
    numbers = [place + 1 for place in places]
    if len(numbers) >= many:
        return f"lines {', '.join(map(str, numbers))} and more"
    return listed(numbers, many)


def difference(number: int, asked: str, found: str | None) -> str:
    """What a line should be and what it is; None: the file has ended."""
    if found is None:
        return f"{cut(asked)!r} should be line {number}, after the end of the file"
    text = f"line {number} should be {cut(asked)!r} and is {cut(found)!r}"
    only_space = "".join(asked.split()) == "".join(found.split())
    return f"{text} (they differ only in white space)" if only_space else text
