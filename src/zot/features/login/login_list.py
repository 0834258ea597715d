"""Lists logins for ``zot auth list``, ``/login`` and programs. No secrets, no network, no key command, no keyring."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from zot.provider.auth.auth_store import AuthEntry, AuthStore, KeyCommand
from zot.provider.catalog import Catalog
from zot.provider.providers import Provider

Kind = Literal["key", "login"]
Source = Literal["flag", "env", "file", "keyring", "command"]

KINDS = {"key": "API key", "login": "subscription"}


class LoginRow(msgspec.Struct, frozen=True, kw_only=True):
    """One credential. ``in_use`` is the one a run would use; ``where`` names the variable or command."""

    provider: str
    kind: Kind
    source: Source
    account: str = ""
    in_use: bool = False
    expires: str = ""
    expired: bool = False
    where: str = ""

    @property
    def origin(self) -> str:
        words = {"flag": "--api-key", "file": "auth.json", "keyring": "keyring", "command": f"command {self.where}"}
        return self.where if self.source == "env" else words[self.source]


def all_logins(
    catalog: Catalog, store: AuthStore, environ: Mapping[str, str], commands: Mapping[str, KeyCommand]
) -> list[LoginRow]:
    """By provider, in lookup order; logins of unknown providers come last."""
    stored = store.everything()
    table = {name: p for name, p in catalog.providers().items() if p.needs_key and not p.rows_of}
    names = [*table, *(name for name in stored if name not in table)]
    found: list[LoginRow] = []
    for name in names:
        rows = [
            *_of_environment(table.get(name), environ),
            *_of_store(name, stored.get(name, {}), store.active(name)),
            *_of_settings(name, commands),
        ]
        usable = next((row for row in rows if row.account in ("", store.active(name))), None)
        found += [msgspec.structs.replace(row, in_use=row is usable) for row in rows]
    return found


def _of_environment(provider: Provider | None, environ: Mapping[str, str]) -> Iterator[LoginRow]:
    if provider is None:
        return
    if provider.oauth_env and environ.get(provider.oauth_env, "").strip():
        yield LoginRow(provider=provider.id, kind="login", source="env", where=provider.oauth_env)
    for name in provider.env:
        if environ.get(name, "").strip():
            yield LoginRow(provider=provider.id, kind="key", source="env", where=name)
    if provider.bearer_env and environ.get(provider.bearer_env, "").strip():
        yield LoginRow(provider=provider.id, kind="key", source="env", where=provider.bearer_env)
    if provider.cloud == "aws":
        from zot.provider.auth.aws import environment_key

        if environment_key(environ):
            yield LoginRow(provider=provider.id, kind="key", source="env", where="AWS_ACCESS_KEY_ID")


def _of_store(provider: str, accounts: Mapping[str, AuthEntry], active: str) -> Iterator[LoginRow]:
    for account, entry in accounts.items():
        token, command = entry.oauth, entry.api_key_command
        if entry.method == "oauth" and token is not None:
            yield LoginRow(
                provider=provider,
                kind="login",
                source="keyring" if entry.keyring else "file",
                account=account,
                expires="" if token.never_expires else token.expiry,
                expired=token.expired(time.time()),
            )
        elif entry.api_key or entry.keyring or command is None:
            yield LoginRow(
                provider=provider, kind="key", source="keyring" if entry.keyring else "file", account=account
            )
        else:
            yield LoginRow(provider=provider, kind="key", source="command", account=account, where=command.program)


def _of_settings(provider: str, commands: Mapping[str, KeyCommand]) -> Iterator[LoginRow]:
    if command := commands.get(provider):
        yield LoginRow(provider=provider, kind="key", source="command", where=command.program)
