"""The policy as the arguments of bubblewrap: the full level.

The command sees a machine made of what the policy names: the system read-only, its project, a home and a temporary
directory of its own, and nobody else's processes, sockets or network. Order matters: a later mount covers an earlier.
Each costs about half a millisecond of every command, so nothing is mounted that another mount shows anyway.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from zot.system.jail.allowed_programs import chosen_programs, program_folders
from zot.system.jail.policy import Policy
from zot.system.jail.private_dirs import Private
from zot.system.jail.protected_paths import Covers
from zot.system.jail.system_paths import SYSTEM, etc_directories, outermost, toolchains

_ALWAYS = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--die-with-parent", "--cap-drop", "ALL"),
)
# What root may write there whatever namespace it is in; bubblewrap itself covers irq, bus and sysrq-trigger.
_OF_PROC = ("/proc/sys", "/proc/fs")
# Stands where nothing must come to be. It costs a fifth of a read-only bind, for which bubblewrap reads the whole table
# of mounts; whoever makes it writable all the same writes into a page of memory that is gone with the command.
_NOTHING = ("--perms", "0555", "--size", "4096", "--tmpfs")


def arguments(
    policy: Policy, covers: Covers, private: Private, environment: Mapping[str, str], cwd: str, home: str
) -> list[str]:
    """What follows the program's name, without the command."""
    made = [*_ALWAYS, *(() if policy.network else ("--unshare-net",))]
    for path in SYSTEM:
        if os.path.islink(path):
            made += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            made += ["--ro-bind", path, path]
    made += ["--ro-bind", private.etc, "/etc"]
    for path in etc_directories():
        made += ["--ro-bind", os.path.realpath(path), path]
    made += ["--proc", "/proc"]
    for path in _OF_PROC:
        made += ["--ro-bind", path, path] if os.path.exists(path) else []
    made += ["--dev", "/dev", "--bind", private.tmp, "/tmp", "--symlink", "/tmp", "/var/tmp"]
    made += ["--dir", "/run", "--bind", private.home, home]
    programs = _programs(policy, environment.get("PATH", ""), home, made)
    made += _binds("--ro-bind", outermost((*programs, *policy.read)))
    made += _binds("--ro-bind-try", policy.read_files)  # one that is gone by now is not there inside either
    made += _binds("--bind", policy.writable) + _binds("--bind-try", policy.write_files)
    made += _binds("--bind", covers.pinned) + _binds("--ro-bind", covers.kept)
    for path in covers.empty:
        made += [*_NOTHING, path]
    return [*made, "--remount-ro", "/", "--chdir", cwd]


def _programs(policy: Policy, path: str, home: str, made: list[str]) -> list[str]:
    """Installations to show; when only some programs are allowed, the system's own directories hold these alone."""
    if policy.programs is None:
        return toolchains(path, home)
    chosen = chosen_programs(policy.programs, home)
    folders = program_folders()
    for folder in folders:
        made += ["--tmpfs", folder]
    for file in chosen.files:
        made += ["--ro-bind", file, file]
    for link, target in chosen.links:
        made += ["--symlink", target, link]
    for folder in folders:
        made += ["--remount-ro", folder]
    return list(chosen.places)


def _binds(option: str, paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in (option, path, path)]
