"""Is there a reason, and does it say anything?

A reason states what a call is meant to achieve. One that is absent, blank or a placeholder is no
reason. One that only names the tool and its arguments ("read the file") or only says that the call
is wanted ("because I need it") is weak.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from whence.shapes.call import Fault
from whence.shapes.policy import WhyPolicy

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_PLACEHOLDERS = frozenset(
    """n/a na none null nil todo tbd test testing x xx xxx why reason unknown placeholder no-reason
    undefined asdf foo bar blah whatever idk""".split()
) | {"no reason", "some reason", "no reason given", "why not", "just because", "to be determined"}
_EMPTY = frozenset(
    """a an and any are as asked at be because by can could do does doing done for from had has have
    i i'll i'm if in into is it it's its just let let's lets may me must my necessary need needed
    needs now of on or order our out please requested required shall should so some task that the
    their them then there these they this those to up us user want wanted wants was we were what
    which will with would you your""".split()
)
_GENERIC = frozenset(
    """access action append apply arg argument call calling change check command content contents
    copy create data dir directories directory edit exec execute fetch file files find folder
    function get information invoke item list listing load look make mkdir modify move name new
    object operation output parameter patch path perform process query read reading result run
    running search searching see shell show stuff text thing tool update use using value view write
    writing""".split()
)
_LONG = 500
_TOO_LONG = 2_000
_SUGGESTION = "Add `why`: one sentence that says what this call is meant to achieve."
_REWRITE = "Say what you want to find out or bring about, not which tool you use."


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason, judged."""

    text: str
    fault: Fault | None = None
    warning: str | None = None


def judge(why: object, policy: WhyPolicy, tool: str, arguments: dict[str, Any]) -> Reason:
    """The reason with a single space between words, and what is wrong with it under the policy."""
    if policy is WhyPolicy.OFF:
        return Reason(" ".join(why.split()) if isinstance(why, str) else "")
    absent = _absence(why)
    if absent:
        text = " ".join(why.split()) if isinstance(why, str) else ""
        if policy is WhyPolicy.OPTIONAL and (why is None or text == ""):
            return Reason("")
        return Reason(text, Fault("MISSING_WHY", f"{tool}: {absent}", _SUGGESTION))
    assert isinstance(why, str)  # noqa: S101 - _absence answered for everything else
    text = " ".join(why.split())
    if len(text) > _TOO_LONG:
        message = f"{tool}: why has {len(text)} characters, more than {_TOO_LONG}"
        return Reason(text, Fault("INVALID_ARGS", message, "Say it in one sentence."))
    weakness = _weakness(text, tool, arguments)
    if weakness is None:
        long = len(text) > _LONG
        return Reason(text, None, "why is long; one sentence would do" if long else None)
    if policy is WhyPolicy.STRICT:
        return Reason(text, Fault("MISSING_WHY", f"{tool}: {weakness}: {text!r}", _REWRITE))
    return Reason(text, None, f"weak why: {weakness}: {text!r}")


def _absence(why: object) -> str | None:
    if why is None:
        return "why is missing"
    if not isinstance(why, str):
        return f"why must be a sentence, not {_shown(why)}"
    if not why.strip():
        return f"why is blank: {why!r}"
    if _WORD.search(why) is None:
        return f"why has no word in it: {why!r}"
    if " ".join(why.split()).strip(" .!?\"'()[]<>{}").lower() in _PLACEHOLDERS:
        return f"why is a placeholder: {why!r}"
    return None


def _weakness(text: str, tool: str, arguments: dict[str, Any]) -> str | None:
    said = [word for word in _WORD.findall(text.lower()) if word not in _EMPTY]
    if not said:
        return "circular, it only says that the call is wanted"
    meant = [word for word in said if word not in _GENERIC and _stem(word) not in _GENERIC]
    if not meant:
        return "mechanical, it only names the tool"
    own = _own_words(tool, arguments)
    if all(word in own or _stem(word) in own for word in meant):
        return "mechanical, it only repeats the tool and its arguments"
    return None


def _own_words(tool: str, arguments: dict[str, Any]) -> frozenset[str]:
    short = (
        item
        for value in arguments.values()
        for item in (value if isinstance(value, list) else (value,))
        if isinstance(item, str) and len(item) <= 200
    )
    return frozenset(word for text in (tool, *short) for word in _WORD.findall(text.lower()))


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
