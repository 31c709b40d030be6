"""The gate as a whole: order, refusals, what is let through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.declare.function import tool
from whence.declare.toolbox import Toolbox
from whence.errors import InvalidArgs
from whence.gate.gate import Admission, Admitted, Asking, Refused, admit, approve
from whence.gate.quota import Usage
from whence.shapes.call import Call
from whence.shapes.place import Place
from whence.shapes.policy import Policy, Quotas, Rule, Verdict
from whence.shapes.tool import Effect, Sandbox, Tool

WHY = "Find where parsing starts"


@tool("fs.read", paths={"path": Effect.READ}, aliases=("read_file",))
async def read(path: str, limit: int | None = None) -> str:
    """Read."""
    return path


@tool("fs.write", paths={"path": Effect.WRITE})
async def write(path: str, content: str) -> str:
    """Write."""
    return path


@tool("audit.record")
async def record(why: str, level: Annotated[str, "how bad"] = "info") -> str:
    """Record."""
    return why


@tool("net.get", effects=[Effect.NETWORK])
async def get(url: str) -> str:
    """Get."""
    return url


BOX = Toolbox([read, write, record, get])


def locate(given: str) -> Place:
    if "\0" in given:
        raise InvalidArgs("NUL", "Remove it.")
    inside = not given.startswith(("/", ".."))
    return Place(given, f"/w/{given}" if inside else given, given, inside)


def admitted(
    name: str,
    arguments: Any,
    policy: Policy = Policy(),
    usage: Usage | None = None,
    box: Toolbox = BOX,
) -> Admission:
    return admit(Call(name, arguments), box, policy, usage or Usage(), locate)


def refused(name: str, arguments: Any, policy: Policy = Policy(), box: Toolbox = BOX) -> Any:
    admission = admitted(name, arguments, policy, box=box)
    assert isinstance(admission, Refused)
    return admission.fault


def test_a_proper_call_is_admitted_without_its_reason() -> None:
    admission = admitted("fs.read", {"why": WHY, "path": "a.py", "note": "second try"})

    assert isinstance(admission, Admitted)
    assert admission.arguments == {"path": "a.py"}
    assert admission.request.why == WHY
    assert [comment.text for comment in admission.request.comments] == ["second try"]
    assert admission.request.paths == ("a.py",)


@pytest.mark.requirement("gate:only-way")
def test_nothing_but_the_gate_makes_an_admitted_call() -> None:
    good = admitted("fs.read", {"why": WHY, "path": "a.py"})
    assert isinstance(good, Admitted)

    with pytest.raises(TypeError, match="only the gate"):
        Admitted(good.request, good.mounted, {}, {}, b"", 1, (), (), object())


@pytest.mark.requirement("gate:unknown-tool")
def test_of_a_name_that_no_tool_could_have_the_beginning_is_told() -> None:
    refusal = admitted("h" * 100_000, {"why": WHY})

    assert isinstance(refusal, Refused)
    assert len(refusal.request.tool) == 200
    assert len(refusal.fault.message) < 300


@pytest.mark.requirement("gate:unknown-tool")
def test_an_unknown_tool_is_not_found_with_the_closest_names() -> None:
    fault = refused("fs.raed", {})

    assert fault.code == "NOT_FOUND"
    assert "'fs.raed'" in fault.message
    assert fault.details["closest"][0] == "fs.read"


@pytest.mark.parametrize("name", ["fs.read", "fs_read", "read_file"])
def test_canonical_wire_and_alias_names_mean_the_same_tool(name: str) -> None:
    admission = admitted(name, {"why": WHY, "path": "a.py"})

    assert admission.request.tool == "fs.read"
    assert admission.request.requested_as == (None if name == "fs.read" else name)


@pytest.mark.requirement("gate:order")
def test_the_reason_is_asked_for_before_the_arguments_and_both_are_named() -> None:
    fault = refused("fs.read", {"pth": "a.py"})

    assert fault.code == "MISSING_WHY"
    assert [also["code"] for also in fault.details["also"]] == ["INVALID_ARGS"]


@pytest.mark.requirement("gate:also")
def test_a_missing_reason_also_names_a_denied_path() -> None:
    policy = Policy(rules=(Rule(Verdict.DENY, "fs.read", "secret/**"),))

    fault = refused("fs.read", {"path": "secret/a"}, policy)

    assert [also["code"] for also in fault.details["also"]] == ["PERMISSION_DENIED"]


@pytest.mark.requirement("gate:order")
def test_schema_comes_before_permission_and_permission_before_quota() -> None:
    policy = Policy(rules=(Rule(Verdict.DENY, "fs.read"),), quotas=Quotas(calls=0))

    assert refused("fs.read", {"why": WHY, "path": 5}, policy).code == "INVALID_ARGS"
    assert refused("fs.read", {"why": WHY, "path": "a"}, policy).code == "PERMISSION_DENIED"
    assert refused("fs.read", {"why": WHY, "path": "a"}, Policy(quotas=Quotas(calls=0))).code == (
        "QUOTA_EXCEEDED"
    )


@pytest.mark.requirement("gate:wrong-type")
def test_a_wrong_type_names_the_argument_what_it_got_and_what_would_do() -> None:
    fault = refused("fs.read", {"why": WHY, "path": 5})

    assert fault.code == "INVALID_ARGS"
    assert "'path'" in fault.message
    assert "5" in fault.message
    assert "string" in fault.suggestion


def test_a_missing_argument_is_named() -> None:
    fault = refused("fs.write", {"why": WHY, "path": "a"})

    assert "'content' is missing" in fault.message


@pytest.mark.requirement("gate:unknown-argument")
@pytest.mark.parametrize(
    ("given", "meant"), [("pth", "path"), ("file_path", "path"), ("lmit", "limit")]
)
def test_an_unknown_argument_is_refused_with_a_did_you_mean(given: str, meant: str) -> None:
    fault = refused("fs.read", {"why": WHY, "path": "a", given: "b"})

    assert fault.code == "INVALID_ARGS"
    assert repr(given) in fault.message
    assert repr(meant) in fault.suggestion


def test_a_null_for_an_optional_argument_counts_as_left_out() -> None:
    admission = admitted("fs.read", {"why": WHY, "path": "a", "limit": None})

    assert isinstance(admission, Admitted)
    assert admission.arguments == {"path": "a"}


def test_a_null_inside_another_argument_counts_as_left_out_unless_it_is_demanded() -> None:
    line = {"type": "integer"}
    item = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "line": line,
            "end": {"type": ["integer", "null"]},
        },
        "required": ["path"],
    }
    files = {"type": "array", "items": item}
    schema: Any = {"type": "object", "properties": {"files": files, "at": item}}
    box = Toolbox([Tool("x.read", "Read.", schema, None)])

    def arguments_of(**given: Any) -> Any:
        call = Call("x.read", {"why": WHY, **given})
        admission = admit(call, box, Policy(), Usage(), locate)
        return admission.arguments if isinstance(admission, Admitted) else None

    given = {"path": "a", "line": None, "end": None}
    kept = {"path": "a", "end": None}
    assert arguments_of(files=[given, {"path": "b", "line": 3}], at=given) == {
        "files": [kept, {"path": "b", "line": 3}],
        "at": kept,
    }
    assert arguments_of(files=[{"path": None}]) is None


@pytest.mark.requirement("gate:unparsed")
def test_a_call_that_did_not_arrive_whole_is_refused() -> None:
    call = Call("fs.read", None, unparsed='{"path": "a', parse_problem="truncated")

    admission = admit(call, BOX, Policy(), Usage(), locate)

    assert isinstance(admission, Refused)
    assert admission.fault.code == "PARSE_ERROR"
    assert admission.request.unparsed == '{"path": "a'


@pytest.mark.parametrize("arguments", [None, [], "text", 5, ["path"]])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    assert refused("fs.read", arguments).code == "INVALID_ARGS"


@pytest.mark.requirement("gate:why-injected")
def test_why_is_the_first_property_that_a_model_sees() -> None:
    mounted = BOX.find("fs.read")
    assert mounted is not None

    assert next(iter(mounted.wire_schema["properties"])) == "why"
    assert mounted.wire_schema["required"][0] == "why"
    assert "why" not in mounted.tool.input_schema["properties"]  # type: ignore[operator]


@pytest.mark.requirement("gate:why-injected")
def test_a_tool_with_its_own_why_gets_the_reason_as_underscore_why() -> None:
    mounted = BOX.find("audit.record")
    assert mounted is not None
    assert list(mounted.wire_schema["properties"])[:2] == ["_why", "why"]

    admission = admitted("audit.record", {"_why": WHY, "why": "the tool's own"})

    assert isinstance(admission, Admitted)
    assert admission.arguments == {"why": "the tool's own"}
    assert refused("audit.record", {"why": "the tool's own"}).code == "MISSING_WHY"


@pytest.mark.requirement("gate:no-remote-ref")
def test_a_schema_that_refers_to_another_document_is_refused_not_fetched() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}}
    box = Toolbox([Tool("x.y", "x", schema, None)])

    with pytest.raises(InvalidArgs, match="cannot be used"):
        admitted("x.y", {"why": WHY, "a": 1}, box=box)


@pytest.mark.requirement("gate:no-remote-ref")
def test_a_pattern_in_a_schema_cannot_backtrack() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    box = Toolbox([Tool("x.y", "x", schema, None)])

    assert refused("x.y", {"why": WHY, "a": "a" * 40 + "b"}, box=box).code == "INVALID_ARGS"


def test_deeply_nested_arguments_and_schemas_are_refused() -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    box = Toolbox([Tool("x.y", "x", {"type": "object", "properties": {"a": {}}}, None)])
    assert refused("x.y", {"why": WHY, "a": deep}, box=box).code == "INVALID_ARGS"

    schema: Any = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(InvalidArgs, match="nested"):
        Toolbox([Tool("x.y", "x", schema, None)])


@pytest.mark.parametrize("text", ["\ud800", "a" * 5000 + "\udc80"])
def test_text_that_is_no_unicode_is_invalid(text: str) -> None:
    fault = refused("fs.write", {"why": WHY, "path": "a", "content": text})

    assert fault.code == "INVALID_ARGS"
    assert "Unicode" in fault.message


def test_a_path_with_a_nul_byte_is_invalid() -> None:
    assert refused("fs.read", {"why": WHY, "path": "a\0b"}).code == "INVALID_ARGS"


@pytest.mark.requirement("gate:approval")
def test_the_outside_the_network_and_secrets_ask_and_approval_admits() -> None:
    for name, arguments in (
        ("fs.read", {"path": "/etc/passwd"}),
        ("fs.read", {"path": "../x"}),
        ("fs.read", {"path": ".env.local"}),
        ("fs.write", {"path": ".git/hooks/pre-commit", "content": ""}),
        ("net.get", {"url": "http://x"}),
    ):
        admission = admitted(name, {"why": WHY, **arguments})
        assert isinstance(admission, Asking), name
        assert admission.ruling.would_allow
        assert isinstance(approve(admission), Admitted)


def test_a_sandbox_keeps_a_tool_to_its_patterns() -> None:
    held = Tool(
        "fs.note",
        "Write notes",
        {"type": "object", "properties": {"path": {"type": "string"}}},
        None,
        effects=frozenset({Effect.WRITE}),
        paths={"path": Effect.WRITE},
        sandbox=Sandbox(filesystem=("notes/**", "!notes/private/**", "r:src/**")),
    )
    box = Toolbox([held])

    assert isinstance(admitted("fs.note", {"why": WHY, "path": "notes/a"}, box=box), Admitted)
    for path in ("notes/private/a", "src/a", "other"):
        admission = admitted("fs.note", {"why": WHY, "path": path}, box=box)
        assert isinstance(admission, Refused)
        assert admission.violation == "sandbox"


def test_the_journal_cannot_be_written_whatever_the_rules_say() -> None:
    policy = Policy(rules=(Rule(Verdict.ALLOW, "*"), Rule(Verdict.ALLOW, "fs.write", ".agent/**")))
    path = ".agent/sessions/s/session-log.md"

    admission = admitted("fs.write", {"why": WHY, "path": path, "content": ""}, policy)

    assert isinstance(admission, Refused)
    assert admission.fault.code == "PERMISSION_DENIED"
    assert admission.violation == "append_only"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(
    name=st.sampled_from(["fs.read", "fs_write", "audit.record", "net.get", "x", ""]),
    arguments=st.dictionaries(
        st.sampled_from(["path", "content", "why", "_why", "note", "url", "limit", "x"]), JSON
    )
    | JSON,
)
def test_any_call_gets_an_answer_and_a_refusal_always_says_what_to_do(
    name: str, arguments: Any
) -> None:
    admission = admitted(name, arguments)

    if isinstance(admission, Refused):
        assert admission.fault.message
        assert admission.fault.suggestion
    else:
        reason = admission.request.why
        assert reason.strip()
        assert isinstance(arguments, Mapping)
