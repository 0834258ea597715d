"""From an endpoint to a client. Only the dialect that is needed is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from zot.provider.dialects.dialect import Dialect, Endpoint
    from zot.provider.http.pool import HttpPool
    from zot.provider.model_call import Client
    from zot.provider.providers import Api


def connect(endpoint: Endpoint, api: Api, pool: HttpPool | None = None) -> Client:
    """A client for an HTTP endpoint. A pool that is passed in is shared; without one the client owns its own."""
    from zot.provider.client import HttpClient

    return HttpClient(endpoint.provider, _dialect(api), endpoint, pool)


def connect_script(path: Path) -> Client:
    """The scripted model: reads its answers from a file."""
    from zot.provider.scripted import ScriptedClient

    return ScriptedClient.load(path)


def _dialect(api: Api) -> Dialect:
    match api:
        case "anthropic":
            from zot.provider.dialects.anthropic import AnthropicDialect

            return AnthropicDialect()
        case "openai":
            from zot.provider.dialects.openai_chat import OpenAIChatDialect

            return OpenAIChatDialect()
        case "openai-responses":
            from zot.provider.dialects.openai_responses import OpenAIResponsesDialect

            return OpenAIResponsesDialect()
        case "script":
            raise ConfigError("the scripted model has no HTTP endpoint")
