"""API key logins: supported providers, and a test of the key before it is stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from zot.errors import NotThere, ProviderError, ZotError, closest_match
from zot.provider.providers import Provider, canonical_id

if TYPE_CHECKING:
    from zot.agent.settings import SettingsValues
    from zot.provider.auth.auth_store import AuthStore
    from zot.provider.catalog import Catalog
    from zot.provider.dialects.dialect import Endpoint
    from zot.provider.http.pool import HttpPool

_FIRST = ("anthropic", "openai", "kimi")
_PLANS = {"chatgpt": "openai", "claude": "anthropic", "github": "copilot", "grok": "xai", "supergrok": "xai"}


class KeyRefused(ZotError):
    """The provider rejected a key; the text is the provider's."""


def providers_with_logins(catalog: Catalog) -> dict[str, Provider]:
    """Providers with a login, the best known first."""
    table = {
        name: p
        for name, p in catalog.providers().items()
        if p.needs_key and not p.rows_of and (p.key_login or p.has_subscription_login)
    }
    ordered = [name for name in _FIRST if name in table] + [name for name in table if name not in _FIRST]
    return {name: table[name] for name in ordered}


def named_provider(catalog: Catalog, typed: str) -> Provider:
    """The typed provider by id, alias, name or plan, in any case; NotThere suggests the nearest."""
    providers = catalog.providers()
    by_name = {provider.name.lower(): name for name, provider in providers.items()}
    wanted = typed.strip().lower()
    found = canonical_id(by_name.get(wanted, wanted), providers)
    if found not in providers:
        found = _PLANS.get(wanted, found)
    if found not in providers:
        closest = closest_match(wanted, [*providers, *by_name])
        hint = f"did you mean {by_name.get(closest, closest)}? " if closest else ""
        known = ", ".join(providers_with_logins(catalog))
        raise NotThere(f'unknown provider "{typed}"; {hint}providers with a login: {known}')
    if not providers[found].needs_key:
        raise NotThere(f"{found} needs no login: it accepts requests without a key")
    return providers[found]


def first_model(catalog: Catalog, provider: Provider) -> str:
    """Its default, or the first of the user's models; empty if unknown."""
    listed = (model.id for model in catalog.rows() if model.provider == provider.id)
    return provider.default_model or min(listed, default="")


def endpoint_of_key(
    catalog: Catalog,
    provider: Provider,
    model: str,
    key: str,
    *,
    values: SettingsValues,
    base_url: str = "",
    insecure: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Endpoint:
    """Address for requests with this key: ``base_url``, the model's, or the provider's."""
    from zot.agent.endpoint import endpoint_for, without_address
    from zot.provider.auth.credential_lookup import Credential
    from zot.provider.model import Model

    known = catalog.find(model, provider.id) or Model(id=model, provider=provider.id)
    own = without_address(provider, environ)
    return endpoint_for(
        provider, known, Credential(key), base_url=base_url, insecure=insecure, values=values, environ=own
    )


async def try_key(pool: HttpPool, provider: Provider, endpoint: Endpoint) -> None:
    """KeyRefused with the provider's text for an invalid key."""
    from zot.provider.discovery import probe_key, refusal

    key = endpoint.api_key
    if not key.isprintable() or " " in key:
        raise KeyRefused("invalid key: it contains spaces, line breaks or control characters")
    try:
        await probe_key(pool, provider, endpoint)
    except ProviderError as error:
        raise KeyRefused(refusal(error)) from error


def place_of(store: AuthStore) -> str:
    """Where a login is stored, to complete "stores it …"."""
    if store.keyring:
        return "in your system's keyring"
    home = str(Path.home())
    shown = str(store.path)
    shown = f"~{shown.removeprefix(home)}" if shown.startswith(f"{home}/") else shown
    return f"in {shown}, which only you can read"
