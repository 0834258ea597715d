"""What a command needs of the machine to run at all: the system's own directories and the toolchains on ``PATH``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# Of /etc, what programs look names, certificates, time and libraries up in; nothing that holds a secret. The files
# are copied once for a jail, because each mount costs more than a small file.
ETC_FILES = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "protocols", "services", "networks", "gai.conf"),
    *("localtime", "timezone", "ld.so.cache", "ld.so.conf", "ca-certificates.conf", "mime.types", "magic"),
    *("magic.mime", "inputrc", "bash.bashrc", "profile", "locale.conf", "debian_version"),
    *("os-release", "lsb-release", "login.defs", "resolv.conf", "ssl/openssl.cnf", "pki/tls/openssl.cnf"),
)
# Certificates and not what stands beside them: root would find the machine's private keys there.
ETC_DIRECTORIES = ("ssl/certs", "pki/tls/certs", "pki/ca-trust", "alternatives", "fonts")


def etc_directories() -> list[str]:
    return [path for name in ETC_DIRECTORIES if os.path.isdir(path := f"/etc/{name}")]


def etc_files() -> list[str]:
    return [path for name in ETC_FILES if os.path.isfile(path := f"/etc/{name}")]


# Hidden directories of a home that are an installation as a whole; others (.docker, .fly, .pulumi) have a ``bin``
# beside the tokens of whoever it belongs to.
_INSTALLATIONS = frozenset(
    (
        *(".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".asdf", ".nvm", ".volta", ".fnm", ".bun", ".deno"),
        *(".sdkman", ".gvm", ".ghcup", ".opam", ".juliaup", ".rye", ".pixi", ".nix-profile", ".rustup", ".mise"),
        *(".dotnet", ".pub-cache", ".foundry", ".elan", ".swiftly", ".linuxbrew", ".cache", ".virtualenvs", ".venv"),
    )
)
_PARTS = ("lib", "lib64", "libexec", "share", "include", "versions")  # of what stands beside such a ``bin``


def toolchains(path: str, home: str) -> list[str]:
    """The directories on ``PATH`` outside the system's own, each with the installation it belongs to. One that holds
    the whole home is none, whatever ``PATH`` says."""
    found: dict[str, None] = {}
    for entry in path.split(os.pathsep):
        if os.path.isabs(entry) and os.path.isdir(entry):
            for directory in (os.path.abspath(entry), os.path.realpath(entry)):
                if not beneath_any(directory, SYSTEM) and not beneath_any(home, (directory.rstrip("/"),)):
                    found.update(dict.fromkeys(installation(directory, home)))
    return sorted(found)


def installation(directory: str, home: str) -> Iterator[str]:
    """A ``bin`` and what stands beside it, unless that is somebody's home; ``shims`` lead to all versions."""
    yield directory
    prefix, name = os.path.split(directory)
    if name not in ("bin", "shims", "sbin") or prefix in ("/", home) or home.startswith(prefix + "/"):
        return
    if prefix == os.path.join(home, ".local"):
        yield from (path for part in ("lib", "share/pipx", "pipx") if os.path.isdir(path := f"{prefix}/{part}"))
    elif os.path.basename(prefix) == ".cargo":  # it holds the registry's token beside its programs
        yield from (path for path in (f"{home}/.rustup", f"{prefix}/registry") if os.path.isdir(path))
    elif _is_hidden(prefix, home):
        yield from (path for part in _PARTS if os.path.isdir(path := f"{prefix}/{part}"))
    else:
        yield prefix


def _is_hidden(prefix: str, home: str) -> bool:
    """In a hidden directory of the home that is not known to be an installation."""
    top = os.path.relpath(prefix, home).split("/")[0] if beneath_any(prefix, (home,)) else ""
    return top.startswith(".") and top not in _INSTALLATIONS


def outermost(directories: Iterable[str]) -> list[str]:
    """Those that none of the others holds."""
    found: list[str] = []
    for path in sorted(set(directories)):
        if not beneath_any(path, tuple(found)):
            found.append(path)
    return found


def beneath_any(path: str, directories: tuple[str, ...]) -> bool:
    return any(path == directory or path.startswith(f"{directory}/") for directory in directories)
