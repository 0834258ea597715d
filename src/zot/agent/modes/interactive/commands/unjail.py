"""``/unjail``: there is no jail to leave yet (see ``jail.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.errors import ZotError

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App


def run(app: App, arguments: str) -> None:
    raise ZotError("the tools are not jailed: an enforced /jail comes in a later version")
