"""Agents that a model started with its tools, and the message with their results.

Agents started while others run form a batch; its results go into the conversation when the last one ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from zot.agent.tools.arguments import ToolArguments
from zot.errors import ToolError, ZotError
from zot.swarm.client import Event, is_over
from zot.swarm.service import SwarmService
from zot.swarm.worker_config import conversation_config
from zot.system.background_tasks import BackgroundTasks
from zot.wire.swarm_frames import SwarmStart, SwarmUpdate, SwarmWorker, WorkerInfo

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation

MOST_ALIVE = 16  # agents of one conversation
LONGEST = 8_000  # characters of one report
PATIENCE_S = 600
HEADING = "[auto-swarm update]"


class ModelAgents:
    """``tell`` receives the message of a finished batch; without it the message waits in ``news``."""

    def __init__(self, conversation: Conversation, notify: Callable[[str], None] | None = None) -> None:
        self._conversation = conversation
        self._notify = notify
        self._tasks = BackgroundTasks()
        self._service = SwarmService(lambda: conversation_config(conversation), self._tasks.start, self._on_event)
        self._agents: dict[str, WorkerInfo] = {}
        self._batch: list[str] = []
        self._done = asyncio.Event()
        self._news: list[str] = []

    @property
    def spent(self) -> float:
        """Cost of all agents of this conversation, in USD."""
        return sum(info.usage.cost_usd for info in self._agents.values())

    async def finished_message(self) -> str:
        """Waits for the message of a running batch; empty if there is none."""
        while self._batch and not self._news:
            self._done.clear()
            await self._done.wait()
        return self._news.pop(0) if self._news else ""

    async def aclose(self) -> None:
        """Agents continue."""
        self._tasks.cancel()
        await self._service.aclose()

    # --- the tools

    async def swarm_spawn(self, args: dict[str, Any]) -> str:
        arguments = ToolArguments("swarm_spawn", args)
        task, mode = arguments.filled_text("task"), arguments.optional_text("mode")
        if mode not in ("", "worktree", "shared"):
            raise ToolError(f'swarm_spawn: mode "{mode}": expected worktree or shared')
        alive = sum(not is_over(info) for info in self._agents.values())
        if alive >= MOST_ALIVE:
            raise ToolError(f"swarm_spawn: {alive} agents are running, the maximum; wait for one to finish")
        if not self._agents:
            await self._service.subscribe()
        command = SwarmStart(
            task=task,
            name=arguments.optional_text("name"),
            mode=mode,
            model=arguments.optional_text("model"),
            provider=arguments.optional_text("provider"),
        )
        info = await self._service.start(command)
        self._agents[info.id] = info
        self._batch.append(info.id)
        where = f" on branch {info.branch}" if info.branch else ""
        notes = "".join(f"note: {note}\n" for note in info.notes)
        return f"started {info.name}{where}; its id is {info.id}\n{notes}"

    async def agent_wait(self, args: dict[str, Any]) -> str:
        arguments = ToolArguments("agent_wait", args)
        given = args.get("ids")
        ids = list(map(str, cast("list[object]", given))) if isinstance(given, list) and given else list(self._agents)
        if not ids:
            raise ToolError("agent_wait: you have started no agent")
        found = [self._own(id) for id in ids]
        seconds = arguments.integer("timeout") or PATIENCE_S
        before, self._batch = self._batch, [id for id in self._batch if id not in found]
        note = ""
        try:
            async with asyncio.timeout(seconds):
                for id in found:
                    self._agents[id] = await self._service.wait(id)
        except TimeoutError:
            late = [self._agents[id].name for id in found if not is_over(self._agents[id])]
            note = f"\n[still running after {seconds} s: {', '.join(late)}]\n"
        finally:  # unfinished agents are reported later
            self._batch = [id for id in before if id not in found or not is_over(self._agents[id])]
            self._done.set()
        return await self._answers([id for id in found if is_over(self._agents[id])]) + note

    async def agent_send(self, args: dict[str, Any]) -> str:
        arguments = ToolArguments("agent_send", args)
        id = self._own(arguments.filled_text("id"))
        await self._service.send(id, arguments.filled_text("text"))
        if id not in self._batch:
            self._batch.append(id)
            self._agents[id] = (await self._service.get(id)).worker
        return f"{self._agents[id].name} will do that next\n"

    async def agent_stop(self, args: dict[str, Any]) -> str:
        id = self._own(ToolArguments("agent_stop", args).filled_text("id"))
        self._batch = [one for one in self._batch if one != id]
        await self._service.stop(id)
        return f"{self._agents[id].name} is stopped\n"

    async def agent_list(self, args: dict[str, Any]) -> str:
        rows = await self._service.list(all=True, session=self._conversation.snapshot.session_id)
        own = [row for row in rows if row.id in self._agents]
        self._agents |= {row.id: row for row in own}
        lines = [
            f"{row.name} ({row.id}): {row.status}, {row.activity if not is_over(row) else row.reason or row.last}"
            for row in own
        ]
        return "\n".join([*lines, ""]) if lines else "you have started no agent\n"

    def _own(self, typed: str) -> str:
        """Only agents of this conversation."""
        for info in self._agents.values():
            if typed in (info.id, info.name):
                return info.id
        known = ", ".join(info.name for info in self._agents.values()) or "none"
        raise ToolError(f'you started no agent "{typed}"; yours: {known}')

    # --- a batch

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, SwarmUpdate) or event.id not in self._agents:
            return
        self._agents[event.id] = event.worker
        if self._batch and all(is_over(self._agents[id]) for id in self._batch):
            batch, self._batch = self._batch, []
            self._tasks.start(self._report(batch))

    async def _report(self, batch: list[str]) -> None:
        text = f"{HEADING}\n{await self._answers(batch)}"
        if self._notify is not None:
            self._notify(text)
        else:
            self._news.append(text)
        self._done.set()

    async def _answers(self, ids: list[str]) -> str:
        """All answers, each truncated to its share."""
        rows = [await self._looked_at(id) for id in ids]
        share = LONGEST // max(len(rows), 1)
        return "\n".join(_row(row, share) for row in rows)

    async def _looked_at(self, id: str) -> SwarmWorker:
        try:
            return await self._service.get(id)
        except ZotError as error:  # it was removed
            return SwarmWorker(worker=self._agents[id], answer=f"(no details: {error})")


def _row(found: SwarmWorker, share: int) -> str:
    info = found.worker
    status = "completed" if info.status in ("done", "idle") else info.status
    because = f" ({info.reason})" if info.reason and status != "completed" else ""
    changed = f"changed: {found.files} files, +{found.added} -{found.removed}, on branch {info.branch}\n"
    answer = found.answer.strip() or "(it answered nothing)"
    if len(answer) > share:
        answer = f"{answer[:share]}\n[… {len(answer) - share} more characters; `zot swarm show {info.name}` has them]"
    return (
        f"agent: {info.name} ({info.id})\nstatus: {status}{because}\ntask: {' '.join(info.task.split())[:200]}\n"
        f"{changed if found.files else ''}final response:\n{answer}\n"
    )
