"""One file per part of the protocol. ``ALL`` is every check, in the order a report shows them."""

from __future__ import annotations

from zot.devkit.conformance.checks import (
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

ALL: tuple[Check, ...] = (
    *(*manifest.CHECKS, *program.CHECKS, *start.CHECKS, *framing.CHECKS, *registration.CHECKS, *calls.CHECKS),
    *(*events.CHECKS, *screen.CHECKS, *input.CHECKS, *calls.CALL_TOOL_CHECKS, *lifecycle.CHECKS),
)
