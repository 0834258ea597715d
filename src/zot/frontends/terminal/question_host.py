"""Shows questions one at a time and in order: one rendering per kind, imported on first use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from zot.features.questions import Question, question_queue
from zot.system.visible_text import escape_invisible

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.ask_user.questions import QuestionAnswers, UserQuestions
    from zot.features.extensions.dialogs import DialogAnswer, ExtensionDialog
    from zot.features.jail.outside_access import OutsideRequest
    from zot.features.mcp.elicitation import Elicitation
    from zot.features.plan.plan_question import PlanAnswer, PlanQuestion
    from zot.features.trust_questions import GrantQuestion, TrustQuestion
    from zot.frontends.terminal.dialogs.confirm import ApprovalPrompts
    from zot.frontends.terminal.dialogs.dialog import Dialogs
    from zot.frontends.terminal.screen.ui_services import ScreenServices


class QuestionHost:
    """``notify`` reports failures. ``is_guest``: another front end built the conversation, and shows questions too;
    ``close`` leaves them to it."""

    def __init__(
        self,
        conversation: Conversation,
        ui: ScreenServices,
        dialogs: Dialogs,
        confirmations: ApprovalPrompts,
        notify: Callable[[str], None],
        lend_terminal: Callable[[Sequence[str]], Awaitable[int]],
        *,
        is_guest: bool = False,
    ) -> None:
        self._conversation = conversation
        self._ui = ui
        self._dialogs = dialogs
        self._confirmations = confirmations
        self._notify = notify
        self._lend_terminal = lend_terminal
        self._renderings: dict[str, Callable[[Any], Any]] = {
            "approval": confirmations.show,
            "outside": self._outside,
            "elicitation": self._elicitation,
            "trust": self._trust,
            "grant": self._grant,
            "dialog": self._dialog,
            "questions": self._questions,
            "plan": self._plan,
        }
        questions = question_queue(conversation.services)
        self.close: Callable[[], None] = lambda: None
        if is_guest:
            self.close = questions.add_presenter(self._show, self._renderings)
        else:
            questions.present(self._show, self._renderings)

    async def _show(self, question: Question[Any]) -> Any:
        """A closed dialog is a denial."""
        answer = await self._renderings[question.kind](question)
        return question.denial() if answer is None else answer

    async def _outside(self, question: OutsideRequest) -> str | None:
        from zot.frontends.terminal.dialogs.confirm import OutsideDialog

        return await self._dialogs.ask(OutsideDialog(question, self._ui.painter, self._confirmations))

    async def _elicitation(self, question: Elicitation) -> dict[str, Any]:
        from zot.frontends.terminal.dialogs.question_form import QuestionPrompts

        return await QuestionPrompts(self._notify, self._dialogs, self._conversation.workspace).show(question)

    async def _questions(self, question: UserQuestions) -> QuestionAnswers | None:
        from zot.frontends.terminal.questions.user_questions import QuestionsDialog

        return await self._dialogs.ask(QuestionsDialog(question, lambda: self._ui.painter))

    async def _plan(self, question: PlanQuestion) -> PlanAnswer | None:
        from zot.frontends.terminal.questions.plan_dialog import PlanDialog, edit_plan

        async def edited(plan: str, changed: Callable[[str], None]) -> None:
            text = await edit_plan(plan, question.path, self._lend_terminal, self._notify)
            if text is not None and text != plan:
                changed(text)
            self._ui.redraw()

        def edit(plan: str, changed: Callable[[str], None]) -> None:
            self._ui.spawn(edited(plan, changed))

        return await self._dialogs.ask(PlanDialog(question, lambda: self._ui.painter, edit))

    async def _dialog(self, question: ExtensionDialog) -> DialogAnswer | None:
        from zot.frontends.terminal.extensions.dialog_box import ExtensionDialogBox

        return await self._dialogs.ask(ExtensionDialogBox(question, lambda: self._ui.painter, self._open_url))

    def _open_url(self, url: str) -> None:
        from zot.features.login.browser import open_in_browser

        if not open_in_browser(url, self._conversation.workspace.free_environment()):
            self._notify(f"cannot open a browser; open the address yourself: {escape_invisible(url)}")

    async def _trust(self, question: TrustQuestion) -> str | None:
        from zot.frontends.terminal.trust_dialogs import TrustDialog

        return await self._dialogs.ask(TrustDialog(question.items))

    async def _grant(self, question: GrantQuestion) -> str | None:
        from zot.frontends.terminal.trust_dialogs import PermissionChangeDialog

        return await self._dialogs.ask(PermissionChangeDialog(question.extensions))
