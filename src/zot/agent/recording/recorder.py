"""``--record FILE``: one journal of a run, from which it can be played again.

Line by line: a header (version, command line and directory, the clock), every extension frame, every model request
and what was streamed back, every event of the agent but its deltas, and the end. Times are seconds since the header,
by a clock that never jumps. Keys and tokens zot knows are taken out before anything is written; what a tool or a person
wrote may still hold others. A request repeats only what changed since the one before it.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from zot import __version__
from zot.agent.recording.frame_trace import Direction, FrameLog
from zot.agent.recording.journal_file import JournalFile
from zot.core.agent import Agent
from zot.core.events import SHOWN, AgentEvent, TextDelta, ThinkingDelta, ToolUseArgs
from zot.errors import ProviderError
from zot.provider.model_call import Client, Request, StreamEvent

FORMAT = 1
_TOLD = tuple(kind for kind in SHOWN if kind not in (TextDelta, ThinkingDelta, ToolUseArgs))
_SECRET_FLAGS = ("--api-key",)
_USER_INFO = re.compile(r"//[^/@\s]+@")


class Recorder:
    """Write-only; every method is quick and none raises."""

    def __init__(self, file: JournalFile, argv: Sequence[str], cwd: Path) -> None:
        self._file = file
        self._frames = FrameLog()
        self._requests = 0
        self._before: Request | None = None
        clock = {"wall": time.time(), "monotonic": file.started, "zone": time.strftime("%z")}
        self._write("header", format=FORMAT, zot=__version__, argv=public_argv(argv), cwd=str(cwd), clock=clock)

    def frame(self, extension: str, direction: Direction, line: bytes) -> None:
        """An extension frame; a ``FrameTap``."""
        traced = self._frames.frame(self._file.now(), extension, direction, line)
        self._file.write(b'{"type":"frame",' + msgspec.json.encode(traced)[1:])

    def join(self, agent: Agent) -> None:
        """Record what the agent says and what passes between it and its model, even after a change of model."""

        def watch(event: AgentEvent) -> None:
            if not isinstance(agent.client, RecordingClient):
                agent.client = RecordingClient(agent.client, self)
            self._write("event", event=event)

        agent.client = RecordingClient(agent.client, self)
        agent.readers.add(watch, *_TOLD, first=True)

    def request(self, request: Request) -> int:
        """A model call begins; its number marks what is streamed back."""
        self._requests += 1
        before, self._before = self._before, request
        shared = _shared(before, request)
        changed = {
            name: getattr(request, name)
            for name in Request.__struct_fields__
            if name != "messages" and (before is None or getattr(before, name) != getattr(request, name))
        }
        self._write("request", n=self._requests, shared=shared, messages=request.messages[shared:], **changed)
        return self._requests

    def streamed(self, n: int, event: StreamEvent) -> None:
        self._write("stream", n=n, kind=type(event).__name__, value=event)

    def refused(self, n: int, error: ProviderError) -> None:
        """The call failed before there was an answer."""
        self._write("refusal", n=n, error=error)

    def close(self) -> None:
        self._write("end")
        self._file.close()

    def _write(self, type: str, **fields: Any) -> None:
        record = {"type": type, "t": self._file.now(), **fields}
        self._file.write(msgspec.json.encode(record, enc_hook=_plain))


class RecordingClient:
    """A ``Client`` that passes everything on and lets the recorder listen."""

    def __init__(self, client: Client, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder

    @property
    def name(self) -> str:
        return self._client.name

    async def aclose(self) -> None:
        await self._client.aclose()

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        n = self._recorder.request(request)
        try:
            async with aclosing(self._client.stream(request)) as events:
                async for event in events:
                    self._recorder.streamed(n, event)
                    yield event
        except ProviderError as error:
            self._recorder.refused(n, error)
            raise


def public_argv(argv: Sequence[str]) -> list[str]:
    """The command line without the values of secret flags and without names and passwords in addresses."""
    shown: list[str] = []
    hide = False
    for word in argv:
        flag, equals, _ = word.partition("=")
        if hide:
            word, hide = "[removed]", False
        elif flag in _SECRET_FLAGS:
            word, hide = (f"{flag}=[removed]", False) if equals else (word, True)
        shown.append(_USER_INFO.sub("//", word))
    return shown


def _shared(before: Request | None, request: Request) -> int:
    """How many messages both begin with."""
    if before is None:
        return 0
    pairs = zip(before.messages, request.messages, strict=False)
    return next((n for n, (old, new) in enumerate(pairs) if old is not new and old != new), _shorter(before, request))


def _shorter(before: Request, request: Request) -> int:
    return min(len(before.messages), len(request.messages))


def _plain(value: Any) -> Any:
    """What msgspec does not know: errors inside an event, and whatever a tool put into its details."""
    if isinstance(value, ProviderError):
        kind = {"kind": type(value).__name__, "text": str(value)}
        return {**kind, "status": value.status, "code": value.code, "retryable": value.retryable}
    return str(value)
