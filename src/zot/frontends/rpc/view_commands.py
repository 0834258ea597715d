"""Commands of clients that show a whole screen: steering, the queue, files to mention, frames of extensions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.op_handlers import image_blocks, record_op
from zot.core import events
from zot.errors import NotThere, UsageError
from zot.features.conversation_state import title_of
from zot.features.lookup import extension_host
from zot.frontends.prompt_queue import MOST_WAITING, QueuedWork
from zot.frontends.rpc.writer import respond_later
from zot.provider.messages import ImageBlock, ToolResultBlock
from zot.wire import rpc_frames as wire

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.state import PendingPrompt
    from zot.features.recording.frame_trace import Direction, FrameLog
    from zot.frontends.file_index import FileFinder
    from zot.frontends.prompt_queue import PromptQueue
    from zot.frontends.rpc.writer import PendingResponse, Writer
    from zot.provider.messages import Message

SHOWN = 2_000  # characters of a waiting prompt
FOUND_MAX = 200
FRAME_MAX = 64 * 1024


class ViewCommands:
    """``announced`` are the client's capabilities."""

    def __init__(
        self,
        conversation: Conversation,
        queue: PromptQueue,
        announced: Collection[str],
        tasks: asyncio.TaskGroup,
        writer: Writer,
    ) -> None:
        self._conversation = conversation
        self._queue = queue
        self._announced = announced
        self._tasks = tasks
        self._writer = writer
        self._steered: list[PendingPrompt] = []
        self._sent: wire.QueueChanged | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._finder: FileFinder | None = None
        self._frames: FrameWatch | None = None
        queue.before_next = self._put_back

    def announce(self) -> None:
        """The capabilities changed."""
        self.close(keep_files=True)
        kinds: list[type[events.AgentEvent]] = []
        if "queue" in self._announced:
            self._queue.on_change = self._tell_queue
            kinds.append(events.QueueChanged)
        if "sessions" in self._announced:
            kinds += [events.SessionStarted, events.SessionRenamed]
        if kinds:
            self._unsubscribe = self._conversation.subscribe(self._on_event, *kinds)

    def close(self, *, keep_files: bool = False) -> None:
        self._queue.on_change = lambda: None
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        if self._finder is not None and not keep_files:
            self._finder.close()
        if self._frames is not None and not keep_files:
            self._frames.end()

    def do(self, command: Any, reply: PendingResponse) -> Any:
        """The data of the response; LATER if ``reply`` will be called."""
        match command:
            case wire.Steer():
                return self._steer(command)
            case wire.GetQueue():
                return wire.Queue(steering=self._steering(), queued=self._queued())
            case wire.Unqueue():
                return self._unqueue(command.index)
            case wire.GetImage():
                return find_image(self._conversation.messages, command)
            case wire.WatchFrames():
                return self._watch(command.on)
            case _:
                return self._later(self._find(command), reply)

    def _later(self, work: Any, reply: PendingResponse) -> Any:
        from zot.frontends.rpc.commands import LATER

        self._queue.announce()
        task = self._tasks.create_task(respond_later(work, reply))
        task.add_done_callback(lambda _: self._queue.withdraw())
        return LATER

    # --- the queue

    def _steer(self, command: wire.Steer) -> wire.Steered:
        """Join the running prompt; a compaction cannot be joined."""
        images, conversation = image_blocks(command), self._conversation
        if not command.message.strip() and not images:
            raise UsageError("steer: the message is empty")
        if len(conversation.steering) >= MOST_WAITING:
            raise UsageError(f"{MOST_WAITING} messages are already waiting")
        if conversation.busy and (self._queue.runs_prompt or not self._queue.busy):
            conversation.steer(command.message, images)
            self._steered.append(conversation.steering[-1] if conversation.steering else conversation.queued[0])
            return wire.Steered(steered=True)
        typed = "commands" in self._announced
        self._queue.submit(QueuedWork(lambda: None, command.message, images, typed=typed))
        return wire.Steered(steered=False)

    def _put_back(self) -> None:
        """A prompt ended before it took the last messages: they are prompts, before all that wait."""
        steered, self._steered = self._steered, []
        for prompt in reversed(steered):
            if self._conversation.withdraw(prompt):
                self._queue.put_first(QueuedWork(lambda: None, prompt.text, prompt.images))

    def _unqueue(self, index: int) -> wire.Unqueued:
        removed = self._queue.remove(index)
        if removed is None:
            raise UsageError(f"no prompt {index} is waiting; it may have started")
        return wire.Unqueued(text=removed.text)

    def _steering(self) -> tuple[wire.SteeringMessage, ...]:
        waiting = self._conversation.steering
        return tuple(wire.SteeringMessage(text=each.text[:SHOWN], images=len(each.images)) for each in waiting)

    def _queued(self) -> tuple[wire.QueuedPrompt, ...]:
        return tuple(
            wire.QueuedPrompt(index=each.number, text=each.text[:SHOWN], images=len(each.images))
            for each in self._queue.waiting
        )

    def _tell_queue(self) -> None:
        """Once for each change that a client can see."""
        present = wire.QueueChanged(steering=self._steering(), queued=self._queued())
        if present != (self._sent or wire.QueueChanged(steering=(), queued=())):
            self._sent = present
            self._writer.send_event(present)

    # --- another session, another model

    def _on_event(self, event: events.AgentEvent) -> None:
        match event:
            case events.SessionStarted(_, "clear" | "new" | "fork" | "resume" | "rewind" as action):
                # the messages of the new one follow the event
                asyncio.get_running_loop().call_soon(self._tell_session, action)
            case events.SessionRenamed(_, name) if name:
                self._tell_session("rename")
            case events.QueueChanged():
                self._tell_queue()
            case _:
                pass

    def _tell_session(self, action: Any) -> None:
        conversation = self._conversation
        self._writer.send_event(
            wire.SessionChanged(
                action=action,
                session_id=conversation.snapshot.session_id,
                title=title_of(conversation),
                message_count=len(conversation.messages),
            )
        )

    def set_model(self, command: wire.SetModel, reply: PendingResponse) -> Any:
        """A model of another provider, whose key may come from a slow program; prompts wait for it."""

        async def switch() -> None:
            await respond_later(self._switch(command), reply)

        record_op(self._conversation, command)
        self._queue.submit(QueuedWork(lambda: None, task=switch))
        from zot.frontends.rpc.commands import LATER

        return LATER

    async def _switch(self, command: wire.SetModel) -> wire.ModelSet:
        await self._conversation.set_model(command.model, command.provider)
        return wire.ModelSet(model=command.model, provider=command.provider)

    # --- files, frames

    async def _find(self, command: wire.FindFiles) -> wire.FoundFiles:
        if self._finder is None:
            from zot.frontends.file_index import FileFinder

            self._finder = FileFinder(self._conversation.workspace.cwd)
        paths = await self._finder.find(command.query, min(max(command.limit, 1), FOUND_MAX))
        return wire.FoundFiles(
            files=tuple(wire.FoundFile(path=path, kind="directory" if path.endswith("/") else "file") for path in paths)
        )

    def _watch(self, on: bool) -> Any:
        if self._frames is not None:
            self._frames.end()
            self._frames = None
        if on:
            self._frames = FrameWatch(self._conversation, self._writer)
        return msgspec.UNSET


def find_image(messages: Sequence[Message], wanted: wire.GetImage) -> wire.ImageData:
    """NotThere if the transcript has no such image."""
    found: list[ImageBlock] = []
    if wanted.tool_id:
        results = (block for message in reversed(messages) for block in message.content)
        named = (each for each in results if isinstance(each, ToolResultBlock) and each.call_id == wanted.tool_id)
        found = _images(getattr(next(named, None), "content", ()))
    elif 0 <= wanted.message < len(messages):
        found = _images(messages[wanted.message].content)
    if not 0 <= wanted.index < len(found):
        place = f"result of {wanted.tool_id[:60]!r}" if wanted.tool_id else f"message {wanted.message}"
        raise NotThere(f"no image {wanted.index} in {place}")
    return wire.ImageData(mime_type=found[wanted.index].mime_type, data=found[wanted.index].data)


def _images(blocks: Sequence[object]) -> list[ImageBlock]:
    return [block for block in blocks if isinstance(block, ImageBlock)]


class FrameWatch:
    """Sends each frame of extensions until ``end``. A client that does not read loses frames, and never its place."""

    def __init__(self, conversation: Conversation, writer: Writer) -> None:
        from zot.features.recording.frame_trace import FrameLog

        self._writer = writer
        self._log: FrameLog = FrameLog()
        self._dropped = 0
        self._host = extension_host(conversation)
        if self._host is not None:
            self._host.traces.append(self._tap)

    def end(self) -> None:
        if self._host is not None and self._tap in self._host.traces:
            self._host.traces.remove(self._tap)

    def _tap(self, extension: str, direction: Direction, line: bytes) -> None:
        now = time.time()
        traced = self._log.frame(now, extension, direction, line)
        if not self._writer.has_room:
            self._dropped += 1
            return
        is_cut = len(traced.line) > FRAME_MAX
        is_json = bool(bytes(traced.frame)) and not is_cut
        text = "" if is_json else traced.line[:FRAME_MAX].decode("utf-8", "replace")
        frame = wire.ExtFrame(
            extension=extension,
            direction=direction,
            t=round(now, 6),
            frame=traced.frame if is_json else msgspec.UNSET,
            latency=msgspec.UNSET if traced.latency is None else traced.latency,
            text=text,
            cut=is_cut,
            dropped=self._dropped,
        )
        self._dropped = 0
        self._writer.send_event(frame)
