"""Extensions' own commands, run for a client: the action an extension answers with becomes data, events or work.

Text to insert is returned, text to display is an event, a panel opens for a client that can draw it, and a prompt
joins the queue: then the answer comes when its turn does, as for any prompt.
"""

from __future__ import annotations

import asyncio
from typing import assert_never

from zot.errors import UsageError
from zot.features.extensions.commands import Display, FailedCommand, Insert, Noop, PanelAnswer, PromptAnswer, ToolPrompt
from zot.features.extensions.host import ExtensionHost
from zot.frontends.prompt_queue import MOST_WAITING, Work, WorkQueue
from zot.frontends.rpc.extension_ui import RpcSurface
from zot.frontends.rpc.writer import Reply
from zot.system.background_tasks import BackgroundTasks
from zot.wire import rpc_frames as wire


class ExtensionCommands:
    def __init__(self, host: ExtensionHost, queue: WorkQueue, surface: RpcSurface, tasks: asyncio.TaskGroup) -> None:
        self.host = host
        self._surface = surface
        self._queue = queue
        self._tasks = tasks
        self._running = BackgroundTasks()

    def all(self) -> tuple[wire.CommandInfo, ...]:
        return tuple(
            wire.CommandInfo(name=info.name, description=info.description, extension=info.extension)
            for info in self.host.commands()
        )

    def has(self, name: str) -> bool:
        return any(info.name == name for info in self.host.commands())

    def start(self, command: wire.RunCommand, reply: Reply) -> None:
        """Run it beside everything else; the queue stays open for the work it may bring. UsageError when many run."""
        if len(self._running) >= MOST_WAITING:
            raise UsageError(f"{MOST_WAITING} commands of extensions are running already; wait for their answers")
        self._queue.announce()
        task = self._running.add(self._tasks.create_task(self._run(command, reply)))
        task.add_done_callback(lambda _: self._queue.withdraw())

    def stop(self) -> None:
        self._running.cancel()

    def _submit(self, work: Work, reply: Reply) -> None:
        try:
            self._queue.submit(work)
        except UsageError as error:
            reply.fail(str(error))

    async def _run(self, command: wire.RunCommand, reply: Reply) -> None:
        answer = await self.host.run_command(command.name.removeprefix("/"), command.args)
        match answer:
            case FailedCommand(error):
                reply.fail(error)
            case PromptAnswer(_, text):
                self._submit(Work(lambda: reply(wire.CommandRun(action="prompt", started=True)), text), reply)
            case ToolPrompt(_, text, first_call):
                started = wire.CommandRun(action="tool_prompt", started=True)
                self._submit(Work(lambda: reply(started), text, first_call=first_call), reply)
            case Insert(_, text):
                reply(wire.CommandRun(action="insert", insert=text))
            case Display(extension, text):
                self._surface.display(extension, text)
                reply(wire.CommandRun(action="display"))
            case PanelAnswer(extension, panel):
                self._surface.open_panel(extension, panel)
                reply(wire.CommandRun(action="open_panel"))
            case Noop():
                reply(wire.CommandRun(action="noop"))
            case _:
                assert_never(answer)
