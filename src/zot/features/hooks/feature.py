"""Hooks in a conversation: creates the host of a run from its configuration, skipping untrusted hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.feature import Feature, PromptDraft
from zot.errors import ZotError
from zot.features.hooks.config import HookSource, load
from zot.features.hooks.host import HookHost
from zot.features.trust import TrustStore

if TYPE_CHECKING:
    from zot.agent.config import RunConfig
    from zot.agent.conversation import Conversation
    from zot.agent.services import Services
    from zot.core.permission_gate import Answer, ApprovalQuestion


class HooksFeature(Feature):
    """``host`` is None if no file has a hook."""

    name = "hooks"

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        problems: list[str] = []
        load(home, cwd, problems)
        return problems

    @classmethod
    def setup_facts(cls, home: Path, cwd: Path) -> Iterable[tuple[str, str]]:
        try:
            sources = load(home, cwd, [])
            waiting = untrusted_of(TrustStore(home), sources)
        except ZotError:
            return  # reported with the problems
        if sources:
            marks = [", not trusted" if source in waiting else "" for source in sources]
            yield "hooks", ", ".join(f"{s.name} ({len(s.hooks)}{mark})" for s, mark in zip(sources, marks, strict=True))

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.host: HookHost | None = None

    def join(self) -> None:
        problems: list[str] = []
        self.host = create_hook_host(self.services, self._report, problems)
        for text in problems:
            self.notify(text)
        if self.host is not None:
            self.conversation.agent.add_interceptor(self.host.interceptor)
            self.host.join(self.conversation)

    def _report(self, text: str) -> None:
        self.notify(text)

    async def before_prompt(self, draft: PromptDraft) -> str:
        return await self.host.before_prompt(draft.text) if self.host is not None else ""

    async def before_compaction(self, focus: str) -> str:
        return await self.host.before_compaction("manual", focus) if self.host is not None else ""

    async def approve(self, question: ApprovalQuestion) -> Answer | None:
        return await self.host.interceptor.auto_approve(question) if self.host is not None else None

    def for_worker(self, config: RunConfig) -> RunConfig:
        """Hooks of this conversation that do not run in the worker deny the worker's calls."""
        if self.host is None:
            return config
        return msgspec.structs.replace(
            config,
            required_hooks=self.host.reviewing_sources(),
            trusted_for_run=(*config.trusted_for_run, *self.host.trusted_for_run),
        )

    async def before_close(self) -> None:
        if self.host is not None:
            await self.host.aclose(by_user=self.services.front_end.may_log_in)


def create_hook_host(services: Services, notify: Callable[[str], None], problems: list[str]) -> HookHost | None:
    """None if no file has a hook; adds to ``problems``."""
    values = services.settings.values
    remarks: dict[str, list[str]] = {}
    store = TrustStore(services.home, services.config.trusted_for_run)
    found = load(services.home, services.project, problems, remarks)
    waiting = untrusted_of(store, found, trust_project=services.config.trust_project)
    seen = {source.name for source in found if source.needs_trust and not any(source is other for other in waiting)}
    problems += [text for name, texts in remarks.items() if name not in seen for text in texts]  # else once trusted
    required = services.config.required_hooks
    if not found and not required:
        return None
    if not services.front_end.may_log_in:
        problems += [untrusted_notice(source) for source in waiting]
    host = HookHost(
        [source for source in found if not any(source is other for other in waiting)],
        home=services.home,
        workspace=services.workspace,
        strict=values.hooks_strict,
        notify=notify,
    )
    host.untrusted = waiting
    host.missing = tuple(name for name in required if name not in host.reviewing_sources())
    return host


def untrusted_of(trust: TrustStore, found: Sequence[HookSource], *, trust_project: bool = False) -> list[HookSource]:
    """Hooks the user has not trusted in their current form."""
    asks = [each for each in found if each.needs_trust and not (trust_project and each.origin == "project")]
    return [each for each in asks if not is_trusted(trust, each)]


def is_trusted(trust: TrustStore, source: HookSource) -> bool:
    """A source with a file that cannot be read is never trusted."""
    if source.covered().unreadable():
        return False
    return trust.is_trusted(source.project, "hooks", source.name, source.content())


def untrusted_notice(source: HookSource) -> str:
    count = len(source.hooks)
    many = f"{count} untrusted hooks" if count > 1 else "1 untrusted hook"
    return f"hooks: skipped {many} in {source.name}; review: `zot hooks list`, allow: `zot hooks trust`"


# --- zot doctor
