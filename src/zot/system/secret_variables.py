"""Names of environment variables that contain secrets, for child processes and redaction.
Names of files, sockets and programs and counters (``MAX_TOKENS``) are no secrets; ``env_passthrough`` corrects wrong
guesses."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

# The last word of a name that is a secret for any service.
_LAST_WORDS = frozenset(
    (
        *("TOKEN", "AUTHTOKEN", "ACCESSTOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE"),
        *("PASS", "APIKEY", "APIKEYS", "APITOKEN", "CREDENTIAL", "CREDENTIALS", "CREDS", "PAT", "JWT", "BEARER"),
        *("PGPASSWORD", "SSHPASS"),
    )
)
_ENDINGS = (
    *("_API_KEY", "_API_KEYS", "_API_TOKENS", "_ACCESS_TOKENS", "_AUTH_TOKENS", "_ADMIN_KEY", "_MASTER_KEY"),
    *("SECRET_KEY", "SECRET_KEY_BASE", "ACCESS_KEY", "ACCESS_KEY_ID", "PRIVATE_KEY", "PRIVATE_KEY_BASE64"),
    *("ENCRYPTION_KEY", "_SIGNING_KEY", "_AUTH_KEY", "_APP_KEY", "_ACCOUNT_KEY", "_STORAGE_KEY", "_DEPLOY_KEY"),
    *("_AGE_KEY", "_CONNECTION_STRING", "_WEBHOOK_URL", "_AUTH_CONFIG"),
)
_WHOLE = frozenset(
    (
        *("MYSQL_PWD", "REDISCLI_AUTH", "BW_SESSION", "FASTLANE_SESSION", "NPM_AUTH", "NPM_CONFIG__AUTH"),
        *("API_KEY", "GOOGLE_SERVICE_ACCOUNT", "KUBE_CONFIG_DATA"),
    )
)
_PATTERNS = (
    "OTEL_EXPORTER_OTLP_*HEADERS",
    "OP_SESSION_*",
    "POETRY_PYPI_TOKEN_*",
    "TF_VAR_*_TOKEN_*",
    "TF_TOKEN_*",
    "CARGO_REGISTRIES_*_CREDENTIAL*",
)
# For these services, a key or token by any name.
_VENDOR_WORDS = frozenset(
    (
        *("ANTHROPIC", "CLAUDE", "OPENAI", "CODEX", "CHATGPT", "COPILOT", "GEMINI", "GENAI", "VERTEX", "BEDROCK"),
        *("MISTRAL", "CODESTRAL", "GROQ", "DEEPSEEK", "XAI", "GROK", "OLLAMA", "OPENROUTER", "TOGETHER", "FIREWORKS"),
        *("COHERE", "CEREBRAS", "PERPLEXITY", "REPLICATE", "HF", "HUGGINGFACE", "HUGGING", "MOONSHOT", "KIMI", "ZAI"),
        *("ZHIPU", "GLM", "QWEN", "DASHSCOPE", "MINIMAX", "NVIDIA", "SAMBANOVA", "LITELLM", "VOYAGE", "JINA"),
        *("AWS", "AZURE", "GCP", "GOOGLE", "CLOUDFLARE", "DIGITALOCEAN", "HETZNER", "LINODE", "VULTR", "FLY", "HEROKU"),
        *("STRIPE", "TWILIO", "SENDGRID", "MAILGUN", "SLACK", "DISCORD", "DATADOG", "DD", "SENTRY", "ALGOLIA"),
        *("SUPABASE", "FIREBASE", "NETLIFY", "VERCEL", "PYPI", "NPM", "GITHUB", "GITLAB", "BITBUCKET", "CI"),
    )
)
_OF_VENDORS = frozenset({"KEY", "KEYS", "TOKENS"})

# They look like secrets but are not: paths, or variables that programs need.
_HARMLESS = frozenset({"GOOGLE_APPLICATION_CREDENTIALS", "GPG_KEY", "SSH_AUTH_SOCK"})
_COUNTING = frozenset({"MAX", "MIN", "NUM", "LIMIT", "COUNT", "BUDGET", "OUTPUT", "INPUT", "THINKING", "CONTEXT"})


def looks_like_secret(variable: str) -> bool:
    name = variable.upper()
    if name in _HARMLESS:
        return False
    if name in _WHOLE or name.endswith(_ENDINGS):
        return True
    words = name.split("_")
    if words[-1] in _LAST_WORDS:
        return True
    if words[-1] in _OF_VENDORS and not _VENDOR_WORDS.isdisjoint(words):
        return _COUNTING.isdisjoint(words)
    return any(fnmatchcase(name, pattern) for pattern in _PATTERNS)


def matches_any(variable: str, patterns: Iterable[str]) -> bool:
    """True if the user's list names it, directly or by a pattern (``AWS_*``)."""
    return any(variable == pattern or fnmatchcase(variable, pattern) for pattern in patterns)
