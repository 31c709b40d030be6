"""Servers whose tools are to be mounted."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.declare.declaring import codes, one_problem, resolved
from whence.declare.mcp import endpoint, headers
from whence.declare.toolbox import Toolbox
from whence.errors import InvalidArgs
from whence.loop.server_tools import tool_of
from whence.shapes.declaration import McpServer
from whence.shapes.document import Severity

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def server_of(attributes: str) -> McpServer:
    found = resolved(f"<tool {attributes}/>")
    assert found.problems == ()
    assert found.tools == ()
    (server,) = found.servers
    return server


def test_a_program_is_split_into_words() -> None:
    server = server_of('mcp_server="stdio:npx -y brave-search-mcp" env="BRAVE_KEY" cwd="srv"')

    assert server.transport == "stdio"
    assert server.argv == ("npx", "-y", "brave-search-mcp")
    assert server.include is None
    assert (server.env, server.cwd) == (("BRAVE_KEY",), "srv")
    assert server.label == "npx -y brave-search-mcp"


def test_quotes_and_percent_20_are_read_as_in_commands() -> None:
    server = server_of("mcp_server=\"stdio:'/opt/my server/run' --x%20y\"")

    assert server.argv == ("/opt/my server/run", "--x", "y")


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://tools.acme.dev", "https://tools.acme.dev"),
        ("mcp+https://tools.acme.dev/mcp?v=1", "https://tools.acme.dev/mcp?v=1"),
        ("mcp+http://localhost:8080/x", "http://localhost:8080/x"),
        ("HTTPS://tools.acme.dev", "https://tools.acme.dev"),
    ],
)
def test_an_address_may_say_that_it_is_of_this_protocol(written: str, url: str) -> None:
    server = server_of(f'mcp_server="{written}"')

    assert (server.transport, server.url) == ("http", url)


@pytest.mark.parametrize(
    ("attributes", "include"),
    [
        ('includes="weather, stock_ticker,"', ("weather", "stock_ticker")),
        ('include="a,b,a"', ("a", "b")),
        ('name="sum"', ("sum",)),
        ("", None),
    ],
)
def test_the_wanted_tools_are_recorded(attributes: str, include: tuple[str, ...] | None) -> None:
    assert server_of(f'mcp_server="https://tools.acme.dev" {attributes}').include == include


def test_name_wins_over_include_and_include_over_includes() -> None:
    found = resolved(
        '<tool mcp_server="https://a.dev" name="x" include="y" includes="z"/>\n'
        '<tool mcp_server="https://a.dev" include="v" includes="w"/>'
    )

    assert [server.include for server in found.servers] == [("x",), ("v",)]
    assert codes(found) == ["ignored-include"] * 3


def test_names_of_variables_and_flags_are_recorded() -> None:
    server = server_of(
        'mcp_server="https://a.dev" strict client_id_env="ID" client_secret_env="SECRET"'
        ' headers_env="HEADERS" timeout="5"'
    )

    assert server.strict
    assert (server.client_id_env, server.client_secret_env) == ("ID", "SECRET")
    assert server.headers_env == "HEADERS"
    assert server.timeout_ms == 5000
    assert not server_of('mcp_server="https://a.dev" strict="false"').strict


@pytest.mark.parametrize("kinds", [["string", "null"], ["string", "array"], []], ids=str)
def test_an_argument_may_be_of_several_types(kinds: list[str]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": kinds} if kinds else True}}
    tool = tool_of({"name": "sum", "inputSchema": schema}, None)

    (mounted,) = Toolbox([tool])

    assert mounted.is_flat == (kinds == ["string", "null"])


@pytest.mark.parametrize("flag", ["strict", ""])
def test_the_tools_of_a_strict_server_are_strict(flag: str) -> None:
    definition = {"name": "sum", "inputSchema": {"type": "object"}}

    assert tool_of(definition, server_of(f'mcp_server="https://a.dev" {flag}')).strict == bool(flag)


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ('mcp_server=""', "bad-mcp-server"),
        ('mcp_server="stdio:"', "bad-mcp-server"),
        ('mcp_server="stdio:run \'x"', "bad-mcp-server"),
        ('mcp_server="ws://a.dev"', "bad-mcp-server"),
        ('mcp_server="https://"', "bad-mcp-server"),
        ('mcp_server="https://a.dev:port/"', "bad-mcp-server"),
        ('mcp_server="https://[::1/"', "bad-mcp-server"),
        ('mcp_server="https://a.dev/x y"', "bad-mcp-server"),
        ('mcp_server="https://a.dev" include=","', "bad-include"),
        ('mcp_server="https://a.dev" name=""', "bad-name"),
    ],
)
def test_a_server_that_cannot_be_meant_is_an_error(attributes: str, code: str) -> None:
    found = resolved(f"<tool {attributes}/>")

    assert codes(found) == [code]
    assert found.servers == ()


def test_a_command_without_stdio_warns_and_is_taken_for_one() -> None:
    found = resolved('<tool mcp_server="npx -y srv"/>')

    problem = one_problem(found)
    assert (problem.code, problem.severity) == ("assumed-stdio", Severity.WARNING)
    assert "stdio:npx -y srv" in problem.suggestion
    assert found.servers[0].argv == ("npx", "-y", "srv")


@pytest.mark.parametrize(
    ("server", "attribute"),
    [
        ("stdio:run", 'client_id_env="A"'),
        ("stdio:run", 'headers_env="A"'),
        ("https://a.dev", 'env="A"'),
        ("https://a.dev", 'cwd="x"'),
        ("https://a.dev", 'max_output="5"'),
        ("stdio:run", 'network="10.0.0.0/8"'),
    ],
)
def test_an_attribute_that_would_do_nothing_is_an_error(server: str, attribute: str) -> None:
    problem = one_problem(resolved(f'<tool mcp_server="{server}" {attribute}/>'))

    assert problem.code == "misplaced-attribute"
    assert problem.severity is Severity.ERROR
    assert attribute.partition("=")[0] in problem.message


def test_a_description_warns_because_the_server_has_its_own() -> None:
    found = resolved('<tool mcp_server="https://a.dev" description="x"/>')

    assert codes(found) == ["misplaced-attribute"]
    assert found.problems[0].severity is Severity.WARNING
    assert found.servers


@pytest.mark.parametrize("attribute", ["client_secret_env", "client_id_env", "headers_env"])
def test_a_secret_in_place_of_a_name_is_refused_and_not_repeated(attribute: str) -> None:
    problem = one_problem(resolved(f'<tool mcp_server="https://a.dev" {attribute}="sk-s3cret"/>'))

    assert problem.code == f"bad-{attribute.replace('_', '-')}"
    assert "s3cret" not in problem.message + problem.suggestion


@pytest.mark.parametrize(
    "url",
    [
        "https://me:s3cret@a.dev/x",
        "https://a.dev/x?client_secret=s3cret",
        "https://a.dev/x?token=s3cret",
    ],
)
def test_a_secret_in_an_address_warns_and_is_never_shown(url: str) -> None:
    found = resolved(f'<tool mcp_server="{url}"/>')
    (server,) = found.servers

    assert codes(found) == ["secret-in-file"]
    assert "s3cret" not in repr(server) + found.problems[0].message
    assert server.label == "https://a.dev/x"
    assert server.url == url


@given(TEXT, TEXT)
@settings(deadline=None)
def test_credentials_are_added_to_the_query_and_can_be_read_back(name: str, secret: str) -> None:
    server = server_of(
        'mcp_server="https://a.dev/mcp?v=1#part" client_id_env="ID" client_secret_env="SECRET"'
    )

    parts = urlsplit(endpoint(server, {"ID": name, "SECRET": secret}))
    assert parse_qs(parts.query) == {"v": ["1"], "client_id": [name], "client_secret": [secret]}
    assert (parts.hostname, parts.path, parts.fragment) == ("a.dev", "/mcp", "part")


def test_credentials_that_the_environment_lacks_are_left_out() -> None:
    server = server_of('mcp_server="https://a.dev" client_id_env="ID" client_secret_env="SECRET"')

    assert endpoint(server, {}) == "https://a.dev"
    assert endpoint(server, {"ID": "", "SECRET": "s"}) == "https://a.dev?client_secret=s"


def test_headers_are_read_from_the_environment_line_by_line() -> None:
    server = server_of('mcp_server="https://a.dev" headers_env="H"')

    written = "Authorization: Bearer a:b\n\n X-Key : 1 \n"
    assert headers(server, {"H": written}) == {"Authorization": "Bearer a:b", "X-Key": "1"}
    assert headers(server, {}) == {}
    assert headers(server_of('mcp_server="https://a.dev"'), {"H": written}) == {}


@pytest.mark.parametrize("line", ["s3cret", "two words: s3cret", ": s3cret"])
def test_a_line_that_is_no_header_is_refused_and_not_repeated(line: str) -> None:
    server = server_of('mcp_server="https://a.dev" headers_env="H"')

    with pytest.raises(InvalidArgs, match=r"line 2 of \$H") as caught:
        headers(server, {"H": f"A: b\n{line}"})
    assert "s3cret" not in str(caught.value) + caught.value.suggestion


def test_the_place_of_a_server_is_kept_for_what_is_found_out_later() -> None:
    text = '<tool name="read_file"/>\n<tool mcp_server="https://a.dev"/>'
    (server,) = resolved(text).servers

    assert text[server.span.start : server.span.end] == '<tool mcp_server="https://a.dev"/>'
