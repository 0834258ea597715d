"""Coordinator on the cluster: owns the workers' hosts and keeps unacknowledged batches while the driver is away.

One per zot home; the last driver that connected counts. Without a driver it grants model calls from the budget that was
left, for one day at most. It does not import Ray.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from zot.errors import EngineFault
from zot.swarm.engines.ray.frames import (
    VERSION,
    AttemptEnded,
    Batch,
    Begin,
    ReadPosition,
    decode_batch,
    decode_begin,
    encode,
)
from zot.swarm.supervisor.budget import RemainingBudget
from zot.system.background_tasks import BackgroundTasks
from zot.wire.rpc_frames import Permit, PermitRequest, PermitSettled

POLL_S = 5.0
AWAY_S = 15.0  # seconds without a poll until the driver counts as gone
ABANDONED_S = 86_400.0
LINGER_S = 60.0  # seconds without attempts until it exits
RESTART_S = 90.0  # seconds to wait for a host that does not answer
_TRY_AGAIN_S = 0.5
_MOST_HELD = 32 << 20  # unacknowledged bytes of one worker: then its host is not polled
MOST_BUNDLES = 512 << 20  # bytes of cached bundles; the least recently used are evicted
_LOST = "the node or the process it ran on was lost"


class HostHandle(Protocol):
    """A remote ``WorkerHost``. Every method may raise HostGone."""

    def begin(self, data: bytes, bundle: Any, secret: bytes) -> Awaitable[bytes]:
        """``bundle`` is the result of ``share``."""
        ...

    def poll(self, attempt: int, taken: bytes) -> Awaitable[bytes]: ...

    def send(self, attempt: int, number: int, line: bytes) -> Awaitable[bool]: ...

    def stop(self, attempt: int, grace: float) -> Awaitable[None]: ...

    def release(self, attempt: int) -> Awaitable[None]: ...

    def end(self) -> None:
        """Kills its process."""
        ...


class HostGone(Exception):
    """It did not answer. ``for_good``: it cannot come back."""

    def __init__(self, for_good: bool) -> None:
        super().__init__(_LOST)
        self.for_good = for_good


class CoordinatedAttempt:
    """The coordinator's record of one attempt."""

    def __init__(self, begin: Begin, host: HostHandle) -> None:
        self.worker, self.number, self.swarm = begin.worker, begin.attempt, begin.swarm
        self.host = host
        self.steps_left = begin.steps_left
        self.begun = b""
        self.ready = asyncio.Event()
        self.taken = ReadPosition(session=len(begin.session))
        self.batches: deque[tuple[int, bytes]] = deque()
        self.count = 0
        self.told = 0  # the last batch sent to this driver
        self.size = 0
        self.over = False
        self.lost = False
        self.asked: dict[str, PermitRequest] = {}
        self.answered: dict[str, int] = {}  # by line number; the coordinator's own are below 0
        self.room = asyncio.Event()
        self.pump: asyncio.Task[None] | None = None

    def add(self, batch: Batch) -> None:
        self.count += 1
        data = encode(msgspec.structs.replace(batch, number=self.count))
        self.batches.append((self.count, data))
        self.size += len(data)

    def acknowledge(self, number: int) -> None:
        while self.batches and self.batches[0][0] <= number:
            self.size -= len(self.batches.popleft()[1])
        self.room.set()


class Allowance:
    """A swarm's remaining budget since the driver's last report; see ``RemainingBudget``."""

    def __init__(self, left: RemainingBudget) -> None:
        self._usd = left.usd if left.usd >= 0 else math.inf
        self._steps = left.steps if left.steps >= 0 else math.inf
        self._until = _now() + left.seconds if left.seconds >= 0 else math.inf

    def covers(self, request: PermitRequest) -> bool:
        dear = not self._usd >= request.usd or self._usd <= 0 or (request.unpriced and self._usd < math.inf)
        return not dear and self._steps > 0 and _now() < self._until

    def share(self, request: PermitRequest) -> float:
        """The most the call may cost; 0 is no limit."""
        most = max(request.usd, min(request.most_usd, max(request.usual_usd, self._usd / 2), self._usd))
        return most if request.most_usd and self._usd < math.inf else 0.0

    def grant(self, usd: float) -> None:
        self._usd -= usd
        self._steps -= 1

    def spend(self, more: float) -> None:
        """Corrects a grant by the real cost of its call."""
        self._usd -= more


class ClusterCoordinator:
    """``make`` creates a host, ``leave`` ends this process, ``share`` puts a bundle where hosts can read it."""

    def __init__(
        self, make: Callable[[str], HostHandle], leave: Callable[[], None], share: Callable[[bytes], Any] = bytes
    ) -> None:
        self._make, self._leave, self._share = make, leave, share
        self._held: dict[str, CoordinatedAttempt] = {}
        self._bundles: dict[str, tuple[Any, int]] = {}  # shared bundle and size, least recently used first
        self._allowed: dict[str, Allowance] = {}
        self._driver = ""
        self._heard = 0.0
        self._news = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks()

    # --- the driver

    async def hello(self, driver: str) -> int:
        """The last caller is the driver; it receives unacknowledged batches again."""
        self._driver, self._heard = driver, _now()
        for held in self._held.values():
            held.told = 0
        self._news.set()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return VERSION

    async def poll(self, driver: str, acknowledged: dict[str, tuple[int, int]]) -> list[bytes]:
        """New batches of all workers. ``acknowledged`` has each worker's attempt and last processed batch."""
        self._check(driver)
        for worker, (attempt, number) in acknowledged.items():
            if (held := self._get(worker, attempt)) is not None:
                held.acknowledge(number)
        deadline = _now() + POLL_S
        while not (fresh := self._fresh()) and (left := deadline - _now()) > 0:
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()
            self._check(driver)
        return fresh

    async def allow(self, driver: str, data: bytes) -> None:
        """Sets what each swarm may spend without the driver; a missing swarm has no limit."""
        self._check(driver)
        left = msgspec.msgpack.decode(data, type=dict[str, RemainingBudget])
        self._allowed = {swarm: Allowance(one) for swarm, one in left.items()}

    async def keep(self, driver: str, key: str, bundle: bytes) -> None:
        """Stores a bundle that attempts start from; several share one."""
        self._check(driver)
        self._bundles[key] = self._share(bundle), len(bundle)
        while len(self._bundles) > 1 and sum(size for _, size in self._bundles.values()) > MOST_BUNDLES:
            del self._bundles[next(iter(self._bundles))]

    async def has(self, driver: str, key: str) -> bool:
        self._check(driver)
        return self._bundle(key) is not None

    def _bundle(self, key: str) -> Any:
        """The bundle of this key, or None; counts as a use."""
        if key not in self._bundles:
            return None
        self._bundles[key] = found = self._bundles.pop(key)
        return found[0]

    # --- attempts

    async def begin(self, driver: str, data: bytes, secret: bytes) -> bytes:
        """Begins an attempt on the worker's host; empty, without a start, if its bundle is gone."""
        self._check(driver)
        begin = decode_begin(data)
        before = self._held.get(begin.worker)
        if before is not None and before.number == begin.attempt:  # the previous answer was lost
            await before.ready.wait()
            if before.begun:
                return before.begun
        if before is not None and before.number >= begin.attempt:
            raise EngineFault(f"attempt {begin.attempt} of {begin.worker} is over: {before.number} is known here")
        if (bundle := self._bundle(begin.tree.key)) is None:
            return b""
        host = before.host if before is not None else self._make(begin.worker)
        if before is not None:
            self._forget(before)
        held = self._held[begin.worker] = CoordinatedAttempt(begin, host)
        try:
            held.begun = await self._begun(held, data, bundle, secret)
        except BaseException:
            self._drop(held)
            raise
        finally:
            held.ready.set()
        held.pump = asyncio.create_task(self._pump(held))
        return held.begun

    async def _begun(self, held: CoordinatedAttempt, data: bytes, bundle: Any, secret: bytes) -> bytes:
        """Waits for a host that may return; replaces a lost one, once."""
        deadline, renewed = _now() + RESTART_S, False
        while True:
            try:
                return await held.host.begin(data, bundle, secret)
            except HostGone as gone:
                if _now() > deadline or (gone.for_good and renewed):
                    raise EngineFault(f"{held.worker} cannot be started: {_LOST}") from gone
                if gone.for_good:
                    held.host, renewed = self._make(held.worker), True
                await asyncio.sleep(_TRY_AGAIN_S)

    async def adopt(self, driver: str, worker: str, attempt: int) -> bytes:
        """Where the attempt runs or ran, if its end is not acknowledged; empty if unknown."""
        self._check(driver)
        held = self._get(worker, attempt)
        return held.begun if held is not None else b""

    async def send(self, driver: str, worker: str, attempt: int, number: int, line: bytes) -> bool:
        """False if it has ended. A permit that was already answered is ignored."""
        self._check(driver)
        held = self._get(worker, attempt)
        if held is None or held.over:
            return False
        if b'"permit"' in line and (permit := _permit(line)) is not None:
            if held.answered.get(permit.request_id, number) != number:
                return True
            held.answered[permit.request_id] = number
            if permit.decision == "go":
                self._count(held, permit.request_id)
        return await self._sent(held, number, line)

    async def _sent(self, held: CoordinatedAttempt, number: int, line: bytes) -> bool:
        """Retries until the host has it or the attempt is over."""
        while not held.over:
            try:
                return await held.host.send(held.number, number, line)
            except HostGone as gone:
                if gone.for_good:
                    return False
                await asyncio.sleep(_TRY_AGAIN_S)
        return False

    async def stop(self, driver: str, worker: str, attempt: int, grace: float) -> None:
        """Stops the attempt; a host that does not answer is killed."""
        self._check(driver)
        held = self._get(worker, attempt)
        if held is None or held.over:
            return
        try:
            async with asyncio.timeout(grace + RESTART_S / 2):
                await held.host.stop(attempt, grace)
        except (HostGone, TimeoutError):
            held.host.end()
            self._lose(held)

    async def release(self, driver: str, worker: str, attempt: int) -> None:
        """All results were taken: ends the host and removes its directory."""
        self._check(driver)
        if (held := self._get(worker, attempt)) is not None:
            with suppress(HostGone, TimeoutError):
                async with asyncio.timeout(10):
                    await held.host.release(attempt)
            self._drop(held)

    # --- output of hosts

    async def _pump(self, held: CoordinatedAttempt) -> None:
        """Polls one host until its attempt is over or unknown."""
        silent_since = 0.0
        while not held.over:
            while held.size > _MOST_HELD:
                held.room.clear()
                await held.room.wait()
            try:
                data = await held.host.poll(held.number, encode(held.taken))
            except HostGone as gone:
                silent_since = silent_since or _now()
                if gone.for_good or _now() - silent_since > RESTART_S:
                    self._lose(held)
                await asyncio.sleep(_TRY_AGAIN_S)
                continue
            silent_since = 0.0
            if not data:
                self._lose(held)
            elif not (batch := decode_batch(data)).says_nothing and not held.over:
                self._take(held, batch)

    def _take(self, held: CoordinatedAttempt, batch: Batch) -> None:
        held.taken = held.taken.after(batch)
        held.over = batch.over is not None
        held.add(batch)
        for line in batch.lines:
            if b'"permit_' in line:
                match _permit_event(line):
                    case PermitRequest() as request:
                        held.asked[request.request_id] = request
                    case PermitSettled() as settled:
                        request = held.asked.pop(settled.request_id, None)
                        if request is not None and held.swarm in self._allowed:
                            self._allowed[held.swarm].spend(settled.usd - request.usd)
                    case None:
                        pass
        self._news.set()
        if held.asked and self._is_away:
            self._permit(held)

    def _lose(self, held: CoordinatedAttempt) -> None:
        if not held.over:
            held.over = held.lost = True
            held.add(
                Batch(worker=held.worker, attempt=held.number, over=AttemptEnded(code=-9, reason=_LOST, lost=True))
            )
            self._news.set()

    def _fresh(self) -> list[bytes]:
        found: list[bytes] = []
        for held in self._held.values():
            found += [data for number, data in held.batches if number > held.told]
            held.told = held.count
        return found

    # --- permits, while there is no driver

    @property
    def _is_away(self) -> bool:
        return _now() - self._heard > AWAY_S

    def _permit(self, held: CoordinatedAttempt) -> None:
        for id, request in list(held.asked.items()):
            if id in held.answered:
                continue
            number = held.answered[id] = -len(held.answered) - 1
            allowed = self._allowed.get(held.swarm)
            if held.steps_left == 0 or (allowed is not None and not allowed.covers(request)):
                answer = Permit(request_id=id, decision="refuse", reason="the limits of the worker or its swarm")
            else:
                usd = allowed.share(request) if allowed is not None else 0.0
                held.asked[id] = msgspec.structs.replace(request, usd=max(usd, request.usd))  # until it is settled
                answer = Permit(request_id=id, decision="go", usd=usd)
                self._count(held, id)
            self._tasks.start(self._sent(held, number, msgspec.json.encode(answer)))

    def _count(self, held: CoordinatedAttempt, id: str) -> None:
        """Records a granted call."""
        held.steps_left -= held.steps_left > 0
        if (request := held.asked.get(id)) is not None and held.swarm in self._allowed:
            self._allowed[held.swarm].grant(request.usd)

    # --- lifecycle

    async def _watch(self) -> None:
        """Watches for a missing driver and for the end of all attempts."""
        while True:
            await asyncio.sleep(1.0)
            silent = _now() - self._heard
            if self._is_away:
                for held in self._held.values():
                    self._permit(held)
            if silent > ABANDONED_S or (not self._held and silent > LINGER_S):
                for held in list(self._held.values()):
                    self._drop(held)
                self._leave()

    def _check(self, driver: str) -> None:
        if driver != self._driver:
            raise EngineFault("another zot of the same home now controls these workers")
        self._heard = _now()

    def _get(self, worker: str, attempt: int) -> CoordinatedAttempt | None:
        held = self._held.get(worker)
        return held if held is not None and held.number == attempt else None

    def _forget(self, held: CoordinatedAttempt) -> None:
        if self._held.get(held.worker) is held:
            del self._held[held.worker]
        if held.pump is not None:
            held.pump.cancel()

    def _drop(self, held: CoordinatedAttempt) -> None:
        self._forget(held)
        held.host.end()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _permit(line: bytes) -> Permit | None:
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(line, type=Permit)
    return None


def _permit_event(line: bytes) -> PermitRequest | PermitSettled | None:
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(line, type=PermitRequest | PermitSettled)
    return None
