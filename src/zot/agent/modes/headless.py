"""One prompt without a screen: what ``-p``, ``--json`` and ``--stream`` share.

Set up, run, close: the session is on disk and every child process gone before the exit code is returned.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from zot.agent.build import build, choose_session
from zot.agent.cli import stdin
from zot.agent.cli.flags import Flags
from zot.agent.console import Interrupted, Stdout, StdoutClosed, say
from zot.agent.runtime import Runtime
from zot.agent.signals import REASONS, Signals
from zot.core.agent import Outcome
from zot.core.events import AgentEvent, Notice
from zot.errors import CostLimitReached, StepLimitReached, UsageError
from zot.system.collector import wake


class Mode(Protocol):
    def emit(self, event: AgentEvent) -> None: ...

    def finish(self, reason: str, exit_code: int) -> None: ...


def run_headless(flags: Flags) -> int:
    """The exit code: 0, 1, 130 (SIGINT), 143 (SIGTERM), 129 (SIGHUP) or 141 (stdout closed)."""
    if flags.resume:
        choose_session(flags)
    prompt = stdin.join_prompt(stdin.read_piped() if stdin.is_piped() else "", flags.prompt)
    if not prompt:
        raise UsageError(f"{flags.mode} mode requires a prompt (argument or stdin)")
    stdout = Stdout()
    signals = Signals(stdout)
    try:
        with signals.installed():
            return asyncio.run(_run(flags, prompt, _mode(flags.mode, stdout), signals))
    except StdoutClosed:
        return 141
    except Interrupted as interrupted:
        return interrupted.exit_code


def _mode(name: str, stdout: Stdout) -> Mode:
    match name:
        case "json":
            from zot.agent.modes.json import JsonMode

            return JsonMode(stdout)
        case "stream":
            from zot.agent.modes.stream import StreamMode

            return StreamMode(stdout)
        case _:
            from zot.agent.modes.print import PrintMode

            return PrintMode(stdout)


async def _run(flags: Flags, prompt: str, mode: Mode, signals: Signals) -> int:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    signals.on_signal = lambda: loop.call_soon_threadsafe(task.cancel) and None
    try:
        return await _answer(flags, prompt, mode, signals)
    except asyncio.CancelledError:
        if signals.exit_code:  # while extensions were starting
            return signals.exit_code
        raise


async def _answer(flags: Flags, prompt: str, mode: Mode, signals: Signals) -> int:
    async with build(flags) as runtime:
        wake()
        if flags.no_yolo:
            say("--no-yolo: every tool call is denied, because nobody can be asked in this mode")
        for notice in runtime.notices:
            say(notice)
        runtime.notices.clear()
        loop = asyncio.get_running_loop()
        signals.on_signal = lambda: loop.call_soon_threadsafe(runtime.agent.abort) and None
        if signals.exit_code:
            return signals.exit_code
        started = time.monotonic()
        outcome = await runtime.agent.prompt(prompt, (), _emitter(mode))
        elapsed_ms = int((time.monotonic() - started) * 1000)
        reason, exit_code = _verdict(outcome, signals.exit_code, flags.mode)
        if exit_code == 0 and flags.stats:
            write_stats(flags.stats, runtime, elapsed_ms)
    _report(outcome, exit_code)
    mode.finish(reason, exit_code)
    return exit_code


def _emitter(mode: Mode):
    def emit(event: AgentEvent) -> None:
        if isinstance(event, Notice):
            say(event.text)
        else:
            mode.emit(event)

    return emit


def _verdict(outcome: Outcome, signalled: int, mode: str) -> tuple[str, int]:
    """Why it ended, for programs, and the exit code."""
    if signalled:
        return REASONS[signalled], signalled
    if outcome.refused:
        return "blocked", 0 if mode == "json" else 1
    if outcome.error is None:
        return ("end_turn" if outcome.stop == "end" else outcome.stop), 0
    if isinstance(outcome.error, StepLimitReached):
        return "step_limit", 1
    if isinstance(outcome.error, CostLimitReached):
        return "cost_limit", 1
    return "error", 1


def _report(outcome: Outcome, exit_code: int) -> None:
    if outcome.refused:
        say(outcome.refused)
    elif outcome.error is not None and exit_code == 1:
        say(str(outcome.error))
    elif outcome.stop == "length":
        say("the answer was cut at the model's output limit")


def write_stats(path: str, runtime: Runtime, elapsed_ms: int) -> None:
    """``--stats``: one indented JSON object about the run."""
    import json
    from pathlib import Path

    usage = runtime.spent()
    fields = {
        "provider": runtime.agent.model.provider,
        "model": runtime.agent.model.id,
        "prompt_tokens": usage.context_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "generated_output_tokens": max(0, usage.output_tokens - (usage.reasoning_tokens or 0)),
        "elapsed_ms": elapsed_ms,
    }
    try:
        Path(path).write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        say(f"--stats {path}: {error.strerror or error}")
