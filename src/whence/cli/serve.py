"""`whence serve`."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from typing import TYPE_CHECKING

from whence.cli.options import add_policy, add_session, add_tools, add_workspace
from whence.errors import NotFound, UsageError

if TYPE_CHECKING:
    from whence.loop.published import Published
    from whence.shapes.tool import Tool

EXAMPLE = """\
SOURCE is an agent file, or a directory of them; each is a tool and a prompt. Without one, those of
$MCP_PROMPTS_DIR (default: prompts) are served, and the tools of the catalog chatmd. Every call
goes through the gate into the journal.

examples:
  whence serve prompts/
  whence serve review.chatmd --catalog moollm --deny fs.write
  WHENCE_TOKEN=… whence serve prompts/ --http 8080 --token-env WHENCE_TOKEN
"""
_DEFAULT = "prompts"
_VARIABLE = "MCP_PROMPTS_DIR"
_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="*", help="an agent file, or a directory"
    )
    parser.add_argument(
        "--http", type=int, metavar="PORT",
        help="serve on a port of this machine, not on standard input and output; 0: any",
    )  # fmt: skip
    parser.add_argument(
        "--token-env", metavar="NAME",
        help="the variable that holds the token of --http (default: a new one, printed)",
    )  # fmt: skip
    parser.add_argument("--model", metavar="ID", help="what agents run on (default: as they say)")
    add_workspace(parser)
    add_session(parser)
    add_policy(parser, why="optional")
    add_tools(parser)
    parser.add_argument(
        "--require-why", dest="why", action="store_const", const="required",
        help="refuse calls that give no reason: --why required",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Serve until there is nobody left to serve."""
    _import_quickly()
    if options.http is not None:
        serve(options)
        return 0
    if options.token_env is not None:
        raise UsageError("--token-env is for --http", "Add --http PORT, or leave it out.")
    from whence.mcp.standard import claimed

    with claimed() as pipes:
        serve(options, pipes)
    return 0


def serve(options: argparse.Namespace, pipes: tuple[int, int] | None = None) -> None:
    """Serve on a pair of descriptors, or without one on a port."""
    from whence.cli.options import policy_of, workspace_of
    from whence.cli.stoppable import run_stoppable
    from whence.declare.toolbox import Toolbox
    from whence.loop.published import Published
    from whence.loop.published_files import PublishedFiles
    from whence.loop.published_tools import known_tools
    from whence.loop.session import Session, runs_programs

    workspace, tools = workspace_of(options), _builtin(options)
    sources = _sources(options.sources, workspace)
    files = PublishedFiles(sources, workspace, _say, {tool.name for tool in tools})
    if not files.agents and not tools:
        raise NotFound(
            f"there is nothing to serve in {', '.join(sources)}",
            "Name agent files, a directory of *.chatmd files, or a --catalog.",
        )
    known = known_tools(files, tools, workspace)
    if files.is_within_reach and any(map(runs_programs, known)):
        _say("programs could write what is published, so that it is served as it is now")
        files.fix()
    session = Session(
        workspace, known, policy=policy_of(options, Toolbox(known)), session=options.session,
        purpose="serve",
    )  # fmt: skip
    reason = "error"
    try:
        offer = Published(session, workspace, files, tools, model=options.model, say=_say)
        run_stoppable(_serve(offer, options, pipes))
        reason = "done"
    except (KeyboardInterrupt, SystemExit):
        reason = "interrupted"
        raise
    finally:
        session.close(reason)


def _import_quickly() -> None:
    """Import what a server needs: it stays, and nobody has plugins for the protocol's models."""
    import gc

    had = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "__all__"
    gc.disable()
    try:
        import whence.loop.published
        import whence.mcp.publish  # noqa: F401 - by far the largest
    finally:
        gc.freeze()
        gc.enable()
        del os.environ[_PLUGINS]
        if had is not None:
            os.environ[_PLUGINS] = had


async def _serve(
    offer: Published, options: argparse.Namespace, pipes: tuple[int, int] | None
) -> None:
    if options.model is not None:
        await _check_model(options)
    names = ", ".join(str(tool["name"]) for tool in offer.tools())
    if pipes is None:
        await _serve_http(offer, options, names)
        return
    from whence.mcp.publish import Publisher
    from whence.mcp.stdio import serve_stdio

    if os.isatty(pipes[0]):
        _say(f"serving {names} on standard input and output; Ctrl-C ends it")
    await serve_stdio(Publisher(offer, may_ask=True), *pipes)


async def _serve_http(offer: Published, options: argparse.Namespace, names: str) -> None:
    from whence.mcp.endpoint import HOST, PATH, open_port, serve_http
    from whence.mcp.publish import Publisher

    token = _token(options.token_env)
    with open_port(options.http) as port:
        _say(f"serving {names} on http://{HOST}:{port.getsockname()[1]}{PATH}")
        if options.token_env is None:
            _say(f"its token, for this time: {token}")
        await serve_http(Publisher(offer, may_ask=False), port, token)


async def _check_model(options: argparse.Namespace) -> None:
    """A model that cannot be used is said now, not to whoever calls."""
    from whence.loop.models import choose_model

    model, _ = choose_model(options.model, None, options.workspace, os.environ)
    await model.aclose()


def _sources(named: list[str], workspace: str) -> list[str]:
    if named:
        return named
    if os.environ.get(_VARIABLE):
        return [os.environ[_VARIABLE]]
    usual = os.path.join(workspace, _DEFAULT)
    return [usual] if os.path.isdir(usual) else []


def _builtin(options: argparse.Namespace) -> tuple[Tool, ...]:
    """The tools of the catalog that was named; the usual ones where nothing was."""
    from whence.cli.options import tools_of

    if options.catalog is None:
        if options.sources:
            return ()
        options.catalog = "chatmd"
    return tuple(tool for tool in tools_of(options) if tool.handler is not None)


def _token(variable: str | None) -> str:
    if variable is None:
        return secrets.token_urlsafe(32)
    token = os.environ.get(variable, "")
    if len(token) < 16:
        raise UsageError(
            f"--token-env names {variable}, which holds {len(token)} characters",
            "Put a secret of 16 characters or more there.",
        )
    return token


def _say(text: str) -> None:
    from whence.shapes.glyph import visible

    print(visible(f"whence serve: {text}"), file=sys.stderr, flush=True)
