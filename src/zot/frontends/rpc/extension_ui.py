"""Extensions over RPC: their notes and panels as events; slash commands for a client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, assert_never

import msgspec
from msgspec import UNSET

from zot.agent import slash_commands
from zot.agent.extension_ui import SURFACES, ExtensionUI, UiInfo
from zot.errors import UsageError
from zot.frontends.console import print_notice
from zot.frontends.prompt_queue import MOST_WAITING, PromptQueue, QueuedWork
from zot.frontends.rpc.writer import PendingResponse, Writer
from zot.system.background_tasks import BackgroundTasks
from zot.wire import rpc_frames as wire
from zot.wire.extension_frames import Panel
from zot.wire.rpc_frames import (
    ExtClearNotes,
    ExtDisplay,
    ExtensionEvent,
    ExtNotify,
    ExtPanel,
    ExtPanelClose,
    ExtSurface,
)

if TYPE_CHECKING:
    from zot.agent.slash_commands import TypedCommand


class RpcExtensionUI(ExtensionUI):
    """Notes for every client, panels for one that announced them; both wait for its first command.
    ``announced`` are the client's capabilities. Requests to submit text are ignored, with one notice per extension."""

    def __init__(self, writer: Writer, announced: Collection[str]) -> None:
        self._writer = writer
        self._announced = announced
        self._waiting: list[ExtensionEvent] | None = []
        self._titles: dict[tuple[str, str], str] = {}
        self._refused: set[str] = set()
        self._surfaces: dict[tuple[str, str, str], ExtSurface] = {}
        self.on_queued: Callable[[], bool] = lambda: False

    @property
    def interactive(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]  a protocol's property
        return "panels" in self._announced

    def open(self) -> None:
        """After the client's first command: write waiting events."""
        waiting, self._waiting = self._waiting or [], None
        for event in waiting:
            self._writer.send_event(event)

    def run_queued(self) -> bool:
        return self.on_queued()

    def notify(self, extension: str, level: str, message: str) -> None:
        self._send(ExtNotify(extension=extension, level=level, message=message))

    def display(self, extension: str, text: str) -> None:
        """A command's answer."""
        self._send(ExtDisplay(extension=extension, text=text))

    def clear_notes(self, extension: str) -> None:
        self._send(ExtClearNotes(extension=extension))

    def submit(self, extension: str, text: str) -> None:
        self._refuse(extension, "submit")

    def submit_slash(self, extension: str, text: str) -> None:
        self._refuse(extension, "submit_slash")

    def open_panel(self, extension: str, panel: Panel) -> None:
        self._titles[extension, panel.id] = panel.title
        self.render_panel(extension, panel)

    def render_panel(self, extension: str, panel: Panel) -> None:
        title = panel.title or self._titles.get((extension, panel.id), "")
        self._titles[extension, panel.id] = title
        shown = ExtPanel(extension=extension, panel_id=panel.id, title=title, lines=panel.lines, footer=panel.footer)
        second = {"rows": panel.rows, "place": panel.place, "cursor": panel.cursor, "keys": panel.keys or None}
        given = {key: value for key, value in second.items() if value is not None}
        self._send(msgspec.structs.replace(shown, **given) if given else shown)

    def close_panel(self, extension: str, panel_id: str) -> None:
        self._titles.pop((extension, panel_id), None)
        self._send(ExtPanelClose(extension=extension, panel_id=panel_id))

    # --- second edition

    def ui_info(self) -> UiInfo:
        announced = self._announced
        return UiInfo(dialogs="dialogs" in announced, surfaces="surfaces" in announced, panels="panels" in announced)

    def announce(self) -> None:
        """The client's capabilities changed: it gets all present surfaces if it shows them."""
        if "surfaces" in self._announced:
            for surface in self._surfaces.values():
                self._send(surface)
        self.on_change("ui_changed", msgspec.to_builtins(self.ui_info()))

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        if kind in SURFACES:
            event = ExtSurface(extension=extension, kind=kind, name=name, value=value, stale=stale or UNSET)
            self._surfaces[extension, kind, name] = event
            if "surfaces" in self._announced:
                self._send(event)
        return ""

    def withdraw(self, extension: str, kind: str, name: str) -> None:
        known = self._surfaces.pop((extension, kind, name), None)
        if known is not None and "surfaces" in self._announced:
            self._send(ExtSurface(extension=extension, kind=kind, name=name))

    def _send(self, event: ExtensionEvent) -> None:
        if self._waiting is None:
            self._writer.send_event(event)
        else:
            self._waiting.append(event)

    def _refuse(self, extension: str, what: str) -> None:
        if extension not in self._refused:
            self._refused.add(extension)
            print_notice(f"extension {extension}: {what} is ignored in RPC mode")


def command_info(command: slash_commands.SlashCommand) -> wire.CommandInfo:
    return wire.CommandInfo(
        name=command.name, description=command.summary, extension=command.extension, arguments=command.arguments
    )


class SlashCommands:
    """Runs slash commands: inserted text is returned, displayed text is an event, a prompt is queued."""

    def __init__(self, queue: PromptQueue, surface: ExtensionUI, tasks: asyncio.TaskGroup) -> None:
        self.surface = surface
        self._queue = queue
        self._tasks = tasks
        self._running = BackgroundTasks()

    def start(self, found: TypedCommand, reply: PendingResponse) -> None:
        """Queue a prompt, or run it in parallel; the queue stays open for its work. UsageError if too many run."""
        if found.command.expands:
            self._queue.submit(QueuedWork(lambda: reply(wire.CommandRun(action="prompt", started=True)), found.text))
            return
        if len(self._running) >= MOST_WAITING:
            raise UsageError(f"{MOST_WAITING} commands of extensions are already running; wait for their answers")
        self._queue.announce()
        task = self._running.add(self._tasks.create_task(self._run(found, reply)))
        task.add_done_callback(lambda _: self._queue.withdraw())

    def stop(self) -> None:
        self._running.cancel()

    def _submit(self, work: QueuedWork, reply: PendingResponse) -> None:
        try:
            self._queue.submit(work)
        except UsageError as error:
            reply.fail(str(error))

    async def _run(self, found: TypedCommand, reply: PendingResponse) -> None:
        match answer := await found.run():
            case slash_commands.FailedCommand(error):
                reply.fail(error)
            case slash_commands.PromptAnswer(_, text):
                self._submit(QueuedWork(lambda: reply(wire.CommandRun(action="prompt", started=True)), text), reply)
            case slash_commands.ToolPrompt(_, text, first_call):
                started = wire.CommandRun(action="tool_prompt", started=True)
                self._submit(QueuedWork(lambda: reply(started), text, first_call=first_call), reply)
            case slash_commands.Insert(_, text):
                reply(wire.CommandRun(action="insert", insert=text))
            case slash_commands.Display(source, text):
                self.surface.display(source, text)
                reply(wire.CommandRun(action="display"))
            case slash_commands.PanelAnswer(source, panel):
                self.surface.open_panel(source, panel)
                reply(wire.CommandRun(action="open_panel"))
            case slash_commands.PanelRefused() | slash_commands.Noop():
                reply(wire.CommandRun(action="noop"))
            case _:
                assert_never(answer)
