"""A server's question to the user: its fields, kinds and defaults, and the parsed answer.
Only flat forms and URLs are supported; an answer that does not fit the form is reported, not sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import msgspec

from zot.features.mcp.protocol import McpError, list_in, object_in, text_of
from zot.features.questions import Question, QuestionQueue

MOST_FIELDS = 20
_LONGEST = 2000

FieldKind = Literal["text", "number", "integer", "yes", "choice", "choices"]


class QuestionField(msgspec.Struct, frozen=True, kw_only=True):
    """``choices`` are value and label; ``default`` is the text to type."""

    name: str
    kind: FieldKind = "text"
    title: str = ""
    description: str = ""
    required: bool = False
    default: str = ""
    choices: tuple[tuple[str, str], ...] = ()


class Elicitation(Question[dict[str, Any]], frozen=True, kw_only=True):
    """Either ``url`` is to be opened or ``fields`` are to be filled in."""

    kind: ClassVar[str] = "elicitation"
    server: str
    message: str
    url: str = ""
    fields: tuple[QuestionField, ...] = ()

    @property
    def source(self) -> str:
        return self.server

    def denial(self, reason: str = "") -> dict[str, Any]:
        return {"action": "cancel"}


async def ask_user(queue: QuestionQueue, notify: Callable[[str], None], question: Elicitation) -> dict[str, Any]:
    """The answer in the protocol's form; McpError if it lacks a required field."""
    answer = await queue.ask(
        question, on_failure=lambda why: notify(f"mcp: {question.server}: cannot ask the user: {why}")
    )
    if answer.get("action") != "accept" or question.url:
        return {"action": answer.get("action")}
    try:
        return {"action": "accept", "content": validate_answer(question, answer.get("content"))}
    except ValueError as error:
        raise McpError(f"{question.server}: {error}") from error


def parse_question(server: str, params: dict[str, Any]) -> Elicitation:
    """McpError for an unsupported question."""
    message = text_of(params.get("message"))[:_LONGEST]
    if params.get("mode") == "url":
        url = text_of(params.get("url"))[:_LONGEST]
        if not url.startswith(("https://", "http://")):
            raise McpError(f"{server}: asks to open an invalid URL")
        return Elicitation(server=server, message=message, url=url)
    schema = object_in(params.get("requestedSchema"))
    required = [name for name in list_in(schema.get("required")) if isinstance(name, str)]
    properties = object_in(schema.get("properties"))
    if len(properties) > MOST_FIELDS:
        raise McpError(f"{server}: asks for {len(properties)} fields; at most {MOST_FIELDS} are supported")
    fields = tuple(_field(name, object_in(each), name in required) for name, each in properties.items())
    return Elicitation(server=server, message=message, fields=fields)


def _field(name: str, schema: dict[str, Any], required: bool) -> QuestionField:
    kind, choices = _kind(schema)
    default = schema.get("default")
    if isinstance(default, bool):
        shown = "yes" if default else "no"
    elif isinstance(default, list):
        shown = ", ".join(str(item) for item in list_in(default))
    else:
        shown = "" if default is None else str(default)
    return QuestionField(
        name=name,
        kind=kind,
        title=text_of(schema.get("title"))[:200],
        description=text_of(schema.get("description"))[:500],
        required=required,
        default=shown[:500],
        choices=choices,
    )


def _kind(schema: dict[str, Any]) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    if schema.get("type") == "array":
        return "choices", _choices(object_in(schema.get("items")))
    if choices := _choices(schema):
        return "choice", choices
    kinds: dict[str, FieldKind] = {"boolean": "yes", "integer": "integer", "number": "number"}
    return kinds.get(text_of(schema.get("type")), "text"), ()


def _choices(schema: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    titled = [object_in(each) for each in list_in(schema.get("oneOf")) or list_in(schema.get("anyOf"))]
    if titled:
        return tuple(
            (text_of(each.get("const")), text_of(each.get("title")) or text_of(each.get("const"))) for each in titled
        )
    values = [item for item in list_in(schema.get("enum")) if isinstance(item, str)]
    labels = [text_of(item) for item in list_in(schema.get("enumNames"))]
    return tuple((value, labels[place] if place < len(labels) else value) for place, value in enumerate(values))


def read_answer(field: QuestionField, typed: str) -> Any:
    """The typed text as the field's value; None for none. ValueError if it does not fit."""
    text = typed.strip()
    if not text:
        if field.required:
            raise ValueError(f"{field.title or field.name}: expected a value")
        return None
    match field.kind:
        case "text":
            return text
        case "yes":
            return _yes(field, text)
        case "integer" | "number":
            return _number(field, text)
        case "choice":
            return _chosen(field, text)
        case "choices":
            return [_chosen(field, part.strip()) for part in text.split(",") if part.strip()]


def _yes(field: QuestionField, text: str) -> bool:
    words = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
    if text.lower() not in words:
        raise ValueError(f"{field.title or field.name}: expected yes or no")
    return words[text.lower()]


def _number(field: QuestionField, text: str) -> int | float:
    try:
        value = float(text)
        whole = int(text) if field.kind == "integer" else value
    except ValueError:
        raise ValueError(
            f"{field.title or field.name}: expected a {'whole ' * (field.kind == 'integer')}number"
        ) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{field.title or field.name}: expected a number")
    return whole


def _chosen(field: QuestionField, text: str) -> str:
    for value, label in field.choices:
        if text in (value, label):
            return value
    raise ValueError(f"{field.title or field.name}: expected one of {', '.join(value for value, _ in field.choices)}")


def validate_answer(question: Elicitation, answer: Any) -> dict[str, Any]:
    """A program's answer, limited to the form's fields. ValueError for missing ones."""
    content = object_in(answer)
    known = {field.name: field for field in question.fields}
    missing = [name for name, field in known.items() if field.required and content.get(name) is None]
    if missing:
        raise ValueError(f"missing fields: {', '.join(missing)}")
    return {name: value for name, value in content.items() if name in known and value is not None}
