"""From the first byte on the terminal to the last: entering, building the agent, signals, suspending, leaving.

However zot ends (a command, an exception, SIGTERM, SIGHUP, a closed terminal), the turn is cancelled, the session is on
disk, children are gone and the terminal is as it was.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from zot.errors import ZotError
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
    from zot.agent.modes.interactive.app import App

    terminal = Terminal()
    if terminal.term in ("dumb", ""):
        from zot.agent.modes.interactive.plain import run_plain

        return run_plain(flags)
    with terminal.raw():
        terminal.write(ASK_BACKGROUND)
        app, failure = asyncio.run(_main(flags, terminal, App))
    if failure is not None:
        raise failure
    _farewell(app)
    return app.exit_code


async def _main(flags: Flags, terminal: Terminal, make: type[App]) -> tuple[App, ZotError | None]:
    app = make(flags, terminal)
    loop = asyncio.get_running_loop()
    terminal.attach(loop)
    terminal.on_closed = lambda: app.leave(129)
    for number, code in _EXIT_CODES.items():
        loop.add_signal_handler(number, app.leave, code)
    loop.add_signal_handler(signal.SIGWINCH, app.screen.resized)
    loop.add_signal_handler(signal.SIGTSTP, suspend, app)
    loop.add_signal_handler(signal.SIGCONT, _continued, app)
    loop.set_exception_handler(lambda _, context: report_bug(app, context.get("exception"), context["message"]))
    loop.add_reader(0, app.typed)
    app.screen.paint()
    try:
        await _live(app)
        return app, None
    except ZotError as error:
        return app, error
    finally:
        loop.remove_reader(0)
        await _end_tasks(app)
        app.screen.close()


async def _live(app: App) -> None:
    # In a thread: the imports take a tenth of a second, and keys are not to wait for them.
    build, embedding = await asyncio.to_thread(_import_build, app)
    async with build(app.flags, embedding) as runtime:
        await app.looks.answered()
        await _ready_to_show(runtime.agent.messages)
        app.runtime = runtime
        app.cwd = runtime.workspace.cwd
        if runtime.extensions is not None:
            app.panels.owner = runtime.extensions
        app.looks.settings_read()
        app.spawn(app.looks.watch())
        app.spawn(_warm_up())
        app.attention.opened()
        _welcome(app)
        wake()
        await app.leaving.wait()
        await app.turns.stop()


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


def _import_build(app: App) -> tuple[Any, Any]:
    from zot.agent.build import build
    from zot.agent.embedding import Embedding

    return build, Embedding(surface=app.surface, may_log_in=True)


def _welcome(app: App) -> None:
    """The agent is there: show what it knows, say what was typed meanwhile."""
    from zot.agent.modes.interactive.editor.in_app import agent_arrived

    runtime = app.runtime
    assert runtime is not None
    if runtime.agent.messages:
        app.transcript.show(runtime.agent.messages)
    for notice in runtime.notices:
        app.transcript.diagnose(notice)
    runtime.notices.clear()
    agent_arrived(app, runtime)
    app.screen.holding = False
    app.attendants.ready()
    if app.flags.prompt:
        app.editor.insert(app.flags.prompt)
    app.turns.ready()
    app.redraw()


def start(app: App, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task whose expected failures end up on the screen."""

    async def guarded() -> None:
        try:
            await work
        except ZotError as error:
            app.status.error(str(error))
        except Exception as error:
            report_bug(app, error)

    return asyncio.get_running_loop().create_task(guarded())


def report_bug(app: App, error: BaseException | None, what: str = "") -> None:
    """One line on the screen, the traceback in a file: a bug in one corner does not end the conversation."""
    from zot.agent.modes.interactive.bug_log import write_bug

    path = write_bug(error, what)
    kind = type(error).__name__ if error is not None else what
    app.transcript.error(f"a bug in zot: {kind}: {error or ''} (written to {path})")


async def _end_tasks(app: App) -> None:
    tasks = list(app.tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def suspend(app: App) -> None:
    """Give the terminal back and stop; ``_continued`` takes it again."""
    app.screen.pause()
    app.terminal.leave()
    os.kill(os.getpid(), signal.SIGSTOP)


def _continued(app: App) -> None:
    app.terminal.enter()
    app.screen.resume()


def _farewell(app: App) -> None:
    session = app.runtime.session if app.runtime is not None else None
    if app.terminal.closed or session is None or not session.path.exists():
        return
    from shlex import quote

    print(f"to go on: zot -c, or zot --session {quote(str(session.path))}")
