"""``zot rpc`` from Python: starts, watches, restarts and ends the process; every wait has a limit.
Prompts sent while one runs are queued in zot. A process that died loses its conversation, unless it has a session
(``args=["--session", FILE]``); the next command starts another one."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack, cast, overload

import msgspec

from zot.client.connection import EventInbox, RpcConnection, UserRequest, declined
from zot.client.methods import ClientMethods
from zot.client.process import RpcProcess
from zot.errors import AnswerAborted, CommandFailed, CompactionAborted, CompactionFailed, ProcessExited, RuntimeClosed
from zot.wire import rpc_frames as rpc
from zot.wire.events import message_text
from zot.wire.python_values import (
    Decision,
    OutsideDecision,
    PlanDecision,
    PromptImage,
    QuestionAnswers,
    image_block,
    rename_options,
    to_answer_lists,
    to_approval_answer,
    to_outside_answer,
    to_plan_decision,
)
from zot.wire.rpc_frames import ApprovalRequest, ElicitationRequest, Event, PlanRequest, QuestionRequest
from zot.wire.stream_iteration import SingleIteration
from zot.wire.structured_output import TRIES, OutputSchema

T = TypeVar("T")


class PromptStream:
    """The events of one prompt, in order, ending after ``done``.
    Read it with ``async for``; leaving the loop, or ``aclose``, aborts the prompt."""

    def __init__(self, begin: Callable[[], Awaitable[tuple[RpcConnection, EventInbox]]]) -> None:
        self._begin = begin
        self._begun: tuple[RpcConnection, EventInbox] | None = None
        self._over = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return SingleIteration(self)

    async def __anext__(self) -> Event:
        if self._over:
            raise StopAsyncIteration
        self._loop = asyncio.get_running_loop()
        try:
            if self._begun is None:
                self._begun = await self._begin()
            connection, inbox = self._begun
            event = await connection.next(inbox)
        except BaseException:
            self._drop()
            raise
        if event is None:
            self._drop()
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Abort the prompt unless it has ended."""
        self._drop()

    def left(self) -> None:
        """The event loop of the reader has ended."""
        if not self._over and self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed, and so is the process
                self._loop.call_soon_threadsafe(self._drop)  # the collector may run in any thread

    def _drop(self) -> None:
        if not self._over and self._begun is not None:
            connection, inbox = self._begun
            connection.drop(inbox)
        self._over = True

    def __del__(self) -> None:
        self.left()


async def _begun(connection: RpcConnection, inbox: EventInbox) -> tuple[RpcConnection, EventInbox]:
    return connection, inbox


class Client(ClientMethods):
    """``async with Client(model=…) as zot: async for event in zot.prompt("…"): …``

    Entering raises ProcessExited with zot's error if it cannot start. All keyword arguments are in
    ``ClientOptions``.
    """

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        for name in options:
            if name not in ClientOptions.__annotations__:
                raise TypeError(f"Client() got an unexpected keyword argument {name!r}")
        self._options = cast("ClientOptions", rename_options(options, _OLDER, "Client"))
        self._connection: RpcConnection | None = None
        self._opening = asyncio.Lock()
        self._closed = False
        self.starts = 0  # processes started so far; above 1 means that one died
        self.hello: rpc.HelloData | None = None

    # --- the process

    async def open(self) -> Self:
        """Start the process; ``async with`` and any command do this."""
        await self._connected()
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Abort running work and end the process; safe to call twice."""
        self._closed = True
        if self._connection is not None:
            await self._connection.close(self._options.get("exit_timeout", 5.0))

    @property
    def pid(self) -> int | None:
        return self._connection.pid if self._connection and self._connection.alive else None

    @property
    def stderr(self) -> str:
        """The end of zot's stderr."""
        return self._connection.stderr if self._connection else ""

    async def _connected(self) -> RpcConnection:
        async with self._opening:
            if self._closed:
                raise RuntimeClosed("client is closed")
            if self._connection is not None and self._connection.alive:
                return self._connection
            if self._connection is not None and not self._options.get("restart", True):
                raise ProcessExited("zot has exited and restart is off", self.stderr)
            self._connection = await self._open()
            return self._connection

    async def _open(self) -> RpcConnection:
        options = self._options
        self.starts += 1
        child = await RpcProcess.spawn(
            argv_of(options), env=environment_of(options), heard_stderr=options.get("on_stderr")
        )
        connection = RpcConnection(
            child,
            response_timeout=options.get("response_timeout", 10.0),
            ping_after=options.get("ping_after", 30.0),
            unclaimed=options.get("on_event"),
            approve=self._approve if options.get("approve") else None,
            elicit=self._elicit if options.get("on_question") else None,
            ask_user=self._ask_user if options.get("on_ask_user") or options.get("on_plan") else None,
        )
        hello = rpc.Hello(token=options.get("token", ""), capabilities=capabilities_of(options))
        try:
            self.hello = cast("rpc.HelloData", await connection.request(hello, options.get("start_timeout", 30.0)))
        except BaseException:
            await connection.close(0)
            raise
        return connection

    async def _approve(self, request: rpc.ApprovalRequest) -> rpc.Approve:
        """The caller's decision; a failing function denies."""
        ask = self._options.get("approve")
        assert ask is not None
        try:
            decision = ask(request)
            decided = await decision if isinstance(decision, Awaitable) else decision
            if request.outside:
                outside = to_outside_answer(decided)
                return rpc.Approve(request_id=request.request_id, decision=outside, call_hash=request.call_hash)
            answer = to_approval_answer(cast("Decision", decided))
        except Exception as error:
            reason = f"denied: asking for approval failed: {error or type(error).__name__}"
            return rpc.Approve(request_id=request.request_id, decision="deny", reason=reason)
        return rpc.Approve(
            request_id=request.request_id,
            decision=answer.decision,
            reason=answer.reason,
            call_hash=request.call_hash,
        )

    async def _elicit(self, request: rpc.ElicitationRequest) -> rpc.AnswerElicitation:
        """The caller's values; a failing function cancels."""
        ask, id = self._options.get("on_question"), request.request_id
        assert ask is not None
        try:
            answer = ask(request)
            content = await answer if isinstance(answer, Awaitable) else answer
        except Exception:
            return rpc.AnswerElicitation(request_id=id, action="cancel")
        if content is None:
            return rpc.AnswerElicitation(request_id=id, action="decline")
        return rpc.AnswerElicitation(request_id=id, action="accept", content=content)

    async def _ask_user(self, request: UserRequest) -> rpc.Command:
        """The caller's answers or decision; a failing function declines or refuses."""
        try:
            if isinstance(request, rpc.PlanRequest):
                return await self._decide_plan(request)
            ask = self._options.get("on_ask_user")
            answers = ask(request) if ask is not None else None
            given = await answers if isinstance(answers, Awaitable) else answers
            if given is None:
                return declined(request)
            return rpc.AnswerQuestions(request_id=request.request_id, answers=to_answer_lists(given))
        except Exception as error:
            return declined(request, f"asking failed: {error or type(error).__name__}")

    async def _decide_plan(self, request: rpc.PlanRequest) -> rpc.Command:
        ask = self._options.get("on_plan")
        given = ask(request) if ask is not None else False
        decision = to_plan_decision(await given if isinstance(given, Awaitable) else given)
        fields = msgspec.structs.asdict(decision)
        approved = fields.pop("approved")
        return rpc.AnswerPlan(request_id=request.request_id, decision="approve" if approved else "refuse", **fields)

    # --- working

    def prompt(self, text: str, images: Iterable[PromptImage] = ()) -> PromptStream:
        """The events, in order, ending after ``done``; sent when first read. Leaving the loop aborts the prompt.

        Raises CommandFailed (for an unreadable image), ProcessExited or ResponseTimeout."""
        blocks = [image_block(image) for image in images]
        pictures = tuple(rpc.Image(mime_type=block.mime_type, data=block.data) for block in blocks)
        return self._run(rpc.Prompt(message=text, images=pictures))

    @overload
    async def ask(self, text: str, images: Iterable[PromptImage] = ()) -> str: ...
    @overload
    async def ask(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[T], tries: int = TRIES
    ) -> T: ...
    async def ask(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[Any] | None = None, tries: int = TRIES
    ) -> Any:
        """Send a prompt and wait for the text of the last message, or with ``returns=Type`` a value of that type.
        An ``error`` event is raised as CommandFailed; an answer that does not match after ``tries`` attempts as
        AnswerMismatch."""
        pictures = [tuple(images)]

        async def say(words: str) -> str:
            return await self._prompt_text(words, pictures.pop() if pictures else (), whole=returns is not None)

        return await (say(text) if returns is None else OutputSchema(returns).ask(text, say, tries))

    async def _prompt_text(self, text: str, images: Iterable[PromptImage], whole: bool) -> str:
        answer, failure, stop = "", "", ""
        async for event in self.prompt(text, images):
            if isinstance(event, rpc.AssistantMessage):
                answer = message_text(event)
            elif isinstance(event, rpc.Error):
                failure = event.message
            elif isinstance(event, rpc.TurnEnd):
                stop = event.stop
        if failure:
            raise CommandFailed(failure, self.stderr)
        if whole and stop == "aborted":
            raise AnswerAborted("the prompt was aborted before its answer", answer)
        return answer

    async def steer(self, text: str, images: Iterable[PromptImage] = ()) -> bool:
        """Add a message to the running prompt, before its next model call: True. When idle it is a prompt: False, and
        its events go to ``on_event``."""
        blocks = [image_block(image) for image in images]
        pictures = tuple(rpc.Image(mime_type=block.mime_type, data=block.data) for block in blocks)
        return cast("rpc.Steered", await self._request(rpc.Steer(message=text, images=pictures))).steered

    async def compact(self, focus: str = "") -> str:
        """Replace the transcript with a summary and return it; ``focus`` names the most important content.
        It ends with ``compact_done``, without ``done``."""
        summary, failure = None, ""
        async for event in self._run(rpc.Compact(focus=focus)):
            if isinstance(event, rpc.CompactDone):
                summary = event.summary
            elif isinstance(event, rpc.Error):
                failure = event.message
        if summary is None:
            raise CompactionFailed(failure) if failure else CompactionAborted("compaction aborted")
        return summary

    async def run_command(self, name: str, args: str = "") -> tuple[rpc.CommandRun, PromptStream]:
        """Run an extension's command (capability ``commands``).
        The events are those of the prompt it started, if any; read them."""
        connection = await self._connected()
        inbox = await connection.begin(rpc.RunCommand(name=name, args=args))
        ran = cast("rpc.CommandRun", await connection.started(inbox))
        return ran, PromptStream(lambda: _begun(connection, inbox))

    def _run(self, command: rpc.Command) -> PromptStream:
        async def begin() -> tuple[RpcConnection, EventInbox]:
            connection = await self._connected()
            return connection, await connection.begin(command)

        return PromptStream(begin)

    async def _request(self, command: rpc.Command) -> Any:
        return await (await self._connected()).request(command)


# Keyword arguments of a client, and the resulting command line and environment.

TOKEN_VARIABLE = "ZOTCORE_RPC_TOKEN"

PathLike = str | os.PathLike[str]


OnAskUser = Callable[["QuestionRequest"], Awaitable[QuestionAnswers] | QuestionAnswers]
OnPlan = Callable[["PlanRequest"], Awaitable[PlanDecision | bool] | PlanDecision | bool]
OnQuestion = Callable[["ElicitationRequest"], Awaitable[dict[str, Any] | None] | dict[str, Any] | None]
_OLDER = {"elicit": "on_question", "silence": "ping_after", "answer_timeout": "response_timeout"}


class _OlderClientOptions(TypedDict, total=False):
    elicit: OnQuestion | None
    silence: float
    answer_timeout: float


class ClientOptions(_OlderClientOptions, total=False):
    """The keyword arguments of ``Client`` and ``SyncClient``."""

    command: PathLike | Sequence[str]  # program that starts zot, or program and arguments; default: this Python's zot
    args: Sequence[str]  # more flags, such as "--session", "FILE"
    env: Mapping[str, str]  # added to the environment: use it for keys, not args
    provider: str  # default: the setting
    model: str
    base_url: str  # for example the address of a local server
    cwd: PathLike  # working directory; default: the process's
    extensions: Sequence[PathLike]  # directories of extensions to load
    token: str  # a shared secret: zot accepts only clients that send it
    # Called before each tool call; with ``outside`` in the request, before a jailed one reaches outside.
    approve: Callable[[ApprovalRequest], Awaitable[Decision | OutsideDecision] | Decision | OutsideDecision] | None
    # A failing function, or values that do not match the question, cancel it.
    on_question: OnQuestion | None  # answers MCP servers: values by name ({} for an opened address), None declines
    on_ask_user: OnAskUser | None  # answers questions of the model, one text or several per question; None declines
    on_plan: OnPlan | None  # decides about a plan in plan mode: True, False or a PlanDecision
    capabilities: Sequence[str]  # "commands", "panels"
    on_event: Callable[[Event], None]  # called with events that belong to no prompt
    on_stderr: Callable[[str], None]  # called with each line of zot's stderr
    restart: bool  # start another process if the last one died; default: on
    start_timeout: float  # 30 s
    response_timeout: float  # 10 s, for commands that are answered at once
    ping_after: float  # 30 s without an event, then zot is pinged
    exit_timeout: float  # 5 s between closing its stdin and killing it


def argv_of(options: ClientOptions) -> list[str]:
    command = options.get("command", (sys.executable, "-m", "zot"))
    argv = [os.fspath(command)] if isinstance(command, str | os.PathLike) else [*command]
    argv.append("rpc")
    for flag, value in (
        ("--provider", options.get("provider", "")),
        ("--model", options.get("model", "")),
        ("--base-url", options.get("base_url", "")),
        ("--cwd", os.fspath(options.get("cwd", ""))),
    ):
        argv += [flag, value] if value else []
    for path in options.get("extensions", ()):
        argv += ["--ext", os.fspath(path)]
    if options.get("approve"):
        argv.append("--no-yolo")
    return [*argv, *options.get("args", ())]


def environment_of(options: ClientOptions) -> dict[str, str]:
    environment = {**os.environ, **options.get("env", {})}
    environment.pop(TOKEN_VARIABLE, None)
    if token := options.get("token", ""):
        environment[TOKEN_VARIABLE] = token
    return environment


def capabilities_of(options: ClientOptions) -> tuple[str, ...]:
    handlers = (
        ("approvals", options.get("approve")),
        ("elicitation", options.get("on_question")),
        ("questions", options.get("on_ask_user")),
        ("plans", options.get("on_plan")),
    )
    handled = tuple(name for name, handler in handlers if handler)
    return (*handled, *(name for name in options.get("capabilities", ()) if name not in handled))
