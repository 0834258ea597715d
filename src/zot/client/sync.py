"""The Client for synchronous programs: the same methods, each waiting for its result.
A separate thread runs the event loop; ``approve``, ``on_event`` and ``on_stderr`` are called there. ``abort`` may be
called from another thread while a prompt runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, Unpack, overload

from zot.client.client import Client, ClientOptions
from zot.client.methods import SyncClientMethods
from zot.wire import rpc_frames as rpc
from zot.wire.python_values import PromptImage
from zot.wire.rpc_frames import Event
from zot.wire.stream_iteration import SyncIteration
from zot.wire.structured_output import TRIES

T = TypeVar("T")


class SyncClient(SyncClientMethods):
    """``with SyncClient(model=…) as zot: for event in zot.prompt("…"): …``"""

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._methods = self._client = Client(**options)
        super().__init__(self._client, "client")

    @property
    def pid(self) -> int | None:
        return self._client.pid

    @property
    def stderr(self) -> str:
        """The end of zot's stderr."""
        return self._client.stderr

    def prompt(self, text: str, images: Iterable[PromptImage] = ()) -> SyncIteration[Event]:
        """The events, in order; leaving the loop aborts the prompt."""
        self._running()
        stream = self._client.prompt(text, images)
        return SyncIteration(lambda: self._each(stream))

    @overload
    def ask(self, text: str, images: Iterable[PromptImage] = ()) -> str: ...
    @overload
    def ask(self, text: str, images: Iterable[PromptImage] = (), *, returns: type[T], tries: int = TRIES) -> T: ...
    def ask(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[Any] | None = None, tries: int = TRIES
    ) -> Any:
        """Send a prompt and wait for the text of the last message, or with ``returns=Type`` a value of that type."""
        if returns is None:
            return self._wait(self._client.ask(text, images))
        return self._wait(self._client.ask(text, images, returns=returns, tries=tries))

    def steer(self, text: str, images: Iterable[PromptImage] = ()) -> bool:
        """True if it joins the running prompt; call it from another thread than the one that reads its events."""
        return self._wait(self._client.steer(text, images))

    def compact(self, focus: str = "") -> str:
        return self._wait(self._client.compact(focus))

    def run_command(self, name: str, args: str = "") -> tuple[rpc.CommandRun, SyncIteration[Event]]:
        ran, events = self._wait(self._client.run_command(name, args))
        return ran, SyncIteration(lambda: self._each(events))
