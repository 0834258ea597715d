"""Enters the terminal, builds the agent, handles signals and leaves.
However zot ends, the turn is cancelled, the session saved, children ended and the terminal restored."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from zot.errors import SessionLocked
from zot.frontends.loop_watchdog import LoopInterrupted, LoopWatchdog
from zot.system.process_setup import resume_gc
from zot.tui.highlight import warm_up
from zot.tui.terminal import Terminal

if TYPE_CHECKING:
    from zot.frontends.terminal.app import App
    from zot.frontends.terminal.options import TerminalOptions

_WARM_UP_S = 0.3


def run(options: TerminalOptions) -> int:
    terminal = Terminal()
    if terminal.term in ("dumb", ""):
        from zot.frontends.terminal.dumb_terminal import run_plain

        return run_plain(options)
    from zot.frontends.terminal.app import App

    with terminal.raw():
        terminal.ask()
        exit_code, session, lost, left = _run(options, terminal, App)
    for text in lost:
        from zot.frontends.console import print_notice

        print_notice(text)
    if not terminal.closed and session and os.path.exists(session):
        print(f"to continue: zot -c, or zot --session {_typed(session)}")
    if left and not terminal.closed:
        print(left)
    return exit_code


def _typed(session: str) -> str:
    """A session for the command line: its short id, or its file."""
    from pathlib import Path
    from shlex import quote

    from zot.core.session.session_file import short_name
    from zot.system.visible_text import escape_invisible

    home = f"{os.path.expanduser('~')}/"  # the shell expands `~` where it is not quoted
    name = short_name(Path(session))
    return escape_invisible(f"~/{quote(name.removeprefix(home))}" if name.startswith(home) else quote(name))


def _run(options: TerminalOptions, terminal: Terminal, make: type[App]) -> tuple[int, str, list[str], str]:
    """Exit code, session file, lost data and late notes of extensions, and running workers."""
    from zot.frontends.console import run_loop

    guards: list[LoopWatchdog] = []
    try:
        return run_loop(_main(options, terminal, make, guards))
    except asyncio.CancelledError:  # everything else waited for the callback that blocked the loop
        return (
            next((guard.exit_code for guard in guards), 0) or 130,
            "",
            ["blocked the screen for too long and was interrupted"],
            "",
        )
    finally:
        for guard in guards:
            guard.close()


def _end_at_once(terminal: Terminal, code: int) -> None:
    """No orderly end is possible: restore the terminal and kill the children."""
    from zot.system.processes import kill_all

    terminal.leave()
    kill_all()
    os._exit(code)


async def _main(
    options: TerminalOptions, terminal: Terminal, make: type[App], guards: list[LoopWatchdog]
) -> tuple[int, str, list[str], str]:
    app = make(options, terminal)
    loop = asyncio.get_running_loop()
    terminal.attach(loop)
    terminal.on_closed = lambda: app.leave(129)
    guard = LoopWatchdog(app.leave, lambda code: _end_at_once(terminal, code))
    guards.append(guard)
    loop.add_signal_handler(signal.SIGWINCH, app.resized)
    loop.add_signal_handler(signal.SIGTSTP, app.ui.suspend)
    loop.add_signal_handler(signal.SIGCONT, app.ui.reclaim_terminal)
    loop.set_exception_handler(lambda _, context: _report(app, context))
    app.keyboard.attach()
    app.screen.paint()
    try:
        session = await _live(app, options, guard)
        if app.swarm is None or not app.swarm.known:
            at_work = ""
        else:
            from zot.frontends.terminal.swarm.dashboard import running_workers_notice

            at_work = running_workers_notice(app.swarm.at_work())
        return app.exit_code, session, [*app.lost, *app.surface.late_notes], at_work
    finally:
        app.keyboard.detach()
        await app.tasks.end()
        app.screen.close()


def _report(app: App, context: dict[str, Any]) -> None:
    if isinstance(error := context.get("exception"), LoopInterrupted):
        app.ui.status.error("interrupted an operation that took too long")
    else:
        app.tasks.report_bug(error, context["message"])


async def _live(app: App, options: TerminalOptions, guard: LoopWatchdog) -> str:
    """Run until the end; returns the last session's file."""
    # in a thread: the imports take 0.1 s, and keys must not wait
    build, front_end = await asyncio.to_thread(_import_build, app)
    config = msgspec.structs.replace(options.create_config(), ask_each=False)  # the user can answer questions
    config = await app.ask_start_mode(config)
    async with AsyncExitStack() as stack:
        try:
            conversation = await stack.enter_async_context(build(config, front_end))
        except SessionLocked as error:
            config = await app.ask_to_branch(config, error)
            conversation = await stack.enter_async_context(build(config, front_end))
        await app.looks.answered()
        guard.watch_keys(lambda: app.keyboard.reads, app.keyboard.drain_pending_keys)
        if conversation.messages:
            from zot.frontends.terminal.screen.resumed_transcript import highlight_blocks

            if highlight_blocks(conversation.messages):  # import the highlighter now, while keys are still read
                await asyncio.to_thread(warm_up)
        if config.continue_session:
            from zot.frontends.session_picker import notify_of_new_session

            notify_of_new_session(conversation)
        app.attach_conversation(conversation)
        app.ui.spawn(_warm_up())
        resume_gc()
        await app.leaving.wait()
        await app.turns.stop()
        await app.sharing.aclose()
        if app.swarm is not None:
            await app.swarm.aclose()
    return conversation.snapshot.session_file  # closing may have saved it under another name


def _import_build(app: App) -> tuple[Any, Any]:
    from zot.agent.build import build
    from zot.agent.config import FrontEnd
    from zot.agent.shared_ui import SharedUI

    return build, FrontEnd(
        reader=app.on_event,
        surface=SharedUI(app.surface),
        mode="terminal",
        may_log_in=True,
        offers_to_go_on=True,
        switches=True,
    )


async def _warm_up() -> None:
    """Import the slow highlighter while the user types, then clean up leftovers."""
    await asyncio.sleep(_WARM_UP_S)
    await asyncio.to_thread(warm_up)
    from zot.system.temp_files import prune_user_temp_dir

    await asyncio.to_thread(prune_user_temp_dir)
