"""``zot rpc``: builds the agent and serves one client on stdin and stdout."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.shared_ui import SharedUI
from zot.features.lookup import mcp
from zot.features.questions import question_queue
from zot.frontends.console import exit_immediately, print_notice, run_loop
from zot.frontends.loop_watchdog import LoopInterrupted, LoopWatchdog
from zot.frontends.pending_questions import ClientPermissions, PendingQuestions
from zot.frontends.prompt_queue import PromptQueue
from zot.frontends.rpc.commands import RpcCommands
from zot.frontends.rpc.early_ping import EarlyPingServer
from zot.frontends.rpc.extension_ui import RpcExtensionUI
from zot.frontends.rpc.server import RpcServer
from zot.frontends.rpc.writer import Backpressure, Writer
from zot.system.process_setup import resume_gc

AGENT_VARIABLE = "ZOT_SWARM_AGENT_ID"  # for a worker: it ends without its supervisor
_LAST_WORDS_S = 0.5  # seconds for a slow reader after a signal


def run_rpc(config: RunConfig, door: EarlyPingServer) -> int:
    """Returns the exit code: 0, 1, or 128 plus the signal number."""
    return run_loop(_run(config, door))


def run_worker(config_fd: str, door: EarlyPingServer) -> int:
    """``zot rpc --config-fd FD``, used by the swarm: the configuration is in a pipe, with the key."""
    from zot.swarm.worker_env import read_worker_config

    return run_loop(_run(read_worker_config(config_fd), door))


async def _run(config: RunConfig, door: EarlyPingServer) -> int:
    task = asyncio.current_task()
    assert task is not None
    stopped = _Stopped(task)
    writer = Writer()
    try:
        code = await _serve(config, door, writer, stopped)
        # Everything is written before the process exits, unless a signal arrived and the reader is slow.
        try:
            async with asyncio.timeout(_LAST_WORDS_S if code > 1 else None):
                await writer.wait_until_flushed()
        except TimeoutError:
            pass
        return code
    except asyncio.CancelledError:
        if stopped.code:  # while extensions were starting
            return stopped.code
        raise
    except BaseExceptionGroup as group:
        if stopped.code and group.split(LoopInterrupted)[1] is None:  # the server itself was interrupted
            return stopped.code
        raise
    finally:
        stopped.close()
        writer.close()


async def _serve(config: RunConfig, door: EarlyPingServer, writer: Writer, stopped: _Stopped) -> int:
    announced: set[str] = set()
    surface, queue = RpcExtensionUI(writer, announced), PromptQueue(writer.emit)
    surfaces = SharedUI(surface)
    front_end = FrontEnd(
        reader=queue.on_event, interceptors=(Backpressure(writer),), surface=surfaces, mode="rpc", switches=True
    )
    async with build(config, front_end) as conversation, asyncio.TaskGroup() as tasks:
        queue.conversation, surface.on_queued = conversation, queue.run_queued
        conversation.has_more_work = queue.has_waiting
        # a setting does not enable questions about outside paths: a client is no user
        permissions = ClientPermissions(conversation.gate, config.permission_limit)
        questions = PendingQuestions(
            question_queue(conversation.services),
            writer.send_event,
            outside=bool(config.approve),
            widest=permissions.widest,
        )
        if (servers := mcp(conversation)) is not None:
            servers.on_state(writer.send_event)
        commands = RpcCommands(conversation, queue, questions, permissions, announced, surface, tasks, writer)
        commands.share(surfaces)
        server = RpcServer(
            writer=writer,
            queue=queue,
            commands=commands,
            questions=questions,
            surface=surface,
            token=door.token,
            ends_with_input=AGENT_VARIABLE in os.environ,
        )
        door.close()
        resume_gc()
        stopped.watch(server)
        return await server.run(door.unread, door.at_end, spoken_to=door.answered > 0)


class _Stopped:
    """The first signal ends the server or its start, also while the loop is blocked."""

    def __init__(self, beginning: asyncio.Task[int]) -> None:
        self.code = 0
        self._beginning = beginning
        self._server: RpcServer | None = None
        asyncio.get_running_loop().set_exception_handler(_report)
        self._guard = LoopWatchdog(self._stop, exit_immediately)
        self.close = self._guard.close

    def watch(self, server: RpcServer) -> None:
        self._server = server

    def _stop(self, code: int) -> None:
        if self._server is not None:
            self._server.end(code, at_once=True)
        elif not self.code:
            self._beginning.cancel()
        self.code = self.code or code


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if isinstance(context.get("exception"), LoopInterrupted):
        print_notice("interrupted an operation that took too long")
    else:
        loop.default_exception_handler(context)
