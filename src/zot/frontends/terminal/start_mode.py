"""The first question of the first interactive start: jailed, ask first, or everything. The answer is the setting
``start_mode``; flags and older settings that decide the same make the question unnecessary."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from zot.frontends.terminal.dialogs.picker import Picker
from zot.tui.widgets import Choice

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.settings import SettingsValues
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.turns import PendingTurns
    from zot.system.jail.jail import JailSupport

_HINT = "enter picks · type to write your first prompt"
_LATER = "Later: shift+tab, /jail and /unjail change a session, /settings the default."


async def ask_start_mode(dialogs: Dialogs, waiting: PendingTurns, config: RunConfig) -> RunConfig:
    """Ask if nothing decides the mode yet. Closing the dialog, or sending a prompt, takes the selected answer for this
    run only."""
    from zot.agent.settings import Settings
    from zot.errors import ZotError
    from zot.features.jail.feature import cached_jail_support
    from zot.system.files import zot_home

    home = config.home or zot_home()
    settings = Settings(home)
    if _is_decided(config, settings.values):
        return config
    dialog = StartModeDialog(await asyncio.to_thread(cached_jail_support, home))
    waiting.on_submit = lambda: dialog.finish(None)
    chosen = await dialogs.ask(dialog)
    if chosen is None:
        return _for_this_run(config, dialog.preselected)
    try:
        await asyncio.to_thread(settings.save, start_mode=chosen)
    except (ZotError, OSError):  # it asks again next time
        return _for_this_run(config, chosen)
    return config


def _is_decided(config: RunConfig, values: SettingsValues) -> bool:
    flags = (config.permission_mode, config.permission_limit, config.jail, config.jail_read, config.jail_write)
    more = (config.jail_level, config.approve, config.no_jail, config.script)
    return any((*flags, *more, values.start_mode, values.permission_mode, values.jail_by_default))


def _for_this_run(config: RunConfig, chosen: str) -> RunConfig:
    if chosen == "jailed":
        return msgspec.structs.replace(config, jail="on", approve="outside")
    return msgspec.structs.replace(config, permission_mode="ask") if chosen == "ask" else config


class StartModeDialog(Picker):
    """Ends with a value of ``start_mode``; letters go to the editor."""

    unasked = True
    takes_text = False

    def __init__(self, machine: JailSupport) -> None:
        self.preselected = "jailed" if machine.level == "full" else "ask"
        jailed = "run freely, confined to this project; ask about what is outside"
        rows = [
            Choice("ask", "ask first", "read freely, ask before commands and changes"),
            Choice("everything", "everything", "run all commands and changes without a question"),
        ]
        above = ["Choose once; it applies to all projects.", _LATER]
        if machine.level:
            rows.insert(0, Choice("jailed", "jailed", jailed if machine.level == "full" else f"{jailed} (reduced)"))
        if machine.level != "full":
            above.append(f"{'Only a reduced' if machine.level else 'No'} jail on this machine: {machine.why}")
        super().__init__(
            "how may zot run here?", rows, selected=self.preselected, filterable=False, above=above, hint=_HINT
        )
