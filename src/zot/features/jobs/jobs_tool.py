"""The tool ``jobs``: list background jobs, read their new output, wait for a pattern or the end, send input, stop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.job_output import LinePattern, Watch
from zot.core.permission_modes import CallClass
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.features.jobs.listing import line_of, state_of, tail_of

if TYPE_CHECKING:
    from zot.agent.tools.background_jobs import Job, Jobs

READ_BYTES = 30_000
_WAIT_S = 60
_INPUT_S = 10.0
_MOST_WATCHES = 8
_NO_JOBS = 'no background jobs; start one with bash and "background": true'


class JobsTool:
    """``longest`` is the longest wait in seconds; ``watch`` reports a line once it appears."""

    name = "jobs"
    description = (
        "Background jobs. list; read: new output, or its lines that match pattern; wait: for pattern, the end or "
        "timeout; input: send a line of text; stop; watch: get a note when pattern appears. You also get one when "
        "a job ends."
    )
    schema: dict[str, Any] = {  # noqa: RUF012  (constant)
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["list", "read", "wait", "input", "stop", "watch"]},
            "job": {"type": "integer"},
            "pattern": {"type": "string", "description": "Regular expression."},
            "timeout": {"type": "integer", "description": "Seconds; 60 unless given."},
            "text": {"type": "string", "description": "A newline is added."},
            "eof": {"type": "boolean", "description": "Close its input after the text."},
        },
        "required": ["action"],
    }
    read_only = False

    def __init__(self, jobs: Callable[[], Jobs], watch: Callable[[Job, LinePattern], None], longest: int) -> None:
        self._jobs = jobs
        self._watch = watch
        self._longest = longest
        self._actions: dict[str, Callable[[Job, ToolArguments], Awaitable[ToolResult]]] = {
            "read": self._read,
            "wait": self._wait,
            "input": self._input,
            "stop": self._stop,
            "watch": self._start_watch,
        }

    def classify(self, args: dict[str, Any]) -> CallClass:
        """Input is what a command would be; the rest only looks, or ends what the model started itself."""
        return CallClass("act" if args.get("action") == "input" else "look")

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        action = arguments.filled_text("action").strip().lower()
        if action == "list":
            return text_result("\n".join(self._listed()) or _NO_JOBS)
        if action not in self._actions:
            raise arguments.error(f"unknown action {action[:40]!r}; expected list, {', '.join(self._actions)}")
        return await self._actions[action](self._job(arguments), arguments)

    def _listed(self) -> list[str]:
        return [f"{line_of(job)}{_last_line(job)}" for job in self._jobs().known()]

    def _job(self, arguments: ToolArguments) -> Job:
        """The one that is named, or the only one."""
        known = self._jobs().known()
        number = arguments.integer("job")
        if not number and len(known) == 1:
            return known[0]
        found = next((job for job in known if job.number == number), None)
        if found is None:
            numbers = ", ".join(str(job.number) for job in known)
            missing = f"no job {number}" if number else "'job' is required"
            raise arguments.error(f"{missing}; there are {numbers}" if known else _NO_JOBS)
        return found

    async def _read(self, job: Job, arguments: ToolArguments) -> ToolResult:
        pattern = arguments.optional_text("pattern")
        return _result(job, [f"[job {job.number}: {state_of(job)}]"], LinePattern(pattern) if pattern else None)

    async def _wait(self, job: Job, arguments: ToolArguments) -> ToolResult:
        """Until the pattern appears in output that the model has not read, the job ends, or the time is over."""
        seconds = min(max(arguments.integer("timeout", _WAIT_S), 1), self._longest)
        pattern = arguments.optional_text("pattern")
        output = job.text
        if output is None:
            raise arguments.error(f"job {job.number} cannot be waited for: it is what a command left running")
        watch = Watch(output, LinePattern(pattern), output.read) if pattern else None
        try:
            reason = await self._reason(job, watch, seconds)
        finally:
            if watch is not None:
                watch.close()
        return _result(job, [reason])

    async def _reason(self, job: Job, watch: Watch | None, seconds: int) -> str:
        ended = asyncio.ensure_future(self._jobs().until_end(job))
        waiting = {ended, watch.found} if watch is not None else {ended}
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if watch is not None and watch.found.done():
            return f"[job {job.number}: the pattern appeared: {watch.found.result()}]"
        missing = "; the pattern did not appear" if watch is not None else ""
        if job.ended:
            return f"[job {job.number}: {state_of(job)}{missing}]"
        return f"[job {job.number}: {state_of(job)}; waited {seconds} s{missing}]"

    async def _input(self, job: Job, arguments: ToolArguments) -> ToolResult:
        if job.stdin is None:
            why = "it has ended" if job.ended else "its input is closed" if job.text else "it has no input"
            raise arguments.error(f"cannot send input to job {job.number}: {why}")
        text, eof = arguments.optional_text("text"), arguments.flag("eof")
        data = b"" if eof and not text else f"{text}\n".encode("utf-8", "replace")
        try:
            await _write(job.stdin, data)
        except BrokenPipeError:
            job.close_input()
            raise arguments.error(f"job {job.number} has closed its input") from None
        if eof:
            job.close_input()
        await asyncio.sleep(0.2)  # time for an answer
        return _result(job, [f"[job {job.number}: {state_of(job)}; sent {len(data)} bytes]"])

    async def _stop(self, job: Job, arguments: ToolArguments) -> ToolResult:
        if job not in self._jobs().living():
            raise arguments.error(f"job {job.number} has already ended: {state_of(job)}")
        await self._jobs().stop(job)
        return _result(job, [f"[job {job.number}: stopped]"])

    async def _start_watch(self, job: Job, arguments: ToolArguments) -> ToolResult:
        pattern = LinePattern(arguments.filled_text("pattern"))
        if job.text is None or job.ended:
            raise arguments.error(f"cannot watch job {job.number}: {state_of(job)}")
        if len(job.text.on_data) >= _MOST_WATCHES:
            raise arguments.error(f"job {job.number} has {_MOST_WATCHES} patterns already")
        self._watch(job, pattern)
        return text_result(f"watching job {job.number}; a note follows when {pattern.text!r} appears")


def _last_line(job: Job) -> str:
    last = tail_of(job, 1)
    return f"\n    {last}" if last else ""


def _result(job: Job, notes: list[str], pattern: LinePattern | None = None) -> ToolResult:
    """The output that the model has not read yet, and notes."""
    if job.text is None:
        where = f"[its output is in {job.output}]" if job.output is not None else "[it has no output]"
        return text_result("\n".join([where, *notes]))
    job.is_end_known = job.ended > 0
    text, lost = job.text.since(job.text.read)
    shown = text if pattern is None else "".join(f"{line}\n" for line in pattern.lines(text))
    job.text.read = job.text.total
    encoded = shown.encode("utf-8", "replace")
    if len(encoded) > READ_BYTES:
        lost += len(encoded) - READ_BYTES
        shown = encoded[-READ_BYTES:].decode("utf-8", "ignore")
    omitted = [f"[{lost:,} earlier bytes omitted; whole output: {job.output}]"] if lost else []
    if pattern is not None and not shown:
        notes = [*notes, "[no new line matches the pattern]"]
    return text_result("\n".join([*omitted, *([shown.rstrip("\n")] if shown.strip() else ["(no new output)"]), *notes]))


async def _write(fd: int, data: bytes) -> None:
    """All of it, to a pipe that does not block; ToolError if the job does not read."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_INPUT_S):
            while data:
                try:
                    data = data[os.write(fd, data) :]
                except BlockingIOError:
                    await _until_writable(loop, fd)
    except TimeoutError:
        raise ToolError(f"jobs: the job did not read its input within {_INPUT_S:g} s; part of it was sent") from None


async def _until_writable(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_writer(fd, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(fd)
