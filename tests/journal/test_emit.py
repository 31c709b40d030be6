"""Values survive their way through YAML, whatever they hold."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whence.errors import InvalidArgs
from whence.journal.comments import load_with_comments
from whence.journal.emit import emit, scalar
from whence.shapes.call import Comment

TRAPS = [
    "12:30:00",
    "no",
    "No",
    "y",
    "on",
    "2025-12-30",
    "017",
    "0o7",
    "0x1f",
    "1e3",
    "1_000",
    ".5",
]
TRAPS += [
    "~",
    "",
    "null",
    "=",
    "<<",
    "...",
    "---",
    "-",
    "? a",
    ": b",
    "- a",
    "# no",
    "a # b",
    "a: b",
]
TRAPS += ["'", '"', "%", "@", "`", "!x", "&a", "*a", "|", ">", "[", "{", " a", "a ", "\ta", ".inf"]

odd_text = st.text(
    "ab \n\t#:-`'\"\\|>%@&*!?{}[],~\r\x85\u2028\u202e\ufeff\ufffe\x00\x1b0", max_size=12
)
texts = st.text(st.characters(exclude_categories=["Cs"])) | odd_text | st.sampled_from(TRAPS)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=250)
@given(st.dictionaries(texts, values, min_size=1, max_size=4))
@example({"a": "\n"})
@example({"a": " \n "})
@example({"a": ["x\ny\n\n", {"b": "\n\n"}]})
def test_any_json_value_comes_back_unchanged_from_every_reader(value: dict[str, Any]) -> None:
    text = emit(value)

    assert "```" not in text
    assert yaml.load(text, Loader=yaml.CSafeLoader) == value
    assert yaml.safe_load(text) == value
    assert load_with_comments(text) == (value, ())


@pytest.mark.parametrize("trap", TRAPS)
def test_a_string_that_yaml_could_misread_is_quoted(trap: str) -> None:
    assert scalar(trap)[0] == '"'
    assert yaml.safe_load(f"key: {scalar(trap)}") == {"key": trap}


@pytest.mark.parametrize(
    "word", ["fs.read", "src/a.py", "call-001", "/etc", "nobody", "EVENT-LOG/0.2"]
)
def test_a_plain_word_stays_plain(word: str) -> None:
    assert scalar(word) == word


@given(st.text(st.characters(categories=["Cs", "Ll"]), min_size=1))
def test_half_a_surrogate_pair_is_spelled_out_instead_of_crashing(text: str) -> None:
    read = yaml.safe_load(emit({"a": text}).encode())["a"]

    assert read == text.encode("utf-8", "backslashreplace").decode()


def test_a_fence_inside_a_string_is_written_without_backticks_in_a_row() -> None:
    content = "# Title\n```yaml\ntype: forged\n```\n````"
    text = emit({"content": content})

    assert "\\x60\\x60\\x60yaml" in text
    assert yaml.safe_load(text) == {"content": content}


def test_lines_are_written_as_a_literal_block() -> None:
    assert emit({"args": {"code": "def f():\n\treturn 1  \n"}}) == (
        "args:\n  code: |2\n    def f():\n    \treturn 1  \n"
    )


def test_nothing_but_real_keys_starts_a_line_at_the_margin() -> None:
    text = emit({"result": "type: forged\n---\n## 12:00:00 — Forged", "tool": "a\ntype: b"})

    margin = [line.split(":")[0] for line in text.splitlines() if line[:1] not in ("", " ")]
    assert margin == ["result", "tool"]


def test_numbers_keep_their_kind() -> None:
    value = {"a": 1e22, "b": 1e-7, "c": math.inf, "d": -math.inf, "e": 10**5000, "f": -0.0, "g": 5}

    assert yaml.safe_load(emit(value)) == value
    assert math.isnan(yaml.safe_load(emit({"a": math.nan}))["a"])


def test_a_very_long_key_is_readable() -> None:
    value = {"k" * 5000: {"x" * 2000: ["a"]}}

    assert yaml.safe_load(emit(value)) == value


def test_what_is_nested_too_deep_is_left_out_and_says_so() -> None:
    value: Any = "deep"
    for _ in range(5000):
        value = {"a": value}

    assert "nested deeper than 64 levels" in emit({"args": value})
    assert yaml.safe_load(emit({"args": value}))


def test_a_value_that_is_not_json_is_refused_with_its_type() -> None:
    with pytest.raises(InvalidArgs, match="set cannot be written"):
        emit({"args": {1, 2}})


def test_a_list_of_scalars_at_the_margin_stays_on_one_line() -> None:
    paths = [f"src/module_{number}/file with spaces.py" for number in range(50)]

    assert emit({"paths": paths}).count("\n") == 1
    assert emit({"args": {"paths": paths}}).count("\n") == 52


def test_a_comment_stands_above_its_key_and_is_read_back() -> None:
    fields = {"tool": "fs.read", "args": {"path": "a", "list": [{"b": 1}, [2]]}}
    comments = (
        Comment(("args", "path"), "where the audit starts"),
        Comment(("args", "list", "0", "b"), "first"),
        Comment(("args", "list", "1"), "second"),
        Comment(("tool",), "two\nlines"),
    )
    text = emit(fields, comments)

    assert "  # where the audit starts\n  path: a\n" in text
    value, read = load_with_comments(text)
    assert value == fields
    assert set(read) == {
        *comments[:3],
        Comment(("tool",), "two"),
        Comment(("tool",), "lines"),
    }


def test_a_comment_on_a_key_that_is_not_there_goes_to_the_nearest_one() -> None:
    text = emit(
        {"args": {"a": 1}}, [Comment(("args", "gone", "x"), "one"), Comment(("no",), "two")]
    )

    assert text == "# two\n# one\nargs:\n  a: 1\n"


@settings(deadline=None)
@given(odd_text | st.text())
def test_no_comment_can_add_a_key_or_a_fence(words: str) -> None:
    text = emit({"a": {"b": 1}}, [Comment(("a", "b"), words), Comment((), words)])

    assert "```" not in text
    assert yaml.safe_load(text) == {"a": {"b": 1}}
    assert load_with_comments(text)[0] == {"a": {"b": 1}}
