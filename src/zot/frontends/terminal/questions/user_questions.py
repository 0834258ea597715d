"""Questions of the model, one after another: options under digits, the user's own words, or no answer with a comment.
It takes no answer in its first quarter of a second, so that typing chooses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zot.features.ask_user.questions import (
    LONGEST_ANSWER,
    QuestionAnswers,
    QuestionOption,
    UserQuestion,
    UserQuestions,
)
from zot.features.extensions.dialogs import DialogOption
from zot.frontends.terminal.dialogs.dialog import CONFIRM, DEAF_S, Dialog
from zot.frontends.terminal.dialogs.text_dialogs import Pager
from zot.frontends.terminal.extensions.dialog_controls import OptionList, TextArea, inline
from zot.frontends.terminal.screen.line_art import LineArt
from zot.system.visible_text import escape_invisible
from zot.tui.decision_text import decision_rows
from zot.tui.keys import Key
from zot.tui.width import cells, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from zot.tui.markdown import Painter
    from zot.tui.theme import Theme

_OWN, _DECLINE = "own", "decline"  # values of the last two rows; options have their number
_SPECIAL = frozenset((_OWN, _DECLINE))
_DIGITS = "123456789"
_LEAST = 3  # rows of the question that stay visible


class _Asked:
    """One question and its answer so far."""

    def __init__(self, question: UserQuestion) -> None:
        self.question = question
        self.chosen: list[int] = []
        self.own = ""

    @property
    def answers(self) -> tuple[str, ...]:
        labels = tuple(self.question.options[place].label for place in sorted(self.chosen))
        return (*labels, self.own) if self.own else labels


class QuestionsDialog(Dialog[QuestionAnswers]):
    """Left and right go to the other questions; enter on the last one sends the answers."""

    rank = CONFIRM
    unasked = True
    takes_text = False
    listens_after = DEAF_S
    answers = frozenset((*_DIGITS, "space"))

    def __init__(self, asked: UserQuestions, painter: Callable[[], Painter]) -> None:
        super().__init__()
        self._asked = [_Asked(question) for question in asked.questions]
        self._painter = painter
        self._pages = Pager()
        self._at = 0
        self._declining = False
        self._typed: TextArea | None = None
        self._list = self._options()
        self._begin()

    # --- one question

    def _begin(self) -> None:
        """Show the present question; one without options asks for text."""
        self._declining = False
        self._pages.top = 0
        self._list = self._options()
        self._typed = None
        if not self._now.question.options:
            self._type(self._now.own)

    @property
    def _now(self) -> _Asked:
        return self._asked[self._at]

    def _options(self) -> OptionList:
        now, question = self._now, self._now.question
        rows = [_row(place, option) for place, option in enumerate(question.options)]
        own = f": {escape_invisible(now.own)}" if now.own else ""
        rows.append(DialogOption(_OWN, f"{len(rows) + 1}  other, in my own words{own}"))
        rows.append(DialogOption(_DECLINE, f"{len(rows) + 1}  no answer, with a comment"))
        letters = {str(number): row.value for number, row in enumerate(rows, 1)}
        chosen = [str(place) for place in now.chosen]
        default = chosen if question.multiple else next(iter(chosen), _OWN if now.own else None)
        return OptionList(
            rows, self._accept, default=default, several=question.multiple, letters=letters, unmarked=_SPECIAL
        )

    def _accept(self, value: Any) -> None:
        """A row by its digit or by enter, or all marked rows."""
        multiple = self._now.question.multiple
        if value in (_OWN, _DECLINE):
            self._now.chosen = [int(place) for place in self._list.marked]
            self._declining = value == _DECLINE
            self._type("" if self._declining else self._now.own)
        elif multiple and isinstance(value, str):
            self._list.toggle(value)
        else:
            self._now.chosen = [int(place) for place in (value or self._under_cursor() if multiple else [value])]
            self._now.own = self._now.own if multiple else ""
            if self._now.answers:
                self._next()

    def _under_cursor(self) -> list[str]:
        """Enter with no mark and no text of the user's own answers with the row under the cursor."""
        row = self._list.selected
        return [] if row is None or self._now.own else [str(row.value)]

    def _type(self, text: str) -> None:
        hint = "why? may be empty" if self._declining else "your answer"
        self._typed = TextArea(self._written, text, hint)
        self.chosen = True  # letters belong to it

    def _written(self, value: Any) -> None:
        text = str(value).strip()[:LONGEST_ANSWER]
        if self._declining:
            self.finish(QuestionAnswers(declined=True, comment=text))
            return
        self._now.own = text
        if text or self._now.chosen or not self._now.question.options:
            self._next()
        else:
            self._begin()

    def _next(self) -> None:
        if self._at + 1 < len(self._asked):
            self._go(1)
        else:
            self.finish(QuestionAnswers(tuple(each.answers for each in self._asked)))

    def _go(self, step: int) -> None:
        self._at = min(max(self._at + step, 0), len(self._asked) - 1)
        self._begin()

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        self.title = "zot asks" + (f" · {self._at + 1} of {len(self._asked)}" if len(self._asked) > 1 else "")
        self.hint = self._hint()
        return super().lines(theme, width, height)

    def _hint(self) -> str:
        others = " · ←→ other questions" if len(self._asked) > 1 else ""
        if self._typed is not None:
            back = "esc goes back" if self._now.question.options else "esc closes without an answer"
            return f"enter accepts · alt+enter: new line · {back}"
        marks = "space marks · enter accepts" if self._now.question.multiple else "1–9 or enter answers"
        return f"{marks}{others} · esc gives no answer"

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        art = LineArt(self._painter())
        tabs = [self._tabs(theme, width)] if len(self._asked) > 1 and height > _LEAST + 2 else []
        control = self._typed or self._list
        room = max(height - len(tabs) - _LEAST, 1)
        below = control.rows(art, theme, width, room) if self._typed else self._described(art, theme, width, room)
        question = decision_rows(self._now.question.question, "fg", theme, max(width - 4, 1))
        above = self._pages.show(question, max(height - len(tabs) - len(below), 1))
        cursor = control.cursor
        self.cursor = None if cursor is None else (len(tabs) + len(above) + cursor[0], cursor[1])
        return [*tabs, *(f"  {row}" for row in above), *below]

    def _tabs(self, theme: Theme, width: int) -> str:
        names = [
            (f"{'✓' if each.answers else '○'} {escape_invisible(each.question.header) or place + 1}", place == self._at)
            for place, each in enumerate(self._asked)
        ]
        return f"  {inline(theme, names, width - 2)}"

    def _described(self, art: LineArt, theme: Theme, width: int, room: int) -> list[str]:
        """The options; the description of the selected one in full where it is cut."""
        rows = self._list.rows(art, theme, width, room)
        chosen, left = self._list.selected, room - len(rows)
        detail = "" if chosen is None else chosen.description
        mark = "[ ] " * self._now.question.multiple
        if chosen is None or not detail or left < 1 or cells(f"› {mark}{chosen.label}  {detail}") <= width:
            return rows
        return [*rows, *(theme.paint("muted", row) for row in wrap(f"    {detail}", width, "    ")[:left])]

    # --- keys

    def key(self, key: Key) -> bool:
        if self.is_new:
            return True
        if self._typed is not None:
            return self._typing_key(self._typed, key)
        if key.name in ("esc", "ctrl+c"):
            self.finish(QuestionAnswers(declined=True))
        elif key.name in ("left", "right", "tab", "shift+tab"):
            self._go(1 if key.name in ("right", "tab") else -1)
        elif key.name in ("pageup", "pagedown"):
            self._pages.key(key)
        elif key.name in ("enter", "space") and (row := self._list.selected) is not None and row.value in _SPECIAL:
            self._accept(row.value)
        else:
            return self._list.key(key)
        return True

    def _typing_key(self, typed: TextArea, key: Key) -> bool:
        if key.name not in ("esc", "ctrl+c"):
            return typed.key(key)
        if self._now.question.options:
            self._begin()
        else:
            self.finish(QuestionAnswers(declined=True))
        return True


def _row(place: int, option: QuestionOption) -> DialogOption:
    label = f"{place + 1}  {escape_invisible(option.label)}"
    return DialogOption(str(place), label, escape_invisible(option.description))
