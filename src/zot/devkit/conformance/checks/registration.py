"""Checks registrations: valid names, valid schemas, existing events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from zot.agent.tools.registry import ALL_TOOLS
from zot.devkit.conformance.extension_run import ExtensionRun
from zot.devkit.conformance.results import Check
from zot.devkit.conformance.tool_schema import problems
from zot.features.extensions.registry import BUILTIN_COMMANDS
from zot.wire.extension_codec import encode
from zot.wire.extension_frames import (
    CLASSIC_EVENTS,
    EDITION2_EVENTS,
    EDITION2_INTERCEPTS,
    EXPOSURES,
    INTERCEPTS,
    LATER_EVENTS,
    REPLAYS,
    Frame,
)

CHECKS = (
    Check(
        "registration-command-names",
        "6.4",
        (43, 108),
        "command names consist of letters, digits, _ and -, without a slash",
        'register "weather", not "/weather": zot rejects names that cannot be typed',
    ),
    Check(
        "registration-tool-names",
        "6.5",
        (44, 45),
        "tool names consist of letters, digits, _ and -, at most 64",
        "model providers accept no other names",
    ),
    Check(
        "registration-twice",
        "6.4",
        (43, 108),
        "a name is registered once",
        "remove one of the two, or give it another name: the first one stays, and the second is never called; names of "
        "commands that differ only in case are the same",
    ),
    Check(
        "registration-builtin-command",
        "6.4",
        (43,),
        "no command has the name of a built-in one",
        "choose another name: typed after a slash, the built-in is what runs",
    ),
    Check(
        "registration-builtin-tool",
        "6.5",
        (44,),
        "no tool has the name of a built-in one",
        "choose another name: the built-in of that name hides it wherever it is switched on",
    ),
    Check(
        "registration-schemas",
        "6.5",
        (58,),
        "each tool has a JSON Schema of type object",
        'for a tool without arguments write {"type":"object","properties":{}}',
    ),
    Check(
        "registration-tool-options",
        "22.1",
        (114, 115),
        "exposure and replay have values the protocol knows",
        f"exposure: {', '.join(EXPOSURES)}; replay: {', '.join(REPLAYS)}",
    ),
    Check(
        "registration-events",
        "6.6",
        (68,),
        "it subscribes to events that exist",
        f"the names are {', '.join((*CLASSIC_EVENTS, *LATER_EVENTS))}",
    ),
    Check(
        "registration-intercept",
        "6.6",
        (46,),
        "it intercepts events that can be intercepted",
        f"the names are {', '.join(INTERCEPTS)}",
    ),
    Check(
        "registration-guard",
        "10.3",
        (79, 80),
        "a guard intercepts tool_call",
        'send {"type":"subscribe","intercept":["tool_call"]} before ready, or do not declare a guard',
    ),
)

_COMMAND = re.compile(r"[A-Za-z0-9_-]+")
_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check(run: ExtensionRun) -> None:
    if run.commands:
        names = [command.name.lower() for command in run.commands]
        _names(run, "registration-command-names", run.commands, [c.name for c in run.commands], _COMMAND)
        _once(run, "command", run.commands, names)
        _built_in(run, "registration-builtin-command", run.commands, names, BUILTIN_COMMANDS)
    if run.tools:
        names = [tool.name for tool in run.tools]
        _names(run, "registration-tool-names", run.tools, names, _TOOL)
        _once(run, "tool", run.tools, names)
        _built_in(run, "registration-builtin-tool", run.tools, names, (*ALL_TOOLS, "skill"))
        for tool in run.tools:
            for problem in problems(tool.schema):
                run.verdicts.failed("registration-schemas", f"tool {tool.name}: {problem}", encode(tool).rstrip())
            for key, value, known in (("exposure", tool.exposure, EXPOSURES), ("replay", tool.replay, REPLAYS)):
                if value and value not in known:
                    evidence = f"tool {tool.name}: {key} {value!r} is not known"
                    run.verdicts.failed("registration-tool-options", evidence, encode(tool).rstrip())
        run.verdicts.passed("registration-schemas", "registration-tool-options")
    # An unknown event is harmless, since a newer host may send it; an unknown interception guards nothing.
    events, intercepts = (*CLASSIC_EVENTS, *LATER_EVENTS), INTERCEPTS
    if run.edition2:  # those of the second edition are judged by compat-no-new-frames
        events, intercepts = (*events, *EDITION2_EVENTS), (*intercepts, *EDITION2_INTERCEPTS)
    _known(run, "registration-events", run.subscribed, events, run.verdicts.warned)
    _known(run, "registration-intercept", run.intercepts, intercepts, run.verdicts.failed)
    if run.is_guard and "tool_call" not in run.intercepts:
        run.verdicts.failed("registration-guard", "it declares a guard and does not intercept tool_call")
    elif run.is_guard:
        run.verdicts.passed("registration-guard")


def _names(run: ExtensionRun, check: str, frames: Iterable[Frame], names: list[str], allowed: re.Pattern[str]) -> None:
    for frame, name in zip(frames, names, strict=True):
        if not allowed.fullmatch(name):
            run.verdicts.failed(check, f"{name!r} cannot be used as a name", encode(frame).rstrip())
    run.verdicts.passed(check)


def _once(run: ExtensionRun, kind: str, frames: Iterable[Frame], names: list[str]) -> None:
    seen: set[str] = set()
    for frame, name in zip(frames, names, strict=True):
        if name in seen:
            run.verdicts.failed("registration-twice", f"{kind} {name!r} is registered twice", encode(frame).rstrip())
        seen.add(name)
    run.verdicts.passed("registration-twice")


def _built_in(run: ExtensionRun, check: str, frames: Iterable[Frame], names: list[str], taken: tuple[str, ...]) -> None:
    """A command is always hidden; a tool only while the built-in is enabled."""
    otherwise = run.verdicts.failed if "command" in check else run.verdicts.warned
    for frame, name in zip(frames, names, strict=True):
        if name in taken:
            otherwise(check, f"{name!r} is the name of a built-in one", encode(frame).rstrip())
    run.verdicts.passed(check)


def _known(
    run: ExtensionRun, check: str, names: Iterable[str], known: tuple[str, ...], otherwise: Callable[[str, str], None]
) -> None:
    for name in names:
        if name in known:
            run.verdicts.passed(check)
        else:
            otherwise(check, f"there is no {name!r}")
