"""The tool ``ask_user``: the model asks the user one to four questions and waits for the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from zot.agent.feature import Feature
from zot.core.permission_modes import CallClass
from zot.core.tool import ATTACHED, Tool, ToolContext, ToolResult, text_result
from zot.features.questions import question_queue

if TYPE_CHECKING:
    from zot.features.ask_user.questions import QuestionAnswers, UserQuestions

_DESCRIPTION = (
    "Ask the user one to four questions and wait for the answers. Use it for decisions that only the user can make "
    "and that you cannot find out. Each question has two to six options, the best first; leave them out for an answer "
    "in words. The user can always answer in other words."
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": 4,
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "header": {"type": "string", "description": "one or two words"},
                    "options": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                            "required": ["label"],
                        },
                    },
                    "multiple": {"type": "boolean", "description": "several options may be chosen"},
                },
                "required": ["question"],
            },
        }
    },
    "required": ["questions"],
}


class AskUserTool:
    name = "ask_user"
    description = _DESCRIPTION
    schema = _SCHEMA
    read_only = False

    def __init__(self, ask: Callable[[UserQuestions], Any]) -> None:
        self._ask = ask

    def classify(self, args: dict[str, Any]) -> CallClass:
        return CallClass("look")

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        from zot.features.ask_user.questions import UserQuestions, answer_lines, answer_text, parse_questions

        if context.origin:
            return text_result("ask_user: only the model can call it; extensions have `ui.ask`", is_error=True)
        questions = parse_questions(args)
        given = await self._ask(UserQuestions(call_id=context.call_id, questions=questions))
        shown = {ATTACHED: {"view": {"lines": answer_lines(questions, given)}}} if given.answers else None
        return text_result(answer_text(questions, given), details=shown)


class AskUserFeature(Feature):
    name: ClassVar[str] = "ask_user"

    def tools(self, taken: Collection[str]) -> list[Tool]:
        return [AskUserTool(self._ask)]

    def tool_names(self) -> Iterable[str]:
        return (AskUserTool.name,)

    async def _ask(self, question: UserQuestions) -> QuestionAnswers:
        """The answer; none if the user does not answer in the time of the setting."""
        from zot.features.ask_user.questions import DECIDE

        seconds = self.conversation.settings.values.question_timeout_s
        try:
            async with asyncio.timeout(seconds or None):
                return await question_queue(self.services).ask(question, on_failure=self._failed)
        except TimeoutError:
            return question.denial(f"the user did not answer within {seconds:g} s (question_timeout_s). {DECIDE}")

    def _failed(self, reason: str) -> None:
        self.notify(f"cannot ask the user: {reason}")
