"""One file per part of the protocol. ``ALL`` is every check, in the order a report shows them."""

from __future__ import annotations

from zot.devkit.conformance.checks import (
    calls,
    compat,
    contributions,
    dialogs,
    events,
    framing,
    input,
    intercept2,
    lifecycle,
    manifest,
    program,
    progress,
    provider,
    registration,
    requests,
    screen,
    start,
    uses,
)
from zot.devkit.conformance.results import Check

ALL: tuple[Check, ...] = (
    *(*manifest.CHECKS, *program.CHECKS, *start.CHECKS, *framing.CHECKS, *registration.CHECKS, *calls.CHECKS),
    *(*events.CHECKS, *screen.CHECKS, *input.CHECKS, *calls.CALL_TOOL_CHECKS, *lifecycle.CHECKS),
    *(*compat.CHECKS, *requests.CHECKS, *progress.CHECKS, *dialogs.CHECKS, *contributions.CHECKS),
    *(*intercept2.CHECKS, *provider.CHECKS, *uses.CHECKS),
)
