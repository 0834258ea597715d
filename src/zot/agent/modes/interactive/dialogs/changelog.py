"""What changed in this version, shown once; any key that does not scroll closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.modes.interactive.dialogs.text_view import TextView
from zot.tui import markdown
from zot.tui.keys import Key
from zot.tui.sanitize import sanitize
from zot.tui.width import visible

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App

_ROWS = 18
_SCROLL = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})


class ChangelogView(TextView):
    def __init__(self, app: App, version: str, text: str) -> None:
        plain = visible(sanitize(text))
        super().__init__(
            f"new in zot {version}", lambda theme, width: markdown.render(plain, app.painter, width), most=_ROWS
        )

    def key(self, key: Key) -> bool:
        if key.name in _SCROLL:
            return super().key(key)
        self.finish(True)
        return True
