"""The capability lock, `.agent/lock.yaml`: what was behind each tool when it was first used.

    version: 1
    agents:
      agent.chatmd:
        git:
          kind: shell
          files: {/usr/bin/git: 4c1f…}
          declaration: |-
            …

A tool is held to its pin until a person accepts the change.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import yaml

from whence.declare.yaml_text import load_yaml
from whence.errors import ParseError, PermissionDenied
from whence.loop.digest import digest, inside
from whence.loop.own import DIRECTORY, rewrite
from whence.shapes.pin import Drift, Pin

FILE = "lock.yaml"
SHOWN = f"{DIRECTORY}/{FILE}"
_HEAD = (
    "# What was behind each tool when it was first used.\n"
    "# `whence lock --update FILE` accepts what changed since.\n"
)
_KINDS = ("shell", "agent", "python", "mcp")

Pins: TypeAlias = dict[str, dict[str, Pin]]
"""Agent file → tool → what is behind it."""


class Lock:
    """The pins of a workspace, and what was accepted while this run lasts."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._path = os.path.join(workspace, DIRECTORY, FILE)
        self._read: tuple[tuple[int, ...], Pins] = ((), {})
        self.accepted: dict[tuple[str, str], Pin] = {}

    def pins(self) -> Pins:
        """What the file holds now.

        Raises:
            ParseError: it is not what this program wrote.
        """
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_ctime_ns)
        if stamp != self._read[0]:
            with open(self._path, encoding="utf-8") as file:
                self._read = (stamp, parse_pins(file.read()))
        return self._read[1]

    def keep(self, agent: str, changed: Mapping[str, Pin | None]) -> None:
        """Write pins of an agent's tools down; None takes one away."""

        def change(text: str) -> str:
            pins = parse_pins(text)
            mine = pins.setdefault(agent, {})
            for tool, pin in changed.items():
                if pin is None:
                    mine.pop(tool, None)
                else:
                    mine[tool] = pin
            return render_pins({name: held for name, held in pins.items() if held})

        rewrite(self._workspace, FILE, change)


class LockGuard:
    """Holds one tool to its pin.

    Args:
        lock: where the pin is.
        agent: the file that declares the tool, as the lock names it.
        tool: its name.
        measure: what is behind it now.
    """

    def __init__(self, lock: Lock, agent: str, tool: str, measure: Callable[[], Pin]) -> None:
        self._lock, self._agent, self._tool, self._measure = lock, agent, tool, measure

    async def look(self) -> None:
        """Files are looked at when they are measured."""

    def drift(self) -> Drift | None:
        """How it differs from its pin; without a pin it gets one."""
        now = self._measure()
        kept = self._lock.pins().get(self._agent, {}).get(self._tool)
        if kept is None:
            self._lock.keep(self._agent, {self._tool: now})
            return None
        if now in (kept, self._lock.accepted.get((self._agent, self._tool))):
            return None
        return drift_between(self._agent, self._tool, kept, now)

    def accept(self, *, keep: bool) -> None:
        """Trust it as it is now."""
        now = self._measure()
        self._lock.accepted[self._agent, self._tool] = now
        if keep:
            self._lock.keep(self._agent, {self._tool: now})

    def confirm(self, files: Mapping[str, str]) -> None:
        """Make sure that these files, by their hashes, are what was trusted.

        Raises:
            PermissionDenied: they changed since the call was let through.
        """
        kept = self._lock.pins().get(self._agent, {}).get(self._tool)
        accepted = self._lock.accepted.get((self._agent, self._tool))
        if not any(pin is not None and pin.files == files for pin in (kept, accepted)):
            raise PermissionDenied(
                f"{self._tool}: what is behind it changed while it was being called",
                f"Look at it; `whence lock --update {self._agent}` accepts it as it is.",
                recoverable=False,
            )


def is_changed(path: str, workspace: str) -> bool:
    """Whether a Python file is not what any of its pins says: then it must not even be imported."""
    name = inside(path, workspace)
    held = [
        pin.files[name]
        for tools in Lock(workspace).pins().values()
        for pin in tools.values()
        if pin.kind == "python" and name in pin.files
    ]
    return bool(held) and digest(path) not in held


def drift_between(agent: str, tool: str, kept: Pin, now: Pin) -> Drift:
    """What changed, as a person is to see it."""
    lines = []
    for path in dict.fromkeys((*kept.files, *now.files)):
        before, after = kept.files.get(path, "not there"), now.files.get(path, "not there")
        if before != after:
            lines.append(f"{path}: sha256 {before} → {after}")
    changed = [line.partition(": sha256")[0] for line in lines]
    if kept.declaration != now.declaration or kept.kind != now.kind:
        changed.append("its declaration")
        lines += difflib.unified_diff(
            f"kind: {kept.kind}\n{kept.declaration}".split("\n"),
            f"kind: {now.kind}\n{now.declaration}".split("\n"),
            f"{tool} as it was trusted", f"{tool} in {agent}", lineterm="",
        )  # fmt: skip
    return Drift(
        f"{' and '.join(changed)} changed since {SHOWN} was written",
        "\n".join(lines),
        f"A person can look at the change and accept it: whence lock --update {agent}",
    )


def parse_pins(text: str) -> Pins:
    """The pins of a lock file.

    Raises:
        ParseError: it is not what this program wrote.
    """
    try:
        loaded = load_yaml(text) or {"version": 1, "agents": {}}
        _check_version(loaded["version"])
        return {
            str(agent): {str(tool): _pin(entry) for tool, entry in tools.items()}
            for agent, tools in loaded["agents"].items()
        }
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParseError(
            f"{SHOWN} cannot be read: {type(error).__name__}: {error}",
            "Restore it, or remove it and pin everything anew with `whence lock FILE…`.",
        ) from None


def _check_version(version: object) -> None:
    if version != 1:
        raise ValueError(f"version {version!r}")


def _pin(entry: Any) -> Pin:
    if entry["kind"] not in _KINDS:
        raise ValueError(f"kind {entry['kind']!r}")
    files = {str(path): str(digest) for path, digest in entry["files"].items()}
    return Pin(entry["kind"], str(entry["declaration"]), files)


def render_pins(pins: Pins) -> str:
    """The text of a lock file: sorted, so that a version control system shows small changes."""
    agents = {
        agent: {
            tool: {
                "kind": pin.kind,
                "files": dict(sorted(pin.files.items())),
                "declaration": pin.declaration,
            }
            for tool, pin in sorted(tools.items())
        }
        for agent, tools in sorted(pins.items())
    }
    whole = {"version": 1, "agents": agents}
    written: str = yaml.dump(whole, Dumper=_Dumper, sort_keys=False, width=10_000)
    return _HEAD + written


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as such."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)
