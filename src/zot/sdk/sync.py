"""The Runtime for synchronous programs: the same methods, each waiting for its result.
A separate thread runs the event loop; coroutine tools, interceptors and ``approve`` run there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, Unpack, overload

from zot.core.permission_modes import Mode as PermissionMode
from zot.provider.model import Reasoning
from zot.sdk.methods import SyncRuntimeMethods
from zot.sdk.options import Options
from zot.sdk.runtime import Runtime
from zot.sdk.stream import EventStream
from zot.wire import rpc_frames
from zot.wire.python_values import PromptImage
from zot.wire.rpc_frames import Event
from zot.wire.stream_iteration import SyncIteration
from zot.wire.structured_output import TRIES

T = TypeVar("T")
R = TypeVar("R", covariant=True)


class SyncStream(SyncIteration[Event], Generic[R]):
    """The events of one prompt, for a plain ``for``; leaving the loop aborts the prompt."""

    def __init__(self, stream: EventStream[R], begin: Callable[[], Iterator[Event]]) -> None:
        super().__init__(begin)
        self._stream = stream

    @property
    def returned(self) -> R:
        """The value of a prompt with ``returns=``, after its last event."""
        return self._stream.returned


class SyncRuntime(SyncRuntimeMethods):
    """``with SyncRuntime(model=…) as zot: for event in zot.prompt("…"): …``

    Or ``zot = SyncRuntime(model=…).open()``, and ``zot.close()`` later."""

    def __init__(self, **options: Unpack[Options]) -> None:
        self._methods = self._runtime = Runtime(**options)
        super().__init__(self._runtime, "runtime")

    @overload
    def prompt(self, text: str, images: Iterable[PromptImage] = ()) -> SyncStream[None]: ...
    @overload
    def prompt(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[T], tries: int = TRIES
    ) -> SyncStream[T]: ...
    def prompt(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[Any] | None = None, tries: int = TRIES
    ) -> SyncStream[Any]:
        """The events, in order; leaving the loop aborts the prompt. AgentBusy while another one runs.
        With ``returns=Type`` the answer is a value of that type, in ``returned`` after the last event."""
        stream = self._wait(self._start(text, images, returns, tries))
        return SyncStream(stream, lambda: self._each(stream))

    async def _start(
        self, text: str, images: Iterable[PromptImage], returns: type[Any] | None, tries: int
    ) -> EventStream[Any]:
        if returns is None:
            return self._runtime.prompt(text, images)
        return self._runtime.prompt(text, images, returns=returns, tries=tries)

    @overload
    def ask(self, text: str, images: Iterable[PromptImage] = ()) -> str: ...
    @overload
    def ask(self, text: str, images: Iterable[PromptImage] = (), *, returns: type[T], tries: int = TRIES) -> T: ...
    def ask(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[Any] | None = None, tries: int = TRIES
    ) -> Any:
        """Send a prompt and wait for the text of the last message, or with ``returns=Type`` a value of that type."""
        if returns is None:
            return self._wait(self._runtime.ask(text, images))
        return self._wait(self._runtime.ask(text, images, returns=returns, tries=tries))

    def compact(self, focus: str = "") -> str:
        return self._wait(self._runtime.compact(focus))

    def abort(self) -> None:
        """May be called from another thread while a prompt runs."""
        self._wait(self._runtime.abort())

    def cancel(self) -> None:
        """The older name of ``abort``."""
        self.abort()

    def set_messages(self, messages: Sequence[rpc_frames.Message] = ()) -> None:
        self._wait(self._runtime.set_messages(messages))

    def cost(self) -> rpc_frames.UsageTotals:
        return self._runtime.cost()

    def list_models(self) -> tuple[rpc_frames.ModelInfo, ...]:
        """The older name of ``models``."""
        return self.models()

    @property
    def busy(self) -> bool:
        return self._runtime.busy

    @property
    def provider(self) -> str:
        return self._runtime.provider

    @property
    def model(self) -> str:
        return self._runtime.model

    @property
    def reasoning(self) -> Reasoning:
        return self._runtime.reasoning

    @property
    def permission_mode(self) -> PermissionMode:
        return self._runtime.permission_mode

    @property
    def cwd(self) -> str:
        return self._runtime.cwd

    @property
    def notices(self) -> tuple[str, ...]:
        return self._runtime.notices
