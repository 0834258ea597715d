"""Runs prompts and compactions one at a time, in order, also beside another front end's.
The last event of each is sent when the agent is idle, so that a client that has seen it can clear or switch at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from zot.agent.conversation import Conversation
from zot.agent.queued_prompts import next_queued, run_queued
from zot.agent.slash_commands import submit_typed
from zot.core.agent import InitialToolCall, Outcome
from zot.core.events import AgentEvent, CompactDone, Diagnostic, Done, Notice, SessionFault
from zot.errors import UsageError, ZotError
from zot.frontends.console import print_notice
from zot.provider.messages import ImageBlock

MOST_WAITING = 256  # commands
MOST_BYTES = 64 * 1024 * 1024


class QueuedWork(msgspec.Struct, frozen=True):
    """One queued command. ``started`` answers it; ``compact``: a compaction with the text as focus.
    ``typed``: the text may name a slash command; ``queued``: the prompts that extensions queued. A ``task`` is neither
    prompt nor compaction, answers by itself, and has no events. ``removed`` answers a command that was removed."""

    started: Callable[[], None]
    text: str = ""
    images: Sequence[ImageBlock] = ()
    first_call: InitialToolCall | None = None
    compact: bool = False
    typed: bool = False
    queued: bool = False
    number: int = 0  # set by the queue
    removed: Callable[[], None] | None = None
    task: Callable[[], Awaitable[None]] | None = None

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(image.data) for image in self.images)


class PromptQueue:
    """``hear`` receives the conversation's events, from before it is built; ``send`` those for the client.
    ``conversation`` is set once it is built. ``echo``: notices are also printed."""

    conversation: Conversation

    def __init__(self, send: Callable[[AgentEvent], None], *, echo: bool = True) -> None:
        self._echo = echo
        self._send = send
        self._waiting: deque[QueuedWork] = deque()
        self._size = 0  # of waiting commands
        self._running: QueuedWork | None = None
        self._last: AgentEvent | None = None  # of the running work
        self._abort_at_start = False
        self._waits = False  # for the work of another front end
        self._wake = asyncio.Event()
        self._closed = False
        self._announced = 0  # commands that may add work
        self._early: list[SessionFault | Diagnostic] | None = []  # until the client's first command
        self._count = 0
        self.on_change: Callable[[], None] = lambda: None  # of ``waiting``
        self.before_next: Callable[[], None] = lambda: None  # work has ended, the next may be chosen

    @property
    def busy(self) -> bool:
        return self._running is not None

    @property
    def runs_prompt(self) -> bool:
        return self._running is not None and not self._running.compact and self._running.task is None

    @property
    def waiting(self) -> tuple[QueuedWork, ...]:
        """Prompts that wait, the next one first."""
        return tuple(work for work in self._waiting if not work.compact and work.task is None and not work.queued)

    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def remove(self, number: int) -> QueuedWork | None:
        """Take out a prompt that waits; None if there is none with this number."""
        found = next((work for work in self.waiting if work.number == number), None)
        if found is not None:
            self._waiting.remove(found)
            self._size -= found.size
            if found.removed is not None:
                found.removed()
            self.on_change()
        return found

    def put_first(self, work: QueuedWork) -> None:
        """Before all that wait; for what was accepted earlier."""
        self._count += 1
        self._waiting.appendleft(msgspec.structs.replace(work, number=self._count))
        self._size += work.size

    def open(self) -> None:
        """After the client's first command events may be written."""
        early, self._early = self._early or (), None
        for event in early:
            self._send(event)

    def submit(self, work: QueuedWork) -> None:
        """UsageError if too many commands wait; the running one does not count."""
        if len(self._waiting) >= MOST_WAITING:
            raise UsageError(f"{MOST_WAITING} commands are already waiting; wait for `done` before sending more")
        if self._waiting and self._size + work.size > MOST_BYTES:
            raise UsageError(f"{MOST_BYTES // 1024**2} MiB of prompts are already waiting; wait for `done`")
        self._count += 1
        self._waiting.append(msgspec.structs.replace(work, number=self._count))
        self._size += work.size
        if self._running is None:
            self._start_next()
        else:
            self.on_change()

    def announce(self) -> None:
        """Work may follow although input has ended; ``withdraw`` ends this."""
        self._announced += 1

    def withdraw(self) -> None:
        self._announced -= 1
        self._wake.set()

    def abort(self) -> None:
        """Abort the running command; waiting ones stay."""
        if self.conversation.busy:
            self.conversation.abort()
        elif self._running is not None:
            self._abort_at_start = True

    def close(self) -> None:
        """Let ``run`` return when everything is done."""
        self._closed = True
        self._wake.set()

    def stop(self) -> None:
        """Abort the running command and drop waiting ones."""
        self._waiting.clear()
        self._size = 0
        self.on_change()
        self.abort()
        self.close()

    async def run(self) -> None:
        while True:
            while self._running is not None:
                work = self._running
                try:
                    await self._wait_for_others()
                    if work.task is not None:
                        await work.task()
                    elif work.compact:
                        await self.conversation.compact(work.text)
                    else:
                        await run_queued(self.conversation, await self._prompt(work))
                except ZotError:
                    pass  # reported by the events
                except Exception as error:  # a bug, reported by the events; the process stays usable
                    print_notice(f"internal error: {type(error).__name__}: {error}")
                self._finish()
            if self._closed and not self._announced:
                return
            self._wake.clear()
            await self._wake.wait()

    async def _wait_for_others(self) -> None:
        self._waits = True
        try:
            await self.conversation.wait_idle()
        finally:
            self._waits = False

    async def _prompt(self, work: QueuedWork) -> Outcome:
        if work.queued:
            return await next_queued(self.conversation) or Outcome("end")
        if work.typed:
            return await submit_typed(self.conversation, *await self._with_files(work))
        return await self.conversation.prompt(work.text, work.images, first_call=work.first_call)

    async def _with_files(self, work: QueuedWork) -> tuple[str, Sequence[ImageBlock]]:
        """With the files that ``@path`` names; one line for each."""
        if "@" not in work.text:
            return work.text, work.images
        from zot.features.file_blocks import attachment_line, split_attachments
        from zot.features.mentions import with_mentions

        workspace = self.conversation.workspace
        given = work.text, work.images, workspace.cwd, workspace.jailed_files
        text, images = await asyncio.to_thread(with_mentions, *given)
        for name, body in split_attachments(text.removeprefix(work.text))[1]:
            self._send(Diagnostic(attachment_line(name, body), level="info"))
        return text, images

    def run_queued(self) -> bool:
        """An extension queued a prompt: run it unless the running work does so."""
        if self._running is None:
            self.submit(QueuedWork(lambda: None, queued=True))
        return True

    def _start_next(self) -> None:
        self._running = self._waiting.popleft() if self._waiting else None
        if self._running is not None:
            self._size -= self._running.size
            self._abort_at_start = False
            self._running.started()
            self._wake.set()
            self.on_change()

    def on_event(self, event: AgentEvent) -> None:
        if self._abort_at_start and not self._waits and self.conversation.busy:
            self._abort_at_start = False
            self.conversation.abort()
        if isinstance(event, Notice):
            self._print(event.text)
        elif isinstance(event, Done) or (isinstance(event, CompactDone) and not event.automatic):
            if self._running is None or self._waits:  # of another front end
                self._send(event)
            else:
                self._last = event
        elif isinstance(event, SessionFault | Diagnostic):
            self._print(event.text if isinstance(event, Diagnostic) else event.message)
            if self._early is None:
                self._send(event)
            else:
                self._early.append(event)
        else:
            self._send(event)

    def _print(self, text: str) -> None:
        if self._echo:
            print_notice(text)

    def _finish(self) -> None:
        if self._running is None or self._running.task is None:
            self._send(self._last or Done())
        self._last = None
        self.before_next()
        self._start_next()
