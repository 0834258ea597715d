"""Runs ``web_search``: with the engine of the settings, or with a model call in which the provider searches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import BadRequest, ConfigError, NotLoggedIn, ToolError
from zot.features.web.client import WebClient
from zot.features.web.engines import HOW_TO_CONFIGURE, Engine, SearchResult, engine_address, engine_key
from zot.features.web.side_call import side_answer
from zot.features.web.untrusted import mark_untrusted

if TYPE_CHECKING:
    from zot.features.web.feature import WebFeature

_LONGEST_QUERY = 1_000
_SNIPPET = 500
_HINTS = {401: "check its key", 403: "check its key", 422: "check its key", 429: "too many searches; try again later"}
_NO_JSON = 'enable "json" below search.formats in its settings.yml'
_SYSTEM = (
    "Search the web for the query you are given. Answer with at most 10 results, nothing else: for each one line with "
    "the title, one with the URL, and one or two sentences with what the page says about the query."
)


async def web_search(feature: WebFeature, args: dict[str, Any], context: ToolContext) -> ToolResult:
    query = args.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ToolError("web_search: 'query' is required")
    if len(query) > _LONGEST_QUERY:
        raise ToolError(f"web_search: the query has {len(query):,} characters; at most {_LONGEST_QUERY:,} are sent")
    feature.require_network("web_search")
    engine = feature.engine()
    if engine is not None:
        return await _of_engine(feature, engine, query.strip())
    if not feature.provider_tools():
        raise ToolError(f"web_search: {HOW_TO_CONFIGURE}")
    where = feature.conversation.resolved.provider.id
    text = await side_answer(feature.conversation, _SYSTEM, query.strip(), server_tools=("web_search",))
    return text_result(mark_untrusted(text, f"web search of {where}"), details={"engine": where})


async def _of_engine(feature: WebFeature, engine: Engine, query: str) -> ToolResult:
    results = await _results(feature, engine, query)
    details = {"engine": engine.name, "results": len(results)}
    if not results:
        return text_result(f"{engine.name} found nothing for this query", details=details)
    return text_result(
        mark_untrusted("\n\n".join(map(_spelled, results)), f"search with {engine.name}"), details=details
    )


def _spelled(result: SearchResult) -> str:
    return "\n".join(filter(None, (result.title[:300], result.url[:2_000], result.snippet[:_SNIPPET])))


async def _results(feature: WebFeature, engine: Engine, query: str) -> list[SearchResult]:
    conversation, setting = feature.conversation, feature.conversation.settings.values.web_search
    try:
        key = await asyncio.to_thread(engine_key, engine, setting, feature.services)
    except (ConfigError, NotLoggedIn) as error:
        raise ToolError(f"web_search: {error}") from error
    client = WebClient(conversation.pool, feature.shared.policy, conversation.settings.values.web_timeout_s)
    try:
        status, answer = await client.post(engine.request(engine_address(engine, setting), key, query))
    except (ToolError, BadRequest) as error:
        raise ToolError(f"web_search: {engine.name}: {_without(str(error), key)}") from None
    if status != 200:
        hint = _NO_JSON if engine.name == "searxng" and status == 403 else _HINTS.get(status, "")
        said = _without(" ".join(answer[:300].decode("utf-8", "replace").split()), key)
        raise ToolError(f"web_search: {engine.name} answered http {status}{f'; {hint}' if hint else ''}: {said}")
    return engine.results(answer)


def _without(text: str, key: str) -> str:
    return text.replace(key, "***") if key else text
