"""Search engines with an API: the request for a query, and the results in an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from zot.errors import ToolError
from zot.provider.auth.credential_lookup import find_credential
from zot.provider.http.message import HttpRequest
from zot.provider.providers import Provider

if TYPE_CHECKING:
    from zot.agent.services import Services
    from zot.agent.settings import WebSearchSetting

MOST_RESULTS = 10


class SearchResult(msgspec.Struct, frozen=True):
    title: str = ""
    url: str = ""
    snippet: str = ""


class Engine(msgspec.Struct, frozen=True):
    """``key_header`` with ``{}`` for the key; ``rows`` leads to the list in the answer, ``snippet`` are the fields of a
    row that may have the text. ``body`` makes a POST request."""

    name: str
    url: str
    env: tuple[str, ...] = ()
    key_header: tuple[str, str] = ("", "")
    query: Callable[[str], Mapping[str, str]] | None = None
    body: Callable[[str], dict[str, Any]] | None = None
    rows: tuple[str, ...] = ("results",)
    snippet: tuple[str, ...] = ("content",)

    def request(self, base: str, key: str, query: str) -> HttpRequest:
        headers = [("accept", "application/json"), ("user-agent", "zot")]
        if key:
            name, value = self.key_header
            headers.append((name, value.replace("{}", key)))
        address = base or self.url
        if self.query is not None:
            joint = "&" if "?" in address else "?"
            return HttpRequest("GET", f"{address}{joint}{urlencode(self.query(query))}", headers, b"")
        assert self.body is not None
        headers.append(("content-type", "application/json"))
        return HttpRequest("POST", address, headers, msgspec.json.encode(self.body(query)))

    def results(self, answer: bytes) -> list[SearchResult]:
        try:
            rows: Any = msgspec.json.decode(answer)
            for name in self.rows:
                rows = rows.get(name, {})
            listed = msgspec.convert(rows or [], list[dict[str, Any]])
        except (msgspec.MsgspecError, UnicodeError, RecursionError, AttributeError) as error:
            raise ToolError(f"{self.name} sent no list of results") from error
        return [self._result(row) for row in listed if row.get("url")][:MOST_RESULTS]

    def _result(self, row: dict[str, Any]) -> SearchResult:
        texts = (row.get(name) for name in self.snippet)
        snippet = next((text if isinstance(text, str) else " ".join(map(str, text)) for text in texts if text), "")
        return SearchResult(*(" ".join(str(text).split()) for text in (row.get("title") or "", row["url"], snippet)))


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            "brave",
            "https://api.search.brave.com/res/v1/web/search",
            ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
            ("x-subscription-token", "{}"),
            query=lambda query: {"q": query, "count": str(MOST_RESULTS), "text_decorations": "false"},
            rows=("web", "results"),
            snippet=("description",),
        ),
        Engine(
            "tavily",
            "https://api.tavily.com/search",
            ("TAVILY_API_KEY",),
            ("authorization", "Bearer {}"),
            body=lambda query: {"query": query, "max_results": MOST_RESULTS},
        ),
        Engine(
            "exa",
            "https://api.exa.ai/search",
            ("EXA_API_KEY",),
            ("x-api-key", "{}"),
            body=lambda query: {"query": query, "numResults": MOST_RESULTS, "contents": {"highlights": True}},
            snippet=("highlights", "summary", "text"),
        ),
        Engine(
            "kagi",
            "https://kagi.com/api/v1/search",
            ("KAGI_API_KEY", "KAGI_API_TOKEN"),
            ("authorization", "Bearer {}"),
            body=lambda query: {"query": query, "workflow": "search", "limit": MOST_RESULTS},
            rows=("data", "search"),
            snippet=("snippet",),
        ),
        Engine("searxng", "", query=lambda query: {"q": query, "format": "json"}),
    )
}

HOW_TO_CONFIGURE = (
    'no web search is configured; the user can set one in config.json: "web_search": {"engine": "brave"} with '
    'BRAVE_API_KEY (also tavily, exa, kagi), or {"engine": "searxng", "url": "http://localhost:8080"}'
)


def chosen_engine(setting: WebSearchSetting, environ: Mapping[str, str]) -> Engine | None:
    """The engine of the settings, else the first whose key is in the environment."""
    if setting.engine:
        return ENGINES.get(setting.engine)
    if setting.url:
        return ENGINES["searxng"]
    return next(
        (engine for engine in ENGINES.values() if any(environ.get(name, "").strip() for name in engine.env)), None
    )


def engine_key(engine: Engine, setting: WebSearchSetting, services: Services) -> str:
    """The key of an engine: its variable, its stored login, or the program of ``api_key_command``. May block."""
    names = (setting.key_env,) if setting.key_env else engine.env
    provider = Provider(id=engine.name, name=engine.name, api="", env=names)
    commands = services.settings.values.api_key_command
    found = find_credential(provider, services.auth, services.environ, commands=commands)
    if found is None and engine.env:
        raise ToolError(f"web_search: {engine.name} needs a key: set {names[0]}, or api_key_command in config.json")
    return "" if found is None else found.key


def engine_address(engine: Engine, setting: WebSearchSetting) -> str:
    """The address from the settings; that of SearXNG may be its home page."""
    base = setting.url.strip().rstrip("/")
    if engine.name != "searxng":
        return base
    if not base:
        raise ToolError('it needs its address: "web_search": {"engine": "searxng", "url": "http://…"}')
    base = base if "://" in base else f"http://{base}"
    return base if base.endswith("/search") else f"{base}/search"
