"""Reads ``extension.json``. A mistake affects only its extension; unknown fields are ignored, near misses reported."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import ConfigError, ExtensionError, closest_match
from zot.provider.providers import host_of, is_loopback
from zot.system import strict_json
from zot.system.files import decode_object
from zot.system.safe_open import TooLarge, read_whole

if TYPE_CHECKING:
    from zot.features.extensions.loader.declared_permissions import Permissions
    from zot.features.extensions.loader.extension_settings import Declared

FILE = "extension.json"
MAX_BYTES = 1024 * 1024
THEME_FILES = ("theme.json", "themes/theme.json")

PROVIDER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_GUARD = re.compile(rb'"guard"\s*:\s*+(?!(?:false|null)\b)')


class _ManifestFields(msgspec.Struct, frozen=True):
    """The file as written: null is the same as absent."""

    name: str | None = None
    exec: str | None = None
    args: list[str] | None = None
    version: str | None = None
    language: str | None = None
    description: str | None = None
    skills: list[str] | None = None
    enabled: bool | None = None
    guard: bool | None = None
    permissions: Any = None
    uses: list[str] | None = None
    settings: Any = None
    flags: Any = None
    provides: Any = None
    url: str | None = None
    token: str | None = None


KEYS = _ManifestFields.__struct_fields__


class Manifest(msgspec.Struct, frozen=True):
    name: str
    directory: Path
    exec: str = ""
    args: tuple[str, ...] = ()
    version: str = ""
    language: str = ""
    description: str = ""
    skills: tuple[str, ...] = ()
    enabled: bool = True
    guard: bool = False
    denies_guard: bool = False
    """Declares that it is no guard, unlike a missing field."""
    permissions: Permissions | None = None
    """Declared permissions; None if missing."""
    uses: tuple[str, ...] = ()
    settings: tuple[Declared, ...] = ()
    flags: tuple[Declared, ...] = ()
    url: str = ""
    """Where it is reached, if it is no program on this machine."""
    token: str = ""
    """The secret setting that is sent to ``url``."""
    providers: tuple[str, ...] = ()
    """Model providers it brings: ``provides.providers``."""
    themes: tuple[Path, ...] = ()
    slips: tuple[str, ...] = ()
    """Unknown keys close to known ones, such as a misspelt "guard"."""

    @property
    def has_process(self) -> bool:
        """False for a bundle of themes or skills: nothing runs, nothing needs trust."""
        return bool(self.exec or self.url)

    @property
    def host(self) -> str:
        """The host of ``url``; empty for a program on this machine."""
        return host_of_address(self.url) if self.url else ""

    @property
    def command(self) -> str:
        """What users see before it runs: the program, or the address."""
        return self.exec or self.url

    @property
    def kind(self) -> str:
        """What it provides: ``process``, ``theme``, ``process+theme`` or ``skills``."""
        parts = ["process"] * self.has_process + ["theme"] * bool(self.themes)
        return "+".join(parts) or "skills"

    def argv(self, path_variable: str) -> list[str]:
        """The command to run with ``exec`` resolved; ``path_variable`` is the value of ``PATH``."""
        if self.url:
            raise ExtensionError(f"is reached at {self.url}: it runs no program here")
        if not self.exec:
            raise ExtensionError("has no exec: it is a bundle without a process")
        from zot.features.child_process import resolve_exec  # only needed at the start

        return [resolve_exec(self.exec, self.directory, path_variable), *self.args]


def read_manifest(directory: Path, data: bytes | None = None) -> Manifest:
    """The manifest in ``directory``, or from ``data``; ExtensionError if it cannot be used."""
    directory = Path(os.path.abspath(directory))
    fields, slips = _decode(directory / FILE, _read(directory / FILE) if data is None else data)
    permissions, uses = None, ()
    if fields.uses:
        from zot.features.extensions.loader.declared_uses import read_uses  # most extensions have none

        uses, more = read_uses(fields.uses, bool(fields.guard))
        slips = (*slips, *more)
    settings = flags = ()
    if fields.settings or fields.flags:
        from zot.features.extensions.loader.extension_settings import read_declared  # likewise

        settings, more = read_declared("settings", fields.settings or {})
        flags, others = read_declared("flags", fields.flags or {})
        slips = (*slips, *more, *others)
    if fields.permissions is not None:
        from zot.features.extensions.loader.declared_permissions import read_permissions  # most extensions have none

        permissions, more = read_permissions(fields.permissions)
        if fields.guard and not permissions.intercepts:
            raise ExtensionError(f'{FILE}: "permissions.intercept" is missing; a guard requires it')
        slips = (*slips, *more)
    providers = _providers(fields.provides, bool(fields.guard)) if fields.provides is not None else ()
    themes = tuple(path for name in THEME_FILES if (path := directory / name).is_file())
    manifest = Manifest(
        name=check_name(fields.name or ""),
        directory=directory,
        exec=fields.exec or "",
        args=tuple(fields.args or ()),
        version=fields.version or "",
        language=fields.language or "",
        description=fields.description or "",
        skills=tuple(fields.skills or ()),
        enabled=fields.enabled is not False,
        guard=bool(fields.guard),
        permissions=permissions,
        denies_guard=fields.guard is False,
        themes=themes,
        uses=uses,
        settings=settings,
        flags=flags,
        providers=providers,
        url=fields.url or "",
        token=fields.token or "",
        slips=slips,
    )
    if manifest.url:
        _check_address(manifest)
    if not (manifest.has_process or manifest.themes or manifest.skills):
        raise ExtensionError(f'{FILE}: expected "exec", a theme file or "skills"')
    if "\0" in "".join((manifest.exec, *manifest.args)):
        raise ExtensionError(f'{FILE}: "exec" and "args" must not contain NUL characters')
    return manifest


def _check_address(manifest: Manifest) -> None:
    """ExtensionError if the extension cannot be reached at its URL."""
    if manifest.exec:
        raise ExtensionError(f'{FILE}: expected "exec" or "url", not both')
    host = host_of_address(manifest.url)
    secure = manifest.url.lower().startswith("wss://")
    local = manifest.url.lower().startswith("ws://") and is_loopback(f"http://{host}")
    if not host or "@" in manifest.url or not manifest.url.isprintable() or not (secure or local):
        raise ExtensionError(f'{FILE}: "url": expected wss://HOST/…, or ws:// to this machine')
    if manifest.permissions is None or not manifest.permissions.net:
        raise ExtensionError(f'{FILE}: "permissions.net" must be true for an extension at a URL')
    if not any(each.secret and each.name == manifest.token for each in manifest.settings):
        raise ExtensionError(f'{FILE}: "token": expected the name of a secret setting')


def host_of_address(url: str) -> str:
    """The host of a ``ws`` or ``wss`` address; empty for anything else."""
    scheme, _, rest = url.partition("://")
    return host_of(f"https://{rest}") if scheme.lower() in ("ws", "wss") else ""


def looks_like_guard(directory: Path) -> bool:
    """True if an unusable or unreadable manifest may declare a guard: the host must fail closed."""
    try:
        return _GUARD.search(_read(directory / FILE)) is not None
    except _Unreadable:
        return True
    except ExtensionError:
        return False


class _Unreadable(ExtensionError):
    """It exists, but cannot be read."""


def check_name(name: str) -> str:
    """Validates a name, which becomes part of file names; ExtensionError if invalid."""
    if not name.strip():
        raise ExtensionError(f'{FILE}: "name" is missing or empty')
    if name in (".", "..") or any(char in "/\\" or char < " " or char == "\x7f" for char in name):
        raise ExtensionError(
            f'{FILE}: invalid "name" {name!r}: path separators, control characters, "." and ".." are not allowed'
        )
    return name


def _providers(value: Any, guard: bool) -> tuple[str, ...]:
    """``provides.providers``; ExtensionError for a wrong one."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    names = fields.get("providers", [])
    if not isinstance(value, dict) or not isinstance(names, list):
        raise ExtensionError(f'{FILE}: "provides": expected {{"providers": ["ID"]}}')
    for name in cast("list[Any]", names):
        if not isinstance(name, str) or not PROVIDER_ID.fullmatch(name):
            raise ExtensionError(f'{FILE}: "provides.providers": invalid id {str(name)[:60]!r}')
    if guard and names:
        raise ExtensionError(f'{FILE}: "provides.providers": a guard cannot provide models')
    return tuple(dict.fromkeys(cast("list[str]", names)))


def _decode(path: Path, data: bytes) -> tuple[_ManifestFields, tuple[str, ...]]:
    if len(data) > MAX_BYTES:
        raise ExtensionError(f"{FILE} is larger than 1 MiB")
    try:
        decode_object(path, data)  # first, because its errors include line and column
        value: Any = strict_json.loads(data.removeprefix(b"\xef\xbb\xbf")) if data.strip() else {}
        return msgspec.convert(value, _ManifestFields), _slips(value)
    except ConfigError as error:
        raise ExtensionError(str(error).replace(str(path), FILE)) from error
    except (msgspec.ValidationError, ValueError) as error:
        raise ExtensionError(f"{FILE}: {error}") from error


def _slips(fields: dict[str, Any]) -> tuple[str, ...]:
    unknown = [key for key in fields if key not in KEYS]
    closest = {key: closest_match(key.lower(), KEYS) for key in unknown}
    return tuple(f'"{key}" is not a key of {FILE}; did you mean "{near}"?' for key, near in closest.items() if near)


def _read(path: Path) -> bytes:
    """A plain file of limited size; a pipe called extension.json must not block the start."""
    try:
        if not path.is_file():
            missing = f"no {FILE}" if path.parent.is_dir() else "no such directory"
            raise ExtensionError(f"{FILE} is not a file" if path.exists() else missing)
        return read_whole(path, MAX_BYTES)
    except TooLarge as error:
        raise ExtensionError(f"{FILE} is larger than 1 MiB") from error
    except OSError as error:
        raise _Unreadable(f"cannot read {FILE}: {error.strerror or error}") from error
