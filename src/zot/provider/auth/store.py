"""``auth.json``: the credentials people stored. Private (0600), replaced whole, changed under a lock.

``anthropic``, ``openai`` and ``kimi`` are always written, other providers live under
``additional_api_key_creds``; ``accounts`` is reserved, and keys zot does not know are kept. A file that cannot be
parsed is a ConfigError and is never overwritten.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot.errors import ConfigError, UsageError
from zot.provider.providers import builtin_providers
from zot.system.files import decode_object, encode_pretty, locked, read_bytes, write_atomic

Method = Literal["", "apikey", "oauth"]

_FIRST = ("anthropic", "openai", "kimi")
_MORE = "additional_api_key_creds"
_EXPIRY_MARGIN_S = 60
_NEVER = "0001-01-01T00:00:00Z"


class KeyCommand(msgspec.Struct, frozen=True):
    """A program that prints a key: started without a shell."""

    program: str
    args: tuple[str, ...] = ()
    timeout_ms: int = 120_000


class OAuthToken(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A login. ``expiry`` is RFC 3339; empty or Go's zero time means never."""

    access_token: str
    refresh_token: str = ""
    token_type: str = ""
    expiry: str = ""
    scope: str = ""
    client_id: str = ""
    id_token: str = ""
    account_id: str = ""

    def expired(self, now: float) -> bool:
        """Whether the token ends within a minute of ``now`` (seconds since the epoch)."""
        if not self.expiry or self.expiry == _NEVER:
            return False
        # Only people with a login pay for the import.
        from datetime import datetime

        try:
            return now > datetime.fromisoformat(self.expiry).timestamp() - _EXPIRY_MARGIN_S
        except (ValueError, OverflowError):
            return False


class Entry(msgspec.Struct, frozen=True):
    """What is stored for one provider; a key wins over a login."""

    api_key: str = ""
    oauth: OAuthToken | None = None
    api_key_command: KeyCommand | None = None

    @property
    def method(self) -> Method:
        if self.api_key:
            return "apikey"
        if self.oauth is not None and self.oauth.access_token:
            return "oauth"
        return "apikey" if self.api_key_command else ""


class AuthStore:
    """The file as an object. Nothing is kept in memory: another process may log in or out at any time.

    ``notices`` collects what a user should be told once, such as file permissions that had to be tightened.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / "auth.json"
        self.notices: list[str] = []

    def entry(self, provider: str) -> Entry:
        """What is stored for a provider; an empty entry when nothing is."""
        raw: Any = _section(self._read(), provider).get(provider)
        if not raw:
            return Entry()
        if isinstance(raw, str):  # written by hand as a bare key
            return Entry(api_key=raw)
        try:
            return msgspec.convert(raw, Entry)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{self.path}: {provider}: {error}; fix the entry or log in again") from error

    def stored(self) -> dict[str, Method]:
        """The providers with a credential in the file and its kind."""
        raw = self._read()
        found: dict[str, Method] = {name: self.entry(name).method for name in (*_FIRST, *_object(raw.get(_MORE)))}
        return {name: method for name, method in found.items() if method}

    def secrets(self) -> list[str]:
        """Every key and token in the file, for those who must not show them; none when it cannot be read."""
        try:
            entries = [self.entry(name) for name in self.stored()]
        except ConfigError:
            return []
        tokens = [entry.oauth for entry in entries if entry.oauth is not None]
        found = [entry.api_key for entry in entries]
        found += [secret for token in tokens for secret in (token.access_token, token.refresh_token, token.id_token)]
        return [secret for secret in found if secret]

    def set_api_key(self, provider: str, key: str) -> None:
        """Store a key; a login or key command of that provider is dropped."""
        self._change(provider, {"api_key": key})

    def set_oauth(self, provider: str, token: OAuthToken) -> None:
        """Store a login; a key of that provider is dropped."""
        self._change(provider, {"oauth": msgspec.to_builtins(token)})

    def clear(self, provider: str) -> None:
        """Drop what is stored for one provider; UsageError when there is no such provider."""
        with self._changing():
            raw = self._read()
            section = _section(raw, provider)
            if provider not in section and provider not in builtin_providers():
                known = ", ".join((*_FIRST, *_object(raw.get(_MORE))))
                raise UsageError(f'nothing is stored for a provider "{provider}"; stored: {known}')
            if provider in _FIRST:
                section[provider] = {}
            else:
                section.pop(provider, None)
            self._write(raw)

    def _change(self, provider: str, fields: dict[str, Any]) -> None:
        with self._changing():
            raw = self._read()
            if provider not in _FIRST:
                raw[_MORE] = _object(raw.get(_MORE))
            section = _section(raw, provider)
            kept = {k: v for k, v in _object(section.get(provider)).items() if k not in Entry.__struct_fields__}
            section[provider] = {**kept, **fields}
            self._write(raw)

    @contextmanager
    def _changing(self) -> Generator[None]:
        """ConfigError when the file cannot be written."""
        try:
            with locked(self._target()):
                yield
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def _read(self) -> dict[str, Any]:
        data = read_bytes(self.path)
        if data is None:
            return {}
        self._tighten()
        try:
            return decode_object(self.path, data)
        except ConfigError as error:
            raise ConfigError(f"{error}; fix the file, or remove it and log in again") from error

    def _write(self, raw: dict[str, Any]) -> None:
        first: dict[str, Any] = {name: raw.get(name) or {} for name in _FIRST}
        write_atomic(self._target(), encode_pretty({**first, **{k: v for k, v in raw.items() if k not in first}}))

    def _target(self) -> Path:
        """The real file: a symbolic link into a dotfiles directory stays one."""
        return Path(os.path.realpath(self.path))

    def _tighten(self) -> None:
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if not mode & 0o077:
            return
        try:
            self.path.chmod(0o600)
            notice = f"{self.path} was readable by others (mode {mode:03o}); its mode is 600 now"
        except OSError:
            notice = f"{self.path} is readable by others (mode {mode:03o}); run chmod 600 on it"
        if notice not in self.notices:
            self.notices.append(notice)


def _section(raw: dict[str, Any], provider: str) -> dict[str, Any]:
    """The object that holds the provider's entry."""
    return raw if provider in _FIRST else _object(raw.get(_MORE))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
