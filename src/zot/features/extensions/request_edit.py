"""The interceptions ``context``, ``model_request`` and ``provider_payload``: one model call as extensions change it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from zot.errors import RequestDenied, ZotError
from zot.features.extensions.child import ExtensionChild
from zot.features.extensions.context_edit import ContextEntry, description, edited, entries
from zot.features.extensions.edition2_interception import BadValue, Data, expect, expect_list, expect_object
from zot.features.extensions.interception import Denied, Handled
from zot.provider.model import REASONING_LEVELS
from zot.wire.extension_frames import InterceptName

if TYPE_CHECKING:
    from collections.abc import Callable

    from zot.features.extensions.host import ExtensionHost
    from zot.provider.model import Model
    from zot.provider.model_call import Request

_Value = TypeVar("_Value")
_HEADER = re.compile(r"x-[a-z0-9-]{1,60}", re.IGNORECASE)
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,1000}")


class Agreed(Protocol):
    async def __call__(
        self,
        event: InterceptName,
        value: _Value,
        data: Callable[[ExtensionChild, _Value], Data],
        rewritten: Callable[[ExtensionChild, _Value, Data], _Value],
    ) -> _Value: ...


class _Wanted(msgspec.Struct, frozen=True):
    """A request, and the model that an extension chose."""

    request: Request
    model: str = ""
    extension: str = ""


class RequestReview:
    """``agreed`` asks the chain. ``purpose`` is step, compaction or extension."""

    def __init__(self, host: ExtensionHost, agreed: Agreed, purpose: str, origin: str) -> None:
        self._host = host
        self._agreed = agreed
        self._purpose = purpose
        self._origin = origin

    # --- context

    async def context(self, request: Request) -> Request:
        revision = self._host.conversation.agent.revision if self._host.conversation is not None else 0

        def data(child: ExtensionChild, shown: tuple[ContextEntry, ...]) -> Data:
            content = str(child.options.get("context", {}).get("content", "new"))
            given = child.seen_entries
            messages = description(shown, content if content in ("none", "full") else "new", given)
            given.update(one.get("entry_id", "") for one in messages if "content" in one)
            return {"revision": revision, "messages": messages}

        def rewritten(child: ExtensionChild, shown: tuple[ContextEntry, ...], value: Data) -> tuple[ContextEntry, ...]:
            made, remark = edited(shown, value, child.name)
            if remark:
                child.fault("context", f"context: {remark}; it was ignored")
            return made

        before = entries(self._host, request.messages)
        after = await self._agreed("context", before, data, rewritten)
        if after is before:
            return request
        self._report_lost_cache(before, after)
        return msgspec.structs.replace(request, messages=tuple(entry.message for entry in after))

    def _report_lost_cache(self, before: tuple[ContextEntry, ...], after: tuple[ContextEntry, ...]) -> None:
        """Once per session, if messages change that the provider has cached."""
        host = self._host
        same = next(
            (i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] is not pair[1]), len(after)
        )
        conversation = host.conversation
        if conversation is None or same >= len(before) - 2 or host.reported_cache == conversation.agent.session_id:
            return
        host.reported_cache = conversation.agent.session_id
        tokens = conversation.agent.last_context_tokens
        host.diagnostics.note(
            f"an extension changes messages that the provider has cached: up to {tokens:,} tokens of each request "
            "are sent again"
        )

    # --- the request

    async def request(self, request: Request) -> Request:
        wanted = await self._agreed("model_request", _Wanted(request), self._described, self._rewritten)
        if not wanted.model:
            return wanted.request
        model = await self._find(wanted)
        return wanted.request if model is None else msgspec.structs.replace(wanted.request, model=model)

    def _described(self, _child: ExtensionChild, wanted: _Wanted) -> Data:
        request = wanted.request
        known: Data = {
            "provider": request.model.provider,
            "model": wanted.model or request.model.id,
            "reasoning": request.reasoning,
            "tools": [tool.name for tool in request.tools],
            "system_chars": len(request.system),
            "message_count": len(request.messages),
            "max_tokens": request.max_tokens or request.model.max_output,
            "purpose": self._purpose,
        }
        if request.temperature is not None:
            known["temperature"] = request.temperature
        return {**known, "origin_extension": self._origin} if self._origin else known

    def _rewritten(self, child: ExtensionChild, wanted: _Wanted, value: Data) -> _Wanted:
        changes: dict[str, Any] = {}
        request = wanted.request
        if "tools" in value:
            names = expect_list(value, "tools")
            changes["tools"] = tuple(tool for tool in request.tools if tool.name in names)
        if more := expect(value, "system_append", str):
            changes["system"] = "\n\n".join(filter(None, (request.system, more)))
        if (tokens := expect(value, "max_tokens", int)) is not None:
            if tokens < 1:
                raise BadValue("max_tokens: expected at least 1")
            changes["max_tokens"] = min(tokens, request.model.max_output or tokens)
        if (heat := value.get("temperature")) is not None:
            if not isinstance(heat, int | float) or isinstance(heat, bool):
                raise BadValue("temperature: expected a number")
            changes["temperature"] = float(heat)
        if headers := expect_object(value, "headers"):
            changes["headers"] = (*request.headers, *self._headers(child, headers))
        model, level = expect(value, "model", str), expect(value, "reasoning", str)
        if level is not None and self._may_choose(child, "reasoning"):
            if level not in REASONING_LEVELS:
                raise BadValue(f"reasoning: expected one of {', '.join(filter(None, REASONING_LEVELS))}")
            changes["reasoning"] = level
        chosen = model if model and self._may_choose(child, "model") else ""
        if not changes and not chosen:
            return wanted
        return _Wanted(
            msgspec.structs.replace(request, **changes),
            chosen or wanted.model,
            child.name if chosen else wanted.extension,
        )

    def _may_choose(self, child: ExtensionChild, what: str) -> bool:
        from zot.features.extensions.requests import RequestError

        try:
            self._host.require_word(child, "model.set", f"model_request: {what}")
        except RequestError:
            return False
        return True

    def _headers(self, child: ExtensionChild, given: Data) -> list[tuple[str, str]]:
        """Those that begin with ``x-``."""
        kept: list[tuple[str, str]] = []
        for name, value in given.items():
            if not isinstance(value, str) or not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
                child.fault("bad header", f"model_request: header {name[:40]!r} was ignored: expected x-…")
            else:
                kept.append((name, value))
        return kept

    async def _find(self, wanted: _Wanted) -> Model | None:
        """The model that an extension chose; None, with a diagnostic, if it cannot be used."""
        conversation = self._host.conversation
        assert conversation is not None
        provider, slash, name = wanted.model.partition("/")
        try:
            try:
                resolved = await conversation.find_model(wanted.model)
            except ZotError:
                if not slash:
                    raise
                resolved = await conversation.find_model(name, provider)
        except ZotError as error:
            self._host.diagnostics.note(f"extension {wanted.extension}: model {wanted.model[:60]}: {error}")
            return None
        conversation.agent.use_side_client(conversation.services.client_for(resolved), resolved.model)
        return resolved.model

    # --- the payload

    def with_payload_editor(self, request: Request) -> Request:
        """Extensions see the body when it is sent, after every other change."""
        provider = request.model.provider

        async def edit(payload: Any, api: str) -> Any:
            def data(_child: ExtensionChild, payload: Any) -> Data:
                return {"provider": provider, "api": api, "payload": payload}

            def rewritten(_child: ExtensionChild, payload: Any, value: Data) -> Any:
                given = expect_object(value, "payload")
                return payload if given is None else given

            try:
                return await self._agreed("provider_payload", payload, data, rewritten)
            except (Denied, Handled) as blocked:
                reason = blocked.reason if isinstance(blocked, Denied) else ""
                raise RequestDenied(reason or "denied by an extension") from None

        return msgspec.structs.replace(request, edit_payload=edit)
