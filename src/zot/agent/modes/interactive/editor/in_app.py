"""The editor in the interactive mode: where its commands, history, settings and terminal come from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zot.agent.modes.interactive.editor.surroundings import Surroundings
from zot.agent.modes.interactive.keymap import CustomKeys

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.modes.interactive.commands.command import Command
    from zot.agent.modes.interactive.editor.history import History
    from zot.agent.modes.interactive.editor.slash_popup import SlashCommand
    from zot.agent.runtime import Runtime
    from zot.provider.messages import Message
    from zot.tui.widgets.select_list import Choice

KEPT = 500


class AppSurroundings(Surroundings):
    """Everything is asked of the app when it is needed: the editor is there before the agent is."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def vi_mode(self) -> bool:
        runtime = self._app.runtime
        return runtime is not None and runtime.settings.values.vi_mode

    @property
    def cwd(self) -> Path:
        return self._app.cwd

    def commands(self) -> Sequence[SlashCommand]:
        from zot.agent.modes.interactive.commands.registry import offered
        from zot.agent.modes.interactive.editor.slash_popup import SlashCommand

        app = self._app
        own = [
            SlashCommand(
                c.name, c.summary, c.arguments, c.aliases, complete=_completion(app, c) if c.arguments else None
            )
            for c in offered(app)
        ]
        return [*own, *(SlashCommand(name, text, extension=True) for name, text in app.extension_commands())]

    def history(self) -> History:
        from zot.agent.modes.interactive.editor.history import History, history_file
        from zot.system.files import zot_home

        if self._app.flags.no_session:
            return History()
        return History(history_file(zot_home(), self._app.cwd))

    def environment(self) -> dict[str, str]:
        runtime = self._app.runtime
        return runtime.workspace.child_environment() if runtime is not None else {}

    def changed(self) -> None:
        self._app.redraw()

    def error(self, text: str) -> None:
        self._app.status.error(text)
        self._app.redraw()

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        return self._app.spawn(work)

    async def lend_terminal(self, argv: Sequence[str]) -> int:
        """The program has the keyboard and the screen; the agent goes on working and is shown again afterwards."""
        app, loop = self._app, asyncio.get_running_loop()
        loop.remove_reader(0)
        app.screen.pause()
        app.terminal.leave()
        try:
            child = await asyncio.create_subprocess_exec(*argv, cwd=app.cwd, env=self.environment() or None)
            return await child.wait()
        finally:
            app.terminal.enter()
            app.screen.resume()
            loop.add_reader(0, app.typed)


def agent_arrived(app: App, runtime: Runtime) -> None:
    """The settings are read and the conversation is there: the user's own keys, and what was said before."""
    app.custom_keys = CustomKeys(runtime.settings.values.keymap)
    for problem in app.custom_keys.problems:
        app.transcript.diagnose(problem)
    if runtime.agent.messages:
        app.editor.history.begin_with(_prompts(runtime.agent.messages))


def _prompts(messages: Sequence[Message]) -> list[str]:
    own = [m for m in messages if m.role == "user" and not m.meta.get("synthetic") and not m.meta.get("compaction")]
    return [message.text() for message in own[-KEPT:]]


def _completion(app: App, command: Command) -> Callable[[str], Sequence[Choice]]:
    """What a command's module offers for its arguments: ``complete(app, typed)``, if it has one."""

    def complete(typed: str) -> Sequence[Choice]:
        from importlib import import_module  # the module is loaded when its name is typed, as for running it

        try:
            offer = getattr(import_module(command.module), "complete", None)
        except ImportError:
            return ()
        return offer(app, typed) if offer is not None else ()

    return complete
