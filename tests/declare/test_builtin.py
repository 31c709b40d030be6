"""Built-in tools: by name, by alias, by catalog, with roots."""

from __future__ import annotations

import pytest

from tests.declare.declaring import CATALOGS, codes, one_problem, one_tool, resolved
from whence.chatmd.parse import parse
from whence.declare.toolbox import Toolbox
from whence.shapes.declaration import Builtin, Root
from whence.shapes.document import Severity


def test_a_name_mounts_the_tool_of_the_first_default_catalog_that_knows_it() -> None:
    text = '<tool name="read_file"/>'

    assert resolved(text).bindings == {"read_file": Builtin("chatmd")}
    roo_first = resolved(text, default_catalogs=("roo", "chatmd"))
    assert roo_first.bindings == {"read_file": Builtin("roo")}
    assert roo_first.tools[0].description == "Read a file with line numbers"


@pytest.mark.parametrize(
    ("alias", "name"),
    [("get_contents", "read_file"), ("read_dir", "read_directory"), ("fs_ls", "fs.ls")],
)
def test_an_alias_shows_the_model_the_canonical_name(alias: str, name: str) -> None:
    assert one_tool(f'<tool name="{alias}"/>').name == name


def test_a_built_in_keeps_its_handler_schema_and_effects() -> None:
    mounted, own = one_tool('<tool name="fs.write"/>'), CATALOGS["moollm"]
    original = next(tool for tool in own if tool.name == "fs.write")

    assert mounted.handler is original.handler
    assert mounted.input_schema == original.input_schema
    assert mounted.effects == original.effects
    assert mounted.source == "builtin"


def test_a_catalog_alone_mounts_all_of_it() -> None:
    found = resolved('<tool catalog="moollm"/>')

    assert found.problems == ()
    assert found.tools
    assert [tool.name for tool in found.tools] == [tool.name for tool in CATALOGS["moollm"]]


def test_a_catalog_with_a_name_mounts_that_one_although_it_is_no_default() -> None:
    assert resolved('<tool catalog="roo" name="list_files"/>').bindings == {
        "list_files": Builtin("roo")
    }


@pytest.mark.parametrize("attribute", ["include", "includes"])
def test_include_mounts_a_part_of_a_catalog_each_tool_once(attribute: str) -> None:
    found = resolved(f'<tool catalog="chatmd" {attribute}=" read_dir , read_file,get_contents,"/>')

    assert [tool.name for tool in found.tools] == ["read_directory", "read_file"]
    assert found.problems == ()


def test_a_name_beside_include_wins_and_include_wins_over_includes() -> None:
    found = resolved(
        '<tool catalog="chatmd" name="read_dir" include="read_file"/>\n'
        '<tool catalog="roo" include="list_files" includes="read_file"/>'
    )

    assert [tool.name for tool in found.tools] == ["read_directory", "list_files"]
    assert codes(found) == ["ignored-include", "ignored-include"]
    assert {each.severity for each in found.problems} == {Severity.WARNING}


def test_an_unknown_built_in_is_refused_with_what_was_probably_meant() -> None:
    found = resolved('<user>hi</user>\n<tool name="read_fiel"/>')

    problem = one_problem(found)
    assert found.tools == ()
    assert problem.code == "unknown-builtin"
    assert problem.message == 'Unknown built-in tool: "read_fiel".'
    assert "read_file" in problem.suggestion
    assert (problem.line, problem.column) == (2, 7)
    assert problem.severity is Severity.ERROR


def test_a_built_in_of_another_catalog_is_pointed_at() -> None:
    assert 'catalog="roo"' in one_problem(resolved('<tool name="list_files"/>')).suggestion


def test_a_name_like_no_built_in_gets_the_other_ways_to_declare_a_tool() -> None:
    problem = one_problem(resolved('<tool name="zzzzqqqq"/>'))

    assert problem.code == "unknown-builtin"
    assert "command, agent, mcp_server or python" in problem.suggestion


def test_every_unknown_name_of_an_include_is_named_and_the_others_are_mounted() -> None:
    found = resolved('<tool catalog="roo" include="list_fils,read_file,nonsense"/>')

    assert [tool.name for tool in found.tools] == ["read_file"]
    assert codes(found) == ["unknown-builtin", "unknown-builtin"]
    assert "list_files" in found.problems[0].suggestion


def test_an_unknown_catalog_is_one_problem_with_the_known_ones() -> None:
    problem = one_problem(resolved('<tool catalog="molm" name="fs.read"/>'))

    assert problem.code == "unknown-catalog"
    assert problem.suggestion.startswith("Did you mean moollm?")
    assert "roo" in problem.suggestion


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('<tool catalog="roo" include=" , "/>', "bad-include"),
        ('<tool catalog="roo" includes=""/>', "bad-includes"),
        ('<tool name=" "/>', "bad-name"),
        ('<tool catalog=""/>', "unknown-catalog"),
        ('<tool name="read_file" timeout="soon"/>', "bad-timeout"),
    ],
)
def test_an_empty_or_senseless_value_is_an_error(text: str, code: str) -> None:
    assert one_problem(resolved(text)).code == code


def test_a_timeout_is_that_of_every_tool_of_the_declaration() -> None:
    found = resolved('<tool catalog="roo" timeout="1.5"/>')

    assert {tool.sandbox.timeout_ms for tool in found.tools} == {1500}


def test_a_description_is_added_to_that_of_the_tool() -> None:
    mounted = one_tool('<tool name="read_file" description="Start with the README."/>')

    assert mounted.description == "Read a text file\nStart with the README."


def test_a_description_for_several_tools_warns() -> None:
    found = resolved('<tool catalog="roo" description="All of them."/>')

    assert codes(found) == ["misplaced-attribute"]
    assert all("All of them" not in tool.description for tool in found.tools)


ROOTS = """<tool name="read_file" description="Prefer docs.">
  <read id="docs" path="${workspace}/docs" description="Design documents"/>
  <read path="src/"/>
</tool>"""


def test_roots_are_recorded_and_become_the_choices_of_root() -> None:
    found = resolved(ROOTS)
    (mounted,) = found.tools

    assert found.problems == ()
    assert found.roots == {
        "read_file": (Root("docs", "${workspace}/docs", "Design documents"), Root("src", "src/"))
    }
    properties = mounted.input_schema["properties"]
    assert isinstance(properties, dict)
    assert properties["root"]["enum"] == ["docs", "src"]
    assert properties["root"]["type"] == "string"
    assert mounted.description.splitlines() == [
        "Read a text file",
        "Root docs is ${workspace}/docs: Design documents",
        "Root src is src/",
        "Prefer docs.",
    ]
    validator = Toolbox(found.tools).find("read_file")
    assert validator is not None
    assert validator.validator.is_valid({"file": "a", "root": "docs"})
    assert not validator.validator.is_valid({"file": "a", "root": "etc"})


def test_the_catalog_itself_is_not_changed_by_roots() -> None:
    resolved(ROOTS)

    properties = CATALOGS["chatmd"][0].input_schema["properties"]
    assert isinstance(properties, dict)
    assert "enum" not in properties["root"]


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ('<read id="a" path="x"/><read id="a" path="y"/>', "duplicate-root"),
        ('<read path="a/x"/><read path="b/x/"/>', "duplicate-root"),
        ('<read id="a b" path="x"/>', "bad-id"),
        ('<read id="" path="x"/>', "bad-id"),
        ('<read path="/"/>', "bad-id"),
        ('<read path="${etc}/x"/>', "bad-path"),
        ('<read id="a" path=" "/>', "bad-path"),
        ('<param name="x"/>', "misplaced-child"),
    ],
)
def test_a_senseless_root_is_an_error(inside: str, code: str) -> None:
    assert one_problem(resolved(f'<tool name="read_file">{inside}</tool>')).code == code


def test_a_root_without_a_path_is_left_to_the_parser() -> None:
    text = '<tool name="read_file"><read id="a"/></tool>'

    assert [each.code for each in parse(text).errors] == ["missing-attribute"]
    assert resolved(text).roots == {}


@pytest.mark.parametrize("tool", ['name="fs.read"', 'catalog="chatmd"', 'name="list" command="ls"'])
def test_roots_are_refused_where_no_tool_would_heed_them(tool: str) -> None:
    found = resolved(f'<tool {tool}><read path="docs"/></tool>')

    assert codes(found) == ["misplaced-child"]
    assert found.roots == {}
    assert found.problems[0].source_line.strip().startswith("<tool")
