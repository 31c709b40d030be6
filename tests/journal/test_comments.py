"""Comments are data: found where they are, and never inside a value."""

from __future__ import annotations

import pytest

from whence.errors import ParseError
from whence.journal.comments import load_with_comments
from whence.shapes.call import Comment


def test_a_hash_inside_a_scalar_is_not_a_comment() -> None:
    text = """
a: "quoted # not"
b: 'single # not'
c: plain#not
d: |
  literal # not
  # not either
e: >-
  folded
  # not
f: "two
  lines # not"
"""

    assert load_with_comments(text)[1] == ()


def test_a_comment_belongs_to_the_key_that_follows() -> None:
    text = """# first
tool: fs.read
args:
  # part of the parser audit
  # two lines
  why: because  # behind
  list:
    # item
    - name: x  # named
    - y  # bare
# last
"""

    assert load_with_comments(text)[1] == (
        Comment(("tool",), "first"),
        Comment(("args", "why"), "part of the parser audit"),
        Comment(("args", "why"), "two lines"),
        Comment(("args", "why"), "behind"),
        Comment(("args", "list", "0"), "item"),
        Comment(("args", "list", "0", "name"), "named"),
        Comment(("args", "list", "1"), "bare"),
        Comment((), "last"),
    )


def test_a_comment_after_a_block_scalar_is_found() -> None:
    text = "a: |\n  text\n# about b\nb: 1\nc: [1, 2] # about c\nd: {e: 1,\n  # about f\n  f: 2}\n"

    assert load_with_comments(text)[1] == (
        Comment(("b",), "about b"),
        Comment(("c",), "about c"),
        Comment(("d", "f"), "about f"),
    )


def test_comments_behind_wide_characters_keep_their_keys() -> None:
    text = "ä: 𝔘𝔫𝔦  # eins\nß: '# nein' # zwei\n"

    assert load_with_comments(text)[1] == (Comment(("ä",), "eins"), Comment(("ß",), "zwei"))


def test_a_document_of_comments_only_has_no_value() -> None:
    assert load_with_comments("# nothing\n") == (None, (Comment((), "nothing"),))


def test_scalars_are_read_as_yaml_1_2_has_them() -> None:
    text = "a: no\nb: 12:30:00\nc: 2025-12-30\nd: 017\ne: 1e3\nf: ~\ng: true\nh: 0o17\n1: on\n"

    assert load_with_comments(text)[0] == {
        "a": "no",
        "b": "12:30:00",
        "c": "2025-12-30",
        "d": "017",
        "e": 1000.0,
        "f": None,
        "g": True,
        "h": 15,
        "1": "on",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &x [1]\nb: *x\n", "line 1, column 4: an alias"),
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key 'a' twice"),
        ("a: !!python/object:os.system x\n", "the tag"),
        ("a: !!binary aGk=\n", "the tag"),
        ("? [1]\n: 2\n", "a key that is not a string"),
        ("a: [1\n", "not readable as YAML"),
        ("a: 1\n---\nb: 2\n", "not readable as YAML"),
        ("[" * 5000, "not readable as YAML"),
        ("a: \x00\n", "not readable as YAML"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        load_with_comments(text)

    assert said in caught.value.message
    assert caught.value.suggestion


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "{a: " * 50_000, "? " * 50_000])
def test_what_is_nested_too_deep_is_an_error_and_no_crash(text: str) -> None:
    with pytest.raises(ParseError):
        load_with_comments(text)
