"""Checks panels, notes and submitted prompts."""

from __future__ import annotations

import time

from zot.devkit.conformance.extension_run import ExtensionRun
from zot.devkit.conformance.results import Check
from zot.wire.extension_frames import (
    CommandResponse,
    Notify,
    OpenPanel,
    PanelClose,
    PanelKey,
    PanelRender,
    Submit,
    SubmitSlash,
)

LEVELS = ("info", "success", "warn", "error")

CHECKS = (
    Check(
        "panels-ids",
        "12.3",
        (89, 93),
        "a panel has an id, and only panels that were opened are redrawn or closed",
        "use one id for opening, redrawing and closing; read it from panel_key rather than keeping two copies",
    ),
    Check(
        "panels-keys",
        "12.3",
        (90,),
        "it accepts every key name, including unknown ones, and keeps running",
        'text is there for "rune" alone; ignore keys you do not use',
    ),
    Check(
        "panels-quiet-after-close",
        "12.3",
        (91,),
        "a panel the user closed is not redrawn any more",
        "stop timers and rendering when panel_close arrives",
    ),
    Check(
        "notes-level",
        "12.1",
        (86,),
        "a note's level is one of the four and its message is not empty",
        f"the levels are {', '.join(LEVELS)}; anything else is shown as info",
    ),
    Check(
        "notes-submitted-text",
        "22.2",
        (119, 120),
        "submitted text is not blank, and submitted commands begin with a slash",
        "check the text before sending it",
    ),
)

_KEYS = ("down", "up", "left", "right", "tab", "pagedown", "pageup", "home", "end", "unknown", "backspace", "delete")
_AFTER_CLOSE = 0.4


async def check_panels(run: ExtensionRun) -> None:
    for panel in _opened(run):
        if run.host.alive:
            await _play(run, panel)
    known = set(_opened(run))
    for line in run.host.transcript.received:
        frame = line.frame
        if isinstance(frame, PanelRender | PanelClose) and frame.panel_id not in known:
            run.verdicts.warned("panels-ids", f"there is no panel {frame.panel_id!r}", line.data, line.t)
        elif isinstance(frame, OpenPanel) and not (frame.panel and frame.panel.id):
            run.verdicts.failed("panels-ids", "a panel without an id", line.data, line.t)
    if known:
        run.verdicts.passed("panels-ids")


def _opened(run: ExtensionRun) -> list[str]:
    """Ids in the order of opening."""
    found: list[str] = []
    for line in run.host.transcript.received:
        frame = line.frame
        if isinstance(frame, CommandResponse) and frame.action == "open_panel" and frame.open_panel is not None:
            found.append(frame.open_panel.id)
        elif isinstance(frame, OpenPanel) and frame.panel is not None:
            found.append(frame.panel.id)
    return list(dict.fromkeys(found))


async def _play(run: ExtensionRun, panel: str) -> None:
    for key in _KEYS:
        run.host.send(PanelKey(panel_id=panel, key=key))
    run.host.send(PanelKey(panel_id=panel, key="rune", text="☃"))
    run.host.send(PanelKey(panel_id=panel, key="enter"))
    await run.host.settle()
    if not await run.well("panels-keys"):
        return
    run.host.send(PanelClose(panel_id=panel))
    await run.host.settle()
    closed = time.monotonic()
    await run.host.until(lambda: bool(_renders(run, panel, closed)), _AFTER_CLOSE)
    for line in _renders(run, panel, closed):
        run.verdicts.warned("panels-quiet-after-close", f"panel {panel} is drawn after it was closed", line)
    run.verdicts.passed("panels-quiet-after-close")


def _renders(run: ExtensionRun, panel: str, since: float) -> list[bytes]:
    lines = run.host.transcript.received
    return [x.data for x in lines if isinstance(x.frame, PanelRender) and x.frame.panel_id == panel and x.t > since]


def check_notes(run: ExtensionRun) -> None:
    """Checks notes and prompts of a finished run."""
    for line in run.host.transcript.received:
        match line.frame:
            case Notify(level=level, message=message) if level not in LEVELS or not message:
                # Shown as info or not at all: a warning.
                problem = "an empty message" if level in LEVELS else f"unknown level {level!r}"
                run.verdicts.warned("notes-level", problem, line.data, line.t)
            case Notify():
                run.verdicts.passed("notes-level")
            case Submit(text=text):
                problem = "" if text.strip() else "blank text"
                run.verdicts.judged("notes-submitted-text", problem, line.data, line.t)
            case SubmitSlash(text=text):
                problem = "" if text.strip().startswith("/") else "no slash at the beginning"
                run.verdicts.judged("notes-submitted-text", problem, line.data, line.t)
            case _:
                pass
