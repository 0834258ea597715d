"""Address and signing of requests, or a client that reports the missing login."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import msgspec

from zot.agent.settings import SettingsValues
from zot.errors import ConfigError, NotLoggedIn
from zot.provider.auth.credential_lookup import Credential
from zot.provider.dialects.dialect import Endpoint
from zot.provider.model import LongPrompt, Model
from zot.provider.model_call import Request, StreamEvent
from zot.provider.providers import (
    Api,
    Provider,
    base_url_of,
    base_url_variable,
    base_url_variables,
    builtin_providers,
    host_of,
    is_loopback,
    is_url,
    missing_in_address,
)

_SILENCE_S = 300.0
_CLOUDS = (".amazonaws.com", ".googleapis.com", ".azure.com")  # their addresses contain variables
_LOCAL_SILENCE_S = 900.0  # a local server may need long to read a prompt


def endpoint_for(
    provider: Provider,
    model: Model,
    credential: Credential,
    *,
    base_url: str,
    insecure: bool,
    values: SettingsValues,
    environ: Mapping[str, str],
    base_url_from: str = "",
) -> Endpoint:
    """``base_url`` is the flag; then the model's address, a login's and the provider's. ``base_url_from`` is the
    variable that ``base_url`` comes from. NotLoggedIn if a stored credential would go to an address of a variable."""
    variable = address_variable(provider, model, environ, base_url=base_url, base_url_from=base_url_from)
    if variable:
        url = base_url or base_url_of(provider, environ)
        _check_address(provider, credential, variable, url, insecure=insecure or values.insecure)
        if base_url_from and credential.source == "env" and host_of(base_url_of(provider, environ)) != host_of(url):
            raise NotLoggedIn(
                f"this run uses {host_of(url)}: set {base_url_from} to it beside the key, or pass --api-key"
            )
    else:
        url = base_url or credential.base_url or model.base_url or _provider_url(provider, credential, environ)
    url = url.rstrip("/")
    if not url and (variable := missing_in_address(provider, environ)):
        raise ConfigError(f"{provider.id}: address needs {variable}; set it, or pass --base-url URL")
    if not is_url(url):
        raise ConfigError(f'{provider.id}: address "{url}": expected http:// or https://')
    silence = _LOCAL_SILENCE_S if is_loopback(url) else _SILENCE_S
    endpoint = Endpoint(
        provider=provider.id,
        base_url=url,
        api_key=credential.key,
        oauth=_is_subscription(provider, credential),
        account_id=credential.account_id,
        key_header="authorization" if credential.bearer else provider.key_header,
        headers=provider.headers,
        silence_s=values.silence_for(provider.id) or silence,
        insecure=(insecure or values.insecure) and not is_built_in(url),
        retries=values.retries,
        retry_wait_s=values.retry_wait_s,
        service_tier="" if _is_subscription(provider, credential) else values.service_tier.get(provider.id, ""),
        long_cache=values.cache_lifetime == "long",
    )
    if credential.method != "oauth" or endpoint.oauth:
        return endpoint
    from zot.provider.auth.oauth.refresh import sign  # a login at the user's own server

    return sign(endpoint, provider, credential.key, credential.account_id)


def address_variable(
    provider: Provider, model: Model, environ: Mapping[str, str], *, base_url: str = "", base_url_from: str = ""
) -> str:
    """The variable that replaces the address of a provider with keys; empty if a flag or models.json has it."""
    if base_url or base_url_from:
        return base_url_from
    if model.base_url not in ("", provider.base_url) or not provider.needs_key:
        return ""
    return base_url_variable(provider, environ)


def without_address(provider: Provider, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment in which a key that is about to be stored is tried: at the provider's own address."""
    hidden = base_url_variables(provider) if provider.needs_key else ()
    return {name: value for name, value in environ.items() if name not in hidden} if hidden else environ


def _check_address(provider: Provider, credential: Credential, variable: str, url: str, *, insecure: bool) -> None:
    """A key goes to no other host than its own: only one given for this run goes to an address of the environment."""
    host = host_of(url)
    if host and not url.lower().startswith("https://") and not is_loopback(url) and not insecure:
        raise ConfigError(f"{variable}: keys are not sent over http:// to {host}; use https://, or pass --insecure")
    if host and credential.source not in ("flag", "env") and host != host_of(provider.base_url):
        key = provider.env[0]
        raise NotLoggedIn(
            f"{variable} is {host}, but the credential for {provider.id} is stored for {host_of(provider.base_url)}: "
            f"set {key} or pass --api-key for {host}, or unset {variable}"
        )


def dialect_for(provider: Provider, model: Model, credential: Credential | None, base_url: str = "") -> Api:
    """The dialect: a login may need another one than a key; so may a model without tool calling, and the vendor's own
    address."""
    if "grammar" in (model.tool_calls, provider.tool_calls) and provider.api == "openai":
        return "grammar"
    subscription = credential is not None and _is_subscription(provider, credential)
    if subscription and provider.oauth_api:
        return provider.oauth_api
    is_own = base_url == provider.base_url and not provider.user_endpoint
    return provider.own_api if provider.own_api and is_own else provider.api


_TIER_PRICES = {"flex": 0.5, "priority": 2.0, "fast": 2.0}
_HOUR_PRICE = 2.0  # of the input: writing to Claude's cache for an hour


def with_serving_prices(model: Model, endpoint: Endpoint) -> Model:
    """The prices of this service tier and cache lifetime, so that spending limits hold."""
    factor = _TIER_PRICES.get(endpoint.service_tier, 1.0)
    writes_dearer = endpoint.long_cache and "claude" in model.id and model.price_cache_write > 0
    if not writes_dearer and factor == 1.0:
        return model

    def price(row: Model | LongPrompt) -> dict[str, float]:
        fields = ("price_input", "price_output", "price_cache_read", "price_cache_write")
        prices = {name: getattr(row, name) * factor for name in fields}
        return prices | ({"price_cache_write": _HOUR_PRICE * prices["price_input"]} if writes_dearer else {})

    def scaled(row: LongPrompt | None) -> LongPrompt | None:
        return row and msgspec.structs.replace(row, **price(row), longer=scaled(row.longer))

    return msgspec.structs.replace(model, **price(model), long_prompt=scaled(model.long_prompt))


def _is_subscription(provider: Provider, credential: Credential) -> bool:
    """True for a login with the vendor; a token of the user's own server is sent in that server's way."""
    if credential.method != "oauth" or not (credential.account and provider.oauth_row):
        return credential.method == "oauth"
    row = builtin_providers().get(provider.id)
    same = row is not None and provider.oauth_row.get("token_url") == row.oauth_row.get("token_url")
    return same and not provider.user_endpoint


def is_built_in(url: str) -> bool:
    """True if the address ships with zot; TLS is always checked there."""
    host = url.partition("://")[2].partition("/")[0]
    if host.endswith(_CLOUDS):
        return True
    return any(url in (row.base_url, row.oauth_base_url) for row in builtin_providers().values())


def _provider_url(provider: Provider, credential: Credential, environ: Mapping[str, str]) -> str:
    if credential.method == "oauth" and provider.oauth_base_url and not provider.user_endpoint:
        return provider.oauth_base_url
    return base_url_of(provider, environ)


class LoggedOutClient:
    """Used until the login: raises the missing login instead of answering."""

    def __init__(self, provider: str, missing: str) -> None:
        self.name = provider
        self._missing = missing or f"no credential for {provider}"

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        raise NotLoggedIn(self._missing)
        yield  # an async generator that yields nothing

    async def aclose(self) -> None:
        """Holds nothing."""
