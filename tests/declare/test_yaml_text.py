"""YAML that was written to harm whoever reads it."""

from __future__ import annotations

import pytest
import yaml

from whence.declare.modes import parse_modes
from whence.declare.yaml_text import load_yaml
from whence.errors import ParseError


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "64 levels"),
        ("- " * 100_000, "64 levels"),
        ("{a: " * 100_000, "64 levels"),
        ("? " * 100_000, "64 levels"),
        ("2026-99-99", "month must be"),
        ("9" * 5_000, "digits"),
        ("!!int x", "invalid literal"),
        ("&a [*a]", "aliases written out"),
        ("!!python/name:os.system x", "could not determine a constructor"),
    ],
    ids=["lists", "items", "mappings", "keys", "date", "digits", "tag", "cycle", "object"],
)
def test_what_would_crash_a_parser_is_an_error_of_yaml(text: str, says: str) -> None:
    with pytest.raises(yaml.YAMLError, match=says):
        load_yaml(text)


def test_aliases_that_multiply_are_refused_without_being_written_out() -> None:
    lists = [
        f"&{name} [{', '.join([f'*{last}'] * 9)}]"
        for last, name in zip("abcdefghi", "bcdefghij", strict=True)
    ]

    with pytest.raises(yaml.YAMLError, match="aliases written out"):
        load_yaml("[" + ", ".join(["&a [x]", *lists]) + "]")


def test_an_ordinary_document_is_read_with_its_aliases() -> None:
    assert load_yaml("a: &x [1, {b: 2026-01-02}]\nc: *x\n")["c"][0] == 1
    assert load_yaml(b"") is None


def test_a_file_of_modes_that_is_nested_too_deep_is_named() -> None:
    with pytest.raises(ParseError, match=r"\.roomodes is not YAML: nested more than 64"):
        parse_modes("customModes: " + "[" * 100_000, ".roomodes")
