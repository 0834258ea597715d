"""``/serve``: share this conversation with a browser, a phone or another terminal."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from zot.errors import UsageError
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.tui.width import wrap

if TYPE_CHECKING:
    from zot.tui.theme import Theme
    from zot.tui.widgets import Choice

_ARGUMENTS = {"lan": "also for other devices in the local network", "stop": "end sharing; the server goes on"}


async def run(context: CommandContext, arguments: str) -> None:
    match arguments:
        case "stop":
            shared = context.sharing.stop()
            context.status.ok("no longer shared" if shared else "this conversation was not shared")
        case "" | "lan" | "--lan":
            await _share(context, ["--lan"] if arguments else [])
        case _:
            raise UsageError(f"/serve {arguments}: expected nothing, lan or stop")


def complete(context: CommandContext, typed: str) -> list[Choice]:
    """Arguments offered after ``/serve``."""
    from zot.tui.widgets import Choice

    return [Choice(name, name, text) for name, text in _ARGUMENTS.items()]


async def _share(context: CommandContext, flags: list[str]) -> None:
    from zot.frontends.terminal.dialogs.text_dialogs import TextView

    context.status.ok("starting zot serve …")
    address = await context.sharing.start(context.conversation, flags)
    context.status.clear()
    await context.dialogs.ask(TextView("this conversation is shared", partial(_rows, address)))


def _rows(address: Any, theme: Theme, width: int) -> list[str]:
    """The address for a browser on this machine, its code for a camera, and the command for another terminal."""
    where = "the camera of a phone reads this code" if address.code else "for a phone in this network: /serve lan"
    before = ["Open this address in a browser; it adds one device, within ten minutes:", "", address.url, ""]
    after = [
        f"{where} · in another terminal: zot attach {address.name}".rstrip(),
        "zot serve devices: who has a key · zot serve revoke NAME: shut one out · /serve stop: end this",
    ]

    def painted(rows: list[str]) -> list[str]:
        return [theme.paint("fg", piece) for row in rows for piece in (wrap(row, width) or [""])]

    return [*painted(before), *(f"  {row}" for row in address.code), *painted(after)]
