"""One child process: matches responses to commands by id, and events to their command.
Events between a ``started`` response and ``done`` (or ``compact_done``) belong to that command. A slow reader slows
down reading, and zot then merges deltas; responses are never delayed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec

from zot.client.process import RpcProcess
from zot.errors import ClientError, CommandFailed, ResponseTimeout
from zot.wire import rpc_frames
from zot.wire.rpc_codec import decode
from zot.wire.rpc_frames import Event

_ENDS = (rpc_frames.Done, rpc_frames.CompactDone)
_HIGH_WATER = 1000  # events waiting for a reader
_LAST_WORDS = 1.0  # for stderr and the exit code, once stdout has ended

Approve = Callable[[rpc_frames.ApprovalRequest], Awaitable[rpc_frames.Approve]]
UserRequest = rpc_frames.QuestionRequest | rpc_frames.PlanRequest
AskUser = Callable[[Any], Awaitable[rpc_frames.Command]]
Elicit = Callable[[rpc_frames.ElicitationRequest], Awaitable[rpc_frames.AnswerElicitation]]


class EventInbox:
    """The inbox of one command: its response, then its events."""

    def __init__(self) -> None:
        self.response: rpc_frames.Response | None = None
        self.events: deque[Event] = deque()
        self.failure: ClientError | None = None
        self.over = False  # closed
        self.dropped = False  # abandoned by its reader
        self._news = asyncio.Event()

    def put(self, event: Event) -> None:
        if not self.dropped:
            self.events.append(event)
        self.over = self.over or isinstance(event, _ENDS)
        self._news.set()

    def answer(self, response: rpc_frames.Response) -> None:
        self.response = response
        self._news.set()

    def end(self, failure: ClientError | None = None) -> None:
        self.failure = self.failure or failure
        self.over = True
        self._news.set()

    async def news(self, seconds: float) -> bool:
        """True if something arrived within this many seconds."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True


class RpcConnection:
    """``response_timeout`` is for commands answered at once; zot is pinged ``ping_after`` seconds without an event."""

    def __init__(
        self,
        child: RpcProcess,
        *,
        response_timeout: float,
        ping_after: float,
        unclaimed: Callable[[Event], None] | None,
        approve: Approve | None,
        elicit: Elicit | None = None,
        ask_user: AskUser | None = None,
    ) -> None:
        self._child = child
        self._response_timeout = response_timeout
        self._ping_after = ping_after
        self._unclaimed = unclaimed
        self._approve = approve
        self._elicit = elicit
        self._ask_user = ask_user
        self._ids = count(1)
        self._waiting: dict[str, asyncio.Future[rpc_frames.Response]] = {}
        self._inboxes: dict[str, EventInbox] = {}
        self._current: EventInbox | None = None
        self._room = asyncio.Event()
        self._over = False
        self._group: asyncio.TaskGroup | None = None
        self._life = asyncio.get_running_loop().create_task(self._live())

    @property
    def alive(self) -> bool:
        return self._child.alive and not self._over

    @property
    def stderr(self) -> str:
        return self._child.stderr

    @property
    def pid(self) -> int:
        return self._child.pid

    # --- requests

    async def request(self, command: rpc_frames.Command, timeout: float | None = None) -> Any:
        """The data of the response; CommandFailed, ResponseTimeout or ProcessExited."""
        id = str(next(self._ids))
        answer = self._waiting[id] = asyncio.get_running_loop().create_future()
        self._room.set()  # a reader that waits for space must not delay the answer
        limit = self._response_timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                await self._send(command, id)
                response = await answer
        except TimeoutError:
            name = command.__struct_config__.tag
            raise ResponseTimeout(f"zot did not answer {name} within {limit:g} s", self.stderr) from None
        finally:
            self._waiting.pop(id, None)
        return _data(response)

    async def begin(self, command: rpc_frames.Command) -> EventInbox:
        """Send a command whose events follow later."""
        id = str(next(self._ids))
        inbox = self._inboxes[id] = EventInbox()
        try:
            async with asyncio.timeout(self._response_timeout):
                await self._send(command, id)
        except TimeoutError:
            del self._inboxes[id]
            raise ResponseTimeout("zot does not read its stdin", self.stderr) from None
        return inbox

    async def started(self, inbox: EventInbox) -> Any:
        """The data of its response, once its turn has come."""
        while inbox.response is None and not inbox.over:
            await self._news(inbox)
        if inbox.response is None:
            raise inbox.failure or self._child.gone()
        return _data(inbox.response)

    async def next(self, inbox: EventInbox) -> Event | None:
        """The next event, None after the last; raises the error that ended it."""
        while not inbox.events and not inbox.over:
            await self._news(inbox)
        if len(inbox.events) < _HIGH_WATER:
            self._room.set()
        if inbox.events:
            return inbox.events.popleft()
        if inbox.failure is not None:
            raise inbox.failure
        return None

    def drop(self, inbox: EventInbox) -> None:
        """The reader left: abort it, now or when it starts."""
        inbox.dropped = True
        inbox.events.clear()
        self._room.set()
        if inbox is self._current and not inbox.over:
            self._child.post(_line(rpc_frames.Abort(), ""))

    async def _news(self, inbox: EventInbox) -> None:
        if await inbox.news(self._ping_after):
            return
        before = self._child.received
        try:
            await self.request(rpc_frames.Ping())
        except CommandFailed:
            return  # any answer means it is alive
        except ResponseTimeout:
            if self._child.received > before:  # a very long line is arriving
                return
            inbox.end(ResponseTimeout(f"no event for {self._ping_after:g} s and no answer to a ping", self.stderr))
            self._over = True
            self._child.kill()

    async def _send(self, command: rpc_frames.Command, id: str) -> None:
        if not self.alive:
            raise await self._child.farewell()
        await self._child.write(_line(command, id))

    # --- receiving

    async def _live(self) -> None:
        try:
            async with asyncio.TaskGroup() as self._group:
                self._group.create_task(self._child.read_stderr())
                await self._read()
                self._over = True
                await self._child.last_stderr(_LAST_WORDS)
                self._lose_all()
        finally:
            self._over = True
            self._child.kill()
            self._lose_all()

    async def _read(self) -> None:
        async for line in self._child.lines():
            try:
                frame = decode(line)
            except msgspec.DecodeError:
                continue  # not from zot: something else wrote to its stdout
            if isinstance(frame, rpc_frames.Response):
                self._answered(frame)
            else:
                self._on_event(frame)
            while self._crowded():
                self._room.clear()
                await self._room.wait()

    def _crowded(self) -> bool:
        current = self._current
        return current is not None and len(current.events) >= _HIGH_WATER and not self._waiting

    def _answered(self, response: rpc_frames.Response) -> None:
        if answer := self._waiting.get(response.id):
            if not answer.done():
                answer.set_result(response)
        elif inbox := self._inboxes.pop(response.id, None):
            inbox.answer(response)
            if not response.success:
                inbox.end(CommandFailed(response.error))
            elif not _starts(response):
                inbox.end()
            else:
                self._current = inbox
                if inbox.dropped:
                    self.drop(inbox)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, rpc_frames.ApprovalRequest) and self._approve and self._group:
            self._group.create_task(self._decide(self._approve, event))
        if isinstance(event, rpc_frames.ElicitationRequest) and self._elicit and self._group:
            self._group.create_task(self._answer(self._elicit, event))
        if isinstance(event, UserRequest) and self._ask_user and self._group:
            self._group.create_task(self._answer_user(self._ask_user, event))
        if self._current is not None:
            self._current.put(event)
            self._current = None if self._current.over else self._current
        elif self._unclaimed is not None:
            self._unclaimed(event)

    async def _decide(self, approve: Approve, request: rpc_frames.ApprovalRequest) -> None:
        self._child.post(_line(await approve(request), ""))

    async def _answer_user(self, ask_user: AskUser, request: UserRequest) -> None:
        """An invalid answer declines or refuses: the model does not wait for another."""
        try:
            await self.request(await ask_user(request))
        except CommandFailed as error:
            with suppress(ClientError):  # it was aborted meanwhile
                await self.request(declined(request, str(error)))
        except ClientError:
            pass  # zot has exited, which is reported elsewhere

    async def _answer(self, elicit: Elicit, request: rpc_frames.ElicitationRequest) -> None:
        """An invalid answer cancels the question: the server does not wait for another."""
        answer = await elicit(request)
        try:
            await self.request(answer)
        except CommandFailed:
            with suppress(ClientError):  # it was aborted meanwhile
                await self.request(rpc_frames.AnswerElicitation(request_id=request.request_id, action="cancel"))
        except ClientError:
            pass  # zot has exited, which is reported elsewhere

    def _lose_all(self) -> None:
        exited = self._child.gone()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(exited)
        for inbox in (*self._inboxes.values(), *([self._current] if self._current else ())):
            inbox.end(exited)
        self._waiting.clear()
        self._inboxes.clear()
        self._current = None

    async def close(self, grace: float) -> None:
        """Abort running work, close its stdin, and wait until it has exited."""
        if self.alive:
            self._child.post(_line(rpc_frames.Abort(), ""))
        for inbox in self._inboxes.values():
            inbox.dropped = True
        if self._current is not None:
            self._current.dropped = True
            self._current.events.clear()
        self._room.set()
        await self._child.end(grace)
        await asyncio.wait([self._life])


def declined(request: UserRequest, comment: str = "") -> rpc_frames.Command:
    """The answer that approves and decides nothing."""
    if isinstance(request, rpc_frames.PlanRequest):
        return rpc_frames.AnswerPlan(request_id=request.request_id, decision="refuse", comment=comment)
    return rpc_frames.AnswerQuestions(request_id=request.request_id, declined=True, comment=comment)


def _starts(response: rpc_frames.Response) -> bool:
    return isinstance(response.data, dict) and bool(response.data.get("started"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  JSON


def _line(command: rpc_frames.Command, id: str) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(command, id=id)) + b"\n"


def _data(response: rpc_frames.Response) -> Any:
    if not response.success:
        raise CommandFailed(response.error)
    kind = rpc_frames.DATA.get(response.command)
    try:
        return None if kind is None else msgspec.convert(response.data, kind)
    except msgspec.ValidationError as error:
        raise CommandFailed(f"cannot decode the answer to {response.command}: {error}") from error
