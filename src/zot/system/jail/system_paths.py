"""System directories, toolchains and allowed programs that a jailed command needs.
Of the system's program directories only the named programs are visible; others come with their installation. A shell
is always included, because it sets the limits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from zot.system.safe_open import open_buffered

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# Parts of /etc for names, certificates, time and libraries; no secrets. The files are copied once per jail,
# because each mount costs more than a small file.
ETC_FILES = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "protocols", "services", "networks", "gai.conf"),
    *("localtime", "timezone", "ld.so.cache", "ld.so.conf", "ca-certificates.conf", "mime.types", "magic"),
    *("magic.mime", "inputrc", "bash.bashrc", "profile", "locale.conf", "debian_version"),
    *("os-release", "lsb-release", "login.defs", "resolv.conf", "ssl/openssl.cnf", "pki/tls/openssl.cnf"),
)
# Certificates, but not the files beside them: root could read the machine's private keys there.
ETC_DIRECTORIES = ("ssl/certs", "pki/tls/certs", "pki/ca-trust", "alternatives", "fonts")


def etc_directories() -> list[str]:
    return [path for name in ETC_DIRECTORIES if os.path.isdir(path := f"/etc/{name}")]


def etc_files() -> list[str]:
    return [path for name in ETC_FILES if os.path.isfile(path := f"/etc/{name}")]


# Hidden directories of a home that are an installation as a whole; others (.docker, .fly, .pulumi) have a ``bin``
# beside the user's tokens.
_INSTALLATIONS = frozenset(
    (
        *(".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".asdf", ".nvm", ".volta", ".fnm", ".bun", ".deno"),
        *(".sdkman", ".gvm", ".ghcup", ".opam", ".juliaup", ".rye", ".pixi", ".nix-profile", ".rustup", ".mise"),
        *(".dotnet", ".pub-cache", ".foundry", ".elan", ".swiftly", ".linuxbrew", ".cache", ".virtualenvs", ".venv"),
    )
)
_PARTS = ("lib", "lib64", "libexec", "share", "include", "versions")  # names beside such a ``bin``


def toolchains(path: str, home: str) -> list[str]:
    """Directories on ``PATH`` outside the system, with their installations; none that contains the whole home."""
    found: dict[str, None] = {}
    for entry in path.split(os.pathsep):
        if os.path.isabs(entry) and os.path.isdir(entry):
            for directory in (os.path.abspath(entry), os.path.realpath(entry)):
                if not beneath_any(directory, SYSTEM) and not beneath_any(home, (directory.rstrip("/"),)):
                    found.update(dict.fromkeys(installation(directory, home)))
    return sorted(found)


def installation(directory: str, home: str) -> Iterator[str]:
    """A ``bin`` and its siblings, unless that is a home; ``shims`` lead to all versions."""
    yield directory
    prefix, name = os.path.split(directory)
    if name not in ("bin", "shims", "sbin") or prefix in ("/", home) or home.startswith(prefix + "/"):
        return
    if prefix == os.path.join(home, ".local"):
        yield from (path for part in ("lib", "share/pipx", "pipx") if os.path.isdir(path := f"{prefix}/{part}"))
    elif os.path.basename(prefix) == ".cargo":  # it has the registry's token beside its programs
        yield from (path for path in (f"{home}/.rustup", f"{prefix}/registry") if os.path.isdir(path))
    elif _is_hidden(prefix, home):
        yield from (path for part in _PARTS if os.path.isdir(path := f"{prefix}/{part}"))
    else:
        yield prefix


def _is_hidden(prefix: str, home: str) -> bool:
    """True in a hidden directory of the home that is not a known installation."""
    top = os.path.relpath(prefix, home).split("/")[0] if beneath_any(prefix, (home,)) else ""
    return top.startswith(".") and top not in _INSTALLATIONS


def outermost(directories: Iterable[str]) -> list[str]:
    found: list[str] = []
    for path in sorted(set(directories)):
        if not beneath_any(path, tuple(found)):
            found.append(path)
    return found


def beneath_any(path: str, directories: tuple[str, ...]) -> bool:
    return any(path == directory or path.startswith(f"{directory}/") for directory in directories)


_FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/games", "/usr/local/bin", "/usr/local/sbin", "/usr/local/games")
_SHELL = "/bin/sh"
_MOST_LINKS = 40
_OF_INSTALLATIONS = ("lib", "lib64", "libexec", "pyvenv.cfg")


class AllowedPrograms(msgspec.Struct, frozen=True):
    """``files``, and ``links`` with their targets, are in the system's program directories, ``places`` are not."""

    files: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    places: tuple[str, ...]


def program_folders() -> list[str]:
    """Existing paths that are not links to each other."""
    return [path for path in (*_FOLDERS, "/bin", "/sbin") if os.path.isdir(path) and not os.path.islink(path)]


def system_without_programs() -> list[str]:
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
    """The file, and its installation if it is in a ``bin`` directory that looks like one, to keep secrets invisible."""
    folder = os.path.dirname(program)
    if os.path.basename(folder) not in ("bin", "sbin", "shims"):
        yield program
        return
    for path in installation(folder, home):
        if path == folder or any(os.path.exists(f"{path}/{name}") for name in _OF_INSTALLATIONS):
            yield path


def interpreters(program: str) -> list[str]:
    """The words of a script's first line; empty for a binary."""
    try:
        with open_buffered(program) as file:
            first = file.readline(4096)
    except OSError:
        return []
    words = first[2:].decode("utf-8", "surrogateescape").split() if first.startswith(b"#!") else []
    return words if words and os.path.isabs(words[0]) else []


def _hops(program: str) -> Iterator[str]:
    """A path and its targets, link by link: as written and with the real name of its directory."""
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
