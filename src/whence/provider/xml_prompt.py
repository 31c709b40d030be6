"""The tools in words, for a model that is shown them in its instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whence.provider.exchange import ToolDefinition
from whence.provider.wire import dumps
from whence.provider.xml_stream import Definitions
from whence.provider.xml_values import kinds_of
from whence.shapes.json import JSONObject
from whence.shapes.schema import followed, schema_list

_RULES = """\
# Tools

You can use the tools below. A call is a tool's name as a tag, with a tag inside for each argument:

<tool_name>
<first_argument>value</first_argument>
<second_argument>value</second_argument>
</tool_name>

- Write a call outside of code fences and backticks; inside of them it is only an example.
- Write text as it is, without escaping. Text of several lines begins on the line after its opening
  tag and ends on the line before its closing tag.
- Text that contains the tags of its own argument or tool stands between <![CDATA[ and ]]>.
- Numbers, true, false and null are written as in JSON; lists and objects are JSON.
- Leave out an optional argument that you do not need.
- You may write several calls in one answer. Then stop: the results come in the next message."""


def render_prompt(definitions: Definitions) -> str:
    """The part of the instructions that describes the tools; empty where there are none."""
    if not definitions:
        return ""
    return "\n\n".join([_RULES, *(render_tool(one) for one in definitions.values())])


def render_tool(definition: ToolDefinition) -> str:
    """One tool: what it does, its arguments, and how a call of it looks."""
    schema = definition.schema
    properties = schema.get("properties")
    named = properties if isinstance(properties, Mapping) else {}
    demanded = schema_list(schema.get("required"))
    lines = [f"## {definition.name}", definition.description.strip(), ""]
    if named:
        lines.append("Arguments:")
        lines += [
            _argument(name, rule, schema, demanded=name in demanded) for name, rule in named.items()
        ]
        lines.append("")
    shown = [name for name in named if name in demanded]
    lines.append(f"<{definition.name}>")
    lines += [f"<{name}>…</{name}>" for name in shown]
    lines.append(f"</{definition.name}>")
    return "\n".join(line for at, line in enumerate(lines) if line or at > 1)


def _argument(name: str, rule: object, root: JSONObject, demanded: bool) -> str:
    followed_rule = followed(rule, root)
    words = [_type(followed_rule, root)]
    words.append("required" if demanded else "optional")
    said = str(followed_rule.get("description") or "").strip()
    line = f"- {name} ({', '.join(words)})"
    return f"{line}: {said}" if said else line


def _type(rule: Mapping[str, Any], root: JSONObject) -> str:
    values = [rule["const"]] if "const" in rule else schema_list(rule.get("enum"))
    if values:
        return "one of " + ", ".join(dumps(value).decode() for value in values)
    kinds = kinds_of(rule, root)
    if kinds & {"array", "object"} and len(kinds) < 7:
        shape = {key: value for key, value in rule.items() if key not in ("description", "title")}
        return f"JSON of the form {dumps(shape).decode()}"
    return "any JSON value" if len(kinds) == 7 else " or ".join(sorted(kinds))
