"""Free memory, including container and ``ulimit -v`` limits, and the number of cores."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from zot.errors import ZotError
from zot.system.safe_open import read_prefix

ENOUGH_FOR_MEDIUM = 4_000_000_000
_FEW = 4  # up to this many threads are all used


def free_memory() -> int:
    """Bytes a new process may use without swapping; -1 if unknown."""
    limits = [amount for amount in (_machine(), _container(), _own_limit()) if amount >= 0]
    return min(limits, default=-1)


def check_memory(name: str, needed: int) -> None:
    """ZotError with the numbers if a model does not fit."""
    free = free_memory()
    if 0 <= free < needed:
        raise ZotError(
            f"not enough memory for {name}: it needs about {format_bytes(needed)}, {format_bytes(free)} are free;"
            " close other programs, or use a smaller model (`zot local list`)"
        )


def format_bytes(count: int) -> str:
    """A readable size: 0.9 GB, 491 MB."""
    return f"{count / 1e9:.1f} GB" if count >= 950_000_000 else f"{count / 1e6:.0f} MB"


def threads() -> int:
    """How many threads a model computes with: the physical cores."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if usable <= _FEW:
        return usable
    cores: set[tuple[str, str]] = set()
    socket = ""
    for line in _lines("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        if name.strip() == "physical id":
            socket = value.strip()
        elif name.strip() == "core id":
            cores.add((socket, value.strip()))
    return max(_FEW, min(usable, len(cores) or usable // 2))


def _machine() -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # the system does not report free memory
    except (ValueError, OSError):
        return -1


def _container() -> int:
    group = next((line.partition("::")[2] for line in _lines("/proc/self/cgroup") if line.startswith("0::")), "")
    place = Path("/sys/fs/cgroup") / group.strip().lstrip("/")
    most, used = "".join(_lines(place / "memory.max")).strip(), "".join(_lines(place / "memory.current")).strip()
    return max(0, int(most) - int(used)) if most.isdecimal() and used.isdecimal() else -1


def _own_limit() -> int:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return -1 if limit == resource.RLIM_INFINITY else limit


def _lines(path: str | Path) -> list[str]:
    try:
        return read_prefix(path, 1 << 20).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
