"""What a jailed command may access, as data for ``bubblewrap`` and ``landlock``.
A policy lists allowed paths; protected names are exceptions inside writable roots: files that another program would
run later."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import msgspec

from zot.errors import ConfigError
from zot.system.auto_run_files import TOP_LEVEL
from zot.system.secret_variables import matches_any

PROTECTED = TOP_LEVEL  # below each writable root, read-only even when they are not there yet
GIT_PROTECTED = ("hooks", "config", "config.worktree")  # below a .git directory

# Variables that a jailed command keeps; all others are removed.
ENVIRONMENT = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR"),
        *("LANG", "LANGUAGE", "TZ", "COLUMNS", "LINES", "CI", "EDITOR", "PAGER", "MANPATH", "TMPDIR"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"),
        *("NODE_PATH", "NODE_ENV", "GOPATH", "GOROOT", "GOFLAGS", "GOPROXY", "GOCACHE", "CARGO_HOME", "RUSTUP_HOME"),
        *("JAVA_HOME", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH"),
        *("SOURCE_DATE_EPOCH", "PYENV_ROOT", "NVM_DIR", "ASDF_DIR", "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY"),
        *("no_proxy", "http_proxy", "https_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
        *("AI_AGENT", "ZOT_AGENT", "ZOT_CHILD_SESSION", "ZOT_SESSION_ID", "ZOT_PROVIDER", "ZOT_MODEL"),
        *("TRACEPARENT", "TRACESTATE"),
    }
)
_PREFIXES = ("LC_",)
_PROXIES, _PASSWORD = ("http_proxy", "https_proxy", "goproxy"), "@"


class JailLimits(msgspec.Struct, frozen=True):
    """Limits of all processes of one command; 0 means none."""

    processes: int = 2_048
    memory: int = 0  # bytes of data of each process; 0: three quarters of the machine's


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """``root`` is the project, the first writable root; all paths are absolute and real.
    ``plain``: writable roots without protected names. ``kept``: read-only in writable roots (full level).
    ``programs``: allowed ones, None for all. ``read_files``, ``write_files``: single files."""

    root: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    read_files: tuple[str, ...] = ()
    write_files: tuple[str, ...] = ()
    protected: tuple[str, ...] = PROTECTED
    plain: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    programs: tuple[str, ...] | None = None
    network: bool = False
    limits: JailLimits = JailLimits()

    @property
    def writable(self) -> tuple[str, ...]:
        return (self.root, *self.write)

    @property
    def readable(self) -> tuple[str, ...]:
        return (*self.writable, *self.read)

    @property
    def protected_roots(self) -> tuple[str, ...]:
        return tuple(path for path in self.writable if path not in self.plain)


class AccessRequest(msgspec.Struct, frozen=True):
    """``path`` is real and exactly what is allowed. ``missing``: it is created. ``network`` allows all hosts."""

    access: Literal["read", "write", "network"]
    path: str = ""
    kind: Literal["file", "directory"] = "file"
    missing: bool = False
    host: str = ""

    def __str__(self) -> str:
        if self.access == "network":
            return f"the network{f', to reach {self.host}' if self.host else ''}"
        if self.access == "read":
            return f"to read the {self.kind} {self.path}"
        return f"to {'make' if self.missing else 'change'} the {self.kind} {self.path}"


Wish = AccessRequest


def policy_for(
    root: str | os.PathLike[str],
    *,
    read: Iterable[str | os.PathLike[str]] = (),
    write: Iterable[str | os.PathLike[str]] = (),
    network: bool = False,
    home: str = "",
) -> Policy:
    """The policy of a directory; ConfigError if it would allow too much."""
    home = os.path.realpath(home or os.path.expanduser("~"))
    real = _directory(root)
    if real == "/" or home == real or home.startswith(real.rstrip("/") + "/"):
        raise ConfigError(f"jail: {real} contains your home directory; start zot in a project directory")
    return Policy(
        root=real,
        read=tuple(_directory(path) for path in read),
        write=tuple(_kept_out(_directory(path), home) for path in write),
        network=network,
    )


def _directory(path: str | os.PathLike[str]) -> str:
    real = os.path.realpath(os.path.expanduser(path))
    if not os.path.isdir(real):
        raise ConfigError(f"jail: {os.fspath(path)} is not a directory")
    return real


def _kept_out(path: str, home: str) -> str:
    if path == "/" or home == path or home.startswith(path.rstrip("/") + "/"):
        raise ConfigError(f"jail: {path} contains your home directory and cannot be made writable")
    return path


def jailed_environment(environment: Mapping[str, str], passthrough: Collection[str] = ()) -> dict[str, str]:
    """The environment of a jailed child; ``passthrough`` are names and patterns to include. URLs with a password are
    excluded."""
    return {
        name: value
        for name, value in environment.items()
        if (
            (name in ENVIRONMENT or name.startswith(_PREFIXES))
            and not (name.lower() in _PROXIES and _PASSWORD in value)
        )
        or matches_any(name, passthrough)
    }
