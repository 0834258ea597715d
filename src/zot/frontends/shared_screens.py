"""Screens of a conversation for terminals elsewhere: opened, fed and closed by the front end that holds it.
Front ends do not import each other, so the screen itself is loaded by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from zot.errors import NotThere, UsageError, ZotError, describe_error
from zot.frontends.console import print_notice
from zot.frontends.partial_turn import PartialTurn
from zot.wire import screen_frames as wire

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.shared_ui import SharedUI
    from zot.core.events import AgentEvent

_MODULE = "zot.frontends.terminal.shared_screen"
SCREENS_MAX = 16
_NAME_MAX = 100
OWN_SCREEN = "terminal"  # of the front end that shares its conversation


class ScreenSetup(msgspec.Struct, frozen=True, kw_only=True):
    """``environ`` and ``size`` are those of the terminal; with ``watch`` its keys do nothing. ``partial`` returns the
    events of a running turn. ``send`` gets output, ``typed`` is called for each key; ``spawn`` runs turns, which go on
    when the screen is closed."""

    environ: Mapping[str, str]
    size: tuple[int, int]
    watch: bool
    partial: Callable[[], Sequence[AgentEvent]]
    send: Callable[[bytes], None]
    typed: Callable[[], None]
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class SharedScreen(Protocol):
    async def run(self) -> None: ...

    def type(self, data: bytes) -> None: ...

    def resize(self, columns: int, rows: int) -> None: ...

    def show_sharing(self, text: str) -> None: ...


class SharedScreens:
    """``send`` gets events for the client; ``on_sharing`` the same text as the screens."""

    def __init__(
        self,
        conversation: Conversation,
        surfaces: SharedUI,
        tasks: asyncio.TaskGroup,
        send: Callable[[wire.ScreenEvent], None],
    ) -> None:
        self._conversation = conversation
        self._surfaces = surfaces
        self._tasks = tasks
        self._send = send
        self._open: dict[str, tuple[SharedScreen, asyncio.Task[None]]] = {}
        self._sharing: wire.Sharing | None = None
        self._typed_last = ""
        self._partial = PartialTurn()
        self._stop_recording = conversation.subscribe(self._partial.on_event, *PartialTurn.kinds)
        self.on_sharing: Callable[[str], None] = lambda text: None

    def do(self, command: wire.ScreenCommand) -> None:
        """UsageError or NotThere with the reason."""
        match command:
            case wire.ScreenOpen():
                self._create(command)
            case wire.ScreenInput(screen=name, data=data):
                self._find(name).type(data)
            case wire.ScreenResize(screen=name, columns=columns, rows=rows):
                self._find(name).resize(columns, rows)
            case wire.ScreenClose(screen=name):
                self._find(name)
                self._open[name][1].cancel()
            case wire.Sharing():
                self._share(command)

    def close(self) -> None:
        self._stop_recording()
        for _, task in self._open.values():
            task.cancel()

    def _find(self, name: str) -> SharedScreen:
        if name not in self._open:
            raise NotThere(f'no screen "{name[:_NAME_MAX]}" is open')
        return self._open[name][0]

    def _create(self, command: wire.ScreenOpen) -> None:
        name = command.screen
        if not 0 < len(name) <= _NAME_MAX or name in self._open:
            raise UsageError(f'screen "{name[:_NAME_MAX]}": expected a new name of at most {_NAME_MAX} characters')
        if len(self._open) >= SCREENS_MAX:
            raise UsageError(f"{SCREENS_MAX} screens are open; close one")
        setup = ScreenSetup(
            environ=command.environ,
            size=(command.columns, command.rows),
            watch=command.watch,
            partial=self._partial.events,
            send=lambda data: self._send(wire.ScreenOutput(screen=name, data=data)),
            typed=lambda: self._typed(name),
            spawn=lambda work: self._tasks.create_task(self._turn(work)),
        )
        screen = _open(self._conversation, self._surfaces, setup)
        task = self._tasks.create_task(self._show(name, screen))
        self._open[name] = screen, task
        if self._sharing is not None:
            screen.show_sharing(_sharing_text(self._sharing, name))

    async def _show(self, name: str, screen: SharedScreen) -> None:
        reason = ""
        try:
            await screen.run()
        except asyncio.CancelledError:  # closed by the client, or with the conversation
            return
        except Exception as error:  # a bug of one screen ends no conversation
            reason = f"a bug in zot: {type(error).__name__}: {describe_error(error)}"
            print_notice(reason)
        finally:
            self._open.pop(name, None)
        self._send(wire.ScreenClosed(screen=name, reason=reason))

    async def _turn(self, work: Coroutine[Any, Any, None]) -> None:
        """A turn of a screen; its errors are events."""
        try:
            await work
        except ZotError:
            pass
        except Exception as error:
            print_notice(f"a bug in zot: {type(error).__name__}: {describe_error(error)}")

    def _typed(self, name: str) -> None:
        """Once, until another one drives."""
        if self._typed_last != name:
            self._typed_last = name
            self._send(wire.ScreenTyped(screen=name))

    def _share(self, command: wire.Sharing) -> None:
        self._sharing, self._typed_last = command, command.driver
        for name, (screen, _) in self._open.items():
            screen.show_sharing(_sharing_text(command, name))
        self.on_sharing(_sharing_text(command, OWN_SCREEN))


def _sharing_text(sharing: wire.Sharing, own: str) -> str:
    """``shared by 3`` and who drives, unless it is this screen."""
    if sharing.clients < 2:
        return ""
    drives = sharing.driver and sharing.driver != own and f"{sharing.device or sharing.driver} drives"
    return f"shared by {sharing.clients}" + (f", {drives}" if drives else "")


def _open(conversation: Conversation, surfaces: SharedUI, setup: ScreenSetup) -> SharedScreen:
    module: Any = import_module(_MODULE)
    return module.SharedScreen(conversation, surfaces, setup)
