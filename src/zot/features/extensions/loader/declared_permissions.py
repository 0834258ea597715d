"""Parses and describes the ``permissions`` of a manifest.
An extension with declared permissions gets only these; without, it has all rights of the user, unless it belongs to a
project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from zot.errors import ExtensionError, closest_match

PROJECT, DATA = "$PROJECT", "$DATA"
KEYS = ("fs", "net", "exec", "env", "intercept")
_OF_FS = ("read", "write")
_MOST, _LONGEST = 100, 4096
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Permissions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Paths as written. ``exec`` and ``intercept``: True for all, or a list."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    net: bool = False
    exec: bool | tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    intercept: bool | tuple[str, ...] = ()

    def may_intercept(self, event: str) -> bool:
        return self.intercept is True or (isinstance(self.intercept, tuple) and event in self.intercept)

    @property
    def intercepts(self) -> bool:
        return bool(self.intercept)


# For a project's extension without declared permissions.
OF_PROJECTS = Permissions(read=(PROJECT,), write=(".",), exec=True, intercept=True)


def read_permissions(value: Any) -> tuple[Permissions, tuple[str, ...]]:
    """The permissions and misspelt keys; ExtensionError for an invalid field."""
    fields = _object("permissions", value)
    fs = _object("permissions.fs", fields.get("fs"))
    slips = [*_slips("permissions", fields, (*KEYS, *(f"fs.{name}" for name in _OF_FS))), *_slips("fs", fs, _OF_FS)]
    paths = {
        name: [*_texts(f"fs.{name}", fs.get(name)), *_texts(f"fs.{name}", fields.get(f"fs.{name}"))] for name in _OF_FS
    }
    for name in _OF_FS:
        for path in paths[name]:
            _check_path(f"fs.{name}", path)
    return Permissions(
        read=tuple(paths["read"]),
        write=tuple(paths["write"]),
        net=_truth("net", fields.get("net")),
        exec=_all_or("exec", fields.get("exec"), _check_program),
        env=tuple(_checked("env", _texts("env", fields.get("env")), _check_variable)),
        intercept=_all_or("intercept", fields.get("intercept"), _check_event),
    ), tuple(slips)


# --- descriptions


def describe_permissions(permissions: Permissions | None) -> list[str]:
    if permissions is None:
        return ["unconfined: it runs with all your rights"]
    read = [_place(path) for path in permissions.read]
    write = [_place(path) for path in permissions.write]
    lines = [
        f"reads {_listed(['its own directory', *(place for place in read if place != 'its own directory')])}",
        f"changes {_listed(['its data directory', *(place for place in write if place != 'its data directory')])}",
        "connects to the network" if permissions.net else "has no network",
        _programs(permissions.exec),
    ]
    if permissions.env:
        lines.append(f"gets the variables {_listed(permissions.env)}")
    if permissions.intercept:
        what = "all events" if permissions.intercept is True else _listed(permissions.intercept)
        lines.append(f"may deny and rewrite: {what}")
    return lines


def added_permissions(old: Permissions | None, new: Permissions | None) -> list[str]:
    """Descriptions of what ``new`` allows and ``old`` does not; empty if not more. None is all rights."""
    if old is None:
        return []
    if new is None:
        return describe_permissions(None)
    readable = (*old.read, *old.write)
    found = [f"reads {_place(path)}" for path in new.read if not _is_below(path, (*readable, ".", DATA))]
    found += [f"changes {_place(path)}" for path in new.write if not _is_below(path, (*old.write, DATA))]
    if new.net and not old.net:
        found.append("connects to the network")
    if more := _more(old.exec, new.exec):
        found.append(_programs(more))
    if names := [name for name in new.env if name not in old.env]:
        found.append(f"gets the variables {_listed(names)}")
    if more := _more(old.intercept, new.intercept):
        found.append("may deny and rewrite: " + ("all events" if more is True else _listed(more)))
    return found


def _more(old: bool | tuple[str, ...], new: bool | tuple[str, ...]) -> bool | tuple[str, ...]:
    if old is True or not new:
        return ()
    return new if isinstance(new, bool) else tuple(name for name in new if name not in (old or ()))


def _is_below(path: str, places: Iterable[str]) -> bool:
    path = os.path.normpath(path)
    for place in map(os.path.normpath, places):
        inside = path == place or path.startswith(f"{place}/")
        if inside or (place == "." and not path.startswith(("/", "$", "~"))):
            return True
    return False


def _place(path: str) -> str:
    own = {".": "its own directory", PROJECT: "the project", DATA: "its data directory", "~": "your home"}
    path = os.path.normpath(path)
    if path in own:
        return own[path]
    start, _, rest = path.partition("/")
    if start in (PROJECT, DATA):
        return f"{rest} in {own[start]}"
    return path if path.startswith(("/", "~")) else f"{path} in its own directory"


def _programs(allowed: bool | Sequence[str]) -> str:
    if allowed is True:
        return "runs any program"
    return f"runs {_listed(allowed)}" if allowed else "runs no other program"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


# --- parsing


def _object(name: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Wrong(name, "must be an object")
    return cast("dict[str, Any]", value)


def _texts(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _Wrong(f"permissions.{name}", "must be a list of strings")
    items = cast("list[Any]", value)
    if len(items) > _MOST:
        raise _Wrong(f"permissions.{name}", f"has more than {_MOST} entries")
    for item in items:
        if not isinstance(item, str) or not item or len(item) > _LONGEST or not item.isprintable():
            raise _Wrong(f"permissions.{name}", f"has an invalid entry: {str(item)[:60]!r}")
    return items


def _truth(name: str, value: Any) -> bool:
    if value is not None and not isinstance(value, bool):
        raise _Wrong(f"permissions.{name}", "must be true or false")
    return bool(value)


def _all_or(name: str, value: Any, check: Any) -> bool | tuple[str, ...]:
    if isinstance(value, bool):
        return value or ()
    if value is not None and not isinstance(value, list):
        raise _Wrong(f"permissions.{name}", "must be true, false or a list of strings")
    return tuple(_checked(name, _texts(name, value), check))


def _checked(name: str, items: list[str], check: Any) -> list[str]:
    for item in items:
        if wrong := check(item):
            raise _Wrong(f"permissions.{name}", f"{item!r}: {wrong}")
    return items


def _check_path(name: str, path: str) -> None:
    start = path.partition("/")[0]
    wrong = ""
    if ".." in path.split("/"):
        wrong = "must not contain .."
    elif start.startswith("$") and start not in (PROJECT, DATA):
        wrong = f"only {PROJECT} and {DATA} are expanded; write ~ for your home"
    elif start.startswith("~") and start != "~":
        wrong = "only ~ alone is a home"
    elif not path.strip("/"):
        wrong = "cannot be the whole file system; name directories"
    elif name == "fs.write" and start == PROJECT and (inside := os.path.normpath(path).split("/")[1:]):
        from zot.system.auto_run_files import auto_executed_part

        wrong = "files that other programs run are never writable" if auto_executed_part(inside) else ""
    if wrong:
        raise _Wrong(f"permissions.{name}", f"{path!r}: {wrong}")


def _check_program(name: str) -> str:
    if os.path.isabs(name) or ("/" not in name and name not in (".", "..")):
        return ""
    return "expected a name on PATH or an absolute path; programs in its own directory need no permission"


def _check_variable(name: str) -> str:
    return "" if _VARIABLE.fullmatch(name) else "must be a variable name"


def _check_event(name: str) -> str:
    from zot.wire.extension_frames import EDITION2_INTERCEPTS, INTERCEPTS

    known = (*INTERCEPTS, *(name for name in EDITION2_INTERCEPTS if name not in INTERCEPTS))
    return "" if name in known else f"cannot be intercepted; expected {', '.join(known)}"


def _slips(where: str, fields: dict[str, Any], known: Sequence[str]) -> list[str]:
    closest = {str(key): closest_match(str(key).lower(), known) for key in fields if key not in known}
    return [f'"{key}" is not a key of {where}; did you mean "{near}"?' for key, near in closest.items() if near]


class _Wrong(ExtensionError):
    def __init__(self, field: str, what: str) -> None:
        super().__init__(f'extension.json: "{field}" {what}')
