"""Requests, cut into pieces and steps."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.declare.toolbox import Toolbox
from whence.provider.local.pieces import Kind, number_of, pieces_of
from whence.provider.local.plan import parted, steps_of
from whence.provider.local.reason import reason


def kinds(request: str) -> list[tuple[str, str]]:
    return [(p.kind.value, p.text) for p in pieces_of(request) if p.kind is not Kind.WORD]


@pytest.mark.parametrize(
    ("request_text", "found"),
    [
        ('append "buy milk" to a.txt', [("quoted", "buy milk"), ("dotted", "a.txt")]),
        ("say 'it's fine' now", [("quoted", "it's fine")]),
        ("it's John's file", []),
        ("get https://example.org/a?b=1, please", [("url", "https://example.org/a?b=1")]),
        ("is server01.local up, or 10.0.0.1?", [("host", "server01.local"), ("host", "10.0.0.1")]),
        ("mail jo@example.org.", [("email", "jo@example.org")]),
        ("grep *.py in src/", [("glob", "*.py"), ("path", "src/")]),
        ("copy ../a to ./b.", [("path", "../a"), ("path", "./b")]),
        ("at 10:30 on 2026-01-31", [("time", "10:30"), ("time", "2026-01-31")]),
        ("add 2.5 and -3, issue #42, 1,000 more",
         [("number", "2.5"), ("number", "-3"), ("number", "#42"), ("number", "1,000")]),
        ("version v1.2.3 after 1.2.2", [("dotted", "v1.2.3")]),
        ("lines 100-120 at 9am", [("number", "100"), ("number", "120"), ("time", "9am")]),
        ("docs/setup guide.md, src/lib and a.py",
         [("path", "docs/setup guide.md"), ("path", "src/lib"), ("dotted", "a.py")]),
        ("LICENSE, a license and .env.local", [("dotted", "LICENSE"), ("dotted", ".env.local")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_things_are_told_by_their_shape(request_text: str, found: list[tuple[str, str]]) -> None:
    assert kinds(request_text) == found


def test_a_bracket_belongs_to_the_word_that_opened_it() -> None:
    said = [piece.text for piece in pieces_of("print(sum(x)) (see a.py).")]

    assert said == ["print(sum(x))", "see", "a.py"]


def test_numbers_are_read_from_digits_and_from_small_words() -> None:
    said = [number_of(piece) for piece in pieces_of("1,000 #42 2.5 three cows")]

    assert said == [1000, 42, 2.5, 3, None]


@given(st.text(max_size=80))
@settings(deadline=None)
def test_every_piece_stands_in_the_request_where_it_says(text: str) -> None:
    pieces = pieces_of(text)

    assert all(text[piece.start : piece.end] == piece.text for piece in pieces)
    assert all(a.end <= b.start for a, b in pairwise(pieces))


@pytest.mark.requirement("local:steps")
@pytest.mark.parametrize(
    ("request_text", "steps"),
    [
        ("read a.txt and then list src", ["read a.txt", "list src"]),
        ("First list src, then read a.ts.", ["list src", "read a.ts."]),
        ("copy a to b and append \"x\" to c", ["copy a to b", 'append "x" to c']),
        ("Read a.txt. Then delete it", ["Read a.txt", "delete it"]),
        ("write 'read this and then list that' to a.txt",
         ["write 'read this and then list that' to a.txt"]),
        ("an issue with the labels bug and urgent", ["an issue with the labels bug and urgent"]),
        ("run the command df -h", ["run the command df -h"]),
        ("what is 2 and 3?", ["what is 2 and 3?"]),
        ("rain in the next 3 days", ["rain in the next 3 days"]),
        ("read a.md, next list src", ["read a.md", "list src"]),
        ("1. read a.md 2) list src", ["read a.md", "list src"]),
        ("- read a.md\n- list src", ["read a.md", "list src"]),
        ("first 5 lines of a.md", ["first 5 lines of a.md"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_request_is_cut_where_it_asks_for_one_more_thing(
    request_text: str, steps: list[str]
) -> None:
    assert steps_of(request_text, Toolbox()) == steps


@given(st.text(min_size=1, max_size=80).filter(str.strip))
@settings(deadline=None)
def test_every_request_has_steps_made_of_its_own_words(text: str) -> None:
    steps = steps_of(text, Toolbox())

    assert steps
    assert all(step in text for step in steps)


def test_a_reason_names_the_request_and_the_step() -> None:
    assert reason("list src", 1, 1) == "Carry out the request “list src”"
    assert reason("What is\n in src?", 2, 3) == (
        "Answer the question “What is in src?”, step 2 of 3"
    )
    assert len(reason("word " * 400, 1, 1)) < 240


def test_a_request_is_told_from_the_documents_that_come_with_it() -> None:
    long = "A sentence of a document. " * 40
    orders = " and then ".join(f"read n{number}.txt" for number in range(40))

    assert parted(["read ", "a.txt"]) == ("read a.txt", "")
    assert parted(["Who wrote it?", long]) == ("Who wrote it?", long)
    assert parted([f"{long}\n\nWho wrote it?"]) == ("Who wrote it?", long)
    assert parted([f"Find the author.\n\n{long}"]) == ("Find the author.", long.strip())
    assert parted([orders]) == (orders, "")
