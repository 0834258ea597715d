"""Lines about jobs, for the model and for ``/jobs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.tools.bash import duration

if TYPE_CHECKING:
    from zot.agent.tools.background_jobs import Job

_LONGEST_COMMAND = 200


def state_of(job: Job) -> str:
    """``running for 3.1s``; ``exit 1 after 2m5s``; ``stopped``."""
    if job.exit_code is None or (job.text is None and not job.ended):
        return f"running for {duration(job.seconds)}"
    end = "stopped" if job.is_stopped else f"exit {job.exit_code}"
    left = "" if job.tree.group_is_empty else ", processes that it started still run"
    return f"{end} after {duration(job.seconds)}{left}"


def command_of(job: Job) -> str:
    line = " ".join(job.command.split())
    return line if len(line) <= _LONGEST_COMMAND else f"{line[:_LONGEST_COMMAND]}…"


def line_of(job: Job) -> str:
    return f"job {job.number}: {state_of(job)}: {command_of(job)}"


def tail_of(job: Job, lines: int) -> str:
    """The last lines of its output."""
    if job.text is None:
        return "" if job.output is None else f"(output in {job.output})"
    kept = job.text.tail(lines * 500).rstrip("\n").split("\n")[-lines:]
    return "\n".join(line if len(line) <= 500 else f"{line[:500]}…" for line in kept).strip("\n")
