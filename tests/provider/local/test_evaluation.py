"""How often the embedded model is right."""

from __future__ import annotations

import pytest

from tests.provider.local.evaluation import HALVES, Tried, evaluate, load
from whence.gate.why import judge
from whence.provider.local.model import LocalModel
from whence.shapes.policy import WhyPolicy

pytestmark = pytest.mark.anyio

RIGHT = 0.83
QUIET = 0.90


@pytest.mark.requirement("local:evaluation-set")
def test_the_set_is_large_and_varied_and_has_parts_that_were_held_out() -> None:
    _, requests = load()
    asked = [request for request in requests if request["calls"]]
    tools = {name for request in asked for call in request["calls"] for name in call}

    assert len(asked) >= 60
    assert len(tools) >= 12
    assert len(requests) - len(asked) >= 20
    assert sum(request["half"] == "held" for request in asked) >= 30
    assert len({request["say"] for request in requests}) == len(requests)


@pytest.mark.requirement("local:right-calls")
@pytest.mark.requirement("local:quiet-on-chit-chat")
@pytest.mark.requirement("local:valid-calls")
@pytest.mark.requirement("local:why")
async def test_the_goals_are_met_on_every_half(local: LocalModel) -> None:
    tried = [one async for one in evaluate(local)]

    for half in HALVES:
        asked = [one for one in tried if one.half == half and one.expected]
        chatted = [one for one in tried if one.half == half and not one.expected]
        wrong = [(one.say, one.calls) for one in asked if not one.right]
        assert _share(asked) >= RIGHT, wrong
        assert _share(chatted) >= QUIET, [(one.say, one.calls) for one in chatted if one.calls]
    for one in tried:
        _check_validity(one)


def _share(tried: list[Tried]) -> float:
    return sum(one.right for one in tried) / len(tried)


def _check_validity(one: Tried) -> None:
    """Also a wrong call is one that the tool takes, and says why in words that are no padding."""
    for (name, arguments), why in zip(one.calls, one.reasons, strict=True):
        mounted = one.toolbox.find(name)
        assert mounted is not None
        assert mounted.validator.is_valid(arguments), (one.say, arguments)
        judged = judge(why, WhyPolicy.STRICT, name, arguments)
        assert (judged.fault, judged.warning) == (None, None), why
