"""Applies permission rules to a conversation: denies calls or asks about them before the permission gate, and answers
the gate for calls that rules allow."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.feature import Feature
from zot.core.interceptors import Interceptor, ToolVerdict
from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.features.questions import question_queue
from zot.features.required_approval import require_approval
from zot.features.rules.matching import Decided, RuleMatcher
from zot.features.rules.rule import PermissionRule, contradictions
from zot.features.rules.rule_files import RuleSet, load_rules
from zot.features.trust import TrustStore
from zot.provider.messages import ToolCallBlock

if TYPE_CHECKING:
    from zot.agent.config import RunConfig

_MOST_APPROVED = 256  # calls
_ALLOWED = ToolVerdict()


class RuleInterceptor(Interceptor):
    def __init__(self, feature: RulesFeature) -> None:
        self._feature = feature

    async def before_tool(self, call: ToolCallBlock, origin: str = "") -> ToolVerdict:
        return await self._feature.review(call, origin)


class RulesFeature(Feature):
    name = "rules"

    def join(self) -> None:
        services = self.services
        config = services.config
        self.rules = load_rules(
            services.home, services.project, trust_project=config.trust_project, trust=TrustStore(services.home)
        )
        add_required(self.rules, config.required_rules)
        workspace = self.conversation.workspace
        self.matcher = RuleMatcher(self.rules, lambda: workspace.cwd, self._is_ours)
        self._approved: dict[str, tuple[str, str]] = {}  # by call id: arguments, and who approved them
        for text in self.rules.problems:
            self.notify(text)
        self.conversation.agent.add_interceptor(RuleInterceptor(self))

    def joined(self) -> None:
        gate = self.conversation.gate
        for text in self.rules.ignored if gate is not None and not gate.allows_everything else ():
            self.notify(text)

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        found = load_rules(home, cwd, trust_project=False, trust=TrustStore(home))
        yield from found.problems
        yield from contradictions([*found.rules, *found.untrusted])

    @classmethod
    def setup_facts(cls, home: Path, cwd: Path) -> Iterable[tuple[str, str]]:
        found = load_rules(home, cwd, trust_project=False, trust=TrustStore(home))
        if found.rules or found.untrusted:
            counts = (f"{len(list(found.of(each)))} {each}" for each in ("deny", "ask", "allow"))
            untrusted = f", {len(found.untrusted)} allow of this project without trust" if found.untrusted else ""
            yield "rules", f"{', '.join(counts)}{untrusted}"

    def for_worker(self, config: RunConfig) -> RunConfig:
        """The worker has at least these rules, also if the files change."""
        kept = [rule for rule in self.rules.rules if rule.decision != "allow"]
        encoded = [msgspec.json.encode(rule).decode() for rule in kept]
        if self.rules.wrong:
            encoded.append(msgspec.json.encode(self.rules.wrong[0]).decode())
        return msgspec.structs.replace(config, required_rules=tuple(encoded))

    # --- decisions

    async def review(self, call: ToolCallBlock, origin: str) -> ToolVerdict:
        decided = self.matcher.restriction(call)
        if not decided.step:
            return _ALLOWED
        if decided.step == "deny":
            part = f" (`{decided.part}`)" if decided.part else ""
            rule = decided.rule
            assert rule is not None
            return _denied(f"denied by the rule {rule.text} in {rule.file}{part}", decided.by)
        if not question_queue(self.services).can_ask("approval"):
            reason = f"denied: a rule requires approval, and no user is present: {decided.reason}"
            return _denied(reason, decided.by)
        if refusal := await require_approval(self.conversation, call, origin, decided.reason):
            return _denied(refusal, "you")
        while len(self._approved) >= _MOST_APPROVED:
            self._approved.pop(next(iter(self._approved)))
        self._approved[call.id] = (call.arguments, f"you, asked by {decided.by}")
        return _ALLOWED

    async def approve(self, question: ApprovalQuestion) -> Answer | None:
        """Answers the gate for calls the user just approved, and for allow rules."""
        call, gate = question.call, self.conversation.gate
        arguments, by = self._approved.pop(call.id, ("", ""))
        if by and arguments == call.arguments:
            return Answer("once", by=by)
        if gate is None or gate.asks_each or self.matcher.restriction(call).step:
            return None
        decided = self.matcher.permission(call)
        return Answer("once", by=decided.by) if decided.step == "allow" else None

    def decision(self, call: ToolCallBlock) -> Decided:
        """What the rules say about a call, without asking anything."""
        decided = self.matcher.restriction(call)
        return decided if decided.step else self.matcher.permission(call)

    def _is_ours(self, name: str) -> bool:
        tool = self.conversation.agent.toolbox.get(name)
        return tool is None or not getattr(tool, "extension", "")


def _denied(reason: str, by: str) -> ToolVerdict:
    return ToolVerdict(allowed=False, reason=reason, by=by)


def add_required(rules: RuleSet, encoded: Iterable[str]) -> None:
    """Rules of the run that started this worker."""
    for text in encoded:
        try:
            rule = msgspec.json.decode(text, type=PermissionRule | str)
        except msgspec.DecodeError:
            rule = "the rules of the run that started this worker cannot be read"
        if isinstance(rule, str):
            rules.wrong.append(rule)
        elif rule not in rules.rules:
            rules.rules.append(rule)
