from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whence.declare.protocol import MAX_CHARACTERS, load_tools
from whence.errors import Conflict, InvalidArgs, ParseError, WhenceError
from whence.shapes.tool import Effect, Example, Sandbox, Tool

pytestmark = pytest.mark.requirement("tools:seed-document")

SEED = Path(__file__).parents[2].parent / "shared" / "seeds" / "002_9ce93a70bbe994c8.txt"

PAGE = """\
# Gardening tools

The form of a definition:

```yaml
tool:
  name: string         # what the model calls
  description: string
  category: string
  input_schema:
    properties:
      why: string
    required: ["why", ...]
  sandbox:
    network: boolean
    filesystem: string[]
  examples:
    - input: { ... }
```

## Beds

```yaml
garden.beds:
  description: "List the beds of a garden"
  input_schema:
    properties:
      plot: string
      span: {from: int, to: int}?   # rows, both ends included
      order: "north" | "south"
      why: string
    required: [plot, why]
  output_schema:
    type: array
    items:
      type: object
      properties:
        type: "raised" | "flat"   # not the keyword
        plants: string[]
        size: float
  notes: |
    Beds are listed as they lie:
      order: "north" | "south"
  sandbox:
    network: false
    filesystem: [beds/**, "!beds/private/**"]
    timeout_ms: 2500
  examples:
    - input: {plot: back}
      output: []
      why: See what is free before planting

fs.rake:
  description: 'Smooth a file''s lines'
  input_schema:
    properties: {path: string, teeth: int[], mode: "slow" | "fast", why: string}
    required: [path, why]
  effects: [read, write]
  paths:
    path: write
```

Reasons, good and bad:

```yaml
why: "Find the bed that still gets sun in October"
why: ""
```

A call as it is logged, an error, and something broken:

```yml
type: tool_call
tool: garden.beds
args: {plot: back, why: "Plan the winter"}
```

~~~yaml
error:
  code: string
  suggestion: string?
~~~

```yaml
not: [yaml
```

- In a list:

  ```yaml
  custom_tools:
    - name: sky.forecast
      mcp_server: weather
      description: Ask for tomorrow's weather
      input_schema:
        properties:
          place: string
          why: string
        required: [place, why]
      notes: Costs a little
  ```
"""


def tools_of(text: str) -> dict[str, Tool]:
    return {tool.name: tool for tool in load_tools(text, source="page.md")}


def one(definition: str, name: str = "fs.x") -> Tool:
    """The tool of these lines, below its name."""
    lines = "".join(f"  {line}\n" for line in definition.splitlines())
    return tools_of(f"{name}:\n{lines}")[name]


def with_fields(fields: str = "", name: str = "fs.x") -> Tool:
    return one(f"description: d\ninput_schema: {{properties: {{path: string}}}}\n{fields}", name)


@pytest.fixture(scope="module")
def seed() -> dict[str, Tool]:
    if not SEED.exists():
        pytest.skip(f"the seed documents are not beside this checkout: {SEED}")
    return tools_of(SEED.read_text(encoding="utf-8"))


def test_the_protocol_document_loads_as_it_stands(seed: dict[str, Tool]) -> None:
    assert list(seed) == [
        *("fs.ls", "fs.read", "fs.append", "fs.patch", "fs.write", "fs.mkdir", "fs.copy"),
        *("search.lexical", "search.vector", "terminal.run", "python.exec", "js.exec"),
        *("memory.summarize", "memory.advise", "video.extract_frames"),
    ]
    assert all(tool.handler is None and tool.description for tool in seed.values())
    for tool in seed.values():
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            assert jsonschema_rs.meta.is_valid(dict(schema))


def test_the_protocol_tools_have_their_schemas(seed: dict[str, Tool]) -> None:
    assert seed["fs.ls"].output_schema == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "type": {"type": "string", "enum": ["file", "directory"]},
                "size": {"type": "integer"},
                "modified": {"type": "string"},
            },
        },
    }
    assert seed["search.vector"].input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Natural language query"},
            "scope": {"type": "string"},
            "k": {"type": "integer", "default": 10},
        },
        "required": ["query"],
    }
    context = {"type": "array", "items": {"type": "string"}}
    lexical: Any = seed["search.lexical"].output_schema
    assert lexical["items"]["properties"]["context"] == context
    style: Any = seed["memory.summarize"].input_schema["properties"]
    assert style["style"]["enum"] == ["bullet", "narrative", "schema"]
    assert seed["fs.write"].output_schema is None
    assert seed["fs.write"].notes == "Prefer append or patch when possible"


def test_only_the_outer_reason_is_taken_out_of_a_schema(seed: dict[str, Tool]) -> None:
    for tool in seed.values():
        assert "why" not in tool.input_schema["properties"]  # type: ignore[operator]
        assert "why" not in tool.input_schema.get("required", ())  # type: ignore[operator]
    advise: Any = seed["memory.advise"].input_schema
    assert "required" not in advise
    for hints in advise["properties"].values():
        assert list(hints["items"]["properties"]) == ["path", "why"]


def test_the_protocol_tools_have_categories_sandboxes_and_sources(seed: dict[str, Tool]) -> None:
    categories = [tool.category for tool in seed.values()]
    assert categories == ["fs"] * 7 + ["search"] * 2 + ["exec"] * 3 + ["memory"] * 2 + ["custom"]
    assert seed["terminal.run"].sandbox == Sandbox(network=False, timeout_ms=30_000)
    assert seed["fs.ls"].sandbox == Sandbox()
    frames = seed["video.extract_frames"]
    assert (frames.source, frames.notes) == ("mcp", "MCP server: video-tools")
    assert frames.input_schema == {
        "type": "object",
        "properties": {"video_path": {"type": "string"}, "timestamps": {"type": "array"}},
        "required": ["video_path", "timestamps"],
    }


def test_a_page_gives_its_tools_and_nothing_else() -> None:
    assert list(tools_of(PAGE)) == ["garden.beds", "fs.rake", "sky.forecast"]
    assert list(tools_of("\ufeff" + PAGE.replace("\n", "\r\n"))) == list(tools_of(PAGE))


def test_a_definition_is_read_with_all_its_parts() -> None:
    beds = tools_of(PAGE)["garden.beds"]
    row = {"type": "integer"}
    assert beds.input_schema == {
        "type": "object",
        "properties": {
            "plot": {"type": "string"},
            "span": {
                "type": ["object", "null"],
                "properties": {"from": row, "to": row},
                "required": ["from", "to"],
            },
            "order": {"type": "string", "enum": ["north", "south"]},
        },
        "required": ["plot"],
    }
    output: Any = beds.output_schema
    assert output["items"]["properties"]["type"]["enum"] == ["raised", "flat"]
    assert output["items"]["properties"]["plants"]["items"] == {"type": "string"}
    assert beds.notes == 'Beds are listed as they lie:\n  order: "north" | "south"'
    assert beds.sandbox == Sandbox(
        network=False, filesystem=("beds/**", "!beds/private/**"), timeout_ms=2500
    )
    reason = "See what is free before planting"
    assert beds.examples == (Example({"why": reason, "plot": "back"}, [], reason),)
    assert (beds.category, beds.source) == ("custom", "builtin")
    assert beds.effects == {Effect.EXECUTE}


def test_shorthand_inside_a_flow_mapping_is_read_too() -> None:
    rake = tools_of(PAGE)["fs.rake"]
    assert rake.description == "Smooth a file's lines"
    assert rake.input_schema["properties"] == {
        "path": {"type": "string"},
        "teeth": {"type": "array", "items": {"type": "integer"}},
        "mode": {"type": "string", "enum": ["slow", "fast"]},
    }
    assert rake.effects == {Effect.READ, Effect.WRITE}
    assert rake.paths == {"path": Effect.WRITE}


def test_a_tool_of_a_server_is_declared_but_not_reachable() -> None:
    forecast = tools_of(PAGE)["sky.forecast"]
    assert (forecast.source, forecast.handler) == ("mcp", None)
    assert forecast.notes == "Costs a little\nMCP server: weather"
    assert forecast.effects == {Effect.EXECUTE, Effect.NETWORK}


DEFINITION = "description: d\ninput_schema: {properties: {a: int}}"


@pytest.mark.parametrize(
    "text",
    [
        "x.y: {description: d, input_schema: {properties: {a: int}}}",
        "tool: {name: x.y, description: d, input_schema: {properties: {a: int}}}",
        "name: x.y\n" + DEFINITION,
        "tools: {x.y: {description: d, input_schema: {properties: {a: int}}}}",
        "tools: [{name: x.y, description: d, input_schema: {properties: {a: int}}}]",
        "custom_tools: {x.y: {description: d, input_schema: {properties: {a: int}}}}",
        "custom_tools: [{name: x.y, description: d, input_schema: {properties: {a: int}}}]",
        "---\nfirst: document\n---\nx.y: {description: d, input_schema: {properties: {a: int}}}",
        '{"x.y": {"description": "d", "input_schema": {"properties": {"a": "int"}}}}',
    ],
)
def test_a_definition_may_stand_in_any_of_these_places(text: str) -> None:
    tool = tools_of(text)["x.y"]
    assert tool.description == "d"
    assert tool.input_schema == {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a remark",
        "driver: {name: custom, tier: 6, description: The whole thing}",
        "tools: {read_file: {tool: View, notes: old name}}",
        "tools: [fs.read, fs.write]",
        "tools:\ncustom_tools:\n",
        "tool: fs.read\ntype: tool_call",
        "settings.tab: {description: Width of a tab, default: 4}",
        "shape: {description: string, input_schema: {properties: {a: int}}}",
        "name: string\ndescription: str\ninput_schema: {}",
    ],
)
def test_what_declares_no_tool_is_left_alone(text: str) -> None:
    assert tools_of(text) == {}


def test_a_tool_may_be_called_like_a_type() -> None:
    assert list(tools_of("tool: {name: string, description: Joins, input_schema: {}}")) == [
        "string"
    ]


def test_the_driver_form_is_read_with_its_optional_arguments() -> None:
    text = """\
driver: {name: own, tier: 6, description: Everything}
capabilities: {custom_tools: true}
tools:
  fs.peek:
    schema:
      path: string
      lines: {start: int, end: int}?
      why: string  # REQUIRED
    enforced: true
  terminal.go:
    schema: {cmd: array, cwd: string?, why: string}
    sandbox: true
    mode: "careful"
"""
    tools = tools_of(text)
    peek: Any = tools["fs.peek"].input_schema
    assert peek["required"] == ["path"]
    assert peek["properties"]["lines"]["required"] == ["start", "end"]
    assert tools["terminal.go"].input_schema["required"] == ["cmd"]
    assert tools["terminal.go"].sandbox == Sandbox()
    assert tools["terminal.go"].description == ""


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("\"a\" | \"b\"   # 'c' | 'd'", {"type": "string", "enum": ["a", "b"]}),
        ("'it''s' | \"b\"?", {"type": ["string", "null"], "enum": ["it's", "b", None]}),
        ("{x: int}[]", {"type": "array"}),
        ("int | {x: int}", {"anyOf": []}),
        ("({x: int} | string)[]", {"type": "array"}),
        ('{kind: {"a b": "p" | "q"}[], n: int?}', {"type": "object"}),
        ('[int, "a" | "b"]', None),
    ],
)
def test_invalid_yaml_is_read_as_the_shorthand_that_it_is(value: str, schema: Any) -> None:
    text = f"x.y:\n  description: d\n  input_schema:\n    properties:\n      a: {value}\n"
    if schema is None:
        with pytest.raises(InvalidArgs, match="is no schema"):
            tools_of(text)
        return
    properties: Any = tools_of(text)["x.y"].input_schema["properties"]
    assert schema.keys() <= properties["a"].keys()
    assert all(properties["a"][key] == part for key, part in schema.items() if part)


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cn", "Co")) | st.just("\n")),
    st.lists(st.sampled_from(['"a" | "b"', "{x: int}?", " # c", "k: ", "|", "'", '"', "\n", "w "])),
    st.integers(10, 80),
    st.sampled_from([None, "|", '"', "'"]),
)
@example("", ["'", "k: ", "k: ", '"a" | "b"'], 10, None)
@settings(deadline=None, max_examples=200)
def test_quoting_shorthand_changes_no_valid_text_beside_it(
    text: str, pieces: list[str], width: int, style: str | None
) -> None:
    note = f"x {text} {''.join(pieces)} x"
    valid = {"x.y": {"description": "d", "notes": note, "input_schema": {"type": "object"}}}
    broken = 'x.z:\n  description: d\n  input_schema:\n    properties:\n      a: "a" | "b"\n'
    dumped = yaml.safe_dump(valid, width=width, default_style=style, allow_unicode=True)
    tools = tools_of(f"{dumped}{broken}")
    assert tools["x.y"].notes == note
    assert tools["x.z"].input_schema["properties"] == {"a": {"type": "string", "enum": ["a", "b"]}}


def test_words_of_other_yaml_versions_stay_words() -> None:
    tool = one(
        "description: d\n"
        "input_schema:\n"
        "  properties:\n"
        "    on: string\n"
        "    1: int\n"
        "    day: {type: string, default: 2026-11-15, enum: [no, yes, 12:30:00, 0x1f]}\n"
        "    size: {default: [true, null, ~, 7, -1.5, 1e3, .inf, 'no', \"7\"]}\n"
    )
    properties: Any = tool.input_schema["properties"]
    assert list(properties) == ["on", "1", "day", "size"]
    assert properties["day"]["default"] == "2026-11-15"
    assert properties["day"]["enum"] == ["no", "yes", "12:30:00", "0x1f"]
    assert properties["size"]["default"] == [True, None, None, 7, -1.5, 1000.0, ".inf", "no", "7"]
    json.dumps(tool.input_schema, allow_nan=False)


@pytest.mark.parametrize(
    ("name", "fields", "effects"),
    [
        ("fs.x", "", {Effect.READ, Effect.WRITE}),
        ("search.x", "", {Effect.READ}),
        ("terminal.x", "", {Effect.EXECUTE}),
        ("python.x", "sandbox: {network: true}", {Effect.EXECUTE, Effect.NETWORK}),
        ("js.x", "sandbox: {network: false}", {Effect.EXECUTE}),
        ("memory.x", "", {Effect.WRITE}),
        ("other.x", "", {Effect.EXECUTE, Effect.NETWORK}),
        ("other.x", "sandbox: {timeout_ms: 5}", {Effect.EXECUTE, Effect.NETWORK}),
        ("other.x", "sandbox: {network: false}", {Effect.EXECUTE}),
        ("other.x", "category: fs", {Effect.READ, Effect.WRITE}),
        ("fs.x", "effects: write", {Effect.WRITE}),
        ("fs.x", "effects: []", set()),
        ("fs.x", "effects: [read]\npaths: {path: write}", {Effect.READ, Effect.WRITE}),
        ("fs.x", "effects: [read]\nsandbox: {network: true}", {Effect.READ, Effect.NETWORK}),
    ],
)
def test_effects_are_those_given_or_those_of_the_category(
    name: str, fields: str, effects: set[Effect]
) -> None:
    assert with_fields(fields, name).effects == effects


def test_the_remaining_fields_are_optional_and_kept() -> None:
    tool = with_fields("aliases: [peek, View]\nsandbox: {filesystem: docs/**}\nflavour: mild")
    assert tool.aliases == ("peek", "View")
    assert tool.sandbox.filesystem == ("docs/**",)
    bare = with_fields()
    assert (bare.aliases, bare.examples, bare.paths, bare.notes) == ((), (), {}, "")


def test_the_reason_of_an_example_is_found_in_either_place() -> None:
    examples = "examples:\n- input: {path: a, why: Inside}\n- input: {path: b}\n"
    both = "- input: {path: c, why: Inside}\n  why: Beside\n"
    assert with_fields(examples + both).examples == (
        Example({"path": "a", "why": "Inside"}, None, "Inside"),
        Example({"path": "b"}, None, ""),
        Example({"path": "c", "why": "Inside"}, None, "Beside"),
    )


def test_an_input_schema_always_describes_an_object() -> None:
    assert one("description: d\ninput_schema: {}").input_schema == {"type": "object"}
    assert one("description: d\ninput_schema: object").input_schema == {"type": "object"}
    inline = one("description: d\ninput_schema: {path: string, why: string}").input_schema
    assert inline == {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    }
    served = tools_of("custom_tools: [{name: a, description: d, mcp_server: s}]")["a"]
    assert served.input_schema == {"type": "object", "properties": {}}


def test_two_definitions_of_one_name_name_both_lines() -> None:
    below = "a.b: {description: d, input_schema: {}}"
    named = "{name: a.b, description: d, input_schema: {}}"
    for text, lines in (
        (f"```yaml\n{below}\n```\n\n```yaml\n{below}\n```", [2, 6]),
        (f"{below}\n{below}", [1, 2]),
        (f"{below}\n\ntools:\n- {named}", [1, 4]),
        (f"{{{below}, tool: {named}}}", [1, 1]),
    ):
        with pytest.raises(Conflict) as caught:
            tools_of(text)
        assert caught.value.details["lines"] == lines
        assert f"page.md:{lines[1]}: 'a.b'" in caught.value.message
        assert f"line {lines[0]}" in caught.value.message


@pytest.mark.parametrize(
    ("fields", "line", "shown", "hint"),
    [
        ("category: fss", 4, "'fss'", "fs, search, exec, memory, custom"),
        ("sandbox: {network: no}", 4, "'no'", "true or false"),
        ("sandbox:\n  timeout_ms: 0", 5, "timeout_ms is 0", "above 0"),
        ("sandbox: {timeout_ms: true}", 4, "True", "above 0"),
        ("sandbox: {timeout_ms: 5s}", 4, "'5s'", "above 0"),
        ("sandbox: {netwrk: true}", 4, "netwrk", "network, filesystem and timeout_ms"),
        ("sandbox: {filesystem: [1]}", 4, "[1]", "list of texts"),
        ("sandbox: {filesystem: ['']}", 4, "['']", "list of texts"),
        ("sandbox: false", 4, "False", "cannot be switched off"),
        ("effects: [raed]", 4, "'raed'", "'read'"),
        ("effects: [zzzzzz]", 4, "'zzzzzz'", "read, write, execute, network"),
        ("effects: {read: true}", 4, "{'read': True}", "list"),
        ("paths: [path]", 4, "['path']", "argument: read"),
        ("paths: {pth: read}", 4, "'pth'", "path"),
        ("paths:\n  path: look", 5, "'look'", "read, write, execute, network"),
        ("examples: {input: {}}", 4, "{'input': {}}", "list"),
        ("examples:\n- input: {}\n- output: 3", 6, "{'output': 3}", "`input:`"),
        ("examples:\n- {input: {}, why: 7}", 5, "7", "sentence"),
        ("aliases: 7", 4, "7", "list"),
        ("notes: [a]", 4, "['a']", "Quote"),
        ("mcp_server: {a: b}", 4, "{'a': 'b'}", "Quote"),
        ("sandboxes: {network: true}", 4, "'sandboxes'", "'sandbox'"),
        ("schema: {a: int}", 4, "both", "Keep input_schema"),
        ("output_schema:\n  items:\n    type: strng", 6, "'strng'", "'string'"),
        ("output_schema: {properties: [a]}", 4, "['a']", "name: type"),
        ("name: fs.y", 4, "'fs.y'", "one name"),
    ],
)
def test_a_wrong_field_is_refused_on_its_line(
    fields: str, line: int, shown: str, hint: str
) -> None:
    with pytest.raises(InvalidArgs) as caught:
        with_fields(fields)
    assert caught.value.message.startswith(f"page.md:{line}: fs.x: ")
    assert shown in caught.value.message
    assert hint in caught.value.suggestion


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        ("a.b:\n  input_schema: {}", 1, "no description"),
        ("a.b:\n  description: ' '\n  input_schema: {}", 2, "no description"),
        ("a.b:\n  description: 3\n  input_schema: {}", 2, "3"),
        ("a.b:\n  description: d\n  sandbox: {}", 1, "no input_schema"),
        ("a.b:\n  description: d\n  input_schema:\n", 3, "no input_schema"),
        ("a.b:\n  description: d\n  input_shema: {}", 3, "'input_shema'"),
        ("a.b:\n  description: d\n  inputSchema: {}", 3, "'inputSchema'"),
        ("a.b:\n  description: d\n  input_schema: string", 3, "'string'"),
        ("a.b:\n  description: d\n  input_schema: {a: int}?", 3, "'{a: int}?'"),
        ("a.b:\n  description: d\n  input_schema: false", 3, "False"),
        ("a.b:\n  description: d\n  input_schema: [a]", 3, "['a']"),
        ("custom_tools:\n- 3", 2, "3 is not a definition"),
        ("custom_tools:\n- description: d\n  input_schema: {}", 2, "no name"),
        ("tool:\n  description: d", 1, "no name"),
        ("custom_tools:\n- description: d\n  name: .x", 3, "'.x'"),
        ("custom_tools:\n- name: x.\n", 2, "'x.'"),
        ("custom_tools:\n- name: 'a b'\n", 2, "'a b'"),
        ("custom_tools:\n- name: ''\n", 2, "''"),
        ("custom_tools:\n- name: 7\n", 2, "7"),
        (f"custom_tools:\n- name: {'a' * 129}\n", 2, "aaa"),
        ("größe: {description: d, input_schema: {}}", 1, "'größe'"),
    ],
)
def test_an_incomplete_definition_is_refused_on_its_line(text: str, line: int, shown: str) -> None:
    with pytest.raises(InvalidArgs) as caught:
        tools_of(text)
    assert caught.value.message.startswith(f"page.md:{line}: ")
    assert shown in caught.value.message
    assert caught.value.suggestion


def test_lines_are_those_of_the_page() -> None:
    broken = PAGE.replace("place: string", "place: strng")
    with pytest.raises(InvalidArgs) as caught:
        tools_of(broken)
    line = broken.splitlines().index("          place: strng") + 1
    assert caught.value.details == {"source": "page.md", "line": line, "tool": "sky.forecast"}


DEEP = "[" * 5_000 + "]" * 5_000


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        ("- a\n- b", 1, "['a', 'b']"),
        ("Just some prose.", 1, "'Just some prose.'"),
        ("custom_tools: 3", 1, "3"),
        ("a: 1\nb: [", 3, ""),
        ("a: 1\n\tb: 2", 2, ""),
        ("a: 1\nb: \x01", 2, "control characters"),
        ("a: 1\na: 2", 2, "'a' is already on line 1"),
        ("a.b:\n  description: d\n  description: e\n  input_schema: {}", 3, "'description'"),
        ("? [a]\n: b", 1, "key"),
        (f"a: {DEEP}", 1, "levels deep"),
        (f"a.b:\n  description: d\n  input_schema: {{default: {DEEP}}}", 3, "levels deep"),
        ("a: &all {x: 1}\nb: *all", 1, "'all'"),
        ("a: *all", 1, "'all'"),
        ("a: !!python/object/apply:os.system [ls]", 1, "os.system"),
        ("a: !!set {x}", 1, "set"),
        ('a.b:\n  description: d\n  input_schema: {\n    a: "x" | "y",\n  }', 4, ""),
        ("```yaml\na.b:\n  input_schema: [\n```", 4, ""),
        ("text\n\n```yaml\na.b: &x\n  input_schema: {}\n```", 4, "'x'"),
    ],
)
def test_text_that_cannot_be_read_is_refused_on_its_line(text: str, line: int, shown: str) -> None:
    with pytest.raises(ParseError) as caught:
        tools_of(text)
    assert caught.value.message.startswith(f"page.md:{line}: ")
    assert shown in caught.value.message
    assert caught.value.suggestion


def test_a_document_has_bounds() -> None:
    with pytest.raises(ParseError, match="characters"):
        tools_of("a" * (MAX_CHARACTERS + 1))
    with pytest.raises(ParseError, match="character 3 is half"):
        tools_of("a: \ud800")


@pytest.mark.parametrize(
    "text",
    [
        'a: "' + '\\"' * 500_000,
        "a: " + "'" * 999_999,
        "a: " + "{" * 999_999,
        "a: " + "[" * 999_999 + "}",
        " " * 1_000_000 + "[",
        "\n".join("a: " + '{"' * 1_900 for _ in range(100)) + "\n\t",
        "- " * 100_000 + "x",
        "a: {b)",
    ],
)
def test_hostile_text_is_refused_without_a_traceback(text: str) -> None:
    with pytest.raises(ParseError):
        tools_of(text)


@given(
    st.lists(
        st.sampled_from(
            [
                *("a.b:", "tool:", "tools:", "custom_tools:", "description: d", "input_schema:"),
                *(
                    "properties:",
                    "name: x",
                    "schema: {a: int}",
                    "sandbox:",
                    "examples:",
                    "- ",
                    "  ",
                ),
                *("\n", "\n  ", "\n    ", "\n```yaml\n", "\n```\n", '"a" | "b"', "{x: int}?", "'"),
                *("|", "effects: [read]", "paths: {a: read}", "&x ", "*x", "!!int ", "{", "]", " "),
            ]
        ),
        max_size=25,
    )
)
@settings(deadline=None, max_examples=300)
def test_any_document_gives_tools_or_an_error_of_ours(pieces: list[str]) -> None:
    try:
        tools = load_tools("".join(pieces), source="any")
    except WhenceError as error:
        problem: WhenceError | None = error
    else:
        problem = None
        assert all(jsonschema_rs.meta.is_valid(dict(tool.input_schema)) for tool in tools)
    assert problem is None or (problem.message.startswith("any:") and problem.suggestion)
