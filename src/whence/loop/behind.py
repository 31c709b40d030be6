"""The files that run outside any sandbox when an agent file is run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from whence.errors import WhenceError
from whence.loop.agent_file import AgentFile, Reach, load_agent
from whence.loop.measure import server_files
from whence.shapes.declaration import AgentReference, PythonReference


def behind(file: AgentFile, workspace: str, environ: Mapping[str, str]) -> set[str]:
    """The paths of an agent's sources, Python tools and servers, and of the agents that it calls.

    What cannot be found is left out: it cannot be run either.
    """
    found: set[str] = set()
    _add(file, workspace, environ, found)
    return found


def _add(file: AgentFile, workspace: str, environ: Mapping[str, str], found: set[str]) -> None:
    found.update(file.expanded.sources, [file.path])
    for server in file.resolved.servers:
        with suppress(WhenceError):
            found.update(server_files(server, workspace, environ))
    reach = Reach(file.path, workspace)
    try:
        for binding in file.resolved.bindings.values():
            with suppress(WhenceError):
                if isinstance(binding, PythonReference):
                    found.add(reach.find(binding.path, file.path))
                elif isinstance(binding, AgentReference) and not binding.remote:
                    path = reach.find(binding.path, file.path)
                    if path not in found:
                        called = load_agent(path, workspace, run_python=False)
                        _add(called, workspace, environ, found)
    finally:
        reach.close()
