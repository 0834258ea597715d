"""Chat completions of a llama.cpp server whose model cannot call tools by itself: no ``tools`` are sent, but a grammar
that leaves the model only the actions they allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zot.provider.dialects.dialect import Decoder, Endpoint, ListedModel
from zot.provider.dialects.grammar.action_grammar import action_grammar
from zot.provider.dialects.grammar.transcript import DEFAULT_WINDOW, LONGEST_ANSWER, wire_messages
from zot.provider.dialects.grammar.turn_advice import Advice, Advisor
from zot.provider.dialects.request_parts import address, bearer, get, post
from zot.provider.http.message import HttpRequest
from zot.provider.http.sse import SseParser
from zot.provider.model_call import Request


class GrammarDialect:
    """Speaks ``/v1/chat/completions`` with ``grammar``, which only llama.cpp knows. ``advisor`` says what the model may
    do in each turn."""

    levels: Mapping[str, str] = {}
    frames = SseParser

    def __init__(self, advisor: Advisor) -> None:
        self._advisor = advisor

    def request(self, request: Request, endpoint: Endpoint) -> HttpRequest:
        url = address(endpoint.base_url, "chat/completions")
        return post(url, endpoint, bearer(endpoint), self.body(request))

    def body(self, request: Request) -> dict[str, Any]:
        """The JSON of the request."""
        advice = self._advice(request)
        prompt = advice.prompt
        window = request.model.context_window or DEFAULT_WINDOW
        limit = request.max_tokens or request.model.max_output or LONGEST_ANSWER
        longest = min(prompt.longest if prompt else LONGEST_ANSWER, max(window // 4, 64))
        wire: dict[str, Any] = {
            "model": request.model.id,
            "messages": prompt.messages(advice.instructions, advice.earlier)
            if prompt
            else wire_messages(request, advice),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": max(request.temperature or 0.0, advice.temperature),
            "seed": len(request.messages),  # a run that is repeated goes the same way
            "max_tokens": min(limit, longest) if request.tools else limit,
            "cache_prompt": True,
        }
        if request.tools:
            wire["grammar"] = prompt.grammar() if prompt and not advice.only else turn_grammar(request, advice)
        return wire

    def decoder(self, request: Request, endpoint: Endpoint) -> Decoder:
        from zot.provider.dialects.grammar.decoder import GrammarDecoder  # only an answer needs it

        return GrammarDecoder(request, endpoint, self._advice(request))

    def _advice(self, request: Request) -> Advice:
        return self._advisor(request) if request.tools else Advice()

    def list_request(self, endpoint: Endpoint, after: str) -> HttpRequest:
        return get(address(endpoint.base_url, "models"), endpoint, bearer(endpoint))

    def listed(self, page: Mapping[str, Any]) -> tuple[list[ListedModel], str]:
        from zot.provider.dialects.model_list import entries

        return entries(page), ""

    def probe_request(self, endpoint: Endpoint) -> HttpRequest:
        return self.list_request(endpoint, "")


def turn_grammar(request: Request, advice: Advice) -> str:
    if advice.must_end:
        return action_grammar((), final=True, opening=advice.opening)
    only = advice.only
    offered = [
        tool for tool in request.tools if tool.name not in advice.withheld and (only is None or tool.name in only)
    ]
    return action_grammar(
        offered,
        final=advice.final,
        files=advice.files,
        fixed=advice.fixed,
        single=advice.single,
        choices=advice.choices,
    )
