"""Address and signing of requests, or a client that reports the missing login."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from zot.agent.settings import SettingsValues
from zot.errors import ConfigError, NotLoggedIn
from zot.provider.auth.credential_lookup import Credential
from zot.provider.dialects.dialect import Endpoint
from zot.provider.model import Model
from zot.provider.model_call import Request, StreamEvent
from zot.provider.providers import (
    Api,
    Provider,
    base_url_of,
    builtin_providers,
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
) -> Endpoint:
    """``base_url`` is the flag; then the model's address, a login's and the provider's."""
    url = (base_url or model.base_url or _provider_url(provider, credential, environ)).rstrip("/")
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
        key_header=provider.key_header,
        headers=provider.headers,
        silence_s=values.silence_for(provider.id) or silence,
        insecure=(insecure or values.insecure) and not is_built_in(url),
        retries=values.retries,
        retry_wait_s=values.retry_wait_s,
    )
    if credential.method != "oauth" or endpoint.oauth:
        return endpoint
    from zot.provider.auth.oauth.refresh import sign  # a login at the user's own server

    return sign(endpoint, provider, credential.key, credential.account_id)


def dialect_for(provider: Provider, model: Model, credential: Credential | None) -> Api:
    """The dialect: a login may need another one than a key; so may a model without tool calling."""
    if "grammar" in (model.tool_calls, provider.tool_calls) and provider.api == "openai":
        return "grammar"
    subscription = credential is not None and _is_subscription(provider, credential)
    return provider.oauth_api if subscription and provider.oauth_api else provider.api


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
