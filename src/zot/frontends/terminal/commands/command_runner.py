"""Finds and runs a typed command: the terminal's own first, then those of features, then aliases.
A command that needs the agent waits until it is built."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from zot.agent import slash_commands
from zot.agent.slash_commands import SlashCommand, TypedCommand, find_command, list_commands, parse
from zot.errors import ZotError
from zot.frontends.terminal.commands import registry
from zot.frontends.terminal.commands.registry import COMMANDS, Command
from zot.frontends.terminal.extension_ui import as_plain_text
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.agent.slash_commands import CommandAnswer
    from zot.frontends.terminal.commands.command_context import CommandContext, EarlyCommandContext
    from zot.frontends.terminal.editor.editor import Editor
    from zot.frontends.terminal.editor.slash_popup import PopupCommand
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.frontends.terminal.turns import PromptTarget
    from zot.provider.messages import ImageBlock
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
        self._applying: asyncio.Task[None] | None = None  # a command that prompts typed after it wait for

    def agent_arrived(self, context: CommandContext) -> None:
        self.turns = context.turns
        self._arrived.set_result(context)

    # --- running

    def run(self, text: str, *, typed: bool = True) -> None:
        """``typed``: by the user, not by an extension. Anything that is not a command goes to the model."""
        parsed = parse(text)
        if parsed is None:
            self.submit(text)
            return
        name, arguments = parsed
        if self._arrived.done():
            self._arrived.result().conversation.record_command(text)
        command = registry.find(name)
        if command is not None and command.widens and not typed:
            self._ui.status.error(f"/{name} was denied: an extension cannot run it; type it yourself")
        elif command is not None:
            self._ui.status.clear()
            task = self._ui.spawn(self._run(command, arguments, typed))
            if command.when_busy in ("apply", "cancel"):
                self._applying = task
        elif (found := self._find(text)) is not None and found.command.expands:
            self.submit(found.text)
        elif found is not None:
            self._ui.spawn(self._run_of_feature(found))
        elif (target := registry.ALIASES.get(name)) is not None:
            self.run(f"/{target} {arguments}".rstrip(), typed=typed)
        elif not self._arrived.done():
            self._ui.spawn(self._run_later(text, typed))
        else:
            self._refuse(text, name, typed)

    def submit(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        """Send a prompt, after a command typed before it that changes the model or the session."""
        if self._applying is None or self._applying.done():
            self.turns.submit(text, images)
        else:
            self._ui.spawn(self._submit_later(text, images, self._applying))

    async def _submit_later(self, text: str, images: Sequence[ImageBlock], command: asyncio.Task[None]) -> None:
        await asyncio.wait({command})
        self.turns.submit(text, images)

    def _refuse(self, text: str, name: str, typed: bool) -> None:
        known = (command.name for command in self.of_features())
        hint = registry.suggest_command(name, known) or "/help lists them"
        self._ui.status.error(f"unknown command /{name}; {hint}")
        if typed and not self._editor.text:
            self._editor.set_text(text)

    async def _run_later(self, text: str, typed: bool) -> None:
        """Features have their commands once the agent is built."""
        await self._context(typed)
        self.run(text, typed=typed)

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

    async def _run_of_feature(self, found: TypedCommand) -> None:
        self._act_on(await self._context(typed=True), await found.run())

    def act(self, answer: CommandAnswer) -> None:
        """Do what a key of an extension answered."""
        if self._arrived.done():
            self._act_on(self._arrived.result(), answer)

    def _act_on(self, context: CommandContext, answer: CommandAnswer) -> None:
        match answer:
            case slash_commands.FailedCommand(error):
                raise ZotError(error)
            case slash_commands.PromptAnswer(_, text):
                context.turns.submit(as_plain_text(text))
            case slash_commands.ToolPrompt(extension, text, first_call):
                if context.turns.busy:
                    raise ZotError(f"{extension}: a turn is running; try again when it ends")
                context.turns.submit(as_plain_text(text), first_call=first_call)
            case slash_commands.Insert(_, text):
                cursor = context.editor.buffer.cursor
                context.editor.insert(text if cursor.line or cursor.column else as_plain_text(text))
                context.editor.foreign = True
                context.ui.redraw()
            case slash_commands.Display(extension, text):
                context.every_screen.display(extension, text)
            case slash_commands.PanelAnswer(extension, panel):
                context.every_screen.open_panel(extension, panel)
            case slash_commands.PanelRefused() | slash_commands.Noop():
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

    def of_features(self, *, hidden: bool = False) -> list[SlashCommand]:
        """Commands of features whose names are not the terminal's own."""
        found = list_commands(self._arrived.result().conversation, hidden=hidden) if self._arrived.done() else []
        return [command for command in found if registry.find(command.name.lower()) is None]

    def _find(self, text: str) -> TypedCommand | None:
        return find_command(self._arrived.result().conversation, text) if self._arrived.done() else None

    def popup_commands(self) -> Sequence[PopupCommand]:
        """The rows of the editor's popup."""
        from zot.frontends.terminal.editor.slash_popup import PopupCommand

        own = [
            PopupCommand(
                c.name, c.summary, c.arguments, c.aliases, complete=partial(self._complete, c) if c.arguments else None
            )
            for c in self.offered()
        ]
        others = [
            PopupCommand(
                c.name,
                one_line(c.summary or f"({c.source})"),
                one_line(c.arguments),
                extension=True,
                listed=not c.hidden,
                completed=c.completed,
            )
            for c in self.of_features(hidden=True)
        ]
        taken = {command.name.lower() for command in (*own, *others)}
        unlisted = [PopupCommand(c.name, c.summary, listed=False) for c in registry.COMMANDS if c.name not in taken]
        aliases = [
            PopupCommand(name, f"runs /{target}", alias=True)
            for name, target in registry.ALIASES.items()
            if name not in taken
        ]
        return [*own, *aliases, *others, *unlisted]

    def _complete(self, command: Command, typed: str) -> Sequence[Choice]:
        """Arguments offered by a command's module: ``complete(context, typed)``, if defined."""
        offer = getattr(import_module(command.module), "complete", None)
        return offer(self._arrived.result(), typed) if offer is not None and self._arrived.done() else ()
