"""``/jail [net]``: confine what tools do to this directory; the operating system holds it, or the command refuses."""

from __future__ import annotations

from zot.errors import UsageError
from zot.features.jail.feature import jail_of
from zot.frontends.terminal.commands.command_context import CommandContext

_REDUCED = "; this machine holds less than the full jail: `zot doctor` says what is missing"


async def run(context: CommandContext, arguments: str) -> None:
    if arguments not in ("", "net"):
        raise UsageError(f'/jail "{arguments}": only /jail and /jail net')
    name = await jail_of(context.conversation).enter(network=arguments == "net")
    network = "the network" if arguments else "no network"
    less = _REDUCED if "reduced" in name else ""
    context.status.ok(f"{name}: tools have this directory and {network}; /unjail ends it{less}")
