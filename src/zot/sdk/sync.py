"""The Runtime for programs that are not asynchronous: the same methods, each waiting for its result.

A thread of its own carries the event loop; tools that are coroutines, interceptors and ``approve`` run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

from zot.provider.model import Reasoning
from zot.sdk.options import Options
from zot.sdk.runtime import Runtime
from zot.sdk.stream import EventStream
from zot.system.blocking import BlockingFace
from zot.wire import rpc_frames
from zot.wire.caller_values import PromptImage
from zot.wire.rpc_frames import Event


class SyncRuntime(BlockingFace):
    """``with SyncRuntime(model=…) as zot: for event in zot.prompt("…"): …``"""

    def __init__(self, **options: Unpack[Options]) -> None:
        self._runtime = Runtime(**options)
        super().__init__(self._runtime, "runtime")

    def prompt(self, text: str, images: Iterable[PromptImage] = ()) -> Iterator[Event]:
        """The events, in order; leaving the loop cancels the prompt. AgentBusy while another one runs."""
        return self._each(self._wait(self._start(text, images)))

    async def _start(self, text: str, images: Iterable[PromptImage]) -> EventStream:
        return self._runtime.prompt(text, images)

    def ask(self, text: str, images: Iterable[PromptImage] = ()) -> str:
        return self._wait(self._runtime.ask(text, images))

    def compact(self) -> str:
        return self._wait(self._runtime.compact())

    def cancel(self) -> None:
        """May be called from another thread while a prompt runs."""
        self._wait(self._runtime.cancel())

    def set_model(self, model: str) -> None:
        self._wait(self._runtime.set_model(model))

    def set_reasoning(self, level: Reasoning) -> None:
        self._wait(self._runtime.set_reasoning(level))

    def set_messages(self, messages: Sequence[rpc_frames.Message] = ()) -> None:
        self._wait(self._runtime.set_messages(messages))

    def state(self) -> rpc_frames.State:
        return self._runtime.state()

    def messages(self) -> tuple[rpc_frames.Message, ...]:
        return self._runtime.messages()

    def cost(self) -> rpc_frames.UsageTotals:
        return self._runtime.cost()

    def list_models(self) -> tuple[rpc_frames.ModelInfo, ...]:
        return self._runtime.list_models()
