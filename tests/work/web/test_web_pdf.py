"""PDF as text, from files made here byte by byte."""

from __future__ import annotations

import sys
import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import ExecutionFailed, InvalidArgs, Unavailable
from whence.shapes.web import Fetched
from whence.work.web.content import as_markdown
from whence.work.web.pdf import pdf_text


def pdf(*texts: str, packed: bytes | None = None) -> bytes:
    """A file with one line of text on each page; `packed` is the content of the first instead."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(texts)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(texts)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(texts):
        page = f"<< /Type /Page /Parent 2 0 R /Contents {5 + 2 * number} 0 R /MediaBox [0 0 9 9]"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        stream, how = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode(), b""
        if packed is not None and number == 0:
            stream, how = packed, b" /Filter /FlateDecode"
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(stream), how, stream))
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\n"
        % (
            size,
            table,
            size,
        )
        + b"startxref\n%d\n%%%%EOF\n" % len(out)
    )


def test_each_page_stands_under_its_number() -> None:
    fetched = Fetched("https://e.org/x", 200, {}, "application/pdf", None, pdf("Hello", "World"))

    converted = as_markdown(fetched)

    assert converted.markdown == "<!-- page 1 -->\n\nHello\n\n<!-- page 2 -->\n\nWorld"


def test_a_pdf_is_known_by_its_first_bytes_too() -> None:
    fetched = Fetched("https://e.org/x", 200, {}, "text/html", None, pdf("Hello"))

    assert "Hello" in as_markdown(fetched).markdown


def test_pages_beyond_the_limit_are_left_out_and_counted() -> None:
    converted = pdf_text(pdf(*"abcde"), most_pages=2)

    assert "page 2" in converted.markdown
    assert "page 3" not in converted.markdown
    assert converted.warnings == ("Only 2 of the 5 pages of the PDF were read.",)
    assert pdf_text(pdf("long text", "b"), most_chars=5).warnings


def test_a_pdf_without_text_is_refused_as_scanned() -> None:
    with pytest.raises(InvalidArgs, match="without text") as caught:
        pdf_text(pdf(""))

    assert "scanned" in caught.value.suggestion


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4", pdf("x")[:200], b"%PDF-" + b"\xff" * 5000])
def test_a_damaged_pdf_is_an_error(data: bytes) -> None:
    with pytest.raises(ExecutionFailed, match="damaged"):
        pdf_text(data)


def test_a_bomb_inside_a_pdf_is_not_unpacked() -> None:
    with pytest.raises((ExecutionFailed, InvalidArgs)):
        pdf_text(pdf("x", packed=zlib.compress(b" " * 100_000_000, 9)))


def test_an_encrypted_pdf_is_refused_as_such() -> None:
    data = pdf("secret").replace(
        b"/Root 1 0 R",
        b"/Root 1 0 R /ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 "
        b"/O <%s> /U <%s> >>" % (b"00" * 32, b"11" * 32),
    )

    with pytest.raises(InvalidArgs, match="encrypted"):
        pdf_text(data)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)

    with pytest.raises(Unavailable, match="pypdf") as caught:
        pdf_text(pdf("x"))

    assert "whence[web]" in caught.value.suggestion


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 600), st.binary(min_size=1, max_size=8))
def test_no_damage_raises_anything_else(at: int, junk: bytes) -> None:
    whole = pdf("Hello", "World")
    with suppress(ExecutionFailed, InvalidArgs):
        pdf_text(whole[:at] + junk + whole[at + len(junk) :])
