"""Table of dialects (API formats); imports only the requested one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zot.provider.dialects.dialect import Dialect

# Values of ``api`` in the provider table and in models.json: module and class.
DIALECTS = {
    "anthropic": ("anthropic", "AnthropicDialect"),
    "openai": ("openai_chat", "OpenAIChatDialect"),
    "openai-responses": ("openai_responses", "OpenAIResponsesDialect"),
    "gemini": ("gemini", "GeminiDialect"),
    "bedrock": ("bedrock", "BedrockDialect"),
    "grammar": ("grammar.dialect", "GrammarDialect"),
}

# A function that a dialect is created with, as ``module:name``. It may be in a layer above, which this one never
# imports itself.
_ARGUMENTS = {"grammar": "zot.local_model.coaching.advice:advise"}


def dialect_for(api: str) -> Dialect:
    """A new instance, since a dialect stores its last request. ``api`` must be a row of the table."""
    from importlib import import_module

    file, name = DIALECTS[api]
    create = getattr(import_module(f"{__name__}.{file}"), name)
    if api not in _ARGUMENTS:
        return create()
    module, _, function = _ARGUMENTS[api].partition(":")
    return create(getattr(import_module(module), function))
