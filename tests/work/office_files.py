"""Word and Excel files, made part by part as the programs make them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip file of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return out.getvalue()


def relations(**targets: str) -> str:
    """A part that points to others, by kind; a kind may end with a number."""
    links = ""
    for name, target in targets.items():
        kind = f"{_OFFICE}/{name.rstrip('0123456789')}"
        links += f'<Relationship Id="{name}" Type="{kind}" Target="{target}"/>'
    return f'{_HEAD}<Relationships xmlns="{_LINKS}">{links}</Relationships>'


def docx(body: str, *, namespace: str = WORD) -> bytes:
    """A Word document with this XML in its body."""
    document = (
        f'{_HEAD}<w:document xmlns:w="{namespace}" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<w:body>{body}</w:body></w:document>"
    )
    return packed({
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_TYPES}"/>',
        "_rels/.rels": relations(officeDocument="word/document.xml"),
        "word/document.xml": document,
    })  # fmt: skip


def paragraph(text: str) -> str:
    return f'<w:p><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def xlsx(
    *rows: str, strings: str = "", styles: str = "", sheets: str = "", book: str = ""
) -> bytes:
    """A workbook whose first sheet, `One`, has these rows, and whose second, `Two`, has none."""
    listed = sheets or (
        '<sheet name="One" sheetId="1" r:id="worksheet1"/>'
        '<sheet name="Two" sheetId="2" state="hidden" r:id="worksheet2"/>'
    )
    workbook = (
        f'<workbook xmlns="{SHEET}" xmlns:r="{_OFFICE}">{book}<sheets>{listed}</sheets></workbook>'
    )
    data = "".join(rows)
    return packed({
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_TYPES}"/>',
        "_rels/.rels": relations(officeDocument="xl/workbook.xml"),
        "xl/workbook.xml": _HEAD + workbook,
        "xl/_rels/workbook.xml.rels": relations(
            worksheet1="worksheets/sheet1.xml", worksheet2="/xl/worksheets/sheet2.xml",
            sharedStrings="sharedStrings.xml", styles="styles.xml",
        ),
        "xl/worksheets/sheet1.xml":
            f'{_HEAD}<worksheet xmlns="{SHEET}"><sheetData>{data}</sheetData></worksheet>',
        "xl/worksheets/sheet2.xml":
            f'<worksheet xmlns="{SHEET}"><sheetData/></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}">{strings}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{SHEET}">{styles}</styleSheet>',
    })  # fmt: skip
