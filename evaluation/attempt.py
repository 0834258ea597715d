"""One attempt at a task: zot as a child process in a scratch copy of the project, its events counted, then the check.

The child is a real ``zot --json`` with nothing of the user's but the credentials: no session, no extensions, no skills
and no context files. It is in the jail where there is one, and is ended with everything it started when its time is up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from evaluation.contenders import Contender
from evaluation.task import Task

_ALONE = ("--no-session", "--no-ext", "--no-skills", "--no-context-files")
_TO_END_S = 5.0


class Setting(msgspec.Struct, frozen=True):
    """How every attempt of a run is made."""

    contender: Contender
    limit: float
    jailed: bool
    keep: Path
    """Where the events of each attempt are kept, one file per task."""


class Attempt(msgspec.Struct, frozen=True):
    """``why`` is empty when the check passed; ``ended`` is the reason of zot's last event, or what came for it."""

    task: str
    passed: bool
    turns: int
    seconds: float
    ended: str
    answer: str
    why: str


def attempt(task: Task, setting: Setting) -> Attempt:
    with tempfile.TemporaryDirectory(prefix="zot-eval-", ignore_cleanup_errors=True) as directory:
        project = Path(directory, "project")
        project.mkdir()
        task.lay_out(project)
        events, seconds, ended = _run_zot(task, setting, Path(directory), project)
        answer = final_answer(events)
        why = task.check(project, answer, setting.jailed)
    turns = sum(event.get("type") == "turn_start" for event in events)
    return Attempt(task.id, not why, turns, round(seconds, 2), ended, answer, why)


def _run_zot(task: Task, setting: Setting, scratch: Path, project: Path) -> tuple[list[dict[str, Any]], float, str]:
    who = setting.contender
    flags: Sequence[str] = who.flags
    if who.reference:
        script = scratch / "solution.json"
        script.write_text(json.dumps(task.script()), "utf-8")
        flags = ("--provider", "script", "--script", str(script))
    argv = [sys.executable, "-m", "zot", "--json", *_ALONE, *(("--jail",) if setting.jailed else ()), *flags]
    environment = dict(os.environ) | who.environment
    kept = setting.keep / f"{task.id.replace('/', '-')}.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with kept.open("wb") as out, kept.with_suffix(".err").open("w+b") as err:
        child = subprocess.Popen(
            [*argv, "--cwd", str(project), task.prompt], cwd=project, env=environment, stdin=subprocess.DEVNULL,
            stdout=out, stderr=err, start_new_session=True,
        )  # fmt: skip
        in_time = _wait(child, setting.limit)
        seconds = time.monotonic() - started
        err.seek(0)
        complaint = err.read().decode(errors="replace").strip()[-500:]
    events = _events(kept)
    if not in_time:
        return events, seconds, f"stopped after {setting.limit:.0f} s"
    done = next((event for event in reversed(events) if event.get("type") == "done"), {})
    return events, seconds, str(done.get("reason", "")) or complaint or f"exit {child.returncode}"


def _wait(child: subprocess.Popen[bytes], limit: float) -> bool:
    """Whether it ended by itself; if it did not, it and what it started are ended here."""
    with suppress(subprocess.TimeoutExpired):
        child.wait(limit)
        return True
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signum)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_TO_END_S)
            break
    return False


def _events(path: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for line in path.read_text("utf-8", errors="replace").splitlines():
        with suppress(ValueError):  # the last line of one that was killed
            events.append(json.loads(line))
    return events


def final_answer(events: Sequence[dict[str, Any]]) -> str:
    """The text of the last message of the assistant, if no tool call is in it: what ``zot -p`` would have printed."""
    messages = [event for event in events if event.get("type") == "assistant_message"]
    if not messages or any(block["type"] == "tool_call" for block in messages[-1]["content"]):
        return ""
    return "".join(block["text"] for block in messages[-1]["content"] if block["type"] == "text")
