"""Rules from files: they only tighten, and what is wrong in them stops everything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.catalogs import load_catalogs
from whence.declare.toolbox import Toolbox
from whence.errors import NotFound, ParseError, WhenceError
from whence.loop.settings import load_mode, load_policy
from whence.shapes.policy import Policy, Quotas, Verdict, WhyPolicy

BOX = Toolbox(load_catalogs())


def settle(tmp_path: Path, text: str, base: Policy = Policy()) -> Policy:
    (tmp_path / ".agent").mkdir(exist_ok=True)
    (tmp_path / ".agent" / "permissions.yaml").write_text(text)
    return load_policy(os.fspath(tmp_path), BOX, base)


def test_rules_reasons_and_quotas_are_read(tmp_path: Path) -> None:
    policy = settle(
        tmp_path, "why: strict\ndeny: ['fs.*(secrets/**)']\nask: [fs.write]\nquotas: {calls: 20}\n"
    )

    assert policy.why is WhyPolicy.STRICT
    assert [(rule.verdict, str(rule)) for rule in policy.rules] == [
        (Verdict.ASK, "fs.write"),
        (Verdict.DENY, "fs.*(secrets/**)"),
    ]
    assert policy.quotas.calls == 20


def test_a_file_never_loosens(tmp_path: Path) -> None:
    base = Policy(why=WhyPolicy.STRICT, quotas=Quotas(calls=5))

    policy = settle(tmp_path, "why: 'off'\nquotas: {calls: 500}\n", base)

    assert (policy.why, policy.quotas.calls) == (WhyPolicy.STRICT, 5)


def test_the_administrators_file_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = tmp_path / "admin.yaml"
    admin.write_text("deny: [fs.write]\n")
    monkeypatch.setenv("WHENCE_ADMIN_FILE", os.fspath(admin))

    policy = settle(tmp_path, "allow: [fs.write]\n")

    assert [rule.verdict for rule in policy.rules] == [Verdict.ALLOW, Verdict.DENY]
    assert policy.rules[1].source == os.fspath(admin)


@pytest.mark.parametrize(
    "text",
    ["alow: [fs.write]", "allow: fs.write", "allow: [fs.wrte]", "why: maybe", "quotas: {cals: 3}",
     "quotas: {calls: many}", "- a list", "{", "deny: [5]"],
)  # fmt: skip
def test_a_file_that_is_wrong_stops_everything_and_names_itself(tmp_path: Path, text: str) -> None:
    with pytest.raises(WhenceError, match=r"permissions\.yaml") as caught:
        settle(tmp_path, text)
    assert caught.value.suggestion


def test_modes_come_from_files_and_are_built_in(tmp_path: Path) -> None:
    (tmp_path / ".roomodes").write_text(
        "customModes:\n- slug: docs\n  name: Docs\n  roleDefinition: Writes.\n"
        "  groups: [read, [edit, {fileRegex: '\\.md$'}], browser]\n"
    )

    assert load_mode(os.fspath(tmp_path), "docs").groups == {"read": None, "edit": r"\.md$"}
    assert load_mode(os.fspath(tmp_path), "ask").groups == {"read": None, "mcp": None}
    with pytest.raises(NotFound, match="architekt"):
        load_mode(os.fspath(tmp_path), "architekt")


@pytest.mark.parametrize(
    ("ending", "encoding", "indent"),
    [("\n", "utf-8", "  "), ("\r\n", "utf-8-sig", "  "), ("\n", "utf-16", "  "),
     ("\n", "utf-8", "\xa0\xa0"), ("\n", "utf-8", "\u200b  ")],
    ids=["plain", "windows", "utf16", "no-break spaces", "zero width"],
)  # fmt: skip
def test_a_file_of_modes_is_read_as_editors_and_web_pages_leave_it(
    tmp_path: Path, ending: str, encoding: str, indent: str
) -> None:
    lines = [
        "customModes:",
        "- slug: docs",
        f"{indent}name: 🏗️ 文書",
        f"{indent}roleDefinition: You write “manuals”.",
        f"{indent}whenToUse: For documents.",
        f"{indent}groups: [read]",
        f"{indent}customInstructions: Keep it short.",
    ]
    (tmp_path / ".roomodes").write_bytes(ending.join(lines).encode(encoding))

    mode = load_mode(os.fspath(tmp_path), "docs")

    assert mode.name == "🏗️ 文書"
    assert mode.role == "You write “manuals”.\n\nKeep it short."


@pytest.mark.parametrize(
    "mode",
    ["slug: 'a b'\n  name: x\n  roleDefinition: x\n  groups: []",
     "slug: a\n  name: ''\n  roleDefinition: x\n  groups: []",
     "slug: a\n  name: x\n  groups: []",
     "slug: a\n  name: x\n  roleDefinition: x\n  groups: read",
     "slug: a\n  name: x\n  roleDefinition: x\n  groups: [fly]",
     "slug: a\n  name: x\n  roleDefinition: x\n  groups: [read, read]",
     "slug: a\n  name: x\n  roleDefinition: x\n  groups: [[edit, {fileRegex: '('}]]",
     "slug: a\n  name: x\n  roleDefinition: x\n  groups: [[edit, {fileregex: 'x'}]]",
     "slug: a\n  name: x\n  roleDefinition: x\n  customInstructions: [x]\n  groups: []"],
)  # fmt: skip
def test_a_mode_that_is_wrong_is_refused(tmp_path: Path, mode: str) -> None:
    (tmp_path / ".roomodes").write_text(f"customModes:\n- {mode}\n")

    with pytest.raises(ParseError, match="roomodes"):
        load_mode(os.fspath(tmp_path), "a")
