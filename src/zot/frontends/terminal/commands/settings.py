"""``/settings``: rows to change with enter, one line each in ROWS; a change is saved and applied at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from zot.errors import UsageError, ZotError
from zot.frontends.terminal.commands import reasoning
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.dialogs.picker import Picker
from zot.tui.image import protocol
from zot.tui.sanitize import one_line
from zot.tui.widgets import Choice


async def run(context: CommandContext, arguments: str) -> None:
    """``theme`` opens the list of themes, ``theme NAME`` selects one."""
    what, _, name = arguments.partition(" ")
    if what.lower() == "theme":
        await (_use_theme(context, name.strip()) if name.strip() else _theme(context))
        return
    if what:
        raise UsageError(f"/settings {what}: expected nothing, or theme")
    selected = ""
    while (key := await context.dialogs.ask(_settings_picker(context, selected))) is not None:
        selected = key
        row = next((row for row in ROWS if row.key == key), None)
        try:
            if row is not None:
                settings = context.conversation.settings
                now = _value(context, row)
                place = row.values.index(now) if now in row.values else -1
                value = row.values[(place + 1) % len(row.values)]
                settings.save(**{row.key: value})
                if row.apply is not None:
                    row.apply(context)
                context.status.ok(f"{row.label}: {_shown_row(row, value)}")
            elif key == "theme":
                await _theme(context)
            elif key == "reasoning":
                await reasoning.run(context, "")
            elif key == "mcp_pinned":
                await _pinned_servers(context)
            else:
                await _shortcuts(context)
        except ZotError as error:
            context.status.error(str(error))


class SettingRow(msgspec.Struct, frozen=True):
    """A setting with few values; ``apply`` makes a change effective now, if reading it later is not enough."""

    key: str
    label: str
    values: tuple[Any, ...]
    apply: Callable[[CommandContext], None] | None = None


def _read_again(context: CommandContext) -> None:
    context.conversation.apply_settings()


def _permission_mode(context: CommandContext) -> None:
    """Apply now, unless this run does not allow it."""
    context.conversation.set_permission_mode(context.conversation.settings.values.permission_mode)
    context.ui.redraw()


def _bell(context: CommandContext) -> None:
    context.ui.terminal.bell = context.conversation.settings.values.bell


def _images(context: CommandContext) -> None:
    context.looks.allow_images(context.conversation.settings.values.inline_images_enabled)


def _credentials(context: CommandContext) -> None:
    context.conversation.auth.keyring = context.conversation.settings.values.credential_store == "keyring"


def _approve(context: CommandContext) -> None:
    from zot.features.jail.feature import jail_of

    jail_of(context.conversation).apply_settings()


def _patience(context: CommandContext) -> None:
    from zot.features.lookup import mcp_host

    host = mcp_host(context.conversation)
    if host is not None:
        host.timeout_s = context.conversation.settings.values.mcp_tool_timeout_s


ROWS: tuple[SettingRow, ...] = (
    SettingRow("inline_images_enabled", "show images in the terminal", (None, True, False), _images),
    SettingRow(
        "auto_compact_threshold", "compact when the context is this full (%)", (85, 70, 80, 90, "off"), _read_again
    ),
    SettingRow(
        "permission_mode",
        "permission mode, now and at the start",
        ("everything", "ask", "accept-edits", "plan"),
        _permission_mode,
    ),
    SettingRow("start_mode", "how zot starts in the terminal", ("jailed", "ask", "everything")),
    SettingRow("ask_outside", "when a jailed call needs outside access", (False, True), _approve),
    SettingRow("retries", "retries of a failed model call", (9, 20, 0, 3), _read_again),
    SettingRow("max_cost_session", "cost limit per session ($)", (0, 1, 5, 20, 100), _read_again),
    SettingRow("max_cost_day", "cost limit per day, all runs ($)", (0, 5, 20, 100), _read_again),
    SettingRow("show_thinking", "show the model's thinking", ("folded", "open", "off")),
    SettingRow("notify_after_s", "ring after turns longer than (s)", (15, 60, 0)),
    SettingRow("bell", "how zot gets your attention", ("on", "quiet", "off"), _bell),
    SettingRow("terminal_title", "set the terminal's window title", (True, False)),
    SettingRow("vi_mode", "vi keys in the editor", (False, True)),
    SettingRow("model_can_start_agents", "the model may start agents in the background", (False, True), _read_again),
    SettingRow("swarm_agents", "maximum running workers, from the next one on", (4, 8, 16, 1, 2)),
    SettingRow("mcp_tool_timeout_s", "MCP call timeout without progress (s)", (300, 60, 900, 3600), _patience),
    SettingRow("hooks_strict", "deny a call if its hook fails, from the next start", (False, True)),
    SettingRow("credential_store", "where logins store secrets", ("file", "keyring"), _credentials),
)
_PICKERS = {
    "theme": "colour theme",
    "reasoning": "reasoning level",
    "quick_model_shortcuts": "model shortcuts",
    "mcp_pinned": "MCP servers always sent to the model",
}


def _settings_picker(context: CommandContext, selected: str) -> Picker:
    rows = [Choice(key, label, f"{_current(context, key)} ›") for key, label in _PICKERS.items()]  # used most
    rows += [Choice(row.key, row.label, _shown_row(row, _value(context, row))) for row in ROWS]
    return Picker("settings", rows, selected=selected, hint="enter changes · type to filter · esc closes")


def _value(context: CommandContext, row: SettingRow) -> Any:
    """An empty text selects the first value."""
    value = getattr(context.conversation.settings.values, row.key)
    return row.values[0] if value == "" else value


def _shown_row(row: SettingRow, value: Any) -> str:
    if row.key == "inline_images_enabled" and not protocol(allowed=True):
        return f"{_shown(value)} (this terminal cannot)"
    if row.key == "ask_outside":
        return "ask" if value else "deny"
    if row.key.startswith("max_cost_"):
        return f"${value:g}" if value > 0 else "no limit"
    return _shown(value)


def _shown(value: Any) -> str:
    words = {True: "on", False: "off", None: "automatic"}
    return words[value] if value is None or isinstance(value, bool) else one_line(str(value))


def _current(context: CommandContext, key: str) -> str:
    values = context.conversation.settings.values
    if key == "theme":
        return one_line(values.theme) or "automatic"
    if key == "reasoning":
        return context.conversation.snapshot.reasoning or "off"
    if key == "mcp_pinned":
        return one_line(", ".join(values.mcp_pinned)) or "none: found by search"
    return f"{len(values.quick_model_shortcuts)} set"


def complete(context: CommandContext, typed: str) -> list[Choice]:
    themes = [Choice(f"theme {theme.value}", f"theme {one_line(theme.label)}") for theme in context.looks.choices()]
    return [Choice("theme", "theme", "choose a theme"), *themes]


async def _use_theme(context: CommandContext, name: str) -> None:
    """By name or label, ignoring case."""
    themes = context.looks.choices()
    wanted = name.lower()
    found = next((theme for theme in themes if wanted in (theme.value.lower(), theme.label.lower())), None)
    if found is None:
        known = ", ".join(one_line(theme.value) for theme in themes)
        raise ZotError(f'unknown theme "{name}"; available: {known}')
    _save_theme(context, found.value)


def _save_theme(context: CommandContext, value: str) -> None:
    context.looks.choose(value)
    context.conversation.settings.save(theme=None if value == "auto" else value)
    context.status.ok(f"colour theme: {one_line(value)}")


async def _theme(context: CommandContext) -> None:
    """The selection previews each theme; closing without a choice restores the old one."""
    looks = context.looks
    before = looks.value
    rows = [Choice(theme.value, one_line(theme.label), one_line(theme.description)) for theme in looks.choices()]
    picker = Picker(
        "colour theme",
        rows,
        selected=before or "auto",
        hint="up/down previews · enter keeps it · esc goes back",
        moved=looks.choose,
    )
    chosen = await context.dialogs.ask(picker)
    if chosen is None:
        looks.choose(before)
        return
    _save_theme(context, chosen)


async def _pinned_servers(context: CommandContext) -> None:
    """Switches whole servers; other entries, such as single tools, stay until switched off."""
    from zot.features.lookup import mcp_host

    conversation, host = context.conversation, mcp_host(context.conversation)
    selected = ""
    while True:
        pins = list(conversation.settings.values.mcp_pinned)
        statuses = (
            {row.name: f"{row.tokens:,} tokens per request" for row in host.statuses()} if host is not None else {}
        )
        names = ["*", *statuses, *(pin for pin in pins if pin != "*" and pin not in statuses)]
        rows = [
            Choice(
                name,
                "all servers" if name == "*" else one_line(name),
                f"{'on' if name in pins else 'off'}  {statuses.get(name, '')}".rstrip(),
            )
            for name in names
        ]
        title, hint = "MCP servers always sent to the model in full", "enter switches · esc goes back"
        chosen = await context.dialogs.ask(Picker(title, rows, selected=selected, hint=hint))
        if chosen is None:
            return
        selected = chosen
        pins = [pin for pin in pins if pin != chosen] if chosen in pins else [*pins, chosen]
        conversation.settings.save(mcp_pinned=pins or None)
        if host is not None:
            host.pin(conversation.settings.values.mcp_pinned)


async def _shortcuts(context: CommandContext) -> None:
    """Nine slots, filled from the available models."""
    from zot.frontends.terminal.dialogs.model_picker import ModelPicker

    conversation = context.conversation
    while True:
        slots = dict(conversation.settings.values.quick_model_shortcuts)
        rows = [Choice(str(n), f"ctrl+{n}", one_line(slots.get(str(n), "")) or "empty") for n in range(1, 10)]
        chosen = await context.dialogs.ask(Picker("model shortcuts", rows, hint="enter fills a slot · esc goes back"))
        if chosen is None:
            return
        model = await context.dialogs.ask(ModelPicker(conversation))
        slots.pop(chosen, None)
        if model is not None:
            slots[chosen] = model.replace("\n", "/")
        conversation.settings.save(quick_model_shortcuts=slots or None)
