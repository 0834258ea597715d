"""``map``: one worker per item; checks each answer and appends it to the results file.

It can be resumed: finished items are in the results, running workers are found by swarm and item.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from zot.agent.config import RunConfig
from zot.errors import EngineFault, GitFailed, UsageError, ZotError, describe_error
from zot.features.json_schema import validate_arguments
from zot.swarm import client
from zot.swarm.engines.engine import WorkerKey
from zot.swarm.git import worktrees
from zot.swarm.worker_config import worker_spec
from zot.system.files import write_atomic
from zot.system.safe_open import open_to_append, read_whole
from zot.wire.structured_output import candidates
from zot.wire.swarm_frames import SwarmBudget, SwarmStart, SwarmUpdate, WorkerInfo

_LARGEST = 1 << 30


class ItemResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``value`` matches the schema; ``files`` is the number of changed files on ``branch``."""

    item: str
    status: Literal["done", "failed"]
    answer: str = ""
    value: Any = None
    error: str = ""
    worker: str = ""
    branch: str = ""
    files: int = 0
    tries: int = 1
    seconds: float = 0.0
    cost: float = 0.0


class Results:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, ItemResult] = {}

    def begin(self, *, again: bool) -> None:
        """A new file; with ``again`` the existing one without failed items."""
        if not again:
            if os.path.lexists(self.path):
                raise ZotError(
                    f"{self.path} already exists; continue it with --resume, or name another file with --output"
                )
            write_atomic(self.path, b"")
            return
        self._read()
        self.rows = {item: row for item, row in self.rows.items() if row.status == "done"}
        write_atomic(self.path, b"".join(msgspec.json.encode(row) + b"\n" for row in self.rows.values()))

    def _read(self) -> None:
        try:
            lines = read_whole(self.path, _LARGEST).split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise ZotError(f"cannot read the results: {describe_error(error)}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = msgspec.json.decode(line, type=ItemResult)
            except (msgspec.MsgspecError, UnicodeError) as error:
                if number == len(lines):  # an incomplete last line
                    continue
                raise ZotError(f"{self.path}, line {number}: {error}; fix it, or name another --output") from error
            self.rows.setdefault(row.item, row)

    def add(self, row: ItemResult) -> None:
        """Appends a result durably, once per item."""
        if row.item in self.rows:
            return
        try:
            fd = open_to_append(self.path)
            try:
                os.write(fd, msgspec.json.encode(row) + b"\n")
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise ZotError(f"cannot write the results: {describe_error(error)}; continue with --resume") from error
        self.rows[row.item] = row


PLACE = "{item}"
RECONNECTIONS = 5
RESTARTS = 2
KILLED = "the swarm's supervisor was killed; its workers continue under a new one"


class MapPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a map was started with, saved so that it can be resumed. Empty ``schema``: any answer."""

    swarm: str
    items: tuple[str, ...]
    task: str
    order: SwarmStart
    schema: dict[str, Any] = {}
    max_agents: int = 4
    max_cost: float = 0.0
    retries: int = 1

    def order_for(self, item: str) -> SwarmStart:
        task = self.task.replace(PLACE, item)
        if self.schema:
            task = f"{task}\n\n{_terms(self.schema)}"
        return msgspec.structs.replace(
            self.order, task=task, swarm=self.swarm, key=item, once=not self.schema, restarts=RESTARTS
        )


def items_of(text: str) -> tuple[str, ...]:
    """The lines that are not blank, each once."""
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def check_task(task: str) -> None:
    if PLACE not in task:
        raise UsageError(f"the task has no {PLACE}; put it where the item belongs")


def _terms(schema: dict[str, Any]) -> str:
    words = json.dumps(schema, ensure_ascii=False)
    return f"Answer with JSON alone, without any other words, that fits this JSON Schema:\n{words}"


def read_answer(schema: dict[str, Any], answer: str) -> Any:
    """The value in an answer; ValueError with the reason if none matches."""
    trouble = "it contains no JSON"
    for text in candidates(answer):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        trouble = validate_arguments(schema, value).replace("the arguments", "it")
        if not trouble:
            return value
    raise ValueError(trouble)


class MapProgress(msgspec.Struct, frozen=True, kw_only=True):
    """``left_s`` is None while unknown."""

    total: int
    done: int
    failed: int
    running: int
    cost: float
    left_s: float | None


class _Job(msgspec.Struct):
    item: str
    tries: int
    asked_again: bool = False
    cost: float = 0.0


class MapRun:
    """``on_progress`` receives progress, ``finished`` each written result, ``noted`` notices."""

    def __init__(
        self,
        home: Path,
        plan: MapPlan,
        results: Results,
        credential: WorkerKey | None = None,
        on_progress: Callable[[MapProgress], None] = lambda progress: None,
        finished: Callable[[ItemResult], None] = lambda result: None,
        noted: Callable[[str], None] = lambda note: None,
    ) -> None:
        self._home = home
        self._plan = plan
        self._results = results
        self._credential = credential
        self._told = on_progress
        self._finished = finished
        self._noted = noted
        self._notes: set[str] = set()
        self._waiting: deque[tuple[str, int]] = deque()
        self._jobs: dict[str, _Job] = {}
        self._begun = time.monotonic()
        self._ended_now = 0
        self.stopped = ""  # reason to start no more workers

    async def run(self) -> None:
        """Runs until every item is finished or the budget is spent; replaces a killed supervisor."""
        for _ in range(RECONNECTIONS):
            try:
                async with client.connect_or_start(self._home, self._credential) as swarm:
                    await self._run(swarm)
                    return
            except EngineFault:
                self._noted(KILLED)
        raise ZotError("the swarm's supervisor was killed repeatedly; continue with --resume")

    async def _run(self, swarm: client.SupervisorClient) -> None:
        plan = self._plan
        await swarm.subscribe()
        await swarm.request(SwarmBudget(swarm=plan.swarm, max_cost=plan.max_cost, max_agents=plan.max_agents))
        self._jobs.clear()
        known = {info.key: info for info in await swarm.list(all=True, swarm=self._plan.swarm)}
        self._waiting.clear()
        for item in (item for item in plan.items if item not in self._results.rows):
            info = known.get(item)
            if info is None or info.status in ("failed", "stopped", "lost"):
                self._waiting.append((item, 1))
                continue
            self._jobs[info.id] = _Job(item, 1)
            if client.is_over(info):
                await self._settle(swarm, info)
        await self._fill(swarm)
        if not self._jobs:
            return
        async for event in swarm.events():
            if not isinstance(event, SwarmUpdate) or event.id not in self._jobs:
                continue
            self._jobs[event.id].cost = event.worker.usage.cost_usd
            if client.is_over(event.worker):
                await self._settle(swarm, event.worker)
                await self._fill(swarm)
            self._report()
            if not self._jobs:
                return
        raise EngineFault("the swarm's supervisor has ended")

    async def _fill(self, swarm: client.SupervisorClient) -> None:
        while self._waiting and len(self._jobs) < self._plan.max_agents and not self.stopped:
            item, tries = self._waiting.popleft()
            try:
                spec = worker_spec(RunConfig(home=self._home), self._plan.order_for(item))
                info = await swarm.start(spec, self._credential)
            except EngineFault:
                raise
            except ZotError as error:
                if not self._results.rows and not self._jobs:
                    raise  # every other item would fail the same way
                if tries <= self._plan.retries:
                    self._waiting.append((item, tries + 1))
                    continue
                self._record(ItemResult(item=item, status="failed", error=str(error), tries=tries))
                continue
            self._jobs[info.id] = _Job(item, tries)
            for note in info.notes:
                if note not in self._notes:
                    self._notes.add(note)
                    self._noted(f"note: {note}")
        self._report()

    async def _settle(self, swarm: client.SupervisorClient, info: WorkerInfo) -> None:
        """A worker is done: record its answer, ask again, or retry the item."""
        job = self._jobs[info.id]
        if info.status not in ("done", "idle"):
            del self._jobs[info.id]
            self._failed(job, info)
            return
        answer, value = (await swarm.get(info.id)).answer, None
        if self._plan.schema:
            try:
                value = read_answer(self._plan.schema, answer)
            except ValueError as error:
                if not job.asked_again and info.status == "idle":
                    job.asked_again = True
                    await swarm.send(info.id, f"That does not fit: {error}. {_terms(self._plan.schema)}")
                    return
                self._failed(job, info, f"its answer does not match: {error}")
                await self._dismiss(swarm, info)
                return
        files, branch = await self._changed(info)
        self._record(
            ItemResult(
                item=job.item,
                status="done",
                answer=answer,
                value=value,
                worker=info.id,
                branch=branch,
                files=files,
                tries=job.tries,
                seconds=round((info.ended or time.time()) - (info.started or info.created), 2),
                cost=info.usage.cost_usd,
            )
        )
        await self._dismiss(swarm, info)

    async def _dismiss(self, swarm: client.SupervisorClient, info: WorkerInfo) -> None:
        del self._jobs[info.id]
        if info.status == "idle":
            await swarm.stop(info.id)

    async def _changed(self, info: WorkerInfo) -> tuple[int, str]:
        """The number of changed files and their branch; deletes an unchanged worktree."""
        tree = client.load_worker(self._home, info.id).tree
        if tree is None:
            return 0, ""
        try:
            files = (await worktrees.diffstat(tree)).files
            if not files and not await worktrees.left_behind(tree):
                await worktrees.remove(tree)
        except GitFailed:
            files = 0
        return files, tree.branch if files else ""

    def _failed(self, job: _Job, info: WorkerInfo, why: str = "") -> None:
        reason = why or info.reason or info.status
        if not why and f"the swarm {self._plan.swarm}" in reason:
            self.stopped = reason
        elif job.tries <= self._plan.retries:
            self._waiting.append((job.item, job.tries + 1))
        else:
            cost, tries = info.usage.cost_usd, job.tries
            self._record(
                ItemResult(item=job.item, status="failed", error=reason, worker=info.id, tries=tries, cost=cost)
            )

    def _record(self, result: ItemResult) -> None:
        self._results.add(result)
        self._ended_now += 1
        self._finished(result)

    def _report(self) -> None:
        self._told(self.progress)

    @property
    def progress(self) -> MapProgress:
        rows = self._results.rows.values()
        done = sum(row.status == "done" for row in rows)
        left = len(self._plan.items) - len(rows)
        pace = (time.monotonic() - self._begun) / self._ended_now if self._ended_now else None
        return MapProgress(
            total=len(self._plan.items),
            done=done,
            failed=len(rows) - done,
            running=len(self._jobs),
            cost=sum(row.cost for row in rows) + sum(job.cost for job in self._jobs.values()),
            left_s=None if pace is None else pace * left,
        )


# --- the plan, saved for --resume


def plan_file(home: Path, output: Path) -> Path:
    from hashlib import sha256

    return home / "swarm" / "maps" / f"{sha256(str(output).encode()).hexdigest()[:16]}.json"


def keep_plan(home: Path, output: Path, plan: MapPlan) -> None:
    from zot.system.files import write_atomic

    write_atomic(plan_file(home, output), msgspec.json.encode(plan))


def load_plan(home: Path, output: Path) -> MapPlan:
    """ZotError if there is none."""
    from zot.system.safe_open import read_whole

    try:
        return msgspec.json.decode(read_whole(plan_file(home, output), 1 << 28), type=MapPlan)
    except FileNotFoundError as error:
        raise ZotError(f"nothing to continue: no `zot swarm map` wrote {output}") from error
    except (OSError, msgspec.MsgspecError) as error:
        raise ZotError(f"{plan_file(home, output)}: {error}") from error
