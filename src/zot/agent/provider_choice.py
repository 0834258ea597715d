"""The provider of a run that names none: the one with the only credential, else the last used, else the first in the
order of ``providers.json`` (which the terminal asks about)."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ConfigError
from zot.provider.auth.credential_lookup import has_credential
from zot.provider.catalog import Catalog
from zot.provider.providers import Provider, missing_in_address
from zot.system.files import read_bytes, write_atomic

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.provider.model import Model

_FILE = "last-provider.json"


class _LastProvider(msgspec.Struct):
    provider: str = ""


class ProviderChoice(msgspec.Struct, frozen=True):
    """``undecided``: the ids to choose from, if there are several credentials and none was used before."""

    provider: Provider | None = None
    undecided: tuple[str, ...] = ()


def choose_provider(usable: list[Provider], home: Path) -> ProviderChoice:
    """From ``usable_providers``."""
    if len(usable) < 2:
        return ProviderChoice(usable[0] if usable else None)
    last = last_provider(home)
    if used := next((provider for provider in usable if provider.id == last), None):
        return ProviderChoice(used)
    return ProviderChoice(usable[0], tuple(provider.id for provider in usable))


def usable_providers(
    catalog: Catalog, has_credential: Callable[[Provider], bool], environ: Mapping[str, str]
) -> list[Provider]:
    """Providers with a credential and a default model, in table order; one per credential. An AWS
    access key does not count: most are for other services."""
    found: list[Provider] = []
    for provider in catalog.providers().values():
        if not provider.needs_key or _is_variant(provider, found) or not has_credential(provider):
            continue
        own_key = not provider.cloud or any(environ.get(name, "").strip() for name in provider.env)
        if own_key and _has_default(provider, catalog) and not missing_in_address(provider, environ):
            found.append(provider)
    return found


def _has_default(provider: Provider, catalog: Catalog) -> bool:
    if provider.default_model:
        return True
    return any(row.provider == provider.id and row.source == "user" for row in catalog.rows())


def _is_variant(provider: Provider, found: Iterable[Provider]) -> bool:
    """True for a second API with the same keys, such as ``openai-responses``."""
    return any(provider.env and provider.env == other.env for other in found)


def providers_with_access(conversation: Conversation, current: str | None = None) -> dict[str, bool]:
    """By id, whether its models can be used: it has a credential or needs none. Always true for the ``current``
    provider, by default the conversation's."""
    commands = conversation.settings.values.api_key_command
    if current is None:
        current = conversation.resolved.provider.id if conversation.resolved.endpoint is not None else ""
    return {
        name: name == current
        or not provider.needs_key
        or has_credential(provider, conversation.auth, os.environ, commands)
        for name, provider in conversation.catalog.providers().items()
        if provider.api != "script" and not provider.rows_of
    }


def last_provider(home: Path) -> str:
    """Empty if unknown: a damaged file is only a forgotten choice."""
    with suppress(OSError, ConfigError, msgspec.MsgspecError):
        if data := read_bytes(home / _FILE):
            return msgspec.json.decode(data, type=_LastProvider).provider
    return ""


def remember_provider(home: Path, provider: str) -> None:
    """For the next run that names none; a home that cannot be written is no error."""
    if last_provider(home) != provider:
        with suppress(OSError, ConfigError):
            write_atomic(home / _FILE, msgspec.json.encode(_LastProvider(provider)))


def models_with_access(conversation: Conversation) -> list[Model]:
    """Models of providers with a credential or without need of one, by provider, the newest first.
    The current model is always included."""
    usable = {name for name, usable in providers_with_access(conversation).items() if usable}
    rows = {(row.provider, row.id): row for row in conversation.catalog.rows() if row.provider in usable}
    if conversation.resolved.endpoint is not None or conversation.resolved.script:
        rows.setdefault((conversation.model.provider, conversation.model.id), conversation.model)
    by_id = sorted(rows.values(), key=lambda model: model.id)
    by_age = sorted(by_id, key=lambda model: _version(model.id), reverse=True)
    return sorted(by_age, key=lambda model: model.provider)


@functools.lru_cache(8192)
def _version(id: str) -> tuple[int, int, str]:
    from zot.agent.model_lookup import version_key

    return version_key(id)
