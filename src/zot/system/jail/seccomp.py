"""Seccomp filter: denies system calls that attack the sandbox or the kernel.
They fail with EPERM, or ENOSYS where programs have a fallback."""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable
from errno import EACCES, ENOSYS, EPERM

from zot.errors import ConfigError

_LOAD, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data; arguments are 64 bits wide, the low half first

# AUDIT_ARCH_*, and the numbers of the calls below: x86_64, then those of newer architectures.
_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBERS: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "quotactl_fd": (443, 443),
    "fsconfig": (431, 431),
    "open_tree_attr": (467, 467),
    "vhangup": (153, 58),
}
# Only x86: ports of the machine, and segments that only old programs use.
_OF_X86 = {"iopl": 172, "ioperm": 173, "modify_ldt": 154, "uselib": 134, "_sysctl": 156, "nfsservctl": 180}
_ENOSYS = ("io_uring_setup", "io_uring_enter", "io_uring_register")
_MORE: dict[str, tuple[int, int]] = {
    "socket": (41, 198),
    "connect": (42, 203),
    "sendto": (44, 206),
    "ioctl": (16, 29),
    "clone": (56, 220),
    "clone3": (435, 435),
    "openat2": (437, 437),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "mkdirat": (258, 34),
    "mknodat": (259, 33),
    "openat": (257, 56),
}
_OLD_CALLS = {
    "chmod": 90,
    "open": 2,
    "creat": 85,
    "mkdir": 83,
    "mknod": 133,
}  # x86_64 has these besides their successors
# Calls that set a file's mode, and the index of that argument; for opening, that of the flags.
_MODES = {
    **{"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1},
    **{"mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2},
}
_OPENINGS = {"open": 1, "openat": 2}
_SET_ID = 0o6000
# Calls that could change another process: allowed only for the caller (0) or its group.
_OF_OTHERS = (
    *(("prlimit64", 0, (0,)), ("setpriority", 1, (0,)), ("setpriority", 0, (0, 1))),
    *(("ioprio_set", 1, (0,)), ("ioprio_set", 0, (1, 2))),
)
_MAKES_A_FILE = 0o100 | 0o20000000  # O_CREAT, and the bits of O_TMPFILE besides O_DIRECTORY; the same on both machines
_X32 = 0x40000000
_TYPING = (0x5412, 0x541C, 0x5423, 0x4B47, 0x4B49, 0x4B4E)  # TIOCSTI, TIOCLINUX, TIOCSETD, and keys of a console
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag of clone
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16


def supported() -> bool:
    return platform.machine() in _ARCHES


def program(*, sockets: tuple[int, ...], connections: bool = True) -> bytes:
    """The filter as ``struct sock_filter``s. ``sockets`` are allowed address families; ``connections``: whether they
    may connect."""
    machine = platform.machine()
    if machine not in _ARCHES:
        raise ConfigError(f"jail: no list of system calls for {machine}")
    column = 0 if machine == "x86_64" else 1
    asm = _Assembler()
    asm.load(_ARCH)
    asm.unless_equal(_ARCHES[machine], _KILL)
    asm.load(_NR)
    if machine == "x86_64":
        asm.when_set(_X32, _ERRNO | ENOSYS)
    for name, numbers in _NUMBERS.items():
        asm.when_equal(numbers[column], _ERRNO | (ENOSYS if name in _ENOSYS else EPERM))
    number = {name: numbers[column] for name, numbers in _MORE.items()}
    if machine == "x86_64":
        number |= _OLD_CALLS
        for call in _OF_X86.values():
            asm.when_equal(call, _ERRNO | EPERM)
    for name in ("clone3", "openat2"):  # their flags are in memory, which a filter cannot read; libc falls back
        asm.when_equal(number[name], _ERRNO | ENOSYS)
    for name, argument, allowed in _OF_OTHERS:
        asm.when_called(number[name], argument, lambda inner, values=allowed: inner.only(values, _ERRNO | EPERM))
    if not connections:
        asm.when_equal(number["connect"], _ERRNO | EACCES)
        asm.when_called(number["sendto"], 4, lambda inner: inner.only((0,), _ERRNO | EACCES))
    for name in number.keys() & _MODES.keys():
        asm.when_called(number[name], _MODES[name], lambda inner: inner.when_set(_SET_ID, _ERRNO | EPERM))
    for name in number.keys() & _OPENINGS.keys():
        asm.when_called(number[name], _OPENINGS[name], lambda inner, at=_OPENINGS[name]: inner.when_made(at + 1))
    asm.when_called(number["clone"], 0, lambda inner: inner.when_set(_NEW_NAMESPACES, _ERRNO | EPERM))
    asm.when_called(
        number["ioctl"],
        1,
        lambda inner: [inner.when_equal(request, _ERRNO | EPERM) for request in _TYPING],
    )
    asm.when_called(number["socket"], 0, lambda inner: inner.only(sockets, _ERRNO | EACCES))
    asm.give(_ALLOW)
    return asm.code()


def families(*, full: bool, network: bool) -> tuple[int, ...]:
    """Allowed sockets: loopback only in a separate network namespace, where it is harmless and tests use it."""
    if network:
        return (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)
    return (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK) if full else (_AF_UNIX,)


class _Assembler:
    """Instructions in order; jumps are short and forward, as the kernel requires."""

    def __init__(self) -> None:
        self._made: list[bytes] = []

    def _add(self, code: int, yes: int, no: int, value: int) -> None:
        self._made.append(struct.pack("=HBBI", code, yes, no, value & 0xFFFFFFFF))

    def load(self, offset: int) -> None:
        self._add(_LOAD, 0, 0, offset)

    def give(self, verdict: int) -> None:
        self._add(_RETURN, 0, 0, verdict)

    def unless_equal(self, value: int, verdict: int) -> None:
        self._add(_JUMP_EQUAL, 1, 0, value)
        self.give(verdict)

    def when_equal(self, value: int, verdict: int) -> None:
        self._add(_JUMP_EQUAL, 0, 1, value)
        self.give(verdict)

    def when_set(self, bits: int, verdict: int) -> None:
        self._add(_JUMP_SET, 0, 1, bits)
        self.give(verdict)

    def when_made(self, argument: int) -> None:
        """With creation flags loaded: deny a mode that runs the file as its owner or group."""
        self._add(_JUMP_SET, 0, 3, _MAKES_A_FILE)
        self.load(_ARGS + 8 * argument)
        self.when_set(_SET_ID, _ERRNO | EPERM)

    def only(self, values: tuple[int, ...], verdict: int) -> None:
        for position, value in enumerate(values):
            self._add(_JUMP_EQUAL, len(values) - position, 0, value)
        self.give(verdict)

    def when_called(self, number: int, argument: int, check: Callable[[_Assembler], object]) -> None:
        """Compare the low half of an argument in a call with this number; then load the number again."""
        inner = _Assembler()
        inner.load(_ARGS + 8 * argument)
        check(inner)
        inner.load(_NR)
        self._add(_JUMP_EQUAL, 0, len(inner._made), number)
        self._made += inner._made

    def code(self) -> bytes:
        return b"".join(self._made)
