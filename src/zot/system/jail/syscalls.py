"""System calls that Python lacks; they raise OSError."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from contextlib import suppress

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _OPENAT2 = 444, 445, 446, 437  # the same on every architecture
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_PR_SET_SECUREBITS, _ROOT_IS_NOBODY_SPECIAL, _CAPABILITIES_3 = 28, 0x2F, 0x20080522

_TRIES = 100
RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 0x02, 0x04, 0x08

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _call(number: int, *arguments: object) -> int:
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def landlock_abi() -> int:
    """0 if the kernel has none or it is disabled."""
    try:
        return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def create_ruleset(attributes: bytes) -> int:
    return _call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))


def allow_beneath(ruleset: int, directory: int, access: int) -> None:
    rule = struct.pack("=Qi", access, directory)
    _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))


def restrict_thread(ruleset: int) -> None:
    """From now on this thread and all it starts; there is no way back."""
    _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))


def no_new_privileges() -> None:
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def drop_capabilities() -> None:
    """This thread and its children get no rights beyond their user's, even root."""
    _libc.prctl(_PR_SET_SECUREBITS, _ROOT_IS_NOBODY_SPECIAL, 0, 0, 0)  # only root can, and only root needs it
    header, nothing = struct.pack("=Ii", _CAPABILITIES_3, 0), bytes(24)
    if _libc.capset(header, nothing) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def filter_thread(program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), header, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def open_beneath(directory: int, path: bytes, flags: int, mode: int = 0, *, links: bool = True) -> int:
    """``openat`` that never leaves the directory through links, or has no ``links`` at all; ENOSYS if unsupported."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (0 if links else RESOLVE_NO_SYMLINKS)
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, resolve)
    for _ in range(_TRIES):
        with suppress(BlockingIOError):  # EAGAIN: something was renamed while the kernel resolved `..`
            return _call(_OPENAT2, ctypes.c_int(directory), path, how, ctypes.c_size_t(len(how)))
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
