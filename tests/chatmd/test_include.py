"""Imports: what they bring, where problems are then found, and where they end."""

from __future__ import annotations

import pytest

from whence.chatmd.include import Expanded, expand
from whence.errors import NotFound
from whence.shapes.document import Message

pytestmark = pytest.mark.requirement("chatmd:import")


def expanded(source: str, **files: str) -> Expanded:
    def read(src: str, base: str) -> tuple[str, bytes]:
        name = src.removeprefix("./")
        if name.replace(".", "_") not in files:
            raise NotFound(f"no such file: {src!r}", "Check the path.")
        return name, files[name.replace(".", "_")].encode()

    return expand(source.encode(), "main.chatmd", read)


def text(found: Expanded) -> str:
    return found.document.source.decode()


def test_a_file_without_imports_is_itself() -> None:
    found = expanded("<user>hi</user>\n")

    assert text(found) == "<user>hi</user>\n"
    assert found.origin(7) == ("main.chatmd", 7)


def test_declarations_stand_where_the_import_stood() -> None:
    found = expanded(
        '<import src="tools.chatmd"/>\n<user>hi</user>', tools_chatmd='<tool name="fs.read"/>'
    )

    assert [element.get("name") for element in found.document.tagged("tool")] == ["fs.read"]
    assert found.diagnostics() == []


def test_plain_text_in_a_message_stays_text_whatever_it_looks_like() -> None:
    policy = "Be <b>kind</b>.\n<user>not a message</user>\nRAW| and |RAW too, a < b\n"
    found = expanded('<system>Rules: <import src="policy.md"/></system>', policy_md=policy)

    (message,) = found.document.items()
    assert isinstance(message, Message)
    assert message.text == f"Rules: {policy}"
    assert found.diagnostics() == []


def test_chatmd_in_a_message_keeps_its_elements() -> None:
    found = expanded(
        '<user>See <import src="refs.chatmd"/></user>', refs_chatmd='<doc src="a.md" local/>\n'
    )

    (message,) = found.document.items()
    assert isinstance(message, Message)
    assert [part.tag for part in message.parts if hasattr(part, "tag")] == ["doc"]


def test_of_chatmd_in_a_message_the_words_of_its_messages_are_taken() -> None:
    found = expanded(
        '<system>Rules: <import src="rules.chatmd"/></system>\n<user>hi</user>',
        rules_chatmd=(
            '<!-- ours --><system>Be kind. <doc src="a.md" local/></system>\n'
            '<user>Or RAW|a <b|RAW: <import src="more.md"/></user>\n<system/>'
        ),
        more_md="Be <brief>.",
    )

    message, _ = found.document.items()
    assert isinstance(message, Message)
    assert message.role == "system"
    assert message.text == "Rules: Be kind. \nOr a <b: Be <brief>."
    assert [part.tag for part in message.parts if hasattr(part, "tag")] == ["doc"]
    assert found.diagnostics() == []


def test_a_declaration_cannot_be_imported_into_a_message() -> None:
    found = expanded('<user><import src="t.chatmd"/></user>', t_chatmd='<tool name="fs.read"/>')

    (problem,) = found.diagnostics()
    assert (problem.path, problem.diagnostic.line) == ("main.chatmd", 1)
    assert "<tool> of t.chatmd cannot stand in a message" in problem.diagnostic.message


@pytest.mark.parametrize("element", ["<import/>", "<import src/>", '<import src=""/>'])
def test_an_import_without_a_file_says_so(element: str) -> None:
    (problem,) = expanded(element).diagnostics()

    assert problem.diagnostic.message == "This import names no file."
    assert "src" in problem.diagnostic.suggestion


def test_a_file_that_is_imported_by_what_it_imports_is_a_circle_at_once() -> None:
    def read(src: str, base: str) -> tuple[str, bytes]:
        return f"/here/{src}", b'<user>1</user><import src="main.chatmd"/>'

    source = b'<import src="a.chatmd"/>'
    found = expand(source, "main.chatmd", read, known_as="/here/main.chatmd")

    (problem,) = found.diagnostics()
    assert "main.chatmd → /here/a.chatmd → /here/main.chatmd" in problem.diagnostic.message
    assert text(found) == "<user>1</user>"


def test_imports_of_imports_work_and_a_circle_is_named() -> None:
    found = expanded(
        '<import src="a.chatmd"/>', a_chatmd='<import src="b.chatmd"/>', b_chatmd="<user>x</user>"
    )
    assert "<user>x</user>" in text(found)

    circle = expanded(
        '<import src="a.chatmd"/>',
        a_chatmd='<user>1</user><import src="b.chatmd"/>',
        b_chatmd='<import src="a.chatmd"/>',
    )
    (problem,) = circle.diagnostics()
    assert problem.path == "b.chatmd"
    assert problem.diagnostic.code == "import-cycle"
    assert "a.chatmd → b.chatmd → a.chatmd" in problem.diagnostic.message


def test_a_file_may_be_imported_twice_but_not_without_end() -> None:
    twice = expanded('<import src="a.chatmd"/><import src="a.chatmd"/>', a_chatmd="<user>x</user>")
    assert text(twice).count("<user>") == 2

    files = {f"f{n}_chatmd": f'<import src="f{n + 1}.chatmd"/>' for n in range(60)}
    deep = expanded('<import src="f0.chatmd"/>', **files)
    assert [item.diagnostic.code for item in deep.diagnostics()] == ["import-too-deep"]


def test_a_problem_in_an_imported_file_is_found_there() -> None:
    found = expanded(
        '<user>hi</user>\n<import src="bad.chatmd"/>\n<usr>x</usr>\n',
        bad_chatmd='<tool name="fs.read"/>\n\n  <tol name="x"/>\n',
    )

    places = {
        (item.path, item.diagnostic.line, item.diagnostic.code) for item in found.diagnostics()
    }
    assert ("bad.chatmd", 3, "unknown-element") in places
    assert ("main.chatmd", 3, "unknown-element") in places


def test_what_cannot_be_read_is_a_problem_at_the_import() -> None:
    (problem,) = expanded('<user>\n  <import src="nowhere.md"/>\n</user>').diagnostics()

    assert (problem.path, problem.diagnostic.line) == ("main.chatmd", 2)
    assert problem.diagnostic.code == "unreadable-import"


def test_namespaces_set_scripts_apart_and_must_differ() -> None:
    found = expanded(
        '<import src="s.chatmd" namespace="a"/><import src="s.chatmd" namespace="b"/>',
        s_chatmd='<script id="main" language="chatml" kind="moderator">let x = 1</script>',
    )
    assert [script.get("id") for script in found.document.tagged("script")] == ["a:main", "b:main"]

    twice = expanded(
        '<import src="s.chatmd" namespace="a"/><import src="s.chatmd" namespace="a"/>',
        s_chatmd="<user>x</user>",
    )
    assert [item.diagnostic.code for item in twice.problems] == ["duplicate-namespace"]
