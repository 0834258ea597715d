"""The rows of ``/settings``: one line each in ROWS. What is chosen is stored at once and works from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.modes.interactive.commands.command import agent_of
from zot.agent.modes.interactive.dialogs.picker import Picker
from zot.errors import ZotError
from zot.tui.image import protocol
from zot.tui.sanitize import one_line
from zot.tui.widgets.select_list import Choice

if TYPE_CHECKING:
    from zot.agent.modes.interactive.app import App

Apply = Callable[["App"], None]


class Row(msgspec.Struct, frozen=True):
    """A setting with few values; ``apply`` makes a change work now, where reading the setting later is not enough."""

    key: str
    label: str
    values: tuple[Any, ...]
    apply: Apply | None = None


def _compact_at(app: App) -> None:
    runtime = agent_of(app)
    runtime.agent.compact_at = runtime.settings.values.auto_compact_percent / 100


def _repaint(app: App) -> None:
    app.looks.use(app.looks.theme)  # with a painter that knows what is allowed now


ROWS: tuple[Row, ...] = (
    Row("inline_images_enabled", "show images in the terminal", (None, True, False), _repaint),
    Row("auto_compact_threshold", "compact when the context is this full (%)", (85, 70, 80, 90, "off"), _compact_at),
    Row("notify_after_s", "ring when a turn took this long (s)", (15, 60, 0)),
    Row("terminal_title", "name the terminal's window", (True, False)),
    Row("vi_mode", "vi keys in the editor", (False, True)),
)
_PICKERS = {"theme": "colour theme", "reasoning": "reasoning level", "quick_model_shortcuts": "model shortcuts"}


def settings_picker(app: App, selected: str) -> Picker:
    values = agent_of(app).settings.values
    rows = [Choice(row.key, row.label, _shown_row(row, getattr(values, row.key))) for row in ROWS]
    rows += [Choice(key, label, f"{_current(app, key)} ›") for key, label in _PICKERS.items()]
    return Picker("settings", rows, selected=selected, hint="enter changes · type to filter · esc closes")


def _shown_row(row: Row, value: Any) -> str:
    if row.key == "inline_images_enabled" and not protocol(allowed=True):
        return f"{shown(value)} (this terminal cannot)"
    return shown(value)


def shown(value: Any) -> str:
    words = {True: "on", False: "off", None: "automatic"}
    return words[value] if value is None or isinstance(value, bool) else one_line(str(value))


def _current(app: App, key: str) -> str:
    values = agent_of(app).settings.values
    if key == "theme":
        return one_line(values.theme) or "automatic"
    if key == "reasoning":
        return agent_of(app).agent.reasoning or "off"
    return f"{len(values.quick_model_shortcuts)} set"


async def open_row(app: App, key: str) -> None:
    """Turn a row to its next value, or open what it opens."""
    row = next((row for row in ROWS if row.key == key), None)
    try:
        if row is not None:
            _turn(app, row)
        elif key == "theme":
            await _theme(app)
        elif key == "reasoning":
            from zot.agent.modes.interactive.commands import reasoning

            await reasoning.run(app, "")
        else:
            await _shortcuts(app)
    except ZotError as error:
        app.status.error(str(error))


def _turn(app: App, row: Row) -> None:
    settings = agent_of(app).settings
    now = getattr(settings.values, row.key)
    place = row.values.index(now) if now in row.values else -1
    value = row.values[(place + 1) % len(row.values)]
    settings.save(**{row.key: value})
    if row.apply is not None:
        row.apply(app)
    app.status.ok(f"{row.label}: {shown(value)}")


async def _theme(app: App) -> None:
    """The list repaints the screen as it moves; leaving it without a choice brings the old colours back."""
    settings = agent_of(app).settings
    before, themes = app.looks.value, app.looks.themes
    offered = themes.choices() if themes is not None else []
    rows = [Choice(choice.value, one_line(choice.label), one_line(choice.description)) for choice in offered]
    picker = Picker(
        "colour theme",
        rows,
        selected=before or "auto",
        hint="up/down previews · enter keeps it · esc goes back",
        moved=app.looks.choose,
    )
    chosen = await app.dialogs.ask(picker)
    if chosen is None:
        app.looks.choose(before)
        return
    app.looks.choose(chosen)
    settings.save(theme=None if chosen == "auto" else chosen)
    app.status.ok(f"colour theme: {one_line(chosen)}")


async def _shortcuts(app: App) -> None:
    """Nine slots; a slot is filled from the models that can be used now."""
    from zot.agent.modes.interactive.dialogs.model_picker import ModelPicker

    runtime = agent_of(app)
    while True:
        slots = dict(runtime.settings.values.quick_model_shortcuts)
        rows = [Choice(str(n), f"ctrl+{n}", one_line(slots.get(str(n), "")) or "empty") for n in range(1, 10)]
        chosen = await app.dialogs.ask(Picker("model shortcuts", rows, hint="enter fills a slot · esc goes back"))
        if chosen is None:
            return
        model = await app.dialogs.ask(ModelPicker(runtime))
        slots.pop(chosen, None)
        if model is not None:
            slots[chosen] = model.replace("\n", "/")
        runtime.settings.save(quick_model_shortcuts=slots or None)
