"""Word and Excel files as text, from files made here; broken, hostile and encrypted ones too."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.work.office_files import docx, packed, paragraph, relations, xlsx

from whence.errors import ExecutionFailed, InvalidArgs, QuotaExceeded, WhenceError
from whence.work.documents import extracted, package
from whence.work.documents.docx import docx_text
from whence.work.documents.extracted import Extracted
from whence.work.documents.xlsx import xlsx_text

pytestmark = pytest.mark.requirement("roo:read:documents")

BOTH = pytest.mark.parametrize("read", [docx_text, xlsx_text])
DATES = (
    '<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm&quot;x&quot;"/>'
    '<numFmt numFmtId="165" formatCode="[Red]0.00&quot; days&quot;"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/>'
    "</cellXfs>"
)


def test_a_paragraph_is_a_line_and_its_runs_are_joined() -> None:
    body = (
        '<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Über </w:t></w:r>'
        "<w:r><w:t>a&lt;b</w:t><w:tab/><w:t>c</w:t><w:br/><w:t>d</w:t></w:r></w:p>"
        f"<w:p/>{paragraph('last')}<w:sectPr/>"
    )

    assert docx_text(docx(body)) == Extracted("Über a<b\tc\nd\n\nlast")


def test_a_row_of_a_table_is_a_line() -> None:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"

    inner = f"<w:tbl>{row(paragraph('x'), paragraph('y'))}</w:tbl>"
    table = row(paragraph("a") + paragraph("b"), paragraph("c")) + row(inner, paragraph(""))

    assert docx_text(docx(f"<w:tbl>{table}</w:tbl>")).text == "a b | c\nx | y | "


def test_what_was_deleted_moved_away_or_repeated_is_not_read() -> None:
    body = (
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>old place</w:t></w:r></w:moveFrom>"
        "<w:r><w:instrText>PAGE</w:instrText><w:t>kept</w:t></w:r>"
        "<mc:AlternateContent><mc:Choice><w:r><w:t> once</w:t></w:r></mc:Choice>"
        "<mc:Fallback><w:r><w:t> twice</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>"
    )

    assert docx_text(docx(body)).text == "kept once"


def test_the_strict_form_of_the_format_is_read_too() -> None:
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"

    assert docx_text(docx(paragraph("x"), namespace=strict)).text == "x"


def test_cells_are_shown_in_their_columns() -> None:
    strings = (
        "<si><t>name</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>aloud</t></rPh></si>"
    )
    last = (
        '<row r="5"><c r="A5" t="b"><v>1</v></c><c t="e"><v>#DIV/0!</v></c>'
        '<c t="inlineStr"><is><t>in\nline\t</t></is></c>'
        '<c t="str"><f>A1&amp;"x"</f><v>namex</v></c>'
        '<c r="AA5"><v>0.30000000000000004</v></c></row>'
    )
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>',
        '<row r="2"><c r="B2"/></row>',
        last,
    )

    found = xlsx_text(xlsx(*rows, strings=strings))

    end = "TRUE\t#DIV/0!\tin line \tnamex" + "\t" * 23 + "0.3"
    assert found.text == f"## One\nname\t\trich text\n{end}"
    assert found.warnings == ("hidden sheets were left out: 'Two'",)


@pytest.mark.parametrize(
    ("value", "style", "shown"),
    [
        ("45000", 0, "45000"), ("45000", 1, "2023-03-15"), ("45000.75", 2, "2023-03-15 18:00:00"),
        ("0.5", 1, "12:00:00"), ("1", 1, "1900-01-01"), ("59", 1, "1900-02-28"),
        ("61", 1, "1900-03-01"), ("45000", 3, "45000"), ("45000", 9, "45000"),
        ("1e300", 1, "1e300"), ("-1", 1, "-1"), ("nonsense", 1, "nonsense"),
    ],
)  # fmt: skip
def test_a_number_with_the_style_of_a_date_is_shown_as_one(
    value: str, style: int, shown: str
) -> None:
    row = f'<row><c r="A1" s="{style}"><v>{value}</v></c></row>'

    assert xlsx_text(xlsx(row, styles=DATES)).text == f"## One\n{shown}"


def test_a_workbook_may_count_its_days_from_1904() -> None:
    row = '<row><c r="A1" s="1"><v>43538</v></c></row>'

    found = xlsx_text(xlsx(row, styles=DATES, book='<workbookPr date1904="1"/>'))

    assert found.text.endswith("2023-03-15")


def test_more_text_than_anybody_reads_is_cut_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extracted.Lines.__init__, "__defaults__", (10,))

    words = docx_text(docx(paragraph("one") + paragraph("two") + paragraph("three")))
    cells = xlsx_text(xlsx('<row><c r="XFD1"><v>1</v></c></row>' * 3))

    assert words.text == "one\ntwo"
    assert cells.text == "## One"
    assert "only the beginning" in words.warnings[-1]
    assert "only the beginning" in cells.warnings[-1]


@BOTH
@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), InvalidArgs, "password"),
        (b"", ExecutionFailed, "damaged"),
        (b"plain text", ExecutionFailed, "damaged"),
        (packed({"a": "b"}), ExecutionFailed, "which part"),
        (packed({"_rels/.rels": relations(officeDocument="x")}), ExecutionFailed, "missing"),
        (packed({"_rels/.rels": "<a><b></a>"}), ExecutionFailed, "mismatched"),
        (
            packed({"_rels/.rels": relations(officeDocument="x"), "x": "<x xmlns='urn:x'/>"}),
            InvalidArgs,
            "it is no ",
        ),
    ],
    ids=["encrypted", "empty", "text", "zip", "no document", "bad XML", "something else"],
)
def test_what_cannot_be_read_is_told(
    read: Callable[[bytes], Extracted], data: bytes, error: type[WhenceError], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        read(data)
    assert caught.value.suggestion


def test_a_part_with_a_password_is_told_as_encrypted() -> None:
    data = bytearray(docx(paragraph("x")))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(mark, at + 1)

    with pytest.raises(InvalidArgs, match="password"):
        docx_text(bytes(data))


@pytest.mark.parametrize(
    "xml",
    [
        '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><d>&b;</d>',
        '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><d>&a;</d>',
        '<!DOCTYPE d SYSTEM "http://127.0.0.1:9/x.dtd"><d/>',
    ],
    ids=["laughs", "file", "network"],
)
def test_entities_are_refused(xml: str) -> None:
    parts = {"_rels/.rels": relations(officeDocument="x"), "x": xml}

    with pytest.raises(ExecutionFailed, match="document type"):
        docx_text(packed(parts))


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MOST_BYTES", 100_000)
    monkeypatch.setattr(package, "MOST_PARTS", 50)

    with pytest.raises(QuotaExceeded, match="unpacks"):
        docx_text(docx(" " * 10_000_000))
    with pytest.raises(QuotaExceeded, match="parts"):
        docx_text(packed({str(number): "" for number in range(60)}))


def test_a_sheet_is_read_once_however_often_it_is_named() -> None:
    named = '<sheet name="One" sheetId="1" r:id="worksheet1"/>' * 1000

    assert xlsx_text(xlsx("<row><c><v>1</v></c></row>", sheets=named)).text == "## One\n1"


def test_too_many_elements_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MOST_ELEMENTS", 1000)

    with pytest.raises(QuotaExceeded, match="too many"):
        docx_text(docx("<w:p/>" * 1000))


def test_deep_nesting_and_cells_that_cannot_be_are_refused() -> None:
    with pytest.raises(QuotaExceeded, match="deeply"):
        docx_text(docx("<w:p>" * 10_000))
    with pytest.raises(ExecutionFailed, match="column"):
        xlsx_text(xlsx('<row><c r="ZZZZ1"><v>1</v></c></row>'))
    with pytest.raises(ExecutionFailed, match="IndexError"):
        xlsx_text(xlsx('<row><c r="A1" t="s"><v>7</v></c></row>'))


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 3000), st.binary(min_size=1, max_size=4), st.booleans())
def test_no_damage_raises_anything_else(at: int, junk: bytes, stored: bool) -> None:
    whole = xlsx('<row><c r="A1" s="1"><v>1</v></c></row>', styles=DATES)
    if stored:
        whole = _stored(whole)
    at %= len(whole)

    with suppress(WhenceError):
        xlsx_text(whole[:at] + junk + whole[at + len(junk) :])


def _stored(data: bytes) -> bytes:
    """The same package without compression, so that damage reaches its XML."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()


def test_sheets_that_are_no_tables_are_passed_by() -> None:
    sheets = (
        '<sheet name="Chart" sheetId="1" r:id="styles"/><sheet name="Lost" sheetId="2" r:id="x"/>'
    )

    assert xlsx_text(xlsx(sheets=sheets)) == Extracted("")
