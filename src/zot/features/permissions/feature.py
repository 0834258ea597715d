"""Permissions in a conversation: the gate that decides which tool calls run, are asked about or denied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.feature import Feature, PromptDraft
from zot.core.permission_gate import ConfirmGate
from zot.core.permission_modes import MODES, Mode, parse_mode
from zot.errors import UsageError
from zot.features.lookup import asks_outside
from zot.features.permissions.call_classifier import Natures
from zot.features.permissions.planning import note_due
from zot.features.permissions.saved_rules import KeptRules

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.permission_gate import Answer, ApprovalQuestion


class PermissionsFeature(Feature):
    """``saved_rules`` are the answers the user chose to keep."""

    name = "permissions"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.saved_rules = KeptRules(conversation.home, conversation.workspace.cwd, self.notify)

    def join(self) -> None:
        """UsageError for a mode or a limit that does not exist."""
        conversation, config, front_end = self.conversation, self.services.config, self.services.front_end
        wanted = (
            config.permission_mode or conversation.settings.values.permission_mode or self.services.constrained_mode
        )
        others = {tool.name for tool in front_end.tools}
        gate = conversation.agent.gate = ConfirmGate(
            front_end.confirmer,
            mode=_mode(wanted or "everything", "permission mode"),
            limit=_mode(config.permission_limit or "everything", "permission limit"),
            nature=Natures(
                conversation.workspace,
                conversation.home,
                lambda: {tool.name for tool in conversation.toolset.own} - others,
                conversation.tool,
                self._asks_outside,
            ),
            kept=self.saved_rules,
            asks_each=config.ask_each,
        )
        if conversation.features.implementing("approve"):
            gate.stand_in = self._approve

    def _asks_outside(self) -> bool:
        return self.conversation.workspace.jail is not None and asks_outside(self.conversation)

    async def _approve(self, question: ApprovalQuestion) -> Answer | None:
        """The first feature that answers in the user's place."""
        for feature in self.conversation.features:
            if (answer := await feature.approve(question)) is not None:
                return answer
        return None

    def for_child(self, child: Conversation) -> Feature:
        return _PlanModeNotes(child)

    def on_prompt(self, draft: PromptDraft) -> None:
        add_plan_mode_note(self.conversation, draft)


class _PlanModeNotes(Feature):
    """The gate of a side conversation is its parent's; the model still learns of plan mode."""

    name = "permissions"

    def on_prompt(self, draft: PromptDraft) -> None:
        add_plan_mode_note(self.conversation, draft)


def add_plan_mode_note(conversation: Conversation, draft: PromptDraft) -> None:
    """The model learns with a prompt that plan mode began or ended; after a compaction it learns it again."""
    gate = conversation.agent.gate
    if gate is not None and not draft.replaces:
        note = note_due(gate.mode, conversation.messages)
        if note is not None:
            conversation.add(note)


def _mode(text: str, what: str) -> Mode:
    mode = parse_mode(text)
    if mode is None:
        raise UsageError(f'unknown {what} "{text}": expected one of {", ".join(MODES)}')
    return mode
