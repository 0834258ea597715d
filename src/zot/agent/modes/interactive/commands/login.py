"""``/login``: paste an API key; it is tried once, where requests will go, and stored only if it is taken there. A
refused one is still there to be mended.

Browser logins come in a later version. The conversation and its cost continue with the provider just logged in to.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.commands.context import Context
from zot.errors import ProviderError, ZotError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.provider.dialects.dialect import Endpoint
    from zot.provider.providers import Provider

METHODS = {"apikey": "API key", "oauth": "subscription"}
_FIRST = ("anthropic", "openai", "kimi")
_LATER = (
    "logging in with a subscription comes in a later version and will need a client id of your own in config.json;"
    " until then use an API key"
)


async def run(context: Context, arguments: str) -> None:
    provider = await _provider(context, arguments)
    if provider is not None:
        await log_in(context, provider)


async def log_in(context: Context, provider: Provider) -> bool:
    """Ask for a key until one is taken; whether one was."""
    from zot.provider.auth.probe import refusal

    key, refused = "", ""
    while typed := await _key(context, provider, key, refused):
        try:
            await _log_in(context, provider, typed)
            return True
        except ProviderError as error:
            key, refused = typed, f"nothing was stored: {refusal(error)}"
            context.status.clear()
    if refused:
        context.status.error(refused)
    return False


# --- the steps: how, with whom, which key


async def _provider(context: Context, typed: str) -> Provider | None:
    """What was typed, or what is chosen: method first, then provider."""
    providers = _with_keys(context.conversation)
    if typed:
        if typed.lower() not in providers:
            raise ZotError(f'there is no provider "{typed}" that takes a key; known: {", ".join(providers)}')
        return providers[typed.lower()]
    known = _logins(context.conversation, providers)
    method = await context.dialogs.ask(_method_picker(known))
    if method == "subscription":
        context.status.ok(_LATER)
    if method != "key":
        return None
    chosen = await context.dialogs.ask(_provider_picker(known, providers))
    return providers[chosen] if chosen else None


def _with_keys(conversation: Conversation) -> dict[str, Provider]:
    """The providers that take a key, the best known first."""
    table = {name: p for name, p in conversation.catalog.providers().items() if p.needs_key and not p.rows_of}
    ordered = [name for name in _FIRST if name in table] + [name for name in table if name not in _FIRST]
    return {name: table[name] for name in ordered}


def _logins(conversation: Conversation, providers: dict[str, Provider]) -> dict[str, str]:
    """How each provider is logged in; providers without a login are left out."""
    found = {name: METHODS.get(method, method) for name, method in conversation.auth.stored().items()}
    for name, provider in providers.items():
        if variable := next((variable for variable in provider.env if os.environ.get(variable)), ""):
            found[name] = variable
    return found


def _method_picker(known: dict[str, str]) -> Picker:
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.tui.widgets.select_list import Choice

    rows = [
        Choice("key", "API key", "paste it here; it is tried once and stored"),
        Choice("subscription", "subscription", "in a browser; comes in a later version"),
    ]
    above = [f"{'✓' if name in known else '–'} {name} {known.get(name, '')}".rstrip() for name in _FIRST]
    return Picker("log in with", rows, filterable=False, above=above if known else ())


def _provider_picker(known: dict[str, str], providers: dict[str, Provider]) -> Picker:
    from zot.agent.modes.interactive.dialogs.picker import Picker
    from zot.tui.widgets.select_list import Choice

    rows = [
        Choice(name, provider.name, f"logged in: {known[name]}" if name in known else "")
        for name, provider in providers.items()
    ]
    return Picker("log in to", rows)


async def _key(context: Context, provider: Provider, before: str, refused: str) -> str | None:
    """What is typed now; ``before`` is what was ``refused``: it can be mended, and a paste takes its place."""
    from zot.agent.modes.interactive.dialogs.text_dialogs import TextPrompt

    told = f"Paste the key for {provider.name}. It is tried once and then stored in auth.json, which only you can read."
    if refused:
        told = f"{refused}. What you typed is still here: paste another key in its place, or mend it."
    prompt = TextPrompt(f"API key for {provider.name}", text=before, masked=True, above=[told], paste_replaces=True)
    return await context.dialogs.ask(prompt)


# --- trying and storing it


async def _log_in(context: Context, provider: Provider, key: str) -> None:
    """ProviderError for a key that is not taken; nothing is stored then."""
    from zot.agent.modes.interactive.commands.model import use_model
    from zot.provider.auth.probe import probe_key

    conversation, status = context.conversation, context.status
    same = provider.id == conversation.present.provider
    model = conversation.model.id if same else provider.default_model or _first_model(conversation, provider)
    status.ok(f"asking {provider.name} about the key …")
    await probe_key(conversation.pool, provider, _endpoint(context, provider, model, key))
    await context.end_turn("/login")
    conversation.auth.set_api_key(provider.id, key)
    conversation.launch.forget_key(provider.id)
    if not model:
        status.ok(f"logged in to {provider.name}; choose a model with /model")
        return
    await use_model(context, provider.id, model)
    status.ok(f"logged in to {provider.name}: {conversation.model.id}")


def _endpoint(context: Context, provider: Provider, model: str, key: str) -> Endpoint:
    """Where requests with this key will go: ``--base-url``, the model's own address, or the provider's."""
    from zot.agent.endpoint import endpoint_for
    from zot.provider.auth.lookup import Credential
    from zot.provider.model import Model

    conversation = context.conversation
    query = conversation.launch.query(provider.id, model)
    known = conversation.catalog.find(model, provider.id) or Model(id=model, provider=provider.id)
    return endpoint_for(
        provider,
        known,
        Credential(key),
        base_url=query.base_url,
        insecure=query.insecure,
        values=conversation.settings.values,
        environ=os.environ,
    )


def _first_model(conversation: Conversation, provider: Provider) -> str:
    """A provider of the user's own has no default: the first of its models will do; empty when none is known."""
    return min((model.id for model in conversation.catalog.rows() if model.provider == provider.id), default="")
