"""The configured hooks become the host of a run: what may run at once, what waits for a person, what is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zot.features.hooks.config import Source, load
from zot.features.hooks.host import HookHost
from zot.features.trust import TrustStore

if TYPE_CHECKING:
    from zot.agent.services import Resources


def hook_host_of(resources: Resources, tell: Callable[[str], None], problems: list[str]) -> HookHost | None:
    """None when no file has a hook; ``problems`` are added to."""
    values = resources.settings.values
    remarks: dict[str, list[str]] = {}
    found = load(resources.home, resources.workspace.cwd, problems, remarks)
    waiting = untrusted_of(TrustStore(resources.home), found, trust_project=resources.config.trust_project)
    seen = {source.name for source in found if source.needs_trust and not any(source is other for other in waiting)}
    problems += [text for name, texts in remarks.items() if name not in seen for text in texts]  # else: when trusted
    if not found:
        return None
    if not resources.front_end.may_log_in:
        problems += [not_trusted(source) for source in waiting]
    host = HookHost(
        [source for source in found if not any(source is other for other in waiting)],
        home=resources.home,
        workspace=resources.workspace,
        strict=values.hooks_strict,
        tell=tell,
    )
    host.untrusted = waiting
    return host


def untrusted_of(trust: TrustStore, found: Sequence[Source], *, trust_project: bool = False) -> list[Source]:
    """What nobody has trusted as it is now."""
    asks = [each for each in found if each.needs_trust and not (trust_project and each.origin == "project")]
    return [each for each in asks if not trust.is_trusted(each.project, "hooks", each.name, each.content())]


def not_trusted(source: Source) -> str:
    count = len(source.hooks)
    many = f"{count} hooks" if count > 1 else "one hook"
    return (
        f"hooks: {source.name} has {many} that nobody trusted and that do not run; `zot hooks list`, `zot hooks trust`"
    )
