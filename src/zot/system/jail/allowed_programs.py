"""Some programs and no others: what has to be there for those a policy names, and what of the system is left without.

The system keeps its programs in a few directories; of these only the named ones are there. A program elsewhere comes
with the installation it belongs to. A shell is always there, because it sets the limits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from zot.system.jail.system_paths import SYSTEM, beneath_any, installation
from zot.system.safe_open import reading

_FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/games", "/usr/local/bin", "/usr/local/sbin", "/usr/local/games")
_SHELL = "/bin/sh"
_MOST_LINKS = 40
_OF_INSTALLATIONS = ("lib", "lib64", "libexec", "pyvenv.cfg")


class AllowedPrograms(msgspec.Struct, frozen=True):
    """``files``, and ``links`` with what they lead to, lie in the system's folders of programs, ``places`` do not."""

    files: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    places: tuple[str, ...]


def program_folders() -> list[str]:
    """Those that are there and no links to each other."""
    return [path for path in (*_FOLDERS, "/bin", "/sbin") if os.path.isdir(path) and not os.path.islink(path)]


def system_without_programs() -> list[str]:
    """What else the system consists of."""
    folders, found = set(program_folders()), list[str]()
    waiting = [path for path in SYSTEM if os.path.isdir(path) and os.path.realpath(path) not in folders]
    while waiting:
        path = waiting.pop()
        if path in folders:
            continue
        if any(folder.startswith(f"{path}/") for folder in folders):
            waiting += [entry.path for entry in os.scandir(path) if not entry.is_symlink()]
        else:
            found.append(path)
    return sorted(found)


def chosen_programs(programs: Iterable[str], home: str) -> AllowedPrograms:
    files: dict[str, None] = {}
    links: dict[str, str] = {}
    places: dict[str, None] = {}
    folders = tuple(program_folders())
    for hop in (hop for program in (_SHELL, *programs) for hop in _hops(program)):
        if not beneath_any(hop, folders):
            if not beneath_any(hop, SYSTEM):
                places.update(dict.fromkeys(_with_its_installation(hop, home)))
        elif os.path.islink(hop):
            links[hop] = os.readlink(hop)
        else:
            files[hop] = None
    return AllowedPrograms(tuple(files), tuple(links.items()), tuple(filter(os.path.exists, places)))


def _with_its_installation(program: str, home: str) -> Iterator[str]:
    """The file alone, unless it lies in a ``bin``; what stands beside that only when it looks like an installation:
    a program named in a directory of secrets must not show them."""
    folder = os.path.dirname(program)
    if os.path.basename(folder) not in ("bin", "sbin", "shims"):
        yield program
        return
    for path in installation(folder, home):
        if path == folder or any(os.path.exists(f"{path}/{name}") for name in _OF_INSTALLATIONS):
            yield path


def interpreters(program: str) -> list[str]:
    """The words of a script's first line: what runs it. Empty for a binary."""
    try:
        with reading(program) as file:
            first = file.readline(4096)
    except OSError:
        return []
    words = first[2:].decode("utf-8", "surrogateescape").split() if first.startswith(b"#!") else []
    return words if words and os.path.isabs(words[0]) else []


def _hops(program: str) -> Iterator[str]:
    """A path, and what it leads to, link by link: as it is written and with its directory's own name."""
    for _ in range(_MOST_LINKS):
        folder = os.path.dirname(program)
        if (real := os.path.realpath(folder)) != folder:
            if not beneath_any(folder, SYSTEM):
                yield program
            program = os.path.join(real, os.path.basename(program))
        yield program
        if not os.path.islink(program):
            return
        program = os.path.normpath(os.path.join(real, os.readlink(program)))
