"""`<config>`: the settings of an agent file."""

from __future__ import annotations

import re
from typing import Any

from whence.chatmd.suggest import quoted
from whence.declare.report import Report
from whence.declare.values import choice, filled, number_between, text, whole_number
from whence.shapes.declaration import Budget, Config, Effort, ToolProtocol
from whence.shapes.document import Document, Element
from whence.shapes.policy import WhyPolicy

_SLUG = re.compile(r"[a-zA-Z0-9-]+")
_LIMIT = re.compile(
    r"\$ ?(?P<dollars>\d{1,9}(?:\.\d{1,9})?)|(?P<tokens>\d{1,12})(?P<unit>[kM]?) ?tokens?"
    r"|(?P<time>\d{1,6}) ?(?P<each>s|min|h)",
    re.ASCII,
)
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
_TIMES = {"s": 1, "min": 60, "h": 3600}


def read_config(document: Document, report: Report) -> Config:
    """The settings of the first `<config>`; later ones do not count, and are reported."""
    written = list(document.tagged("config"))
    if not written:
        return Config()
    first, *others = written
    for extra in others:
        message = f"Only the first <config>, on line {report.line(first.span)}, counts."
        report.warning("extra-config", extra, message, "Move its settings there.")
    return _config(first, report)


def _config(element: Element, report: Report) -> Config:
    return Config(
        model=filled(element, "model", report),
        max_tokens=whole_number(element, "max_tokens", report),
        temperature=number_between(element, "temperature", report, least=0, most=2),
        reasoning_effort=choice(element, "reasoning_effort", Effort, report),
        show_tool_call=element.flag("show_tool_call"),
        id=filled(element, "id", report),
        mode=_mode(element, report),
        why=choice(element, "why", WhyPolicy, report),
        max_turns=whole_number(element, "max_turns", report),
        parallel_tool_calls=_parallel(element),
        protocol=choice(element, "protocol", ToolProtocol, report),
        budget=_budget(element, report),
    )


def _parallel(element: Element) -> bool:
    return "parallel_tool_calls" not in element.attributes or element.flag("parallel_tool_calls")


def _mode(element: Element, report: Report) -> str | None:
    """The name of a mode; whether there is such a mode, only the workspace knows."""
    slug = text(element, "mode")
    if slug is None or _SLUG.fullmatch(slug):
        return slug
    hint = "Name a mode by its slug, in letters, digits and dashes, such as code or ask."
    report.bad(element, "mode", f"mode is {quoted(slug)}.", hint)
    return None


def _budget(element: Element, report: Report) -> Budget | None:
    written = text(element, "budget")
    if written is None:
        return None
    limits: dict[str, Any] = {}
    for part in written.split(","):
        found = _LIMIT.fullmatch(part.strip())
        kind, amount = _limit(found) if found else ("", 0)
        if amount <= 0 or kind in limits:
            hint = 'Say how much of what, each once: budget="$2.50, 200k tokens, 10 min".'
            report.bad(element, "budget", f"budget is {quoted(written)}.", hint)
            return None
        limits[kind] = amount
    return Budget(**limits)


def _limit(found: re.Match[str]) -> tuple[str, float]:
    if found["dollars"]:
        return "dollars", float(found["dollars"])
    if found["time"]:
        return "seconds", int(found["time"]) * _TIMES[found["each"]]
    return "tokens", int(found["tokens"]) * _UNITS[found["unit"]]
