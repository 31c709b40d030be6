"""The system calls that a sandboxed program has no business with, by number."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """What the filter must know of a processor."""

    audit: int
    """The kernel's mark of the calling convention."""
    numbers: dict[str, int]
    x32: bool = False
    """Whether a second convention shares the mark, told apart by a bit of the number."""


_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "mount_setattr": 442, "quotactl_fd": 443,
    "memfd_secret": 447, "fchmodat2": 452, "open_tree_attr": 467,
}  # fmt: skip
_X86_64 = {
    "open": 2, "ioctl": 16, "socket": 41, "clone": 56, "creat": 85, "chmod": 90, "fchmod": 91,
    "ptrace": 101, "syslog": 103, "mknod": 133, "uselib": 134, "vhangup": 153, "modify_ldt": 154,
    "pivot_root": 155, "_sysctl": 156, "chroot": 161, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "iopl": 172,
    "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179, "nfsservctl": 180,
    "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256,
    "openat": 257, "mknodat": 259, "fchmodat": 268, "unshare": 272, "move_pages": 279,
    "perf_event_open": 298, "fanotify_init": 300, "open_by_handle_at": 304, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
    "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68,
    "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "prlimit64": 302,
}  # fmt: skip
_AARCH64 = {
    "lookup_dcookie": 18, "ioctl": 29, "mknodat": 33, "umount2": 39, "mount": 40, "pivot_root": 41,
    "nfsservctl": 42, "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56, "vhangup": 58,
    "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105,
    "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142,
    "settimeofday": 170, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219,
    "clone": 220, "swapon": 224, "swapoff": 225, "mbind": 235, "set_mempolicy": 237,
    "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
    "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191,
    "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "prlimit64": 261,
}  # fmt: skip

MACHINES = {
    "x86_64": Machine(0xC000003E, _EVERYWHERE | _X86_64, x32=True),
    "aarch64": Machine(0xC00000B7, _EVERYWHERE | _AARCH64),
}
"""By the name that `uname` gives."""

ABSENT = ("clone3", "openat2")
"""Answered as unknown: their arguments lie in memory, which a filter cannot read."""
SHARED = ("shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop", "msgget",
          "msgsnd", "msgrcv", "msgctl")  # fmt: skip
"""Lead to what others have in memory, unless a program has a namespace of its own for it."""
RULED = (*SHARED, "prlimit64", "clone", "open", "openat", "creat", "chmod", "fchmod", "fchmodat",
         "fchmodat2", "mknod", "mknodat", "socket", "ioctl")  # fmt: skip
"""Allowed or not by their arguments, or by what else keeps the program apart."""
