"""The quick look at a reason lets nothing pass that the thorough one would not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.gate import why
from whence.gate.why import judge
from whence.shapes.policy import WhyPolicy

ODD = "parser parsers nesting ΟΔΟΣ Straße İstanbul entry-point entry tries".split()
WORDS = st.sampled_from([*sorted(why._PLACEHOLDERS | why._EMPTY | why._GENERIC), *ODD])
TEXTS = st.lists(st.one_of(WORDS, st.text("aAsΣ'_-.é\\\"\n\x01", max_size=5)), max_size=8)
SEPARATORS = st.sampled_from([" ", "\n", "\t", '"', "\\", "\u2028", "_", "\x01"])
VALUES = st.one_of(
    st.builds(lambda words, by: by.join(words), TEXTS, SEPARATORS),
    TEXTS,
    st.integers(),
    st.text(max_size=30),
)
ARGUMENTS = st.dictionaries(st.sampled_from(["path", "query", "entry"]), VALUES, max_size=3)
TAILS = st.builds(lambda sign, count: sign * count, st.sampled_from(" .!?)"), st.integers(0, 40))


@settings(deadline=None, max_examples=800)
@given(st.data(), ARGUMENTS, st.sampled_from(list(WhyPolicy)))
def test_both_ways_to_judge_a_reason_agree(
    data: st.DataObject, arguments: dict[str, Any], policy: WhyPolicy
) -> None:
    values = [value for value in arguments.values() if isinstance(value, str)]
    own = [word for value in values for word in value.split()]
    words = data.draw(
        st.lists(st.one_of(WORDS, st.sampled_from(own)) if own else WORDS, max_size=9)
    )
    reason = " ".join(words) + data.draw(st.sampled_from(["", " "])) + data.draw(TAILS)
    try:
        written = msgspec.json.encode(arguments)
    except UnicodeEncodeError:
        return

    quick = judge(reason, policy, "fs.read", arguments, written)

    assert quick == judge(reason, policy, "fs.read", arguments)


@pytest.mark.requirement("gate:why-missing")
@pytest.mark.parametrize("placeholder", ["no reason", "some reason", "no reason given"])
def test_a_placeholder_stays_one_however_many_dots_follow(placeholder: str) -> None:
    reason = judge(f"{placeholder} {'.' * 40}", WhyPolicy.REQUIRED, "fs.read", {}, b"{}")

    assert reason.fault is not None
    assert reason.fault.code == "MISSING_WHY"


def test_a_reason_may_be_of_a_type_derived_from_text() -> None:
    class Text(str):
        __slots__ = ()

    assert judge(Text("Check recursive descent"), WhyPolicy.STRICT, "t", {}).fault is None
