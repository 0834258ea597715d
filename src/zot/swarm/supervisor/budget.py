"""Shared budget and rate limits: grants each model call before it is made. The caller passes the time.

A call is *granted* at the most it may cost, which limits its output, and *settled* at its real cost: parallel workers
cannot spend the same rest. A call that a kill cut off counts at its input. Parallel calls per provider start at
FIRST_ASKING, grow by one with each success, and are halved after a rate limit.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from zot.swarm.worker_records import WorkerLimits
from zot.system.files import make_private_dir, write_atomic
from zot.system.safe_open import open_to_append, read_whole

MOST_LINES = 4096  # lines beyond those of a compacted journal
_LARGEST = 1 << 30


class BudgetLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="budget"):
    """The limits of a whole swarm; 0 is none."""

    swarm: str
    max_cost: float = 0.0
    max_steps: int = 0
    max_agents: int = 0
    timeout_s: float = 0.0


class Granted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="granted"):
    call: str
    swarm: str
    worker: str
    usd: float = 0.0


class Settled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="settled"):
    """``age`` is the swarm's working time in seconds."""

    call: str
    swarm: str
    usd: float = 0.0
    age: float = 0.0


class Summed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="summed"):
    """Sum of a swarm's settled calls. ``at`` is its last use, in seconds since 1970."""

    swarm: str
    usd: float = 0.0
    steps: int = 0
    age: float = 0.0
    at: float = 0.0


Entry = BudgetLimits | Granted | Settled | Summed
_decode = msgspec.json.Decoder(Entry).decode
_encode = msgspec.json.Encoder().encode


class BudgetJournal:
    """``sum`` returns the compacted journal; called when it is too long."""

    def __init__(self, path: Path, sum: Callable[[], Iterable[Entry]]) -> None:
        self.path = path
        self._sum = sum
        self._damaged: list[bytes] = []
        self._lines = 0
        self._due = MOST_LINES

    @property
    def is_damaged(self) -> bool:
        return bool(self._damaged)

    def read(self) -> Iterable[Entry]:
        try:
            data = read_whole(self.path, _LARGEST)
        except FileNotFoundError:
            return
        for line in data.split(b"\n"):
            if not line:
                continue
            self._lines += 1
            try:
                yield _decode(line)
            except (msgspec.MsgspecError, UnicodeError):
                self._damaged.append(line)

    def append(self, entry: Entry) -> None:
        """Appends durably; OSError on failure."""
        line = _encode(entry) + b"\n"
        make_private_dir(self.path.parent)
        fd = open_to_append(self.path)
        try:
            if os.write(fd, line) != len(line):
                os.write(fd, b"\n")
                raise OSError(28, os.strerror(28), str(self.path))
        finally:
            os.close(fd)
        self._lines += 1

    def shorten_if_long(self) -> None:
        """Compacts a long journal; call it after ``sum`` includes the change."""
        if self._lines >= self._due:
            self.shorten()

    def shorten(self) -> None:
        """If the journal cannot be replaced, it stays and is compacted later."""
        lines = [*map(_encode, self._sum()), *self._damaged]
        with suppress(OSError):
            write_atomic(self.path, b"".join(line + b"\n" for line in lines))
            self._lines = len(lines)
        self._due = self._lines + MOST_LINES


PAUSE_S = 5.0  # if the provider does not state a time
LONGEST_PAUSE_S = 300.0
KEPT_S = 30 * 86400.0  # an unused budget without workers is deleted after this
FIRST_ASKING = 64  # parallel calls at first: a provider rejects a burst of a thousand
_UNKNOWN = (
    "no price is known for {0}, so the cost limit of the swarm {1} cannot be enforced; set it with `zot models price"
    " {0} INPUT OUTPUT` (0 0 if it is free)"
)


class RemainingBudget(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a budget; below 0 where it has no limit."""

    usd: float = -1.0
    steps: int = -1
    seconds: float = -1.0


class CallRequest(msgspec.Struct, kw_only=True, eq=False):
    """A requested model call. ``own`` are the limits of the worker and ``spent``, ``steps`` what it has
    used; ``patient_s`` is its own wait after the grant. ``answer`` receives "" or the reason of a denial. ``least``,
    ``usual`` and ``most`` are its cost with a short, a usual and the longest answer; ``granted`` is its limit, or 0."""

    id: str
    worker: str
    swarm: str
    provider: str
    usd: float
    own: WorkerLimits
    spent: float
    steps: int
    answer: Callable[[str], None]
    patient_s: float = 0.0
    unpriced: str = ""  # the model, if its price is unknown
    least: float = 0.0
    usual: float = 0.0
    most: float = 0.0
    granted: float = 0.0
    number: int = 0  # in the order they came
    is_gone: bool = False


class _Account:
    """State of a swarm's budget."""

    def __init__(self) -> None:
        self.limits = BudgetLimits(swarm="")
        self.spent = 0.0
        self.settled = 0.0  # of it
        self.steps = 0
        self.used_at = 0.0  # wall-clock time
        self.reserved: dict[str, float] = {}
        self.held_back = 0.0  # all of those
        self.age_before = 0.0  # under earlier supervisors
        self.since: float | None = None

    def age(self, now: float) -> float:
        return self.age_before + (now - self.since if self.since is not None else 0.0)

    @property
    def held(self) -> float:
        return self.spent + self.held_back

    def reserve(self, id: str, usd: float) -> None:
        self.reserved[id] = usd
        self.held_back += usd

    def release(self, id: str) -> None:
        self.held_back -= self.reserved.pop(id, 0.0)
        if not self.reserved:
            self.held_back = 0.0  # without rounding errors


class _Provider:
    def __init__(self) -> None:
        self.until = 0.0  # end of its pause
        self.window = FIRST_ASKING  # parallel calls allowed
        self.asking: set[str] = set()


class SharedBudget:
    """``journal`` outlives the supervisor. ``belongs``: whether a swarm has workers."""

    def __init__(self, journal: Path, now: float, belongs: Callable[[str], bool] = lambda swarm: True) -> None:
        self._journal = BudgetJournal(journal, self._sum)
        self._accounts: dict[str, _Account] = {}
        self._providers: dict[str, _Provider] = {}
        self._calls: dict[str, CallRequest] = {}  # granted
        self._waiting: dict[tuple[str, str, bool], deque[CallRequest]] = {}  # in the order they came; see _queue
        self._of: dict[str, dict[str, CallRequest]] = {}  # of each worker, granted and waiting
        self._unsettled: dict[str, float] = {}  # granted by an earlier supervisor, and counted as spent
        self._open: dict[str, Granted] = {}  # all unsettled grants
        self._count = 0
        self.problem = ""
        self._now = now
        self._read(now)
        waiting = {entry.swarm for entry in self._open.values()}
        for swarm, account in list(self._accounts.items()):
            old = time.time() - account.used_at > KEPT_S
            if old and swarm not in waiting and not belongs(swarm):
                del self._accounts[swarm]
        self._journal.shorten_if_long()

    # --- budgets

    def open(self, budget: BudgetLimits, now: float) -> None:
        """Creates the budget or changes its limits. OSError if it cannot be written."""
        account = self._account(budget.swarm)
        self._journal.append(budget)
        account.limits = budget
        account.used_at = time.time()
        if account.since is None:
            account.since = now
        self._journal.shorten_if_long()

    def budgets(self) -> list[BudgetLimits]:
        return [account.limits for account in self._accounts.values() if account.limits.swarm]

    def spent(self, swarm: str) -> tuple[float, int]:
        """Dollars, granted ones included, and model calls."""
        account = self._account(swarm)
        return account.held, account.steps

    # --- calls

    def left(self, now: float) -> dict[str, RemainingBudget]:
        """The remaining budget of every swarm with one."""
        return {budget.swarm: self._left(self._account(budget.swarm), now) for budget in self.budgets()}

    def _left(self, account: _Account, now: float) -> RemainingBudget:
        limits = account.limits
        return RemainingBudget(
            usd=max(0.0, limits.max_cost - account.held) if limits.max_cost else -1.0,
            steps=max(0, limits.max_steps - account.steps) if limits.max_steps else -1,
            seconds=max(0.0, limits.timeout_s - account.age(now)) if limits.timeout_s else -1.0,
        )

    def request_call(self, call: CallRequest, now: float) -> None:
        """Answered at once, or later by ``look``."""
        if refusal := self._refusal(call, now):
            call.answer(refusal)
            return
        self._count += 1
        call.number = self._count
        self._of.setdefault(call.worker, {})[call.id] = call
        self._waiting.setdefault(_queue(call), deque()).append(call)
        self.grant_waiting(now)

    def grant_waiting(self, now: float) -> None:
        """Answers waiting requests in order; the first that must wait for a resource holds up those behind it."""
        held_up: set[tuple[str, str, bool]] = set()
        while heads := [(queue[0].number, key) for key, queue in self._waiting.items() if key not in held_up]:
            key = min(heads)[1]
            call = self._waiting[key][0]
            verdict = "" if call.is_gone else self._verdict(call, now)
            if verdict == "wait":
                held_up.add(key)
                continue
            self._waiting[key].popleft()
            if not self._waiting[key]:
                del self._waiting[key]
            if call.is_gone:
                continue
            if verdict:
                self._forget(call)
                call.answer(verdict)
            else:
                self._grant(call)

    def next_look(self, now: float) -> float | None:
        """Seconds until a waiting call may be granted; None if only another event can do that."""
        heads = [queue[0] for queue in self._waiting.values()]
        pauses = [self._provider(call.provider).until - call.patient_s - now for call in heads]
        return min((pause for pause in pauses if pause > 0), default=None)

    def settle(
        self,
        id: str,
        usd: float,
        outcome: Literal["ok", "failed", "rate_limited"],
        pause_s: float,
        now: float,
        swarm: str = "",
    ) -> None:
        """The cost of a granted call. A call granted without a supervisor is only recorded."""
        call = self._calls.pop(id, None)
        if call is None:
            self._book(swarm, id, usd, now)
            for calls in self._of.values():
                if (waiting := calls.get(id)) is not None:
                    waiting.is_gone = True
            self.grant_waiting(now)
            return
        self._forget(call)
        provider = self._provider(call.provider)
        asking = len(provider.asking)
        provider.asking.discard(id)
        if outcome == "rate_limited":
            provider.until = max(provider.until, now + min(pause_s or PAUSE_S, LONGEST_PAUSE_S))
            provider.window = max(1, asking // 2)
        elif outcome == "ok":
            provider.window += 1
        self._book(call.swarm, id, usd, now)
        self.grant_waiting(now)

    def drop_worker(self, worker: str, now: float) -> None:
        """The worker ended: drops its waiting calls; its grants count as spent."""
        for call in self._of.pop(worker, {}).values():
            call.is_gone = True
            if self._calls.pop(call.id, None) is not None:
                self._provider(call.provider).asking.discard(call.id)
                self._book(call.swarm, call.id, call.usd, now)
        self.grant_waiting(now)

    # --- decisions

    def _verdict(self, call: CallRequest, now: float) -> str:
        """``""`` to grant, ``"wait"`` to wait, otherwise the reason of a denial."""
        if refusal := self._refusal(call, now):
            return refusal
        provider = self._provider(call.provider)
        if provider.until - call.patient_s > now:
            return "wait"
        if len(provider.asking) >= provider.window:
            return "wait"
        account = self._account(call.swarm)
        limit = account.limits.max_cost
        needed = max(call.usd, call.usual if account.reserved else call.least)
        if limit and account.held + needed > limit:
            return "wait"  # other calls may cost less or fail
        return ""

    def _share(self, call: CallRequest, account: _Account) -> float:
        """The most a call may cost: at most half of the swarm's rest, unless that is less than a usual answer."""
        if not call.most:
            return 0.0
        shares = [call.most]
        if limit := account.limits.max_cost:
            rest = limit - account.held
            shares.append(min(rest, max(call.usual, rest / 2)))
        if call.own.max_cost:
            shares.append(call.own.max_cost - call.spent)
        return min(shares) if len(shares) > 1 else 0.0

    def _refusal(self, call: CallRequest, now: float) -> str:
        own, account = call.own, self._account(call.swarm)
        limits, least = account.limits, max(call.usd, call.least)
        if own.max_cost and (call.spent >= own.max_cost or call.spent + least > own.max_cost):
            return _too_dear("this worker's cost limit", own.max_cost, call.spent, least)
        if own.max_steps and call.steps >= own.max_steps:
            return f"this worker's limit of {own.max_steps} model calls is reached"
        if limits.max_cost and call.unpriced:
            return _UNKNOWN.format(call.unpriced, call.swarm)
        if limits.max_cost and (account.spent >= limits.max_cost or account.spent + least > limits.max_cost):
            return _too_dear(f"the cost limit of the swarm {call.swarm}", limits.max_cost, account.spent, least)
        if limits.max_steps and account.steps >= limits.max_steps:
            return f"the limit of {limits.max_steps} model calls of the swarm {call.swarm} is reached"
        if limits.timeout_s and account.age(now) >= limits.timeout_s:
            return f"the swarm {call.swarm} reached its time limit of {limits.timeout_s:g} s"
        return ""

    def _grant(self, call: CallRequest) -> None:
        account = self._account(call.swarm)
        call.granted = self._share(call, account)
        if call.swarm:
            granted = Granted(call=call.id, swarm=call.swarm, worker=call.worker, usd=call.usd)
            try:
                self._journal.append(granted)
            except OSError as error:
                self._forget(call)
                call.answer(f"cannot write the budget of the swarm {call.swarm}: {error.strerror}")
                return
            account.reserve(call.id, max(call.usd, call.granted))
            account.steps += 1
            self._open[call.id] = granted
            self._journal.shorten_if_long()
        self._calls[call.id] = call
        self._provider(call.provider).asking.add(call.id)
        call.answer("")

    def _book(self, swarm: str, id: str, usd: float, now: float) -> None:
        if not swarm:
            return
        account = self._account(swarm)
        account.release(id)
        account.spent += usd - self._unsettled.pop(id, 0.0)
        account.settled += usd
        account.used_at, self._now = time.time(), now
        self._open.pop(id, None)
        with suppress(OSError):  # unsettled grants count as spent
            self._journal.append(Settled(call=id, swarm=swarm, usd=usd, age=round(account.age(now), 1)))
            self._journal.shorten_if_long()

    def _forget(self, call: CallRequest) -> None:
        calls = self._of.get(call.worker, {})
        calls.pop(call.id, None)
        if not calls:
            self._of.pop(call.worker, None)

    def _account(self, swarm: str) -> _Account:
        return self._accounts.setdefault(swarm, _Account())

    def _provider(self, name: str) -> _Provider:
        return self._providers.setdefault(name, _Provider())

    # --- the journal

    def _read(self, now: float) -> None:
        for entry in self._journal.read():
            account = self._account(entry.swarm)
            account.used_at = entry.at if isinstance(entry, Summed) else time.time()
            match entry:
                case BudgetLimits():
                    account.limits, account.since = entry, now
                case Granted():
                    self._open[entry.call] = entry
                    account.steps += 1
                case Settled():
                    self._open.pop(entry.call, None)
                    account.settled += entry.usd
                    account.age_before = max(account.age_before, entry.age)
                case Summed():
                    account.settled += entry.usd
                    account.steps += entry.steps
                    account.age_before = max(account.age_before, entry.age)
        for account in self._accounts.values():
            account.spent = account.settled
        for entry in self._open.values():  # unsettled calls count as spent
            self._account(entry.swarm).spent += entry.usd
            self._unsettled[entry.call] = entry.usd
        if self._journal.is_damaged:
            self.problem = f"{self._journal.path}: skipped a damaged line"

    def _sum(self) -> Iterator[Entry]:
        """The journal in few lines. Usage comes after limits, so that the time of use is kept."""
        open_calls = list(self._open.values())
        for swarm, account in self._accounts.items():
            own = [entry for entry in open_calls if entry.swarm == swarm]
            if account.limits.swarm:
                yield account.limits
            if account.limits.swarm or account.steps or own:
                yield Summed(
                    swarm=swarm,
                    usd=account.settled,
                    steps=account.steps - len(own),
                    age=round(account.age(self._now), 1),
                    at=round(account.used_at, 1),
                )
        yield from open_calls


def _queue(call: CallRequest) -> tuple[str, str, bool]:
    """Key of calls that wait for the same resource."""
    return call.provider, call.swarm, call.patient_s > 0


def _too_dear(what: str, limit: float, spent: float, least: float) -> str:
    if spent >= limit:
        return f"{what} of ${limit:g} is reached (${spent:.4f} spent)"
    return f"{what} of ${limit:g}: ${spent:.4f} is spent, and the next request would cost at least ${least:.4f}"
