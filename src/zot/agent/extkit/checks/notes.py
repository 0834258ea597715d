"""What it says unasked: notes and prompts of its own."""

from __future__ import annotations

from zot.agent.extkit.run import Run
from zot.agent.extkit.verdicts import Check
from zot.wire.frames import Notify, Submit, SubmitSlash

LEVELS = ("info", "success", "warn", "error")

CHECKS = (
    Check(
        "notes.level",
        "12.1",
        (86,),
        "a note's level is one of the four and its message is not empty",
        f"the levels are {', '.join(LEVELS)}; anything else is shown as info",
    ),
    Check(
        "notes.submitted-text",
        "22.2",
        (119, 120),
        "submitted text is not blank, and submitted commands begin with a slash",
        "check the text before sending it",
    ),
)


def check(run: Run) -> None:
    for line in run.host.transcript.received:
        match line.frame:
            case Notify(level=level, message=message):
                bad = "" if level in LEVELS else f"unknown level {level!r}"
                _level(run, bad or ("" if message else "an empty message"), line.data)
            case Submit(text=text):
                _say(run, "notes.submitted-text", "" if text.strip() else "blank text", line.data)
            case SubmitSlash(text=text):
                bad = "" if text.strip().startswith("/") else "no slash at the beginning"
                _say(run, "notes.submitted-text", bad, line.data)
            case _:
                pass


def _level(run: Run, problem: str, line: bytes) -> None:
    """Shown as info, or not at all: no harm to anybody but the note."""
    if problem:
        run.verdicts.warned("notes.level", problem, line)
    else:
        run.verdicts.passed("notes.level")


def _say(run: Run, id: str, problem: str, line: bytes) -> None:
    if problem:
        run.verdicts.failed(id, problem, line)
    else:
        run.verdicts.passed(id)
