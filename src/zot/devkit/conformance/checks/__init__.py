"""One file per part of the protocol. ``ALL`` is every check, in the order a report shows them."""

from __future__ import annotations

from zot.devkit.conformance.checks import (
    call_tool,
    calls,
    events,
    framing,
    input,
    lifecycle,
    manifest,
    program,
    registration,
    screen,
    start,
)
from zot.devkit.conformance.results import Check

_PARTS = (manifest, program, start, framing, registration, calls, events, screen, input, call_tool, lifecycle)
ALL: tuple[Check, ...] = tuple(check for part in _PARTS for check in part.CHECKS)
