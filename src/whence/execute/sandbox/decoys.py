"""Something to attack: a workspace, an outside, services, a process, and a secret in them all."""

from __future__ import annotations

import ctypes
import os
import secrets
import select
import shutil
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from whence.execute.sandbox.kernel import libc
from whence.execute.sandbox.syscalls import MACHINES

_VARIABLE = "WHENCE_PROBE"
_FILES = (".env", "deep/down/.env.local", "deep/deploy.pem", "deep/.ssh/id_rsa", ".git/config",
          ".git/hooks/sample", ".agent/sessions/s/session-log.md")  # fmt: skip
_SHARED = Path("/dev/shm")  # noqa: S108 - it is what is to be reached


class Decoys:
    """Laid out when the context is entered, gone when it is left."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        """What an attacker may know."""
        self._secret = f"decoy-{secrets.token_hex(8)}"
        self._listening: list[socket.socket] = []
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        known = MACHINES.get(os.uname().machine)
        with ExitStack() as undo:
            self._home = Path(tempfile.mkdtemp(prefix="whence-probe-"))
            undo.callback(shutil.rmtree, self._home)
            self._home.chmod(0o777)
            os.environ[_VARIABLE] = self._secret
            undo.callback(os.environ.pop, _VARIABLE)
            self.facts = {
                "secret": self._secret,
                "workspace": self.workspace,
                "outside": str(self._home / "outside"),
                "calls": known.numbers if known else {},
                "name_server": _name_server(),
            }
            self._plant()
            self.facts |= {"shared": self._share(undo), "segment": self._segment(undo)}
            self.facts |= {**self._run(undo), **self._listen(undo)}
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def workspace(self) -> str:
        """The directory that the attacker is given."""
        return str(self._home / "workspace")

    def outside_changed(self) -> bool:
        """Whether anything beside the workspace is not as it was."""
        outside = self._home / "outside"
        there = sorted(path.name for path in outside.iterdir())
        whole = self._secret == (outside / "victim").read_text()
        return there != ["kept", "socket", "victim"] or not whole

    def journal_changed(self) -> bool:
        """Whether the journal is not as it was."""
        log = self._home / "workspace" / _FILES[-1]
        return not log.is_file() or log.read_text() != self._secret

    def heard(self) -> bool:
        """Whether anybody spoke to a service."""
        return bool(select.select(self._listening, [], [], 0)[0])

    def _plant(self) -> None:
        workspace, outside = self._home / "workspace", self._home / "outside"
        for name in _FILES:
            path = workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._secret)
        outside.mkdir()
        # Nothing but the sandbox may be what keeps an attacker out.
        outside.chmod(0o777)
        for name in ("victim", "kept"):
            (outside / name).write_text(self._secret)
            (outside / name).chmod(0o666)
        (workspace / "way-out").symlink_to(outside)

    def _share(self, undo: ExitStack) -> str:
        path = (_SHARED if _SHARED.is_dir() else self._home) / self._home.name
        path.write_text(self._secret)
        path.chmod(0o666)
        undo.callback(path.unlink, missing_ok=True)
        return str(path)

    def _segment(self, undo: ExitStack) -> int:
        """Memory that everybody may read who knows its number."""
        segment: int = libc().shmget(0, 4096, 0o1666)
        if segment >= 0:
            undo.callback(libc().shmctl, segment, 0, None)
            attach = libc().shmat
            attach.restype = ctypes.c_void_p
            address = attach(segment, None, 0)
            ctypes.memmove(address, self._secret.encode(), len(self._secret))
            libc().shmdt(ctypes.c_void_p(address))
        return segment

    def _run(self, undo: ExitStack) -> dict[str, Any]:
        """A process of ours with a secret, whose number and birth the attacker is told."""
        environment = {"PATH": os.defpath, _VARIABLE: self._secret}
        victim = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=environment)
        undo.enter_context(victim)
        with open(f"/proc/{victim.pid}/stat", encoding="utf-8") as status:
            began = status.read().rpartition(")")[2].split()[19]
        return {"parent": victim.pid, "parent_began": began}

    def _listen(self, undo: ExitStack) -> dict[str, Any]:
        stream, datagram = (socket.socket(socket.AF_INET, kind) for kind in (1, 2))
        abstract = f"whence-{self._secret}"
        places = (
            "\0" + abstract,
            self.facts["outside"] + "/socket",
            self.workspace + "/deep/socket",
        )
        local = [socket.socket(socket.AF_UNIX) for _ in places]
        self._listening = [stream, datagram, *local]
        for made in self._listening:
            undo.enter_context(made)
        for made in (stream, datagram):
            made.bind(("127.0.0.1", 0))
        for made, place in zip(local, places, strict=True):
            made.bind(place)
            if not place.startswith("\0"):
                Path(place).chmod(0o777)
        for made in (stream, *local):
            made.listen()
        ports = {"tcp": stream.getsockname()[1], "udp": datagram.getsockname()[1]}
        return {**ports, "abstract": abstract}


def _name_server() -> str:
    """Whom the machine itself would ask."""
    try:
        lines = Path("/etc/resolv.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    words = [line.split() for line in lines]
    named = [word[1] for word in words if word[:1] == ["nameserver"] and "." in word[-1]]
    return named[0] if named else "192.0.2.53"
