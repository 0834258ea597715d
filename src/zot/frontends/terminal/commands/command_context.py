"""Everything a slash command may use: the screen's services, and the conversation when it is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.templates.discovery import Template
    from zot.frontends.terminal.commands.registry import Command
    from zot.frontends.terminal.dialogs.confirm import ApprovalPrompts
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.editor.editor import Editor
    from zot.frontends.terminal.extension_ui import TerminalExtensionUI
    from zot.frontends.terminal.screen.notice_area import NoticeArea
    from zot.frontends.terminal.screen.status import StatusLine
    from zot.frontends.terminal.screen.theme_manager import ThemeManager
    from zot.frontends.terminal.screen.transcript import Transcript
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.frontends.terminal.swarm.workers import WorkerList
    from zot.frontends.terminal.turns import TurnRunner


class CommandLookup(Protocol):
    """The commands there are; ``runner`` has them."""

    def run(self, text: str) -> None:
        """As if it had been typed."""
        ...

    def offered(self) -> list[Command]: ...

    def of_extensions(self) -> list[tuple[str, str]]: ...

    def templates(self) -> list[Template]: ...


class EarlyCommandContext(msgspec.Struct, frozen=True, kw_only=True):
    """Enough for a command that is run before the agent is there."""

    desk: ScreenServices
    status: StatusLine
    dialogs: Dialogs
    asides: NoticeArea
    commands: CommandLookup
    key_help: Callable[[], list[tuple[str, str]]]
    leave: Callable[[], None]


class CommandContext(EarlyCommandContext, frozen=True, kw_only=True):
    """``typed`` is False when an extension runs the command in a person's place."""

    conversation: Conversation
    turns: TurnRunner
    transcript: Transcript
    editor: Editor
    looks: ThemeManager
    confirmations: ApprovalPrompts
    surface: TerminalExtensionUI
    swarm: WorkerList
    typed: bool = True

    def session_file(self) -> Path | None:
        """The file of this session, complete on disk; None while nothing is kept."""
        session = self.conversation.session
        if session is None:
            return None
        session.flush()
        return session.path if session.path.exists() else None

    async def end_turn(self, doing: str) -> None:
        """Before a choice is applied that a running turn must not see: cancel it and wait."""
        if self.turns.busy and not await self.turns.stop():
            raise ZotError(f"{doing}: the turn could not be cancelled in time; try again")
