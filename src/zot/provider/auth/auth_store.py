"""``auth.json``: stored credentials, private (0600), replaced as a whole, changed under a lock.
Unknown keys are preserved, and a file that cannot be parsed is a ConfigError and is never overwritten. With a system
keyring the secrets are there, and an entry names the item."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot.errors import ConfigError, UsageError, closest_match
from zot.provider.providers import builtin_providers
from zot.system.json_store import JsonObjectStore

Method = Literal["", "apikey", "oauth"]

_SECRETS = ("access_token", "refresh_token", "id_token", "client_secret")  # of a login
_EXPIRY_MARGIN_S = 60
_LEAST_SECRET = 8  # shorter texts in a JSON credential, such as "bearer", are not masked
_INSTALLATION = "installation_id"
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
    client_secret: str = ""  # of a client that registered itself
    id_token: str = ""
    account_id: str = ""
    base_url: str = ""  # address of the API that the server named for this account

    @property
    def never_expires(self) -> bool:
        return not self.expiry or self.expiry == _NEVER

    def expired(self, now: float) -> bool:
        """True if the token expires within a minute of ``now`` (seconds since the epoch)."""
        if self.never_expires:
            return False
        # imported only for logins
        from datetime import datetime

        try:
            return now > datetime.fromisoformat(self.expiry).timestamp() - _EXPIRY_MARGIN_S
        except (ValueError, OverflowError):
            return False

    def __repr__(self) -> str:
        """Omits tokens, since tracebacks show this."""
        return f"OAuthToken(expiry={self.expiry!r}, account_id={self.account_id!r})"


class AuthEntry(msgspec.Struct, frozen=True):
    """The credential of one account; a key wins over a login. ``keyring`` names the item with its secrets."""

    api_key: str = ""
    oauth: OAuthToken | None = None
    api_key_command: KeyCommand | None = None
    keyring: str = ""

    @property
    def method(self) -> Method:
        if self.api_key:
            return "apikey"
        if self.oauth is not None and (self.oauth.access_token or self.keyring):
            return "oauth"
        return "apikey" if self.api_key_command or self.keyring else ""

    def __repr__(self) -> str:
        """Omits secrets, since tracebacks show this."""
        return f"Entry(method={self.method!r})"


class AuthStore:
    """``auth.json``, read on each access because other processes may change it. With ``keyring`` new secrets go there;
    ``notices`` collects messages for the user. Without an account name the active one is used."""

    def __init__(self, home: Path, *, keyring: bool = False) -> None:
        self._file = _AuthFile(home / "auth.json", self._tighten)
        _remove_leftovers(home)
        self.path = self._file.path
        self.keyring = keyring
        self.notices: list[str] = []

    # --- reading

    def entry(self, provider: str, account: str = "") -> AuthEntry:
        """The stored entry with secrets; empty if there is none. It may open the keyring."""
        return _opened(self.shape(provider, account))

    def shape(self, provider: str, account: str = "") -> AuthEntry:
        """The entry in the file, without secrets from the keyring."""
        return self._shape(self._file.load(), provider, account)

    def active(self, provider: str) -> str:
        """The name of the active account; ``default`` if it has none."""
        return _active_account(self._file.load(), provider)

    def accounts(self, provider: str) -> dict[str, AuthEntry]:
        return self._accounts(self._file.load(), provider)

    def everything(self) -> dict[str, dict[str, AuthEntry]]:
        """Every provider with a stored account, and those accounts as ``accounts`` gives them."""
        raw = self._file.load()
        found = {name: self._accounts(raw, name) for name in _known_providers(raw)}
        return {name: rows for name, rows in found.items() if rows}

    def stored(self) -> dict[str, Method]:
        """The providers whose active account has a credential, and its kind."""
        raw = self._file.load()
        found: dict[str, Method] = {name: self._shape(raw, name).method for name in _known_providers(raw)}
        return {name: method for name, method in found.items() if method}

    def secrets(self) -> list[str]:
        """Every key and token, for redaction; unreadable ones are omitted."""
        try:
            entries = [entry for rows in self.everything().values() for entry in rows.values()]
        except ConfigError:
            return []
        found: list[str] = []
        for entry in entries:
            with suppress(ConfigError):
                found += _secrets(_opened(entry)).values()
        parts = [part for secret in found if secret.startswith("{") for part in _texts_in(secret)]
        return [secret for secret in (*found, *parts) if secret]

    def installation_id(self) -> str:
        """A random id of this home for servers that list installations; created at the first login."""
        known = self._file.load().get(_INSTALLATION)
        if isinstance(known, str) and known.startswith("urn:uuid:"):
            return known
        from uuid import uuid4

        with self._file.edit() as raw:
            again = raw.get(_INSTALLATION)  # another process may have been faster
            raw[_INSTALLATION] = again if isinstance(again, str) and again else f"urn:uuid:{uuid4()}"
            return str(raw[_INSTALLATION])

    # --- changing

    def set_api_key(self, provider: str, key: str, account: str = "") -> None:
        """Store a key, replacing a login or key command of that account; the account becomes active."""
        self._log_in(provider, account, AuthEntry(api_key=key))

    def set_oauth(self, provider: str, token: OAuthToken, account: str = "") -> None:
        """Store a login, replacing a key of that account; the account becomes active."""
        self._log_in(provider, account, AuthEntry(oauth=token))

    def renew_oauth(self, provider: str, account: str, token: OAuthToken, *, before: OAuthToken | None = None) -> None:
        """Store a refreshed login for its account; with ``before`` only if that is still the stored one."""
        old = ""
        with self._file.edit() as raw:
            there = self._shape(raw, provider, account)
            if there.method == "oauth" and before in (None, _opened(there).oauth):
                old = self._put(raw, provider, account, AuthEntry(oauth=token))
        self._forget(old)

    def use(self, provider: str, account: str) -> None:
        """Make a stored account active; UsageError if there is none of that name."""
        with self._file.edit() as raw:
            known = self._accounts(raw, provider)
            if account not in known:
                raise UsageError(_no_account(provider, account, known))
            _activate_account(raw, provider, account)

    def clear(self, provider: str, account: str = "") -> None:
        """Delete the credential of one account; UsageError for an unknown provider or account."""
        with self._file.edit() as raw:
            if provider not in _known_providers(raw) and provider not in builtin_providers():
                known = ", ".join(_known_providers(raw))
                raise UsageError(f'no login stored for provider "{provider}"; stored: {known}')
            stored = self._accounts(raw, provider)
            if account and account not in stored:
                raise UsageError(_no_account(provider, account, stored))
            item = _item(_read_account(raw, provider, account))
            _write_account(raw, provider, account, {})
        self._forget(item)

    def _log_in(self, provider: str, account: str, entry: AuthEntry) -> None:
        with self._file.edit() as raw:
            if account:
                if not re.fullmatch(r"\w[\w.@+-]{0,63}", account):
                    raise UsageError(f'account "{account}": expected up to 64 letters, digits and . @ + - _')
                _activate_account(raw, provider, account)
            old = self._put(raw, provider, account, entry)
        self._forget(old)

    def _put(self, raw: dict[str, Any], provider: str, account: str, entry: AuthEntry) -> str:
        """Replace one entry; returns the keyring item to delete after the write. A renewed login keeps its item, so
        that its secrets change in one step."""
        before = _read_account(raw, provider, account)
        kept = _unknown(before, AuthEntry)
        fields = _fields(entry, before)
        if self.keyring:
            from zot.provider.auth import keyring

            same = entry.oauth is not None and bool(as_object(before).get("oauth"))
            name = account or _active_account(raw, provider)
            item = (same and _item(before)) or keyring.new_item(provider, name)
            keyring.store_secret(item, _secrets(entry))
            token = entry.oauth and msgspec.structs.replace(entry.oauth, **dict.fromkeys(_SECRETS, ""))
            fields = {**_fields(msgspec.structs.replace(entry, api_key="", oauth=token), before), "keyring": item}
        _write_account(raw, provider, account, {**kept, **fields})
        old = _item(before)
        return old if old != fields.get("keyring") else ""

    def _forget(self, item: str) -> None:
        """Delete unused keyring items; a failure is reported and ignored."""
        if not item:
            return
        from zot.provider.auth import keyring

        try:
            keyring.delete_secret(item)
        except ConfigError as error:
            self.notices.append(f"{item} is still in the system's keyring: {error}")

    # --- the file

    def _shape(self, raw: dict[str, Any], provider: str, account: str = "") -> AuthEntry:
        found = _read_account(raw, provider, account)
        if not found:
            return AuthEntry()
        if isinstance(found, str):  # written by hand as a bare key
            return AuthEntry(api_key=found)
        try:
            return msgspec.convert(found, AuthEntry)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{self.path}: {provider}: {error}; fix the entry or log in again") from error

    def _accounts(self, raw: dict[str, Any], provider: str) -> dict[str, AuthEntry]:
        names = (_active_account(raw, provider), *_other_accounts(raw, provider))
        found = {name: self._shape(raw, provider, name) for name in names}
        return {name: entry for name, entry in found.items() if entry.method}

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


def _remove_leftovers(home: Path) -> None:
    """Deletes a temporary file with secrets that a killed zot left."""
    with suppress(OSError):
        if any(name.startswith(".auth.json.") for name in os.listdir(home)):
            from zot.system.temp_files import remove_stale_files  # rarely needed

            remove_stale_files(home)


class _AuthFile(JsonObjectStore):
    """``on_read`` is called before a file that exists is decoded."""

    def __init__(self, path: Path, on_read: Callable[[], None]) -> None:
        super().__init__(path, "fix the file, or remove it and log in again")
        self._on_read = on_read

    def decode(self, data: bytes) -> dict[str, Any]:
        self._on_read()
        return super().decode(data)

    def encode(self, content: dict[str, Any]) -> bytes:
        first: dict[str, Any] = {name: content.get(name) or {} for name in _FIRST}
        return super().encode({**first, **{k: v for k, v in content.items() if k not in first}})


# --- secrets, and where they are


def _opened(entry: AuthEntry) -> AuthEntry:
    if not entry.keyring:
        return entry
    from zot.provider.auth import keyring

    found = keyring.load_secret(entry.keyring)
    if entry.oauth is None:
        return msgspec.structs.replace(entry, api_key=found.get("api_key", ""))
    token = msgspec.structs.replace(entry.oauth, **{name: found.get(name, "") for name in _SECRETS})
    return msgspec.structs.replace(entry, oauth=token)


def _secrets(entry: AuthEntry) -> dict[str, str]:
    if entry.oauth is None:
        return {"api_key": entry.api_key}
    return {name: secret for name in _SECRETS if (secret := getattr(entry.oauth, name))}


def _texts_in(secret: str) -> list[str]:
    """The texts of a credential that is a JSON object: those of an extension's provider."""
    try:
        return _texts(msgspec.json.decode(secret))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) >= _LEAST_SECRET else []
    items: list[Any] = []
    if isinstance(value, (dict, list)):
        items = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else cast("list[Any]", value)
    return [text for item in items for text in _texts(item)]


def _fields(entry: AuthEntry, before: Any) -> dict[str, Any]:
    """Encode an entry for the file: one login method, with unknown fields."""
    if entry.oauth is not None:
        unknown = _unknown(as_object(before).get("oauth"), OAuthToken)
        return {"oauth": {**unknown, **msgspec.to_builtins(entry.oauth)}}
    return {"api_key": entry.api_key} if entry.api_key else {}


def _unknown(value: Any, known: type[msgspec.Struct]) -> dict[str, Any]:
    return {key: value for key, value in as_object(value).items() if key not in known.__struct_fields__}


def _item(entry: Any) -> str:
    name = as_object(entry).get("keyring")
    return name if isinstance(name, str) else ""


def _no_account(provider: str, account: str, known: Iterable[str]) -> str:
    match = closest_match(account, known)
    hint = f", did you mean {match}" if match else ""
    listed = ", ".join(known) or "none"
    return f'{provider} has no stored account "{account}"{hint}; stored: {listed}'


# The accounts of a provider in ``auth.json``: the active one where older versions look, others under ``accounts``.

_FIRST = ("anthropic", "openai", "kimi")
_MORE = "additional_api_key_creds"
_DEFAULT = "default"

_ACCOUNTS = "accounts"


def _known_providers(raw: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys((*_FIRST, *as_object(raw.get(_MORE)), *as_object(raw.get(_ACCOUNTS)))))


def _active_account(raw: dict[str, Any], provider: str) -> str:
    name = _book(raw, provider).get("active")
    return name if isinstance(name, str) and name else _DEFAULT


def _other_accounts(raw: dict[str, Any], provider: str) -> dict[str, Any]:
    return as_object(_book(raw, provider).get("others"))


def _read_account(raw: dict[str, Any], provider: str, account: str = "") -> Any:
    """The raw entry of an account, by default of the active one; None if missing."""
    if account and account != _active_account(raw, provider):
        return _other_accounts(raw, provider).get(account)
    return _section(raw, provider).get(provider)


def _write_account(raw: dict[str, Any], provider: str, account: str, entry: dict[str, Any]) -> None:
    """Replace the entry of the account; an empty one deletes it."""
    if account and account != _active_account(raw, provider):
        others = _other_accounts(raw, provider)
        if entry:
            others[account] = entry
        else:
            others.pop(account, None)
        _save_accounts(raw, provider, _active_account(raw, provider), others)
        return
    if provider not in _FIRST:
        raw[_MORE] = as_object(raw.get(_MORE))
    section = _section(raw, provider)
    section[provider] = entry
    if not entry:
        _save_accounts(raw, provider, _DEFAULT, _other_accounts(raw, provider))  # its name is deleted also
        if provider not in _FIRST:
            del section[provider]


def _activate_account(raw: dict[str, Any], provider: str, account: str) -> None:
    """Make an account active; the previous one moves to ``accounts``."""
    before = _active_account(raw, provider)
    if account == before:
        return
    others = _other_accounts(raw, provider)
    coming, going = as_object(others.pop(account, None)), _read_account(raw, provider)
    if going:
        others[before] = going
    if provider not in _FIRST:
        raw[_MORE] = as_object(raw.get(_MORE))
    _section(raw, provider)[provider] = coming
    _save_accounts(raw, provider, account, others)


def _save_accounts(raw: dict[str, Any], provider: str, active: str, others: dict[str, Any]) -> None:
    """Keeps unknown fields; a single unnamed account needs no ``accounts``."""
    book = {key: value for key, value in _book(raw, provider).items() if key not in ("active", "others")}
    if active != _DEFAULT:
        book["active"] = active
    if others:
        book["others"] = others
    books = as_object(raw.get(_ACCOUNTS))
    if book:
        raw[_ACCOUNTS] = {**books, provider: book}
    elif provider in books:
        del books[provider]
        if not books:
            del raw[_ACCOUNTS]


def _book(raw: dict[str, Any], provider: str) -> dict[str, Any]:
    return as_object(as_object(raw.get(_ACCOUNTS)).get(provider))


def _section(raw: dict[str, Any], provider: str) -> dict[str, Any]:
    return raw if provider in _FIRST else as_object(raw.get(_MORE))


def as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
