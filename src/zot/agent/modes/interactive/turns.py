"""One thing at a time: a turn, a compaction or a shell command runs; what is typed meanwhile waits in the queue.

Enter queues, ``steer`` joins the running turn. Cancelling gives queued texts back to the editor; a failure keeps the
queue, and a failed prompt that went back to the editor is replaced by what is said next. Nothing that was typed is
ever lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from zot.tui.sanitize import sanitize
from zot.tui.theme import Theme
from zot.tui.width import cut, visible

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App
    from zot.agent.runtime import Runtime
    from zot.core.agent import FirstCall, Outcome
    from zot.core.inputs import Prompt
    from zot.provider.messages import ImageBlock, Message

STOP_S = 2.0


class Turns:
    """``on_failure`` is told of a turn that ended in an error; the rescue picker hangs there."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._early: list[tuple[str, tuple[ImageBlock, ...]]] = []  # sent before the agent was there
        self._given_back: Message | None = None
        self.on_failure: Callable[[Outcome], None] = lambda outcome: None

    @property
    def busy(self) -> bool:
        return self._task is not None

    # --- saying something

    def submit(self, text: str, images: Sequence[ImageBlock] = (), *, first_call: FirstCall | None = None) -> None:
        """Start a turn, or queue behind the running one; ``first_call`` is for an idle agent only."""
        app, runtime = self._app, self._app.runtime
        if runtime is None:
            self._early.append((text, tuple(images)))
        elif runtime.resolved.missing:
            app.status.error(runtime.resolved.missing)
            app.editor.give_back([(text, images)])
        elif self.busy:
            runtime.agent.enqueue(text, images)
        else:
            app.begin_turn()
            again = first_call is None and _unanswered(runtime, text, images)
            instead = not again and self._given_back is not None and self._given_back is runtime.agent.unanswered
            self._given_back = None
            if again or instead:
                app.transcript.remark("trying again" if again else "in place of the prompt that failed")
            said = None if again else text
            self._start(lambda: self._converse(runtime, said, tuple(images), first_call, instead=instead))
        app.redraw()

    def steer(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        """Join the running turn before its next model call."""
        runtime = self._app.runtime
        if runtime is not None and self.busy:
            runtime.agent.steer(text, images)
            self._app.redraw()
        else:
            self.submit(text, images)

    def ready(self) -> None:
        """The agent is there: what was sent before is said now."""
        early, self._early = self._early, []
        for text, images in early:
            self.submit(text, images)

    # --- running

    def run(self, work: Callable[[], Awaitable[None]], doing: str = "") -> bool:
        """Occupy the busy state with something else (a compaction, a shell command); False when it is taken."""
        if self.busy:
            return False
        self._start(work, doing)
        return True

    def proceed(self) -> None:
        """Work on from the transcript as it stands (rescue, retry after compaction)."""
        runtime = self._app.runtime
        if runtime is not None and not self.busy:
            self._app.begin_turn()
            self._start(lambda: self._converse(runtime, None, ()))

    def _start(self, work: Callable[[], Awaitable[None]], doing: str = "") -> None:
        self._app.status.spinner.start(doing)
        self._task = self._app.spawn(self._run(work))

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        started = asyncio.get_running_loop().time()
        try:
            await work()
        finally:
            self._task = None
            self._app.status.doing = ""
            self._app.attention.turn_ended(asyncio.get_running_loop().time() - started)
            self._app.redraw()

    async def _converse(
        self,
        runtime: Runtime,
        text: str | None,
        images: tuple[ImageBlock, ...],
        first: FirstCall | None = None,
        *,
        queued: bool = False,
        instead: bool = False,
    ) -> None:
        agent, hear = runtime.agent, self._app.transcript.hear
        if text is None:
            outcome = await agent.proceed(hear)
        else:
            outcome = await agent.prompt(text, images, hear, queued=queued, first_call=first, instead=instead)
        while self._concluded(outcome) and (following := agent.take_queued()) is not None:
            self._app.begin_turn()
            outcome = await agent.prompt(following.text, following.images, hear, queued=True)

    def _concluded(self, outcome: Outcome) -> bool:
        """Tell how it ended; whether queued prompts may follow."""
        status = self._app.status
        if outcome.stop == "aborted":
            self.give_back()
            status.ok("cancelled")
            return False
        if outcome.refused:
            status.error(f"blocked: {outcome.refused}")
            return True
        if outcome.error is not None:
            self.on_failure(outcome)
            return False
        if outcome.stop == "length":
            status.error("the answer was cut at the model's output limit")
        return True

    # --- ending

    def cancel(self) -> None:
        """End what runs; it says so itself when it has ended."""
        runtime = self._app.runtime
        if runtime is not None and runtime.agent.busy:
            runtime.agent.abort()
        elif self._task is not None:
            self._task.cancel()

    async def stop(self) -> bool:
        """Cancel and wait a moment; whether nothing runs any more."""
        task = self._task
        if task is None:
            return True
        self.cancel()
        await asyncio.wait([task], timeout=STOP_S)
        return not self.busy

    async def over(self) -> None:
        """Until what runs now has ended."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def go_on(self) -> None:
        """Say the oldest queued prompt, if nothing runs."""
        runtime = self._app.runtime
        if runtime is None or self.busy or (prompt := runtime.agent.take_queued()) is None:
            return
        self._app.begin_turn()
        self._start(lambda: self._converse(runtime, prompt.text, prompt.images, queued=True))

    # --- the queue

    @property
    def queued(self) -> tuple[Prompt, ...]:
        runtime = self._app.runtime
        return runtime.agent.inputs.queued if runtime is not None else ()

    def give_back(self) -> None:
        """Everything queued returns to the editor, before what is there."""
        runtime = self._app.runtime
        if runtime is None:
            return
        runtime.agent.inputs.requeue_steering()
        prompts = runtime.agent.inputs.take_all()
        self._app.editor.give_back([(prompt.text, prompt.images) for prompt in prompts])

    def give_failed_back(self) -> None:
        """A prompt nobody answered returns to an empty editor: what is said next takes its place."""
        runtime = self._app.runtime
        failed = runtime.agent.unanswered if runtime is not None else None
        if failed is not None and self._app.editor.empty:
            self._given_back = failed
            self._app.editor.give_back([(failed.text(), _images_of(failed))])

    def queue_lines(self, theme: Theme, width: int) -> list[str]:
        runtime = self._app.runtime
        steering = runtime.agent.inputs.steering if runtime is not None else ()
        waiting = [text for text, _ in self._early] + [prompt.text for prompt in self.queued]
        rows = [_waiting_row("steering in:", prompt.text, theme, width) for prompt in steering]
        return rows + [_waiting_row("sliding in:", text, theme, width) for text in waiting]


def _waiting_row(how: str, text: str, theme: Theme, width: int) -> str:
    shown = visible(sanitize(text)).replace("\n", "↩")
    return f"  {theme.paint('accent', how)} {theme.paint('muted', cut(shown, max(width - len(how) - 6, 1)))}"


def _unanswered(runtime: Runtime, text: str, images: Sequence[ImageBlock]) -> bool:
    """Whether exactly this is the last word of the transcript: its turn failed, and it is not to be said twice."""
    last = runtime.agent.unanswered
    return last is not None and last.text() == text and _images_of(last) == list(images)


def _images_of(message: Message) -> list[ImageBlock]:
    from zot.provider.messages import ImageBlock

    return [block for block in message.content if isinstance(block, ImageBlock)]
