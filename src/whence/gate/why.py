"""Is there a reason, and does it say anything?

A reason states what a call is meant to achieve. One that is absent, blank or a placeholder is no
reason. One that only names the tool and its arguments ("read the file") or only says that the call
is wanted ("because I need it") is weak.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from whence.gate.plain import shown
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
_SAYS_NOTHING = _EMPTY | _GENERIC
_ENDINGS = ("ing", "ies", "ied", "es", "ed", "s")
_UNSURE = (*_ENDINGS, "σ", "ς")
"""With one of these a word's stem, or its lower case, may be another one elsewhere."""
_LONG = 500
_LONG_WARNING = "why is long; one sentence would do"
_LONGEST_PLACEHOLDER = 30
_SHORT = 200
_SHORT_CALL = 4_000
_TOO_LONG = 2_000
_SUGGESTION = "Add `why`: one sentence that says what this call is meant to achieve."
_REWRITE = "Say what you want to find out or bring about, not which tool you use."


class Reason(msgspec.Struct, frozen=True, gc=False):
    """A reason, judged."""

    text: str
    fault: Fault | None = None
    warning: str | None = None


def judge(
    why: object,
    policy: WhyPolicy,
    tool: str,
    arguments: dict[str, Any],
    written: bytes | None = None,
) -> Reason:
    """The reason with a single space between words, and what is wrong with it under the policy.

    Args:
        why: What was given as the reason.
        policy: How much is asked of it.
        tool: The tool's name.
        arguments: The other arguments.
        written: The same as JSON, where somebody has it: it saves most of the work.
    """
    words = why.split() if isinstance(why, str) else []
    text = " ".join(words)
    ordinary = _LONGEST_PLACEHOLDER < len(text) <= _LONG
    if (
        ordinary
        and text[0].isalpha()
        and text[-2].isalnum()
        and written is not None
        and _has_point(text, tool, written)
    ):
        return Reason(text)
    if policy is WhyPolicy.OFF:
        return Reason(text)
    absent = _absence(why, text)
    if absent:
        if policy is WhyPolicy.OPTIONAL and (why is None or why == ""):
            return Reason("")
        return Reason(text, Fault("MISSING_WHY", f"{tool}: {absent}", _SUGGESTION))
    if len(text) > _TOO_LONG:
        message = f"{tool}: why has {len(text)} characters, more than {_TOO_LONG}"
        return Reason(text, Fault("INVALID_ARGS", message, "Say it in one sentence."))
    weakness = _weakness(text, tool, arguments)
    if weakness is None:
        return Reason(text, None, _LONG_WARNING if len(text) > _LONG else None)
    if policy is WhyPolicy.STRICT:
        return Reason(text, Fault("MISSING_WHY", f"{tool}: {weakness}: {text!r}", _REWRITE))
    return Reason(text, None, f"weak why: {weakness}: {text!r}")


def _absence(why: object, text: str) -> str | None:
    if why is None:
        return "why is missing"
    if not isinstance(why, str):
        return f"why must be a sentence, not {shown(why, 60)}"
    if not text:
        return f"why is blank: {why!r}"
    if _WORD.search(text) is None:
        return f"why has no word in it: {why!r}"
    if text.strip(" .!?\"'()[]<>{}").lower() in _PLACEHOLDERS:
        return f"why is a placeholder: {why!r}"
    return None


def _has_point(text: str, tool: str, written: bytes) -> bool:
    """Whether an ordinary word surely says something; most reasons have one."""
    if len(written) > _SHORT_CALL:
        return False
    own = tool.lower() + written.decode().lower()
    for word in set(text.lower().split()) - _SAYS_NOTHING:
        if len(word) > 3 and word.isalpha() and not word.endswith(_UNSURE) and word not in own:
            return True
    return False


def _weakness(text: str, tool: str, arguments: dict[str, Any]) -> str | None:
    """What is weak about a reason, every word considered."""
    words = _WORD.findall(text.lower())
    if all(word in _EMPTY for word in words):
        return "circular, it only says that the call is wanted"
    meant = [w for w in words if w not in _SAYS_NOTHING and _stem(w) not in _GENERIC]
    if not meant:
        return "mechanical, it only names the tool"
    own = frozenset(_WORD.findall(_own_text(tool, arguments)))
    if all(word in own or _stem(word) in own for word in meant):
        return "mechanical, it only repeats the tool and its arguments"
    return None


def _own_text(tool: str, arguments: dict[str, Any]) -> str:
    own = tool
    for value in arguments.values():
        kind = type(value)
        if kind is str and len(value) <= _SHORT:
            own += f"\n{value}"
        elif kind is list:
            texts = [item for item in value if type(item) is str and len(item) <= _SHORT]
            own += "\n".join(["", *texts])
    return own.lower()


def _stem(word: str) -> str:
    if not word.endswith(_ENDINGS) or len(word) < 5:
        return word
    end = next(end for end in _ENDINGS if word.endswith(end))
    return word[: -len(end)] + ("y" if end.startswith("ie") else "")
