"""``/exit``: leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    app.leave()
