"""Runs the calls of one message; each gets exactly one result, in call order.
Neighbouring read-only calls run in parallel. After a cancellation the remaining calls get an ``aborted`` result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from zot.core import events
from zot.core.events import Checkpoint, ToolEnded, ToolReturned, ToolStarting
from zot.core.run import Run
from zot.core.state import AgentState
from zot.core.tool import (
    DECIDED_BY,
    END_TURN,
    STOPPED,
    StoppedWithResult,
    Tool,
    ToolContext,
    ToolResult,
    attached_of,
    changes_of,
    decision_of,
    hunks_of,
    refused_of,
    text_result,
)
from zot.core.tool_calls import AuthorizedCall, CallDenied, authorize, execute
from zot.errors import ToolError
from zot.provider.messages import Message, ToolCallBlock, ToolResultBlock, utc_now

REWRITTEN = "executed_args"  # in the details of a result: the arguments that were substituted
NOT_RUN = text_result("aborted: the call did not run", is_error=True)


class _Ready(msgspec.Struct, frozen=True):
    place: int
    permitted: AuthorizedCall


class ToolBatch:
    """``tools`` are those offered in this step. ``origin`` is the requesting extension, empty for the model."""

    def __init__(
        self,
        state: AgentState,
        run: Run,
        tools: Mapping[str, Tool],
        calls: Sequence[ToolCallBlock],
        origin: str = "",
    ) -> None:
        self._state = state
        self._run = run
        self._tools = tools
        self._calls = calls
        self._origin = origin
        self._results: list[ToolResult | None] = [None] * len(calls)
        self._originals: dict[int, ToolResult] = {}
        self._reported = 0

    async def run_all(self) -> bool:
        """Run the calls and append the one message that answers them. True if every result ends the prompt."""
        try:
            for places in self._batches():
                ready = [call for place in places if (call := await self._prepare(place))]
                if len(ready) == 1:
                    await self._execute(ready[0])
                    continue
                async with asyncio.TaskGroup() as group:
                    for call in ready:
                        group.create_task(self._execute(call))
        finally:
            for place, result in enumerate(self._results):
                if result is None:
                    self._run.emit(ToolEnded(self._calls[place], "cancelled", False, NOT_RUN, self._origin))
                    self._settle(place, NOT_RUN)
            results = (result or NOT_RUN for result in self._results)
            blocks = (_block(call, result) for call, result in zip(self._calls, results, strict=True))
            self._state.append(Message("tool", tuple(blocks), utc_now()))
        return all(result is not None and (result.details or {}).get(END_TURN) is True for result in self._results)

    def _batches(self) -> Iterator[list[int]]:
        """Indexes of calls to run together: neighbouring read-only or parallel ones, others alone."""
        for together, group in groupby(range(len(self._calls)), self._may_run_beside):
            places = list(group)
            yield from [places] if together else ([place] for place in places)

    def _may_run_beside(self, place: int) -> bool:
        tool = self._tools.get(self._calls[place].name)
        return tool is not None and (tool.read_only or getattr(tool, "parallel", False))

    # --- before

    async def _prepare(self, place: int) -> _Ready | None:
        """The final call; None if it was denied and has its result."""
        await self._run.checkpoint()
        try:
            return _Ready(place, await authorize(self._state, self._tools, self._calls[place], self._origin))
        except ToolError as refusal:
            self._run.emit(Checkpoint())
            refused = None
            if isinstance(refusal, CallDenied):
                refused = {"refused": True, **({DECIDED_BY: refusal.by} if refusal.by else {})}
            self._settle(place, text_result(str(refusal), is_error=True, details=refused))
            return None

    # --- running

    async def _execute(self, ready: _Ready) -> None:
        self._run.emit(ToolStarting(self._calls[ready.place]))
        # Synced as soon as the tool waits: the disk works in parallel.
        asyncio.get_running_loop().call_soon(self._run.emit, Checkpoint())
        try:
            call_id = self._calls[ready.place].id

            def report(progress: events.ToolProgress) -> None:
                if self._results[ready.place] is None:  # progress after the result is dropped
                    self._run.emit(progress)

            requested, final = self._calls[ready.place], ready.permitted.call
            rewritten = requested.arguments != final.arguments and requested.args != final.args
            shown = requested.args if rewritten else None
            context = ToolContext(
                final, lambda text: report(events.ToolProgress(call_id, text)), self._origin, shown, report
            )
            result = await execute(self._state, ready.permitted, context, self._keep_original(ready.place))
            if rewritten:  # for the user; the model sees its own arguments
                result = msgspec.structs.replace(result, details={**(result.details or {}), REWRITTEN: final.args})
        except asyncio.CancelledError as cancelled:
            done = cancelled.result if isinstance(cancelled, StoppedWithResult) else STOPPED
            self._finish(ready.place, done)
            if self._run.cancelled:
                raise
            return  # the tool cancelled itself; the run continues
        by = ready.permitted.by
        if by and by != "mode everything":
            result = msgspec.structs.replace(result, details={**(result.details or {}), DECIDED_BY: by})
        self._finish(ready.place, result)

    # --- after

    def _keep_original(self, place: int) -> Callable[[ToolResult], None]:
        """Receives the tool's own result if interceptors change it."""
        return lambda result: self._originals.__setitem__(place, result)

    def _finish(self, place: int, result: ToolResult) -> None:
        self._run.emit(ToolReturned(self._calls[place].id, result, self._originals.get(place)))
        self._settle(place, result)

    def _settle(self, place: int, result: ToolResult) -> None:
        """Store a result and report all results up to the first missing one, to keep the order."""
        self._results[place] = result
        while self._reported < len(self._calls):
            known = self._results[self._reported]
            if known is None:
                return
            call_id = self._calls[self._reported].id
            self._reported += 1
            self._run.emit(events.ToolResultEvent(call_id, known.is_error, known.content, known.details))


def _block(call: ToolCallBlock, result: ToolResult) -> ToolResultBlock:
    details = result.details
    kept = (hunks_of(details), changes_of(details), refused_of(details), attached_of(details), decision_of(details))
    return ToolResultBlock(call.id, result.content, result.is_error, *kept)
