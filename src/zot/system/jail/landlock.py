"""The policy as a Landlock ruleset: the reduced level, without bubblewrap.
Landlock has no exceptions below a directory, so protected names stay writable; ``attack.jail_rows`` lists the gaps."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from zot.system.jail import syscalls
from zot.system.jail.policy import Policy

OLDEST_ABI = 3  # truncating is denied from this version on
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
_MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER, _TRUNCATE, _IOCTL_DEV = (1 << bit for bit in range(9, 16))
_ALL_FILES = {3: (1 << 15) - 1, 5: (1 << 16) - 1}
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WRITE = (
    _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
) | (_REFER | _TRUNCATE)
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_TCP = 3  # bind and connect
_SCOPES = 3  # abstract sockets and signals

# No terminals: the user's other windows are among them.
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
# The machine part of /proc. No processes: a domain does not protect the environments of others everywhere,
# and its own processes are not known in advance.
MACHINE = (
    *(f"/proc/{name}" for name in ("cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems", "sys")),
    "/sys/devices/system/cpu",
)


def ruleset(policy: Policy, readable: Iterable[str], private: Iterable[str]) -> int:
    """A file descriptor; ``readable`` is the system and its toolchains, ``private`` are this jail's directories."""
    abi = syscalls.landlock_abi()
    files = _ALL_FILES[5] if abi >= 5 else _ALL_FILES[3]
    tcp = _TCP if abi >= 4 and not policy.network else 0
    scopes = _SCOPES if abi >= 6 else 0
    attributes = struct.pack("=QQQ", files, tcp, scopes) if abi >= 6 else struct.pack("=QQ", files, tcp)
    made = syscalls.create_ruleset(attributes if abi >= 4 else attributes[:8])
    try:
        for path in (*readable, *policy.read, *policy.read_files):
            _allow(made, path, _READ)
        for path in DEVICES:
            _allow(made, path, _READ | _WRITE_FILE | (_IOCTL_DEV if abi >= 5 else 0))
        for path in (*policy.writable, *policy.write_files, *private):
            _allow(made, path, _WRITE)
    except BaseException:
        os.close(made)
        raise
    return made


def scopes_only() -> int | None:
    """A ruleset that denies other programs' abstract sockets and signals to a thread; no file rules."""
    if syscalls.landlock_abi() < 6:
        return None
    return syscalls.create_ruleset(struct.pack("=QQQ", 0, 0, _SCOPES))


def _allow(made: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{fd}"):
            access &= _OF_FILES
        syscalls.allow_beneath(made, fd, access)
    finally:
        os.close(fd)
