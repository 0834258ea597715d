"""Plan mode with an end: the tool ``present_plan``, offered in plan mode only. The user approves, edits or refuses.
Only the user's answer leaves plan mode; without a user the plan is the answer, and nothing is approved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from zot.agent.feature import Feature
from zot.core.permission_modes import MODES, CallClass, Mode, is_wider
from zot.core.tool import ATTACHED, END_TURN, Tool, ToolContext, ToolResult, text_result
from zot.errors import describe_error
from zot.features.questions import question_queue

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.conversation import Conversation
    from zot.features.plan.plan_question import PlanAnswer, PlanQuestion

_DESCRIPTION = (
    "Present your plan to the user, who approves, edits or refuses it; only approval ends plan mode. Call it when you "
    "know enough, instead of answering with the plan. `plan` is Markdown: a heading, what changes in which files, in "
    "which order, and how the result is checked."
)
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]}
_OVER = "plan mode is off: nothing needs approval as a plan. Carry it out"
_NO_USER = "no user can approve a plan here, and plan mode stays on. Answer with the plan itself"
_ASK_USER = "ask_user"  # offered in plan mode from the start
_MOST_SHOWN = 20_000  # characters of an approved plan in the transcript
_PRINTED = ("print", "json", "stream")  # front ends that show a plan as the answer


def _view_of(plan: str) -> dict[str, Any]:
    """The plan below its call, for screens (``zot.wire.lines.View``)."""
    return {"markdown": True, "lines": plan[:_MOST_SHOWN].split("\n")}


class PresentPlanTool:
    name = "present_plan"
    description = _DESCRIPTION
    schema = _SCHEMA
    read_only = False

    def __init__(self, present: Callable[[str, ToolContext], Coroutine[Any, Any, ToolResult]]) -> None:
        self._present = present

    def classify(self, args: dict[str, Any]) -> CallClass:
        return CallClass("look")

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.plan.plan_question import parse_plan

        if context.origin:
            return text_result("present_plan: only the model can present a plan", is_error=True)
        return await self._present(parse_plan(args), context)


class PlanFeature(Feature):
    """``_before`` is the mode before plan mode, ``_path`` the file of a plan that is not approved yet."""

    name: ClassVar[str] = "plan"

    def __init__(self, conversation: Conversation) -> None:
        super().__init__(conversation)
        self._mode: Mode = self._present_mode
        self._before: Mode = "ask" if self._mode == "plan" else self._mode
        self._path: Path | None = None
        self._follow_up: tuple[str, Path | None] | None = None  # a plan to carry out in a new session

    def join(self) -> None:
        if self._mode == "plan":
            self.conversation.toolset.name([_ASK_USER])

    @property
    def _present_mode(self) -> Mode:
        gate = self.conversation.agent.gate
        return gate.mode if gate is not None else "everything"

    def tools(self, taken: Collection[str]) -> list[Tool]:
        return [PresentPlanTool(self._present)] if self._present_mode == "plan" else []

    def tool_names(self) -> Iterable[str]:
        return (PresentPlanTool.name,)

    def for_child(self, child: Conversation) -> Feature | None:
        """Only the conversation itself presents plans."""
        agent = child.agent
        if PresentPlanTool.name in agent.toolbox:
            agent.set_tools([tool for tool in agent.tools if tool.name != PresentPlanTool.name])
        return None

    def limits_changed(self) -> None:
        before, self._mode = self._mode, self._present_mode
        if before != self._mode and "plan" in (before, self._mode):
            self._before = self._before if before == "plan" else before
            if self._mode == "plan":
                self.conversation.toolset.activate([_ASK_USER])
            self.conversation.refresh_tools(own=True)

    # --- a plan

    async def _present(self, plan: str, context: ToolContext) -> ToolResult:
        if self._present_mode != "plan":
            return text_result(_OVER)
        await self._save(plan)
        modes = self._modes
        if not modes or not question_queue(self.services).can_ask("plan"):
            return self._as_answer(plan)
        from zot.features.plan.plan_question import PlanQuestion, checked

        question = PlanQuestion(
            call_id=context.call_id,
            plan=plan,
            modes=modes,
            mode=self._before if self._before in modes else modes[-1],
            path=str(self._path or ""),
        )
        return await self._act_on(question, checked(await self._ask(question), question))

    @property
    def _modes(self) -> tuple[Mode, ...]:
        """The modes that may follow."""
        gate = self.conversation.gate
        return () if gate is None else tuple(mode for mode in MODES[1:] if not is_wider(mode, gate.limit))

    async def _ask(self, question: PlanQuestion) -> PlanAnswer:
        seconds = self.conversation.settings.values.question_timeout_s
        try:
            async with asyncio.timeout(seconds or None):
                return await question_queue(self.services).ask(
                    question, on_failure=lambda reason: self.notify(f"cannot ask about the plan: {reason}")
                )
        except TimeoutError:
            return question.denial(f"the user did not answer within {seconds:g} s (question_timeout_s)")

    def _as_answer(self, plan: str) -> ToolResult:
        """Without a user: the plan is the answer of the prompt."""
        front_end = self.services.front_end
        if front_end.mode not in _PRINTED or front_end.surface is None:
            return text_result(_NO_USER)
        front_end.surface.display("plan", plan)
        if self._path is not None:
            self.notify(f"plan saved in {self._path}; nothing was approved", "info")
        return text_result("the plan was printed as the answer; nothing was approved", details={END_TURN: True})

    async def _act_on(self, question: PlanQuestion, answer: PlanAnswer) -> ToolResult:
        from zot.features.plan.plan_question import approval_text, refusal_text

        if answer.decision == "refuse":
            ends = not answer.comment and not answer.unavailable  # the user says next what to do
            details = {"refused": True, END_TURN: ends}
            return text_result(refusal_text(answer), is_error=True, details=details)
        if answer.plan is not None:
            await self._save(answer.plan)
        self.conversation.set_permission_mode(answer.mode)
        path, self._path = self._path, None
        if answer.fresh:
            self._follow_up = (answer.plan or question.plan, path)
        text = approval_text(question, answer)
        if answer.fresh:
            return text_result(text, details={END_TURN: True})
        return text_result(text, details={ATTACHED: {"view": _view_of(answer.plan or question.plan)}})

    async def _save(self, plan: str) -> None:
        """A revised plan replaces the file of the one before, until one is approved."""
        from zot.features.plan.plan_files import save_plan

        try:
            self._path = await asyncio.to_thread(save_plan, self.conversation.home, plan, self._path)
        except OSError as error:
            self._path = None
            place = self.conversation.home / "plans"
            self.notify(f"cannot save the plan in {place}: {describe_error(error)}")

    # --- a fresh context

    async def after_run(self) -> None:
        if self._follow_up is None:
            return
        (plan, path), self._follow_up = self._follow_up, None
        from zot.features.plan.fresh_start import start_with_plan

        await start_with_plan(self.conversation, plan, path)
