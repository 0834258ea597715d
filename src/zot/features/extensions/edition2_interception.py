"""Interceptions of the second edition: input, prompts, requests, results, compactions, sessions.
Loaded when an extension intercepts one of them. Chain and guards are those of ``interception``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from zot.core.events import OF_EXTENSION, SYNTHETIC, TYPED
from zot.core.interceptors import (
    CompactionPlan,
    CompactionVerdict,
    PromptVerdict,
    RunEnd,
    RunStart,
    RunVerdict,
)
from zot.core.tool import ATTACHED, MOST_ATTACHED, ToolResult, text_result
from zot.errors import RequestDenied
from zot.features.extensions.child import ExtensionChild, new_request_id
from zot.features.extensions.interception import PROMPT_ANSWER, AnswerLimit, Denied, ExtensionInterceptor, Handled
from zot.features.extensions.tools import converted, wire_blocks
from zot.provider.messages import ToolCallBlock
from zot.wire import extension_frames, limits
from zot.wire.extension_frames import EventIntercept, EventInterceptResponse, InterceptName

if TYPE_CHECKING:
    from zot.agent.feature import PromptDraft
    from zot.agent.session_change import SessionChange
    from zot.features.extensions.host import ExtensionHost
    from zot.provider.model_call import Request

_Value = TypeVar("_Value")
Data = dict[str, Any]
_DENIED = "denied by extension {}"


def _ignore(_progress: extension_frames.Progress) -> None:
    """Progress only begins the silence anew."""


_COMPACTION = AnswerLimit(limits.COMPACTION_SILENCE, limits.COMPACTION_TOTAL, _ignore)


class BadValue(Exception):
    """A ``value`` of an answer has the wrong shape; the text names the key."""


class InputVerdict(msgspec.Struct, frozen=True):
    """``refusal`` is why it is not sent; ``handled``: an extension did it. ``text`` is what to send."""

    text: str
    extension: str = ""
    refusal: str = ""
    handled: bool = False
    output: str = ""
    code: int = 0


class Edition2Interception:
    def __init__(self, interceptor: ExtensionInterceptor, host: ExtensionHost) -> None:
        self._interceptor = interceptor
        self._host = host

    # --- what the user types

    async def input(self, draft: PromptDraft) -> str:
        """Review a prompt before templates and files are expanded; a text denies it."""
        by_extension = OF_EXTENSION in draft.meta and TYPED not in draft.meta
        sender = draft.meta[OF_EXTENSION] if by_extension else ""
        deliver = "queue" if draft.queued else "now"
        verdict = await self._input(draft.text, len(draft.images), sender, deliver)
        if verdict.text != draft.text:
            draft.meta |= {TYPED: draft.text, OF_EXTENSION: verdict.extension}
            draft.text = verdict.text
        draft.handled = verdict.handled
        return verdict.refusal

    async def before_steering(self, text: str, source: str) -> PromptVerdict:
        verdict = await self._input(text, 0, source, "steer")
        if verdict.refusal or verdict.handled:
            return PromptVerdict(False, verdict.refusal)
        return PromptVerdict(text=None if verdict.text == text else verdict.text, extension=verdict.extension)

    async def _input(self, text: str, images: int, sender: str, deliver: str) -> InputVerdict:
        def data(_child: ExtensionChild, text: str) -> Data:
            return {"text": text, "images": images, "source": self.source(sender), "deliver": deliver}

        return await self._typed("input", "text", text, data, sender)

    async def user_shell(self, command: str, hidden: bool, cwd: str) -> InputVerdict:
        """Review a ``!`` command of the user."""

        def data(_child: ExtensionChild, command: str) -> Data:
            return {"command": command, "hidden": hidden, "cwd": cwd}

        return await self._typed("user_shell", "command", command, data)

    async def _typed(
        self, event: InterceptName, key: str, text: str, data: Callable[[ExtensionChild, str], Data], sender: str = ""
    ) -> InputVerdict:
        """A text that may be replaced by ``value[key]``. An extension is not asked about what it sent itself."""
        last = ""

        def rewritten(child: ExtensionChild, text: str, value: Data) -> str:
            nonlocal last
            new = expect(value, key, str)
            if new is None or new == text:
                return text
            last = child.name
            return new

        try:
            text = await self._agreed(event, text, data, rewritten, without=sender)
        except Denied as blocked:
            return InputVerdict(text, refusal=blocked.reason or _DENIED.format(blocked.extension))
        except Handled as handled:
            value = _object(handled.answer.value)
            output, code = value.get("output"), value.get("code")
            shown, number = output if isinstance(output, str) else "", code if isinstance(code, int) else 0
            return InputVerdict(text, handled.child.name, handled=True, output=shown, code=number)
        return InputVerdict(text, last)

    def source(self, sender: str = "") -> str:
        """person, rpc, sdk or extension."""
        mode = self._host.mode
        return "extension" if sender else mode if mode in ("rpc", "sdk") else "person"

    # --- a prompt

    async def before_run(self, start: RunStart) -> RunVerdict:
        from zot.features.extensions.wire_messages import WireMessage, parse_messages

        agent = self._host.conversation.agent if self._host.conversation is not None else None
        tools, skills = sorted(agent.toolbox) if agent is not None else [], self._host.skill_names()

        def data(_child: ExtensionChild, verdict: RunVerdict) -> Data:
            system = verdict.edit_system(agent.system_text() if agent is not None else "")
            return {
                "prompt_id": start.prompt_id,
                "text": start.text,
                "image_count": start.image_count,
                "source": self.source(start.extension),
                "system_prompt": system,
                "tools": tools,
                "skills": skills,
            }

        def rewritten(child: ExtensionChild, verdict: RunVerdict, value: Data) -> RunVerdict:
            given = expect_list(value, "messages")
            try:
                messages = parse_messages(msgspec.convert(given, list[WireMessage]), child.name)
            except (ValueError, msgspec.ValidationError) as error:
                raise BadValue(f"messages: {error}") from None
            whole, more = expect(value, "system_prompt", str), expect(value, "system_append", str)
            if whole is None and not more and not messages:
                return verdict
            marked = (msgspec.structs.replace(one, meta={**one.meta, SYNTHETIC: "true"}) for one in messages)
            appended = "\n\n".join(filter(None, (verdict.system_append if whole is None else "", more)))
            return RunVerdict(
                system=verdict.system if whole is None else whole,
                system_append=appended,
                messages=(*verdict.messages, *marked),
            )

        try:
            return await self._agreed("prompt_start", RunVerdict(), data, rewritten)
        except Denied as blocked:
            return RunVerdict(False, blocked.reason or _DENIED.format(blocked.extension))
        except Handled as handled:
            return RunVerdict(False, _DENIED.format(handled.child.name))

    # --- results

    async def replace_result(self, call: ToolCallBlock, result: ToolResult, origin: str) -> ToolResult | None:
        def data(_child: ExtensionChild, result: ToolResult) -> Data:
            content, _ = wire_blocks(result.content)
            attached = (result.details or {}).get(ATTACHED)
            details = _object(attached).get("details")
            return {
                "tool_id": call.id,
                "tool_name": call.name,
                "args": call.value,
                "content": msgspec.to_builtins(content),
                "is_error": result.is_error,
                **({"details": details} if details is not None else {}),
                **({"origin_extension": origin} if origin else {}),
            }

        def rewritten(child: ExtensionChild, result: ToolResult, value: Data) -> ToolResult:
            return _changed_result(child, call.name, result, value)

        try:
            changed = await self._agreed("tool_result", result, data, rewritten, tool=call.name)
        except Denied as blocked:
            return text_result(blocked.reason or _DENIED.format(blocked.extension), is_error=True)
        except Handled as handled:
            return text_result(_DENIED.format(handled.child.name), is_error=True)
        return None if changed is result else changed

    # --- sessions, and the end of a prompt

    async def before_session(self, change: SessionChange) -> str:
        from zot.features.extensions import session_review

        return await session_review.before_session(self._host, self._agreed, change)

    async def after_run(self, end: RunEnd) -> None:
        from zot.features.extensions import session_review

        await session_review.after_run(self._host, self._agreed, end)

    # --- compaction

    async def plan_compaction(self, plan: CompactionPlan) -> CompactionVerdict:
        from zot.core.compaction import CHARS_PER_TOKEN
        from zot.core.compaction_prompt import length_of
        from zot.features.extensions.context_edit import listed

        messages = listed(self._host, plan.messages, images=False)

        def data(_child: ExtensionChild, verdict: CompactionVerdict) -> Data:
            return {
                "compaction_id": plan.id,
                "trigger": plan.trigger,
                **({"focus": plan.focus} if plan.focus else {}),
                "keep_tail": plan.keep_tail if verdict.keep_tail is None else verdict.keep_tail,
                "token_estimate": length_of(plan.messages) // CHARS_PER_TOKEN,
                "messages": messages,
            }

        def rewritten(child: ExtensionChild, verdict: CompactionVerdict, value: Data) -> CompactionVerdict:
            summary, keep = expect(value, "summary", str), expect(value, "keep_tail", int)
            instructions = expect(value, "instructions", str)
            if summary is None and keep is None and not instructions:
                return verdict
            return CompactionVerdict(
                summary=verdict.summary if summary is None else summary,
                keep_tail=verdict.keep_tail if keep is None else keep,
                instructions="\n\n".join(filter(None, (verdict.instructions, instructions))),
            )

        try:
            return await self._agreed("compaction", CompactionVerdict(), data, rewritten, limit=_COMPACTION)
        except Denied as blocked:
            return CompactionVerdict(False, blocked.reason or _DENIED.format(blocked.extension))
        except Handled as handled:
            return CompactionVerdict(False, _DENIED.format(handled.child.name))

    # --- model requests

    async def review_request(self, request: Request, purpose: str, origin: str) -> Request:
        from zot.features.extensions.request_edit import RequestReview

        review = RequestReview(self._host, self._agreed, purpose, origin)
        try:
            if purpose == "step" and self._interceptor.intercepted("context"):
                request = await review.context(request)
            if self._interceptor.intercepted("model_request"):
                request = await review.request(request)
        except Denied as blocked:
            raise RequestDenied(blocked.reason or _DENIED.format(blocked.extension)) from None
        except Handled as handled:
            raise RequestDenied(_DENIED.format(handled.child.name)) from None
        if self._interceptor.intercepted("provider_payload"):
            request = review.with_payload_editor(request)
        return request

    # --- inside

    async def _agreed(
        self,
        event: InterceptName,
        value: _Value,
        data: Callable[[ExtensionChild, _Value], Data],
        rewritten: Callable[[ExtensionChild, _Value, Data], _Value],
        *,
        tool: str = "",
        without: str = "",
        limit: AnswerLimit = PROMPT_ANSWER,
    ) -> _Value:
        """As ``ExtensionInterceptor.agreed``, with ``data`` and ``value`` of the second edition."""

        def question(child: ExtensionChild, value: _Value) -> EventIntercept:
            return EventIntercept(id=new_request_id(), event=event, data=data(child, value))

        def answered(child: ExtensionChild, value: _Value, answer: EventInterceptResponse) -> _Value:
            if answer.value is None:
                return value
            try:
                if not isinstance(answer.value, dict):
                    raise BadValue("expected an object")
                return rewritten(child, value, cast("Data", answer.value))
            except BadValue as error:
                child.fault("bad value", f"answered {event} with an invalid value: {error}")
                if child.guard:
                    raise Denied(child.name, f"denied: the guard {child.name} gave an invalid value") from None
                return value

        asked: Sequence[ExtensionChild] = [child for child in self._host.children if child.name != without]
        return await self._interceptor.agreed(event, value, asked, question, answered, tool=tool, limit=limit)


_Kind = TypeVar("_Kind")


def expect(value: Data, key: str, kind: type[_Kind]) -> _Kind | None:
    """The value of a key, None if it is absent; BadValue if it is of another type."""
    given = value.get(key)
    if given is None:
        return None
    if not isinstance(given, kind) or (isinstance(given, bool) and kind is not bool):
        raise BadValue(f"{key}: expected {_NAMES.get(kind, kind.__name__)}")
    return given


def expect_list(value: Data, key: str) -> list[Any]:
    """As ``expect``; empty if it is absent."""
    return cast("list[Any]", expect(value, key, list) or [])


def expect_object(value: Data, key: str) -> Data | None:
    return cast("Data | None", expect(value, key, dict))


_NAMES: dict[type, str] = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    float: "a number",
}


def _object(value: Any) -> Data:
    return cast("Data", value) if isinstance(value, dict) else {}


def _changed_result(child: ExtensionChild, tool: str, result: ToolResult, value: Data) -> ToolResult:
    is_error, append, details = expect(value, "is_error", bool), expect(value, "append", str), value.get("details")
    content = result.content
    if value.get("content") is not None:
        content = converted(child.name, tool, _content_of(value)).content
    if append:
        from zot.provider.messages import TextBlock

        content = (*content, TextBlock(append))
    if content is result.content and is_error is None and details is None:
        return result
    kept = result.details
    if details is not None:
        kept = {**(kept or {}), ATTACHED: {**_object((kept or {}).get(ATTACHED)), "details": bounded(details)}}
    return ToolResult(content, result.is_error if is_error is None else is_error, kept)


def _content_of(value: Data) -> extension_frames.ToolResult:
    try:
        content = msgspec.convert(value.get("content"), tuple[extension_frames.Content, ...])
    except msgspec.ValidationError as error:
        raise BadValue(f"content: {error}") from None
    return extension_frames.ToolResult(content=content)


def bounded(details: Any) -> Any:
    """BadValue for details above 64 KiB."""
    if len(msgspec.json.encode(details)) > MOST_ATTACHED:
        raise BadValue(f"details: above {MOST_ATTACHED // 1024} KiB")
    return details


def handled_result(child: ExtensionChild, answer: EventInterceptResponse, tool: str) -> ToolResult:
    """The result of a call that an extension answered in the tool's place; an error if it may not or cannot."""
    if "results" not in child.granted:
        reason = f'extension {child.name} cannot answer {tool}: its manifest\'s "uses" lacks "results"'
        return text_result(reason, is_error=True)
    value = _object(answer.value)
    try:
        result = converted(child.name, tool, _content_of({"content": value.get("content") or []}))
        is_error, details = expect(value, "is_error", bool) or False, value.get("details")
        attached = {} if details is None else {ATTACHED: {"details": bounded(details)}}
    except BadValue as error:
        child.fault("bad value", f"answered tool_call with an invalid value: {error}")
        return text_result(f"extension {child.name} answered {tool} with an invalid value: {error}", is_error=True)
    return ToolResult(result.content, result.is_error or is_error, {**(result.details or {}), **attached})
