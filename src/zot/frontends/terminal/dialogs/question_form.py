"""A question of an MCP server, field by field under the server's name.
Closing a field ends the form without an answer; an address is shown in full and opened only on a yes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zot.features.mcp.elicitation import Elicitation, QuestionField, read_answer
from zot.frontends.terminal.dialogs.dialog import CONFIRM, Dialog, Dialogs
from zot.frontends.terminal.dialogs.text_dialogs import TextPrompt
from zot.system.visible_text import escape_invisible
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList
from zot.tui.width import wrap

if TYPE_CHECKING:
    from zot.agent.tools.workspace import Workspace

_FILL, _DECLINE, _OPEN = "fill", "decline", "open"


class ChoiceDialog(Dialog[str]):
    """Choices with text above; the first is selected."""

    rank = CONFIRM
    unasked = True
    takes_text = False
    hint = "enter picks · esc closes"

    def __init__(self, title: str, above: list[str], choices: list[Choice], selected: str = "") -> None:
        super().__init__()
        self.title = title
        self._above = above
        self._list = SelectList(choices, filterable=False, selected=selected)
        self._count = len(choices)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("fg", row) for line in self._above for row in wrap(f"  {line}", width, "  ")]
        shown = max(min(self._count, height - 1), 1)
        return [*rows[: max(height - shown, 1)], *self._list.lines(theme, width, shown)]

    def key(self, key: Key) -> bool:
        if key.name == "enter":
            if (chosen := self._list.chosen) is not None:
                self.finish(chosen.value)
            return True
        return self._list.key(key)


class FieldPrompt(TextPrompt):
    """A text field, ranked as a question of a running turn."""

    rank = CONFIRM
    unasked = True

    def key(self, key: Key) -> bool:
        if key.name == "enter":
            self.finish(self.field.text)  # empty is also an answer
            return True
        return super().key(key)


class QuestionPrompts:
    """Shows a question of an MCP server and returns its answer; ``tell`` reports failures."""

    def __init__(self, notify: Callable[[str], None], dialogs: Dialogs, workspace: Workspace) -> None:
        self._notify = notify
        self._dialogs = dialogs
        self._workspace = workspace

    async def show(self, question: Elicitation) -> dict[str, Any]:
        return await (self._open(question) if question.url else self._fill(question))

    async def _open(self, question: Elicitation) -> dict[str, Any]:
        above = [one_line(question.message), escape_invisible(question.url)]
        choices = [Choice(_DECLINE, "no", ""), Choice(_OPEN, "open it in the browser", "")]
        answer = await self._dialogs.ask(ChoiceDialog(self._title(question), above, choices))
        if answer != _OPEN:
            return {"action": "decline" if answer == _DECLINE else "cancel"}
        from zot.features.login.browser import open_in_browser

        if not open_in_browser(question.url, self._workspace.free_environment()):
            self._notify(f"cannot open a browser; open the address yourself: {escape_invisible(question.url)}")
        return {"action": "accept"}

    async def _fill(self, question: Elicitation) -> dict[str, Any]:
        names = ", ".join(one_line(field.title or field.name) for field in question.fields)
        above = [one_line(question.message), *([f"it asks for: {names}"] if names else [])]
        choices = [Choice(_FILL, "answer it" if names else "yes", ""), Choice(_DECLINE, "no", "")]
        answer = await self._dialogs.ask(ChoiceDialog(self._title(question), above, choices))
        if answer != _FILL:
            return {"action": "decline" if answer == _DECLINE else "cancel"}
        content: dict[str, Any] = {}
        for field in question.fields:
            value = await self._field(question, field)
            if value is _CLOSED:
                return {"action": "cancel"}
            if value is not None:
                content[field.name] = value
        return {"action": "accept", "content": content}

    async def _field(self, question: Elicitation, field: QuestionField) -> Any:
        wrong = ""
        while True:
            typed = await self._typed(question, field, wrong)
            if typed is None:
                return _CLOSED
            try:
                return read_answer(field, typed)
            except ValueError as error:
                wrong = one_line(str(error))

    async def _typed(self, question: Elicitation, field: QuestionField, wrong: str) -> str | None:
        title = f"{self._title(question)}: {one_line(field.title or field.name)}"
        above = [line for line in (one_line(field.description), wrong) if line]
        if field.kind in ("choice", "yes"):
            pairs = field.choices or (("yes", "yes"), ("no", "no"))
            choices = [Choice(value, one_line(label), "") for value, label in pairs]
            return await self._dialogs.ask(ChoiceDialog(title, above, choices, field.default))
        if field.kind == "choices":
            above.append(f"some of {', '.join(one_line(value) for value, _ in field.choices)}, separated by commas")
        needed = "" if field.required else " · empty skips it"
        return await self._dialogs.ask(
            FieldPrompt(title, text=one_line(field.default), above=above, hint=f"enter accepts{needed} · esc closes")
        )

    def _title(self, question: Elicitation) -> str:
        return f"{one_line(question.server)} asks"


_CLOSED = object()
