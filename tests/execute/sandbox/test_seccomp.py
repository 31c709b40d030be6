"""The filter, read by an interpreter of our own; the kernel's own reading is in the attacks."""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.execute.sandbox.seccomp import Sockets, assemble
from whence.execute.sandbox.syscalls import ABSENT, MACHINES, RULED, SHARED

KILL, ALLOW = "kill", "allow"
ARCHITECTURES = sorted(MACHINES)
words = st.integers(0, 2**32 - 1)


def verdict(program: bytes, arch: int, number: int, arguments: Sequence[int] = ()) -> str | int:
    """What the kernel would do: kill, allow, or the error that it would give."""
    given = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<II8x6Q", number, arch, *given)
    steps = list(struct.iter_unpack("<HBBI", program))
    at = held = 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x20:
            held = struct.unpack_from("<I", data, operand)[0]
        elif code == 0x54:
            held &= operand
        elif code == 0x06:
            kind = operand & 0xFFFF0000
            if kind in (0x80000000, 0x7FFF0000):
                return KILL if kind == 0x80000000 else ALLOW
            return int(operand & 0xFFFF)
        else:
            test = {0x15: held == operand, 0x35: held >= operand, 0x45: bool(held & operand)}
            at += yes if test[code] else no


def asked(
    machine: str,
    name: str,
    *arguments: int,
    sockets: Sockets = Sockets.OWN_NAMESPACE,
    shared: bool = False,
) -> str | int:
    known = MACHINES[machine]
    program = assemble(sockets, machine, shared=shared)
    assert program is not None
    return verdict(program, known.audit, known.numbers[name], arguments)


@pytest.mark.requirement("sandbox:filter")
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_listed_call_is_refused(machine: str) -> None:
    for name in MACHINES[machine].numbers:
        if name not in RULED:
            expected = errno.ENOSYS if name in ABSENT else errno.EPERM
            assert asked(machine, name) == expected, name


@pytest.mark.parametrize("machine", ARCHITECTURES)
@given(number=st.integers(0, 600), arguments=st.lists(words, max_size=6))
def test_a_call_that_is_not_listed_is_allowed(
    machine: str, number: int, arguments: list[int]
) -> None:
    known = MACHINES[machine]
    program = assemble(Sockets.OWN_NAMESPACE, machine)
    assert program is not None

    answer = verdict(program, known.audit, number, arguments)

    assert answer == ALLOW or number in known.numbers.values()


@given(arch=words, number=words)
def test_the_calls_of_another_machine_are_deadly(arch: int, number: int) -> None:
    for machine in ARCHITECTURES:
        program = assemble(Sockets.OWN_NAMESPACE, machine)
        assert program is not None
        foreign = arch != MACHINES[machine].audit

        assert not foreign or verdict(program, arch, number) == KILL


def test_the_second_convention_of_a_machine_is_deadly() -> None:
    program = assemble(Sockets.OWN_NAMESPACE, "x86_64")
    assert program is not None

    assert verdict(program, MACHINES["x86_64"].audit, 0x40000000 + 39) == KILL


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_modes_are_allowed_unless_they_run_as_somebody_else(machine: str) -> None:
    created = 0o100 | 1

    assert asked(machine, "fchmod", 3, 0o755) == ALLOW
    assert asked(machine, "fchmod", 3, 0o4755) == errno.EPERM
    assert asked(machine, "fchmodat", 3, 0, 0o2755) == errno.EPERM
    assert asked(machine, "openat", 3, 0, created, 0o644) == ALLOW
    assert asked(machine, "openat", 3, 0, created, 0o4644) == errno.EPERM
    assert asked(machine, "openat", 3, 0, 0, 0o4644) == ALLOW, "it makes no file"
    assert asked(machine, "mknodat", 3, 0, 0o106755) == errno.EPERM


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_threads_and_children_are_allowed_and_namespaces_are_not(machine: str) -> None:
    threads, children, users = 0x003D0F00, 17, 0x10000000 | 17

    answers = [asked(machine, "clone", flags) for flags in (threads, children, users)]

    assert answers == [ALLOW, ALLOW, errno.EPERM]


SOCKETS = {
    "unix stream": ((1, 1, 0), ALLOW),
    "unix datagram": ((1, 2, 0), ALLOW),
    "tcp": ((2, 1, 0), ALLOW),
    "tcp, closed on exec": ((10, 1 | 0o2000000, 6), ALLOW),
    "udp": ((2, 2 | 0o4000, 17), ALLOW),
    "routes": ((16, 3, 0), ALLOW),
    "raw": ((2, 3, 1), errno.EACCES),
    "events of the kernel": ((16, 3, 15), errno.EACCES),
    "packets": ((17, 3, 768), errno.EACCES),
    "virtual machines": ((40, 1, 0), errno.EACCES),
    "ciphers": ((38, 5, 0), errno.EACCES),
}


@pytest.mark.parametrize("kind", SOCKETS)
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_only_ordinary_sockets_are_opened(machine: str, kind: str) -> None:
    arguments, expected = SOCKETS[kind]

    assert asked(machine, "socket", *arguments) == expected
    assert asked(machine, "socket", *arguments, sockets=Sockets.NONE) == errno.EACCES


@pytest.mark.requirement("sandbox:filter")
@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_what_others_share_is_refused_where_there_is_no_namespace(machine: str) -> None:
    for name in SHARED:
        assert asked(machine, name, 1) == ALLOW
        assert asked(machine, name, 1, shared=True) == errno.EPERM
    assert asked(machine, "prlimit64", 4711) == ALLOW
    assert asked(machine, "prlimit64", 4711, shared=True) == errno.EACCES
    assert asked(machine, "prlimit64", 0, shared=True) == ALLOW, "its own limits"


def test_terminals_work_and_are_not_typed_into() -> None:
    assert asked("x86_64", "ioctl", 0, 0x5401) == ALLOW
    assert asked("x86_64", "ioctl", 0, 0x5412) == errno.EPERM
    assert asked("x86_64", "ioctl", 0, 0x1_0000_5412) == errno.EPERM, "the kernel reads 32 bits"


def test_a_machine_whose_numbers_are_unknown_has_no_filter() -> None:
    assert assemble(Sockets.NONE, "z80") is None
