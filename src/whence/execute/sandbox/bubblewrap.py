"""Programs in namespaces of their own, by bubblewrap: the strongest sandbox of the three."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial

from whence.errors import Conflict, InvalidArgs, Unavailable
from whence.execute.sandbox.ground import Ground, Standing
from whence.execute.sandbox.hidden import Veil
from whence.execute.sandbox.layout import Layout
from whence.execute.sandbox.seccomp import Sockets, assemble
from whence.execute.sandbox.start import (
    BASE_ENVIRONMENT,
    Started,
    check_demand,
    signal_group,
)
from whence.execute.sandbox.view import (
    directories,
    find_program,
    inner_python,
    is_below,
    settings,
    system_trees,
)
from whence.execute.sandbox.wrap import Inside, Wrapping
from whence.shapes.process import Confinement, Isolation, Level, Program

_NAMESPACES = (
    "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--unshare-ipc",
    "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL", "--hostname", "sandbox",
    "--die-with-parent", "--new-session", "--clearenv",
)  # fmt: skip
_SIGNALLED = frozenset(
    128 + number
    for number in (
        signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV,
        signal.SIGPIPE, signal.SIGTERM, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGSYS,
    )
)  # fmt: skip
"""Exit codes that say a signal; a few are left out, since programs use them of their own."""

_MOST_WORDS = 8_900
PROXY_PORT = 3128
_REMEMBERED = 64
_TRIES = 3
_TEMPORARY = "/tmp"  # noqa: S108 - one of its own
_LISTEN = (
    "import _socket,os,struct,sys\n"
    "made=_socket.socket(2,1,0)\n"
    f"made.bind(('127.0.0.1',{PROXY_PORT}))\n"
    "made.listen(64)\n"
    "out=_socket.socket(1,1,0,int(sys.argv[1]))\n"
    "out.sendmsg([b'.'],[(1,1,struct.pack('i',made.fileno()))])\n"
    "out.close();made.close()\n"
    "os.execv(sys.argv[2],sys.argv[2:])\n"
)
"""Opens the proxy's port inside, hands it out to be served there, and becomes the program."""


class Bubblewrap:
    """Namespaces for files, network and processes, and a filter of system calls."""

    name = "bubblewrap"
    has_own_network = True

    def __init__(self, *, ground: Ground | None = None) -> None:
        self._ground = ground or Ground()
        self._veils: dict[tuple[object, ...], Veil] = {}
        self._running = 0

    def start(self, program: Program, listening: int | None = None) -> Started:
        """Start a program in a new sandbox; once more if the workspace changed under it."""
        for _ in range(_TRIES - 1):
            with suppress(Conflict):
                return self._start(program, listening)
        return self._start(program, listening)

    def _start(self, program: Program, listening: int | None) -> Started:
        given = directories(program)
        environment = {**BASE_ENVIRONMENT, "HOME": _TEMPORARY, **program.env}
        path = find_program(program, environment["PATH"], (*system_trees(), *given))
        command = [path, *program.argv[1:]]
        if listening is not None:
            python, needed = inner_python()
            given |= dict.fromkeys(needed, False)
            command = [python, "-I", "-S", "-c", _LISTEN, str(listening), *command]
        standing = self._ground.prepare(given)
        layout = Layout(alone=not self._running)
        try:
            options, complete = self._options(program, given, standing, layout)
            isolation = _isolation(files=complete, root_inside=standing.is_root)
            check_demand(program, self.name, isolation)
            options += [part for pair in environment.items() for part in ("--setenv", *pair)]
            _check_number(program, options, command)
            start = Wrapping(program, standing.identity, layout).start
            process, inside = start(options, command, listening)
        except BaseException:
            self._ground.release(standing)
            raise
        self._running += 1
        ask, kill = partial(_ask, inside), partial(_kill, process, inside)
        swept, release = partial(_swept, inside), partial(self._release, inside, standing)
        return Started(process, isolation, ask, kill, swept, release)

    def exit_code(self, status: int) -> int:
        """Bubblewrap itself tells a signal as a shell does."""
        return 128 - status if status in _SIGNALLED else status

    def complaint(self, status: int, output: bytes) -> str:
        """What bubblewrap itself said, which cannot be told from a program that says the same."""
        failed = status == 1 and output.startswith(b"bwrap: ")
        return output.decode(errors="replace").strip() if failed else ""

    def _options(
        self, program: Program, given: dict[str, bool], standing: Standing, layout: Layout
    ) -> tuple[list[str], bool]:
        bare = program.confinement.bare
        options = [*_NAMESPACES, *_system(bare=bare)]
        if not bare:
            options += _private(program.confinement)
        if standing.is_root and not bare:
            for path in ("/proc/sys", "/proc/sysrq-trigger"):
                options += ["--ro-bind-try", path, path]
        for path, writable in given.items():
            options += ["--bind" if writable else "--ro-bind", standing.source(path), path]
        complete = True
        for path in given:
            veiled = layout.look(self._veil(path, program.confinement))
            complete &= veiled.complete
            options += _hide(veiled.files, veiled.directories)
            for locked in veiled.locked:
                source = standing.source(path) + locked[len(path) :]
                options += ["--ro-bind", source, locked]
        options += ["--remount-ro", "/", "--chdir", os.path.realpath(program.cwd)]
        return options, complete

    def _veil(self, path: str, confinement: Confinement) -> Veil:
        key = (path, confinement.hidden, confinement.shown)
        if len(self._veils) > _REMEMBERED:
            self._veils.clear()
        return self._veils.setdefault(key, Veil(*key))

    def _release(self, inside: Inside | None, standing: Standing) -> None:
        self._running -= 1
        if inside is not None:
            inside.close()
        self._ground.release(standing)


def _isolation(*, files: bool, root_inside: bool) -> Isolation:
    """All of it, but for files not all looked at, processes without a filter, and root inside."""
    filtered = assemble(Sockets.OWN_NAMESPACE, os.uname().machine) is not None
    return Isolation(
        Level.ENFORCED if files and not root_inside else Level.PARTIAL,
        Level.ENFORCED,
        Level.ENFORCED if filtered and not root_inside else Level.PARTIAL,
    )


@lru_cache(maxsize=2)
def _system(*, bare: bool) -> tuple[str, ...]:
    options: list[str] = []
    for path in (*system_trees(), *settings(bare=bare)):
        # A link costs less than a mount, and leads to the same place where that is mounted, too.
        if os.path.islink(path) and is_below(os.path.realpath(path), system_trees()):
            options += ["--symlink", os.readlink(path), path]
        else:
            options += ["--ro-bind", os.path.realpath(path), path]
    return tuple(options)


def _private(confinement: Confinement) -> list[str]:
    """Devices, processes and temporary files of its own, all of them bounded."""
    room = str(confinement.resources.memory_bytes // 2)
    bounded = ("--size", room, "--perms", "1777", "--tmpfs")
    return [
        "--proc", "/proc",
        "--dev", "/dev", *bounded, "/dev/shm", "--remount-ro", "/dev",  # noqa: S108
        *bounded, _TEMPORARY, "--dir", "/run",
        "--dir", "/var", "--symlink", _TEMPORARY, "/var/tmp",  # noqa: S108
    ]  # fmt: skip


def _hide(files: Iterable[str], folders: Iterable[str]) -> Iterator[str]:
    """A device cannot be opened there, so that a hidden file says no instead of being empty."""
    for path in files:
        yield from ("--ro-bind", "/dev/null", path)
    for path in folders:
        yield from ("--perms", "0000", "--tmpfs", path, "--remount-ro", path)


def _check_number(program: Program, options: list[str], command: list[str]) -> None:
    """It takes no more words than this, for itself and for the program together."""
    if len(options) + len(command) <= _MOST_WORDS:
        return
    if len(command) > _MOST_WORDS // 2:
        raise InvalidArgs(
            f"{program.argv[0]!r} cannot be given {len(command)} words in a sandbox",
            f"Give it fewer than {_MOST_WORDS // 2} at once, or a file that holds them.",
        )
    raise Unavailable(
        f"there is more to be hidden in {program.cwd!r} than a sandbox can hide: "
        f"{options.count('/dev/null')} files and more",
        "Keep secrets in one directory that is hidden as a whole, such as .ssh.",
    )


def _kill(process: subprocess.Popen[bytes], inside: Inside | None) -> None:
    """Bubblewrap itself ends when all inside has ended: that is what we wait for."""
    if inside is None or not inside.kill():
        signal_group(process.pid, signal.SIGKILL)


def _swept(inside: Inside | None) -> bool:
    return inside is None or inside.is_swept()


def _ask(inside: Inside | None) -> None:
    if inside is not None:
        inside.ask()
