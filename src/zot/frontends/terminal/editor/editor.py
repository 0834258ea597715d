"""The prompt's editor: multi-line text with a cursor, independent of the agent.
``key`` edits and returns whether it used the key, ``view`` is the rows to draw, enter passes the text to ``on_submit``.
While a popup is open, ``popup_key`` gets keys first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from zot.errors import ZotError
from zot.frontends.terminal.editor.chips import Chip, ChipMaker, expanded, paste_spans, recognised, with_mentions
from zot.frontends.terminal.editor.edit_keys import BINDINGS, BY_KEY, EditKeys
from zot.frontends.terminal.editor.editor_host import EditorHost
from zot.frontends.terminal.editor.popups import Popups
from zot.frontends.terminal.editor.submission import Submitted, clean, image_file, is_command, pasted, submission
from zot.provider.messages import ImageBlock
from zot.system.files import find_program, make_private_dir, zot_home
from zot.system.safe_open import create, read_whole
from zot.system.temp_files import KEPT_S, remove_older
from zot.tui.keys import Key
from zot.tui.text_buffer import Position, units_of
from zot.tui.text_layout import Scroll, shown
from zot.tui.theme import Theme
from zot.tui.width import cells, cut

if TYPE_CHECKING:
    from zot.frontends.terminal.editor.decorations import Decorations
    from zot.frontends.terminal.editor.modal_keys import ModalKeys
    from zot.frontends.terminal.editor.prompt_history import HistoryWalk, PromptHistory
    from zot.frontends.terminal.editor.vi import ViKeys
    from zot.wire.lines import Line

_FALLBACKS = ("nano", "vim", "vi")


async def open_external_editor(editor: Editor) -> None:
    """Raises ZotError and keeps the draft if there is no editor or it failed."""
    directory = zot_home() / "drafts"
    make_private_dir(directory)
    remove_older(directory, KEPT_S)  # left by a zot that was killed while the editor was open
    path = directory / f"draft-{os.urandom(4).hex()}.md"
    with os.fdopen(create(path), "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(editor.text)
    try:
        command = editor_command(os.environ)
        argv = [*command, str(path)]
        code = await editor.around.lend_terminal(argv)
        if code:
            raise ZotError(f"{os.path.basename(argv[0])} exited with {code}; the draft is unchanged")
        text = read_whole(path).decode("utf-8", "replace")
    except OSError as error:
        raise ZotError(f"cannot edit the draft in another program: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            path.unlink()
    chips = [unit for unit in editor.buffer.units() if isinstance(unit, Chip)]
    editor.set_units(recognised(clean(text).rstrip("\n"), chips))
    editor.around.changed()


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """``$VISUAL``, ``$EDITOR``, or an installed editor; the first word is an absolute path."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(name, ""))
        except ValueError as error:
            raise ZotError(f"cannot parse ${name}: {error}") from error
        if not words:
            continue
        program = words[0] if os.path.isabs(words[0]) else find_program(words[0])
        if program is None:
            raise ZotError(f"${name}: {words[0]} was not found on PATH")
        return [program, *words[1:]]
    found = next((program for name in _FALLBACKS if (program := find_program(name))), None)
    if found is None:
        raise ZotError("no editor found; set $VISUAL or $EDITOR")
    return [found]


__all__ = ["Editor", "EditorView", "Submitted"]

_LONGEST_INSERT = 20_000  # characters


class EditorView(NamedTuple):
    lines: list[str]
    row: int
    column: int


class Editor:
    def __init__(self, around: EditorHost | None = None) -> None:
        self.on_submit: Callable[[Submitted], None] = lambda submitted: None
        self.on_steer: Callable[[Submitted], None] = lambda submitted: None
        self.around = around or EditorHost()
        self.editing = EditKeys()
        self.buffer = self.editing.buffer
        self.chips = ChipMaker()
        self._popups = Popups(self)
        self._scroll = Scroll()
        self._history: PromptHistory | None = None
        self._walk: HistoryWalk | None = None
        self._vi: ViKeys | None = None
        self.keymap: ModalKeys | None = None  # of an extension; the next two as well
        self.decorations: Decorations | None = None
        self._written: tuple[str, int] | None = None  # an extension, and the revision of its text
        self.foreign = False  # an extension put text into this draft

    # --- the text

    @property
    def text(self) -> str:
        """The displayed text, with chips as labels."""
        return self.buffer.text

    @property
    def empty(self) -> bool:
        return self.buffer.empty

    def insert(self, text: str) -> None:
        """Insert sanitized text at the cursor; very long text becomes a chip."""
        text = clean(text)
        long = len(text) > _LONGEST_INSERT
        self.insert_units([self.chips.pasted(text, f"{len(text)} chars")] if long else units_of(text))

    def insert_units(self, units: Sequence[str]) -> None:
        self._changing()
        self.buffer.insert(units)
        self._popups.refresh()

    def write(self, extension: str, text: str, cursor: int | None = None) -> None:
        """Text of an extension in place of the draft; undo restores it."""
        self.set_text(text)
        if cursor is not None:
            self.buffer.move(_position(self.buffer.lines, cursor))
        self._written, self.foreign = (extension, self.buffer.revision), True

    def write_at_cursor(self, extension: str, text: str) -> None:
        """Text of an extension as a paste."""
        only = self.empty or self.written_by == extension
        self._changing()
        self.buffer.insert(pasted(text, self.chips, lambda path: None))
        self._popups.refresh()
        self.foreign = True
        if only:
            self._written = (extension, self.buffer.revision)

    @property
    def written_by(self) -> str:
        """The extension whose text this is, unless the user changed it."""
        return self._written[0] if self._written is not None and self._written[1] == self.buffer.revision else ""

    @property
    def cursor_offset(self) -> int:
        """Characters before the cursor."""
        at = self.buffer.cursor
        return sum(sum(map(len, line)) + 1 for line in self.buffer.lines[: at.line]) + sum(
            map(len, self.buffer.line[: at.column])
        )

    def replace_word(self, start: Position, text: str) -> None:
        """Put a completed word in the place of what is typed before the cursor."""
        self.editing.other_key()
        self.buffer.replace(start, self.buffer.cursor, [*units_of(clean(text).replace("\n", " ").rstrip()), " "])

    def set_text(self, text: str) -> None:
        self.set_units(self.chips.units(clean(text)))

    def set_units(self, units: Sequence[str]) -> None:
        """Replace the text; undo restores it."""
        self._changing()
        self.buffer.replace(Position(0, 0), self.buffer.end, units)
        self._popups.refresh()

    def clear(self) -> None:
        """Clear the editor; undo restores the text."""
        self.set_units(())
        self.chips.restart()

    def set_aside(self) -> None:
        """Clear the editor but add the text to the history. In vi mode esc never clears."""
        if self.empty or self.vi is not None:
            return
        self._add_to_history(self.buffer.units())
        self.clear()

    def give_back(self, prompts: Sequence[tuple[str, Sequence[ImageBlock]]]) -> None:
        """Put submitted text before the draft, with images."""
        units: list[str] = []
        for text, images in prompts:
            units += [*(["\n"] if units else []), *self.chips.given_back(clean(text), images)]
        draft = self.buffer.units()
        if units:
            self.set_units([*units, *(["\n", *draft] if draft else [])])
            self.around.changed()  # nothing else may trigger a repaint

    def _changing(self) -> None:
        self.editing.other_key()
        if self._walk is not None:
            self._walk.leave()

    # --- keys

    def key(self, key: Key) -> bool:
        if (self.modal is not None and self.modal.key(key)) or self._history_key(key.name):
            used = True
        else:
            before = self.buffer.revision
            used = self._edit(key)
            if self._walk is not None and self.buffer.revision != before:
                self._walk.leave()
        if used:
            self._popups.refresh()
        return used

    def _edit(self, key: Key) -> bool:
        if key.printable:
            self.editing.other_key()
            self.buffer.insert(units_of(key.text), typed=True)
        elif key.name == "paste":
            self.editing.other_key()
            self.buffer.insert(pasted(key.text, self.chips, self._image_of))
        elif (action := _ACTIONS.get(key.name)) is not None:
            self.editing.other_key()
            action(self)
        else:
            return self.editing.key(key.name)
        return True

    def popup_key(self, key: Key) -> bool:
        return self._popups.key(key)

    def escape(self) -> bool:
        """Close an open popup or end vi's insert mode; true if there was one."""
        return self._popups.escape() or (self.modal is not None and self.modal.escape())

    def newline(self) -> None:
        self.buffer.insert(["\n"])

    def enter(self) -> None:
        """Submit, unless a backslash before the cursor requests a new line."""
        cursor = self.buffer.cursor
        if cursor.column and self.buffer.line[cursor.column - 1] == "\\" and cursor == self.buffer.end:
            self.buffer.replace(Position(cursor.line, cursor.column - 1), cursor, ["\n"])
        elif submitted := self._take():
            self.on_submit(submitted)

    def steer(self) -> None:
        """Submit into the running turn."""
        if submitted := self._take():
            self.on_steer(submitted)

    def send(self, text: str) -> None:
        """Submit a text as if typed."""
        self.buffer.reset(units_of(text))
        if submitted := self._take():
            self.on_submit(submitted)

    def submit_text(self, text: str) -> None:
        """Submit a text as if typed, without changing the draft."""
        units = units_of(clean(text))
        submitted = self._submission(units)
        if submitted is not None:
            self._add_to_history(units)
            self.on_submit(submitted)

    def _submission(self, units: Sequence[str]) -> Submitted | None:
        try:
            return submission(units, self.around.jailed_files(), self.around.cwd)
        except ZotError as error:
            self.around.error(str(error))
            return None

    def _image_of(self, path: str) -> ImageBlock | None:
        try:
            return image_file(path, self.around.jailed_files())
        except ZotError as error:
            self.around.error(str(error))
            return None

    def _take(self) -> Submitted | None:
        units = self.buffer.units()
        submitted = self._submission(units)
        if submitted is not None:
            self._add_to_history(units)
            self.foreign = False
            self.buffer.reset()
            self.chips.restart()
            self._changing()
            self._popups.refresh()
        return submitted

    # --- history

    def _add_to_history(self, units: Sequence[str]) -> None:
        units = units if is_command(units) else with_mentions(units)
        self.history.add(expanded(units), paste_spans(units))

    @property
    def history(self) -> PromptHistory:
        if self._history is None:
            self._history = self.around.history()
        return self._history

    @property
    def walking(self) -> bool:
        return self._walk is not None and self._walk.under_way

    def walk(self) -> HistoryWalk:
        if self._walk is None:
            from zot.frontends.terminal.editor.prompt_history import HistoryWalk

            self._walk = HistoryWalk(self.history, self.buffer, self.chips)
        return self._walk

    def _history_key(self, name: str) -> bool:
        """Up and down past the edge of the text; left and right from an empty editor."""
        if name in ("up", "down", "ctrl+p", "ctrl+n"):
            up = name in ("up", "ctrl+p")
            self.vertical(up=up)
            return True
        sideways = self.walking and self.walk().sideways
        if name not in ("left", "right") or not (self.empty or sideways):
            if sideways:
                self.walk().leave()
            return False
        moved = self.walk().older() if name == "left" else self.walk().newer()
        self.walk().sideways = self.walking
        return moved or sideways

    def vertical(self, *, up: bool) -> None:
        if self.editing.vertical(up=up):
            return
        walk = self.walk()
        if walk.older() if up else walk.newer():
            self.editing.other_key()

    # --- vi

    @property
    def vi(self) -> ViKeys | None:
        """Present if the setting enables it."""
        if self.around.vi_mode and self._vi is None:
            from zot.frontends.terminal.editor.vi import ViKeys

            self._vi = ViKeys(self)
        return self._vi if self.around.vi_mode else None

    @property
    def modal(self) -> ViKeys | ModalKeys | None:
        """vi, or the keymap of an extension."""
        return self.vi or self.keymap

    @property
    def mode_label(self) -> Line:
        """Of an extension's keymap."""
        return self.keymap.label if self.keymap is not None and self.vi is None else ()

    # --- external programs

    def search_history(self) -> None:
        self._popups.search_history()

    def edit_outside(self) -> None:

        self.around.spawn(open_external_editor(self))

    def attach_clipboard(self) -> None:
        from zot.frontends.terminal.editor.clipboard import attach_image

        self.around.spawn(attach_image(self))

    # --- rows

    def key_help(self) -> list[tuple[str, str]]:
        """Keys and descriptions for ``/help``."""
        return [*_HELP, *((", ".join(binding.keys), binding.help) for binding in BINDINGS)]

    def has_key(self, name: str) -> bool:
        """True for the editor's own keys, those of popups and of the history among them."""
        return name in BY_KEY or name in _ACTIONS or name in ("ctrl+p", "ctrl+n", "alt+i", "esc", "tab")

    @property
    def has_popup(self) -> bool:
        return self._popups.visible

    def popup(self, theme: Theme, width: int, height: int) -> list[str]:
        return self._popups.lines(theme, width, height)

    def view(self, theme: Theme, width: int, height: int, *, placeholder: str = "") -> EditorView:
        """At most ``height`` rows around the cursor; ``placeholder`` is shown without text."""
        self.editing.width = max(width - 3, 1)
        window = self._scroll.window(self.buffer, self.editing.width, max(height, 1))
        mark = "▌ " if self.vi is None or not self.vi.normal else f"{self.vi.selecting or ':'} "
        prompt = theme.paint("prompt", mark)
        selected = self.vi.selection if self.vi is not None else None
        if self.decorations is not None:
            self.decorations.begin()
        lines: list[str] = []
        for number, first, last in window.rows:
            line = self.buffer.lines[number]
            hanging = last < len(line) and line[last - 1] == " "  # it may not fit and is not visible
            row = _row(line[first : last - hanging], theme)
            if selected is not None:
                row = _selected_row(line, first, last - hanging, theme, columns_of(selected, number, len(line)))
            elif self.decorations is not None:
                row = self.decorations.row(line, first, last - hanging) or row
            lines.append((prompt if number == first == 0 else "  ") + row)
        if placeholder and self.empty:
            lines = [cut(prompt + theme.paint("muted", placeholder), max(width - 1, 1))]
        return EditorView(lines, window.row, window.cell + 2)


def _position(lines: Sequence[Sequence[str]], offset: int) -> Position:
    """The position behind so many characters."""
    for number, line in enumerate(lines):
        for column, unit in enumerate(line):
            if offset <= 0:
                return Position(number, column)
            offset -= len(unit)
        if offset <= 0:
            return Position(number, len(line))
        offset -= 1
    return Position(len(lines) - 1, len(lines[-1]))


def _row(units: list[str], theme: Theme) -> str:
    text = "".join(units)
    if len(text) == len(units) and "\t" not in text:  # no chips, as in most rows
        return text
    return "".join(theme.paint("accent", unit) if isinstance(unit, Chip) else shown(unit) for unit in units)


def columns_of(span: tuple[Position, Position], number: int, length: int) -> tuple[int, int]:
    """Columns of a line inside a span."""
    start, end = span
    first = start.column if number == start.line else 0 if start.line < number else length
    last = end.column if number == end.line else length if number < end.line else 0
    return first, last


def _selected_row(line: Sequence[str], first: int, last: int, theme: Theme, chosen: tuple[int, int]) -> str:
    """A row with its selected part highlighted."""
    begin, end = min(max(chosen[0], first), last), max(min(chosen[1], last), first)
    if begin >= end:
        return _row(list(line[first:last]), theme)
    middle = "".join(shown(unit) for unit in line[begin:end])
    return "".join(
        (_row(list(line[first:begin]), theme), theme.selected(middle, cells(middle)), _row(list(line[end:last]), theme))
    )


_ACTIONS: dict[str, Callable[[Editor], None]] = {
    "enter": Editor.enter,
    **dict.fromkeys(("alt+enter", "shift+enter", "ctrl+enter", "ctrl+j"), Editor.newline),
    "ctrl+r": Editor.search_history,
    "ctrl+g": Editor.edit_outside,
    "ctrl+v": Editor.attach_clipboard,
}

_HELP = (
    ("enter", "send; while zot works: queue"),
    ("alt+enter, shift+enter, ctrl+j", "new line, as is \\ before enter"),
    ("up, down", "move by row; past the edge: earlier prompts"),
    ("ctrl+r", "search earlier prompts"),
    ("@, !@", "attach a file; with ! it must fit"),
    ("tab", "complete the path before the cursor"),
    ("ctrl+g", "edit in $VISUAL or $EDITOR"),
    ("ctrl+v", "attach an image from the clipboard"),
)
