"""What it adds to zot while it runs: values, names, and what is left behind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zot.devkit.conformance.results import Check

if TYPE_CHECKING:
    from zot.devkit.conformance.played_host import PlayedHost
    from zot.wire.extension_frames import Contribute

CHECKS = (
    Check(
        "contributions-values",
        "4.2",
        (23, 25, 26, 167),
        "kind, name and value of each contribution fit",
        "see `zot docs protocol` for the keys of each kind; a value replaces the one before as a whole",
    ),
    Check(
        "contributions-conflicts",
        "4.2",
        (24, 167),
        "it goes on when zot refuses a contribution",
        "a key or name may be taken: treat an error in the response as a refusal of that one contribution",
    ),
    Check(
        "contributions-surfaces",
        "4.2",
        (27, 167),
        "what a call shows is withdrawn, or shown under the same name by the next call",
        "withdraw a surface when the call ends (`finally`), and give it a fixed name, not one made of ids or times",
    ),
    Check(
        "contributions-names",
        "4.2",
        (167,),
        "the names are the same in two runs",
        "use fixed names: zot keeps a surface over a reload if the new process renews it under its name",
    ),
)

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAMED_LIKE_REGISTRATIONS = ("command", "tool")

Names = set[tuple[str, str]]


def check_values(host: PlayedHost) -> None:
    """Every contribution of a finished run."""
    from zot.features.extensions.contributions import imitates_zot

    verdicts = host.run.verdicts
    for frame, data, t in host.contributed:
        problem = _problem(frame)
        if not problem and frame.kind in ("header", "footer") and imitates_zot(host.run.host.manifest.name):
            problem = f"the name {host.run.host.manifest.name!r} could be taken for zot's"
        if problem:
            verdicts.failed("contributions-values", f"{frame.kind} {frame.name}: {problem}", data, t)
        verdicts.passed("contributions-values")


def _problem(frame: Contribute) -> str:
    from zot.errors import closest_match
    from zot.features.extensions.contributions import KINDS, check_value
    from zot.features.extensions.requests import RequestError

    kind = KINDS.get(frame.kind)
    if kind is None:
        near = closest_match(frame.kind, tuple(KINDS))
        return "unknown kind" + (f"; did you mean {near}?" if near else "")
    if frame.kind not in _NAMED_LIKE_REGISTRATIONS and not _NAME.fullmatch(frame.name):
        return "name: expected 1 to 64 letters, digits, _, . or -"
    try:
        check_value(frame.kind, kind, frame.value)
    except RequestError as error:
        return str(error)
    return ""


def left(host: PlayedHost) -> Names:
    """Surfaces that are shown now."""
    from zot.agent.extension_ui import SURFACES
    from zot.wire.extension_frames import Contribute, Withdraw

    shown: Names = set()
    for line in host.run.host.transcript.received:
        if isinstance(line.frame, Contribute) and line.frame.kind in SURFACES:
            shown.add((line.frame.kind, line.frame.name))
        elif isinstance(line.frame, Withdraw):
            shown.discard((line.frame.kind, line.frame.name))
    return shown


def check_left(host: PlayedHost, once: Names, twice: Names) -> None:
    """After the same calls a second time, nothing more may be shown."""
    verdicts = host.run.verdicts
    if more := sorted(twice - once):
        kind, name = more[0]
        evidence = f"{len(more)} more than after the first calls: {kind} {name!r} was not withdrawn"
        verdicts.failed("contributions-surfaces", evidence)
    if host.contributed:
        verdicts.passed("contributions-surfaces")


def check_names(first: PlayedHost, second: PlayedHost) -> None:
    """The contributions at the start of two runs."""
    verdicts, now = second.run.verdicts, second.at_start
    if changed := sorted(first.at_start ^ now):
        kind, name = changed[0]
        verdicts.failed("contributions-names", f"{kind} {name!r} is there in one of two runs only")
    if first.at_start or now:
        verdicts.passed("contributions-names")
