"""From the first byte on the terminal to the last: entering, building the agent, signals, leaving.

However zot ends (a command, an exception, SIGTERM, SIGHUP, a closed terminal), the turn is cancelled, the session is on
disk, children are gone and the terminal is as it was.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zot.system.collector import wake
from zot.tui.highlight import warm_up
from zot.tui.terminal import ASK_BACKGROUND, Terminal

if TYPE_CHECKING:
    from zot.agent.cli.flags import Flags
    from zot.agent.modes.interactive.app import App
    from zot.provider.messages import Message

_WARM_UP_S = 0.3
_EXIT_CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}


def run(flags: Flags) -> int:
    terminal = Terminal()
    if terminal.term in ("dumb", ""):
        from zot.agent.modes.interactive.plain import run_plain

        return run_plain(flags)
    from zot.agent.modes.interactive.app import App

    with terminal.raw():
        terminal.write(ASK_BACKGROUND)
        exit_code, session, lost = asyncio.run(_main(flags, terminal, App))
    for text in lost:
        from zot.agent.console import say

        say(text)
    if not terminal.closed and session and os.path.exists(session):
        from shlex import quote

        from zot.system.spelled import spelled

        print(f"to continue: zot -c, or zot --session {spelled(quote(session))}")
    return exit_code


async def _main(flags: Flags, terminal: Terminal, make: type[App]) -> tuple[int, str, list[str]]:
    """The exit code, the file of the session to continue, and what of it was lost."""
    app = make(flags, terminal)
    loop = asyncio.get_running_loop()
    terminal.attach(loop)
    terminal.on_closed = lambda: app.leave(129)
    for number, code in _EXIT_CODES.items():
        loop.add_signal_handler(number, app.leave, code)
    loop.add_signal_handler(signal.SIGWINCH, app.screen.resized)
    loop.add_signal_handler(signal.SIGTSTP, app.desk.suspend)
    loop.add_signal_handler(signal.SIGCONT, app.desk.take_back)
    loop.set_exception_handler(lambda _, context: app.tasks.report_bug(context.get("exception"), context["message"]))
    app.keyboard.attach()
    app.screen.paint()
    try:
        session = await _live(app, flags)
        return app.exit_code, session, app.lost
    finally:
        app.keyboard.detach()
        await app.tasks.end()
        app.screen.close()


async def _live(app: App, flags: Flags) -> str:
    """Until it is over; the file of the session there was last."""
    # In a thread: the imports take a tenth of a second, and keys are not to wait for them.
    build, front_end = await asyncio.to_thread(_import_build, app)
    async with build(flags.config(), front_end) as conversation:
        await app.looks.answered()
        await _ready_to_show(conversation.messages)
        app.arrive(conversation)
        app.desk.spawn(_warm_up())
        wake()
        await app.leaving.wait()
        await app.turns.stop()
    return conversation.present.session_file  # closing it may have saved it under another name


def _import_build(app: App) -> tuple[Any, Any]:
    from zot.agent.build import build
    from zot.agent.config import FrontEnd

    return build, FrontEnd(reader=app.hear, surface=app.surface, may_log_in=True)


async def _ready_to_show(messages: Sequence[Message]) -> None:
    """A resumed conversation with code needs the highlighter now: import it while keys are still heard."""
    if not messages:
        return
    from zot.agent.modes.interactive.screen.resumed import coloured

    if coloured(messages):
        await asyncio.to_thread(warm_up)


async def _warm_up() -> None:
    """The highlighter is wanted soon and slow to import: fetch it while the user types."""
    await asyncio.sleep(_WARM_UP_S)
    await asyncio.to_thread(warm_up)
