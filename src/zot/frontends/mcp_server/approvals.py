"""Questions of a conversation, asked through the client's forms. Whatever goes wrong is a denial."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from zot.core.permission_gate import Answer
from zot.errors import ZotError
from zot.frontends.json_rpc import Params
from zot.frontends.mcp_server.exchange import Exchange
from zot.system.visible_text import escape_invisible

if TYPE_CHECKING:
    from zot.features.ask_user.questions import QuestionAnswers, UserQuestion, UserQuestions
    from zot.features.jail.outside_access import OutsideRequest
    from zot.features.plan.plan_question import PlanAnswer, PlanQuestion
    from zot.features.questions import Approval
    from zot.provider.messages import ToolCallBlock

KINDS = ("approval", "outside")
FORM_KINDS = ("questions", "plan")  # without forms the model decides itself, or answers with its plan
ANSWER_WITHIN_S = 600.0
MOST_SHOWN = 20_000  # characters of a call; a longer one cannot be judged
_CANNOT = (
    "denied: this call needs approval, and the MCP client has no forms (elicitation) to ask its user; `zot mcp serve "
    "--permission-mode MODE` decides what needs none"
)
_ALLOW, _DENY, _REFUSE = "allow", "deny", "refuse"
_OTHER = "something else"
_SCHEMA = {
    "type": "object",
    "properties": {"decision": {"type": "string", "title": "Allow it once?", "enum": [_ALLOW, _DENY]}},
    "required": ["decision"],
}


class ClientApprovals:
    """The presenter of one conversation. An approval is for one call only."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*KINDS, *FORM_KINDS) if self._exchange.client.answers_forms else KINDS

    async def __call__(self, question: Any) -> Any:
        match question.kind:
            case "questions":
                return await self._questions(question)
            case "plan":
                return await self._plan(question)
            case "outside":
                return await self._outside(question)
            case _:
                return await self._approval(question)

    async def _approval(self, question: Approval) -> Answer:
        request = question.request
        who = f"{request.origin} wants zot to run" if request.origin else "zot wants to run"
        reason = f"\n{request.reason}" if request.reason else ""
        refusal = await self._refusal(f"{who} {_shown(request.call)}{reason}", request.call)
        return Answer("deny", refusal) if refusal else Answer("once")

    async def _outside(self, question: OutsideRequest) -> str:
        wanted = " and ".join(map(str, question.wishes))
        text = f"zot wants access outside the jail, to {wanted}, for {_shown(question.call)}"
        return "deny" if await self._refusal(text, question.call) else "once"

    # --- questions and plans of the model

    async def _questions(self, asked: UserQuestions) -> QuestionAnswers:
        """One form, and one more for the user's own words: some clients cannot leave a text of a form empty."""
        from zot.features.ask_user.questions import QuestionAnswers

        fields: Params = {}
        for number, question in enumerate(asked.questions):
            fields |= _fields(number, question)
        text = "\n\n".join(map(_question_text, asked.questions))
        values = await self._answers(_lines(f"zot asks:\n{text}"), {"type": "object", "properties": fields})
        if isinstance(values, str):
            return asked.denial(values)
        if not values:
            return QuestionAnswers(declined=True)
        chosen = [_chosen(values, *numbered) for numbered in enumerate(asked.questions)]
        other = [number for number, labels in enumerate(chosen) if _OTHER in labels]
        words: Params | str = {}
        if other:
            titles = {f"answer{number}": _title(asked.questions[number]) for number in other}
            own: Params = {name: {"type": "string", "title": title} for name, title in titles.items()}
            schema = {"type": "object", "properties": own, "required": [*own]}
            text = "\n".join(asked.questions[number].question for number in other)
            words = await self._answers(_lines(f"zot asks for your own answer:\n{text}"), schema)
        if isinstance(words, str):
            return asked.denial(words)
        return QuestionAnswers(tuple(_with_words(labels, words.get(f"answer{n}")) for n, labels in enumerate(chosen)))

    async def _plan(self, question: PlanQuestion) -> PlanAnswer:
        """Approved with one of the modes that the limit of the server allows."""
        from zot.features.plan.plan_question import PlanAnswer

        choices = [*question.modes, _REFUSE]
        about = f"The permission mode in which zot carries it out, or {_REFUSE}"
        fields: Params = {
            "decision": {"type": "string", "title": "Approve the plan?", "description": about, "enum": choices},
        }
        schema = {"type": "object", "properties": fields, "required": ["decision"]}
        if len(question.plan) > MOST_SHOWN:
            return question.denial(f"a plan of more than {MOST_SHOWN:,} characters cannot be shown; shorten it")
        values = await self._answers(_lines(f"zot presents a plan:\n\n{question.plan}"), schema)
        if isinstance(values, str):
            return question.denial(values)
        mode = values.get("decision")
        if mode not in question.modes:
            return PlanAnswer("refuse")
        return PlanAnswer("approve", mode)

    async def _answers(self, text: str, schema: Params) -> Params | str:
        """The fields of a form, none if the user declined; or why it could not be asked."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await self._exchange.elicit(text, schema)
        except TimeoutError:
            return f"the user did not answer within {ANSWER_WITHIN_S:.0f} s"
        except ZotError as error:
            return f"the MCP client could not ask: {error}"

    # --- asking

    async def _refusal(self, text: str, call: ToolCallBlock) -> str:
        """Why it may not be done; empty if the user allows it."""
        if not self._exchange.client.answers_forms:
            return _CANNOT
        if len(text) > MOST_SHOWN:
            return f"denied: a call of more than {MOST_SHOWN:,} characters cannot be shown for approval"
        answer = await self._answers(escape_invisible(text), _SCHEMA)
        if isinstance(answer, str):
            return f"denied: {answer}"
        return "" if answer.get("decision") == _ALLOW else "denied by the user of the MCP client"


def _lines(text: str) -> str:
    return "\n".join(map(escape_invisible, text.split("\n")))


def _question_text(question: UserQuestion) -> str:
    """With the descriptions of its options, which forms do not show."""
    described = [f"- {option.label}: {option.description}" for option in question.options if option.description]
    return "\n".join([question.question, *described])


def _title(question: UserQuestion) -> str:
    return question.header or question.question


def _fields(number: int, question: UserQuestion) -> Params:
    """Only what every version of the protocol knows: one choice, or a switch for each of several."""
    name, title, labels = f"answer{number}", _title(question), [option.label for option in question.options]
    about: Params = {"description": question.question} if question.header else {}
    if not labels:
        return {name: {"type": "string", "title": title, **about}}
    labels.append(_OTHER)
    if question.multiple:
        return {
            f"{name}_{place}": {"type": "boolean", "title": f"{title} {label}", "default": False}
            for place, label in enumerate(labels)
        }
    return {name: {"type": "string", "title": title, **about, "enum": labels}}


def _chosen(values: Params, number: int, question: UserQuestion) -> tuple[str, ...]:
    if question.multiple:
        labels = [*(option.label for option in question.options), _OTHER]
        return tuple(label for place, label in enumerate(labels) if values.get(f"answer{number}_{place}") is True)
    value = values.get(f"answer{number}")
    return (value,) if isinstance(value, str) and value.strip() else ()


def _with_words(labels: tuple[str, ...], words: object) -> tuple[str, ...]:
    kept = tuple(label for label in labels if label != _OTHER)
    return (*kept, words.strip()) if isinstance(words, str) and words.strip() else kept


def _shown(call: ToolCallBlock) -> str:
    """The tool and all its arguments; a command alone is shown as it is typed."""
    args = call.args or {}
    if list(args) == ["command"]:
        return f"{call.name}: {args['command']}"
    return f"{call.name}: {json.dumps(args, ensure_ascii=False)}"
