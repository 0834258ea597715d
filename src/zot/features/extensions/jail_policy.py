"""Jail policy of an extension from its permissions, or why it cannot start.
It may read its own directory and change its data directory. No permission reaches zot's own files or follows a link."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from zot.errors import ExtensionError, ZotError
from zot.features.extensions.loader.declared_permissions import DATA, PROJECT, Permissions
from zot.features.extensions.loader.manifest import Manifest
from zot.features.jail.feature import cached_jail_support, zot_program_paths
from zot.system.jail.jail import Jail
from zot.system.jail.policy import Policy, jailed_environment
from zot.system.jail.system_paths import chosen_programs, interpreters

_OF_THE_HOST = ("ZOT_BYTECODE", "PYTHONPYCACHEPREFIX")
_RUN_BY_RUN_BY = 4  # nested script interpreters


class JailContext(msgspec.Struct, frozen=True):
    """``place`` is the directory it runs in, original or copy; ``kept`` are names there that never change."""

    place: Path
    data: Path
    project: Path
    home: Path
    kept: tuple[str, ...] = ()


class JailedCommand(msgspec.Struct, frozen=True):
    jail: Jail
    environment: dict[str, str]
    remarks: list[str]


def build_jail(
    permissions: Permissions, setting: JailContext, argv: Sequence[str], environment: Mapping[str, str], otherwise: str
) -> JailedCommand:
    """``environment`` without the jail; ``otherwise`` is the fix if there is no jail."""
    jail, remarks = _jail(permissions, setting, argv, environment.get("PATH", ""), otherwise)
    return JailedCommand(jail, jailed_environment(environment, (*permissions.env, *_OF_THE_HOST)), remarks)


def _jail(
    permissions: Permissions, setting: JailContext, argv: Sequence[str], path: str, otherwise: str
) -> tuple[Jail, list[str]]:
    machine = cached_jail_support(setting.home)
    if not machine.level:
        raise ExtensionError(f"declares permissions, and this machine cannot enforce them: {machine.why}{otherwise}")
    remarks = [f"runs in a jail ({machine.level})"]
    policy = _policy(permissions, setting, [argv[0], *_runners(argv[0], path)], path, remarks)
    try:
        return Jail(policy, machine), remarks
    except (ZotError, OSError) as error:
        raise ExtensionError(f"cannot create its jail: {error}") from error


def _policy(permissions: Permissions, setting: JailContext, own: list[str], path: str, remarks: list[str]) -> Policy:
    home = os.path.expanduser("~")
    places = _Places(setting, home, remarks)
    read = [real for text in permissions.read for real in places.readable(text)]
    write = [real for text in permissions.write for real in places.writable(text)]
    data, place = _both(setting.data), _both(setting.place)
    bytecode = f"{setting.home}/pycache{os.path.abspath(setting.place)}"
    always = [*place, *zot_program_paths(), *([bytecode] if os.path.isdir(bytecode) else [])]
    own_writable = [root for root in write if _lies_in(root, place)]
    programs = None
    if permissions.exec is True:
        always += chosen_programs(own, home).places
    else:
        found: list[str] = []
        for name in permissions.exec or ():
            if where := _which(name, path):
                found += [where, *_runners(where, path)]
            else:
                remarks.append(f"program not found on PATH: {name} (in its permissions)")
        programs = (*own, *found)
    return Policy(
        root=data[-1],
        read=(*always, *read),
        write=(*data[:-1], *write),
        plain=(*data, *own_writable, *(root for root in write if not os.path.isdir(root))),
        kept=tuple(_kept(setting)) if own_writable else (),
        programs=programs,
        network=permissions.net,
    )


def build_program_jail(
    permissions: Permissions,
    setting: JailContext,
    argv: Sequence[str],
    environment: Mapping[str, str],
    limits: Policy | None,
) -> JailedCommand:
    """For any program that the extension has zot run: with its permissions, and within the session's ``limits``."""
    machine, path = cached_jail_support(setting.home), environment.get("PATH", "")
    if not machine.level:
        raise ExtensionError(f"declares permissions, and this machine cannot enforce them: {machine.why}")
    remarks: list[str] = []
    programs = [argv[0], *_runners(argv[0], path)]
    policy = _policy(msgspec.structs.replace(permissions, exec=True), setting, programs, path, remarks)
    if limits is not None:
        own = _policy(Permissions(exec=True), setting, programs, path, remarks)
        policy = _narrowed(policy, limits, own)
    try:
        return JailedCommand(Jail(policy, machine), jailed_environment(environment, permissions.env), remarks)
    except (ZotError, OSError) as error:
        raise ExtensionError(f"cannot create its jail: {error}") from error


def _narrowed(policy: Policy, limits: Policy, own: Policy) -> Policy:
    """What both allow, and what the extension has without permissions: its own directories."""
    write = _shared(policy.write, limits.writable)
    plain = [path for path in write if _lies_in(path, policy.plain) and _lies_in(path, limits.plain)]
    return msgspec.structs.replace(
        policy,
        read=(*own.read, *_shared(policy.read, (*limits.readable, *limits.read_files))),
        write=(*own.write, *write),
        protected=tuple(dict.fromkeys((*policy.protected, *limits.protected))),
        plain=(*own.plain, *plain),
        kept=(*policy.kept, *limits.kept),
        network=policy.network and limits.network,
    )


def _shared(some: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """The narrower one of each pair of which one contains the other."""
    found = [path for path in some for other in others if _lies_in(path, [other])]
    found += [other for path in some for other in others if _lies_in(other, [path])]
    return tuple(dict.fromkeys(found))


class _Places:
    def __init__(self, setting: JailContext, home: str, remarks: list[str]) -> None:
        self._setting = setting
        self._home = home
        self._own_home = os.path.realpath(setting.home)
        self._remarks = remarks

    def readable(self, text: str) -> list[str]:
        """Missing paths are skipped."""
        real = self._real("fs.read", text)
        return [] if not real or not os.path.exists(real) else _both(self._written(text)[0])

    def writable(self, text: str) -> list[str]:
        """Missing directories are created."""
        real = self._real("fs.write", text)
        if not real:
            return []
        try:
            if not os.path.exists(real):
                os.makedirs(real, exist_ok=True)
        except OSError as error:
            raise ExtensionError(f"permissions.fs.write: cannot create {text}: {error.strerror}") from error
        return _both(self._real("fs.write", text))

    def _written(self, text: str) -> tuple[str, str]:
        """The path, and the directory it must not leave, if any."""
        start, _, rest = text.partition("/")
        bases = {PROJECT: self._setting.project, DATA: self._setting.data}
        if base := bases.get(start):
            return os.path.join(base, rest) if rest else str(base), os.path.realpath(base)
        if start == "~":
            return os.path.join(self._home, rest) if rest else self._home, ""
        if os.path.isabs(text):
            return os.path.normpath(text), ""
        return os.path.normpath(os.path.join(self._setting.place, text)), os.path.realpath(self._setting.place)

    def _real(self, field: str, text: str) -> str:
        path, within = self._written(text)
        real = os.path.realpath(path)
        if within and not _lies_in(real, [within]):
            raise ExtensionError(f"permissions.{field}: {text} is a link to {real}")
        if any(_lies_in(home, [real]) for home in (self._own_home, os.path.realpath(self._home))):
            if text.startswith(PROJECT):
                self._remarks.append(f"skipped {text} ({field}): your home directory is inside the project")
                return ""
            raise ExtensionError(f"permissions.{field}: {text} contains your home directory; name directories in it")
        own = [os.path.realpath(path) for path in (self._setting.data, self._setting.place)]
        project = os.path.realpath(self._setting.project)
        if re.fullmatch(r"/swarm/agents/[^/]+/tree(/.*)?", project.removeprefix(self._own_home)):
            own.append(project)  # a swarm worker's worktree
        if _lies_in(real, [self._own_home]) and not _lies_in(real, own):
            raise ExtensionError(f"permissions.{field}: {text} is inside zot's own directory")
        return real


def _both(path: str | os.PathLike[str]) -> list[str]:
    """The path as written, which the extension sees, and the real path last."""
    return list(dict.fromkeys((os.path.abspath(path), os.path.realpath(path))))


def _lies_in(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places)


def _kept(setting: JailContext) -> list[str]:
    place = os.path.realpath(setting.place)
    return [path for name in setting.kept if not os.path.islink(path := f"{place}/{name}") and os.path.exists(path)]


def _runners(program: str, path: str) -> list[str]:
    """Programs a script needs: its interpreter, nested ones, and those that ``env`` looks up."""
    found: list[str] = []
    waiting: list[str] = [program]
    for _ in range(_RUN_BY_RUN_BY):
        words = [word for script in waiting for word in interpreters(script)]
        waiting = [where for word in words if (where := _which(word, path)) and where not in found]
        found += waiting
    return found


def _which(name: str, path: str) -> str:
    if os.path.isabs(name):
        return name if os.path.isfile(name) else ""
    if "/" in name or name.startswith("-"):
        return ""
    places = (os.path.join(folder, name) for folder in path.split(os.pathsep) if os.path.isabs(folder))
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), "")


def immutable_paths(manifest: Manifest, place: Path, came_with: Iterable[str] | None) -> tuple[str, ...]:
    """Read-only parts of its own directory: installed files except data, and directories of only such files."""
    from zot.features.extensions.loader.data_dir import files_below, looks_like_data

    own = msgspec.structs.replace(manifest, directory=place)
    names = [str(path.relative_to(place)) for path in files_below(place)] if came_with is None else came_with
    return tuple(sorted({name.partition("/")[0] for name in names if not looks_like_data(place / name, own)}))
