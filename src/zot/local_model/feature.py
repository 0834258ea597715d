"""Models on this machine, and models that a grammar constrains: detection, safeguards and a short prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zot.agent.feature import Feature, PromptDraft
from zot.local_model.safeguards import adapt, guard

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.model_resolver import Resolved
    from zot.provider.model import Model


class LocalModelFeature(Feature):
    """``narrowed``: the permission mode was ``everything`` until such a model took over in mid-session."""

    name = "local_model"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self.narrowed = False
        self._checked: Resolved | None = None  # the model whose abilities are known as far as they can be

    def join(self) -> None:
        from zot.local_model.short_prompt import SmallModelPrompt

        conversation = self.conversation
        prompt = self.system_prompt
        prompt.short = SmallModelPrompt(prompt, lambda: conversation.model.tool_calls != "")
        if conversation.model.tool_calls and not conversation.features.started:
            for text in guard(self.services):
                self.notify(text)

    async def before_prompt(self, draft: PromptDraft) -> str:
        """The first prompt finds out whether the model can call tools; one that cannot is constrained by a grammar."""
        conversation, resolved = self.conversation, self.conversation.resolved
        if self._checked is resolved or not resolved.abilities_unsure or not conversation.agent.specs:
            return ""
        from zot.local_model.tool_support import held_if_unable

        constrained = await held_if_unable(resolved, self.services)
        self._checked = resolved
        if constrained is not None:
            self._checked = constrained
            name = constrained.model.id
            self.notify(f"{name} cannot call tools by itself, as a small request showed: a grammar holds it")
            await conversation.adopt(constrained).aclose()
        return ""

    def model_changed(self, before: Model) -> None:
        if before.tool_calls != self.conversation.model.tool_calls:
            for text in adapt(self.conversation, self):
                self.notify(text)

    def model_updated(self, known: Model) -> None:
        if self.conversation.resolved.provider.local:
            from zot.local_model.safeguards import shortcomings

            model = self.conversation.model
            for text in shortcomings(model if model.tool_calls else known):
                self.notify(text)
