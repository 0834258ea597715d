"""Another model, of the same provider or of another, for an agent that already exists. Transcript and cost stay."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from zot.agent.cli.flags import Flags
from zot.agent.logged_out import LoggedOut
from zot.agent.resolve import Query, Resolved, require_credential, resolve
from zot.agent.runtime import Runtime
from zot.errors import AgentBusy, UsageError
from zot.provider.connect import connect, connect_script
from zot.provider.model_call import Client


async def switch_model(runtime: Runtime, flags: Flags, model_id: str, environ: Mapping[str, str] | None = None) -> None:
    """From the next prompt on. AgentBusy during work; UsageError for a model the provider does not have."""
    await exchange_model(runtime, flags, model_id, environ).aclose()


def exchange_model(runtime: Runtime, flags: Flags, model_id: str, environ: Mapping[str, str] | None = None) -> Client:
    """The same at once, for callers that cannot wait; returns the previous client, which is theirs to close."""
    if runtime.agent.busy:
        raise AgentBusy("agent is busy")
    provider = runtime.resolved.provider
    if runtime.catalog.find(model_id, provider.id) is None and not provider.any_model:
        raise UsageError(f'unknown model "{model_id}" (provider="{provider.id}")')
    return adopt(runtime, _resolved(runtime, query_for(flags, provider.id, model_id), environ))


async def move_to(runtime: Runtime, query: Query, environ: Mapping[str, str] | None = None) -> list[str]:
    """Continue with any model of any provider; returns what there is to say about it.

    UsageError for a model nobody has, NotLoggedIn without a credential; nothing changed then."""
    # In a thread: a key may come from a program that takes its time.
    resolved = await asyncio.to_thread(_resolved, runtime, query, environ)
    await adopt(runtime, resolved).aclose()
    return resolved.notices


def query_for(flags: Flags, provider: str, model: str) -> Query:
    """A model with the address and the key of the command line."""
    return Query(
        provider=provider,
        model=model,
        api_key=flags.api_key,
        base_url=flags.base_url,
        insecure=flags.insecure,
        script=flags.script,
    )


def _resolved(runtime: Runtime, query: Query, environ: Mapping[str, str] | None) -> Resolved:
    environ = os.environ if environ is None else environ
    resolved = resolve(query, runtime.settings, runtime.catalog, runtime.auth, environ)
    require_credential(resolved)
    return resolved


def adopt(runtime: Runtime, resolved: Resolved) -> Client:
    """Everything that names the model now names this one; returns the previous client, for the caller to close."""
    before = runtime.agent.client
    runtime.agent.set_model(_client(runtime, resolved), resolved.model)
    runtime.resolved = resolved
    provider, model = resolved.provider.id, resolved.model.id
    runtime.workspace.exported |= {"ZOT_PROVIDER": provider, "ZOT_MODEL": model}
    if runtime.session is not None:
        runtime.session.set_model(provider, model)
    if runtime.extensions is not None:
        runtime.extensions.provider, runtime.extensions.model = provider, model
    return before


def _client(runtime: Runtime, resolved: Resolved) -> Client:
    if resolved.script:
        return connect_script(Path(resolved.script))
    if resolved.endpoint is None:
        return LoggedOut(resolved.provider.id, resolved.missing)
    return connect(resolved.endpoint, resolved.api, runtime.pool)
