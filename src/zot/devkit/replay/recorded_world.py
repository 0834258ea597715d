"""Stand-ins that play a recording: model, tools, users and extension processes. They open no file or connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import msgspec

from zot.core.interceptors import (
    CompactionPlan,
    CompactionVerdict,
    Interceptor,
    InterceptorFailed,
    PromptVerdict,
    RunStart,
    RunVerdict,
    TextVerdict,
    ToolVerdict,
    TurnVerdict,
)
from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.core.permission_modes import CallClass, Rule
from zot.core.tool import Tool, ToolContext, ToolResult
from zot.devkit.replay.comparison import Comparison
from zot.devkit.replay.driver import ReplayDriver
from zot.errors import ConfigError, ProviderError
from zot.features.recording.journal_file import error_of
from zot.features.recording.reader import RecordedLine
from zot.provider import model_call
from zot.provider.messages import ToolCallBlock
from zot.provider.model_call import Request, StreamEvent

_KINDS: dict[str, Any] = {kind.__name__: kind for kind in StreamEvent.__args__}


def stream_event(line: RecordedLine) -> StreamEvent:
    """A model's stream item; ConfigError for an invalid line."""
    fields = line.fields
    try:
        kind, value = _KINDS[fields["kind"]], fields["value"]
        if kind is not model_call.Finished:
            return msgspec.convert(value, kind)
        error_fields = cast("dict[str, Any] | None", value.get("error"))
        finished = msgspec.convert({**value, "error": None}, _Finished)
        failure = error_of(error_fields) if error_fields is not None else None
        provider_error = failure if isinstance(failure, ProviderError) else None
        return model_call.Finished(finished.stop, finished.message, provider_error)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as problem:
        raise ConfigError(f"line {line.number} is not what a model streams: {problem}") from problem


class _Finished(msgspec.Struct):
    stop: model_call.StopReason
    message: model_call.Message
    error: None = None


class RecordedModel:
    """A ``Client``: replays the recorded stream for any request; the driver compares requests."""

    def __init__(self, name: str, conductor: ReplayDriver) -> None:
        self.name = name
        self._conductor = conductor

    async def aclose(self) -> None:
        """Nothing to close."""

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        n = self._conductor.last_request
        while True:
            line = self._conductor.at("stream", n=n) or self._conductor.at("refusal", n=n)
            line = line or await self._conductor.next_for("stream", n)
            if line.type == "refusal":
                raise error_of(line.fields.get("error") or {})
            event = stream_event(line)
            yield event
            if isinstance(event, model_call.Finished):
                return


class RecordedTool:
    """Gives the recorded result. A ``live`` tool really runs; its result is given at the recorded position."""

    def __init__(self, conductor: ReplayDriver, spec: dict[str, Any], live: Tool | None = None) -> None:
        self.name = str(spec["name"])
        self.description = str(spec["description"])
        self.schema = cast("dict[str, Any]", spec["schema"])
        self.read_only = bool(spec["read_only"])
        self.deferred = bool(spec.get("deferred"))
        self._conductor = conductor
        self._live = live

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        if self._live is not None:
            try:
                return await self._live.execute(args, context)
            finally:
                await self._line(context)
        while True:
            line = await self._line(context)
            if line.type == "progress":
                context.progress(str(line.fields.get("text", "")))
            else:
                fields = line.fields
                if fields.get("cancelled"):
                    raise asyncio.CancelledError
                if isinstance(error := fields.get("error"), dict):
                    raise error_of(cast("dict[str, Any]", error))
                return msgspec.convert(fields.get("result"), ToolResult)

    async def _line(self, context: ToolContext) -> RecordedLine:
        """The next line of this call. A cancellation does not end the wait: the end of the call was recorded."""
        while True:
            try:
                return await self._conductor.next_for("tool", context.call_id)
            except asyncio.CancelledError:
                if self._conductor.over.done():
                    raise


# --- users and their settings


class RecordedApprovals:
    """The recorded input of the gate: classification, rules and answers."""

    def __init__(self, conductor: ReplayDriver) -> None:
        self._conductor = conductor

    def nature(self, call: ToolCallBlock) -> CallClass:
        line = self._conductor.at("nature", id=call.id)
        if line is None:
            raise LookupError(call.id)  # unknown in the recording; the gate uses the strictest
        return msgspec.convert(line.fields["nature"], CallClass)

    def kept(self) -> list[Rule]:
        line = self._conductor.at("kept")
        return [] if line is None else msgspec.convert(line.fields["rules"], list[Rule])

    async def confirm(self, question: ApprovalQuestion) -> Answer:
        line = await self._conductor.next_for("answer", question.call.id)
        return msgspec.convert(line.fields["answer"], Answer)


class RecordedInterceptor(Interceptor):
    """An interceptor of the front end: replays its answers other than allow."""

    def __init__(self, conductor: ReplayDriver, place: int, watches_text: bool) -> None:
        self._conductor = conductor
        self._place = place
        self._watches_text = watches_text

    @property
    def watches_text(self) -> bool:
        return self._watches_text

    async def before_turn(self, step: int) -> TurnVerdict:
        return await self._verdict("turn", TurnVerdict)

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return await self._verdict("tool", ToolVerdict)

    async def before_message(self, text: str) -> TextVerdict:
        return await self._verdict("message", TextVerdict)

    async def after_tool(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> str:
        return await self._verdict("result", str)

    async def replace_result(self, call: ToolCallBlock, result: ToolResult, origin: str = "") -> ToolResult | None:
        replaced = await self._verdict("replacement", ToolResult)
        return replaced if replaced.content else None

    async def before_stop(self, text: str) -> str:
        return await self._verdict("stop", str)

    async def before_steering(self, text: str, source: str = "") -> PromptVerdict:
        return await self._verdict("steering", PromptVerdict)

    async def before_compaction(self) -> str:
        return await self._verdict("compaction", str)

    async def before_run(self, start: RunStart) -> RunVerdict:
        return await self._verdict("run", RunVerdict)

    async def plan_compaction(self, plan: CompactionPlan) -> CompactionVerdict:
        return await self._verdict("summary", CompactionVerdict)

    async def _verdict(self, about: str, kind: Any) -> Any:
        await self._conductor.caught_up()
        line = self._conductor.at("verdict", who=self._place, about=about)
        if line is not None and line.fields.get("failed"):
            raise InterceptorFailed(str(line.fields["failed"]))
        return kind() if line is None else msgspec.convert(line.fields["verdict"], kind)


# --- extension processes


class _Tree:
    def __init__(self, over: asyncio.Future[str]) -> None:
        self._over = over

    async def wait(self) -> int:
        await asyncio.wait([self._over])
        return 0

    async def stop(self, grace: float) -> None:
        if not self._over.done():
            self._over.set_result("")


class RecordedProcess:
    """Takes the place of an ``JsonLineProcess``: replays recorded output and ignores input."""

    def __init__(self, name: str, receive: Callable[[bytes | None], None], conductor: ReplayDriver) -> None:
        self._name = name
        self._receive = receive
        self._conductor = conductor
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.tree = _Tree(self.over)

    def send(self, line: bytes) -> bool:
        return not self.over.done()

    def close_stdin(self) -> None: ...

    def disconnect(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_result(reason)

    async def watch_exit(self) -> None:
        await self.tree.wait()

    async def exit_code(self, seconds: float) -> int | None:
        line = await self._conductor.next_for("exit", self._name)
        code = line.fields.get("code")
        return code if isinstance(code, int) else None

    async def reap(self) -> None:
        self.disconnect("")

    def say(self, line: RecordedLine, comparison: Comparison) -> None:
        """One recorded frame, with the ids of this run."""
        if not self.over.done():
            self._receive(frame_of(line, comparison))


def frame_of(line: RecordedLine, comparison: Comparison) -> bytes:
    frame = line.fields.get("frame")
    if frame is None:
        return str(line.fields.get("text", "")).encode()
    if not isinstance(frame, dict):
        return msgspec.json.encode(frame)
    fields = cast("dict[str, Any]", frame)
    named = {key: comparison.now(fields[key]) for key in ("id", "parent_id") if key in fields}
    return msgspec.json.encode({**fields, **named})
