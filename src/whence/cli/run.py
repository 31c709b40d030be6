"""`whence run`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from whence.cli.options import add_policy, add_session, add_workspace
from whence.errors import Cancelled, Unavailable, WhenceError

if TYPE_CHECKING:
    from whence.cli.progress import Reporter
    from whence.loop.agent import Agent
    from whence.loop.news import Result

EXAMPLE = """\
The answer goes to standard output, what happens on the way to standard error. What was said and
done is added to FILE; a run that broke off goes on where it ended.

examples:
  whence run assistant.chatmd "Which chapters mention the journal?"
  whence run assistant.chatmd 'Append "tea" to list.txt' --allow 'fs.append(list.txt)'
  whence run triage.chatmd '{"issue": 17}' --model anthropic/claude-sonnet-4-5 -o run.chatmd
  git diff | whence run review.chatmd - --ephemeral --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="an agent file")
    parser.add_argument(
        "input", metavar="INPUT", nargs="?",
        help="what is asked; - reads it from stdin; without it, the last message of FILE",
    )  # fmt: skip
    parser.add_argument("--model", metavar="ID", help="provider/name (default: as FILE says)")
    parser.add_argument("-o", dest="output", metavar="COPY", help="add the run to a copy of FILE")
    parser.add_argument("--ephemeral", action="store_true", help="add the run nowhere")
    parser.add_argument("--max-turns", type=int, metavar="N", help="how often the model is asked")
    parser.add_argument(
        "--max-parallel", type=int, metavar="N", help="calls of a turn at once (default: 64)"
    )
    parser.add_argument(
        "--parallel-tool-calls", action=argparse.BooleanOptionalAction, default=True,
        help="calls of a turn at once, unless FILE says no (default), or one after the other",
    )  # fmt: skip
    parser.add_argument(
        "--compact-at", type=int, metavar="TOKENS", help="sum up what is older beyond this length"
    )
    parser.add_argument(
        "--steer", action="store_true", help="lines on stdin are said to the model as it works"
    )
    parser.add_argument("--json", action="store_true", help="every event as a line of JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="nothing but the answer")
    add_workspace(parser)
    add_session(parser)
    add_policy(parser)


def run(options: argparse.Namespace) -> int:
    """Run the agent to its answer."""
    from whence.cli.progress import reporter
    from whence.cli.stoppable import run_stoppable

    asked = _asked(options.input)
    report = reporter(as_json=options.json, quiet=options.quiet)
    try:
        agent = _agent(options, report)
        try:
            run_stoppable(_run(agent, asked, options, report))
        except Unavailable as error:
            from whence.cli.models import offer

            with report.aside():
                fetched = "model" in error.details and offer()
            if not fetched:
                raise
            run_stoppable(_run(agent, asked, options, report))
    except WhenceError as error:
        report.fail(error)
        raise
    except (KeyboardInterrupt, SystemExit):
        report.fail(Cancelled("the run was stopped", "Run it again to go on."))
        raise
    finally:
        report.close()
    return 0


def _asked(given: str | None) -> str | None:
    """What the agent is asked; nothing at all means the last message of its file."""
    from whence.errors import UsageError

    asked = _piped() if given == "-" else given
    if asked is not None and not asked.strip():
        said = "standard input was empty" if given == "-" else "INPUT is empty"
        raise UsageError(said, "Say what is asked; without INPUT, the last message is answered.")
    return asked


def _piped() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


async def _run(
    agent: Agent, asked: str | None, options: argparse.Namespace, report: Reporter
) -> Result:
    report.start()
    if options.steer:
        _hear(agent)
    return await agent.run(asked, on=report)


def _hear(agent: Agent) -> None:
    """Let the agent hear what is typed, line by line."""
    loop, source = asyncio.get_running_loop(), sys.stdin.fileno()
    begun = b""

    def heard() -> None:
        nonlocal begun
        data = os.read(source, 65_536)
        *lines, begun = (begun + data).split(b"\n")
        for line in lines if data else (begun,):
            if text := line.decode("utf-8", "replace").strip():
                agent.steer(text)
        if not data:
            loop.remove_reader(source)

    try:
        loop.add_reader(source, heard)
    except PermissionError:  # a file has everything to say at once
        for line in _piped().splitlines():
            if line.strip():
                agent.steer(line.strip())


def _agent(options: argparse.Namespace, report: Reporter) -> Agent:
    from whence.cli.approve import terminal_approver
    from whence.cli.options import policy_of, workspace_of
    from whence.declare.toolbox import Toolbox
    from whence.errors import UsageError
    from whence.loop.agent import Agent

    for name in ("max_turns", "max_parallel", "compact_at"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(
                f"--{name.replace('_', '-')} is {value}", "Give it a number of 1 or more."
            )
    if options.ephemeral and options.output is not None:
        raise UsageError(
            f"-o {options.output} and --ephemeral exclude each other", "Leave one of them out."
        )
    agent = Agent.load(
        options.file, workspace_of(options),
        output=options.output, ephemeral=options.ephemeral, model=options.model,
        mode=options.mode, approver=None if options.steer else terminal_approver(report.aside),
        session=options.session, max_turns=options.max_turns,
        parallel=options.max_parallel if options.parallel_tool_calls else 1,
        compact_at=options.compact_at,
    )  # fmt: skip
    if agent.file.resolved.servers:  # their tools are known once they are connected to
        agent.policy_for = partial(policy_of, options)
    else:
        agent.policy = policy_of(options, Toolbox(agent.tools))
    return agent
