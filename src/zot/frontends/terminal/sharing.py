"""Sharing of this terminal's conversation with other devices (`/serve`). The connection is loaded by name, since front
ends do not import each other."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

_MODULE = "zot.frontends.serve.sharing"


class KeySource(Protocol):
    """Calls ``on_key`` for each key of the user."""

    on_key: Callable[[], object]


class TerminalSharing:
    """``show`` gets a text for the status bar, ``report`` a notice."""

    def __init__(
        self, keyboard: KeySource, show: Callable[[str], None], report: Callable[[str], None], *, is_guest: bool
    ) -> None:
        self._keyboard = keyboard
        self._show = show
        self._report = report
        self._is_guest = is_guest
        self._sharing: Any = None

    @property
    def is_on(self) -> bool:
        return self._sharing is not None and self._sharing.is_on

    async def start(self, conversation: Conversation, flags: list[str]) -> Any:
        """The address to show; ZotError with the reason. ``flags`` are for a server that is started."""
        if self._sharing is None:
            module: Any = import_module(_MODULE)
            self._sharing = module.open_sharing(conversation, self._show, self._report, is_guest=self._is_guest)
            if not self._is_guest:
                self._keyboard.on_key = self._sharing.typed
        return await self._sharing.start(flags)

    def stop(self) -> bool:
        """False if it was not shared."""
        was_on = self.is_on
        if self._sharing is not None:
            self._sharing.stop()
        return was_on

    async def aclose(self) -> None:
        """Before the conversation ends."""
        if self._sharing is not None:
            await self._sharing.aclose()
