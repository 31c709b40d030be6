"""What each check would say to a call, without running it."""

from __future__ import annotations

from typing import Literal

from whence.declare.toolbox import Toolbox
from whence.gate.gate import CHECKS, ENDS_HERE, Draft
from whence.gate.permission import Ruling
from whence.gate.quota import Usage
from whence.shapes.call import Call, Fault
from whence.shapes.dataclass import dataclass
from whence.shapes.place import Locate
from whence.shapes.policy import Policy, Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's answer."""

    check: str
    answer: Literal["pass", "fail", "ask", "unknown"]
    """unknown: an earlier check left it nothing to look at."""
    said: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """All checks, and the rule that decides."""

    findings: tuple[Finding, ...]
    ruling: Ruling | None

    @property
    def verdict(self) -> Literal["allowed", "asks", "refused"]:
        """What would become of the call."""
        answers = {finding.answer for finding in self.findings}
        if "fail" in answers:
            return "refused"
        return "asks" if "ask" in answers else "allowed"


def explain(
    call: Call, toolbox: Toolbox, policy: Policy, usage: Usage, locate: Locate
) -> Explanation:
    """Take a call through every check, also past the first that fails."""
    draft = Draft(call, toolbox, policy, usage, locate, call.comments)
    findings: list[Finding] = []
    blind = False
    for name, check in CHECKS:
        if blind:
            findings.append(Finding(name, "unknown"))
            continue
        fault = check(draft)
        findings.append(_finding(name, fault, draft))
        blind = fault is not None and name in ENDS_HERE
    findings.append(_approval(draft, blind=blind))
    return Explanation(tuple(findings), draft.ruling)


def _finding(name: str, fault: Fault | None, draft: Draft) -> Finding:
    if fault is not None:
        return Finding(name, "fail", f"{fault.code}: {fault.message}", fault.suggestion)
    if name == "why" and draft.warnings:
        return Finding(name, "pass", "; ".join(draft.warnings))
    if name == "permission" and draft.ruling is not None:
        asks = draft.ruling.verdict is Verdict.ASK
        return Finding(name, "ask" if asks else "pass", draft.ruling.reason)
    if name == "mode" and draft.touched:
        return Finding(name, "pass", ", ".join(place.path for _, place in draft.touched))
    return Finding(name, "pass")


def _approval(draft: Draft, *, blind: bool) -> Finding:
    ruling = draft.ruling
    if ruling is None or blind:
        return Finding("approval", "unknown")
    if ruling.verdict is Verdict.ASK:
        said = "no rule makes it unnecessary"
        if ruling.would_allow:
            said = f"the rule {ruling.would_allow} would make it unnecessary"
        return Finding("approval", "ask", said, "A person is asked; nobody there means no.")
    return Finding("approval", "pass", "nobody needs to be asked")
