"""Why a call is made: because somebody asked, in the words that they used."""

from __future__ import annotations

import re

_LONGEST = 200
_QUESTION = re.compile(
    r"(?:(?:what|who|where|when|how)['’]?s?|which|whose|why|is|are|was|were|do|does|did|can|could)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(r"(?:please|pls|plz|kindly|(?:can|could|would|will) you)\b", re.IGNORECASE)


def is_question(request: str) -> bool:
    """Whether a request wants to know something; an order stays one, however polite."""
    if _ORDER.match(request.lstrip()):
        return False
    return request.rstrip().endswith("?") or _QUESTION.match(request.lstrip()) is not None


def reason(step: str, position: int, steps: int) -> str:
    """A sentence for the journal, out of the request."""
    words = " ".join(step.split())
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST].rsplit(' ', 1)[0]} …"
    purpose = "Answer the question" if is_question(step) else "Carry out the request"
    where = f", step {position} of {steps}" if steps > 1 else ""
    return f"{purpose} “{words}”{where}"
