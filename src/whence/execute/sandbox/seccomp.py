"""The filter of system calls, assembled here: nothing is compiled and no library is needed.

The list denies; what is not on it is allowed, since programs of all kinds must run. The namespaces
and Landlock keep the walls, the filter takes away the tools for digging under them.
"""

from __future__ import annotations

import errno
import os
import struct
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from whence.execute.sandbox.syscalls import ABSENT, MACHINES, RULED, SHARED, Machine

Instruction: TypeAlias = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGS = 0, 4, 16
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000

_NEW_NAMESPACES = 0x7E020000
_SET_ID_BITS = 0o6000
_MAKES_A_FILE = os.O_CREAT | 0o20000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM = 1, 2
_MODE_AT = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1,
            "mknod": 1, "mknodat": 2}  # fmt: skip


class Sockets(Enum):
    """Which sockets a program may open."""

    OWN_NAMESPACE = "own namespace"
    """All ordinary ones: the network namespace holds nothing but itself."""
    NONE = "none"


@lru_cache(maxsize=8)
def assemble(sockets: Sockets, machine: str, *, shared: bool = False) -> bytes | None:
    """The filter for the kernel; None for a machine whose numbers are not known here.

    Args:
        sockets: which ones may be opened.
        machine: by the name that `uname` gives.
        shared: whether the program is among the processes and the shared memory of others.
    """
    known = MACHINES.get(machine)
    return None if known is None else _encoded(_instructions(known, sockets, shared=shared))


def _instructions(machine: Machine, sockets: Sockets, *, shared: bool) -> list[Instruction]:
    out: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine.x32:
        out += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for name, number in machine.numbers.items():
        block = _block(name, sockets, shared=shared)
        out += [(_EQUAL, 0, len(block), number), *block]
    return [*out, (_RETURN, 0, 0, _ALLOW)]


def _block(name: str, sockets: Sockets, *, shared: bool) -> list[Instruction]:
    """What follows where the number is this one; it always decides."""
    if name not in RULED:
        return [_refuse(errno.ENOSYS if name in ABSENT else errno.EPERM)]
    if name in SHARED:
        return [_refuse(errno.EPERM) if shared else _allow()]
    if name == "prlimit64":
        return [_argument(0), *_only((0,))] if shared else [_allow()]
    if name == "socket":
        return _socket(sockets)
    if name == "ioctl":
        return _unless_one_of(1, (_TIOCSTI, _TIOCLINUX))
    if name == "clone":
        return _unless_bits(0, _NEW_NAMESPACES)
    if name in ("open", "openat"):
        flags = 1 if name == "open" else 2
        making = _unless_bits(flags + 1, _SET_ID_BITS)
        return [_argument(flags), (_ANY_BIT, 0, len(making), _MAKES_A_FILE), *making, _allow()]
    return _unless_bits(_MODE_AT[name], _SET_ID_BITS)


def _socket(sockets: Sockets) -> list[Instruction]:
    refuse = _refuse(errno.EACCES)
    if sockets is Sockets.NONE:
        return [refuse]
    typed = [_argument(1), (_AND, 0, 0, 0xF), *_only((_STREAM, _DATAGRAM))]
    route = [_argument(2), *_only((0,))]
    return [
        _argument(0),
        (_EQUAL, 0, 1, _UNIX),
        _allow(),
        (_EQUAL, 0, len(route), _NETLINK),
        *route,
        (_EQUAL, 2, 0, _INET),
        (_EQUAL, 1, 0, _INET6),
        refuse,
        *typed,
    ]


def _only(values: tuple[int, ...]) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [*tests, _refuse(errno.EACCES), _allow()]


def _unless_one_of(argument: int, values: tuple[int, ...]) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [_argument(argument), *tests, _allow(), _refuse(errno.EPERM)]


def _unless_bits(argument: int, bits: int) -> list[Instruction]:
    return [_argument(argument), (_ANY_BIT, 0, 1, bits), _refuse(errno.EPERM), _allow()]


def _argument(index: int) -> Instruction:
    """The low half: the kernel itself looks at no more of flags, modes and requests."""
    return (_LOAD, 0, 0, _ARGS + 8 * index)


def _refuse(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _encoded(instructions: list[Instruction]) -> bytes:
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)
