"""The agent: runs one prompt or compaction at a time.
``Done`` is the last event of a prompt, ``CompactDone`` that of a compaction. Failures are returned in the Outcome; a
cancellation from outside propagates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from zot.core import events
from zot.core.event_bus import Reader
from zot.core.events import SHOWN, AgentEvent, Checkpoint, PromptAccepted, is_prompt
from zot.core.loop import Loop, Outcome
from zot.core.run import Run
from zot.core.state import AgentState, InitialToolCall, PendingPrompt
from zot.core.tool import Tool, ToolContext, ToolResult, text_result
from zot.core.turn import describe
from zot.errors import AgentBusy, CompactionAborted, CostLimitReached, ToolError
from zot.provider.messages import ImageBlock, Message, ToolCallBlock, Usage
from zot.provider.model import Model
from zot.provider.model_call import Client, ToolSpec

__all__ = ["Agent", "InitialToolCall", "Outcome", "PendingPrompt", "Reader"]

_CODES: dict[type[Exception], str] = {CostLimitReached: "cost_limit"}


class Agent(AgentState):
    _run: Run | None = None
    _own_calls = 0

    # --- work

    async def prompt(
        self,
        text: str,
        images: Sequence[ImageBlock] = (),
        emit: Reader | None = None,
        *,
        queued: bool = False,
        first_call: InitialToolCall | None = None,
        instead: bool = False,
        meta: dict[str, str] | None = None,
    ) -> Outcome:
        """Prompt the model and run until it answers; ``emit`` receives the shown events.
        ``queued``: announced when it was queued. ``first_call`` runs before the model call. ``instead`` replaces the
        previous prompt if that is unanswered. ``meta`` marks the prompt's message."""
        prompt = PendingPrompt(text, tuple(images), meta or {})
        self._must_be_idle()
        given: dict[str, Any] = {"images": prompt.images, "queued": queued, "first_call": first_call}
        given["instead"] = instead
        if meta:
            given["meta"] = meta
        self.boundary.on_input("prompt", text=text, **given)
        if not queued:
            self.emit(PromptAccepted(text, len(prompt.images)))
        return await self._work(emit, prompt, first_call, instead=instead)

    async def continue_run(self, emit: Reader | None = None) -> Outcome:
        """Continue from the transcript."""
        self._must_be_idle()
        self.boundary.on_input("proceed")
        return await self._work(emit, None)

    async def continue_answer(self, emit: Reader | None = None) -> Outcome:
        """Ask the model to complete an answer that broke off."""
        self._must_be_idle()
        self.boundary.on_input("go_on")
        return await self._work(emit, None, go_on=True)

    async def run_tool(
        self,
        name: str,
        args: dict[str, Any],
        origin: str,
        *,
        is_input: bool = False,
        tool: Tool | None = None,
        report: Callable[[events.ToolProgress], None] | None = None,
    ) -> ToolResult:
        """Run a tool for an extension, also while a prompt runs: the same interceptors and gate, no transcript.
        ``is_input``: for the user, not for an extension, whose frames are recorded. ``tool`` runs in place of the
        offered one of this name; ``report`` receives its progress. A denied result has ``refused`` in its details."""
        from zot.core.tool_calls import CallDenied, authorize, execute  # rarely used

        if is_input:
            self.boundary.on_input("run_tool", name=name, args=args, origin=origin)
        self._own_calls += 1
        call = ToolCallBlock(f"{origin}-{self._own_calls}", name).with_args(args)
        try:
            permitted = await authorize(self, self.toolbox if tool is None else {name: tool}, call, origin)
        except ToolError as refusal:
            denied = {"refused": True} if isinstance(refusal, CallDenied) else None
            return text_result(str(refusal), is_error=True, details=denied)

        def progress(text: str) -> None:
            if report is not None:
                report(events.ToolProgress(call.id, text))

        return await execute(self, permitted, ToolContext(permitted.call, progress, origin, report=report))

    async def compact(self, emit: Reader | None = None, keep_tail: int = 0, focus: str = "") -> str:
        """Replace the transcript by a summary, which is returned; ``focus`` is emphasised. CompactionFailed (after
        Error, Done) or CompactionAborted (after Done) change nothing."""
        from zot.core.compaction import compact  # needed only by long conversations

        self._must_be_idle()
        self.boundary.on_input("compact", keep_tail=keep_tail, focus=focus)
        with self._exclusive(emit) as run:
            run.emit(events.CompactStart())
            try:
                summary = await compact(self, run, keep_tail, focus=focus)
            except asyncio.CancelledError:
                self._finish(run, None)
                await run.close()
                raise CompactionAborted("compaction aborted") from None
            except Exception as error:
                self._finish(run, error)
                await run.close()
                raise
            run.emit(Checkpoint())
            run.emit(events.CompactDone(summary))
            await run.close()
            return summary

    def compact_soon(self, focus: str = "") -> None:
        """Compact before the next step of the running prompt; it has no effect on one without a next step."""
        self.boundary.on_input("compact_soon", focus=focus)
        self.compaction_focus = focus

    def take_compaction(self) -> str | None:
        """The focus of a compaction that no step made; None without one."""
        focus, self.compaction_focus = self.compaction_focus, None
        return focus

    async def _work(
        self,
        emit: Reader | None,
        prompt: PendingPrompt | None,
        first_call: InitialToolCall | None = None,
        *,
        instead: bool = False,
        go_on: bool = False,
    ) -> Outcome:
        with self._exclusive(emit) as run:
            loop, before = Loop(self, run), self.revision
            try:
                refusal = "" if prompt is None else await loop.begin_prompt(prompt, instead=instead)
                if go_on:
                    loop.continue_answer()
                if first_call is not None and not refusal:
                    await loop.run_initial_call(first_call.call, first_call.origin)
                outcome = Outcome("error", refused=refusal) if refusal else await loop.run()
                await loop.end_prompt(outcome)
            except asyncio.CancelledError:
                outcome = Outcome("aborted")
                await loop.end_prompt(outcome)
            except Exception as error:  # a bug, not an expected failure: reported like one, then raised
                self._finish(run, error)
                raise
            finally:
                self.run_system = None
            self._record_end(outcome, grown=self.revision > before)
            self._finish(run, outcome.error)
            await run.close()
            return outcome

    def _record_end(self, outcome: Outcome, *, grown: bool) -> None:
        """Record how the prompt ended if its last message does not show it. ``grown``: it has added a message."""
        last = self._transcript[-1] if self._transcript else None
        if last is None or not (grown or is_prompt(last)):
            return
        if outcome.stop == "aborted":
            self.mark_end("cancelled")
        elif outcome.error is not None or outcome.refused:
            self.mark_end("failed", describe(outcome.error) if outcome.error is not None else outcome.refused)
        elif last.role != "assistant":
            self.mark_end("complete")

    def _finish(self, run: Run, error: Exception | None) -> None:
        run.emit(Checkpoint())
        if error is not None:
            run.emit(events.Error(describe(error), _CODES.get(type(error), "")))
        run.emit(events.Done())

    @contextmanager
    def _exclusive(self, emit: Reader | None) -> Generator[Run]:
        self._must_be_idle()
        run = self._run = self.boundary.create_run(self.readers)
        leave = self.readers.subscribe(emit, *SHOWN) if emit is not None else None
        try:
            yield run
        finally:
            self._run = None
            self.readers.on_failure = None
            if leave is not None:
                leave()
            self.inputs.requeue_steering()
        if run.failure is not None:
            raise run.failure

    # --- input during work

    @property
    def busy(self) -> bool:
        return self._run is not None

    def abort(self) -> None:
        """Abort the running work; does nothing when idle or already ending."""
        if self._run is not None:
            self.boundary.on_input("abort")
            self._run.abort()

    def steer(self, text: str, images: Sequence[ImageBlock] = (), meta: dict[str, str] | None = None) -> None:
        """Join the running prompt before its next model call; when idle, first in the queue."""
        self._accept("steer", text, images, meta)
        self.inputs.steer(PendingPrompt(text, tuple(images), meta or {}))
        if not self.busy:
            self.inputs.requeue_steering()
        self._queue_changed()

    def enqueue(self, text: str, images: Sequence[ImageBlock] = (), meta: dict[str, str] | None = None) -> None:
        """Queue a prompt; the mode takes it with ``take_queued`` after the run."""
        self._accept("queue", text, images, meta)
        self.inputs.enqueue(PendingPrompt(text, tuple(images), meta or {}))
        self._queue_changed()

    def _accept(self, how: str, text: str, images: Sequence[ImageBlock], meta: dict[str, str] | None) -> None:
        marked = {"meta": meta} if meta else {}
        self.boundary.on_input(how, text=text, images=tuple(images), **marked)
        self.emit(PromptAccepted(text, len(images), queued=True))

    def _queue_changed(self) -> None:
        if self.readers.has_subscriber(events.QueueChanged):
            self.emit(events.QueueChanged(len(self.inputs.steering), len(self.inputs.queued)))

    def withdraw(self, prompt: PendingPrompt) -> bool:
        """Drop a steered or queued prompt; False if it was sent."""
        removed = self.inputs.remove(prompt)
        if removed:
            self._queue_changed()
        return removed

    def take_queued(self) -> PendingPrompt | None:
        taken = self.inputs.take_queued()
        if taken is not None:
            self._queue_changed()
        return taken

    def drain_input(self) -> tuple[PendingPrompt, ...]:
        """All steered or queued prompts that were not sent yet, oldest first."""
        if self.inputs.steered:
            self.boundary.on_input("take_all")
        self.inputs.requeue_steering()
        return self.inputs.take_all()

    def add(self, message: Message) -> None:
        """Add text from outside to the next prompt."""
        self.boundary.on_input("add", message=message)
        self.append(message)

    def inject_event(self, event: AgentEvent) -> None:
        """Emit an event from outside the agent."""
        self.boundary.emit(self, event)

    def add_child_usage(self, priced: Usage, model: str = "", role: str = "") -> None:
        """Count the cost of a side conversation; ``model`` and ``role`` as in ``UsageCounted``."""
        self.boundary.on_input("beside", usage=priced)
        self.count(priced, model, role)

    # --- side agents

    def create_child(self, *, messages: Sequence[Message], tools: Iterable[Tool], system: str) -> Agent:
        """Another agent with the same model, interceptors, gate and limits; its cost starts at the current total."""

        def text(specs: tuple[ToolSpec, ...]) -> str:
            return system

        child = Agent(
            boundary=self.boundary.for_child(),
            client=self.client,
            model=self.model,
            system=text,
            tools=tools,
            max_steps=self.max_steps,
            reasoning=self.reasoning,
            temperature=self.temperature,
            interceptors=self.interceptors,
            gate=self.gate,
            messages=messages,
            cumulative=self.cost,
            compact_at=self.compact_at,
            max_cost_usd=self.max_cost_usd,
        )
        child._side_clients = self._side_clients  # interceptors may choose a model for its calls too
        self.boundary.on_input("child", agent=child)
        return child

    # --- only when idle

    def set_messages(self, messages: Iterable[Message]) -> None:
        self._must_be_idle()
        given = tuple(messages)
        self.boundary.on_input("messages", messages=given)
        super().set_messages(given)

    def set_model(self, client: Client, model: Model) -> None:
        """Continue with another model; the caller closes the old client."""
        self._must_be_idle()
        self.replace_model(client, model)

    def _must_be_idle(self) -> None:
        if self.busy:
            raise AgentBusy("agent is busy")
