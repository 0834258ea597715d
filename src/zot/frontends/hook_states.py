"""Trust states of hooks, for ``zot hooks`` and ``/hooks``."""

from __future__ import annotations

from zot.features.hooks.config import HookSource
from zot.features.hooks.feature import is_trusted
from zot.features.trust import TrustStore


def hook_state(trust: TrustStore, source: HookSource) -> str:
    """``runs``, ``trusted``, ``not trusted`` or ``changed since you trusted it``."""
    if not source.needs_trust:
        return "runs"
    if is_trusted(trust, source):
        return "trusted"
    changed = trust.is_changed(source.project, "hooks", source.name, source.content())
    return "changed since you trusted it" if changed else "not trusted"
