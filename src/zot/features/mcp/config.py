"""Configured MCP servers: user file, project files, ``--mcp-config``; the nearest entry of a name wins. Reading
starts and expands nothing, so that the user sees what the file says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot.errors import ConfigError, NotThere
from zot.features.trust import CommandFiles
from zot.system import strict_json
from zot.system.files import decode_object, is_missing, read_bytes
from zot.system.json_store import JsonStore

USER_FILE = "mcp.json"
PROJECT_FILES = (".mcp.json", ".zot/mcp.json")  # the later one wins
KEYS = ("mcpServers", "servers")

Kind = Literal["stdio", "http"]
_KINDS: dict[str, Kind] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "http",
}


class ServerLogin(msgspec.Struct, frozen=True, kw_only=True):
    """OAuth settings of a server that its metadata does not provide."""

    client_id: str = ""
    client_secret: str = ""
    client_metadata_url: str = ""  # an https document that describes the client
    scopes: tuple[str, ...] = ()


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A server as configured, unexpanded. ``origin``: ``user``, ``project``, ``flag`` or ``plugin NAME``; ``root``:
    its directory; ``given``: variables of its origin; ``pinned``: the files it ran when its entry was read."""

    name: str
    kind: Kind = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    login: ServerLogin = ServerLogin()
    enabled: bool = True
    origin: str = "user"
    file: str = ""
    root: str = ""
    given: dict[str, str] = {}
    pinned: CommandFiles = CommandFiles()

    def shown(self, *, values: bool = True) -> str:
        """All its fields on one line; without ``values`` the variables and headers, maybe secret, are omitted."""
        if self.kind == "http":
            pairs = (f"[{name}: {value if values else '…'}]" for name, value in self.headers.items())
            return " ".join((self.url, *pairs, *self._login_shown(values)))
        from shlex import quote  # for display only

        variables = [f"{name}={quote(value) if values else '…'}" for name, value in self.env.items()]
        place = [f"(in {self.cwd})"] if self.cwd else []
        words = (*variables, quote(self.command), *map(quote, self.args), *place)
        return " ".join((*words, *self._login_shown(values)))

    def _login_shown(self, values: bool) -> list[str]:
        login = self.login
        fields = {
            "client_id": login.client_id,
            "client_secret": login.client_secret if values else "…" * bool(login.client_secret),
            "client_metadata_url": login.client_metadata_url,
            "scopes": " ".join(login.scopes),
        }
        words = [f"{name} {value}" for name, value in fields.items() if value]
        return [f"[oauth: {', '.join(words)}]"] if words else []

    def files(self) -> CommandFiles:
        """Files of its project or plugin that its process runs; the user's own servers may run any file."""
        if self.kind != "stdio" or self.origin in ("user", "flag"):
            return CommandFiles()
        import shlex  # only where a project has servers

        from zot.features.command_search import find_files

        root = Path(self.root or os.getcwd())
        cwd = Path(os.path.normpath(os.path.join(root, os.path.expanduser(self.cwd))))
        texts = (*self.args, *self.env.values())
        values = {name: value for name, value in self.given.items() if value != f"${{{name}}}"}
        return find_files(shlex.join((self.command, *self.args)), texts, root=root, cwd=cwd, values=values)

    def with_files(self) -> ServerConfig:
        return msgspec.structs.replace(self, pinned=self.files())

    def reviewed_content(self) -> bytes:
        """The content that trust covers: every field, and the files it runs."""
        return self.content() + msgspec.json.encode(sorted(self.pinned.files.items()))

    def content(self) -> bytes:
        """Every field with an effect."""
        parts = (self.kind, self.command, self.args, sorted(self.env.items()), self.cwd)
        return msgspec.json.encode((*parts, self.url, sorted(self.headers.items()), self.login))


def load(
    home: Path, cwd: Path, files: Sequence[str] = (), *, installed: bool = True, problems: list[str]
) -> list[ServerConfig]:
    """All entries, the nearest last. Unusable files are problems; NotThere for a missing ``--mcp-config``."""
    found: list[ServerConfig] = []
    if installed:
        places = [(home / USER_FILE, "user"), *((cwd / name, "project") for name in PROJECT_FILES)]
        for path, origin in places:
            try:
                found += read_entries(path, origin, cwd, problems)
            except ConfigError as error:
                problems.append(f"mcp: {error}")
        if not is_missing(home / "plugins.json"):
            from zot.features.plugins.components import enabled_components  # few have plugins

            found += [entry for parts in enabled_components(home, []) for entry in parts.servers]
    for typed in files:
        path = Path(os.path.abspath(os.path.expanduser(typed)))
        if not path.is_file():
            raise NotThere(f"--mcp-config {typed}: no such file")
        try:
            found += read_entries(path, "flag", cwd, problems)
        except ConfigError as error:
            raise NotThere(f"--mcp-config {error}") from error
    return found


def resolve_names(entries: Iterable[ServerConfig], problems: list[str]) -> dict[str, ServerConfig]:
    """The nearest entry of each name; overridden ones are reported."""
    chosen: dict[str, ServerConfig] = {}
    for entry in entries:
        before = chosen.get(entry.name)
        if before is not None and before.content() != entry.content():
            problems.append(f"mcp: {entry.name}: using the entry of {entry.file or entry.origin}, not of {before.file}")
        chosen[entry.name] = entry
    return chosen


def read_entries(path: Path, origin: str, cwd: Path, problems: list[str]) -> list[ServerConfig]:
    """The file's entries in order; ConfigError if it is invalid, a problem for each invalid entry."""
    data = read_bytes(path)
    if data is None:
        return []
    return entries_of(decode(path, data), str(path), origin, cwd, problems)


def decode(path: Path, data: bytes) -> dict[str, Any]:
    """The JSON object in the file; comments and trailing commas are allowed, duplicate keys are not."""
    try:
        value: Any = strict_json.loads(data)
    except ValueError:
        plain = without_comments(data)
        value = decode_object(path, plain)  # first, because its errors include line and column
        try:
            value = strict_json.loads(plain.removeprefix(b"\xef\xbb\xbf")) if plain.strip() else {}
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: expected one JSON object, {{…}}")
    return cast("dict[str, Any]", value)


def entries_of(
    value: dict[str, Any], file: str, origin: str, root: Path, problems: list[str], given: dict[str, str] | None = None
) -> list[ServerConfig]:
    listed: Any = next((value[key] for key in KEYS if key in value), cast("dict[str, Any]", {}))
    if not isinstance(listed, dict):
        raise ConfigError(f'{file}: "mcpServers": expected an object {{"NAME": {{"command": …}}}}')
    entries: list[ServerConfig] = []
    for name, fields in cast("dict[str, Any]", listed).items():
        try:
            entry = parse_server(name, fields)
            entry = msgspec.structs.replace(entry, origin=origin, file=file, root=str(root), given=given or {})
            if origin == "project":
                check_variables(entry)
                entry = entry.with_files()
            entries.append(entry)
        except ConfigError as error:
            problems.append(f"mcp: {file}: {error}")
    return entries


class _Fields(msgspec.Struct):
    type: str = ""
    command: str = ""
    args: tuple[str | int | float, ...] = ()
    env: dict[str, str | int | float | bool | None] = {}
    cwd: str = ""
    url: str = ""
    serverUrl: str = ""
    httpUrl: str = ""
    headers: dict[str, str] = {}
    disabled: bool = False
    enabled: bool = True
    oauth: dict[str, Any] = {}


def parse_server(name: str, fields: Any) -> ServerConfig:
    try:
        read = msgspec.convert(fields, _Fields)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{name}: {error}") from error
    url = read.url or read.serverUrl or read.httpUrl
    kind = _KINDS.get(read.type or ("stdio" if read.command or not url else "http"))
    if not name.strip():
        raise ConfigError("a server has an empty name")
    if kind is None:
        raise ConfigError(f'{name}: unknown type "{read.type}"; expected stdio or http')
    if kind == "stdio" and not read.command:
        raise ConfigError(f'{name}: expected "command" or "url"')
    if kind == "http" and not url.startswith(("http://", "https://", "${")):
        raise ConfigError(f'{name}: "url": expected https:// or http://')
    return ServerConfig(
        name=name,
        kind=kind,
        command=read.command,
        args=tuple(str(arg) for arg in read.args),
        env={
            key: str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in read.env.items()
            if value is not None
        },
        cwd=read.cwd,
        url=url,
        headers=read.headers,
        login=_login(read.oauth),
        enabled=read.enabled and not read.disabled,
    )


def _login(fields: dict[str, Any]) -> ServerLogin:
    def word(*names: str) -> str:
        return next((str(fields[name]) for name in names if fields.get(name)), "")

    scopes: Any = fields.get("scopes") or fields.get("scope") or ()
    return ServerLogin(
        client_id=word("client_id", "clientId", "CLIENT_ID"),
        client_secret=word("client_secret", "clientSecret", "CLIENT_SECRET"),
        client_metadata_url=word("client_metadata_url", "clientMetadataUrl"),
        scopes=tuple(str(scopes).split() if isinstance(scopes, str) else [str(scope) for scope in scopes]),
    )


def fields_of(entry: ServerConfig) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": entry.kind}
    if entry.kind == "stdio":
        fields |= {"command": entry.command, "args": list(entry.args)}
        fields |= {"env": entry.env} if entry.env else {}
        fields |= {"cwd": entry.cwd} if entry.cwd else {}
    else:
        fields |= {"url": entry.url}
        fields |= {"headers": entry.headers} if entry.headers else {}
    login = {key: value for key, value in msgspec.to_builtins(entry.login).items() if value}
    fields |= {"oauth": login} if login else {}
    if not entry.enabled:
        fields["enabled"] = False
    return fields


# --- variables


def check_variables(entry: ServerConfig) -> None:
    """ConfigError if the entry names a variable that looks like a secret, which only the user's own entries may."""
    from zot.system.secret_variables import looks_like_secret

    login = (entry.login.client_id, entry.login.client_secret)
    texts = (entry.command, *entry.args, *entry.env.values(), entry.cwd, entry.url, *entry.headers.values(), *login)
    for name in (name for text in texts for name in re.findall(r"\$\{(\w+)", text)):
        if looks_like_secret(name):
            raise ConfigError(
                f"{entry.name}: a project's entry cannot use ${{{name}}}, which looks like a secret; "
                f"move the entry to your own {USER_FILE}: `zot mcp add {entry.name} …`"
            )


def expand_variables(entry: ServerConfig, look_up: Callable[[str], str | None]) -> tuple[ServerConfig, list[str]]:
    """The entry with ``${VAR}`` and ``${VAR:-default}`` replaced, and the unset names, which stay as written."""
    missing: list[str] = []

    def value_of(name: str) -> str | None:
        return entry.given.get(name) if name in entry.given else look_up(name)

    def replaced(text: str) -> str:
        if "${" not in text:
            return text
        head, *rest = text.split("${")
        return head + "".join(_replaced(part, value_of, missing) for part in rest)

    return (
        msgspec.structs.replace(
            entry,
            command=replaced(entry.command),
            args=tuple(map(replaced, entry.args)),
            env={name: replaced(value) for name, value in entry.env.items()},
            cwd=replaced(entry.cwd),
            url=replaced(entry.url),
            headers={name: replaced(value) for name, value in entry.headers.items()},
            login=msgspec.structs.replace(
                entry.login,
                client_id=replaced(entry.login.client_id),
                client_secret=replaced(entry.login.client_secret),
            ),
        ),
        list(dict.fromkeys(missing)),
    )


def _replaced(part: str, value_of: Callable[[str], str | None], missing: list[str]) -> str:
    inside, closed, after = part.partition("}")
    name, has_default, default = inside.partition(":-")
    if not closed or not name.replace("_", "a").isalnum():
        return "${" + part
    value = value_of(name)
    if value is None or (has_default and not value):
        if not has_default:
            missing.append(name)
            return "${" + part
        value = default
    return value + after


# Commands change one server of a file; everything else in it stays.


def file_of(home: Path, cwd: Path, *, project: bool) -> Path:
    return cwd / PROJECT_FILES[0] if project else home / USER_FILE


def has(path: Path, name: str) -> bool:
    return name in _servers(_ServersFile(path).load())


def add_server(path: Path, name: str, fields: dict[str, Any]) -> None:
    with _edit(path) as servers:
        servers[name] = fields


def remove_server(path: Path, name: str) -> None:
    with _edit(path) as servers:
        servers.pop(name, None)


def as_json(entry: ServerConfig) -> dict[str, Any]:
    """An entry for programs, without the values of variables and headers, which may be secret."""
    fields = fields_of(entry)
    for key in ("env", "headers"):
        if key in fields:
            fields[key] = sorted(fields[key])
    fields.pop("oauth", None)
    return {"name": entry.name, "origin": entry.origin, "file": entry.file, **fields}


def _servers(value: dict[str, Any]) -> dict[str, Any]:
    key = next((key for key in KEYS if key in value), KEYS[0])
    servers: Any = value.setdefault(key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f'"{key}": expected an object')
    return cast("dict[str, Any]", servers)


@contextmanager
def _edit(path: Path) -> Generator[dict[str, Any]]:
    with _ServersFile(path).edit() as value:
        yield _servers(value)


class _ServersFile(JsonStore[dict[str, Any]]):
    """The user's file is private; a project's file is readable by all."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, dict[str, Any])
        self.mode = 0o600 if path.name == USER_FILE else 0o644

    def load_to_edit(self) -> dict[str, Any]:
        data = read_bytes(self.path)
        if data is not None and data.strip():
            try:
                strict_json.loads(data)
            except ValueError:
                decode(self.path, data)  # reports other errors than comments
                raise ConfigError(
                    f"{self.path}: cannot change a file with comments, which would be lost; edit it by hand"
                ) from None
        return self.load()

    def decode(self, data: bytes) -> dict[str, Any]:
        return decode(self.path, data) if data.strip() else {}


# JSON with comments and trailing commas: they become spaces, so that error positions stay right.


def without_comments(data: bytes) -> bytes:
    """Replaces ``//`` and ``/* */`` comments and trailing commas with spaces."""
    out = bytearray(data)
    comma = -1  # the last one followed only by spaces
    at, end = 0, len(data)
    while at < end:
        byte = data[at]
        if byte == 0x22:
            at = _after_string(data, at)
            comma = -1
            continue
        if byte == 0x2F and data[at + 1 : at + 2] in (b"/", b"*"):
            to_line_end = data[at + 1] == 0x2F
            stop = data.find(b"\n", at) if to_line_end else data.find(b"*/", at + 2)
            stop = len(data) if stop < 0 else stop if to_line_end else stop + 2
            for place in range(at, stop):
                if data[place] not in b"\r\n":
                    out[place] = 0x20
            at = stop
            continue
        if byte == 0x2C:
            comma = at
        elif byte in b"]}" and comma >= 0:
            out[comma] = 0x20
            comma = -1
        elif byte not in b" \t\r\n":
            comma = -1
        at += 1
    return bytes(out)


def _after_string(data: bytes, at: int) -> int:
    at += 1
    while at < len(data):
        if data[at] == 0x5C:
            at += 2
        elif data[at] == 0x22:
            return at + 1
        else:
            at += 1
    return len(data)
