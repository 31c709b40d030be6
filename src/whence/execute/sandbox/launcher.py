"""Runs one program behind the walls that a process can build around itself, and sweeps up after it.

A script of its own, run by `python -c` with a descriptor for its argument, from which it reads its
orders as JSON: what it does between fork and exec must not happen in a process with threads.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterable
from typing import Any, NoReturn

_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVS, _CAPBSET_DROP, _SECCOMP = 1, 36, 38, 24, 22
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_OPENAT2, _HERE, _NO_LINKS = 437, -100, 4
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)
_CAPABILITIES_V3 = 0x20080522
_AS_USUAL = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
FAILED = 126
COMPLAINT = "launcher: "
"""How an error of ours begins."""
_libc = ctypes.CDLL(None, use_errno=True)


def _done(answer: int, what: str) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return answer


def _wall_off(landlock: dict[str, Any]) -> None:
    """Close every path but the ones that the rules open."""
    attributes = (ctypes.c_uint64 * 3)(*landlock["handled"])
    size = 8 * landlock["fields"]
    ruleset = _done(_libc.syscall(_CREATE_RULESET, attributes, size, 0), "landlock")
    for path, rights in landlock["rules"]:
        opened = _opened(path)
        if opened < 0:
            continue  # gone since, or a link now; closed is what it would be anyway
        rule = rights.to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
        _done(_libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), f"landlock, {path}")
        os.close(opened)
    _done(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)


def _opened(path: str) -> int:
    """A path as it was found: another program may have put a link in the place of some of it."""
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS)
    opened = _libc.syscall(_OPENAT2, _HERE, os.fsencode(path), how, ctypes.sizeof(how))
    if opened < 0 and ctypes.get_errno() not in _ABSENT:
        raise OSError(ctypes.get_errno(), f"{path}: {os.strerror(ctypes.get_errno())}")
    return int(opened)


def _drop_capabilities() -> None:
    for capability in range(64):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)  # fails for numbers that do not exist
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0)
    _done(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _filter_calls(program: bytes) -> None:
    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    loaded = Filter(len(program) // 8, program)
    _done(_libc.prctl(_SECCOMP, 2, ctypes.byref(loaded), 0, 0), "seccomp")


def _become(orders: dict[str, Any]) -> NoReturn:
    """Build the walls and turn into the program."""
    try:
        os.setsid()
        _done(_libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
        for number in _AS_USUAL:  # Python, or whoever started us, ignores these
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for name, limit in orders["limits"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (limit, limit))
        os.chdir(orders["cwd"])
        _done(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
        if os.geteuid() == 0:
            _drop_capabilities()
        if orders["landlock"]:
            _wall_off(orders["landlock"])
        if orders["seccomp"]:
            _filter_calls(bytes.fromhex(orders["seccomp"]))
        os.execve(orders["argv"][0], orders["argv"], orders["env"])  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, f"{COMPLAINT}{orders['argv'][0]}: {error}\n".encode())
    os._exit(FAILED)


def _children(pid: int) -> list[int]:
    """Those of every thread, which the kernel lists apart."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="utf-8") as listed:
                found += map(int, listed.read().split())
    except OSError:
        pass  # it is gone, and its children have come to us
    return found


def _descendants() -> list[int]:
    found = _children(os.getpid())
    for pid in found:  # which grows meanwhile
        found += _children(pid)
    return found


def _signal_all(number: int) -> None:
    _signal(_descendants(), number)


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _reaped() -> dict[int, int]:
    """Children that have ended, with their status; orphans come to us."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def _sweep() -> None:
    """End whatever is left, until nothing is; stopped first, so that it cannot multiply."""
    while left := set(_descendants()):
        stopped: set[int] = set()
        while left - stopped:
            _signal(left - stopped, signal.SIGSTOP)
            stopped |= left
            left = set(_descendants())
        _signal(stopped, signal.SIGKILL)
        _reaped()
        time.sleep(0.001)  # one that waits for the kernel goes when that lets it


def _watch(child: int) -> int:
    """The status of the program; signals to us reach all that it started."""
    waited = {signal.SIGCHLD, signal.SIGTERM, signal.SIGQUIT}
    while True:
        came = signal.sigwait(waited)
        if came == signal.SIGTERM:
            _signal_all(signal.SIGTERM)
            _signal_all(signal.SIGCONT)  # what stands still cannot end
        elif came == signal.SIGQUIT:
            _signal_all(signal.SIGKILL)
        ended = _reaped()
        if child in ended:
            return ended[child]


def main() -> NoReturn:
    """Run the program of the orders, and end as it ends."""
    with open(int(sys.argv[1]), encoding="utf-8") as given:
        orders = json.load(given)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGQUIT})
    _done(_libc.prctl(_PDEATHSIG, signal.SIGQUIT, 0, 0, 0), "prctl")
    _done(_libc.prctl(_SUBREAPER, 1, 0, 0, 0), "prctl")
    if os.getppid() != orders["parent"]:
        os._exit(1)
    child = os.fork()
    if child == 0:
        _become(orders)
    status = _watch(child)
    _sweep()
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
