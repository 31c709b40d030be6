"""Every problem is named with its place, its line and what to do; reading goes on behind it."""

from __future__ import annotations

import pytest

from whence.chatmd.parse import parse
from whence.chatmd.problems import PROBLEMS
from whence.shapes.document import Diagnostic, Severity

CALL = '<tool_call tool_call_id="c" function_name="f">{}</tool_call>\n'
RESPONSE = '<tool_response tool_call_id="c">ok</tool_response>\n'

CASES: dict[str, tuple[str, int, int]] = {
    "text-outside": ("<user>a</user>\n  stray words\n<user>b</user>", 2, 3),
    "unknown-element": ("\n<systm>a</systm>", 2, 1),
    "misplaced-element": ('<param name="a"/>', 1, 1),
    "content-outside": ('<user>a</user> <doc src="x"/>', 1, 16),
    "stray-closing-tag": ("<user>a</user>\n</user>", 2, 1),
    "unclosed-element": ("<system>a</system>\n<user>b", 2, 1),
    "unclosed-void": ('<config model="a">\n<user>a</user>', 1, 1),
    "unclosed-tag": ('<user id="a"\n<user>b</user>', 1, 1),
    "unclosed-quote": ('<user>a</user>\n<user id="a>b</user>', 2, 7),
    "malformed-tag": ('<user id="a", name="b">a</user>', 1, 13),
    "unclosed-comment": ("<user>a <!-- b</user>", 1, 9),
    "unclosed-raw": ("<user>a\nRAW|b</user>", 2, 1),
    "nested-element": ("<user>\n<system>a</system></user>", 2, 1),
    "too-deep": ("<user>" + '<agent src="a">' * 64 + "</agent>" * 64 + "</user>", 1, 952),
    "comment-hides-tag": ("<user>a <!-- </user> --></user>", 1, 9),
    "raw-in-raw": ("<user>RAW|a RAW|b|RAW</user>", 1, 7),
    "stray-raw-end": ("<user>RAW|a|RAW b|RAW</user>", 1, 18),
    "merge-conflict": ("<user>a</user>\n<<<<<<< HEAD\n<user>b</user>\n", 2, 1),
    "merge-conflict-text": (
        "<user>\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n</user>",
        2,
        1,
    ),
    "unknown-attribute": ('<tool nmae="a"/>', 1, 7),
    "duplicate-attribute": ('<tool name="a" name="b"/>', 1, 16),
    "missing-attribute": ("<user><doc local/></user>", 1, 7),
    "too-many-attributes": ("<user " + "id " * 1000 + ">a</user>", 1, 1),
    "not-a-flag": ('<config show_tool_call="maybe"/>', 1, 9),
    "unknown-role": ('<msg role="usr">a</msg>', 1, 6),
    "tag-in-value": ('<user name="<system>">a</user>', 1, 1),
    "ignored-text": ('<tool name="a">words</tool>', 1, 16),
    "late-declaration": ('<assistant>a</assistant>\n<tool name="a"/>', 2, 1),
    "duplicate-call-id": (CALL + RESPONSE + CALL + RESPONSE, 3, 1),
    "duplicate-response": (CALL + RESPONSE + RESPONSE, 3, 1),
    "response-without-call": (RESPONSE, 1, 1),
    "call-without-response": (CALL, 1, 1),
    "not-utf8": ("<user>é</user>", 1, 7),
    "nul-byte": ("<user>a\0b</user>", 1, 8),
    "too-many": ("<x>\n" * 1001, 1000, 1),
}


def _find(code: str) -> list[Diagnostic]:
    source = CASES[code][0]
    encoded = source.encode("latin-1" if code == "not-utf8" else "utf-8")
    return [found for found in parse(encoded).diagnostics if found.code == code]


def test_every_problem_has_a_case_here() -> None:
    assert sorted(CASES) == sorted(PROBLEMS)


@pytest.mark.parametrize("code", CASES)
def test_a_problem_is_found_where_it_is(code: str) -> None:
    found = _find(code)[0]
    source, line, column = CASES[code]

    assert (found.line, found.column) == (line, column)
    assert found.severity is PROBLEMS[code].severity
    assert found.suggestion
    assert "{" not in found.message + found.suggestion
    if code != "not-utf8":
        assert found.source_line in source.split("\n")[line - 1]
        assert str(found).startswith(f"{line}:{column}: {found.severity}: ")


def test_all_problems_of_a_file_are_reported_in_order() -> None:
    document = parse(
        'words\n<tool nme="a"/>\n<user id="x>hi</user>\n'
        "<asistant>b</asistant>\n<user>c\n<user>d</user>"
    )

    assert [(found.line, found.code) for found in document.diagnostics] == [
        (1, "text-outside"),
        (2, "unknown-attribute"),
        (3, "unclosed-quote"),
        (4, "unknown-element"),
        (5, "unclosed-element"),
    ]
    assert document.errors == document.diagnostics[:]


def test_suggestions_name_what_was_probably_meant() -> None:
    found = parse('<tool comand="a"/><asistant/><user ide="x">a</user>').diagnostics

    assert [one.suggestion for one in found] == [
        "Did you mean command?",
        "Did you mean <assistant>?",
        "Did you mean id?",
    ]


def test_without_a_likely_name_the_known_ones_are_listed() -> None:
    unknown, attribute = parse('<zzz/><tool qqqqqqqqq="a"/>').diagnostics

    assert "user assistant system" in unknown.suggestion
    assert "mcp_server" in attribute.suggestion


def test_conflict_markers_of_both_sides_are_recognised() -> None:
    document = parse(
        "<user>a</user>\n<<<<<<< HEAD\n<user>b</user>\n"
        "||||||| base\n=======\n<user>c</user>\n>>>>>>> x\n"
    )

    assert [(found.line, found.code) for found in document.errors] == [
        (2, "merge-conflict"),
        (4, "merge-conflict"),
        (7, "merge-conflict"),
    ]
    assert len(list(document.items())) == 3


def test_a_conflict_that_splits_a_message_is_recognised() -> None:
    document = parse("<user>\n<<<<<<< HEAD\nb\n</user>\n=======\nc\n</user>\n>>>>>>> x\n")

    assert "merge-conflict" in [found.code for found in document.errors]


def test_conflict_markers_inside_a_raw_block_only_warn() -> None:
    document = parse("<user>RAW|\n<<<<<<< a\n=======\n>>>>>>> b\n|RAW</user>")

    assert [(one.code, one.severity) for one in document.diagnostics] == [
        ("merge-conflict-text", Severity.WARNING)
    ]


def test_an_edit_in_search_and_replace_blocks_is_no_conflict() -> None:
    edit = "<<<<<<< SEARCH\n:start_line:2\n-------\na\n=======\nb\n>>>>>>> REPLACE\n"

    assert parse(f"<assistant>RAW|\n{edit}|RAW</assistant>\n").diagnostics[:] == ()


def test_a_response_may_lack_its_call_in_the_end_of_a_longer_file() -> None:
    assert not parse(RESPONSE, partial=True).diagnostics
    assert parse(RESPONSE).errors


def test_a_response_before_its_call_is_an_error() -> None:
    found = [one.code for one in parse(RESPONSE + CALL).diagnostics]

    assert found == ["response-without-call", "duplicate-call-id", "call-without-response"]


def test_messages_in_the_role_of_a_tool_are_linked_too() -> None:
    text = (
        '<msg role="tool" tool_call tool_call_id="a" function_name="f">{}</msg>\n'
        '<msg role="tool" tool_call_id="a">x</msg>\n<msg role="tool" tool_call_id="b">x</msg>'
    )

    assert [(one.line, one.code) for one in parse(text).diagnostics] == [
        (3, "response-without-call")
    ]


@pytest.mark.parametrize("source", ["<user>hi</user>".encode("utf-16"), b"\xfe\xff\x00<"])
def test_utf_16_is_named(source: bytes) -> None:
    found = parse(source).errors[0]

    assert found.message == "This UTF-16 file is not UTF-8."


@pytest.mark.parametrize("at", [0, 16_382, 16_383, 16_384, 40_000])
def test_a_bad_byte_is_found_wherever_reading_is_cut(at: int) -> None:
    source = b"<user>" + ("é" * at).encode() + b"\xe9" + "日".encode() * 9000 + b"</user>"
    (found,) = parse(source).diagnostics

    assert found.code == "not-utf8"
    assert found.span.start == 6 + 2 * at


def test_a_good_file_is_not_blamed_for_where_reading_is_cut() -> None:
    for shift in range(5):
        assert not parse("<user>" + "a" * shift + "日本😀é" * 5000 + "</user>").diagnostics


def test_a_lone_surrogate_is_not_utf8() -> None:
    document = parse("<user>\ud800</user>")

    assert [found.code for found in document.diagnostics] == ["not-utf8"]
    assert next(document.tagged("user")).text == "\ud800"


def test_only_so_many_problems_are_listed_and_the_rest_is_said_to_exist() -> None:
    document = parse("<tool foo/>\n" * 3000)

    assert len(document.diagnostics) == 1001
    assert document.diagnostics[-1].code == "too-many"


def test_a_long_line_is_shown_around_the_place() -> None:
    document = parse("<user>" + "é" * 10_000 + "</user> stray " + "x" * 10_000)
    (found,) = document.diagnostics

    assert found.column == 10_015
    assert "stray" in found.source_line
    assert len(found.source_line) < 400


def test_a_declaration_before_the_conversation_is_fine() -> None:
    assert not parse('<user>a</user><tool name="x"/><assistant>b</assistant>').diagnostics
