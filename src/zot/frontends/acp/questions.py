"""Questions of a conversation, asked in the editor: approvals as permission requests, others as forms.
Without forms a choice becomes a permission request, and what cannot be asked is denied with a notice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from zot.core.permission_gate import Answer
from zot.frontends.acp.content import Json, text_block
from zot.frontends.acp.tool_calls import kind_of, title_of
from zot.frontends.acp.updates import Updates
from zot.frontends.json_rpc import Peer, RpcError, as_list, as_object

if TYPE_CHECKING:
    from zot.features.ask_user.questions import QuestionAnswers, UserQuestions
    from zot.features.extensions.dialogs import DialogAnswer, ExtensionDialog
    from zot.features.jail.outside_access import OutsideRequest
    from zot.features.mcp.elicitation import Elicitation
    from zot.features.plan.plan_question import PlanAnswer, PlanQuestion
    from zot.features.questions import Approval

KINDS = ("approval", "outside", "elicitation", "dialog", "questions", "plan")
_OTHER = "other"  # name of the field for the user's own words
_GONE = "denied: the editor closed the question"


class EditorQuestions:
    """The presenter of one session. ``forms``: the client shows forms (``elicitation``)."""

    def __init__(self, peer: Peer, session_id: str, updates: Updates, *, forms: bool, urls: bool) -> None:
        self._peer = peer
        self._session_id = session_id
        self._updates = updates
        self._forms = forms
        self._urls = urls

    async def __call__(self, question: Any) -> Any:
        answer: Callable[[Any], Awaitable[Any]] = getattr(self, f"_{question.kind}")
        return await answer(question)

    # --- approvals

    async def _approval(self, question: Approval) -> Answer:
        request = question.request
        options = {"once": ("Allow once", "allow_once")}
        if request.prefixes or request.prefix:
            names = ", ".join(f"`{' '.join(each)} …`" for each in request.prefixes or (request.prefix,))
            options["prefix"] = (f"Always allow {names} in this session", "allow_always")
        elif not request.reason:
            options["tool"] = (f"Always allow {request.call.name} in this session", "allow_always")
        options["deny"] = ("Deny", "reject_once")
        chosen = await self._permission(self._call(request.call, request.reason), options)
        return Answer("deny", _GONE) if chosen is None else Answer(cast("Any", chosen))

    async def _outside(self, question: OutsideRequest) -> str:
        wanted = ", ".join(map(str, question.wishes))
        call = self._call(question.call, f"It needs access outside the jail: {wanted}")
        options = {
            "once": ("Allow once", "allow_once"),
            "session": ("Allow in this session", "allow_always"),
            "deny": ("Deny", "reject_once"),
            "never": ("Deny in this session", "reject_always"),
        }
        return await self._permission(call, options) or "deny"

    def _call(self, call: Any, reason: str) -> Json:
        """The call with all that is approved: the command or the difference, and why it is asked."""
        self._updates.announce(call)
        command = as_object(call.args).get("command")
        parts = [reason, f"```sh\n{command}\n```" if isinstance(command, str) else ""]
        content: list[Json] = [{"type": "content", "content": text_block(text)} for text in parts if text]
        return {
            "toolCallId": self._updates.shown_id(call.id),
            "title": title_of(call),
            "kind": kind_of(call.name),
            "status": "pending",
            "content": [*content, *self._updates.diff_of(call)],
            "rawInput": call.args,
        }

    async def _permission(self, call: Json, options: dict[str, tuple[str, str]]) -> str | None:
        """The id of the chosen option; None if the request was cancelled or failed."""
        listed = [{"optionId": id, "name": name, "kind": kind} for id, (name, kind) in options.items()]
        given = {"sessionId": self._session_id, "toolCall": call, "options": listed}
        self._updates.flush()
        try:
            answer = await self._peer.request("session/request_permission", given)
        except RpcError:
            return None
        outcome = as_object(as_object(answer).get("outcome"))
        chosen = outcome.get("optionId") if outcome.get("outcome") == "selected" else None
        return chosen if chosen in options else None

    # --- forms

    async def _form(self, message: str, properties: Json, required: list[str]) -> Json | None:
        """The values; None if the user declined or the client cannot ask."""
        schema: Json = {"type": "object", "properties": properties, "required": required}
        given = {"sessionId": self._session_id, "mode": "form", "message": message, "requestedSchema": schema}
        self._updates.flush()
        try:
            answer = await self._peer.request("elicitation/create", given)
        except RpcError as error:
            self._updates.note(f"a question could not be asked: {error}", "warning")
            return None
        given = as_object(answer)
        return as_object(given.get("content")) if given.get("action") == "accept" else None

    async def _choose(self, title: str, choices: dict[str, str]) -> str | None:
        """A choice by a permission request, for clients without forms."""
        call: Json = {"toolCallId": f"question-{id(choices)}", "title": title, "kind": "other", "status": "pending"}
        self._updates.send({"sessionUpdate": "tool_call", **call})
        options = {str(number): (label, "allow_once") for number, label in enumerate(choices.values())}
        options["none"] = ("None of these", "reject_once")
        chosen = await self._permission(call, options)
        done = "completed" if chosen not in (None, "none") else "failed"
        self._updates.send({"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], "status": done})
        return None if chosen in (None, "none") else list(choices)[int(chosen)]

    async def _questions(self, asked: UserQuestions) -> QuestionAnswers:
        from zot.features.ask_user.questions import QuestionAnswers

        if not self._forms:
            return await self._questions_as_choices(asked)
        properties: Json = {}
        for number, question in enumerate(asked.questions):
            title = question.header or question.question
            field: Json = {"type": "string", "title": title, "description": question.question}
            if question.options:
                listed = [{"const": option.label, "title": _option(option)} for option in question.options]
                field = (
                    {**field, "type": "array", "items": {"anyOf": listed}}
                    if question.multiple
                    else {**field, "oneOf": listed}
                )
                properties[f"{_OTHER}{number}"] = {"type": "string", "title": f"{title}: something else"}
            properties[str(number)] = field
        values = await self._form("\n".join(each.question for each in asked.questions), properties, [])
        if values is None:
            return QuestionAnswers(declined=True)
        answers: list[tuple[str, ...]] = []
        for number in range(len(asked.questions)):
            own = str(values.get(f"{_OTHER}{number}") or "").strip()
            value: Any = values.get(str(number))
            chosen = tuple(map(str, as_list(value))) or ((str(value),) if isinstance(value, str) and value else ())
            answers.append((own,) if own else chosen)
        return QuestionAnswers(tuple(answers))

    async def _questions_as_choices(self, asked: UserQuestions) -> QuestionAnswers:
        from zot.features.ask_user.questions import QuestionAnswers

        answers: list[tuple[str, ...]] = []
        for question in asked.questions:
            if not question.options:
                return QuestionAnswers(unavailable=f"the editor cannot ask for text: {question.question}")
            chosen = await self._choose(question.question, {each.label: _option(each) for each in question.options})
            if chosen is None:
                return QuestionAnswers(declined=True)
            answers.append((chosen,))
        return QuestionAnswers(tuple(answers))

    async def _plan(self, question: PlanQuestion) -> PlanAnswer:
        from zot.features.plan.plan_question import PlanAnswer

        plan = {"type": "content", "content": text_block(question.plan)}
        id = self._updates.shown_id(question.call_id)
        call = {"toolCallId": id, "title": "Plan", "kind": "switch_mode", "status": "pending"}
        names = {mode: (f"Yes, and go on in mode {mode}", "allow_once") for mode in question.modes}
        options = {**names, "refuse": ("No, keep planning", "reject_once")}
        chosen = await self._permission({**call, "content": [plan]}, options)
        if chosen is None or chosen == "refuse":
            return PlanAnswer("refuse")
        return PlanAnswer("approve", cast("Any", chosen))

    # --- extensions and MCP servers

    async def _dialog(self, question: ExtensionDialog) -> DialogAnswer:
        from zot.features.extensions.dialogs import DialogAnswer, answer_problem
        from zot.frontends.acp.dialog_forms import form_of, value_from

        params, source = question.params, question.source
        title = f"{source} asks: {params.title}"
        if not self._forms:
            choices = {option.value: option.value for option in params.options} or {"yes": "Yes", "no": "No"}
            if params.kind not in ("confirm", "select"):
                self._updates.note(f"{title}; this editor shows no forms, so the question was cancelled", "warning")
                return DialogAnswer(cancelled=True)
            chosen = await self._choose(title, choices)
            value: Any = chosen == "yes" if params.kind == "confirm" else chosen
            return DialogAnswer(cancelled=True) if chosen is None else DialogAnswer(value)
        properties, required = form_of(params)
        values = await self._form(title, properties, required)
        if values is None:
            return DialogAnswer(cancelled=True)
        value = value_from(params, values)
        if wrong := answer_problem(params, value):
            self._updates.note(f"{title}: {wrong}; the question was cancelled", "warning")
            return DialogAnswer(cancelled=True)
        return DialogAnswer(value)

    async def _elicitation(self, question: Elicitation) -> Json:
        from zot.frontends.acp.dialog_forms import fields_of

        message = f"{question.server}: {question.message}"
        if question.url:
            if not self._urls:
                self._updates.note(f"{message}: open {question.url}")
                return {"action": "accept"}
            given = {"sessionId": self._session_id, "mode": "url", "message": message, "url": question.url}
            try:
                answer = await self._peer.request("elicitation/create", {**given, "elicitationId": str(id(question))})
            except RpcError:
                return {"action": "cancel"}
            return {"action": as_object(answer).get("action", "cancel")}
        if not self._forms:
            self._updates.note(f"{message}; this editor shows no forms, so the question was cancelled", "warning")
            return {"action": "cancel"}
        properties, required = fields_of(question.fields)
        values = await self._form(message, properties, required)
        return {"action": "cancel"} if values is None else {"action": "accept", "content": values}


def _option(option: Any) -> str:
    return f"{option.label}: {option.description}" if option.description else option.label
