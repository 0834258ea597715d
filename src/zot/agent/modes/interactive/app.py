"""The interactive mode: a table of contents. Who does what is in the module named after it.

keys → ``keymap`` → ``editor`` → ``Submitted`` → ``turns.Turns`` → agent → events → ``transcript`` → ``screen``.
``App`` holds the parts and the few facts they share. It opens before the agent exists, so that typing works at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zot.agent.modes.interactive import extension_commands, keymap, lifecycle
from zot.agent.modes.interactive.attendants import Attendants
from zot.agent.modes.interactive.attention import Attention
from zot.agent.modes.interactive.commands import registry
from zot.agent.modes.interactive.dialogs.dialog import Dialogs
from zot.agent.modes.interactive.editor.editor import Editor, Submitted
from zot.agent.modes.interactive.editor.in_app import AppSurroundings
from zot.agent.modes.interactive.keymap import CustomKeys
from zot.agent.modes.interactive.panels import Panels
from zot.agent.modes.interactive.screen.looks import Looks
from zot.agent.modes.interactive.screen.notes import InteractiveSurface, Notes
from zot.agent.modes.interactive.screen.screen import Screen
from zot.agent.modes.interactive.screen.status import Status
from zot.agent.modes.interactive.screen.transcript import Transcript
from zot.agent.modes.interactive.turns import Turns
from zot.agent.modes.interactive.welcome import Welcome
from zot.errors import ZotError
from zot.tui.keys import Key, KeyDecoder
from zot.tui.terminal import Terminal

if TYPE_CHECKING:
    from zot.agent.cli.flags import Flags
    from zot.agent.runtime import Runtime
    from zot.provider.messages import Message
    from zot.tui.markdown import Painter
    from zot.tui.theme import Theme


class App:
    """``runtime`` is None until the agent is built. ``redraw`` after any change; ``spawn`` for anything that waits."""

    def __init__(self, flags: Flags, terminal: Terminal) -> None:
        self.flags = flags
        self.terminal = terminal
        self.cwd = Path(flags.cwd or os.getcwd()).absolute()
        self.branch = ""
        self.runtime: Runtime | None = None
        self.expanded = False
        self.help_shown = False
        self.exit_arm = keymap.ExitArm()
        self.looks = Looks(self)
        self.screen = Screen(self, terminal)
        self.status = Status(self)
        self.notes = Notes()
        self.surface = InteractiveSurface(self)
        self.dialogs = Dialogs(self.redraw)
        self.panels = Panels(self)
        self.turns = Turns(self)
        self.transcript = Transcript(self)
        self.welcome = Welcome()
        self.attendants = Attendants(self)
        self.attention = Attention(self)
        self.custom_keys = CustomKeys()
        self.editor = Editor(AppSurroundings(self))
        self.editor.on_submit = self.submit
        self.editor.on_steer = lambda submitted: self.turns.steer(submitted.text, submitted.images)
        self.exit_code = 0
        self.leaving = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._decoder = KeyDecoder()
        self._flush: asyncio.TimerHandle | None = None

    # --- what the parts share

    @property
    def theme(self) -> Theme:
        return self.looks.theme

    @property
    def painter(self) -> Painter:
        return self.looks.painter

    @property
    def columns(self) -> int:
        return self.terminal.size().columns

    @property
    def height(self) -> int:
        return self.terminal.size().rows

    @property
    def animated(self) -> bool:
        """Whether something on the screen turns or counts by itself."""
        dialog = self.dialogs.top
        return self.turns.busy or self.welcome.fresh or (dialog is not None and dialog.animated)

    @property
    def confirming(self) -> bool:
        """Whether tool calls are asked for (``--no-yolo``, until ``/yolo``)."""
        if self.runtime is None or self.runtime.agent.gate is None:
            return False
        from zot.core.confirm import ConfirmGate

        gate = self.runtime.agent.gate
        return isinstance(gate, ConfirmGate) and gate.confirmer is not None and not gate.open

    def redraw(self) -> None:
        self.screen.invalidate()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run beside everything else; ends with the app at the latest. A ZotError becomes the error line."""
        task = lifecycle.start(self, work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def tasks(self) -> set[asyncio.Task[Any]]:
        return self._tasks

    # --- keys

    def typed(self) -> None:
        """The terminal has something to say."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        self._keys(self._decoder.feed(self.terminal.read()))
        if wait := self._decoder.waiting:
            self._flush = asyncio.get_running_loop().call_later(wait, self._nothing_followed)

    def _nothing_followed(self) -> None:
        self._flush = None
        self._keys(self._decoder.flush())

    def _keys(self, keys: list[Key]) -> None:
        for key in keys:
            keymap.dispatch(self, key)
        if keys:
            self.screen.key_typed()

    def replied(self, body: str) -> None:
        self.looks.replied(body)

    # --- what was typed

    def submit(self, submitted: Submitted) -> None:
        """A command, or something for the model."""
        if submitted.text.startswith("/") and registry.parse(submitted.text) is not None:
            self.run_command(submitted.text)
        elif submitted.text.startswith("!"):
            from zot.agent.modes.interactive.commands import shell

            shell.run(self, submitted.text[1:])
        else:
            self.turns.submit(submitted.text, submitted.images)

    def run_command(self, text: str) -> None:
        """Built-ins first, then extensions; what is neither is said and kept in the editor."""
        parsed = registry.parse(text)
        if parsed is None:
            self.turns.submit(text)
            return
        command = registry.find(parsed[0])
        if command is None and parsed[0] in (name.lower() for name, _ in self.extension_commands()):
            self.spawn(extension_commands.run(self, *parsed))
        elif command is None:
            self.status.error(f"unknown command /{parsed[0]}{registry.meant(parsed[0])}; /help lists them")
            self.editor.set_text(text)
        else:
            self.status.clear()
            self.spawn(self._run_command(command, parsed[1]))

    async def _run_command(self, command: registry.Command, arguments: str) -> None:
        if self.turns.busy and command.when_busy == "refuse":
            raise ZotError(f"/{command.name} has to wait until the turn is over; esc cancels it")
        if self.turns.busy and command.when_busy == "cancel" and not await self.turns.stop():
            raise ZotError(f"/{command.name}: the turn could not be cancelled in time; try again")
        await command.run(self, arguments)
        self.redraw()

    def begin_turn(self) -> None:
        """A prompt is about to be sent: what was said about the last one goes."""
        self.status.clear()
        self.notes.clear()
        self.help_shown = False
        self.welcome.gone = True

    # --- extensions

    def extension_of(self, tool: str) -> str:
        """The extension a tool belongs to; empty for our own."""
        owner = self.runtime.agent.toolbox.get(tool) if self.runtime is not None else None
        return str(getattr(owner, "extension", "") or "")

    def extension_commands(self) -> list[tuple[str, str]]:
        """Name and description of each extension command, by name."""
        host = self.runtime.extensions if self.runtime is not None else None
        return extension_commands.listed(host) if host is not None else []

    # --- what is above the editor

    def live_lines(self, columns: int) -> list[str]:
        """Welcome, live transcript, help, status and notes; the caller cuts from the top."""
        from zot.agent.modes.interactive.commands.help import help_lines

        rows = self.transcript.live_rows(columns)
        sections = [
            self.welcome.lines(self.theme, columns) if not self.transcript.anything and not self.turns.busy else [],
            help_lines(self, self.theme, columns) if self.help_shown else [],
            self.status.lines(self.theme, columns),
            self.notes.lines(self.theme, columns),
            [self.theme.paint("warning", f"  {self.exit_arm.hint}")] if self.exit_arm.armed else [],
        ]
        for section in sections:
            if section:
                rows += ["", *section] if rows or self.screen.settled.begun else section
        return rows

    def toggle_expanded(self) -> None:
        """Boxes that still live unfold in place; what is settled is shown in full on a screen of its own."""
        if self.transcript.tools_live:
            self.expanded = not self.expanded
            self.redraw()
        elif self.runtime is not None and self.runtime.agent.messages:
            self.spawn(self._show_expanded(self.runtime.agent.messages))

    async def _show_expanded(self, messages: Sequence[Message]) -> None:
        from zot.agent.modes.interactive.dialogs.expanded_viewer import ExpandedViewer

        await self.dialogs.ask(ExpandedViewer(self, messages))

    # --- leaving

    def suspend(self) -> None:
        lifecycle.suspend(self)

    def leave(self, exit_code: int = 0) -> None:
        """End the mode: the turn is cancelled, the session saved, the terminal restored."""
        self.exit_code = self.exit_code or exit_code
        self.leaving.set()
