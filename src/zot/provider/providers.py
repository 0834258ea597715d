"""Providers: address, dialect and credential of each. Rows come from ``providers.json`` and the user's
``models.json``."""

# No ``from __future__ import annotations`` here: msgspec would have to compile every annotation at each start.
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import ConfigError

if TYPE_CHECKING:
    from zot.provider.auth.oauth.settings import OAuthSettings

# Ids that a models.json may not define: reserved.
RESERVED_IDS = frozenset({"script", "local"})

# Credentials of no provider.
_OTHER_CREDENTIALS = frozenset(
    {
        "ZOTCORE_RPC_TOKEN",
        "TELEGRAM_BOT_TOKEN",
        "ZOT_TELEGRAM_TOKEN",
        "MATRIX_ACCESS_TOKEN",
        "COPILOT_GITHUB_TOKEN",
    }
)

Api = str  # a row of ``dialects.DIALECTS``, "script", "local" or ``JOINED``
JOINED = "extension"  # of a provider that ``Catalog.source`` speaks for


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider. ``user_endpoint``: its address came from the user's ``models.json``."""

    id: str
    name: str
    api: Api
    own_api: Api = ""  # used at the provider's own address; servers that imitate it speak ``api``
    base_url: str = ""  # ``{A|B|=c}`` stands for the first variable that is set, else for c
    base_url_env: str = ""  # a variable that overrides base_url
    env: tuple[str, ...] = ()  # the key variables; the first that is set applies
    oauth_env: str = ""  # a variable with a bearer token of a login; overrides ``env``
    bearer_env: str = ""  # a variable with a bearer token of a gateway; ``env`` overrides it
    oauth_api: Api = ""  # a login (not a key) uses this dialect …
    oauth_base_url: str = ""  # … at this address
    other_key_url: str = ""  # a key that base_url rejects is tried here before it counts as bad
    keys_url: str = ""  # page where users create a key
    default_model: str = ""
    needs_key: bool = True
    local: bool = False
    any_model: bool = False  # accepts ids not in the catalog: local servers, gateways, vendors listed in part
    headers: dict[str, str] = {}
    key_header: str = ""  # header of the key if not the dialect's; "authorization" means a bearer token
    cloud: str = ""  # also accepts credentials of these programs: "aws"
    lists_models: bool = True  # its model list, if any, names the usable models
    aliases: tuple[str, ...] = ()
    rows_of: str = ""  # shares the catalog rows of this provider
    live_prefixes: tuple[str, ...] = ()  # discovery keeps only ids that begin with one of these
    discover: bool = False  # models.json requested its model list
    user_endpoint: bool = False
    tool_calls: str = ""  # of its models, as ``Model.tool_calls``; set in models.json
    key_login: bool = True  # False: there are no keys, only logins
    login_note: str = ""  # one sentence before a login
    usage_url: str = ""  # page where users see how much of their plan is left
    oauth_row: dict[str, Any] = msgspec.field(name="oauth", default={})  # as written; ``oauth`` parses it

    def __repr__(self) -> str:
        """Omits headers and the oauth row, which may contain secrets: tracebacks show this."""
        return f"Provider({self.id!r}, {self.base_url!r})"

    @property
    def oauth(self) -> "OAuthSettings | None":
        """The OAuth settings; None if only keys are supported. ConfigError for a wrong row."""
        if not self.oauth_row:
            return None
        from zot.provider.auth.oauth.settings import read_settings  # not needed with a key

        return read_settings(self.oauth_row)

    @property
    def has_subscription_login(self) -> bool:
        """True if an OAuth login can work: the server issues a client id, or the user has one."""
        try:
            settings = self.oauth
        except ConfigError:
            return False
        if settings is None or (settings.registration_client and self.user_endpoint):
            return False  # a vendor's plan is for the vendor's address
        return settings.can_name_client or bool(settings.issuer)


@functools.cache
def builtin_providers() -> dict[str, Provider]:
    """The built-in rows by id, read on first use. Shared: never change it."""
    rows = msgspec.json.decode(Path(__file__).with_name("providers.json").read_bytes(), type=list[Provider])
    return {row.id: row for row in rows}


def key_variable(provider_id: str) -> str:
    """The key variable of a custom provider: ``my-company`` reads ``MY_COMPANY_API_KEY``."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in provider_id).upper() + "_API_KEY"


def credential_variables(providers: Iterable[Provider] = ()) -> frozenset[str]:
    """All variables with credentials, hidden from child processes; built-in providers always count."""
    names = set(_OTHER_CREDENTIALS)
    for provider in (*builtin_providers().values(), *providers):
        names.update(provider.env)
        names.add(key_variable(provider.id))
        names.update(filter(None, (provider.oauth_env, provider.bearer_env)))
    return frozenset(names)


def canonical_id(name: str, providers: Mapping[str, Provider] | None = None) -> str:
    """The id behind a typed or stored name: itself, or the provider it is an alias of; unknown names stay."""
    providers = builtin_providers() if providers is None else providers
    return name if name in providers else alias_target(name, providers)


def alias_target(name: str, providers: Mapping[str, Provider] | None = None) -> str:
    """As ``canonical_id``, but an alias wins over an id: the rule for keys in ``models.json``."""
    rows = (builtin_providers() if providers is None else providers).values()
    return next((row.id for row in rows if name in row.aliases), name)


def base_url_of(provider: Provider, environ: Mapping[str, str]) -> str:
    """The provider's address: from its variable, else its own."""
    named = environ.get(base_url_variable(provider, environ), "").strip()
    return named or _filled(provider, environ)[0]


def base_url_variable(provider: Provider, environ: Mapping[str, str]) -> str:
    """The variable that is set and replaces the provider's address; empty if there is none."""
    return next((name for name in base_url_variables(provider) if environ.get(name, "").strip()), "")


def base_url_variables(provider: Provider) -> tuple[str, ...]:
    """``OPENAI_BASE_URL`` and ``OPENAI_API_BASE`` beside ``OPENAI_API_KEY``; the first that is set applies. None for
    addresses of models.json and of clouds, which contain other variables."""
    if provider.base_url_env:
        return (provider.base_url_env,)
    if provider.user_endpoint or not provider.needs_key or "{" in provider.base_url:
        return ()
    stems = [name.removesuffix("_API_KEY") for name in provider.env if name.endswith("_API_KEY")]
    return tuple(stem + end for stem in stems for end in ("_BASE_URL", "_API_BASE"))


def missing_in_address(provider: Provider, environ: Mapping[str, str]) -> str:
    """The missing variable of an address, with its other names; empty if complete."""
    return _filled(provider, environ)[1]


def _filled(provider: Provider, environ: Mapping[str, str]) -> tuple[str, str]:
    """The address with its variables expanded; empty if one is missing."""
    if "{" not in provider.base_url:
        return provider.base_url, ""
    first, *rest = provider.base_url.split("{")
    url = first
    for piece in rest:
        names, _, after = piece.partition("}")
        value = _variable(provider, names.split("|"), environ)
        if not value:
            return "", names.replace("|", " or ")
        url += value.rstrip("/") + after
    return url.replace("//global-aiplatform.", "//aiplatform."), ""  # Vertex AI's address without a region


def _variable(provider: Provider, names: list[str], environ: Mapping[str, str]) -> str:
    for name in names:
        if value := name[1:] if name.startswith("=") else environ.get(name, "").strip():
            return value
    if provider.cloud == "aws":
        from zot.provider.auth.aws import profile_region

        return profile_region(environ)
    return ""


def is_url(text: str) -> bool:
    return bool(host_of(text))


def is_loopback(url: str) -> bool:
    host = host_of(url)
    if host in ("localhost", "[::1]", "0.0.0.0") or host[1:].endswith(".localhost"):
        return True
    first, *rest = host.split(".")
    return first == "127" and len(rest) == 3 and all(part.isdecimal() and len(part) <= 3 for part in rest)


def host_of(url: str) -> str:
    """The host of an http address in lower case, IPv6 in brackets; empty for anything else."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in ("http", "https"):
        return ""
    user, at, place = rest.partition("@")
    if at and "/" not in user:
        rest = place
    if rest.startswith("[") and "]" in rest:
        return rest[: rest.index("]") + 1].lower()
    end = min((i for i in map(rest.find, "/:?#") if i >= 0), default=len(rest))
    return rest[:end].lower()
