"""Extensions' own commands, run for a client: the action an extension answers with becomes data, events or work.

Text to insert is returned, text to display is an event, a panel opens for a client that can draw it, and a prompt
joins the queue: then the answer comes when its turn does, as for any prompt.
"""

from __future__ import annotations

import asyncio
import os

import msgspec

from zot.agent.extensions.commands import ToolPrompt
from zot.agent.extensions.host import ExtensionHost
from zot.agent.modes.rpc.queue import Work, WorkQueue
from zot.agent.modes.rpc.reply import Reply
from zot.agent.modes.rpc.surface import CommandAnswer, running_command
from zot.core.agent import FirstCall
from zot.provider.messages import ToolCallBlock
from zot.wire import rpc_frames as wire


class ExtensionCommands:
    def __init__(self, host: ExtensionHost, queue: WorkQueue, tasks: asyncio.TaskGroup) -> None:
        self._host = host
        self._queue = queue
        self._tasks = tasks
        self._running: set[asyncio.Task[None]] = set()

    def all(self) -> tuple[wire.CommandInfo, ...]:
        return tuple(
            wire.CommandInfo(name=info.name, description=info.description, extension=info.extension)
            for info in self._host.commands()
        )

    def start(self, command: wire.RunCommand, reply: Reply) -> None:
        """Run it beside everything else; the queue stays open for the work it may bring."""
        self._queue.announce()
        task = self._tasks.create_task(self._run(command, reply))
        self._running.add(task)
        task.add_done_callback(self._ended)

    def stop(self) -> None:
        for task in self._running:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._queue.withdraw()

    async def _run(self, command: wire.RunCommand, reply: Reply) -> None:
        answer = CommandAnswer()
        running_command.set(answer)
        result = await self._host.run_command(command.name.removeprefix("/"), command.args)
        if result.error:
            reply.fail(result.error)
        elif result.tool_prompt is not None:
            self._queue.submit(_tool_work(result.tool_prompt, reply))
        elif answer.prompt:
            self._queue.submit(Work(lambda: reply(wire.CommandRun(action="prompt", started=True)), answer.prompt))
        else:
            reply(_outcome(answer))


def _outcome(answer: CommandAnswer) -> wire.CommandRun:
    if answer.insert:
        return wire.CommandRun(action="insert", insert=answer.insert)
    if answer.displayed:
        return wire.CommandRun(action="display")
    return wire.CommandRun(action="open_panel" if answer.panel else "noop")


def _tool_work(wanted: ToolPrompt, reply: Reply) -> Work:
    arguments = msgspec.json.encode(wanted.args).decode()
    call = ToolCallBlock(f"command-{os.urandom(6).hex()}", wanted.tool, arguments)
    return Work(
        lambda: reply(wire.CommandRun(action="tool_prompt", started=True)),
        wanted.prompt,
        first_call=FirstCall(call, wanted.extension),
    )
