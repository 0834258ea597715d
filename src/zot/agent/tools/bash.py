"""The bash tool: one command in its own session with empty input. A timeout or a cancelled call ends its process
tree; background children are named in the result and end with the agent. A command with ``background`` becomes a job
with an open input, unless it ends at once."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.background_jobs import Job
from zot.agent.tools.bash_output import OutputCapture, OutputPipe
from zot.agent.tools.registry import BashLimits, bash_spec
from zot.agent.tools.workspace import Workspace, WorkspaceTool
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.system.files import find_program
from zot.system.process_table import command_of
from zot.system.processes import ProcessTree

_MOST = 4
_REFUSED = re.compile(r"(?i)credential|unauthori[sz]ed|forbidden|not logged in|log ?in|authenticat|\b40[13]\b|token")


def missing_variable_note(
    command: str, output: str, *, failed: bool, names: Iterable[str], receiver: str = "commands"
) -> str:
    """Empty if no withheld variable is related to the output."""
    related = sorted(name for name in names if _concerns(name, command, output, failed=failed))
    if not related:
        return ""
    more = f" and {len(related) - _MOST} more" if len(related) > _MOST else ""
    listed = ", ".join(related[:_MOST])
    return f"[not passed to {receiver}: {listed}{more}; the user can name it in env_passthrough of config.json]"


def _concerns(name: str, command: str, output: str, *, failed: bool) -> bool:
    if name in command and _word(name, command):
        return True
    if not failed:
        return False
    program = name.partition("_")[0].lower()  # `aws` does not name AWS_SECRET_ACCESS_KEY when it finds no credentials
    return (name in output and _word(name, output)) or bool(_word(program, command) and _REFUSED.search(output))


def _word(name: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_-]){re.escape(name)}(?![A-Za-z0-9_])", text) is not None


BACKGROUND_GRACE = 1.0
_FIRST_OUTPUT_S = 0.5  # a job that fails at once is reported like any command
_JOBS_TOOL = "the tool jobs reads its output, waits, sends input, stops it"
_LIMITS = "limits: argument timeout, settings bash_timeout_s and bash_timeout_max_s"
_MOST_NAMED = 5


class BashTool(WorkspaceTool):
    name = "bash"

    def __init__(self, workspace: Workspace, limits: BashLimits) -> None:
        super().__init__(workspace)
        self._limits = limits
        self._shell = find_program("bash") or "/bin/sh"
        self.spec = bash_spec(self._shell, limits)

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        command = arguments.filled_text("command")
        seconds = self._timeout(arguments.integer("timeout"))
        if arguments.flag("background"):
            return await self._start_job(command, context)
        capture = OutputCapture()
        cwd = self._workspace.cwd
        failure = f"bash: could not start {self._shell} in {cwd}"
        async with self._workspace.record_command(self.name):
            started = time.monotonic()
            tree, output = self._workspace.start([self._shell, "-c", command], cwd, failure)
            pipe = OutputPipe(output, capture, context.progress)
            try:
                ending = await _run(tree, pipe, capture, seconds)
                if tree.jail_failed:
                    raise ToolError(f"bash: the jail could not be built, so nothing ran: {capture.text().strip()}")
                if ending.left:
                    self._workspace.jobs.add(command, tree, started, ending.output)
                for remark in tree.jail_messages:
                    self._workspace.notify(remark)
                notes = [f"[jail: {text}]" for text in tree.jail_messages]
                if names := self._workspace.hidden_variables():
                    failed = ending.exit_code != 0
                    if note := missing_variable_note(
                        command, capture.text() if failed else "", failed=failed, names=names
                    ):
                        notes.append(note)
                ending = msgspec.structs.replace(ending, notes=(*ending.notes, *notes)) if notes else ending
                shown = (context.requested or {}).get("command", command)
                return _result(shown, capture, ending, time.monotonic() - started)
            finally:
                capture.discard_spool()

    async def _start_job(self, command: str, context: ToolContext) -> ToolResult:
        """Start the command and return with its first output; a plain result if it ended by then."""
        from zot.agent.tools.job_output import JobOutput  # few runs need it

        workspace, capture, text = self._workspace, OutputCapture(), JobOutput()
        capture.tap = text.feed
        cwd, shown = workspace.cwd, (context.requested or {}).get("command", command)
        async with workspace.record_command(self.name):
            began = time.monotonic()
            failure = f"bash: could not start {self._shell} in {cwd}"
            tree, output, stdin = workspace.start_with_input([self._shell, "-c", command], cwd, failure)
            pipe = OutputPipe(output, capture, context.progress)
            try:
                code = await self._first_end(tree, pipe)
            except BaseException:
                os.close(stdin)
                await _stop(tree, pipe)
                capture.discard_spool()
                raise
            if code is None:
                path = capture.open_spool().named()
                pipe.detach()
                text.read = text.total
                job = workspace.jobs.follow(command, tree, began, path, text, stdin, pipe)
                return _started(shown, capture, job, workspace.job_started())
            os.close(stdin)
            capture.tap = None
            return self._ended_at_once(shown, tree, pipe, capture, code, began)

    def _ended_at_once(
        self, command: str, tree: ProcessTree, pipe: OutputPipe, capture: OutputCapture, code: int, began: float
    ) -> ToolResult:
        try:
            ending = _ended(tree, pipe, capture, code)
            if tree.jail_failed:
                raise ToolError(f"bash: the jail could not be built, so nothing ran: {capture.text().strip()}")
            if ending.left:
                self._workspace.jobs.add(command, tree, began, ending.output)
            remarks = tuple(f"[jail: {remark}]" for remark in tree.jail_messages)
            ending = msgspec.structs.replace(ending, notes=(*ending.notes, *remarks))
            return _result(command, capture, ending, time.monotonic() - began)
        finally:
            capture.discard_spool()

    async def _first_end(self, tree: ProcessTree, pipe: OutputPipe) -> int | None:
        """The exit code if it ends within the first half second."""
        try:
            async with asyncio.timeout(_FIRST_OUTPUT_S):
                code = await tree.wait()
                await pipe.wait(_FIRST_OUTPUT_S)
                return code
        except TimeoutError:
            return tree.exit_code

    def _timeout(self, asked: int) -> int:
        return min(asked if asked > 0 else self._limits.bash_timeout_s, self._limits.bash_max_timeout_s)


class Ending(msgspec.Struct, frozen=True):
    """How the command ended, notes about it, and whether it left children running."""

    exit_code: int
    notes: tuple[str, ...] = ()
    left: bool = False
    output: Path | None = None  # file with their further output


async def _run(tree: ProcessTree, pipe: OutputPipe, capture: OutputCapture, seconds: int) -> Ending:
    """Wait for the shell and its output; every remaining process is registered as a job."""
    try:
        async with asyncio.timeout(seconds):
            code = await tree.wait()
        await pipe.wait(BACKGROUND_GRACE)
    except TimeoutError:
        await _stop(tree, pipe)
        return Ending(-1, (f"[timed out after {seconds}s: the command and all it started were killed; {_LIMITS}]",))
    except asyncio.CancelledError:
        await _stop(tree, pipe)
        raise
    return _ended(tree, pipe, capture, code)


def _ended(tree: ProcessTree, pipe: OutputPipe, capture: OutputCapture, code: int) -> Ending:
    """The shell has ended; processes that it left go on, and their output is kept."""
    left = tree.detach(suspicious=not pipe.ended)
    code = code if code >= 0 else -1
    if not left:
        pipe.close()
        return Ending(code)
    output = None if pipe.ended else capture.open_spool().named()
    pipe.detach()
    names = [f"{process.pid} ({command_of(process)})" for process in left[:_MOST_NAMED]]
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    later = "" if output is None else f"; output goes on to {output}"
    return Ending(
        code, (f"[still running in the background: {', '.join(names)}{more}{later}]",), left=True, output=output
    )


async def _stop(tree: ProcessTree, pipe: OutputPipe) -> None:
    try:
        await tree.stop()
    finally:
        pipe.close()


def _result(command: str, capture: OutputCapture, ending: Ending, seconds: float) -> ToolResult:
    output = capture.text()
    spool = capture.spool if capture.truncated else None
    full = f" (full output: {spool.named()})" if spool else ""
    trouble = [f"[the full output file is not complete: {spool.trouble}]"] if spool and spool.trouble else []
    closing = [*trouble, *ending.notes, f"[exit {ending.exit_code}]{full}  Took {duration(seconds)}"]
    parts = [f"$ {command}\n", *([output] if output else []), "\n".join(closing)]
    details = {
        "exit_code": ending.exit_code,
        "full_output_path": str(spool.named()) if spool else "",
        "lines_truncated": capture.lines_truncated,
        "bytes_truncated": capture.bytes_truncated,
        "duration_ms": int(seconds * 1000),
    }
    return text_result("\n".join(parts), is_error=ending.exit_code != 0, details=details)


def _started(command: str, capture: OutputCapture, job: Job, has_tool: bool) -> ToolResult:
    output = capture.text()
    tool = f"; {_JOBS_TOOL}" if has_tool else ""
    note = f"[job {job.number} runs in the background; output: {job.output}{tool}]"
    details = {"job": job.number, "output": str(job.output)}
    return text_result("\n".join([f"$ {command}\n", *([output] if output else []), note]), details=details)


def duration(seconds: float) -> str:
    """``0.1s``, ``2m5s``, ``1h30m``."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60}m"
