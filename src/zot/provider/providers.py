"""The table of providers. A row says where a provider answers, in which dialect and with whose key; adding one
is adding a row. Custom providers from ``models.json`` become rows of the same shape (see ``models_file``).

``env`` names the key variables in order of precedence. An ``any_model`` provider takes ids the catalogue does not
know: local servers, gateways and vendors of whom the catalogue lists only a sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

Api = str  # a row of ``dialects.DIALECTS``, or "script"


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider. ``user_endpoint`` marks an address that came from the user's ``models.json``."""

    id: str
    name: str
    api: Api
    base_url: str = ""
    base_url_env: str = ""  # a variable that replaces base_url
    env: tuple[str, ...] = ()
    oauth_env: str = ""  # a variable holding a bearer token; beats ``env``
    oauth_api: Api = ""  # a login (not a key) speaks this dialect …
    oauth_base_url: str = ""  # … at this address
    other_key_url: str = ""  # a key that base_url refuses is tried here before it is called bad
    default_model: str = ""
    needs_key: bool = True
    local: bool = False
    any_model: bool = False
    headers: dict[str, str] = {}
    aliases: tuple[str, ...] = ()
    rows_of: str = ""  # shares the catalogue rows of this provider
    live_prefixes: tuple[str, ...] = ()  # discovery keeps only ids that begin so
    discover: bool = False  # models.json asked for its model list
    user_endpoint: bool = False


PROVIDERS: dict[str, Provider] = {
    row.id: row
    for row in (
        Provider(
            id="anthropic",
            name="Anthropic",
            api="anthropic",
            base_url="https://api.anthropic.com",
            env=("ANTHROPIC_API_KEY",),
            oauth_env="ANTHROPIC_OAUTH_TOKEN",
            default_model="claude-sonnet-4-5",
            aliases=("anthropic-messages",),
        ),
        Provider(
            id="openai",
            name="OpenAI",
            api="openai",
            base_url="https://api.openai.com",
            env=("OPENAI_API_KEY",),
            oauth_api="openai-responses",
            oauth_base_url="https://chatgpt.com/backend-api/codex/responses",
            default_model="gpt-5",
            aliases=("openai-codex", "openai-responses"),
            live_prefixes=("gpt-", "o1", "o3", "o4", "o5", "chatgpt-"),
        ),
        Provider(
            id="kimi",
            name="Kimi",
            api="openai",
            base_url="https://api.kimi.com/coding/v1",
            env=("KIMI_API_KEY", "MOONSHOT_API_KEY"),
            other_key_url="https://api.moonshot.ai/v1",
            default_model="kimi-for-coding",
            aliases=("moonshot", "moonshot-ai", "kimi-code"),
        ),
        Provider(
            id="openai-responses",
            name="OpenAI (Responses API)",
            api="openai-responses",
            base_url="https://api.openai.com/v1",
            env=("OPENAI_API_KEY",),
            default_model="gpt-5",
            rows_of="openai",
        ),
        Provider(
            id="openrouter",
            name="OpenRouter",
            api="openai",
            base_url="https://openrouter.ai/api/v1",
            env=("OPENROUTER_API_KEY",),
            default_model="anthropic/claude-sonnet-4.5",
            any_model=True,
        ),
        Provider(
            id="deepseek",
            name="DeepSeek",
            api="openai",
            base_url="https://api.deepseek.com",
            env=("DEEPSEEK_API_KEY",),
            default_model="deepseek-v4-pro",
            any_model=True,
        ),
        Provider(
            id="groq",
            name="Groq",
            api="openai",
            base_url="https://api.groq.com/openai/v1",
            env=("GROQ_API_KEY",),
            default_model="openai/gpt-oss-120b",
            any_model=True,
        ),
        Provider(
            id="mistral",
            name="Mistral",
            api="openai",
            base_url="https://api.mistral.ai/v1",
            env=("MISTRAL_API_KEY",),
            default_model="devstral-latest",
            any_model=True,
        ),
        Provider(
            id="xai",
            name="xAI",
            api="openai",
            base_url="https://api.x.ai/v1",
            env=("XAI_API_KEY",),
            default_model="grok-4.3",
            any_model=True,
        ),
        Provider(
            id="together",
            name="Together AI",
            api="openai",
            base_url="https://api.together.xyz/v1",
            env=("TOGETHER_API_KEY",),
            default_model="openai/gpt-oss-120b",
            aliases=("togetherai",),
            any_model=True,
        ),
        Provider(
            id="fireworks",
            name="Fireworks AI",
            api="openai",
            base_url="https://api.fireworks.ai/inference/v1",
            env=("FIREWORKS_API_KEY",),
            default_model="accounts/fireworks/models/gpt-oss-120b",
            aliases=("fireworks-ai",),
            any_model=True,
        ),
        Provider(
            id="cerebras",
            name="Cerebras",
            api="openai",
            base_url="https://api.cerebras.ai/v1",
            env=("CEREBRAS_API_KEY",),
            default_model="gpt-oss-120b",
            any_model=True,
        ),
        Provider(
            id="ollama",
            name="Ollama",
            api="openai",
            base_url="http://localhost:11434",
            needs_key=False,
            local=True,
            any_model=True,
        ),
        Provider(
            id="lmstudio",
            name="LM Studio",
            api="openai",
            base_url="http://localhost:1234/v1",
            env=("LMSTUDIO_API_KEY",),
            needs_key=False,
            local=True,
            any_model=True,
        ),
        Provider(
            id="llama.cpp",
            name="llama.cpp server",
            api="openai",
            base_url="http://localhost:8080/v1",
            base_url_env="LLAMA_BASE_URL",
            env=("LLAMA_API_KEY",),
            needs_key=False,
            local=True,
            any_model=True,
        ),
        Provider(
            id="vllm",
            name="vLLM",
            api="openai",
            base_url="http://localhost:8000/v1",
            env=("VLLM_API_KEY",),
            needs_key=False,
            local=True,
            any_model=True,
        ),
        Provider(
            id="script",
            name="Scripted model",
            api="script",
            default_model="script",
            needs_key=False,
            any_model=True,
        ),
    )
}

# Tried in this order when nobody named a provider and the default one has no credential.
FALLBACKS = ("anthropic", "openai", "kimi")

# Ids a models.json may not define: ours now, or later.
RESERVED_IDS = frozenset({"script", "local"})

# Credentials that belong to no provider.
_OTHER_CREDENTIALS = frozenset(
    {
        "ZOTCORE_RPC_TOKEN",
        "TELEGRAM_BOT_TOKEN",
        "ZOT_TELEGRAM_TOKEN",
        "MATRIX_ACCESS_TOKEN",
        "ANTHROPIC_AUTH_TOKEN",
    }
)

_LOOPBACK = re.compile(r"(.+\.)?localhost|\[::1\]|0\.0\.0\.0|127(\.\d{1,3}){3}")
_HOST = re.compile(r"https?://(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]*)", re.IGNORECASE)


def key_variable(provider_id: str) -> str:
    """The key variable of a custom provider: ``my-company`` reads ``MY_COMPANY_API_KEY``."""
    return re.sub(r"[^A-Za-z0-9]", "_", provider_id).upper() + "_API_KEY"


def credential_variables(providers: Iterable[Provider] = ()) -> frozenset[str]:
    """Every variable that holds a credential zot knows; child processes do not get them.

    ``providers`` are the catalogue's, custom ones included; the built-in table always counts.
    """
    names = set(_OTHER_CREDENTIALS)
    for provider in (*PROVIDERS.values(), *providers):
        names.update(provider.env)
        names.add(key_variable(provider.id))
        if provider.oauth_env:
            names.add(provider.oauth_env)
    return frozenset(names)


def canonical_id(name: str, providers: Mapping[str, Provider] = PROVIDERS) -> str:
    """The id behind a typed or stored name: itself, or the provider it is an alias of; unknown names stay."""
    return name if name in providers else alias_target(name, providers)


def alias_target(name: str, providers: Mapping[str, Provider] = PROVIDERS) -> str:
    """As ``canonical_id``, but an alias wins over an id: the rule for keys in ``models.json``."""
    return next((row.id for row in providers.values() if name in row.aliases), name)


def base_url_of(provider: Provider, environ: Mapping[str, str]) -> str:
    """The provider's address: its own, or what its variable says."""
    named = environ.get(provider.base_url_env, "").strip() if provider.base_url_env else ""
    return named or provider.base_url


def is_url(text: str) -> bool:
    match = _HOST.match(text)
    return match is not None and bool(match[1])


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine."""
    match = _HOST.match(url)
    host = match[1].lower() if match else ""
    return _LOOPBACK.fullmatch(host) is not None
