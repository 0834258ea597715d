"""A question of an extension. zot draws the first row, ``extension NAME asks``, from the first column; everything of
the extension is indented, so that nothing of it looks like zot's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zot.features.extensions.dialogs import DialogAnswer, DialogOption, ExtensionDialog
from zot.frontends.terminal.dialogs.dialog import ASKED, WAITS, Dialog
from zot.frontends.terminal.dialogs.text_dialogs import Pager
from zot.frontends.terminal.extensions.dialog_controls import Control, OptionList, TextArea, TextLine
from zot.frontends.terminal.extensions.dialog_form import FormControl
from zot.frontends.terminal.screen.line_art import LineArt
from zot.system.visible_text import escape_invisible
from zot.tui.sanitize import one_line
from zot.tui.width import RESET, cells, cut, wrap
from zot.wire.lines import Span

if TYPE_CHECKING:
    from zot.tui.keys import Key
    from zot.tui.markdown import Painter
    from zot.tui.theme import Theme

_LEAST = 3  # rows of the control that stay visible below a long message
_OPEN, _DONE = "open", "done"


class ExtensionDialogBox(Dialog[DialogAnswer]):
    """``open_url`` opens an address for the user; ``project`` is for links."""

    rank = ASKED
    unasked = True
    foreign = True

    def __init__(
        self, question: ExtensionDialog, painter: Callable[[], Painter], open_url: Callable[[str], None]
    ) -> None:
        super().__init__()
        self._question = question
        self._painter = painter
        self._open_url = open_url
        self._control = self._made()
        self._pages = Pager()
        self.animated = question.until is not None

    def _made(self) -> Control:
        asked = self._question.params
        match asked.kind:
            case "confirm":
                labels = (("yes", asked.yes or "yes"), ("no", asked.no or "no"))
                options = [DialogOption(value, label) for value, label in labels]
                default = "yes" if asked.default is True else "no"
                return OptionList(options, self._confirmed, default=default, letters={"y": "yes", "n": "no"})
            case "select":
                return OptionList(asked.options, self._answer, default=asked.default)
            case "choose":
                return OptionList(asked.options, self._answer, default=asked.default, several=True)
            case "input":
                return TextLine(self._answer, asked.text or _text(asked.default), asked.placeholder)
            case "editor":
                return TextArea(self._answer, asked.text or _text(asked.default), asked.placeholder)
            case "form":
                return FormControl(asked.fields, self._answer, asked.default)
            case "url":
                options = [
                    DialogOption(_OPEN, "open it in the browser"),
                    DialogOption(_DONE, "done: it is open elsewhere"),
                    DialogOption("", "cancel"),
                ]
                return OptionList(options, self._url_chosen, letters={"o": _OPEN})

    # --- answers

    def _answer(self, value: Any) -> None:
        self.finish(DialogAnswer(value))

    def _confirmed(self, value: str) -> None:
        self._answer(value == "yes")

    def _url_chosen(self, value: str) -> None:
        if not value:
            self.finish(DialogAnswer(cancelled=True))
            return
        if value == _OPEN:
            self._open_url(self._question.params.url)
        self._answer(True)

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        head = [frame_row(theme, self._question.extension, "asks", width)]
        head += [cut(f"  {row}", width) for row in self._title(width)[: max(height - 5, 1)]]
        if height >= 7:
            hint = theme.paint("warning", WAITS) if self.waits else theme.paint("muted", self._hint())
            head.append(cut(f"  {hint}", width))
        self.body_at = len(head)
        body = self.rows(theme, width, max(height - len(head) - 1, 1))
        return [*head, *body, theme.paint("border", "━" * width)]

    def _title(self, width: int) -> list[str]:
        span = Span(one_line(self._question.params.title), "bold")
        return LineArt(self._painter()).rows((span,), max(width - 2, 1))[:4]

    def _hint(self) -> str:
        until = self._question.until
        left = max(until - asyncio.get_running_loop().time(), 0) if until is not None else 0
        seconds = f"{int(left + 0.99)} s left · " if until is not None else ""
        pages = "" if self._pages.whole else "ctrl+up, ctrl+down read on · "
        return f"{seconds}{pages}{self._control.hint}"

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        art, inner = LineArt(self._painter()), max(width - 2, 1)
        message = [f"  {row}" if row else "" for row in art.all_rows(self._question.message, inner)]
        if address := self._question.params.url if self._question.params.kind == "url" else "":
            message += [theme.paint("link", row) for row in wrap(f"  {escape_invisible(address)}", width, "  ")]
        control = self._control.rows(art, theme, inner, max(height - len(message), min(_LEAST, height)))
        above = self._pages.show(message, height - len(control)) if height > len(control) and message else []
        cursor = self._control.cursor
        self.cursor = None if cursor is None or self.waits else (len(above) + cursor[0], cursor[1] + 2)
        return [*above, *(f"  {row}" for row in control)]

    def key(self, key: Key) -> bool:
        if key.name in ("ctrl+up", "ctrl+down") and not self._pages.whole:
            self._pages.go(self._pages.top + (1 if key.name == "ctrl+down" else -1))
            return True
        return self._control.key(key)


def frame_row(theme: Theme, extension: str, what: str, width: int) -> str:
    """``━━ extension NAME asks ━━━``, which only zot draws: reversed, and from the first column on."""
    text = cut(f" extension {one_line(extension)} {what} ", max(width - 4, 1))
    rest = max(width - 2 - cells(text), 0)
    label = f"{theme.sgr('warning')}\x1b[7;1m{text}{RESET}"
    return cut(theme.paint("border", "━━") + label + theme.paint("border", "━" * rest), width)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
