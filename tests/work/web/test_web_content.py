"""What becomes of each content type and charset."""

from __future__ import annotations

import re

import pytest

from whence.errors import InvalidArgs, QuotaExceeded
from whence.shapes.web import Fetched
from whence.work.web.charset import to_text
from whence.work.web.content import as_markdown, as_source, as_text
from whence.work.web.fence import fenced


def sent(body: bytes | str, content_type: str = "", charset: str | None = None) -> Fetched:
    data = body.encode() if isinstance(body, str) else body
    return Fetched("https://example.org/x", 200, {}, content_type, charset, data)


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", "<h1>a</h1>", "# a"),
        ("application/xhtml+xml", "<?xml version='1.0'?><html><p>a</p></html>", "a"),
        ("text/plain", "a  <b>\n  * c_d\n", "a  <b>\n  * c_d\n"),
        ("text/markdown", "# a\n\n|b|\n", "# a\n\n|b|\n"),
        ("application/json", '{"b":1.10,"a":[]}', '```json\n{\n  "b": 1.10,\n  "a": []\n}\n```'),
        ("application/ld+json", "[1]", "```json\n[\n  1\n]\n```"),
        ("application/xml", "<a/>", "```xml\n<a/>\n```"),
        ("application/atom+xml", "<feed/>", "```xml\n<feed/>\n```"),
        ("text/csv", "a,b\n", "```csv\na,b\n```"),
        ("text/x-python", "x = 1\n", "```python\nx = 1\n```"),
        ("application/javascript", "f()", "```javascript\nf()\n```"),
        ("", "<!DOCTYPE html><p>a", "a"),
        ("", "  just text", "  just text"),
        ("application/octet-stream", "just text", "just text"),
    ],
)
def test_each_type_has_its_form(content_type: str, body: str, expected: str) -> None:
    converted = as_markdown(sent(body, content_type))

    assert converted.markdown == expected
    assert converted.warnings == ()


@pytest.mark.parametrize(
    ("content_type", "body", "what"),
    [
        ("image/png", b"\x89PNG\r\n", "image/png, a PNG image"),
        ("image/svg+xml", b"<svg><script>alert(1)</script></svg>", "image/svg+xml"),
        ("application/zip", b"PK\x03\x04", "ZIP archive"),
        ("video/mp4", b"xx", "video/mp4"),
        ("", b"\x7fELF\0\0", "a program"),
        ("text/html", b"\x89PNG\0\0\0", "a PNG image"),
        ("application/octet-stream", b"\0\1\2", "application/octet-stream"),
    ],
)
def test_what_is_no_text_is_refused_and_named(content_type: str, body: bytes, what: str) -> None:
    for read in (as_markdown, as_text, as_source):
        with pytest.raises(InvalidArgs, match=re.escape(what)):
            read(sent(body, content_type))


def test_a_script_in_a_drawing_in_a_page_leaves_no_trace() -> None:
    page = sent("<p>a<svg><script>alert(1)</script><text>t</text></svg>", "text/html")

    assert as_markdown(page).markdown == "a"


@pytest.mark.parametrize("body", ['{"a":', "", "[" * 100_000, "{'a': 1}"])
def test_broken_json_is_shown_as_it_is_with_a_warning(body: str) -> None:
    converted = as_markdown(sent(body, "application/json"))

    assert converted.markdown == f"```json\n{body}\n```"
    assert "not valid" in converted.warnings[0]


def test_deep_json_is_not_blown_up_by_its_indentation() -> None:
    body = "[" * 500 + ",".join("1" * 20_000) + "]" * 500

    converted = as_markdown(sent(body, "application/json"))

    assert len(converted.markdown) < 3 * len(body)
    assert converted.warnings == ()


def test_a_fence_in_the_text_does_not_end_the_fence_around_it() -> None:
    assert fenced("a\n````\nb", "sh") == "`````sh\na\n````\nb\n`````"
    assert fenced("", "") == "```\n\n```"


def test_more_than_5_megabytes_of_text_are_refused() -> None:
    with pytest.raises(QuotaExceeded, match="document exceeds 5000000 bytes"):
        as_markdown(sent(b"x" * 5_000_001, "text/html"))


def test_the_source_is_the_source_and_the_text_is_the_text() -> None:
    page = sent("<p>a <b>b</b></p>\n", "text/html")

    assert as_source(page).markdown == "<p>a <b>b</b></p>\n"
    assert as_text(page).markdown == "a\nb"
    assert as_text(sent(" a \n\n b ", "text/plain")).markdown == "a\nb"


@pytest.mark.parametrize(
    ("body", "header", "text"),
    [
        ("ä€".encode(), None, "ä€"),
        ("ä€".encode("cp1252"), "windows-1252", "ä€"),
        ("ä€".encode("cp1252"), "ISO-8859-1", "ä€"),
        (b"\xef\xbb\xbf\xc3\xa4", "latin1", "ä"),
        ("ä".encode("utf-16"), None, "ä"),
        ("日本".encode("shift_jis"), "Shift_JIS", "日本"),
        (b'<meta charset="koi8-r">' + "да".encode("koi8-r"), None, '<meta charset="koi8-r">да'),
        (
            b"<META http-equiv=x content='text/html; charset=windows-1251'>\xe4",
            None,
            "<META http-equiv=x content='text/html; charset=windows-1251'>д",
        ),
        (b"<?xml encoding='iso-8859-2'?>\xb1", None, "<?xml encoding='iso-8859-2'?>ą"),
        (b"<meta charset=utf-16>a", None, "<meta charset=utf-16>a"),
        (b"<meta charset=latin1>\xc3\xa4", "utf-8", "<meta charset=latin1>ä"),
    ],
)
def test_the_charset_is_found(body: bytes, header: str | None, text: str) -> None:
    assert to_text(body, header, markup=True) == (text, ())


@pytest.mark.parametrize("label", ["nonsense", "unicode_escape", "punycode", "zlib", "\0", "utf-7"])
def test_a_charset_that_is_none_is_named_and_utf_8_assumed(label: str) -> None:
    text, warnings = to_text("ä".encode(), label, markup=False)

    assert text == "ä"
    assert repr(label) in warnings[0]


def test_bytes_that_fit_no_charset_are_counted() -> None:
    text, warnings = to_text(b"caf\xe9 \xff", None, markup=True)

    assert text == "caf\ufffd \ufffd"
    assert warnings == ("2 characters could not be read as utf-8, which was assumed.",)


def test_a_meta_element_counts_in_markup_only() -> None:
    text, _ = to_text(b"<meta charset=latin1>\xc3\xa4", None, markup=False)

    assert text.endswith("ä")
