"""Finds and runs a typed command: built-ins first, then extensions, then prompt templates.
A command that needs the agent waits until it is built."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from zot.errors import ZotError
from zot.features.lookup import extension_host
from zot.frontends.terminal.commands import registry
from zot.frontends.terminal.commands.registry import COMMANDS, Command
from zot.frontends.terminal.extension_ui import as_plain_text
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.features.templates.discovery import Template
    from zot.frontends.terminal.commands.command_context import CommandContext, EarlyCommandContext
    from zot.frontends.terminal.editor.editor import Editor
    from zot.frontends.terminal.editor.slash_popup import SlashCommand
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.frontends.terminal.turns import PromptTarget
    from zot.tui.widgets import Choice


class CommandRunner:
    """``turns`` is replaced when the agent is built; ``early`` is set before the first key."""

    early: EarlyCommandContext

    def __init__(self, ui: ScreenServices, editor: Editor, turns: PromptTarget, *, sessions: bool) -> None:
        self._ui = ui
        self._editor = editor
        self._sessions = sessions
        self._arrived: asyncio.Future[CommandContext] = asyncio.get_running_loop().create_future()
        self.turns = turns

    def agent_arrived(self, context: CommandContext) -> None:
        self.turns = context.turns
        self._arrived.set_result(context)

    # --- running

    def run(self, text: str, *, typed: bool = True) -> None:
        """``typed``: by the user, not by an extension. Anything that is not a command goes to the model."""
        parsed = registry.parse(text)
        if parsed is None:
            self.turns.submit(text)
            return
        name, arguments = parsed
        if self._arrived.done():
            self._arrived.result().conversation.record_command(text)
        command = registry.find(name)
        if command is not None and command.widens and not typed:
            self._ui.status.error(f"/{name} was denied: an extension cannot run it; type it yourself")
        elif command is not None:
            self._ui.status.clear()
            self._ui.spawn(self._run(command, arguments, typed))
        elif name in (known.lower() for known, _ in self.of_extensions()):
            self._ui.spawn(self._run_extensions(name, arguments))
        elif self._is_template(text.strip()):
            self.turns.submit(text.strip())
        elif (target := registry.ALIASES.get(name)) is not None:
            self.run(f"/{target} {arguments}".rstrip(), typed=typed)
        else:
            self._ui.status.error(f"unknown command /{name}{registry.suggest_command(name)}; /help lists them")
            if typed:
                self._editor.set_text(text)

    async def _run(self, command: Command, arguments: str, typed: bool) -> None:
        if self.turns.busy and command.when_busy == "refuse":
            raise ZotError(f"/{command.name} requires an idle agent; esc cancels the turn")
        if self.turns.busy and command.when_busy == "cancel" and not await self.turns.stop():
            raise ZotError(f"/{command.name}: cannot cancel the turn in time; try again")
        # loaded here: dozens of modules must not delay the first key
        work: Any = import_module(command.module)
        waiting = work.run(self.early if command.early else await self._context(typed), arguments)
        if waiting is not None:
            await waiting
        self._ui.redraw()

    async def _run_extensions(self, name: str, arguments: str) -> None:
        context = await self._context(typed=True)
        from zot.features.extensions.feature import run_extension_command

        answer = await run_extension_command(context.conversation, name, arguments)
        from zot.features.extensions import commands

        match answer:
            case commands.FailedCommand(error):
                raise ZotError(error)
            case commands.PromptAnswer(_, text):
                context.turns.submit(as_plain_text(text))
            case commands.ToolPrompt(extension, text, first_call):
                if context.turns.busy:
                    raise ZotError(f"{extension}: a turn is running; try again when it ends")
                context.turns.submit(as_plain_text(text), first_call=first_call)
            case commands.Insert(_, text):
                cursor = context.editor.buffer.cursor
                context.editor.insert(text if cursor.line or cursor.column else as_plain_text(text))
                context.ui.redraw()
            case commands.Display(extension, text):
                context.surface.notify(extension, "info", text)
            case commands.PanelAnswer(extension, panel):
                context.surface.open_panel(extension, panel)
            case commands.Noop():
                pass
            case _:
                assert_never(answer)

    async def _context(self, typed: bool) -> CommandContext:
        context = await asyncio.shield(self._arrived)
        return context if typed else msgspec.structs.replace(context, typed=False)

    def run_shell(self, command: str) -> None:
        """Runs the text after ``!``; if it cannot run now, it stays in the editor. ``!!`` hides it from the model."""
        if not command.strip("! \t\n"):
            self._ui.status.error("expected a shell command after the exclamation mark: !make test")
            return
        if not self._arrived.done() or self.turns.busy:
            reason = "a turn is running; esc cancels it" if self._arrived.done() else "zot is still starting"
            self._editor.set_text(f"!{command}")
            self._ui.status.error(f"!{command.strip()[:40]}: {reason}")
            return
        from zot.frontends.terminal.commands import shell

        shell.run(self._arrived.result(), command.removeprefix("!"), for_model=not command.startswith("!"))

    # --- lists

    def offered(self) -> list[Command]:
        """The listed commands; without sessions there is no /new."""
        return [command for command in COMMANDS if not command.hidden and (self._sessions or command.name != "new")]

    def of_extensions(self) -> list[tuple[str, str]]:
        """Name and description of each extension command; without a description the extension is named."""
        host = extension_host(self._arrived.result().conversation) if self._arrived.done() else None
        known = host.commands() if host is not None else []
        infos = sorted(known, key=lambda info: info.name)
        return [(one_line(info.name), one_line(info.description) or f"({one_line(info.extension)})") for info in infos]

    def templates(self) -> list[Template]:
        """Prompt templates whose names are not commands."""
        if not self._arrived.done():
            return []
        taken = {name.lower() for name, _ in self.of_extensions()}
        from zot.features.templates.feature import templates

        found = templates(self._arrived.result().conversation)
        return [item for item in found if registry.find(item.name.lower()) is None and item.name.lower() not in taken]

    def _is_template(self, text: str) -> bool:
        from zot.features.templates.feature import is_template

        return self._arrived.done() and is_template(self._arrived.result().conversation, text)

    def slash_commands(self) -> Sequence[SlashCommand]:
        """The rows of the editor's popup."""
        from zot.frontends.terminal.editor.slash_popup import SlashCommand

        own = [
            SlashCommand(
                c.name, c.summary, c.arguments, c.aliases, complete=partial(self._complete, c) if c.arguments else None
            )
            for c in self.offered()
        ]
        others = [SlashCommand(name, text, extension=True) for name, text in self.of_extensions()]
        others += [
            SlashCommand(t.name, one_line(t.description) or f"({t.label})", one_line(t.hint), extension=True)
            for t in self.templates()
        ]
        taken = {command.name.lower() for command in (*own, *others)}
        unlisted = [SlashCommand(c.name, c.summary, listed=False) for c in registry.COMMANDS if c.name not in taken]
        aliases = [
            SlashCommand(name, f"runs /{target}", alias=True)
            for name, target in registry.ALIASES.items()
            if name not in taken
        ]
        return [*own, *aliases, *others, *unlisted]

    def _complete(self, command: Command, typed: str) -> Sequence[Choice]:
        """Arguments offered by a command's module: ``complete(context, typed)``, if defined."""
        offer = getattr(import_module(command.module), "complete", None)
        return offer(self._arrived.result(), typed) if offer is not None and self._arrived.done() else ()
