"""Numbers of a workbook as people see them: a date is a number of days with a style."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

_BUILT_IN_DATES = (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))
_SINCE_1900 = datetime(1899, 12, 30)
_SINCE_1904 = datetime(1904, 1, 1)
_NOT_A_PLACE = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.|\*.')
"""Text, colours and escapes in a format."""
_DATE_PLACE = re.compile("[dmyhs]", re.IGNORECASE)


class Styles:
    """The styles of cells, read from the part of a workbook that has them."""

    def __init__(self, *, since_1904: bool) -> None:
        self._since = _SINCE_1904 if since_1904 else _SINCE_1900
        self._date_formats = {str(number) for number in _BUILT_IN_DATES}
        self._are_dates: list[bool] = []
        self._in_cells = False

    def since(self, index: str) -> datetime | None:
        """From when a cell of this style counts its days; None where it has a mere number."""
        known = index.isdecimal() and int(index) < len(self._are_dates)
        return self._since if known and self._are_dates[int(index)] else None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element of the part."""
        if tag == "s:numFmt":
            places = _NOT_A_PLACE.sub("", attributes.get("formatCode", ""))
            if _DATE_PLACE.search(places):
                self._date_formats.add(attributes.get("numFmtId", ""))
        elif tag == "s:cellXfs":
            self._in_cells = True
        elif tag == "s:xf" and self._in_cells:
            self._are_dates.append(attributes.get("numFmtId") in self._date_formats)

    def end(self, tag: str) -> None:
        """The end of one."""
        self._in_cells &= tag != "s:cellXfs"

    def text(self, text: str) -> None:
        """There is none that matters."""


def shown_number(value: str, since: datetime | None) -> str:
    """A number with 15 digits, as sheets show it, or a date and time in the order of ISO 8601."""
    try:
        number = float(value)
        return f"{number:.15g}" if since is None or number < 0 else _moment(number, since)
    except (ValueError, OverflowError):
        return value


def _moment(days: float, since: datetime) -> str:
    if days < 1:
        return f"{since + timedelta(seconds=round(days * 86_400)):%H:%M:%S}"
    if since == _SINCE_1900 and days < 60:
        days += 1  # sheets believe in a 29th of February 1900
    moment = since + timedelta(seconds=round(days * 86_400))
    return f"{moment:%Y-%m-%d %H:%M:%S}".removesuffix(" 00:00:00")
