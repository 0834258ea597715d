"""``/jail [net]``: confine tools to this directory; refused if the operating system cannot enforce it."""

from __future__ import annotations

from zot.errors import UsageError
from zot.features.jail.feature import jail_of
from zot.frontends.terminal.commands.command_context import CommandContext

_REDUCED = "; this machine has no full jail: see `zot doctor`"


async def run(context: CommandContext, arguments: str) -> None:
    if arguments not in ("", "net"):
        raise UsageError(f'/jail "{arguments}": expected /jail or /jail net')
    name = await jail_of(context.conversation).enter(network=arguments == "net")
    network = "the network" if arguments else "no network"
    less = _REDUCED if "reduced" in name else ""
    context.status.ok(f"{name}: tools can use this directory and {network}; leave with /unjail{less}")
