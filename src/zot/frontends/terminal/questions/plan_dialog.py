"""Asks about a plan: the rendered plan, then what follows. It can be edited in the user's editor first.
Closing it refuses; it takes no answer in its first quarter of a second, so that typing does not approve."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from zot.core.permission_modes import Mode, parse_mode
from zot.errors import ZotError, describe_error
from zot.features.extensions.dialogs import DialogOption
from zot.features.plan.plan_question import LONGEST_PLAN, PlanAnswer, PlanQuestion
from zot.frontends.terminal.dialogs.dialog import CONFIRM, DEAF_S, READING, Dialog
from zot.frontends.terminal.dialogs.text_dialogs import DetailPane
from zot.frontends.terminal.extensions.dialog_controls import OptionList, TextArea
from zot.frontends.terminal.screen.line_art import LineArt
from zot.system.visible_text import escape_invisible, escape_lines, has_invisible
from zot.tui import markdown
from zot.tui.keys import Key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from zot.tui.markdown import Painter
    from zot.tui.theme import Theme

_YES: dict[Mode, str] = {
    "ask": "yes, and ask before each change",
    "accept-edits": "yes, and accept edits in the project",
    "everything": "yes, and run everything without a question",
}
_REFUSE, _EDIT = "refuse", "edit"


class PlanDialog(Dialog[PlanAnswer]):
    """``edit`` opens the user's editor on a text and passes on the new one, if it changed."""

    rank = CONFIRM
    unasked = True
    takes_text = False
    listens_after = DEAF_S
    answers = frozenset("123456789ef")

    def __init__(
        self,
        question: PlanQuestion,
        painter: Callable[[], Painter],
        edit: Callable[[str, Callable[[str], None]], None],
    ) -> None:
        super().__init__()
        self._question = question
        self._painter = painter
        self._edit = edit
        self._plan = question.plan
        self._fresh = False
        self._comment: TextArea | None = None
        self._pane = self._rendered()
        self._list = self._options()

    def _rendered(self) -> DetailPane:
        text = "\n".join(escape_lines(self._plan))
        hidden = has_invisible(self._plan)
        return DetailPane(lambda theme, width: markdown.render(text, self._painter(), width), hidden=hidden)

    def _options(self) -> OptionList:
        choices = [
            *((mode, _YES[mode]) for mode in self._question.modes),
            (_EDIT, "edit the plan"),
            (_REFUSE, "no, keep planning: say what to change"),
        ]
        rows = [DialogOption(value, f"{number}  {label}") for number, (value, label) in enumerate(choices, 1)]
        letters = {str(number): row.value for number, row in enumerate(rows, 1)} | {"e": _EDIT}
        return OptionList(rows, self._choose, default=self._question.mode, letters=letters)

    # --- answers

    def _choose(self, value: str) -> None:
        mode = parse_mode(value)
        if mode is not None:
            changed = self._plan if self._plan != self._question.plan else None
            self.finish(PlanAnswer("approve", mode, self._fresh, changed))
        elif value == _EDIT:
            self._edit(self._plan, self._edited)
        else:
            self._comment = TextArea(self._refuse, placeholder="may be empty: then the turn ends")
            self.chosen = True

    def _refuse(self, comment: object) -> None:
        self.finish(PlanAnswer("refuse", comment=str(comment).strip()))

    def _edited(self, plan: str) -> None:
        self._plan = plan
        if not plan:
            self.finish(PlanAnswer("approve", self._question.mode, plan=""))  # counts as refused
            return
        self._pane, self._list = self._rendered(), self._options()

    # --- rows

    def lines(self, theme: Theme, width: int, height: int) -> list[str]:
        changed = " · edited" if self._plan != self._question.plan else ""
        self.title = f"carry out this plan?{changed}"
        fresh = "[x]" if self._fresh else "[ ]"
        self.hint = (
            "enter sends · alt+enter: new line · esc goes back"
            if self._comment is not None
            else f"enter answers · e edits · f {fresh} fresh context · esc keeps planning"
        )
        return super().lines(theme, width, height)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        control = self._comment or self._list
        below = control.rows(LineArt(self._painter()), theme, width, max(height // 2, 1))
        if self._comment is not None:
            below = [theme.paint("fg", "  what should change?"), *below]
        elif self._question.path and height > len(below) + 6:
            below = [theme.paint("muted", f"  saved in {escape_invisible(self._question.path)}"), *below]
        above = self._pane.rows(theme, width, max(height - len(below), 2))
        cursor = control.cursor
        self.cursor = None if cursor is None else (len(above) + 1 + cursor[0], cursor[1])
        return [*above, *below]

    # --- keys

    def key(self, key: Key) -> bool:
        if key.name in READING and self._comment is None:  # approves nothing, so it works from the start
            return self._pane.key(key)
        if self.is_new:
            return True
        if self._comment is not None:
            if key.name not in ("esc", "ctrl+c"):
                return self._comment.key(key)
            self._comment = None
        elif key.name in ("esc", "ctrl+c"):
            self.finish(PlanAnswer("refuse"))
        elif key.name == "f":
            self._fresh = not self._fresh
        else:
            return self._list.key(key)
        return True


async def edit_plan(
    plan: str, path: str, lend_terminal: Callable[[list[str]], Awaitable[int]], report: Callable[[str], None]
) -> str | None:
    """The plan as the user left it in ``$VISUAL`` or ``$EDITOR``; None if that failed, with a line that says why."""
    from zot.features.plan.plan_files import read_plan, save_plan
    from zot.frontends.terminal.editor.editor import editor_command
    from zot.system.files import zot_home

    try:
        command = editor_command(os.environ)
        file = await asyncio.to_thread(save_plan, zot_home(), plan, Path(path) if path else None)
        code = await lend_terminal([*command, str(file)])
        if code:
            raise ZotError(f"{os.path.basename(command[0])} exited with {code}; the plan is unchanged")
        text = await asyncio.to_thread(read_plan, file)
    except (ZotError, OSError) as error:
        report(f"cannot edit the plan: {describe_error(error)}")
        return None
    if len(text) > LONGEST_PLAN:
        report(f"the edited plan has {len(text):,} characters; at most {LONGEST_PLAN:,} are allowed")
        return None
    return text.strip()
