"""Which jail a run has: asked for by flags or settings, entered and left by a person, refused where nothing holds it.

Nothing but the launcher's flags, the user's own settings and the keyboard comes through here: no project file, model,
extension or program that drives zot. What the machine can hold is tried once and remembered until it may have changed.
"""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from zot.errors import ConfigError, ZotError
from zot.system.files import find_program, write_atomic
from zot.system.jail.jail import Jail, Machine, look
from zot.system.jail.policy import policy_for
from zot.system.jail.system_paths import SYSTEM, beneath_any
from zot.system.safe_open import read_whole

if TYPE_CHECKING:
    from zot.agent.settings import Values

LEVELS = ("reduced", "full")
_REMEMBERED = "jail.json"


class JailOptions(msgspec.Struct, frozen=True):
    """``level`` is the least that will do."""

    network: bool = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    level: Literal["full", "reduced"] = "reduced"


def wanted(jail: str, read: tuple[str, ...], write: tuple[str, ...], level: str, values: Values) -> JailOptions:
    """What flags and settings ask for; a flag about the jail asks for one."""
    least = "full" if level == "full" else "reduced"
    return JailOptions(jail == "net", read, (*write, *values.jail_roots), least)


def confine(root: Path, home: Path, asked: JailOptions) -> Jail:
    """The jail, ready to start commands in; ZotError says why there is none and how to get one."""
    machine = machine_at(home)
    if not machine.level:
        raise ZotError(f"no jail: {machine.why}")
    if LEVELS.index(machine.level) < LEVELS.index(asked.level):
        raise ZotError(f"no jail of level {asked.level}: {machine.why}; --require-jail reduced would do with less")
    read = (*asked.read, *own_program())
    policy = policy_for(root, read=read, write=asked.write, network=asked.network)
    own = os.path.realpath(home)
    if any(own == path or own.startswith(f"{path}/") for path in policy.writable):
        raise ConfigError(f"jail: zot's own directory {own} is inside {policy.root} and would be open to commands")
    return Jail(policy, machine)


def own_program() -> list[str]:
    """Python and zot, for the search that runs as a program of its own."""
    places = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[3]))
    home = os.path.realpath(os.path.expanduser("~"))  # a Python that was installed right into it is not worth it
    return [path for path in places if not beneath_any(path, SYSTEM) and not beneath_any(home, (path.rstrip("/"),))]


def machine_at(home: Path) -> Machine:
    """What was found here before, while program, kernel and boot are the same; else it is tried again."""
    program = find_program("bwrap") or ""
    changed = os.stat(program).st_mtime_ns if program else 0
    try:
        boot = read_whole("/proc/sys/kernel/random/boot_id", 64).decode().strip()
    except (OSError, UnicodeError):
        boot = ""
    key = f"1 {program} {changed} {platform.release()} {boot} {os.geteuid()}"
    try:
        known = msgspec.json.decode(read_whole(home / _REMEMBERED), type=_KnownJail)
        if known.key == key:
            return known.machine
    except (OSError, msgspec.DecodeError, UnicodeError):
        pass
    found = look(find_program)
    with suppress(OSError):  # then it is tried again next time
        write_atomic(home / _REMEMBERED, msgspec.json.encode(_KnownJail(key, found)))
    return found


class _KnownJail(msgspec.Struct, frozen=True):
    key: str
    machine: Machine
