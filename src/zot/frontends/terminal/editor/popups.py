"""The popups above the editor: completion of commands and files, search of the history.
At most one is open, decided by the text after every key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zot.frontends.terminal.editor.path_completion import OFFER, RESOURCE, ROWS
from zot.tui.fuzzy import Pattern
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.text_buffer import Position, TextBuffer, Token, units_of
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList, TextField
from zot.tui.width import cut

if TYPE_CHECKING:
    from zot.features.extensions.completion import OfferedItem
    from zot.frontends.terminal.editor.editor import Editor
    from zot.frontends.terminal.editor.extension_completion import ExtensionCompletion, OfferPopup, TypedWord
    from zot.frontends.terminal.editor.file_picker import FilePicker
    from zot.frontends.terminal.editor.path_completion import PathCompletion
    from zot.frontends.terminal.editor.slash_popup import SlashPopup

_BEGINNING = 200  # characters of a prompt that fuzzy search covers


class HistorySearch:
    """``take`` gets the chosen text; ``close`` is called at the end."""

    def __init__(self, entries: Sequence[str], query: str, take: Callable[[str], None], close: Callable[[], None]):
        self._entries = list(reversed(entries))
        self._take = take
        self._close = close
        self._field = TextField(query)
        self._list = SelectList((), filterable=False)
        self._search()

    @property
    def visible(self) -> bool:
        return True

    def key(self, key: Key) -> bool:
        if key.name in ("enter", "tab"):
            chosen = self._list.chosen
            self._close()
            if chosen is not None:
                self._take(self._entries[int(chosen.value)])
        elif key.name in ("esc", "ctrl+c", "ctrl+g"):
            self._close()
        elif key.name in ("ctrl+r", "ctrl+s"):
            self._list.key(Key("down" if key.name == "ctrl+r" else "up"))
        elif key.name not in ("home", "end") and self._list.key(key):
            pass
        elif self._field.key(key):
            self._search()
        return True

    def escape(self) -> None:
        self._close()

    def _search(self) -> None:
        """Newest first: prompts with the words, or else with the letters in order."""
        query, pattern = self._field.text.lower(), Pattern(self._field.text)
        words = query.split()
        found = [number for number, text in enumerate(self._entries) if _has_all(words, text.lower())]
        if not found:
            ranked = [(pattern.rank(text[:_BEGINNING]), number) for number, text in enumerate(self._entries)]
            found = [number for _, number in sorted((r, n) for r, n in ranked if r is not None)]
        rows = [Choice(str(number), cut(one_line(self._entries[number][:1000]), 500)) for number in found]
        self._list = SelectList(rows, filterable=False, found=pattern)

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        text, _ = self._field.line(theme, max(width - 12, 4))
        head = f"  {theme.paint('accent', 'history:')} {text}▏"
        return [cut(head, width), *self._list.lines(theme, width, max(min(height - 1, ROWS), 1))]


def _has_all(words: Sequence[str], lower: str) -> bool:
    return all(word in lower for word in words)


_LONGEST = 256  # maximum length of a typed path, since each key checks it


class Popup(Protocol):
    """While ``visible``, ``key`` gets keys first and returns whether it used one; ``escape`` is esc."""

    @property
    def visible(self) -> bool: ...

    def key(self, key: Key) -> bool: ...

    def escape(self) -> None: ...

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        """At most ``height`` rows."""
        ...


class Popups:
    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._search: HistorySearch | None = None
        self._slash: SlashPopup | None = None
        self._picker: FilePicker | None = None
        self._mention: FileMention | None = None
        self._paths: PathCompletion | None = None
        self._open: Popup | None = None
        self._completion: ExtensionCompletion | None = None
        self._offers: OfferPopup | None = None
        self._word: TypedWord | None = None  # that extensions complete

    def refresh(self) -> None:
        """After a key: open, update or close. None opens while the history is walked."""
        buffer, walking = self._editor.buffer, self._editor.walking
        commands = self._commands("" if walking else slash_text(buffer))
        self._mention = None if walking or commands is not None else file_mention(buffer)
        if self._paths is not None and not self._paths.visible:
            self._paths = None
        word = None if walking or commands is not None else self._offered_word()
        self._open = self._search or self._paths or commands or self._files() or self._offered(word)
        if self._completion is not None and word is None and self._slash is None:
            self._completion.stop()

    def key(self, key: Key) -> bool:
        if not self.visible or self._open is None:
            return key.name == "tab" and self.complete_path()
        used = self._open.key(key)
        if used:
            self.refresh()
        return used

    def escape(self) -> bool:
        if not self.visible or self._open is None:
            return False
        self._open.escape()
        self.refresh()
        return True

    @property
    def visible(self) -> bool:
        return self._open is not None and self._open.visible

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        return self._open.lines(theme, width, height) if self._open is not None and self._open.visible else []

    # --- commands

    def _commands(self, typed: str) -> SlashPopup | None:
        if not typed:
            self._slash = None
            return None
        if self._slash is None:
            # imported when first opened, so that the first paint does not wait
            from zot.frontends.terminal.editor.slash_popup import PopupActions, SlashPopup

            editor = self._editor
            actions = PopupActions(editor.set_text, editor.send, editor.clear)
            self._slash = SlashPopup(editor.around.commands(), actions, self._arguments)
        self._slash.update(typed)
        return self._slash if self._slash.visible else None

    # --- extensions

    def _arguments(self, command: str, typed: str) -> Sequence[Choice]:
        """Of an extension's command."""
        return self.completion.arguments(command, typed) if self.completion is not None else ()

    @property
    def completion(self) -> ExtensionCompletion | None:
        """Completion by extensions; None without any."""
        if self._completion is None and (source := self._editor.around.completion()) is not None:
            from zot.frontends.terminal.editor.extension_completion import ExtensionCompletion  # few extensions do

            self._completion = ExtensionCompletion(source, self._editor.around.spawn, self._items_came)
        return self._completion

    def _items_came(self) -> None:
        if self._slash is not None:
            self._slash.renew()
        if self._picker is not None and self._mention is not None:
            self._picker.renew()
        self.refresh()
        self._editor.around.changed()

    def _offered_word(self) -> TypedWord | None:
        completion = self.completion
        self._word = None if completion is None else completion.word(self._editor.buffer)
        return self._word

    def _offered(self, word: TypedWord | None) -> OfferPopup | None:
        if word is None or word.trigger == "@" or self._completion is None:
            return None
        if self._offers is None:
            from zot.frontends.terminal.editor.extension_completion import OfferPopup

            self._offers = OfferPopup(self._take_offer)
        self._offers.update(word, self._items_of(word))
        return self._offers

    def _items_of(self, word: TypedWord) -> Sequence[OfferedItem]:
        buffer = self._editor.buffer
        before = "".join(buffer.line[: buffer.cursor.column])
        return self._completion.offers(word, before) if self._completion is not None else ()

    def _offered_beside_files(self) -> Sequence[OfferedItem]:
        word = self._word
        return self._items_of(word) if word is not None and word.trigger == "@" else ()

    def _take_offer(self, item: OfferedItem) -> None:
        if self._word is None:
            return
        buffer = self._editor.buffer
        start, end = self._word.start, buffer.cursor
        if item.replace is not None:
            start = Position(end.line, max(end.column - item.replace, 0))
        self._editor.replace_word(start, item.value)

    # --- paths

    def complete_path(self) -> bool:
        """Tab: complete the path before the cursor, or list candidates; true if there is a path."""
        from zot.frontends.terminal.editor.path_completion import PathCompletion, common, completions, typed_path

        buffer = self._editor.buffer
        typed = typed_path(buffer)
        mark = typed[: typed.startswith("!")] if buffer.cursor.line == 0 and len(typed) == buffer.cursor.column else ""
        typed = typed.removeprefix(mark)
        found = completions(self._editor.around.cwd, buffer, typed) if typed else []
        if not found:
            return False
        if len(common(found)) > len(typed) or len(found) == 1:
            self._write_path(typed, found[0] if len(found) == 1 else common(found))
        else:
            self._paths = PathCompletion(typed, found, lambda path: self._write_path(typed, path))
        self.refresh()
        return True

    def _write_path(self, typed: str, path: str) -> None:
        buffer = self._editor.buffer
        start = Position(buffer.cursor.line, buffer.cursor.column - len(units_of(typed)))
        buffer.replace(start, buffer.cursor, units_of(path))

    # --- files

    def _files(self) -> FilePicker | None:
        if self._mention is None:
            if self._picker is not None:
                self._picker.close()
            return None
        if self._picker is None or self._picker.root != self._editor.around.cwd:
            from zot.frontends.terminal.editor.file_picker import FilePicker, PickerActions

            around = self._editor.around
            actions = PickerActions(self._retype, self._take, lambda: self._put([]), around.changed, around.spawn)
            self._picker = FilePicker(around.cwd, actions, around.resources, self._offered_beside_files)
        self._picker.update(self._mention.typed, files_only=self._mention.content)
        return self._picker

    def _retype(self, typed: str) -> None:
        mark = "!@" if self._mention is not None and self._mention.content else "@"
        self._put(units_of(mark + typed))

    def _take(self, path: str) -> None:
        from zot.features.file_blocks import is_outside
        from zot.frontends.terminal.editor.path_completion import chip_outside

        if path.startswith(OFFER):
            self._take_offer(self._offered_beside_files()[int(path.removeprefix(OFFER))])
            return
        if path.startswith(RESOURCE):
            self._put([*units_of(f"@{path.removeprefix(RESOURCE)}"), " "])
            return
        chips, root = self._editor.chips, self._editor.around.cwd
        content = self._mention is not None and self._mention.content
        if is_outside(path):
            chip = chip_outside(root, path, content=content)
        else:
            chip = chips.content(root, path) if content else chips.picked(root, path)
        self._put([chip, " "])

    def _put(self, units: list[str]) -> None:
        if self._mention is not None:
            self._editor.buffer.replace(self._mention.start, self._editor.buffer.cursor, units)

    # --- the history

    def search_history(self) -> None:

        editor = self._editor
        query = editor.text if len(editor.buffer.lines) == 1 else ""
        self._search = HistorySearch(editor.history.entries(), query, editor.set_text, self._end_search)

    def _end_search(self) -> None:
        self._search = None


class FileMention(NamedTuple):
    """``start`` is the position of the ``@`` or ``!@``, ``typed`` the text between it and the cursor."""

    start: Position
    typed: str
    content: bool


def slash_text(buffer: TextBuffer) -> str:
    """The text if it is a command being typed; else empty."""
    line = buffer.lines[0]
    if len(buffer.lines) > 1 or line[:1] != ["/"] or len(line) > _LONGEST or buffer.cursor.column < len(line):
        return ""
    return "" if any(isinstance(unit, Token) for unit in line) else "".join(line)


def file_mention(buffer: TextBuffer) -> FileMention | None:
    """The mention that ends at the cursor; an ``@`` after a letter, as in an address, does not count."""
    line, end = buffer.line, buffer.cursor.column
    for column in range(end - 1, max(end - _LONGEST, 0) - 1, -1):
        unit = line[column]
        if unit.isspace() or isinstance(unit, Token):
            return None
        if unit == "@":
            break
    else:
        return None
    content = column > 0 and line[column - 1] == "!"
    start = column - content
    if start and not line[start - 1].isspace():
        return None
    return FileMention(Position(buffer.cursor.line, start), "".join(line[column + 1 : end]), content)
