"""Everything a slash command may use: the screen's services, and the conversation once it is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.extension_ui import ExtensionUI
    from zot.agent.slash_commands import SlashCommand
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
    from zot.frontends.terminal.sharing import TerminalSharing
    from zot.frontends.terminal.swarm.workers import WorkerList
    from zot.frontends.terminal.turns import TurnRunner


class CommandLookup(Protocol):
    """The available commands."""

    def run(self, text: str) -> None:
        """Submit as if typed."""
        ...

    def offered(self) -> list[Command]: ...

    def of_features(self) -> list[SlashCommand]: ...


class EarlyCommandContext(msgspec.Struct, frozen=True, kw_only=True):
    """Context of a command that runs before the agent is built."""

    ui: ScreenServices
    status: StatusLine
    dialogs: Dialogs
    asides: NoticeArea
    commands: CommandLookup
    key_help: Callable[[], list[tuple[str, str]]]
    leave: Callable[[], None]


class CommandContext(EarlyCommandContext, frozen=True, kw_only=True):
    """``typed`` is False if an extension runs the command."""

    conversation: Conversation
    turns: TurnRunner
    transcript: Transcript
    editor: Editor
    looks: ThemeManager
    confirmations: ApprovalPrompts
    surface: TerminalExtensionUI
    swarm: WorkerList
    sharing: TerminalSharing
    typed: bool = True

    @property
    def every_screen(self) -> ExtensionUI:
        """That of this terminal, and of others that share the conversation."""
        return self.conversation.services.front_end.surface or self.surface

    def session_file(self) -> Path | None:
        """The file of this session, complete on disk; None without one."""
        session = self.conversation.session
        if session is None:
            return None
        session.flush()
        return session.path if session.path.exists() else None

    async def end_turn(self, doing: str) -> None:
        """Cancel a running turn and wait, before applying a choice it must not see."""
        if self.turns.busy and not await self.turns.stop():
            raise ZotError(f"{doing}: cannot cancel the turn in time; try again")
