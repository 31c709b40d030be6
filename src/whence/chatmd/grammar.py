"""The closed set of elements: what each may hold, and which attributes it knows."""

from __future__ import annotations

from whence.shapes.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """What one element may look like."""

    attributes: frozenset[str]
    children: frozenset[str] = frozenset()
    """Elements that are read as such inside it; every other tag there is text."""
    required: tuple[str, ...] = ()
    void: bool = False
    """It has no body, so that a missing slash or closing tag is no mistake that matters."""
    home: str = ""
    """The element it belongs into; empty: it stands at the top level."""


def _rule(
    attributes: str, children: str = "", required: str = "", *, void: bool = False, home: str = ""
) -> Rule:
    return Rule(
        frozenset(attributes.split()),
        frozenset(children.split()),
        tuple(required.split()),
        void,
        home,
    )


_SAID = "id status name phase type native ochat-history-id"
_CONTENT = "doc img agent import"
_TYPED = "name type description required default enum"

ELEMENTS: dict[str, Rule] = {
    "msg": _rule(f"{_SAID} role tool_call_id function_name tool_call", _CONTENT, "role"),
    "user": _rule(_SAID, _CONTENT),
    "assistant": _rule(_SAID, _CONTENT),
    "system": _rule(_SAID, _CONTENT),
    "developer": _rule(_SAID, _CONTENT),
    "tool_call": _rule(
        f"{_SAID} tool_call_id function_name", "doc img", "tool_call_id function_name"
    ),
    "tool_response": _rule(f"{_SAID} tool_call_id function_name", "doc img", "tool_call_id"),
    "reasoning": _rule("id status encrypted protocol native ochat-history-id", "summary"),
    "config": _rule(
        "model max_tokens temperature reasoning_effort show_tool_call id mode why max_turns"
        " parallel_tool_calls protocol budget",
        void=True,
    ),
    "tool": _rule(
        "name catalog include includes command description timeout max_output cwd env network"
        " sandbox effects agent local mcp_server strict client_id_env client_secret_env headers_env"
        " python freeform",
        "param read",
    ),
    "input": _rule(_TYPED, required="name", void=True),
    "output": _rule("schema description"),
    "script": _rule(
        "id language kind src wall_time fuel max_tasks max_value max_output max_array_items"
        " max_depth"
    ),
    "import": _rule("src namespace local", required="src", void=True),
    "doc": _rule("src local strip markdown", required="src", void=True, home="message"),
    "img": _rule("src local alt detail", required="src", void=True, home="message"),
    "agent": _rule("src local", _CONTENT, "src", home="message"),
    "summary": _rule("type", home="reasoning"),
    "param": _rule(f"{_TYPED} pattern", required="name", void=True, home="tool"),
    "read": _rule("id path description", required="path", void=True, home="tool"),
}
"""Every element that is more than text, and its rule."""

FLAGS = frozenset(
    {
        "local",
        "strip",
        "markdown",
        "strict",
        "show_tool_call",
        "required",
        "parallel_tool_calls",
        "freeform",
    }
)
"""Attributes that are true by being there, and false when their value says so."""

ROLES = ("user", "assistant", "system", "developer")
"""Elements that are messages, and the roles that `<msg>` may name besides `tool`."""

MODEL_SAID = frozenset({"assistant", "tool_call", "tool_response", "reasoning"})
"""What only a run writes; a person starts none of these by hand."""

TRANSCRIPT = MODEL_SAID | {"user", "system", "developer", "msg"}
"""What an entry of the conversation is made of."""

DECLARATIONS = frozenset({"config", "tool", "input", "output", "script"})
"""What belongs before the conversation."""

UNCLOSED_IS_FINE = frozenset({"doc", "img"})
"""Written without their slash by older files; the others get a warning."""

DEEPEST = 64
"""How deep elements may nest; deeper ones are text, and an error says so."""
