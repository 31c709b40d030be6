"""MiniLM in numpy against the reference implementation, whose values stand here."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.provider.local.weights import MINILM, VOCABULARY
from whence.provider.local.wordpiece import WordPiece, words

# Tokens and the first figures of the vectors, from the original tokenizer and network.
REFERENCE = {
    "How do I read a file?": (
        [101, 2129, 2079, 1045, 3191, 1037, 5371, 1029, 102],
        [0.05791, 0.04219, -0.13847, -0.03583, -0.02278, -0.00683],
    ),
    "List directory contents": (
        [101, 2862, 14176, 8417, 102],
        [0.01073, 0.0293, -0.05192, 0.02687, 0.07063, -0.01252],
    ),
    "The quick brown fox jumps over the lazy dog.": (
        [101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012, 102],
        [0.04393, 0.05893, 0.04818, 0.07755, 0.02674, -0.03763],
    ),
}


@pytest.mark.requirement("local:minilm")
@pytest.mark.parametrize("text", REFERENCE)
def test_tokens_and_vectors_are_those_of_the_reference(models: Path, text: str) -> None:
    from whence.provider.local.minilm import MiniLM

    tokens, figures = REFERENCE[text]
    (vector,) = MiniLM(models / MINILM, models / VOCABULARY).embed([text])

    assert WordPiece(models / VOCABULARY).encode(text, 256) == tokens
    assert vector[:6].tolist() == pytest.approx(figures, abs=2e-4)
    assert float(vector @ vector) == pytest.approx(1, abs=1e-4)


def test_nearness_is_that_of_the_reference_and_repeats(models: Path) -> None:
    from whence.provider.local.minilm import MiniLM

    minilm = MiniLM(models / MINILM, models / VOCABULARY)
    question, listing, fox = REFERENCE
    near = minilm.rank(question, [listing, fox])

    assert near == pytest.approx([0.27015, 0.03059], abs=2e-3)
    assert minilm.rank(question, [listing, fox]) == near


def test_a_long_text_is_cut(models: Path) -> None:
    pieces = WordPiece(models / VOCABULARY)

    assert len(pieces.encode("word " * 1000, 256)) == 256
    assert pieces.encode("word " * 1000, 256)[-1] == pieces.encode("", 256)[-1]


def test_an_unknown_word_is_one_unknown_piece(models: Path) -> None:
    pieces = WordPiece(models / VOCABULARY)

    assert pieces.encode("x" * 150, 256) == [101, 100, 102]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Naïve Café", ["naive", "cafe"]),
        ("don't", ["don", "'", "t"]),
        ("漢字 ok", ["漢", "字", "ok"]),
        ("a\u200bb\x00c\td", ["abc", "d"]),
        ("a—b…", ["a", "—", "b", "…"]),
        ("", []),
    ],
    ids=["accents", "signs", "ideographs", "control", "punctuation", "nothing"],
)
def test_words_are_lower_case_without_accents_and_signs_stand_alone(
    text: str, found: list[str]
) -> None:
    assert list(words(text)) == found
