"""The Runtime for programs that are not asynchronous: the same methods, each waiting for its result.

A thread of its own carries the event loop; tools that are coroutines, interceptors and ``approve`` run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self, Unpack

from zot.agent.extproto import rpc_frames
from zot.agent.extproto.rpc_events import Event
from zot.errors import RuntimeClosed
from zot.provider.model import Reasoning
from zot.sdk.images import PromptImage
from zot.sdk.options import Options
from zot.sdk.runtime import Runtime
from zot.sdk.stream import EventStream
from zot.system.loop_thread import LoopThread


class SyncRuntime:
    """``with SyncRuntime(model=…) as zot: for event in zot.prompt("…"): …``"""

    def __init__(self, **options: Unpack[Options]) -> None:
        self._runtime = Runtime(**options)
        self._loop: LoopThread | None = None

    def __enter__(self) -> Self:
        self._loop = LoopThread("zot")
        try:
            self._loop.call(self._runtime.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what runs and let go of everything; harmless the second time."""
        loop, self._loop = self._loop, None
        if loop is not None:
            try:
                loop.call(self._runtime.close())
            finally:
                loop.close()

    def prompt(self, text: str, images: Iterable[PromptImage] = ()) -> Iterator[Event]:
        """The events, in order; leaving the loop cancels the prompt. AgentBusy while another one runs."""
        loop = self._running()
        return loop.iterate(loop.call(self._start(text, images)))

    async def _start(self, text: str, images: Iterable[PromptImage]) -> EventStream:
        return self._runtime.prompt(text, images)

    def ask(self, text: str, images: Iterable[PromptImage] = ()) -> str:
        return self._running().call(self._runtime.ask(text, images))

    def compact(self) -> str:
        return self._running().call(self._runtime.compact())

    def cancel(self) -> None:
        """May be called from another thread while a prompt runs."""
        self._running().call(self._runtime.cancel())

    def set_model(self, model: str) -> None:
        self._running().call(self._runtime.set_model(model))

    def set_reasoning(self, level: Reasoning) -> None:
        self._running().call(self._runtime.set_reasoning(level))

    def set_messages(self, messages: Sequence[rpc_frames.Message] = ()) -> None:
        self._running().call(self._runtime.set_messages(messages))

    def state(self) -> rpc_frames.State:
        return self._runtime.state()

    def messages(self) -> tuple[rpc_frames.Message, ...]:
        return self._runtime.messages()

    def cost(self) -> rpc_frames.UsageTotals:
        return self._runtime.cost()

    def list_models(self) -> tuple[rpc_frames.ModelInfo, ...]:
        return self._runtime.list_models()

    def _running(self) -> LoopThread:
        if self._loop is None:
            raise RuntimeClosed("runtime is closed")
        return self._loop
