"""Runs one turn, compaction or shell command at a time and queues later input.
``steer`` adds to the running turn. Cancelling returns queued texts to the editor. ``PendingTurns`` stores prompts until
the agent is built. Other front ends of the conversation may run turns too: these are foreign here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from zot.core.events import OF_EXTENSION, AgentEvent, CompactDone, CompactStart, Done, ModelChanged, TurnStart
from zot.features.file_blocks import split_attachments
from zot.features.lookup import change_recorder, checkpoints
from zot.frontends.terminal.screen.call_summary import duration
from zot.provider.messages import ENDED
from zot.tui.sanitize import sanitize
from zot.tui.theme import Theme
from zot.tui.width import cut, visible

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.agent import InitialToolCall, Outcome
    from zot.frontends.terminal.editor.editor import Editor
    from zot.frontends.terminal.screen.activity import Activity
    from zot.frontends.terminal.screen.notice_area import NoticeArea
    from zot.frontends.terminal.screen.transcript import Transcript
    from zot.frontends.terminal.screen.ui_services import ScreenServices
    from zot.provider.messages import ImageBlock, Message

# The line after a turn: changes, duration, cost.

LONG_S = 30.0  # seconds; shorter turns without changes get no line


class TurnMark:
    """Created when a turn begins."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._began = time.monotonic()
        self._cost = conversation.total_usage.cost_usd
        recorded = checkpoints(conversation)
        self._changes = recorded.collect_changes() if recorded is not None else []

    async def line(self) -> str:
        """``3 files changed +41 −7 · worked for 2m13s · $0.04``; may be empty."""
        seconds = time.monotonic() - self._began
        events = self._changes
        recorder = change_recorder(self._conversation) if events else None
        if recorder is None:
            changed = ""
        else:
            from zot.features.checkpoints.diff import counted, diff_summary, differences

            objects = recorder.place.objects
            changed = diff_summary(
                await asyncio.to_thread(lambda: [counted(one, objects) for one in differences(events)])
            )
        if not changed and seconds < LONG_S:
            return ""
        dollars = self._conversation.total_usage.cost_usd - self._cost
        cost = "" if dollars < 0.0005 else f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.3f}"
        return " · ".join(filter(None, (changed, f"worked for {duration(max(seconds, 0.1))}", cost)))


STOP_S = 2.0
_FOREIGN_S = 0.02  # for the other front end's next prompt
_CANCELLED = "[zot: the user cancelled the previous turn. Do not continue it unless the user asks for it.]"

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]

_MOST_WAITING, _WAITING_CHARACTERS = 20, 1_000


class PromptTarget(Protocol):
    """Receiver of the editor's submissions, before and after the agent is built."""

    @property
    def ready(self) -> bool:
        """True if there is an agent, whose work quitting would interrupt."""
        ...

    @property
    def busy(self) -> bool: ...

    def submit(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        """Send it now, or queue it."""
        ...

    def steer(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        """Join the running turn before its next model call; send it if there is none."""
        ...

    def cancel(self) -> None:
        """Abort; the end is reported by itself."""
        ...

    async def stop(self) -> bool:
        """Cancel and wait briefly; true if nothing runs any more."""
        ...

    def run_next(self) -> None:
        """Send the oldest queued prompt if idle."""
        ...

    def return_to_editor(self) -> None:
        """Return all queued prompts to the editor, before its text."""
        ...

    def edit_last_queued(self) -> None:
        """Return the newest queued prompt to the editor."""
        ...

    def queue_lines(self, theme: Theme, width: int) -> list[str]: ...


class PendingTurns:
    """Stores prompts until the agent is built, for ``Turns`` to send."""

    ready = busy = False

    def __init__(self, redraw: Callable[[], None]) -> None:
        self._redraw = redraw
        self.on_submit: Callable[[], None] = lambda: None
        self.submitted_prompts: list[tuple[str, tuple[ImageBlock, ...]]] = []

    def submit(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        self.submitted_prompts.append((text, tuple(images)))
        self.on_submit()
        self._redraw()

    steer = submit

    def cancel(self) -> None: ...

    async def stop(self) -> bool:
        return True

    def run_next(self) -> None: ...

    def return_to_editor(self) -> None: ...

    def edit_last_queued(self) -> None: ...

    def queue_lines(self, theme: Theme, width: int) -> list[str]:
        return waiting_rows([("sliding in:", text) for text, _ in self.submitted_prompts], theme, width)


class TurnRunner:
    """``on_failure`` gets a turn that ended in an error, ``on_end`` the seconds of any operation."""

    ready = True

    def __init__(
        self,
        conversation: Conversation,
        ui: ScreenServices,
        editor: Editor,
        transcript: Transcript,
        asides: NoticeArea,
        activity: Activity,
        *,
        on_end: Callable[[float], None],
        spawn: Spawn | None = None,
    ) -> None:
        self._conversation = conversation
        self._spawn = spawn or ui.spawn  # a guest's turns outlive its screen
        self._ui = ui
        self._status = ui.status
        self._editor = editor
        self._transcript = transcript
        self._asides = asides
        self._activity = activity
        self._task: asyncio.Task[None] | None = None
        self._foreign = conversation.busy  # a turn of another front end is shown
        if self._foreign:
            activity.begin()
        self._unbegun: tuple[str, Sequence[ImageBlock]] | None = None  # the prompt of a task before its first step
        self._given_back: Message | None = None
        self._waiting: tuple[str, Sequence[ImageBlock], str] | None = None  # a prompt without a model, and the draft
        self.on_waiting: Callable[[], object] = lambda: None
        conversation.subscribe(self._model_changed, ModelChanged)
        self.close = conversation.subscribe(self._foreign_event, TurnStart, CompactStart, Done, CompactDone)
        self._gave_up_retry = False
        self._on_end = on_end
        self.on_failure: Callable[[Outcome], object] = lambda outcome: None
        self.moved_on: Callable[[], object] = lambda: None  # another operation starts while a failure dialog is open

    @property
    def busy(self) -> bool:
        return self._task is not None or self._foreign

    def _foreign_event(self, event: AgentEvent) -> None:
        """Show a turn of another front end like an own one."""
        if self._task is not None:
            return
        if isinstance(event, TurnStart | CompactStart):
            if not self._foreign:
                self._activity.begin()
            self._foreign = True
        elif self._foreign and not (isinstance(event, CompactDone) and event.automatic):
            self._activity.end()
            self._ui.spawn(self._after_foreign())
        self._ui.redraw()

    async def _after_foreign(self) -> None:
        """Prompts typed meanwhile follow, unless the other front end takes them."""
        await self._conversation.wait_idle()
        await asyncio.sleep(_FOREIGN_S)
        if not self._conversation.busy:
            self._foreign = False
            self.run_next()
        self._ui.redraw()

    # --- sending

    @property
    def waits_for_model(self) -> bool:
        """True if a submitted prompt is unchanged in the editor; it is sent once there is a model."""
        return self._waiting is not None and self._waiting[2] == self._editor.text

    def _model_changed(self, event: AgentEvent) -> None:
        asyncio.get_running_loop().call_soon(self._send_waiting)  # after the change is complete

    def _send_waiting(self) -> None:
        if self._conversation.unavailable_reason or self._waiting is None:
            return
        (text, images, _), unchanged = self._waiting, self.waits_for_model
        self._waiting = None
        if unchanged:
            self._editor.set_units([])
            self.submit(text, images)

    def submit(
        self, text: str, images: Sequence[ImageBlock] = (), *, first_call: InitialToolCall | None = None
    ) -> None:
        """Start a turn, or queue behind the running one; ``first_call`` is for an idle agent only."""
        conversation = self._conversation
        if conversation.unavailable_reason:
            reason = conversation.unavailable_reason
            if reason.startswith("no credential"):  # its fixes are for the command line
                reason = f"{reason.partition(':')[0]}; /login"
            self._status.error(f"kept until there is a model: {reason}")
            self._editor.give_back([(text, images)])
            self._waiting = (text, images, self._editor.text)
            self.on_waiting()
        elif self.busy:
            conversation.enqueue(text, images)
        else:
            self._asides.turn_begins()
            last = self._conversation.unanswered_prompt
            again = first_call is None and last is not None and last.text() == text and _images_of(last) == list(images)
            instead = not again and self._given_back is not None and self._given_back is conversation.unanswered_prompt
            self._given_back = None
            if again or instead:
                self._transcript.add_note("retrying" if again else "instead of the failed prompt")
            prompt = None if again else text
            self._start(lambda: self._converse(prompt, tuple(images), first_call, instead=instead))
            self._unbegun = (text, images)
        self._ui.redraw()

    def steer(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        if self.busy:
            self._conversation.steer(text, images)
            self._ui.redraw()
        else:
            self.submit(text, images)

    # --- running

    def run(self, work: Callable[[], Awaitable[None]], doing: str = "") -> bool:
        """Mark as busy with another operation (compaction, shell command); False if already busy."""
        if self.busy:
            return False
        self._start(work, doing)
        return True

    def proceed(self) -> None:
        """Continue from the transcript (rescue, retry after compaction).
        Starts at an interrupted answer or at an unanswered prompt."""
        if not self.busy:
            self._asides.turn_begins()
            self._start(lambda: self._converse(None, ()))

    def _start(self, work: Callable[[], Awaitable[None]], doing: str = "") -> None:
        self._activity.begin(doing)
        self._unbegun = None
        self._task = self._spawn(self._run(work))
        self._task.add_done_callback(self._ended)
        self.moved_on()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A task that was cancelled before its first step ran nothing, not even its `finally`."""
        if self._task is not task:
            return
        self._task = None
        self._activity.end()
        if self._unbegun is not None:
            self._editor.give_back([self._unbegun])
        self._ui.redraw()

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        self._unbegun = None
        started = asyncio.get_running_loop().time()
        try:
            await work()
        finally:
            self._task = None
            self._activity.end()
            self._on_end(asyncio.get_running_loop().time() - started)
            self._ui.redraw()

    async def _converse(
        self,
        text: str | None,
        images: tuple[ImageBlock, ...],
        first: InitialToolCall | None = None,
        *,
        queued: bool = False,
        instead: bool = False,
        meta: dict[str, str] | None = None,
    ) -> None:
        conversation, mark = self._conversation, TurnMark(self._conversation)
        await conversation.wait_idle()
        was_cancelled = any(message.meta.get(ENDED) == "cancelled" for message in conversation.messages[-1:])
        if text is not None and was_cancelled and not instead:
            conversation.add_message(_cancellation_note())
        if text is None:
            outcome = await conversation.continue_run()
        else:
            outcome = await conversation.prompt(
                text, images, queued=queued, first_call=first, instead=instead, meta=meta
            )
        await self._sum_up(mark)
        while self._concluded(outcome) and (following := conversation.pop_queued()) is not None:
            self._asides.turn_begins()
            mark = TurnMark(conversation)
            outcome = await conversation.prompt(following.text, following.images, queued=True, meta=following.meta)
            await self._sum_up(mark)

    async def _sum_up(self, mark: TurnMark) -> None:
        if line := await mark.line():
            self._transcript.add_turn_summary(line)

    def _concluded(self, outcome: Outcome) -> bool:
        """Report the end; returns whether queued prompts may follow."""
        if outcome.stop == "aborted":
            self.return_to_editor()
            self._transcript.add_marker("◌", "cancelled")
            if self._gave_up_retry:  # the model has not answered it
                self.give_failed_back()
            return False
        if outcome.refused:
            self._status.error(f"blocked: {outcome.refused}")
            return True
        if outcome.handled:
            return True
        if outcome.taken_back is not None:
            self._editor.give_back([(outcome.taken_back.text, outcome.taken_back.images)])
            self._given_back = self._conversation.unanswered_prompt  # the line in its place
            self._transcript.add_note(
                "the prompt is back in the editor; shorten it, or save it to a file and name the file"
            )
        if outcome.error is not None:
            self.on_failure(outcome)
            return False
        if outcome.stop == "length":
            self._status.error("the answer was truncated at the model's output limit")
        return True

    # --- ending

    def cancel(self) -> None:
        self._gave_up_retry = self._activity.retrying
        if self._conversation.busy:
            self._conversation.abort()
        elif self._task is not None:
            self._task.cancel()

    async def stop(self) -> bool:
        task = self._task
        if task is None:
            return True
        self.cancel()
        await asyncio.wait([task], timeout=STOP_S)
        return not self.busy

    async def wait_idle(self) -> None:
        """Wait until the current operation has ended."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def run_next(self) -> None:
        """Send the oldest queued prompt if idle."""
        if self.busy or (prompt := self._conversation.pop_queued()) is None:
            return
        self._asides.turn_begins()
        self._start(lambda: self._converse(prompt.text, prompt.images, queued=True, meta=prompt.meta))

    # --- the queue

    def return_to_editor(self) -> None:
        """Those of extensions are dropped: the user did not write them."""
        own = [prompt for prompt in self._conversation.drain_input() if OF_EXTENSION not in prompt.meta]
        self._editor.give_back([(prompt.text, prompt.images) for prompt in own])

    def give_failed_back(self) -> None:
        """Return an unanswered prompt to the editor, before a draft."""
        failed = self._conversation.unanswered_prompt
        if failed is not None and failed is not self._given_back:
            self._given_back = failed
            self._editor.give_back([(failed.text(), _images_of(failed))])

    def edit_last_queued(self) -> None:
        if (prompt := self._conversation.pop_last_queued()) is not None:
            self._editor.give_back([(prompt.text, prompt.images)])

    def queue_lines(self, theme: Theme, width: int) -> list[str]:
        steering, queued = self._conversation.steering, self._conversation.queued
        rows = [("steering in:", prompt.text) for prompt in steering]
        return waiting_rows(rows + [("sliding in:", prompt.text) for prompt in queued], theme, width)


def waiting_rows(waiting: Sequence[tuple[str, str]], theme: Theme, width: int) -> list[str]:
    """Rows of the first queued prompts, built for every frame."""
    rows = [_waiting_row(how, text, theme, width) for how, text in waiting[:_MOST_WAITING]]
    if len(waiting) > _MOST_WAITING:
        rows.append(theme.paint("muted", cut(f"  … {len(waiting) - _MOST_WAITING:,} more are waiting", width)))
    return rows


def _waiting_row(how: str, text: str, theme: Theme, width: int) -> str:
    shown = visible(sanitize(split_attachments(text)[0][:_WAITING_CHARACTERS])).replace("\n", "↩")
    return f"  {theme.paint('accent', how)} {theme.paint('muted', cut(shown, max(width - len(how) - 6, 1)))}"


def _cancellation_note() -> Message:
    """For the model, with the next prompt: otherwise it would continue the cancelled work."""
    from zot.core.events import SYNTHETIC
    from zot.provider.messages import Message, TextBlock, utc_now

    return Message("user", (TextBlock(_CANCELLED),), utc_now(), {SYNTHETIC: "true"})


def _images_of(message: Message) -> list[ImageBlock]:
    from zot.provider.messages import ImageBlock

    return [block for block in message.content if isinstance(block, ImageBlock)]
