"""A text to read, and one line to type: a title, a name, a key.
``Pages`` scrolls rows taller than the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.system.visible_text import escape_invisible
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets import TextField
from zot.tui.width import cut, pad, wrap

Rows = Callable[[Theme, int], list[str]]


class Pager:
    """``show`` returns the visible rows and stores the height for paging."""

    def __init__(self) -> None:
        self.top = 0
        self.height = 1
        self.count = 0

    def show(self, rows: Sequence[str], height: int) -> list[str]:
        self.height, self.count = max(height, 1), len(rows)
        self.go(self.top)
        return list(rows[self.top : self.top + self.height])

    def go(self, top: int) -> None:
        self.top = min(max(top, 0), max(self.count - self.height, 0))

    def key(self, key: Key) -> bool:
        steps = {"up": -1, "down": 1, "k": -1, "j": 1, "pageup": -self.height, "pagedown": self.height}
        steps |= {"space": self.height, "b": -self.height, "ctrl+u": -self.height // 2, "ctrl+d": self.height // 2}
        steps |= {"home": -self.count, "end": self.count, "g": -self.count, "G": self.count}
        if key.name not in steps:
            return False
        self.go(self.top + steps[key.name])
        return True

    @property
    def whole(self) -> bool:
        """True if everything fits on one page."""
        return self.count <= self.height

    @property
    def place(self) -> str:
        """``12–31 of 90``."""
        return f"{self.top + 1}–{min(self.top + self.height, self.count)} of {self.count}"


class TextView(Dialog[bool]):
    """``render`` creates the rows for a theme and a width; called again when either changes."""

    def __init__(self, title: str, render: Rows, *, most: int = 100) -> None:
        super().__init__()
        self.title = title
        self._render = render
        self._most = most
        self._pages = Pager()
        self._made: tuple[Theme, int, list[str]] | None = None

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        if self._made is None or self._made[0] is not theme or self._made[1] != width:
            self._made = (theme, width, self._render(theme, width))
        self._pages.show(self._made[2], min(height - 3, self._most))
        place = "" if self._pages.whole else f"{self._pages.place} · up/down, page up/down · "
        self.hint = f"{place}esc closes"
        return super().lines(theme, width, height)

    def at_end(self) -> None:
        """Start at the end of the text."""
        self._pages.top = 1 << 30

    def refresh(self) -> None:
        """The text has changed: render it again, and stay at its end if that was visible."""
        follows = self._pages.top + self._pages.height >= self._pages.count
        self._made = None
        if follows:
            self.at_end()

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        assert self._made is not None
        return self._pages.show(self._made[2], min(height, self._most))

    def key(self, key: Key) -> bool:
        if key.name in ("enter", "q"):
            self.finish(True)
            return True
        return self._pages.key(key)


_SCROLL = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})


class KeyList(TextView):
    """The keys, opened with ``?``. Any key that does not scroll closes it; text goes to the editor."""

    def __init__(self, keys: list[tuple[str, str]], type_on: Callable[[Key], None]) -> None:
        super().__init__("keys", lambda theme, width: two_columns("", keys, theme, width)[1:])
        self._type_on = type_on

    def key(self, key: Key) -> bool:
        if key.name in _SCROLL:
            return super().key(key)
        self.finish(True)
        if key.printable or key.name == "paste":
            self._type_on(key)
        return True


def two_columns(title: str, pairs: list[tuple[str, str]], theme: Theme, width: int) -> list[str]:
    """Two columns, the right one wrapped. A left text wider than its column has the row to itself."""
    column = min(max(len(left) for left, _ in pairs), max(width * 2 // 5, 1))
    rows = [theme.paint("accent", title, bold=True)]
    for left, right in pairs:
        name, texts = escape_invisible(left), wrap(escape_invisible(right), max(width - column - 4, 1))
        if len(name) > column:
            rows.append(cut(f"  {theme.paint('fg', name)}", width))
            name = ""
        for text in texts:
            rows.append(cut(f"  {theme.paint('fg', f'{name:<{column}}')}  {theme.paint('muted', text)}", width))
            name = ""
    return rows


class TextPrompt(Dialog[str]):
    """Ends with the stripped text; an empty one counts as closed. ``masked`` shows dots.
    With ``paste_replaces`` a paste replaces the initial text unless it was edited."""

    def __init__(
        self,
        title: str,
        *,
        text: str = "",
        masked: bool = False,
        above: Sequence[str] = (),
        hint: str = "",
        paste_replaces: bool = False,
    ) -> None:
        super().__init__()
        self.title = title
        self.hint = hint or "enter accepts · esc closes"
        self.field = TextField(text, masked=masked)
        self._replaceable = text if paste_replaces else ""
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
        if key.name == "paste" and self._replaceable and self.field.text == self._replaceable:
            self.field.key(Key("ctrl+u"))
        return self.field.key(key)


# The subject of a question in full: a notice tells the user if a part is not visible.

Make = Callable[[Theme, int], list[str]]


class DetailPane:
    """``make`` creates all rows for a width; ``hidden`` is whether some of it was escaped."""

    def __init__(self, make: Make, *, hidden: bool) -> None:
        self._make = make
        self._hidden = hidden
        self._made: tuple[Theme, int, list[str]] | None = None
        self._pages = Pager()

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows, the last of which names the hidden part."""
        if self._made is None or self._made[:2] != (theme, width):
            self._made = (theme, width, self._make(theme, max(width - 4, 1)))
        shown = self._pages.show(self._made[2], max(height - 1, 1))
        output: list[str] = []
        if not self._pages.whole:
            output.append(f"rows {self._pages.place} · page up/down shows the rest")
        if self._hidden:
            output.append("⟨…⟩ marks characters a terminal would hide")
        return [
            *("  " + row for row in shown),
            theme.paint("warning", pad(f"  {' · '.join(output)}", width)) if output else "",
        ]

    def key(self, key: Key) -> bool:
        return self._pages.key(key)
