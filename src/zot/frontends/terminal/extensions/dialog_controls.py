"""What a dialog of an extension lets the user do: choose options, type a line or a text.
``rows`` fit the height; ``cursor`` is the terminal cursor in them, or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from zot.features.extensions.dialogs import DialogOption, describe
from zot.frontends.terminal.editor.edit_keys import EditKeys
from zot.frontends.terminal.screen.line_art import LineArt
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line, sanitize
from zot.tui.text_buffer import units_of
from zot.tui.text_layout import Scroll, shown
from zot.tui.theme import Theme
from zot.tui.widgets import TextField, window
from zot.tui.width import cells, cut, visible

MOST_ROWS = 14
_TEXT_ROWS = 10


class Control(Protocol):
    cursor: tuple[int, int] | None

    @property
    def hint(self) -> str: ...

    def rows(self, art: LineArt, theme: Theme, width: int, height: int) -> list[str]: ...

    def key(self, key: Key) -> bool: ...


class OptionList:
    """Choose one option, or several with space. Typing filters; groups have headings. ``letters`` choose at once.
    ``unmarked`` options are chosen alone, also where several are allowed."""

    cursor: tuple[int, int] | None = None

    def __init__(
        self,
        options: Sequence[DialogOption],
        finish: Callable[[Any], None],
        *,
        default: Any = None,
        several: bool = False,
        letters: dict[str, str] | None = None,
        unmarked: frozenset[str] = frozenset(),
    ) -> None:
        self._unmarked = unmarked
        self._options = options
        self._finish = finish
        self._several = several
        self._letters = letters or {}
        self._texts = [one_line(f"{describe(option)} {option.description}") for option in options]
        self._filter = ""
        self._marked: set[str] = set(default if several and isinstance(default, list) else ())  # pyright: ignore[reportUnknownArgumentType]  checked before
        self._shown = list(range(len(options)))
        usable = [at for at, option in enumerate(options) if not option.disabled]
        wanted = [at for at in usable if options[at].value == default]
        self._at: int | None = next(iter(wanted or usable), None)

    @property
    def selected(self) -> DialogOption | None:
        """The option under the cursor."""
        return None if self._at is None else self._options[self._at]

    @property
    def marked(self) -> list[str]:
        return [option.value for option in self._options if option.value in self._marked]

    def toggle(self, value: str) -> None:
        self._marked ^= {value}

    @property
    def hint(self) -> str:
        marks = "space marks · " if self._several else ""
        filters = "" if self._letters else " · type to filter"
        return f"{marks}enter accepts{filters} · esc closes"

    def rows(self, art: LineArt, theme: Theme, width: int, height: int) -> list[str]:
        head = [theme.paint("accent", cut(f"  filter: {one_line(self._filter)}", width))] if self._filter else []
        listed: list[str] = []
        selected, group = 0, ""
        for at in self._shown:
            option = self._options[at]
            if option.group and option.group != group and not self._filter:
                group = option.group
                listed.append(theme.paint("muted", cut(f"  ── {one_line(group)} ──", width)))
            selected = len(listed) if at == self._at else selected
            listed.append(self._row(at, art, theme, width))
        if not listed:
            return [*head, theme.paint("muted", "  nothing matches")]
        first, last = window(len(listed), selected, max(min(height - len(head), MOST_ROWS), 1))
        return [*head, *listed[first:last]]

    def _row(self, at: int, art: LineArt, theme: Theme, width: int) -> str:
        option = self._options[at]
        mark = ("[x] " if option.value in self._marked else "[ ] ") if self._several else ""
        mark = " " * len(mark) if option.value in self._unmarked else mark
        label, detail = art.row(option.line, max(width - 4, 1)), one_line(option.description)
        if option.disabled:
            return theme.paint("muted", cut(f"  {mark}{visible(label)}  {detail}".rstrip(), width))
        if at == self._at:
            return theme.selected(cut(f"› {mark}{visible(label)}  {detail}".rstrip(), width), width)
        return cut(f"  {mark}{label}" + (f"  {theme.paint('muted', detail)}" if detail else ""), width)

    def key(self, key: Key) -> bool:
        steps = {"up": -1, "down": 1, "ctrl+p": -1, "ctrl+n": 1, "pageup": -10, "pagedown": 10}
        steps |= {"home": -len(self._options), "end": len(self._options)}
        if key.name in steps:
            self._move(steps[key.name])
        elif key.name == "enter":
            self._accept()
        elif key.name in self._letters:
            self._finish(self._letters[key.name])
        elif self._several and key.name == "space":
            if self.selected is not None:
                self.toggle(self.selected.value)
        elif key.name == "backspace" and self._filter:
            self._narrow(self._filter[:-1])
        elif key.printable and not self._letters:
            self._narrow(self._filter + key.text)
        else:
            return False
        return True

    def _accept(self) -> None:
        if self._several:
            self._finish(self.marked)
        elif self._at is not None:
            self._finish(self._options[self._at].value)

    def _move(self, step: int) -> None:
        places = [at for at in self._shown if not self._options[at].disabled]
        if places:
            now = places.index(self._at) if self._at in places else 0
            self._at = places[min(max(now + step, 0), len(places) - 1)]

    def _narrow(self, text: str) -> None:
        """The options that match, in their order."""
        self._filter = text
        pattern = Pattern(text)
        every = range(len(self._options))
        self._shown = [at for at in every if not text or pattern.rank(self._texts[at]) is not None]
        usable = [at for at in self._shown if not self._options[at].disabled]
        if self._at not in usable:
            self._at = next(iter(usable), None)


class TextLine:
    """One line; ``placeholder`` is shown while it is empty."""

    hint = "enter accepts · esc closes"

    def __init__(self, finish: Callable[[Any], None], text: str = "", placeholder: str = "") -> None:
        self.field = TextField(one_line(text))
        self.cursor: tuple[int, int] | None = (0, 4)
        self._finish = finish
        self._placeholder = one_line(placeholder)

    def rows(self, art: LineArt, theme: Theme, width: int, height: int) -> list[str]:
        line, column = self.field.line(theme, max(width - 4, 1))
        self.cursor = (0, column + 4)
        empty = not self.field.text and self._placeholder
        text = theme.paint("muted", cut(self._placeholder, max(width - 5, 1))) if empty else line
        return [f"  {theme.paint('prompt', '›')} {text}"]

    def key(self, key: Key) -> bool:
        if key.name == "enter":
            self._finish(self.field.text)
            return True
        return self.field.key(key)


class TextArea:
    """Several lines, with the editing keys of the prompt."""

    hint = "enter accepts · alt+enter: new line · esc closes"

    def __init__(self, finish: Callable[[Any], None], text: str = "", placeholder: str = "") -> None:
        self.cursor: tuple[int, int] | None = (0, 2)
        self._finish = finish
        self._placeholder = one_line(placeholder)
        self._editing = EditKeys()
        self._scroll = Scroll()
        self._insert(text)

    def _insert(self, text: str) -> None:
        clean = visible(sanitize(text.replace("\r\n", "\n").replace("\r", "\n")))
        self._editing.buffer.insert(units_of(clean))

    def rows(self, art: LineArt, theme: Theme, width: int, height: int) -> list[str]:
        buffer = self._editing.buffer
        self._editing.width = max(width - 3, 1)
        seen = self._scroll.window(buffer, self._editing.width, max(min(height, _TEXT_ROWS), 1))
        self.cursor = (seen.row, seen.cell + 2)
        if buffer.empty and self._placeholder:
            return [theme.paint("muted", cut(f"  {self._placeholder}", width))]
        lines = ("".join(map(shown, buffer.lines[number][first:last])) for number, first, last in seen.rows)
        return [theme.paint("fg", cut(f"  {line}", width)) for line in lines]

    def key(self, key: Key) -> bool:
        buffer = self._editing.buffer
        if key.name == "enter":
            self._finish(buffer.text)
        elif key.name in ("alt+enter", "shift+enter", "ctrl+enter", "ctrl+j"):
            buffer.insert(["\n"])
        elif key.name == "paste":
            self._insert(key.text)
        elif key.printable:
            self._editing.other_key()
            buffer.insert(units_of(key.text), typed=True)
        elif key.name in ("up", "down"):
            self._editing.vertical(up=key.name == "up")
        else:
            return self._editing.key(key.name)
        return True


def inline(theme: Theme, parts: Sequence[tuple[str, bool]], width: int) -> str:
    """Choices on one row, the chosen one marked."""
    shown = (theme.selected(f" {text} ", cells(text) + 2) if chosen else f" {text} " for text, chosen in parts)
    return cut("".join(shown), width)
