"""One task of the swarm for a client: a worker in its own process, waited for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import UsageError, ZotError
from zot.frontends.json_rpc import Params, as_object
from zot.frontends.mcp_server.tools import text_answer
from zot.swarm.service import SwarmService
from zot.system.background_tasks import BackgroundTasks
from zot.wire.swarm_frames import SwarmApprove, SwarmEvent, SwarmStart, SwarmUpdate

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.frontends.mcp_server.exchange import Exchange
    from zot.frontends.mcp_server.limits import Limits, Place

_NOT_ASKED = "denied: a worker of `swarm_run` cannot ask; its rights are those the MCP server was started with"
_SHOWN = ("turn_start", "tool_call")


class SwarmTask:
    """``run`` once. The worker is stopped if the client cancels the call."""

    def __init__(self, config: RunConfig, place: Place, limits: Limits, exchange: Exchange) -> None:
        self._config = config
        self._place = place
        self._limits = limits
        self._exchange = exchange
        self._tasks = BackgroundTasks()
        self._worker = ""

    async def run(self, task: str, cwd: str, model: str) -> Params:
        fixed = self._config
        if model and fixed.model and model != fixed.model:
            raise UsageError(f"model: this server works with {fixed.model} only")
        directory = self._place.resolve(cwd)
        async with self._limits.slot(self._exchange):
            config = msgspec.structs.replace(fixed, cwd=directory, max_cost=self._limits.left)
            service = SwarmService(lambda: config, self._tasks.start, self._heard, restricted=True)
            try:
                return await self._wait(service, SwarmStart(task=task, model=model, once=True))
            finally:
                await service.aclose()
                self._tasks.cancel()

    async def _wait(self, service: SwarmService, order: SwarmStart) -> Params:
        self._service = service
        info = await service.start(order)
        self._worker = info.id
        ended = False
        try:
            await service.subscribe(info.id)
            info = await service.wait(info.id)
            ended = True
            found = await service.get(info.id)
        finally:
            if not ended:
                await self._stop(service)
            self._limits.spent += service.spent
        failed = info.status not in ("done", "idle")
        facts: Params = {
            "worker": info.id,
            "name": info.name,
            "status": info.status,
            "answer": found.answer,
            "cost_usd": round(info.usage.cost_usd, 6),
            "changed_file_count": found.files,
        }
        reason = f"{info.status}: {info.reason}" if failed else ""
        lines = [reason or f"worker: {info.name}"]
        if found.files:
            lines.append(f"{found.files} changed files: `zot swarm diff {info.name}`, `zot swarm merge {info.name}`")
        result = text_answer(found.answer or "(no text)", facts, is_error=failed)
        result["content"].append({"type": "text", "text": "\n".join(lines)})
        return result

    async def _stop(self, service: SwarmService) -> None:
        try:
            async with asyncio.timeout(2.0):
                await service.stop(self._worker)
        except (TimeoutError, ZotError):
            pass  # it has ended, or its own time limit ends it

    def _heard(self, event: SwarmEvent | SwarmUpdate) -> None:
        if event.id != self._worker:
            return
        if isinstance(event, SwarmUpdate):
            self._exchange.progress(f"worker: {event.status}")
            return
        fields: dict[str, Any] = as_object(event.event)
        kind = fields.get("type")
        if kind == "approval_request":
            request = SwarmApprove(
                worker=event.id, request_id=str(fields.get("request_id")), decision="deny", reason=_NOT_ASKED
            )
            self._tasks.start(self._service.approve(request))
        elif kind in _SHOWN:
            self._exchange.progress(str(fields.get("name") or f"step {fields.get('step', '')}")[:100])
