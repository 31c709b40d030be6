"""The front door: a whole file in, everything that it declares and everything wrong with it out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SHARED
from tests.declare.declaring import CATALOGS, codes, one_problem, resolved
from whence.chatmd.grammar import ELEMENTS
from whence.chatmd.parse import parse
from whence.declare.toolbox import Toolbox
from whence.shapes.declaration import AgentReference, Builtin, ShellCommand
from whence.shapes.document import Severity

QUICK_START = """<!-- Built-ins -->
<tool name="apply_patch"/>
<tool name="read_dir"/>
<tool name="read_file"/> <!-- alias: get_contents -->
<tool name="webpage_to_markdown"/>

<tool name="git_status" command="git status" description="Show git status"/>
<tool name="triage" agent="prompts/triage.chatmd" local/>
<tool mcp_server="stdio:npx -y brave-search-mcp"/>
"""
FILES = {"prompts/triage.chatmd": "<system>Sort bugs.</system>"}


def test_one_file_with_every_source_becomes_a_toolbox() -> None:
    found = resolved(QUICK_START, files=FILES)

    assert found.problems == ()
    assert found.bindings == {
        "apply_patch": Builtin("chatmd"),
        "read_directory": Builtin("chatmd"),
        "read_file": Builtin("chatmd"),
        "webpage_to_markdown": Builtin("chatmd"),
        "git_status": ShellCommand((("git",), ("status",))),
        "triage": AgentReference("prompts/triage.chatmd"),
    }
    assert [server.argv[0] for server in found.servers] == ["npx"]
    assert len(Toolbox(found.tools)) == 6
    line = QUICK_START.encode()[slice(*found.spans["triage"])].decode()
    assert line == '<tool name="triage" agent="prompts/triage.chatmd" local/>'


def test_a_file_without_declarations_is_fine() -> None:
    found = resolved("<user>hi</user>")

    assert (found.tools, found.servers, found.problems) == ((), (), ())


def test_tools_come_in_the_order_of_the_file() -> None:
    text = '<tool name="b" command="b"/><tool name="fs.ls"/><tool name="a" command="a"/>'

    assert [tool.name for tool in resolved(text).tools] == ["b", "fs.ls", "a"]


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ('name="read_file"', 'name="get_contents"', "read_file"),
        ('name="x" command="a"', 'name="x" command="b"', "x"),
        ('catalog="roo"', 'name="read_file"', "read_file"),
        ('name="read_file"', 'name="read_file" command="cat"', "read_file"),
        ('name="sum" command="x"', 'mcp_server="https://a.dev" name="sum"', "sum"),
        ('mcp_server="https://a.dev" include="a,b"', 'name="b" command="b"', "b"),
        ('mcp_server="https://a.dev" name="a"', 'mcp_server="https://b.dev" include="a"', "a"),
    ],
)
def test_two_tools_of_one_name_are_an_error_that_names_both_lines(
    first: str, second: str, name: str
) -> None:
    found = resolved(f"<tool {first}/>\n\n<tool {second}/>")

    problem = one_problem(found)
    assert problem.code == "duplicate-tool"
    assert name in problem.message
    assert "line 1" in problem.message
    assert "line 3" in problem.message
    assert problem.line == 3
    Toolbox(found.tools)


def test_a_server_keeps_the_names_that_are_free() -> None:
    found = resolved('<tool name="a" command="a"/><tool mcp_server="https://a.dev" include="a,b"/>')

    assert [server.include for server in found.servers] == [("b",)]


def test_different_names_with_one_form_on_the_wire_are_fine() -> None:
    found = resolved('<tool name="fs.read"/><tool name="fs_read" command="cat"/>')

    assert found.problems == ()
    assert len(Toolbox(found.tools)) == 2


@pytest.mark.parametrize(
    "attributes",
    [
        'command="x" agent="y"',
        'agent="x" mcp_server="stdio:y"',
        'python="a.py:f" command="y"',
        'catalog="roo" command="y"',
        'catalog="roo" mcp_server="https://a.dev"',
    ],
)
def test_a_tool_has_one_source(attributes: str) -> None:
    found = resolved(f'<tool name="x" {attributes}/>')

    assert codes(found) == ["mixed-sources"]
    assert (found.tools, found.servers) == ((), ())


@pytest.mark.parametrize("text", ["<tool/>", '<tool description="x"/>', '<tool include="a"/>'])
def test_a_tool_that_says_nothing_is_an_error(text: str) -> None:
    assert one_problem(resolved(text)).code == "empty-tool"


@pytest.mark.parametrize(
    ("text", "attribute", "severity"),
    [
        ('<tool name="read_file" network="false"/>', "network", Severity.ERROR),
        ('<tool name="read_file" max_output="5"/>', "max_output", Severity.ERROR),
        ('<tool name="read_file" effects="read"/>', "effects", Severity.ERROR),
        ('<tool name="read_file" local/>', "local", Severity.WARNING),
        ('<tool name="read_file" sandbox="required"/>', "sandbox", Severity.ERROR),
        ('<tool name="x" command="y" include="z"/>', "include", Severity.ERROR),
        ('<tool name="x" command="y" strict/>', "strict", Severity.WARNING),
        ('<tool name="x" command="y" headers_env="Z"/>', "headers_env", Severity.ERROR),
        ('<tool name="x" agent="https://a.dev/a" env="Z"/>', "env", Severity.ERROR),
    ],
)
def test_an_attribute_of_another_kind_of_tool_is_not_ignored_in_silence(
    text: str, attribute: str, severity: Severity
) -> None:
    problem = one_problem(resolved(text))

    assert (problem.code, problem.severity) == ("misplaced-attribute", severity)
    assert problem.message.startswith(f"{attribute} does nothing for")
    assert text[problem.column - 1 :].startswith(attribute)


def test_a_child_of_another_kind_of_tool_is_an_error() -> None:
    found = resolved('<tool name="x" agent="https://a.dev/a"><param name="y"/></tool>')

    assert codes(found) == ["misplaced-child"]


def test_every_problem_of_a_file_is_reported_in_its_order_with_its_place() -> None:
    found = resolved(
        '<config temperature="hot"/>\n'
        '<tool name="read_fiel"/>\n'
        "<user>Ünïcode</user>\n"
        '<tool name="a" command="ä {x}" timeout="soon" max_output="-1"><param name="y"/></tool>\n'
        '<input name="q" type="strng"/>\n'
        '<tool name="b" agent="none.chatmd"/>\n'
        '<tool name="c" python="none.py:f"/>\n'
        '<output schema="oops"/>'
    )

    assert [(each.code, each.line, each.column) for each in found.problems] == [
        ("bad-temperature", 1, 9),
        ("unknown-builtin", 2, 7),
        ("unknown-placeholder", 4, 16),
        ("bad-timeout", 4, 32),
        ("bad-max-output", 4, 47),
        ("unused-param", 4, 63),
        ("bad-type", 5, 17),
        ("unusable-agent", 6, 16),
        ("unusable-python", 7, 16),
        ("bad-schema", 8, 9),
    ]
    assert found.errors == found.problems
    assert all(each.suggestion for each in found.problems)


def test_a_warning_is_no_error() -> None:
    found = resolved("<config/><config/>")

    assert found.problems
    assert found.errors == ()


def test_an_attribute_that_stands_twice_is_shown_where_it_counts() -> None:
    text = '<tool name="x" command="y" timeout="5" timeout="soon"/>'

    assert one_problem(resolved(text)).column == 1 + text.rindex("timeout")


@pytest.mark.parametrize("seed", ["000_d1d3794976512d7b.txt", "001_c7dcc21e838de042.txt"])
def test_every_declaration_that_the_documents_show_is_understood(seed: str) -> None:
    path = SHARED / "seeds" / seed
    if not path.exists():
        pytest.skip("the documents are not here")
    shown = re.findall(r'<tool\s[^>…]*"[^>…]*/>', path.read_text(encoding="utf-8"))
    known = {name for tools in CATALOGS.values() for t in tools for name in (t.name, *t.aliases)}
    assert len(shown) > 3
    for text in shown:
        document = parse(text)
        (element,) = document.tagged("tool")
        files = {element.get("agent") or "": ""}
        found = resolved(text, files=files)
        own = element.attributes.keys() & {"command", "agent", "mcp_server"}
        if own or element.get("name") in known:
            assert document.errors == found.errors == ()
            assert found.tools or found.servers
        else:
            assert codes(found) == ["unknown-builtin"]


def test_of_thousands_of_duplicates_each_one_is_reported() -> None:
    text = "".join(f'<tool name="t{n % 5000}" command="run {n}"/>\n' for n in range(10_000))

    found = resolved(text)

    assert len(found.tools) == 5000
    assert codes(found) == ["duplicate-tool"] * 5000
    assert found.problems[-1].line == 10_000
    assert "line 5000 " in found.problems[-1].message


@pytest.mark.parametrize(
    "source",
    [
        b'<tool name="\xff\xfe" command="\xff"/>',
        b'<tool name="x" command="y\0z" cwd="\0"/>',
        b'<tool name="x" command="y" description="\xed\xa0\x80"><param name="\xff"/></tool>',
        b'<tool name="x" command="y {a}"><param name="a" type="\xff" enum="\xff"/></tool>',
        b'<input name="a" type="int" default="\xed\xa0\x80"/>',
        b'\xef\xbb\xbf<tool name="x"/>\r\n<config mode="\x1b[31m"/>',
        b'<tool name="x" agent="\xff"/><tool python="\xff.py:f"/><tool mcp_server="https://\xff/"/>',
        b'<output schema="\xff"/><output>{"a": "\xed\xa0\x80"}</output>',
    ],
)
def test_bytes_that_are_no_text_give_problems_that_can_be_printed(source: bytes) -> None:
    found = resolved(source)

    assert found.problems
    for problem in found.problems:
        problem.message.encode()
        problem.suggestion.encode()


HOSTILE = st.one_of(
    st.text(st.characters(exclude_characters='"\\'), max_size=30),
    st.sampled_from(
        [
            "",
            "{a}",
            "'",
            "%20",
            "x" * 20_000,
            "[" * 2000,
            "https://[",
            "${",
            "a.py:f",
            "true",
            "read_file",
        ]
    ),
)
INSIDE = st.sampled_from(["name", "type", "enum", "default", "id", "path"])
ELEMENT = st.sampled_from(["tool", "config", "input", "output"]).flatmap(
    lambda tag: st.tuples(
        st.just(tag),
        st.dictionaries(st.sampled_from(sorted(ELEMENTS[tag].attributes)), HOSTILE, max_size=6),
        st.lists(
            st.tuples(
                st.sampled_from(["param", "read"]),
                st.dictionaries(INSIDE, HOSTILE),
            ),
            max_size=2,
        ),
    )
)


def written(tag: str, attributes: dict[str, str], children: list[Any] = []) -> str:  # noqa: B006
    escaped = {k: v.replace("&", "&amp;").replace("<", "&lt;") for k, v in attributes.items()}
    given = "".join(f' {name}="{value}"' for name, value in escaped.items())
    inside = "".join(written(*child) for child in children)
    return f"<{tag}{given}>{inside}</{tag}>\n"


@given(st.lists(ELEMENT, max_size=4))
@settings(deadline=None, max_examples=150)
def test_nothing_that_a_file_declares_raises(elements: list[Any]) -> None:
    found = resolved("".join(written(*element) for element in elements))

    Toolbox(found.tools)
    assert set(found.bindings) == {tool.name for tool in found.tools} == set(found.spans)
    for problem in found.problems:
        assert problem.line >= 1
        assert problem.suggestion
        f"{problem}".encode()
