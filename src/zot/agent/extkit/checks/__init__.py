"""One file per group of checks. ``ALL`` is every check, in the order a report shows them."""

from __future__ import annotations

from zot.agent.extkit.checks import (
    answers,
    call_tool,
    commands,
    events,
    framing,
    handshake,
    input,
    interception,
    lifecycle,
    manifest,
    notes,
    panels,
    registration,
    tools,
)
from zot.agent.extkit.verdicts import Check

_GROUPS = (
    *(manifest, handshake, framing, answers, registration, commands, tools, events, interception, panels, notes),
    *(input, call_tool, lifecycle),
)
ALL: tuple[Check, ...] = tuple(check for group in _GROUPS for check in group.CHECKS)
