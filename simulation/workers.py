"""Workers that exist only here: what ``zot rpc`` would say, said by a script with a clock that jumps.

Each task is a number of model calls with work of its tools between them. A worker may be killed in the middle of a
call; whoever continues it goes on after the last call that was answered, as one with a session would.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import msgspec

from simulation.provider import NAME, Failed, FakeProvider, Refused
from zot.errors import EngineFault
from zot.swarm.engines.engine import AttemptStatus, LaunchSpec

RETRIES = 2  # as the real ones have


class Script(NamedTuple):
    """``calls`` are what each model call costs at least, ``tools_s`` what is done after it; ``killed_at`` are the calls
    in whose middle its process is killed."""

    calls: tuple[float, ...]
    tools_s: tuple[float, ...]
    killed_at: frozenset[int]


def script_for(chance: random.Random, killed: float) -> Script:
    count = chance.randint(3, 12)
    return Script(
        calls=tuple(0.004 + 0.002 * number for number in range(count)),
        tools_s=tuple(chance.expovariate(1 / 3.0) for _ in range(count)),
        killed_at=frozenset(number for number in range(count) if chance.random() < killed),
    )


class FakeEngine:
    def __init__(self, provider: FakeProvider, scripts: dict[str, Script], start_s: float = 0.0) -> None:
        self.provider, self._scripts, self._start_s = provider, scripts, start_s
        self.reached: dict[str, int] = {}  # how many calls of a task were answered
        self.killed_in: dict[str, set[int]] = {}
        self.finished: dict[str, int] = {}  # how often a task came to its end
        self.attempts = self.lost = self.running = self.most = 0
        self.wasted = 0.0

    async def start(self, job: LaunchSpec) -> FakeAttempt:
        self.attempts += 1
        await asyncio.sleep(self._start_s)
        self.running += 1
        self.most = max(self.most, self.running)
        return FakeAttempt(self, job)

    async def close(self) -> None:
        pass

    def script(self, task: str) -> Script:
        return self._scripts[task]


class FakeAttempt:
    def __init__(self, engine: FakeEngine, job: LaunchSpec) -> None:
        self._engine, self._job = engine, job
        self._said: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._permits: dict[str, asyncio.Future[bool]] = {}
        self._work: asyncio.Task[None] | None = None
        self._code: int | None = None
        self._count = 0

    async def events(self) -> AsyncIterator[bytes]:
        while (line := await self._said.get()) is not None:
            yield line

    async def send(self, line: bytes) -> None:
        if self._code is not None:
            raise EngineFault("it has ended")
        command = json.loads(line)
        match command["type"]:
            case "prompt":
                self._answer(command)
                self._work = asyncio.create_task(self._do(command["message"]))
            case "permit":
                if (waiting := self._permits.pop(command["request_id"], None)) is not None and not waiting.done():
                    waiting.set_result(command["decision"] == "go")
            case _:
                self._answer(command)

    async def stop(self, grace: float) -> None:
        self._end(0)

    def status(self) -> AttemptStatus:
        return AttemptStatus(pid=1, born=1, code=self._code, reason="killed" if self._code else "")

    async def collect(self) -> None:
        pass

    # --- what it does

    async def _do(self, message: str) -> None:
        engine, worker = self._engine, self._job.worker
        key = _key(worker)
        script = engine.script(key)
        self._say(type="user_message", content=[{"type": "text", "text": message}], time="2000-01-01T00:00:00Z")
        for number in range(engine.reached.get(worker, 0), len(script.calls)):
            self._say(type="turn_start", step=number + 1)
            if not await self._call(script, number):
                return
            engine.reached[worker] = number + 1
            self._say(type="turn_end", stop="tool_use")
            await asyncio.sleep(script.tools_s[number])
        engine.finished[worker] = engine.finished.get(worker, 0) + 1
        self._say(type="done")

    async def _call(self, script: Script, number: int) -> bool:
        """One model call with its repetitions; False when there is no answer to go on with."""
        least, wait, failures = script.calls[number], 0.0, 0
        while True:
            id = await self._permitted(least)
            if not id:
                return self._give_up("cost_limit", "refused")
            await asyncio.sleep(wait)
            dies = number in script.killed_at and number not in self._engine.killed_in.get(self._job.worker, set())
            if dies:
                self._engine.killed_in.setdefault(self._job.worker, set()).add(number)
                asyncio.get_running_loop().call_later(1.0, self._die, asyncio.current_task())
            usd = 0.0
            try:
                usd = self._engine.provider.take(least)
                await self._engine.provider.answer(usd)
            except Refused as refused:
                wait = refused.pause_s
                self._settle(id, 0.0, "rate_limited", wait)
            except Failed:
                failures, wait = failures + 1, 2.0
                self._settle(id, 0.0, "failed", 0.0)
                if failures > RETRIES:
                    return self._give_up("overloaded", "the provider failed three times")
            except asyncio.CancelledError:
                self._engine.wasted += usd  # somebody paid for an answer that nobody heard
                raise
            else:
                self._settle(id, usd, "ok", 0.0)
                return True

    async def _permitted(self, least: float) -> str:
        """The name of the request; empty when it is refused."""
        self._count += 1
        id = f"permit-{self._count}"
        waiting = self._permits[id] = asyncio.get_running_loop().create_future()
        self._say(type="permit_request", request_id=id, provider=NAME, model="m", usd=least)
        return id if await waiting else ""

    def _settle(self, id: str, usd: float, outcome: str, pause_s: float) -> None:
        self._say(type="permit_settled", request_id=id, usd=usd, outcome=outcome, pause_s=pause_s)

    def _give_up(self, code: str, message: str) -> bool:
        self._say(type="error", message=message, code=code)
        self._say(type="done")
        return False

    def _die(self, work: asyncio.Task[None] | None) -> None:
        """As by SIGKILL, if it is still at work."""
        if self._code is None and work is not None and not work.done():
            self._engine.lost += 1
            self._end(-9)

    def _end(self, code: int) -> None:
        if self._code is None:
            self._code = code
            self._engine.running -= 1
            if self._work is not None:
                self._work.cancel()
            self._said.put_nowait(None)

    def _answer(self, command: dict[str, Any]) -> None:
        self._say(type="response", id=command.get("id", ""), command=command["type"], success=True)

    def _say(self, **fields: Any) -> None:
        if self._code is None:
            self._said.put_nowait(msgspec.json.encode(fields))


def _key(worker: str) -> str:
    """The task's name is the beginning of its worker's."""
    return worker.rpartition("-")[0]
