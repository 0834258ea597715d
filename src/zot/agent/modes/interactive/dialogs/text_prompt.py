"""One line to type: a title, a name, a key. Enter accepts it, esc discards it."""

from __future__ import annotations

from collections.abc import Sequence

from zot.agent.modes.interactive.dialogs.dialog import Dialog
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets.text_field import TextField
from zot.tui.width import wrap


class TextPrompt(Dialog[str]):
    """Ends with the text, stripped; an empty one counts as closed. ``masked`` shows dots."""

    def __init__(
        self, title: str, *, text: str = "", masked: bool = False, above: Sequence[str] = (), hint: str = ""
    ) -> None:
        super().__init__()
        self.title = title
        self.hint = hint or "enter takes it · esc closes"
        self.field = TextField(text, masked=masked)
        self._above = tuple(above)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("fg", row) for line in self._above for row in wrap(f"  {line}", width, "  ")]
        rows = rows[: max(height - 1, 0)]
        line, column = self.field.line(theme, max(width - 4, 1))
        self.cursor = (len(rows), column + 4)
        return [*rows, f"  {theme.paint('prompt', '›')} {line}"]

    def key(self, key: Key) -> bool:
        if key.name == "enter":
            self.finish(self.field.text.strip() or None)
            return True
        return self.field.key(key)
