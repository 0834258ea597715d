"""Controls one worker: attempts, inbox, output and exit.

It gives the messages of the inbox one at a time, and every model call asks the budget. A worker ends exactly once.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol, cast

import msgspec

from zot.errors import EngineFault, UsageError, ZotError, describe_error
from zot.swarm.engines.engine import Attempt, Engine, LaunchSpec, WorkerKey
from zot.swarm.event_log import PIECES, EventLog, type_of
from zot.swarm.inbox import Inbox, InboxMessage, count_prompts
from zot.swarm.supervisor.budget import CallRequest, SharedBudget
from zot.swarm.supervisor.scheduler import RunRequest
from zot.swarm.worker_config import launch_config
from zot.swarm.worker_records import Status, WorkerRecord
from zot.swarm.worker_store import WorkerDir
from zot.wire import rpc_frames as wire
from zot.wire.rpc_codec import decode

ABORT_S = 5.0
TERM_S = 2.0
GO_ON = (
    "Your process was interrupted and started again; everything above is as it was. What you had begun may be half"
    " done: look, then go on with it to its end. Do not start over."
)
_ANSWER_KEPT = 8 * 1024  # characters in the record; the log has everything
_ENDED_WORDS = {"done": "done", "stopped": "stopped", "lost": "lost"}


_ABOUT = ("command", "path", "pattern", "query", "url", "task", "name")  # the most telling argument of a call
_LONGEST_DOING = 120


def _doing(call: Any) -> str:
    """The tool and its main argument: ``bash: make test``."""
    given = cast("dict[str, object]", call.args) if isinstance(call.args, dict) else {}
    found = (given.get(name) for name in _ABOUT)
    about = next((text for text in found if isinstance(text, str) and text.strip()), "")
    line = " ".join(about[: 4 * _LONGEST_DOING].split())
    return f"{call.name}: {line}"[:_LONGEST_DOING] if line else f"tool: {call.name}"


class WorkerOwner(Protocol):
    """The supervisor. A worker silent for ``patience_s`` is pinged; one idle for ``idle_s`` loses its process."""

    budget: SharedBudget
    patience_s: float
    idle_s: float

    def engine(self, name: str) -> Engine: ...
    def schedule_budget_check(self) -> None: ...
    def begin(self, work: Coroutine[Any, Any, None]) -> None: ...
    def changed(self, controller: WorkerController, *, at_once: bool) -> None: ...
    def on_worker_line(self, controller: WorkerController, line: bytes) -> None: ...
    def request_slot(self, controller: WorkerController) -> None: ...
    def release_slot(self, controller: WorkerController) -> None: ...
    def ended(self, controller: WorkerController) -> None: ...


class WorkerController:
    """``worker`` is its current record; ``credential`` stays in memory only."""

    def __init__(
        self,
        worker: WorkerRecord,
        place: WorkerDir,
        owner: WorkerOwner,
        credential: WorkerKey | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.worker = worker
        self.place = place
        self.inbox = Inbox(place.inbox)
        self.credential = credential
        self.answer = ""
        self.environment: dict[str, str] = {}  # the starter's
        self.stays = False  # a client sends more messages, although ``once``
        self.over = asyncio.Event()  # it has ended
        self._owner = owner
        self._wall = wall
        self._loop = asyncio.get_running_loop()
        self._log = EventLog(place.events)
        self._attempt: Attempt | None = None
        self._begun = asyncio.Event()  # an attempt exists or failed to start
        self._begun.set()
        self._given: InboxMessage | None = None  # sent but not taken
        self._busy = False
        self._sending = asyncio.Lock()
        self._quiet = asyncio.Event()  # it has no work
        self._quiet.set()
        self._ending: tuple[Status, str] | None = None
        self._error: wire.Error | None = None
        self._refused = ""
        self._asked: set[str] = set()  # open questions to the user
        self._wait_s = 0.0  # its own wait after the next permit
        self._heard_at = 0.0
        self._pinged = False
        self._timer: asyncio.TimerHandle | None = None
        self._worked_s = 0.0
        self._began_at = 0.0  # start of the running interval
        # Events that change the record; all others are only forwarded.
        self._hearers: dict[bytes, Callable[[Any], object]] = {
            b"permit_request": self._request_call,
            b"permit_settled": self._on_permit_settled,
            b"user_message": self._on_user_message,
            b"turn_start": lambda _: self._set(steps=self.worker.steps + 1, activity="thinking"),
            b"tool_call": lambda event: self._set(activity=_doing(event)),
            b"tool_result": lambda _: self._set(activity="thinking"),
            b"retry_wait": lambda event: self._set(activity=f"waiting: {event.reason}"),
            b"usage": lambda event: self._set(usage=event.cumulative),
            b"assistant_message": self._on_assistant_message,
            b"approval_request": self._on_approval_request,
            b"error": self._on_error,
            b"session_fault": lambda event: self._end_attempt("failed", event.message),
            b"response": self._on_response,
            b"done": lambda _: self._finish(),
        }

    # --- commands

    @property
    def id(self) -> str:
        return self.worker.id

    @property
    def run_request(self) -> RunRequest:
        order = self.worker.spec
        writes = os.path.realpath(order.cwd) if order.mode == "shared" and order.write else ""
        return RunRequest(self.id, order.swarm, writes)

    def accept(self, text: str, images: tuple[wire.Image, ...] = ()) -> None:
        """Stores a message; OSError if that fails, UsageError if the worker takes no more."""
        if self._ending is not None:
            raise UsageError(f"{self.worker.name} is stopping; then continue it with `zot swarm resume {self.id}`")
        self.inbox.accept(text, images)
        if not self._busy:
            self._set_timer(None)
            if self._begun.is_set():  # an attempt that is starting will find it
                self._set(status="queued", activity="queued")
            self._owner.request_slot(self)

    def start(self) -> None:
        """Runs it now."""
        if self._attempt is None and self._begun.is_set():
            self._begun.clear()
            self._owner.begin(self._live())
        else:
            self._give_next()

    def rejoin(self) -> None:
        """Reconnects to its process on a remote engine, if it still runs."""
        self._begun.clear()
        self._owner.begin(self._live(rejoined=True))

    def approve(self, command: wire.Approve) -> None:
        if command.request_id not in self._asked:
            raise UsageError(f'{self.worker.name} has no open question "{command.request_id}"')
        self._asked.discard(command.request_id)
        self._send(command)
        if not self._asked:
            self._run_clock()
            self._set(status="running", activity="thinking")

    def note_merged(self, into: str) -> None:
        self._set(merged=into)

    async def stop(self, reason: str, status: Status = "stopped") -> None:
        """Aborts its turn and stops all its processes."""
        if self._ending is None:
            self._ending = (status, reason)
            if self._attempt is None and self._begun.is_set():
                self._end(status, reason)
                return
            self._set(activity="stopping")
            self._owner.begin(self._stop_attempt(ABORT_S if self._busy else 0.0))
        await self.over.wait()

    def check_alive(self) -> None:
        """Periodic check that it still answers."""
        if self._attempt is None or not self._busy or self._ending is not None:
            return
        silent = self._loop.time() - self._heard_at
        if silent > 2 * self._owner.patience_s and self._pinged:
            self._end_attempt("failed", f"it hangs: no output for {silent:.0f} s and answers no ping")
        elif silent > self._owner.patience_s and not self._pinged:
            self._pinged = True
            self._send(wire.Ping(id="ping"))

    # --- one attempt

    async def _live(self, *, rejoined: bool = False) -> None:
        """Runs one attempt from start to end."""
        try:
            attempt = await (self._find() if rejoined else self._begin())
        except (ZotError, OSError) as error:
            self._begun.set()
            self._end(*(self._ending or ("failed", describe_error(error))))
            return
        if attempt is None:
            self._begun.set()
            self._die("its process ended")
            return
        self._attempt = attempt
        self._begun.set()
        self._heard_at = self._loop.time()
        status = attempt.status()
        self._set(pid=status.pid, born=status.born, activity="starting")
        fault = ""
        try:
            if not rejoined:
                self._log.append(msgspec.json.encode({"type": "agent_ready", "attempt": self.worker.attempt}))
                self._send(wire.Hello(id="hello", capabilities=("approvals", "permits")))
                self._give_next()
            async for line in attempt.events():
                self._on_line(line)
        except OSError as error:
            fault = f"cannot record its events: {describe_error(error)}"
        except EngineFault as error:
            fault = str(error)
        await self._clear_up(attempt, fault)

    async def _begin(self) -> Attempt:
        order, worker = self.worker.spec, self.worker
        session = self.place.session
        if session.exists() and not session.stat().st_size:  # its process was killed at the first write
            session.unlink()
        continued = session.exists()
        if continued:
            message = self.inbox.next  # the session may have it although the inbox does not
            if message is not None and count_prompts(self.place.session, message.text) > self.inbox.times_delivered(
                message.text
            ):
                self.inbox.take(message.number)
        self._set(
            status="running",
            attempt=worker.attempt + 1,
            started=worker.started or self._wall(),
            ended=0.0,
            reason="",
            activity="starting",
            # Saved first: an engine fences attempts by this number.
            at_once=order.engine != "local",
        )
        return await self._owner.engine(order.engine).start(self._job())

    async def _find(self) -> Attempt | None:
        """The last supervisor's attempt; None if it ended or its engine does not know."""
        rejoin: Callable[[LaunchSpec], Any] | None = getattr(
            self._owner.engine(self.worker.spec.engine), "rejoin", None
        )
        attempt: Attempt | None = await rejoin(self._job()) if rejoin is not None else None
        if attempt is not None and self.worker.status != "idle":
            self._given = self.inbox.next if not self.inbox.interrupted else None
            self._at_work()
        return attempt

    def _job(self) -> LaunchSpec:
        worker = self.worker
        return LaunchSpec(
            worker=self.id,
            attempt=worker.attempt,
            config=launch_config(worker, self.place.session),
            directory=self.place.directory,
            tree=worker.tree,
            credential=self.credential,
            swarm=worker.spec.swarm,
            steps_left=max(0, most - worker.steps) if (most := worker.spec.limits.max_steps) else -1,
            environment=self.environment,
        )

    async def _clear_up(self, attempt: Attempt, fault: str) -> None:
        """Cleans up an attempt; its worker continues or ends."""
        died = attempt.status()
        with suppress(OSError, EngineFault):
            await attempt.stop(TERM_S if fault else 0.0)
        with suppress(OSError, ZotError):
            await attempt.collect()
        self._attempt = None
        self._rest()
        self._owner.budget.drop_worker(self.id, self._loop.time())
        self._owner.schedule_budget_check()
        self._set(pid=0, born=0)
        if self._ending is not None:
            self._end(*self._ending)
        elif fault:
            self._end("failed", fault)
        elif died.code is None or died.code < 0:
            self._die(died.reason or "its process ended")
        else:
            self._end("failed", died.reason)

    def _die(self, reason: str) -> None:
        """Its process died: restart it if allowed, else mark it as lost."""
        if self.worker.attempt <= self.worker.spec.restarts:
            self._set(status="queued", activity=f"restarted: {reason}")
            self._owner.release_slot(self)
            self._owner.request_slot(self)
        else:
            self._end("lost", reason)

    # --- input

    def _give_next(self) -> None:
        """Sends the next message, or the request to continue an interrupted one."""
        message = self.inbox.next
        if self._attempt is None or self._busy or self._ending is not None:
            return
        if self.inbox.interrupted:
            self._work(wire.Prompt(id="go-on", message=GO_ON))
        elif message is not None:
            self._given = message
            self._work(wire.Prompt(id=f"message-{message.number}", message=message.text, images=message.images))
        elif self.worker.spec.once and not self.stays:
            self._end_attempt("done", "")
        else:
            self._set_timer(self._loop.call_later(self._owner.idle_s, self._end_attempt, "done", ""))
            self._set(status="idle", activity="idle")
            self._owner.release_slot(self)

    def _work(self, prompt: wire.Prompt) -> None:
        self._at_work()
        self._set(status="running", activity="thinking", merged="")
        self._send(prompt)

    def _at_work(self) -> None:
        self._busy, self._error, self._refused, self._pinged = True, None, "", False
        self._quiet.clear()
        self._heard_at = self._loop.time()
        self._run_clock()

    def _run_clock(self) -> None:
        """The time limit counts while it works, not while it waits for the user."""
        self._set_timer(None)
        self._began_at = self._loop.time()
        if limit := self.worker.spec.limits.timeout_s:
            left = max(0.0, limit - self._worked_s)
            self._set_timer(
                self._loop.call_later(left, self._end_attempt, "stopped", f"its time limit of {limit:g} s is up")
            )

    def _stop_clock(self) -> None:
        self._set_timer(None)
        if self._began_at:
            self._worked_s += self._loop.time() - self._began_at
        self._began_at = 0.0

    def _rest(self) -> None:
        if self._busy:
            self._stop_clock()
        self._busy, self._given = False, None
        self._asked.clear()
        self._quiet.set()

    def _set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _send(self, command: wire.Command) -> None:
        if self._attempt is not None:
            self._owner.begin(self._deliver(self._attempt, msgspec.json.encode(command)))

    async def _deliver(self, attempt: Attempt, line: bytes) -> None:
        async with self._sending:  # in their order
            with suppress(EngineFault):  # the end of its events has the reason
                await attempt.send(line)

    # --- output

    def _on_line(self, line: bytes) -> None:
        kind = type_of(line)
        self._heard_at, self._pinged = self._loop.time(), False
        self._log.append(line, kind)  # first: subscribers may read the log
        if kind not in PIECES:
            self._understand(kind, line)
        if kind not in (b"response", b"permit_request", b"permit_settled"):
            self._owner.on_worker_line(self, line)

    def _understand(self, kind: bytes, line: bytes) -> None:
        understand = self._hearers.get(kind)
        if understand is None:
            return
        try:
            event = decode(line)
        except msgspec.DecodeError:
            return  # not an event: another program wrote to its stdout
        understand(event)

    def _on_permit_settled(self, event: wire.PermitSettled) -> None:
        self._wait_s = event.pause_s if event.outcome == "rate_limited" else 0.0
        id = self._call_id(event.request_id)
        swarm = self.worker.spec.swarm
        self._owner.budget.settle(id, event.usd, event.outcome, event.pause_s, self._loop.time(), swarm)
        self._owner.schedule_budget_check()

    def _on_user_message(self, event: wire.UserMessage) -> None:
        """Marks a message as taken."""
        if self._given is not None:
            self.inbox.take(self._given.number)
            self._given = None

    def _on_assistant_message(self, event: wire.AssistantMessage) -> None:
        text = "".join(block.text for block in event.content if isinstance(block, wire.TextContent))
        self.answer = text or self.answer
        self._set(answer=self.answer[:_ANSWER_KEPT])

    def _on_approval_request(self, event: wire.ApprovalRequest) -> None:
        self._stop_clock()
        self._asked.add(event.request_id)
        self._set(status="waiting", activity=f"asks: {event.preview}"[:200])

    def _on_response(self, event: wire.Response) -> None:
        if event.command == "prompt" and not event.success:
            self._error = wire.Error(message=event.error)
            self._finish()

    def _on_error(self, event: wire.Error) -> None:
        self._error = event

    def _finish(self) -> None:
        """Marks the message as finished."""
        error = self._error
        self._rest()
        if self._ending is not None:
            return  # its stop is waiting for this
        if error is not None:
            limited = bool(self._refused) or error.code == "cost_limit"
            self._end_attempt("stopped" if limited else "failed", self._refused or error.message)
            return
        self.inbox.finish()
        self._give_next()

    # --- permits

    def _request_call(self, request: wire.PermitRequest) -> None:
        def answer(refusal: str) -> None:
            self._refused = refusal
            decision = "refuse" if refusal else "go"
            usd = 0.0 if refusal else call.granted
            self._send(wire.Permit(request_id=request.request_id, decision=decision, reason=refusal, usd=usd))
            if not refusal and self.worker.activity.startswith("waiting"):
                self._set(activity="thinking")

        order = self.worker.spec
        call = CallRequest(
            id=self._call_id(request.request_id),
            worker=self.id,
            swarm=order.swarm,
            provider=request.provider,
            usd=request.usd,
            own=order.limits,
            spent=self.worker.usage.cost_usd,
            steps=self.worker.steps - 1,  # the requesting call has started
            answer=answer,
            patient_s=self._wait_s,
            unpriced=f"{request.provider}/{request.model}" if request.unpriced else "",
            least=max(request.usd, request.least_usd),
            usual=request.usual_usd,
            most=request.most_usd,
        )
        self._owner.budget.request_call(call, self._loop.time())
        self._owner.schedule_budget_check()

    def _call_id(self, request_id: str) -> str:
        return f"{self.id}/{self.worker.attempt}/{request_id}"

    # --- end

    def _end_attempt(self, status: Status, reason: str) -> None:
        """Sets the final status and stops the attempt."""
        if self._ending is None:
            self._ending = (status, reason)
            self._owner.begin(self._stop_attempt(ABORT_S if self._busy else 0.0))

    async def _stop_attempt(self, abort_s: float) -> None:
        await self._begun.wait()
        attempt = self._attempt
        if attempt is None:
            return
        if abort_s:
            await self._deliver(attempt, msgspec.json.encode(wire.Abort()))
            with suppress(TimeoutError):
                async with asyncio.timeout(abort_s):
                    await self._quiet.wait()
        with suppress(OSError, EngineFault):
            await attempt.stop(TERM_S)

    def _end(self, status: Status, reason: str) -> None:
        """Ends the worker, exactly once."""
        if self.over.is_set():
            return
        self._set_timer(None)
        ended = {"type": "agent_stopped", "status": status, "reason": reason, "attempt": self.worker.attempt}
        line = msgspec.json.encode(ended)
        with suppress(OSError):
            self._log.append(line)
        self._log.close()
        words = _ENDED_WORDS.get(status) or f"error: {reason}"
        self.over.set()
        self._set(status=status, reason=reason, activity=words[:200], ended=self._wall(), pid=0, born=0)
        self._owner.on_worker_line(self, line)
        self._owner.ended(self)

    def _set(self, *, at_once: bool | None = None, **changes: Any) -> None:
        before, self.worker = self.worker, msgspec.structs.replace(self.worker, **changes)
        if self.worker != before:
            moved = self.worker.status != before.status or bool({"pid", "merged"} & changes.keys())
            self._owner.changed(self, at_once=moved if at_once is None else at_once)
