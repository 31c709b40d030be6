"""Tries to get out of a sandbox from inside, in every way that we know.

A script of its own, fed to a Python inside the sandbox; it needs nothing but the standard library.
Each attack returns whether it got through, or raises OSError where the system said no. Its sentence
says what holds where it does not get through.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Facts = dict[str, Any]
Attack = Callable[[Facts], bool]
ATTACKS: list[tuple[str, Attack]] = []
_PATIENCE_S = 10
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_BIND, _REMOUNT, _READ_ONLY = 4096, 32, 0o10000
_libc = ctypes.CDLL(None, use_errno=True)


def attack(topic: str) -> Callable[[Attack], Attack]:
    """Put an attack on the list."""

    def listed(function: Attack) -> Attack:
        ATTACKS.append((topic, function))
        return function

    return listed


def _call(facts: Facts, name: str, *arguments: object) -> bool:
    """Make a system call by its number; True where the kernel did it."""
    return _done(_libc.syscall(facts["calls"][name], *arguments))


def _done(answer: int) -> bool:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


def _reads(path: str, secret: str) -> bool:
    with open(path, encoding="utf-8", errors="replace") as opened:
        return secret in opened.read()


def _writes(path: str, mode: str = "w") -> bool:
    with open(path, mode, encoding="utf-8") as opened:
        return opened.write("broken in\n") > 0


def _same_process(facts: Facts) -> int:
    """The number of the process that started us; raises where it cannot be seen."""
    pid = int(facts["parent"])
    with open(f"/proc/{pid}/stat", encoding="utf-8") as status:
        if status.read().rpartition(")")[2].split()[19] != facts["parent_began"]:
            raise ProcessLookupError(errno.ESRCH, "another process has this number")
    return pid


@attack("filesystem")
def write_outside(facts: Facts) -> bool:
    """A file outside the workspace cannot be written."""
    return _writes(facts["outside"] + "/victim")


@attack("filesystem")
def create_outside(facts: Facts) -> bool:
    """A file outside the workspace cannot be created."""
    return _writes(facts["outside"] + "/new")


@attack("filesystem")
def read_outside(facts: Facts) -> bool:
    """A file outside the workspace cannot be read, though everybody may read it."""
    return _reads(facts["outside"] + "/kept", facts["secret"])


@attack("filesystem")
def write_system(facts: Facts) -> bool:
    """The system's programs cannot be changed."""
    os.close(os.open("/usr/bin", os.O_WRONLY | os.O_TMPFILE))
    return True


@attack("filesystem")
def read_shadow(facts: Facts) -> bool:
    """The machine's passwords cannot be read."""
    return _reads("/etc/shadow", ":")


@attack("filesystem")
def read_shared_memory(facts: Facts) -> bool:
    """The shared memory of others cannot be read."""
    return _reads(facts["shared"], facts["secret"])


@attack("filesystem")
def read_environment_file(facts: Facts) -> bool:
    """A .env file of the workspace cannot be read."""
    return _reads(".env", facts["secret"])


@attack("filesystem")
def read_nested_environment_file(facts: Facts) -> bool:
    """A .env file deep in the workspace cannot be read."""
    return _reads("deep/down/.env.local", facts["secret"])


@attack("filesystem")
def read_key(facts: Facts) -> bool:
    """A private key of the workspace cannot be read."""
    return _reads("deep/deploy.pem", facts["secret"])


@attack("filesystem")
def read_key_directory(facts: Facts) -> bool:
    """A directory of keys cannot be listed."""
    return bool(os.listdir("deep/.ssh"))


@attack("filesystem")
def move_key(facts: Facts) -> bool:
    """A hidden file cannot be renamed into sight."""
    os.rename(".env", "seen")
    return _reads("seen", facts["secret"])


@attack("filesystem")
def link_key(facts: Facts) -> bool:
    """A hidden file cannot be linked into sight."""
    os.link(".env", "linked")
    return _reads("linked", facts["secret"])


@attack("filesystem")
def read_journal(facts: Facts) -> bool:
    """The journal cannot be read."""
    return _reads(".agent/sessions/s/session-log.md", facts["secret"])


@attack("filesystem")
def write_journal(facts: Facts) -> bool:
    """The journal cannot be written."""
    return _writes(".agent/sessions/s/session-log.md", "a")


@attack("filesystem")
def write_permissions(facts: Facts) -> bool:
    """The program's own permissions cannot be extended."""
    return _writes(".agent/permissions.yaml")


@attack("filesystem")
def replace_own_state(facts: Facts) -> bool:
    """The program's own state cannot be replaced by another."""
    os.rename(".agent", ".agent-before")
    return True


@attack("filesystem")
def write_git_hook(facts: Facts) -> bool:
    """A hook that git would run cannot be planted."""
    return _writes(".git/hooks/pre-commit")


@attack("filesystem")
def write_git_configuration(facts: Facts) -> bool:
    """Git's configuration, which can name programs, cannot be changed."""
    return _writes(".git/config", "a")


@attack("filesystem")
def replace_git(facts: Facts) -> bool:
    """Git's directory cannot be replaced by another."""
    os.rename(".git", ".git-before")
    return True


@attack("filesystem")
def write_through_link(facts: Facts) -> bool:
    """A symbolic link out of the workspace leads nowhere."""
    return _writes("way-out/victim")


@attack("filesystem")
def write_through_new_link(facts: Facts) -> bool:
    """A new symbolic link out of the workspace leads nowhere."""
    os.symlink(facts["outside"], "another-way-out")
    return _writes("another-way-out/victim")


@attack("filesystem")
def hard_link_from_outside(facts: Facts) -> bool:
    """A file outside cannot be linked into the workspace."""
    os.link(facts["outside"] + "/kept", "brought-in")
    return _reads("brought-in", facts["secret"])


@attack("filesystem")
def use_inherited_descriptor(facts: Facts) -> bool:
    """No descriptor was left open but the usual three."""
    return bool(facts["inherited"])


@attack("filesystem")
def bind_mount(facts: Facts) -> bool:
    """Nothing can be mounted over the workspace."""
    os.makedirs("mounted", exist_ok=True)
    outside = facts["outside"].encode()
    return _done(_libc.mount(outside, b"mounted", None, _BIND, None))


@attack("filesystem")
def remount_writable(facts: Facts) -> bool:
    """What is read-only cannot be made writable."""
    return _done(_libc.mount(b"none", b"/", None, _REMOUNT | _BIND, None))


@attack("filesystem")
def unmount_cover(facts: Facts) -> bool:
    """What covers a hidden place cannot be taken off."""
    return _done(_libc.umount2(b".agent", 2))


@attack("filesystem")
def change_root(facts: Facts) -> bool:
    """The root cannot be changed."""
    return _call(facts, "chroot", b"/")


@attack("filesystem")
def open_by_handle(facts: Facts) -> bool:
    """Files cannot be opened past their directories."""
    return _call(facts, "open_by_handle_at", -100, (ctypes.c_uint32 * 8)(8, 1, 2), 0)


@attack("filesystem")
def set_user_bit(facts: Facts) -> bool:
    """No file can be made to run as its owner (chmod)."""
    _writes("tool")
    os.chmod("tool", 0o4755)  # noqa: S103 - the attack
    return bool(os.stat("tool").st_mode & 0o4000)


@attack("filesystem")
def create_with_user_bit(facts: Facts) -> bool:
    """No file can be made to run as its owner (open)."""
    os.close(os.open("tool-2", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o4755))
    return bool(os.stat("tool-2").st_mode & 0o4000)


@attack("filesystem")
def set_group_bit(facts: Facts) -> bool:
    """No file can be made to run as its group (fchmodat2)."""
    _writes("tool-3")
    _call(facts, "fchmodat2", -100, b"tool-3", 0o2755, 0)
    return bool(os.stat("tool-3").st_mode & 0o2000)


@attack("filesystem")
def make_device(facts: Facts) -> bool:
    """No device can be made."""
    os.mknod("disk", 0o60666, os.makedev(259, 0))
    os.close(os.open("disk", os.O_RDONLY))
    return True


@attack("filesystem")
def open_kernel_memory(facts: Facts) -> bool:
    """The memory and the log of the kernel cannot be read."""
    for path in ("/dev/mem", "/dev/kmsg", "/proc/kcore", "/proc/kmsg"):
        with suppress(OSError):
            os.close(os.open(path, os.O_RDONLY))
            return True
    return False


@attack("filesystem")
def write_kernel_settings(facts: Facts) -> bool:
    """The kernel's settings cannot be changed."""
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    return True


@attack("filesystem")
def trigger_kernel(facts: Facts) -> bool:
    """The kernel's emergency keys cannot be pressed."""
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return True


@attack("filesystem")
def leave_by_another_root(facts: Facts) -> bool:
    """No process shows a way to the machine's root."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            if _reads(f"/proc/{pid}/root{facts['outside']}/kept", facts["secret"]):
                return True
    return False


@attack("filesystem")
def overwrite_sandbox(facts: Facts) -> bool:
    """The sandbox's own program cannot be overwritten."""
    try:
        os.close(os.open("/proc/1/exe", os.O_RDWR))
    except OSError as error:
        # A program that runs is always busy; to be told so, one must have been let in.
        return error.errno == errno.ETXTBSY
    return True


@attack("processes")
def new_user_namespace(facts: Facts) -> bool:
    """No user namespace can be made."""
    return _done(_libc.unshare(_NEW_USER))


@attack("processes")
def new_namespace_by_clone(facts: Facts) -> bool:
    """No namespace can be made by clone."""
    pid = _libc.syscall(facts["calls"]["clone"], _NEW_USER | _NEW_MOUNTS | signal.SIGCHLD, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    return _done(pid)


@attack("processes")
def new_namespace_by_clone3(facts: Facts) -> bool:
    """No namespace can be made by clone3."""
    arguments = (ctypes.c_uint64 * 8)(_NEW_USER, 0, 0, 0, signal.SIGCHLD)
    pid = _libc.syscall(facts["calls"]["clone3"], arguments, 64)
    if pid == 0:
        os._exit(0)
    return _done(pid)


@attack("processes")
def enter_namespace(facts: Facts) -> bool:
    """No other namespace can be entered."""
    opened = os.open("/proc/1/ns/mnt", os.O_RDONLY)
    return _done(_libc.setns(opened, 0))


@attack("processes")
def see_parent(facts: Facts) -> bool:
    """The processes outside cannot be seen."""
    return _same_process(facts) > 0


@attack("processes")
def signal_parent(facts: Facts) -> bool:
    """The processes outside cannot be sent signals."""
    os.kill(_same_process(facts), 0)
    return True


@attack("processes")
def limit_parent(facts: Facts) -> bool:
    """The limits of the processes outside cannot be changed: one of them would end them."""
    there = (ctypes.c_uint64 * 2)()
    return _call(facts, "prlimit64", _same_process(facts), resource.RLIMIT_CPU, None, there)


@attack("processes")
def attach_shared_segment(facts: Facts) -> bool:
    """The memory that other processes share by number cannot be read (shmat)."""
    attach = _libc.shmat
    attach.restype = ctypes.c_void_p
    address = attach(facts["segment"], None, _READ_ONLY)
    if address == ctypes.c_void_p(-1).value:
        return _done(-1)
    return facts["secret"].encode() in ctypes.string_at(address, 4096)


@attack("processes")
def trace_parent(facts: Facts) -> bool:
    """The processes outside cannot be traced."""
    pid = _same_process(facts)
    got_in = _call(facts, "ptrace", 0x4206, pid, 0, 0)
    _libc.syscall(facts["calls"]["ptrace"], 17, pid, 0, 0)
    return got_in


@attack("processes")
def read_memory_of_parent(facts: Facts) -> bool:
    """The memory of the processes outside cannot be read."""
    os.close(os.open(f"/proc/{_same_process(facts)}/mem", os.O_RDONLY))
    return True


@attack("processes")
def read_environment_of_others(facts: Facts) -> bool:
    """No process shows the secrets of our environment."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            if _reads(f"/proc/{pid}/environ", facts["secret"]):
                return True
    return False


@attack("processes")
def take_descriptor(facts: Facts) -> bool:
    """The descriptors of other processes cannot be taken."""
    pidfd = os.pidfd_open(os.getppid())
    return _call(facts, "pidfd_getfd", pidfd, 0, 0)


@attack("processes")
def own_environment(facts: Facts) -> bool:
    """The environment holds none of our secrets."""
    return any(facts["secret"] in value for value in os.environ.values())


@attack("processes")
def gain_by_exec(facts: Facts) -> bool:
    """Programs that run as root do not do so here."""
    with open("/proc/self/status", encoding="utf-8") as status:
        return "NoNewPrivs:\t1" not in status.read()


@attack("processes")
def hold_capabilities(facts: Facts) -> bool:
    """There is no capability left, nor one to be had."""
    with open("/proc/self/status", encoding="utf-8") as status:
        lines = dict(line.split(":", 1) for line in status)
    if lines["NoNewPrivs"].strip() == "1":
        del lines["CapBnd"]  # a bound of what could be had, and there is no way to have it
    return any(int(value, 16) for name, value in lines.items() if name.startswith("Cap"))


@attack("processes")
def become_root(facts: Facts) -> bool:
    """The user cannot be changed to root."""
    if os.getuid() == 0:
        return True
    os.setuid(0)
    return True


@attack("processes")
def use_keyring(facts: Facts) -> bool:
    """The kernel's keyrings are closed (keyctl)."""
    return _call(facts, "keyctl", 0, -3, 0)


@attack("processes")
def add_key(facts: Facts) -> bool:
    """The kernel's keyrings are closed (add_key)."""
    return _call(facts, "add_key", b"user", b"whence", b"x", 1, -2)


@attack("processes")
def load_bpf(facts: Facts) -> bool:
    """No program can be loaded into the kernel (bpf)."""
    return _call(facts, "bpf", 0, (ctypes.c_uint32 * 16)(1, 4, 4, 1), 64)


@attack("processes")
def fault_memory(facts: Facts) -> bool:
    """Page faults cannot be handled here (userfaultfd)."""
    return _call(facts, "userfaultfd", 1)


@attack("processes")
def watch_performance(facts: Facts) -> bool:
    """The processor's counters are closed (perf_event_open)."""
    return _call(facts, "perf_event_open", (ctypes.c_uint32 * 32)(1, 128), 0, -1, -1, 0)


@attack("processes")
def queue_calls(facts: Facts) -> bool:
    """System calls cannot be queued past the filter (io_uring)."""
    return _call(facts, "io_uring_setup", 1, (ctypes.c_uint32 * 32)())


@attack("processes")
def type_into_terminal(facts: Facts) -> bool:
    """Nothing can be typed into a terminal (TIOCSTI)."""
    primary, secondary = os.openpty()
    with suppress(OSError):
        os.setsid()
    fcntl.ioctl(secondary, 0x540E, 0)
    fcntl.ioctl(secondary, 0x5412, b"x")
    return primary > 0


@attack("processes")
def reach_our_terminal(facts: Facts) -> bool:
    """There is no terminal to be reached."""
    os.close(os.open("/dev/tty", os.O_RDWR))
    return True


@attack("processes")
def set_clock(facts: Facts) -> bool:
    """The clock cannot be set."""
    return _call(facts, "clock_settime", 0, (ctypes.c_int64 * 2)(0, 0))


@attack("processes")
def load_module(facts: Facts) -> bool:
    """No module can be loaded into the kernel."""
    return _call(facts, "finit_module", 0, b"", 0)


@attack("processes")
def other_calling_convention(facts: Facts) -> bool:
    """The filter cannot be passed by the calls of another machine (x32)."""
    number = 0x40000000 + 39
    return os.uname().machine == "x86_64" and _done(_libc.syscall(number))


@attack("processes")
def old_calling_convention(facts: Facts) -> bool:
    """The filter cannot be passed by the calls of another machine (32 bits)."""
    if os.uname().machine != "x86_64":
        return False
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # getpid, as 32-bit programs call it
    entry = ctypes.addressof(ctypes.c_char.from_buffer(code))
    answer: int = ctypes.CFUNCTYPE(ctypes.c_int)(entry)()
    return answer > 0


@attack("processes")
def raise_limits(facts: Facts) -> bool:
    """Limits cannot be raised again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard == resource.RLIM_INFINITY:
        return True
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard + 1))
        return True
    return False


@attack("network")
def connect_by_tcp(facts: Facts) -> bool:
    """The machine's own services cannot be reached (TCP)."""
    socket.create_connection(("127.0.0.1", facts["tcp"]), 3).close()
    return True


@attack("network")
def connect_by_tcp6(facts: Facts) -> bool:
    """Other machines cannot be reached (TCP)."""
    for address in ("192.0.2.1", "2001:db8::1"):
        try:
            socket.create_connection((address, 443), 1).close()
        except (TimeoutError, OSError) as error:
            # An attempt that is still under way when time is up did leave the sandbox.
            if isinstance(error, TimeoutError):
                return True
    return False


@attack("network")
def send_by_udp(facts: Facts) -> bool:
    """The machine's own services cannot be reached (UDP); the outside listens, too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendto(b"broken in", ("127.0.0.1", facts["udp"]))
    return False


@attack("network")
def ask_dns(facts: Facts) -> bool:
    """No question can be put to a name server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        return made.sendto(b"\0" * 12, (facts["name_server"], 53)) > 0


@attack("network")
def connect_by_abstract_name(facts: Facts) -> bool:
    """Sockets without a path cannot be reached."""
    with socket.socket(socket.AF_UNIX) as made:
        made.connect("\0" + facts["abstract"])
    return True


@attack("network")
def connect_by_path(facts: Facts) -> bool:
    """Sockets outside the workspace cannot be reached."""
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(facts["outside"] + "/socket")
    return True


@attack("network")
def connect_inside_workspace(facts: Facts) -> bool:
    """Sockets that others left in the workspace cannot be reached."""
    with socket.socket(socket.AF_UNIX) as made:
        made.connect("deep/socket")
    return True


@attack("network")
def open_raw_socket(facts: Facts) -> bool:
    """Packets cannot be made by hand (raw sockets)."""
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()
    return True


@attack("network")
def open_packet_socket(facts: Facts) -> bool:
    """Packets cannot be listened to (packet sockets)."""
    socket.socket(17, socket.SOCK_RAW, 0x0300).close()
    return True


@attack("network")
def open_host_socket(facts: Facts) -> bool:
    """The machine below a virtual one cannot be reached (vsock)."""
    socket.socket(40, socket.SOCK_STREAM).close()
    return True


@attack("network")
def open_odd_sockets(facts: Facts) -> bool:
    """Sockets into seldom used parts of the kernel are closed (crypto, keys, events)."""
    for family, kind, protocol in ((38, 5, 0), (15, 3, 2), (16, 3, 15), (29, 3, 1)):
        with suppress(OSError):
            socket.socket(family, kind, protocol).close()
            return True
    return False


def _is_open(descriptor: int) -> bool:
    with suppress(OSError):
        return fcntl.fcntl(descriptor, fcntl.F_GETFD) >= 0
    return False


def _attempt(function: Attack, facts: Facts) -> tuple[bool, str]:
    """Whether an attack was held, and by what; it runs in a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(_PATIENCE_S)
        try:
            code, said = (1, "it got through") if function(facts) else (0, "without effect")
        except OSError as error:
            code, said = 0, error.strerror or type(error).__name__
        except BaseException as error:  # noqa: BLE001 - a broken attack proves nothing
            code, said = 2, repr(error)
        os.write(write, said.encode()[:4000])
        os._exit(code)
    os.close(write)
    with open(read, encoding="utf-8", errors="replace") as told:
        said = told.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == -signal.SIGALRM:
        return False, "it did not end"
    return status <= 0, said if status >= 0 else signal.Signals(-status).name


def main() -> None:
    """Try everything that is asked for, and print what came of it."""
    inherited = [fd for fd in range(3, 1024) if _is_open(fd)]
    facts = {**json.loads(sys.argv[1]), "inherited": inherited}
    found = []
    for topic, function in ATTACKS:
        held, how = _attempt(function, facts)
        name, says = function.__name__.replace("_", "-"), (function.__doc__ or "").strip()
        found.append({"name": name, "topic": topic, "says": says, "held": held, "how": how})
    print(json.dumps(found))  # noqa: T201 - this is the script's answer


if __name__ == "__main__":
    main()
