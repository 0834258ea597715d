"""``settings.get``, ``settings.set`` and ``secrets.get``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import ConfigError, ZotError
from zot.features.extensions.loader.extension_settings import Declared, secret_place
from zot.features.extensions.requests import MethodCall, RequestError
from zot.provider.auth.credential_lookup import find_credential

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild
    from zot.provider.providers import Provider


async def read(call: MethodCall) -> dict[str, Any]:
    return {"values": call.host.setting_values(call.child)}


class _SetParams(msgspec.Struct, frozen=True):
    name: str
    value: Any


async def change(call: MethodCall) -> dict[str, Any]:
    params, child = call.params(_SetParams), call.child
    if child.entry.scope == "project":
        raise RequestError("refused", "settings.set: an extension of a project cannot change settings of the user")
    declared = _declared(call, params.name)
    if declared.secret:
        raise RequestError("refused", f"settings.set: {params.name} is a secret; only the user sets it")
    if problem := declared.problem_of(params.value):
        raise RequestError("bad_params", f"settings.set: value: {problem}")
    settings = call.conversation.settings
    stored = settings.values.extensions
    changed = {**stored, child.name: {**stored.get(child.name, {}), params.name: params.value}}
    try:
        await asyncio.to_thread(settings.save, extensions=changed)
    except ConfigError as error:
        raise RequestError("failed", f"settings.set: {error}") from error
    return {}


def _declared(call: MethodCall, name: str) -> Declared:
    found = next((each for each in call.child.manifest.settings if each.name == name), None)
    if found is None:
        known = ", ".join(each.name for each in call.child.manifest.settings) or "none"
        raise RequestError("not_found", f"{call.frame.method}: name: no setting {name!r}; declared: {known}")
    return found


class _SecretParams(msgspec.Struct, frozen=True):
    name: str = ""
    provider: str = ""


async def secret(call: MethodCall) -> dict[str, Any]:
    params = call.params(_SecretParams)
    if bool(params.name) == bool(params.provider):
        raise RequestError("bad_params", "secrets.get: expected name or provider")
    return await (_own(call, params.name) if params.name else _of_provider(call, params.provider))


async def _own(call: MethodCall, name: str) -> dict[str, Any]:
    """A secret setting of this extension."""
    if not _declared(call, name).secret:
        raise RequestError("bad_params", f"secrets.get: name: {name} is no secret; use settings.get")
    place = secret_place(call.child.name, name)
    entry = await asyncio.to_thread(call.conversation.auth.entry, place)
    if not entry.api_key:
        fix = f"the user sets it with `zot ext set {call.child.name} {name}`"
        raise RequestError("not_found", f"secrets.get: name: {name} is not set; {fix}")
    call.host.keep_secret(entry.api_key)
    return {"value": entry.api_key}


async def _of_provider(call: MethodCall, provider: str) -> dict[str, Any]:
    """A key or access token of the user, after a yes to zot's own question."""
    child, conversation = call.child, call.conversation
    if child.entry.scope == "project":
        raise RequestError("denied", "secrets.get: no extension of a project gets a key of the user")
    call.host.require_word(child, f"secrets.{provider}", "secrets.get")
    row = conversation.catalog.providers().get(provider)
    if row is None:
        raise RequestError("not_found", f"secrets.get: provider: there is no provider {provider!r}")
    await _consent(call, child, provider)
    services = conversation.services
    commands = services.settings.values.api_key_command
    try:
        found = await asyncio.to_thread(find_credential, row, services.auth, services.environ, commands=commands)
        if found is None:
            raise RequestError("not_found", f"secrets.get: there is no key or login for {provider}")
        value, meta = found.key, {"account_id": found.account_id} if found.account_id else {}
        expires = found.expiry
        if found.method == "oauth":
            value, expires = await _access_token(call, row, found.account)
    except ZotError as error:
        raise RequestError("not_found", f"secrets.get: {error}") from error
    call.host.keep_secret(value)
    return {"value": value, **({"expires": expires} if expires else {}), **({"meta": meta} if meta else {})}


async def _access_token(call: MethodCall, provider: Provider, account: str) -> tuple[str, str]:
    """A short-lived token of a login, refreshed if necessary; never its refresh token."""
    from zot.provider.auth.oauth.refresh import fresh_token

    services = call.conversation.services
    token = await fresh_token(services.auth, provider, account=account, proxy=services.settings.values.http_proxy)
    return token.access_token, token.expiry


async def _consent(call: MethodCall, child: ExtensionChild, provider: str) -> None:
    """Asked once in each installation."""
    from zot.features.extensions.loader.lock_file import LockFile
    from zot.provider.messages import ToolCallBlock

    lock, key = LockFile(call.host.home), child.entry.manifest.directory.name
    installed = child.entry.scope == "global"
    if installed and (known := lock.of(key)) is not None and provider in known.secrets:
        return
    question = ToolCallBlock("secret", "secrets.get").with_args({"provider": provider})
    reason = f"it wants your key for {provider}"
    if refusal := await call.host.require_approval(question, child.name, [(child.name, reason)]):
        raise RequestError("refused", f"secrets.get: {refusal}")
    if installed:
        await asyncio.to_thread(lock.grant_secret, key, provider)
