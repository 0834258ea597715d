"""Finds API keys and logins of other programs of this user: Codex, pi, opencode, llm, aider, environment files.
Only files of this user are read. Logins are found but never copied: their refresh tokens change at each use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from zot.errors import ConfigError, describe_error
from zot.provider.providers import Provider, canonical_id
from zot.system.files import decode_object
from zot.system.safe_open import open_regular

SOURCES = ("codex", "pi", "opencode", "llm", "aider", "env")

_LIMIT = 1 << 20
_OTHERS_MAY_WRITE = 0o022
_SHORTEST = 8  # characters of a key
_NAMES = {"gemini": "google", "claude": "anthropic", "moonshotai": "kimi", "grok": "xai", "chatgpt": "openai"}
_SHELL_FILES = (".env", ".profile", ".bash_profile", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".gemini/.env")
_ASSIGNMENT = re.compile(r"^\s*(?:export\s+|set\s+-gx\s+)?([A-Z][A-Z0-9_]{2,60})(?:=|\s+)(.*)$")
_YAML = re.compile(r"^([a-z][a-z-]{2,40}):\s*(.*)$")


class FoundCredential(NamedTuple):
    """``key`` is empty for a login, and for a key that cannot be copied; ``problem`` says why."""

    source: str
    name: str
    provider: str
    file: Path
    key: str
    problem: str = ""
    of_project: bool = False  # a repository may have brought it, so that it is copied only by name

    @property
    def id(self) -> str:
        """What the user types to choose it."""
        return f"{self.source}/{self.name}"

    @property
    def is_login(self) -> bool:
        return self.problem.startswith(_LOGIN)

    @property
    def tail(self) -> str:
        """The last characters of a key that is long enough to show them."""
        return f"…{self.key[-4:]}" if len(self.key) >= 2 * _SHORTEST else "…" if self.key else ""

    def __repr__(self) -> str:
        """Omits the key, since tracebacks show this."""
        return f"FoundCredential({self.id!r}, {self.provider!r})"


_LOGIN = "login, not copied"


def find_credentials(
    home: Path, cwd: Path, environ: Mapping[str, str], providers: Mapping[str, Provider], problems: list[str]
) -> list[FoundCredential]:
    """Everything found, by source; unreadable files add one line to ``problems``."""
    found: list[FoundCredential] = []
    for source, path, within in _files(home, cwd, environ):
        try:
            data = _read(path, within)
            rows = () if data is None else _READERS[source](path, data)
            for name, key, problem in rows:
                if row := _credential(source, name, path, key, problem, providers):
                    found.append(row._replace(of_project=within == cwd != home))
        except ConfigError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{path}: {describe_error(error)}; skipped")
    return list({row.id: row for row in reversed(found)}.values())[::-1]


def _files(home: Path, cwd: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, Path, Path]]:
    """Source, file, and the directory that its links must not leave."""
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    yield "codex", codex / "auth.json", codex if environ.get("CODEX_HOME") else home
    pi = Path(environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
    yield "pi", pi / "auth.json", pi if environ.get("PI_CODING_AGENT_DIR") else home
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield "opencode", data / "opencode" / "auth.json", data if environ.get("XDG_DATA_HOME") else home
    if own := environ.get("LLM_USER_PATH"):
        yield "llm", Path(own) / "keys.json", Path(own)
    for place in (home / ".config", home / "Library" / "Application Support"):
        yield "llm", place / "io.datasette.llm" / "keys.json", home
    for place in dict.fromkeys((home, cwd)):
        yield "aider", place / ".aider.conf.yml", place
    yield "aider", home / ".aider" / "oauth-keys.env", home
    for name in _SHELL_FILES:
        yield "env", home / name, home
    for path in sorted((home / ".config" / "environment.d").glob("*.conf")):
        yield "env", path, home
    if cwd != home:
        yield "env", cwd / ".env", cwd


def _read(path: Path, within: Path) -> bytes | None:
    """The file if it is this user's and no other user may change it; None if there is none."""
    try:
        fd = open_regular(path, within)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(fd, "rb") as file:
        facts = os.fstat(fd)
        if facts.st_uid != os.geteuid():
            raise ConfigError(f"{path}: belongs to another user; skipped")
        if facts.st_mode & _OTHERS_MAY_WRITE:
            raise ConfigError(f"{path}: other users may change it (mode {facts.st_mode & 0o777:03o}); skipped")
        data = file.read(_LIMIT + 1)
    if len(data) > _LIMIT:
        raise ConfigError(f"{path}: larger than 1 MiB; skipped")
    return data


def _credential(
    source: str, name: str, path: Path, key: str, problem: str, providers: Mapping[str, Provider]
) -> FoundCredential | None:
    """None for a variable or name that is no provider's, except a login."""
    provider = _provider(name, providers)
    key = key.strip()
    if not provider:
        if source == "env":
            return None
        problem = problem or f"unknown provider; add {name} to models.json first"
    if not problem and (len(key) < _SHORTEST or not (key.isascii() and key.isprintable() and " " not in key)):
        if not key or source == "env":
            return None
        problem = "not a key; skipped"
    shown = "".join(c for c in name if c.isprintable())[:60]
    return FoundCredential(source, shown, provider, path, "" if problem else key, problem)


def _provider(name: str, providers: Mapping[str, Provider]) -> str:
    """The provider of a name or of a key variable; empty if unknown."""
    if name.isupper():
        return next((row.id for row in providers.values() if name in row.env and not row.rows_of), "")
    found = canonical_id(_NAMES.get(name.lower(), name.lower()), providers)
    row = providers.get(found)
    return row.id if row is not None and row.needs_key else ""


# One reader per program: name, key, problem.

_Rows = Iterator[tuple[str, str, str]]


def _login(program: str) -> str:
    return f"{_LOGIN}: its refresh token changes at each use, and a copy would log {program} out"


def _codex(path: Path, data: bytes) -> _Rows:
    content = _object(path, data)
    if isinstance(key := content.get("OPENAI_API_KEY"), str) and key:
        yield "openai", key, ""
    tokens: Any = content.get("tokens")
    if isinstance(tokens, dict) and cast("dict[str, Any]", tokens).get("access_token"):
        yield "chatgpt", "", _login("Codex")


def _typed(program: str, kinds: tuple[str, ...], path: Path, data: bytes) -> _Rows:
    """``{"anthropic": {"type": "api_key", "key": "…"}}``"""
    for name, value in _object(path, data).items():
        if not isinstance(value, dict):
            yield name, "", "not an entry; skipped"
            continue
        entry = cast("dict[str, Any]", value)
        key = entry.get("key")
        if entry.get("type") in kinds and isinstance(key, str):
            elsewhere = key.startswith(("!", "$"))
            yield name, key, f"{program} gets this key from a program or a variable" if elsewhere else ""
        elif entry.get("type") == "oauth":
            yield name, "", _login(program)


def _pi(path: Path, data: bytes) -> _Rows:
    return _typed("pi", ("api_key",), path, data)


def _opencode(path: Path, data: bytes) -> _Rows:
    return _typed("opencode", ("api",), path, data)


def _llm(path: Path, data: bytes) -> _Rows:
    for name, key in _object(path, data).items():
        if isinstance(key, str) and not name.startswith("//"):
            yield name, key, ""


def _aider(path: Path, data: bytes) -> _Rows:
    if path.suffix == ".env":
        yield from _env(path, data)
        return
    in_list = False
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.split(" #")[0].strip()
        found = _YAML.match(line)
        if found:
            name, value = found[1], _unquoted(found[2].split(" #")[0])
            in_list = name == "api-key"
            if in_list and value:
                yield from _pairs(value)
            elif name.endswith("-api-key") and value:
                yield name.removesuffix("-api-key"), value, ""
        elif in_list and text.startswith("- "):
            yield from _pairs(_unquoted(text[2:]))


def _pairs(text: str) -> _Rows:
    for piece in text.strip("[]").split(","):
        name, equals, key = _unquoted(piece).partition("=")
        if equals:
            yield name.strip(), key.strip(), ""


def _env(path: Path, data: bytes) -> _Rows:
    for line in data.decode("utf-8", "replace").splitlines():
        found = _ASSIGNMENT.match(line)
        if found and not any(mark in (value := _unquoted(found[2])) for mark in ("$", "`", "(", "\\")):
            yield found[1], value, ""


_READERS = {"codex": _codex, "pi": _pi, "opencode": _opencode, "llm": _llm, "aider": _aider, "env": _env}


def _unquoted(text: str) -> str:
    text = text.strip()
    if text[:1] in ("'", '"') and (end := text.find(text[0], 1)) > 0:
        return text[1:end]
    return text.partition(" #")[0].partition(";")[0].strip()


def _object(path: Path, data: bytes) -> dict[str, Any]:
    return decode_object(path, data)
