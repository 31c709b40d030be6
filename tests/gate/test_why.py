"""A reason must be there, and must say something."""

from __future__ import annotations

from typing import Any

import pytest

from whence.gate.why import judge
from whence.shapes.policy import WhyPolicy

GOOD = [
    "Find where YAML Jazz is defined to understand its principles",
    "Create summary of tool outputs to reduce context size",
    "Run tests to verify the patch works",
    "Check if recursive descent handles nested expressions",
    "Append final summary",
    "Check recursive descent",
    "Get rendering rules",
    "Überprüfen, ob die Datei gültig ist",
    "确认解析器的入口",
]
WEAK = [
    "read the file",
    "because I need it",
    "I need to do this",
    "reading the files",
    "list files in src",
    "calling fs.read",
    "Use the tool to get the contents",
    "read src/x.ts",
]
ABSENT = [
    *[None, "", "   ", "\n\t", "...", "?!", "—", "n/a", "N/A.", "none", "TODO", "tbd", "x", "test"],
    *["no reason", "No reason.", "placeholder", 5, True, ["a reason"], {"a": "reason"}],
]


def judged(why: object, policy: WhyPolicy = WhyPolicy.REQUIRED, **arguments: Any) -> Any:
    return judge(why, policy, "fs.read", {"path": "src/x.ts", **arguments})


@pytest.mark.parametrize("why", GOOD)
def test_a_reason_that_states_intent_passes_even_under_strict(why: str) -> None:
    reason = judged(why, WhyPolicy.STRICT)

    assert (reason.fault, reason.warning, reason.text) == (None, None, why)


@pytest.mark.requirement("gate:why-missing")
@pytest.mark.parametrize("why", ABSENT)
def test_no_reason_is_refused_and_named(why: object) -> None:
    fault = judged(why).fault

    assert fault.code == "MISSING_WHY"
    assert fault.suggestion
    assert why is None or repr(why) in fault.message or str(why) in fault.message


@pytest.mark.requirement("gate:why-weak")
@pytest.mark.parametrize("why", WEAK)
def test_a_weak_reason_warns_and_is_refused_under_strict(why: str) -> None:
    assert judged(why).fault is None
    assert why in judged(why).warning
    assert judged(why, WhyPolicy.STRICT).fault.code == "MISSING_WHY"


@pytest.mark.requirement("gate:why-policies")
def test_optional_lets_a_missing_reason_pass_but_not_a_placeholder() -> None:
    assert judged(None, WhyPolicy.OPTIONAL).fault is None
    assert judged("", WhyPolicy.OPTIONAL).fault is None
    assert judged("n/a", WhyPolicy.OPTIONAL).fault.code == "MISSING_WHY"


@pytest.mark.requirement("gate:why-policies")
def test_off_judges_nothing() -> None:
    for why in (None, "", "n/a", "read the file", 5):
        assert judged(why, WhyPolicy.OFF).fault is None
        assert judged(why, WhyPolicy.OFF).warning is None


def test_white_space_is_folded() -> None:
    assert judged("  Find the\n  entry   point ").text == "Find the entry point"


def test_a_reason_of_three_thousand_characters_is_refused() -> None:
    assert judged("Find the entry point " * 150).fault.code == "INVALID_ARGS"


def test_only_short_arguments_count_as_repeated() -> None:
    assert judged("Migrate billing", content="Migrate billing " * 100).warning is None


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (" \t\n", "why is blank"),
        ("?!", "why has no word in it"),
        ("because I need it", "circular"),
        ("Fetches folders", "mechanical, it only names the tool"),
        ("copied the files", "mechanical, it only names the tool"),
        ("notes.md: notes", "mechanical, it only repeats the tool and its arguments"),
    ],
)
def test_it_is_said_what_is_wrong_with_a_reason(why: str, said: str) -> None:
    reason = judge(why, WhyPolicy.STRICT, "fs.read", {"path": "notes.md"})

    assert reason.fault is not None
    assert said in reason.fault.message


@pytest.mark.parametrize(("length", "refused"), [(2_000, False), (2_001, True)])
def test_a_reason_may_have_two_thousand_characters(length: int, refused: bool) -> None:
    why = "Understand the parser ".ljust(length, "x")

    reason = judge(why, WhyPolicy.REQUIRED, "fs.read", {})

    assert (reason.fault is not None) is refused


def test_what_is_no_sentence_is_shown_shortened() -> None:
    reason = judge(["x" * 1000], WhyPolicy.REQUIRED, "fs.read", {})

    assert reason.fault is not None
    assert "why must be a sentence, not" in reason.fault.message
    assert len(reason.fault.message) < 150
