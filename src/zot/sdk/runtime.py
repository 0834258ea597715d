"""An agent inside your program: one prompt at a time per Runtime; Runtimes are independent.
One task opens and closes the connections, extensions and session of a Runtime, so ``close`` may be called from
anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from inspect import isawaitable
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, Unpack, cast, overload

import msgspec

from zot.agent.build import build
from zot.agent.conversation import Conversation
from zot.agent.queued_prompts import run_queued
from zot.agent.slash_commands import submit_typed
from zot.core.events import AgentEvent, Diagnostic, SessionFault
from zot.core.permission_modes import Mode as PermissionMode
from zot.errors import AgentBusy, AnswerAborted, RuntimeClosed, UsageError, ZotError
from zot.provider.messages import Block, ImageBlock, Message, ResultBlock, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.model import Reasoning
from zot.sdk.methods import RuntimeMethods
from zot.sdk.options import Options, checked, config_of, front_end_of
from zot.sdk.stream import EventStream, Job, PromptJob, SdkExtensionUI, rephrase_for_python
from zot.wire import rpc_frames
from zot.wire.events import message_text, of, totals_of
from zot.wire.ops import Op
from zot.wire.python_values import PromptImage, image_block
from zot.wire.structured_output import TRIES, OutputSchema

T = TypeVar("T")
RewindWhat = Literal["both", "files", "conversation"]


class Runtime(RuntimeMethods):
    """``async with Runtime(model=…) as zot: async for event in zot.prompt("…"): …``

    Or ``zot = await Runtime(model=…).open()``, and ``await zot.close()`` later. Opening raises ZotError if a setting
    is wrong or a credential is missing. All keyword arguments are in ``Options``. Use it from the event loop it was
    opened in.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        options = checked(options)
        self._config = config_of(options)
        self._surface = SdkExtensionUI(
            self._deliver, options.get("on_surface"), dialogs=options.get("on_dialog") is not None
        )
        self._front_end = front_end_of(options, self._note, self._surface)
        self._notices: list[str] = []
        self._built: Conversation | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._work: PromptJob | None = None

    # --- opening and closing

    async def open(self) -> Self:
        """Read the settings, find the model and start the extensions; ``async with`` does this."""
        if self._owner is not None:
            raise UsageError("a Runtime can be opened once; create another one")
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[Conversation] = loop.create_future()
        self._owner = loop.create_task(self._live(ready))
        try:
            self._built = await ready
        except BaseException as error:
            self._owner.cancel()
            await asyncio.wait([self._owner])
            _rephrase(error)
            raise
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _live(self, ready: asyncio.Future[Conversation]) -> None:
        try:
            async with build(self._config, self._front_end) as built:
                ready.set_result(built)
                await self._closing.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def close(self) -> None:
        """Cancel running work and release everything; safe to call twice."""
        self._closing.set()
        await self.abort()
        if self._owner is not None:
            await asyncio.wait([self._owner])
            if not self._owner.cancelled():
                self._owner.result()

    # --- working

    @overload
    def prompt(self, text: str, images: Iterable[PromptImage] = ()) -> EventStream[None]: ...
    @overload
    def prompt(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[T], tries: int = TRIES
    ) -> EventStream[T]: ...
    def prompt(
        self, text: str, images: Iterable[PromptImage] = (), *, returns: type[Any] | None = None, tries: int = TRIES
    ) -> EventStream[Any]:
        """Send a prompt; work starts at once. Raises AgentBusy while another prompt or compaction runs.
        With ``returns=Type`` the answer must be a value of that type: it is checked, requested again if it does not
        match (``tries`` times in all), and in ``returned`` of the stream after its last event."""
        blocks = tuple(map(image_block, images))
        conversation = self._open()
        if returns is None:
            return EventStream[None](self._begin(lambda: _no_value(conversation, text, blocks)))
        shape = OutputSchema(returns)
        return EventStream[Any](self._begin(lambda: _value(conversation, shape, text, blocks, tries), rounds=True))

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
        An early end is raised as its ZotError; an answer that does not match as AnswerMismatch."""
        blocks = tuple(map(image_block, images))
        conversation = self._open()
        if returns is None:
            work = self._begin(lambda: _text(conversation, text, blocks))
        else:
            shape = OutputSchema(returns)
            work = self._begin(lambda: _value(conversation, shape, text, blocks, tries), rounds=True)
        try:
            shown = ""
            async for event in EventStream[Any](work):
                shown = event.text if isinstance(event, rpc_frames.ExtDisplay) else shown
            answer = work.result()
            return answer or shown if returns is None else answer
        except ZotError as error:
            _rephrase(error)
            raise

    async def compact(self, focus: str = "") -> str:
        """Replace the transcript with a summary and return it; ``focus`` names the most important content.
        Raises CompactionFailed; nothing changed then."""
        conversation = self._open()
        work = self._begin(lambda: conversation.compact(focus))
        async for _ in EventStream[None](work):
            pass
        return str(work.result())

    async def abort(self) -> None:
        """Abort the running prompt or compaction and wait until it ended; does nothing when idle."""
        if self._work is not None:
            self._work.cancel()
            await self._work.wait()

    async def cancel(self) -> None:
        """The older name of ``abort``."""
        await self.abort()

    def _begin(self, job: Job, *, rounds: bool = False) -> PromptJob:
        before = self._work
        if before is not None and before.running and not before.over:
            raise AgentBusy("runtime is busy")
        self._work = PromptJob(job, self._open().subscribe, self._abort, before, rounds=rounds)
        self._surface.release()
        return self._work

    def _deliver(self, event: rpc_frames.ExtensionEvent) -> bool:
        if not self.busy or self._work is None:
            return False
        self._work.push(event)
        return True

    def _abort(self) -> bool:
        """True if an abort can end running work."""
        if self._built is None or not self._built.busy:
            return False
        self._built.abort()
        return True

    # --- changes; require an idle runtime

    def _read(self, op: Op) -> Any:
        """Submit an op that is answered at once."""
        return self._entered().submit(op)

    async def _change(self, op: Op) -> Any:
        """Submit an op when the runtime is idle; the permission mode may change while something runs."""
        if not isinstance(op, rpc_frames.SetPermissionMode | rpc_frames.GetChanges):
            await self._settle()
        done = self._open().submit(op)
        return await done if isawaitable(done) else done

    async def set_messages(self, messages: Sequence[rpc_frames.Message] = ()) -> None:
        """Replace the transcript, by default with an empty one; cost and session stay, and the next session begins."""
        transcript = transcript_of(messages)
        await self._settle()
        self._open().clear(transcript)

    async def _settle(self) -> None:
        """Wait for work whose last event was read; AgentBusy for other work."""
        if self._work is not None and self._work.running:
            if not self._work.over:
                raise AgentBusy("runtime is busy")
            await self._work.wait()

    # --- state; available once entered

    @property
    def busy(self) -> bool:
        return self._work is not None and self._work.running and not self._work.over

    @property
    def provider(self) -> str:
        return self._entered().snapshot.provider

    @property
    def model(self) -> str:
        return self._entered().snapshot.model

    @property
    def reasoning(self) -> Reasoning:
        """The reasoning level; empty for the model's default."""
        return self._entered().snapshot.reasoning

    @property
    def permission_mode(self) -> PermissionMode:
        """The permission mode: what runs without asking."""
        return cast("PermissionMode", self._entered().snapshot.permission_mode)

    @property
    def cwd(self) -> str:
        return self._entered().snapshot.directory

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices about settings, skills, extensions and the session; one line each."""
        self._entered()
        return tuple(self._notices)

    def state(self) -> rpc_frames.State:
        """Provider, model, directory, size of the transcript, usage, permission mode, and whether something runs."""
        return msgspec.structs.replace(super().state(), busy=self.busy)

    def cost(self) -> rpc_frames.UsageTotals:
        """Tokens and cost so far."""
        return totals_of(self._entered().total_usage)

    def list_models(self) -> tuple[rpc_frames.ModelInfo, ...]:
        """The older name of ``models``."""
        return self.models()

    def _note(self, event: AgentEvent) -> None:
        if isinstance(event, Diagnostic):
            self._notices.append(rephrase_for_python(event.text))
        elif isinstance(event, SessionFault):
            self._notices.append(event.message)

    def _entered(self) -> Conversation:
        if self._built is None:
            raise UsageError("open the Runtime first: async with Runtime(…) as zot, or await Runtime(…).open()")
        return self._built

    def _open(self) -> Conversation:
        if self._closing.is_set():
            raise RuntimeClosed("runtime is closed")
        return self._entered()


async def _no_value(conversation: Conversation, text: str, images: Sequence[ImageBlock]) -> None:
    await run_queued(conversation, await submit_typed(conversation, text, images))


async def _text(conversation: Conversation, text: str, images: Sequence[ImageBlock], *, whole: bool = False) -> str:
    """Send a prompt; returns the text of the last message. Raises early ends, an abort only if ``whole``."""
    answer = ""

    def hear(event: AgentEvent) -> None:
        nonlocal answer
        if isinstance(seen := of(event), rpc_frames.AssistantMessage):
            answer = message_text(seen)

    leave = conversation.subscribe(hear)
    try:
        outcome = await submit_typed(conversation, text, images)
        outcome = await run_queued(conversation, outcome)
    finally:
        leave()
    if outcome.error is not None:
        raise outcome.error
    if outcome.refused:
        raise ZotError(outcome.refused)
    if whole and outcome.stop == "aborted":
        raise AnswerAborted("the prompt was aborted before its answer", answer)
    return answer


async def _value(
    conversation: Conversation, shape: OutputSchema[T], text: str, images: Sequence[ImageBlock], tries: int
) -> T:
    pictures = [tuple(images)]

    async def say(words: str) -> str:
        return await _text(conversation, words, pictures.pop() if pictures else (), whole=True)

    return await shape.ask(text, say, tries)


def _rephrase(error: BaseException) -> None:
    """Rephrase an error to name options instead of flags."""
    if isinstance(error, ZotError) and error.args and isinstance(error.args[0], str):
        error.args = (rephrase_for_python(error.args[0]), *error.args[1:])


# The transcript that seeds a conversation, converted from the wire format.


def transcript_of(messages: Sequence[rpc_frames.Message]) -> list[Message]:
    """UsageError for an image: the wire format has only its size, so it cannot be restored."""
    return [Message(message.role, tuple(map(_block, message.content)), message.time) for message in messages]


def _block(block: rpc_frames.Content) -> Block:
    match block:
        case rpc_frames.ToolCallContent():
            arguments = "" if block.args is None else msgspec.json.encode(block.args).decode()
            return ToolCallBlock(block.id, block.name, arguments)
        case rpc_frames.ToolResultContent():
            return ToolResultBlock(block.call_id, tuple(_results(block.content)), block.is_error)
        case _:
            return _plain(block)


def _results(blocks: Iterable[rpc_frames.TextContent | rpc_frames.ImageContent]) -> Iterable[ResultBlock]:
    return (_plain(block) for block in blocks)


def _plain(block: rpc_frames.TextContent | rpc_frames.ImageContent) -> TextBlock:
    if isinstance(block, rpc_frames.ImageContent):
        raise UsageError("cannot set a message with an image: only the image's size is known; use a session instead")
    return TextBlock(block.text)
