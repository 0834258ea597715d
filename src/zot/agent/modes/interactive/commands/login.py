"""``/login``: paste an API key; it is tried once, where requests will go, and stored only if it is taken there.

Logins in a browser come in a later version. The conversation and its cost go on with the provider just logged in.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.command import agent_of, end_turn
from zot.errors import ProviderError, ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.runtime import Runtime
    from zot.provider.dialects.dialect import Endpoint
    from zot.provider.providers import Provider

_LATER = (
    "logging in with a subscription comes in a later version and will need a client id of your own in config.json;"
    " until then use an API key"
)


async def run(app: App, arguments: str) -> None:
    provider = await _provider(app, arguments)
    if provider is not None and (key := await _key(app, provider)):
        await _log_in(app, provider, key)


async def _provider(app: App, typed: str) -> Provider | None:
    """What was typed, or what is chosen: method first, then provider."""
    from zot.agent.modes.interactive.dialogs import login_steps

    runtime = agent_of(app)
    providers = login_steps.with_keys(runtime)
    if typed:
        if typed.lower() not in providers:
            raise ZotError(f'there is no provider "{typed}" that takes a key; known: {", ".join(providers)}')
        return providers[typed.lower()]
    method = await app.dialogs.ask(login_steps.method_picker(runtime))
    if method == "subscription":
        app.status.ok(_LATER)
    if method != "key":
        return None
    chosen = await app.dialogs.ask(login_steps.provider_picker(runtime))
    return providers[chosen] if chosen else None


async def _key(app: App, provider: Provider) -> str | None:
    from zot.agent.modes.interactive.dialogs.text_prompt import TextPrompt

    above = [
        f"Paste the key for {provider.name}. It is tried once and then stored in auth.json, readable by you alone."
    ]
    return await app.dialogs.ask(TextPrompt(f"API key for {provider.name}", masked=True, above=above))


async def _log_in(app: App, provider: Provider, key: str) -> None:
    from zot.agent.modes.interactive.commands.model import use_model
    from zot.provider.auth.probe import probe_key, refusal

    runtime = agent_of(app)
    same = provider.id == runtime.resolved.provider.id
    model = runtime.agent.model.id if same else provider.default_model or _first_model(runtime, provider)
    app.status.ok(f"asking {provider.name} about the key …")
    try:
        await probe_key(runtime.pool, provider, _endpoint(app, provider, model, key))
    except ProviderError as error:
        raise ZotError(f"nothing was stored: {refusal(error)}") from error
    await end_turn(app, "/login")
    runtime.auth.set_api_key(provider.id, key)
    if app.attendants.launched_with == provider.id:
        app.flags.api_key = ""  # the key just typed is the one that is meant, at the address that was meant before
    if not model:
        app.status.ok(f"logged in to {provider.name}; choose a model with /model")
        return
    await use_model(app, provider.id, model)
    app.status.ok(f"logged in to {provider.name}: {runtime.agent.model.id}")


def _endpoint(app: App, provider: Provider, model: str, key: str) -> Endpoint:
    """Where requests with this key will go: ``--base-url``, the model's own address, or the provider's."""
    from zot.agent.endpoint import endpoint_for
    from zot.provider.auth.lookup import Credential
    from zot.provider.model import Model

    runtime = agent_of(app)
    query = app.attendants.query(provider.id, model)
    known = runtime.catalog.find(model, provider.id) or Model(id=model, provider=provider.id)
    return endpoint_for(
        provider,
        known,
        Credential(key),
        base_url=query.base_url,
        insecure=query.insecure,
        values=runtime.settings.values,
        environ=os.environ,
    )


def _first_model(runtime: Runtime, provider: Provider) -> str:
    """A provider of the user's own has no default: the first of its models will do; empty when none is known."""
    return min((model.id for model in runtime.catalog.rows() if model.provider == provider.id), default="")
