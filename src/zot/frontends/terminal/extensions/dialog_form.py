"""A form of an extension: one row per field, the chosen field with its description and what is wrong with it.
More than six fields are shown as pages under a tab bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from zot.features.extensions.dialogs import DialogField, field_problem
from zot.frontends.terminal.extensions.dialog_controls import inline
from zot.frontends.terminal.screen.line_art import LineArt
from zot.tui.keys import Key
from zot.tui.sanitize import beginning, one_line
from zot.tui.theme import Theme
from zot.tui.widgets import TextField
from zot.tui.width import cells, cut, pad, wrap

PAGE = 6
_LONGEST_LABEL = 200
_TYPED = ("text", "number", "integer", "path")


class FieldControl:
    """One field: a text, or choices of which one or several are taken."""

    def __init__(self, field: DialogField, default: Any) -> None:
        self.field = field
        self.label = one_line(beginning(field.title or field.name, _LONGEST_LABEL))
        given = field.default if default is None else default
        self.is_typed = field.kind in _TYPED
        self.text = TextField("" if given is None or not self.is_typed else one_line(str(given)))
        self._values: list[Any] = [True, False] if field.kind == "yes" else list(field.choices)
        names = ("yes", "no") if field.kind == "yes" else field.labels
        self._names = [one_line(names[at] if at < len(names) else str(value)) for at, value in enumerate(self._values)]
        self._taken = {at for at, value in enumerate(self._values) if value == given or _among(value, given)}
        self._at = min(self._taken, default=0)
        self.wrong = ""

    def value(self) -> Any:
        """None without an answer; ``wrong`` is set if it does not fit."""
        value = self._read()
        self.wrong = self.wrong or field_problem(self.field, value)
        return value

    def _read(self) -> Any:
        self.wrong = ""
        kind = self.field.kind
        if not self.is_typed:
            taken = [self._values[at] for at in sorted(self._taken)]
            return taken or None if kind == "choices" else next(iter(taken), None)
        text = self.text.text if kind == "text" else self.text.text.strip()
        if kind in ("text", "path") or not text:
            return text or None
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            self.wrong = f"{self.label}: expected a {'whole ' if kind == 'integer' else ''}number"
            return None

    def row(self, theme: Theme, width: int, *, focused: bool) -> tuple[str, int]:
        """The row of its value, and the column of the cursor if it is typed."""
        if self.is_typed:
            return self.text.line(theme, width)
        if self.field.kind == "choices":
            marks = [f"[{'x' if at in self._taken else ' '}] {name}" for at, name in enumerate(self._names)]
            return inline(theme, [(text, focused and at == self._at) for at, text in enumerate(marks)], width), 0
        return inline(theme, [(name, at in self._taken) for at, name in enumerate(self._names)], width), 0

    def key(self, key: Key) -> bool:
        if self.is_typed:
            return self.text.key(key)
        if key.name in ("left", "right"):
            step = 1 if key.name == "right" else -1
            self._at = (self._at + (step if self._taken or self.field.kind == "choices" else 0)) % len(self._values)
            if self.field.kind != "choices":
                self._taken = {self._at}
        elif key.name == "space":
            self._taken = self._taken ^ {self._at} if self.field.kind == "choices" else {self._at}
        else:
            return False
        return True


class FormControl:
    """``finish`` gets the values by field name, once all fit."""

    hint = "tab, up, down: next field · enter on the last accepts · esc closes"

    def __init__(self, fields: tuple[DialogField, ...], finish: Callable[[Any], None], default: Any = None) -> None:
        given = cast("dict[str, Any]", default) if isinstance(default, dict) else {}
        self._fields = [FieldControl(field, given.get(field.name)) for field in fields]
        self._finish = finish
        self._at = 0
        self.cursor: tuple[int, int] | None = None

    def rows(self, art: LineArt, theme: Theme, width: int, height: int) -> list[str]:
        first = self._at // PAGE * PAGE
        page = self._fields[first : first + PAGE]
        rows = [self._tabs(theme, width)] if len(self._fields) > PAGE else []
        column = min(max(cells(field.label) + field.field.required for field in page), max(width // 3, 4))
        below = self._below(theme, width)
        shown = max(height - len(rows) - len(below), 1)
        skipped = max(self._at - first - shown + 1, 0)
        self.cursor = None
        for at, field in enumerate(page[skipped : skipped + shown], first + skipped):
            focused = at == self._at
            label = pad(field.label + ("*" if field.field.required else ""), column)
            value, cursor = field.row(theme, max(width - column - 6, 1), focused=focused)
            mark = theme.paint("prompt", "›") if focused else " "
            if focused and field.is_typed:
                self.cursor = (len(rows), column + 5 + cursor)
            rows.append(cut(f"{mark} {theme.paint('fg' if focused else 'muted', label)} : {value}", width))
        return [*rows, *below]

    def _tabs(self, theme: Theme, width: int) -> str:
        pages = -(-len(self._fields) // PAGE)
        ends = [min((page + 1) * PAGE, len(self._fields)) for page in range(pages)]
        names = [(f"{page * PAGE + 1}-{end}", page == self._at // PAGE) for page, end in enumerate(ends)]
        return f"  {inline(theme, names, width - 2)}"

    def _below(self, theme: Theme, width: int) -> list[str]:
        """The description of the chosen field, and what is wrong with it."""
        field = self._fields[self._at]
        about = one_line(beginning(field.field.description, 500))
        rows = [theme.paint("muted", row) for row in wrap(f"  {about}", width, "  ")][:2] if about else []
        wrong = [theme.paint("error", row) for row in wrap(f"  {field.wrong}", width, "  ")][:2] if field.wrong else []
        return [*rows, *wrong]

    def key(self, key: Key) -> bool:
        last = len(self._fields) - 1
        if key.name in ("tab", "down", "shift+tab", "up"):
            self._go(self._at + (1 if key.name in ("tab", "down") else -1))
        elif key.name in ("pageup", "pagedown"):
            self._go(self._at + (PAGE if key.name == "pagedown" else -PAGE))
        elif key.name == "enter":
            self._accept() if self._at == last else self._go(self._at + 1)
        else:
            return self._fields[self._at].key(key)
        return True

    def _go(self, place: int) -> None:
        self._fields[self._at].value()
        self._at = min(max(place, 0), len(self._fields) - 1)

    def _accept(self) -> None:
        values = {field.field.name: field.value() for field in self._fields}
        wrong = next((at for at, field in enumerate(self._fields) if field.wrong), None)
        if wrong is None:
            self._finish({name: value for name, value in values.items() if value is not None})
        else:
            self._at = wrong


def _among(value: Any, given: Any) -> bool:
    return isinstance(given, list) and value in cast("list[Any]", given)
