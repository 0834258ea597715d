"""Runs one prompt without a screen, for ``-p``, ``--json`` and ``--stream``."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from zot import __version__
from zot.agent.build import build, working_directory
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.conversation import Conversation
from zot.agent.queued_prompts import has_queued, run_queued
from zot.core.agent import Outcome
from zot.core.events import AgentEvent, AssistantMessage, Diagnostic, Error, Notice, RetryWait, SessionFault
from zot.errors import AnswerMismatch, CostLimitReached, NotThere, StepLimitReached, UsageError
from zot.frontends.console import (
    REASONS,
    SignalInterrupt,
    Signals,
    Stdout,
    StdoutClosed,
    TextOutput,
    is_piped,
    join_prompt,
    print_notice,
    print_stderr,
    read_stdin,
    retry_line,
    run_loop,
)
from zot.frontends.extension_ui import StderrExtensionUI
from zot.system.process_setup import resume_gc

if TYPE_CHECKING:
    from zot.frontends.headless.json_mode import JsonMode
    from zot.frontends.headless.stream_mode import StreamMode
    from zot.provider.messages import ImageBlock


def run_headless(config: RunConfig, name: str, argument: str, *, stats: str = "", resume: bool = False) -> int:
    """``name``: print, json or stream; ``argument``: the prompt.
    With ``resume`` the user chooses the session. Exit codes: 0, 1, 130 (SIGINT), 143 (SIGTERM), 129 (SIGHUP), 141
    (stdout closed)."""
    if resume and config.keep_session and not (config.session or config.continue_session):
        import sys

        from zot.core.session.store import SessionStore
        from zot.frontends.session_picker import choose
        from zot.system.files import zot_home

        store = SessionStore(zot_home(), working_directory(config.cwd), __version__)
        path = choose(store, _read_line, sys.stderr.write)
        config = msgspec.structs.replace(config, session=str(path) if path is not None else "")
    piped = read_stdin() if is_piped() else ""
    prompt = join_prompt(piped, argument)
    if not prompt:
        raise UsageError(f"{name} mode requires a prompt (argument or stdin)")
    if stats and not os.path.isdir(folder := os.path.dirname(os.path.abspath(stats))):
        raise NotThere(f"--stats {stats}: no such directory: {folder}")
    stdout = Stdout()
    signals = Signals(stdout)
    run = _Run(config, name, stats, _mode(name, stdout), signals)
    try:
        with signals.installed():
            return run_loop(run.answer(prompt, piped, argument.strip()))
    except StdoutClosed:
        return 141
    except SignalInterrupt as interrupted:
        return interrupted.exit_code


def _mode(name: str, stdout: Stdout) -> Mode:
    match name:
        case "json":
            from zot.frontends.headless.json_mode import JsonMode

            return JsonMode(stdout)
        case "stream":
            from zot.frontends.headless.stream_mode import StreamMode

            return StreamMode(stdout)
        case _:
            return PrintMode(stdout)


class PrintMode:
    """``-p``: prints only the last message with text, or the answer of a slash command, if the run succeeded."""

    def __init__(self, stdout: Stdout) -> None:
        self._output = TextOutput(stdout)
        self._text = ""

    def emit(self, event: AgentEvent) -> None:
        if isinstance(event, AssistantMessage) and (text := event.message.text()):
            self._text = text

    def display(self, source: str, text: str) -> None:
        self._text = text

    def finish(self, reason: str, exit_code: int) -> None:
        # an answer that could not be saved is also printed
        if (exit_code == 0 or reason == "session_fault") and self._text:
            self._output.write(self._text.rstrip("\n") + "\n")
            self._output.close()


Mode: TypeAlias = "JsonMode | StreamMode | PrintMode"  # each receives every event and the end of the run


class _Run:
    """One prompt from the first diagnostic to the exit code."""

    def __init__(self, config: RunConfig, name: str, stats: str, mode: Mode, signals: Signals) -> None:
        self._config = config
        self._name = name
        self._stats = stats
        self._mode = mode
        self._signals = signals
        self._unsaved = False
        self._unwritten = False  # the file of --stats

    async def answer(self, prompt: str, piped: str, argument: str) -> int:
        """``prompt`` has both; if the argument names a command, piped text follows its arguments."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._signals.loop = loop
        self._signals.on_signal = lambda: loop.call_soon_threadsafe(task.cancel) and None
        try:
            return await self._answer(prompt, piped, argument)
        except asyncio.CancelledError:
            if self._signals.exit_code:  # while extensions were starting
                return self._finish_signalled()
            raise

    def _finish_signalled(self) -> int:
        """A signal arrived before the prompt was sent."""
        code = self._signals.exit_code
        self._mode.finish(REASONS[code], code)
        return code

    async def _answer(self, prompt: str, piped: str, argument: str) -> int:
        if self._config.ask_each:
            print_notice("--no-yolo: every tool call is denied: this mode has no user to ask")
        front_end = FrontEnd(reader=self._on_event, surface=StderrExtensionUI(self._mode.display), mode=self._name)
        async with build(self._config, front_end) as conversation:
            resume_gc()
            if self._name == "json":
                json = cast("JsonMode", self._mode)
                from zot.features.conversation_state import jail_state
                from zot.features.lookup import mcp

                json.begin(jail_state(conversation))
                if (feature := mcp(conversation)) is not None:
                    feature.on_state(json.emit_line)
            if self._name == "stream":
                shown = conversation.settings.values.show_thinking != "off"
                cast("StreamMode", self._mode).shows_thinking = shown
            if self._config.continue_session:
                from zot.frontends.session_picker import notify_of_new_session

                notify_of_new_session(conversation)
            loop = asyncio.get_running_loop()
            self._signals.on_signal = lambda: loop.call_soon_threadsafe(conversation.abort) and None
            if self._signals.exit_code:
                return self._finish_signalled()
            started = time.monotonic()
            outcome = await _submit(conversation, prompt, piped, argument)
            while outcome.error is None and not self._signals.exit_code:
                outcome = await run_queued(conversation, outcome)
                if results := await conversation.features.wait_for_results():
                    outcome = await conversation.prompt(results)
                elif not has_queued(conversation) or outcome.refused or outcome.stop == "aborted":
                    break
            if outcome.error is None and (problem := conversation.features.answer_problem()):
                outcome = Outcome(outcome.stop, AnswerMismatch(problem))
                self._mode.emit(Error(problem, "answer_mismatch"))
            elapsed_ms = int((time.monotonic() - started) * 1000)
            if self._stats and self._verdict(outcome)[1] == 0:
                self._unwritten = not write_stats(self._stats, conversation, elapsed_ms)
        reason, exit_code = self._verdict(outcome)  # closing may find that the session cannot be saved
        _report(outcome, exit_code)
        self._mode.finish(reason, exit_code)
        return exit_code or int(self._unwritten)

    def _on_event(self, event: AgentEvent) -> None:
        match event:
            case Notice(text):
                print_notice(text)
            case Diagnostic(text, of_extension):
                print_stderr(text) if of_extension else print_notice(text)
                if self._name == "json":
                    self._mode.emit(event)
            case RetryWait():
                print_notice(retry_line(event))
                self._mode.emit(event)
            case SessionFault(message, lost):
                self._unsaved = self._unsaved or lost
                print_notice(message)
                self._mode.emit(event)
            case _:
                self._mode.emit(event)

    def _verdict(self, outcome: Outcome) -> tuple[str, int]:
        """The reason of the end for programs, and the exit code."""
        signalled = self._signals.exit_code
        if signalled:
            return REASONS[signalled], signalled
        if outcome.refused:
            return "blocked", 1
        if outcome.error is None and self._unsaved:
            return "session_fault", 1
        if outcome.error is None:
            return ("end_turn" if outcome.stop == "end" else outcome.stop), 0
        if isinstance(outcome.error, StepLimitReached):
            return "step_limit", 1
        if isinstance(outcome.error, CostLimitReached):
            return "cost_limit", 1
        return "error", 1


async def _submit(conversation: Conversation, prompt: str, piped: str, argument: str) -> Outcome:
    """Runs the slash command that the argument names, or stdin without one; piped text follows its arguments."""
    if not (argument or piped).startswith(("/", "\\/")):
        return await conversation.prompt(*_with_files(conversation, prompt, argument))
    from zot.agent.slash_commands import is_command, submit_typed  # few prompts begin with a slash

    if not (piped and argument):
        return await submit_typed(conversation, prompt)
    if is_command(conversation, argument):
        return await submit_typed(conversation, join_prompt(argument, piped))
    return await conversation.prompt(join_prompt(piped, argument.removeprefix("\\")))


def _with_files(conversation: Conversation, prompt: str, argument: str) -> tuple[str, tuple[ImageBlock, ...]]:
    """With the project's files that ``@path`` names in the argument; scripts may build it from texts of others."""
    if "@" not in argument:
        return prompt, ()
    from zot.features.mentions import read_mentions

    workspace = conversation.workspace
    files, images = read_mentions(argument, workspace.cwd, workspace.jailed_files, outside=False)
    return "\n\n".join([prompt, *files]), tuple(images)


def _report(outcome: Outcome, exit_code: int) -> None:
    if outcome.refused:
        print_notice(outcome.refused)
    elif outcome.error is not None and exit_code == 1:
        from zot.provider.error_mapping import hint_for  # most runs succeed

        what_to_do = hint_for(outcome.error)
        print_notice(f"{outcome.error}; {what_to_do}" if what_to_do else str(outcome.error))
    elif outcome.stop == "length":
        print_notice("the answer was truncated at the model's output limit")


def write_stats(path: str, conversation: Conversation, elapsed_ms: int) -> bool:
    """``--stats``: one indented JSON object about the run; False and an error line if it cannot be written."""
    import json

    from zot.system.safe_open import open_to_replace

    usage = conversation.run_usage()
    fields = {
        "provider": conversation.snapshot.provider,
        "model": conversation.snapshot.model,
        "prompt_tokens": usage.context_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "generated_output_tokens": max(0, usage.output_tokens - (usage.reasoning_tokens or 0)),
        "elapsed_ms": elapsed_ms,
    }
    try:
        with os.fdopen(open_to_replace(path), "w", encoding="utf-8") as file:
            file.write(json.dumps(fields, indent=2) + "\n")
    except OSError as error:
        print_notice(f"--stats {path}: {error.strerror or error}")
        return False
    return True


def _read_line() -> str:
    """One line of raw stdin; the rest is left for the prompt."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode("utf-8", "replace")
