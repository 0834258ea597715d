"""State that an extension hands over to its next process: asked for before a reload, given once, kept in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import ExtensionError
from zot.features.extensions.child import new_request_id
from zot.wire import extension_frames, limits

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild


class SavedStates:
    """By name and directory: another extension of that name gets nothing."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str], Any] = {}

    async def save(self, children: Iterable[ExtensionChild]) -> None:
        """Ask all that run and are of the second edition, side by side."""
        asked = [child for child in children if child.alive and child.edition2]
        await asyncio.gather(*(self._save(child) for child in asked))

    def take(self, child: ExtensionChild) -> Any:
        return self._states.pop(_key(child), None)

    def has(self, child: ExtensionChild) -> bool:
        return _key(child) in self._states

    async def _save(self, child: ExtensionChild) -> None:
        question = extension_frames.Request(id=new_request_id(), method="state.save", params={"reason": "reload"})
        try:
            answer: extension_frames.Response = await child.ask(question, limits.STATE_REPLY)
        except ExtensionError as error:
            child.log.write(f"no state is kept over the reload: {error}")
            return
        if answer.error is not None:
            if answer.error.code != "unknown_method":
                child.log.write(f"no state is kept over the reload: {answer.error.message}")
            return
        result = cast("dict[str, Any]", answer.result) if isinstance(answer.result, dict) else {}
        state = result.get("state")
        if (size := len(msgspec.json.encode(state))) > limits.STATE_BYTES:
            most = limits.STATE_BYTES >> 20
            child.log.write(f"no state is kept over the reload: {size:,} bytes, at most {most} MiB")
        elif state is not None:
            self._states[_key(child)] = state


def _key(child: ExtensionChild) -> tuple[str, str]:
    return child.name, str(child.entry.manifest.directory)
