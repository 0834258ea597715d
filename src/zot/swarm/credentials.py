"""Which model a worker is started with, and the key that only whoever starts it has: in the environment, or typed.

What is stored in the home a worker finds by itself, so it is not carried.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from zot.agent.config import RunConfig
from zot.agent.model_resolver import ModelQuery, require_credential, resolve
from zot.agent.settings import Settings
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.swarm.engines.engine import Credential
from zot.system.files import zot_home


class WorkerCredential(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    model: str
    credential: Credential | None = None


def resolve_worker_credential(
    config: RunConfig, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> WorkerCredential:
    """NotLoggedIn when there is no credential at all: a worker could only fail."""
    home = home or zot_home()
    settings, catalog = Settings(home), Catalog(home)
    store = AuthStore(home, keyring=settings.values.credential_store == "keyring")
    query = ModelQuery(
        provider=config.provider,
        model=config.model,
        api_key=config.api_key,
        base_url=config.base_url,
        insecure=config.insecure,
        script=config.script,
    )
    resolved = resolve(query, settings, catalog, store, os.environ if environ is None else environ)
    require_credential(resolved)
    found, name = resolved.credential, resolved.provider.id
    carried = found is not None and found.method == "apikey" and found.source in ("flag", "env") and bool(found.key)
    return WorkerCredential(
        provider=name,
        model=resolved.model.id,
        credential=Credential(provider=name, value=found.key) if found is not None and carried else None,
    )
