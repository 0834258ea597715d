"""``/yolo``: ask no more in this session; what is being asked right now may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    confirmations = app.attendants.confirmations
    gate = confirmations.gate
    if gate is None:
        app.status.ok("nothing was being asked: zot runs tools without confirmation unless started with --no-yolo")
        return
    gate.allow_all()
    confirmations.approve_all()
    app.status.ok("no more questions: every tool runs without confirmation from now on")
