"""``/vim``: switch vi keys in the editor on or off, for later starts also."""

from __future__ import annotations

from zot.frontends.terminal.commands.command_context import CommandContext


def run(context: CommandContext, arguments: str) -> None:
    settings = context.conversation.settings
    settings.save(vi_mode=not settings.values.vi_mode)
    context.status.ok("vi keys: on; esc leaves insert mode" if settings.values.vi_mode else "vi keys: off")
