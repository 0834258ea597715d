"""Models on this machine, and models that a grammar constrains: detection, safeguards and a short prompt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.agent.feature import Feature, PromptDraft
from zot.agent.model_resolver import ResolvedModel
from zot.agent.services import Services
from zot.errors import ProviderError, ZotError
from zot.provider.dialects.dialect import Endpoint
from zot.provider.http.message import HttpRequest
from zot.provider.model import Model
from zot.provider.tool_call_probe import Ask, ToolCallSupport, probe_tool_calls, served_model_digest
from zot.system.json_store import JsonCache

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

ASKS = "accept-edits"  # edits in the project run, commands require approval


def prepare_run(services: Services) -> list[str]:
    """Prepares the run for such a model; returns notices."""
    config, values, front_end = services.config, services.settings.values, services.front_end
    if config.permission_mode or values.permission_mode or services.workspace.jail is not None:
        return []
    if front_end.switches or "approval" in front_end.question_kinds:
        services.constrained_mode = ASKS
        return []
    if config.tools is not None and "bash" not in config.tools:
        return []
    from zot.features.jail.feature import create_jail  # most runs have none

    try:
        services.workspace.jail = create_jail(services, "on")
    except ZotError as error:
        services.withheld = frozenset({"bash"})
        return [
            f"bash is disabled: no jail available ({error}) and no user to approve commands;"
            " enable it with --permission-mode everything"
        ]
    return []


def apply_to_conversation(conversation: Conversation, feature: LocalModelFeature) -> list[str]:
    """Adapts tools and permissions if only one of the old and new model is constrained; returns notices."""
    note = _narrow(conversation, feature) if conversation.model.tool_calls else _restore(conversation, feature)
    conversation.refresh_tools(own=True)
    return note


def _narrow(conversation: Conversation, feature: LocalModelFeature) -> list[str]:
    services, gate = feature.services, conversation.gate
    if (gate is not None and not gate.allows_everything) or services.constrained_mode or services.withheld:
        return []
    note = prepare_run(services)
    if gate is not None and services.constrained_mode:
        feature.narrowed, gate.mode = True, ASKS
        return [*note, f"{conversation.model.id} is a small model: commands now require approval"]
    return note


def _restore(conversation: Conversation, feature: LocalModelFeature) -> list[str]:
    """Undoes ``_narrow``, but not a jail or mode that the user chose since."""
    services, gate = feature.services, conversation.gate
    narrowed, feature.narrowed = feature.narrowed, False
    services.withheld = frozenset()
    if gate is None or not gate.allows_everything:  # otherwise the user chose it for the small model
        services.constrained_mode = ""
    if gate is None or not narrowed or gate.mode != ASKS:
        return []
    gate.mode = "everything"
    return ["commands no longer require approval: the small model was replaced"]


# Shortcomings of a local model, shown once after its first answer: such servers start with small windows
# and any model, and work would go wrong in odd ways.

SMALL_WINDOW = 16_384
_KNOWS_GRAMMARS = ("llama.cpp",)  # whose servers take one in a request
_LARGER = {
    "ollama": "OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
    "llama.cpp": "llama-server -c 32768",
    "lmstudio": "load it with a larger context length",
}


def capability_warnings(model: Model) -> Iterator[str]:
    if model.tool_calls:
        return  # constrained by a grammar, which handles both
    if 0 < model.context_window < SMALL_WINDOW:
        larger = _LARGER.get(model.provider, "start its server with a larger context")
        yield (
            f"{model.id} has a window of {model.context_window} tokens, which files and commands fill quickly;"
            f" use at least 16k: {larger}"
        )
    if model.tools is False and model.provider in _KNOWS_GRAMMARS:
        yield (
            f"{model.id} has no tool calling; to constrain it with a grammar, add"
            f' {{"providers": {{"{model.provider}": {{"tool_calls": "grammar"}}}}}} to models.json'
        )
    elif model.tools is False:
        yield f"{model.id} has no tool calling (its server reports): it cannot change files; choose another with /model"


FILE = "tool-calls.json"
_CONNECT_S = 2.0
_PROPS_S = 3.0
_PATIENCE_S = 60.0  # a large model on a slow machine reads a prompt slowly
_TRY_AGAIN_S = 24 * 3600.0
_BODY_LIMIT = 1 << 20
_MOST_KEPT = 200


class ToolSupport(msgspec.Struct, frozen=True):
    """Cached result for a model of a server; ``calls`` is None if unknown."""

    server: str
    calls: bool | None
    grammar: bool
    at: float


async def constrain_if_no_tools(resolved: ResolvedModel, services: Services) -> ResolvedModel | None:
    """The model with a grammar, if it has no tool calling and its server supports grammars; else None."""
    endpoint = resolved.endpoint
    if endpoint is None:
        return None
    try:
        ability = await _ability(endpoint, resolved.model.id, services)
    except (ProviderError, OSError, TimeoutError):
        return None  # an unreachable server is reported with the prompt
    if ability.calls is not False or not ability.grammar:
        return None
    model = msgspec.structs.replace(resolved.model, tool_calls="grammar")
    return msgspec.structs.replace(resolved, model=model, api="grammar", notices=[])


async def _ability(endpoint: Endpoint, model: str, services: Services) -> ToolCallSupport:
    ask = _asker(services, endpoint)
    async with asyncio.timeout(_PROPS_S):
        server = await served_model_digest(endpoint, ask)
    if not server:
        return ToolCallSupport(None)
    path, key = services.home / FILE, f"{endpoint.base_url} {model}"
    known = _cache(path).load().get(key)
    if known is not None and known.server != server:
        known = None
    if known is not None and (known.calls is not None or 0 <= time.time() - known.at < _TRY_AGAIN_S):
        return ToolCallSupport(known.calls, known.grammar)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            found = await probe_tool_calls(endpoint, model, ask)
    except TimeoutError:
        found = ToolCallSupport(None)
    with suppress(OSError), _cache(path).edit() as kept:  # if it cannot be written, the server is probed next time
        kept.pop(key, None)
        for name in sorted(kept, key=lambda name: kept[name].at)[: -_MOST_KEPT + 1]:
            del kept[name]
        kept[key] = ToolSupport(server, found.calls, found.grammar, time.time())
    return found


def _asker(services: Services, endpoint: Endpoint) -> Ask:
    async def ask(request: HttpRequest) -> tuple[int, dict[str, Any]]:
        response = await services.pool.dispatch(request, insecure=endpoint.insecure, connect_timeout=_CONNECT_S)
        try:
            value: Any = msgspec.json.decode(await response.read(_BODY_LIMIT))
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            value = None
        finally:
            response.abort()
        return response.status, cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    return ask


# --- the feature


def _cache(path: Path) -> JsonCache[dict[str, ToolSupport]]:
    return JsonCache(path, dict[str, ToolSupport])


class LocalModelFeature(Feature):
    """``narrowed``: the permission mode was ``everything`` until such a model took over in mid-session."""

    name = "local_model"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.narrowed = False
        self._checked: ResolvedModel | None = None  # the model that was tested

    def join(self) -> None:
        from zot.local_model.short_prompt import SmallModelPrompt

        conversation = self.conversation
        prompt = self.system_prompt
        prompt.short = SmallModelPrompt(prompt, lambda: conversation.model.tool_calls != "")
        if conversation.model.tool_calls and not conversation.features.started:
            for text in prepare_run(self.services):
                self.notify(text)

    async def before_prompt(self, draft: PromptDraft) -> str:
        """The first prompt tests tool calling; a model without it is constrained by a grammar."""
        conversation, resolved = self.conversation, self.conversation.resolved
        if self._checked is resolved or not resolved.tool_support_unknown or not conversation.agent.specs:
            return ""

        constrained = await constrain_if_no_tools(resolved, self.services)
        self._checked = resolved
        if constrained is not None:
            self._checked = constrained
            name = constrained.model.id
            self.notify(f"{name} has no tool calling (tested); its output is constrained by a grammar")
            await conversation.apply_model(constrained).aclose()
        return ""

    def model_changed(self, before: Model) -> None:
        if before.tool_calls != self.conversation.model.tool_calls:
            for text in apply_to_conversation(self.conversation, self):
                self.notify(text)

    def model_updated(self, known: Model) -> None:
        if self.conversation.resolved.provider.local:
            model = self.conversation.model
            for text in capability_warnings(model if model.tool_calls else known):
                self.notify(text)
