"""The text of an Excel workbook: for each sheet its name, and a line of cells for each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from whence.errors import InvalidArgs
from whence.work.documents.extracted import Enough, Extracted, Lines
from whence.work.documents.numbers import Styles, shown_number
from whence.work.documents.package import Package, Relation

_MOST_COLUMNS = 16_384
_SPACES = str.maketrans("\t\r\n", "   ")


def xlsx_text(data: bytes) -> Extracted:
    """What the cells show, separated by tabs, without empty rows; raises as `Package`.

    Formulas show what they last came to. Hidden sheets are left out, with a warning.

    Raises:
        InvalidArgs: It is no workbook.
    """
    package, book = Package(data), _Workbook()
    name = package.main()
    package.read(name, book)
    if not book.is_workbook:
        raise InvalidArgs("it is no Excel workbook", "Give the file the ending that fits it.")
    relations = package.relations(name)
    parts = {relation.kind: relation.target for relation in relations.values()}
    strings, styles = _Strings(), Styles(since_1904=book.since_1904)
    if "sharedStrings" in parts:
        package.read(parts["sharedStrings"], strings)
    if "styles" in parts:
        package.read(parts["styles"], styles)
    lines = Lines()
    with suppress(Enough):
        for title, target in _tables(book, relations):
            lines.add(f"## {title.translate(_SPACES)}")
            package.read(target, _Sheet(lines, strings.all, styles))
    return lines.extracted(*_left_out(book.hidden))


def _tables(book: _Workbook, relations: Mapping[str, Relation]) -> Iterator[tuple[str, str]]:
    """Titles and parts of the sheets that have cells; no part twice."""
    seen: set[str] = set()
    for title, relation in book.sheets:
        sheet = relations.get(relation)
        if sheet is not None and sheet.kind == "worksheet" and sheet.target not in seen:
            seen.add(sheet.target)
            yield title, sheet.target


def _left_out(hidden: Sequence[str]) -> Iterator[str]:
    if hidden:
        names = ", ".join(repr(title[:40]) for title in hidden[:5])
        yield f"hidden sheets were left out: {names}{', …' if len(hidden) > 5 else ''}"


class _Workbook:
    def __init__(self) -> None:
        self.is_workbook = False
        self.since_1904 = False
        self.sheets: list[tuple[str, str]] = []
        """Names, and the ids of their relations."""
        self.hidden: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "s:workbook":
            self.is_workbook = True
        elif tag == "s:workbookPr":
            self.since_1904 = attributes.get("date1904") in ("1", "true")
        elif tag == "s:sheet":
            title = attributes.get("name", "")
            if attributes.get("state", "visible") == "visible":
                ids = [value for name, value in attributes.items() if name.endswith(" id")]
                self.sheets.append((title, "".join(ids)))
            else:
                self.hidden.append(title)

    def end(self, tag: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass


class _Strings:
    """The texts that cells share, each of which may be made of several runs."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._pieces: list[str] = []
        self._in_text = self._aloud = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._aloud = self._aloud or tag == "s:rPh"  # how a word is spoken
        self._in_text = tag == "s:t" and not self._aloud

    def end(self, tag: str) -> None:
        self._in_text = False
        if tag == "s:rPh":
            self._aloud = False
        elif tag == "s:si":
            self.all.append("".join(self._pieces))
            self._pieces.clear()

    def text(self, text: str) -> None:
        if self._in_text:
            self._pieces.append(text)


class _Sheet:
    """The rows of one sheet."""

    def __init__(self, lines: Lines, strings: Sequence[str], styles: Styles) -> None:
        self._lines = lines
        self._strings = strings
        self._styles = styles
        self._cell: Mapping[str, str] = {}
        self._pieces: list[str] = []
        self._in_value = False
        self._row: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "s:c":
            self._cell = attributes
            self._pieces.clear()
        self._in_value = tag in ("s:v", "s:t")

    def end(self, tag: str) -> None:
        self._in_value = False
        if tag == "s:c":
            self._take_cell()
        elif tag == "s:row":
            line = "\t".join(self._row).rstrip("\t")
            self._row.clear()
            if line:
                self._lines.add(line)

    def text(self, text: str) -> None:
        if self._in_value:
            self._pieces.append(text)

    def _take_cell(self) -> None:
        column = _column(self._cell.get("r", ""))
        if column > _MOST_COLUMNS:
            raise ValueError(f"there is no column {self._cell['r']!r}")
        self._row += [""] * (column - 1 - len(self._row))
        self._row.append(self._shown("".join(self._pieces)).translate(_SPACES))

    def _shown(self, value: str) -> str:
        match self._cell.get("t", "n"):
            case "s":
                return self._strings[int(value)] if value else ""
            case "b":
                return "TRUE" if value.strip() == "1" else "FALSE"
            case "n":
                return shown_number(value, self._styles.since(self._cell.get("s", "0")))
            case _:
                return value


def _column(reference: str) -> int:
    """The number of the column in a reference such as `AB12`, from 1 on; 0 without one."""
    number = 0
    for letter in reference.rstrip("0123456789")[:4]:
        number = number * 26 + ord(letter.upper()) - ord("A") + 1
    return number
