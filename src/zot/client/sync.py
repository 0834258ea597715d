"""The Client for programs that are not asynchronous: the same methods, each waiting for its result.

A thread of its own carries the event loop; ``approve``, ``on_event`` and ``on_stderr`` are called there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar, Unpack, overload

from zot.client.client import Client, ClientOptions
from zot.system.sync_facade import BlockingFace
from zot.wire import rpc_frames as rpc
from zot.wire.python_values import PromptImage
from zot.wire.rpc_frames import Event
from zot.wire.stream_iteration import PlainStream
from zot.wire.structured_output import TRIES

T = TypeVar("T")


class SyncClient(BlockingFace):
    """``with SyncClient(model=…) as zot: for event in zot.prompt("…"): …``"""

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._client = Client(**options)
        super().__init__(self._client, "client")

    @property
    def pid(self) -> int | None:
        return self._client.pid

    @property
    def stderr(self) -> str:
        """The end of what zot said on stderr."""
        return self._client.stderr

    def prompt(self, text: str, images: Iterable[PromptImage] = ()) -> PlainStream[Event]:
        """The events, in order; leaving the loop aborts the prompt."""
        self._running()
        stream = self._client.prompt(text, images)
        return PlainStream(lambda: self._each(stream))

    @overload
    def ask(self, text: str, images: Iterable[PromptImage] = ()) -> str: ...
    @overload
    def ask(self, text: str, images: Iterable[PromptImage] = (), *, returns: type[T], tries: int = TRIES) -> T: ...
    def ask(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[Any] | None = None, tries: int = TRIES
    ) -> Any:
        """Say something and wait; the text of the last message, or with ``returns=Type`` a value of that type."""
        if returns is None:
            return self._wait(self._client.ask(text, images))
        return self._wait(self._client.ask(text, images, returns=returns, tries=tries))

    def compact(self, focus: str = "") -> str:
        return self._wait(self._client.compact(focus))

    def run_command(self, name: str, args: str = "") -> tuple[rpc.CommandRun, PlainStream[Event]]:
        ran, events = self._wait(self._client.run_command(name, args))
        return ran, PlainStream(lambda: self._each(events))

    def abort(self) -> None:
        """May be called from another thread while a prompt runs."""
        self._wait(self._client.abort())

    def ping(self) -> None:
        self._wait(self._client.ping())

    def state(self) -> rpc.State:
        return self._wait(self._client.state())

    def messages(self) -> tuple[rpc.Message, ...]:
        return self._wait(self._client.messages())

    def models(self) -> tuple[rpc.ModelInfo, ...]:
        return self._wait(self._client.models())

    def commands(self) -> tuple[rpc.CommandInfo, ...]:
        return self._wait(self._client.commands())

    def clear(self) -> None:
        self._wait(self._client.clear())

    def set_model(self, model: str) -> None:
        self._wait(self._client.set_model(model))

    def set_reasoning(self, level: str) -> None:
        self._wait(self._client.set_reasoning(level))

    def changes(self, prompt: int = 0) -> rpc.Changes:
        """What a prompt, or the whole session, did to files."""
        return self._wait(self._client.changes(prompt))

    def rewind(
        self,
        prompt: int = 0,
        what: Literal["both", "files", "conversation"] = "both",
        *,
        overwrite: bool = False,
        dry_run: bool = False,
    ) -> rpc.Rewound:
        """Go back to before a prompt: the conversation, the files, or both."""
        return self._wait(self._client.rewind(prompt, what, overwrite=overwrite, dry_run=dry_run))

    def set_permission_mode(self, mode: str) -> None:
        self._wait(self._client.set_permission_mode(mode))

    def panel_key(self, extension: str, panel_id: str, key: str, text: str = "") -> None:
        self._wait(self._client.panel_key(extension, panel_id, key, text))

    def panel_close(self, extension: str, panel_id: str) -> None:
        self._wait(self._client.panel_close(extension, panel_id))
