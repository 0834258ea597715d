"""The gate of a run, made from what it was asked to be; a mode nobody knows is the narrowest that asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zot.core.permission_gate import ConfirmGate
from zot.core.permission_modes import MODES, Mode, parse_mode
from zot.errors import UsageError
from zot.features.permissions.call_classifier import Natures
from zot.features.permissions.saved_rules import KeptRules

if TYPE_CHECKING:
    from zot.agent.services import Resources
    from zot.core.tool import Tool


def permission_gate(
    resources: Resources, wanted: str, tool_of: Callable[[str], Tool | None], told: Callable[[str], None]
) -> ConfirmGate:
    """UsageError for a mode or a limit that does not exist."""
    config, front_end = resources.config, resources.front_end
    others = {tool.name for tool in front_end.tools}
    resources.kept_rules = KeptRules(resources.home, resources.workspace.cwd, told)
    return ConfirmGate(
        front_end.confirmer,
        mode=_mode(wanted or "everything", "permission mode"),
        limit=_mode(config.permission_limit or "everything", "permission limit"),
        nature=Natures(
            resources.workspace,
            resources.home,
            lambda: {tool.name for tool in resources.own_tools} - others,
            tool_of,
            lambda: resources.asks_outside and resources.workspace.jail is not None,
        ),
        kept=resources.kept_rules,
        asks_each=config.ask_each,
    )


def _mode(text: str, what: str) -> Mode:
    mode = parse_mode(text)
    if mode is None:
        raise UsageError(f'unknown {what} "{text}": expected one of {", ".join(MODES)}')
    return mode
