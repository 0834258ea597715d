"""Another model of the same provider, for an agent that is built already. Transcript and cost stay."""

from __future__ import annotations

import os
from collections.abc import Mapping

from zot.agent.flags import Flags
from zot.agent.resolve import Query, require_credential, resolve
from zot.agent.runtime import Runtime
from zot.errors import AgentBusy, NotLoggedIn, UsageError
from zot.provider.connect import connect
from zot.provider.stream import Client


async def switch_model(runtime: Runtime, flags: Flags, model_id: str, environ: Mapping[str, str] | None = None) -> None:
    """From the next prompt on. AgentBusy during work; UsageError for a model the provider does not have."""
    await exchange_model(runtime, flags, model_id, environ).aclose()


def exchange_model(runtime: Runtime, flags: Flags, model_id: str, environ: Mapping[str, str] | None = None) -> Client:
    """The same at once, for callers that cannot wait; returns the client of before, theirs to close."""
    if runtime.agent.busy:
        raise AgentBusy("agent is busy")
    provider = runtime.resolved.provider
    if runtime.catalog.find(model_id, provider.id) is None and not provider.any_model:
        raise UsageError(f'unknown model "{model_id}" (provider="{provider.id}")')
    query = Query(
        provider=provider.id,
        model=model_id,
        api_key=flags.api_key,
        base_url=flags.base_url,
        insecure=flags.insecure,
        script=flags.script,
    )
    resolved = resolve(
        query, runtime.settings, runtime.catalog, runtime.auth, os.environ if environ is None else environ
    )
    require_credential(resolved)
    if resolved.endpoint is None:
        raise NotLoggedIn(f"no credential for {provider.id}")
    before = runtime.agent.client
    runtime.agent.set_model(connect(resolved.endpoint, resolved.api, runtime.pool), resolved.model)
    runtime.resolved = resolved
    runtime.workspace.exported["ZOT_MODEL"] = resolved.model.id
    if runtime.session is not None:
        runtime.session.set_model(provider.id, resolved.model.id)
    if runtime.extensions is not None:
        runtime.extensions.model = resolved.model.id
    return before
