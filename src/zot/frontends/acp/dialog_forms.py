"""Dialogs of extensions and questions of MCP servers as JSON Schema forms, and the values that come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zot.frontends.acp.content import Json
from zot.wire.lines import plain_text, to_lines

if TYPE_CHECKING:
    from zot.features.extensions.dialogs import DialogField, DialogParams
    from zot.features.mcp.elicitation import QuestionField

_VALUE = "value"


def form_of(params: DialogParams) -> tuple[Json, list[str]]:
    """Properties and required names."""
    if params.kind == "form":
        return fields_of(params.fields)
    about = "\n".join(plain_text(line) for line in to_lines(params.message)) if params.message else ""
    field: Json = {"type": "string", "title": params.title, **({"description": about} if about else {})}
    match params.kind:
        case "confirm":
            field["type"] = "boolean"
        case "select":
            field["oneOf"] = _choices([(option.value, plain_text(option.line)) for option in params.options])
        case "choose":
            listed = _choices([(option.value, plain_text(option.line)) for option in params.options])
            field |= {"type": "array", "items": {"anyOf": listed}}
        case _:
            pass
    if params.default is not None:
        field["default"] = params.default
    return {_VALUE: field}, [_VALUE]


def value_from(params: DialogParams, values: Json) -> Any:
    if params.kind == "form":
        return values
    return values.get(_VALUE)


def fields_of(fields: Sequence[DialogField] | Sequence[QuestionField]) -> tuple[Json, list[str]]:
    return {field.name: _field(field) for field in fields}, [field.name for field in fields if field.required]


def _field(field: DialogField | QuestionField) -> Json:
    labels: Any = getattr(field, "labels", ())
    pairs = [each if isinstance(each, tuple) else (each, each) for each in field.choices]
    if labels:
        pairs = [(value, label) for (value, _), label in zip(pairs, labels, strict=False)]
    made: Json = {"type": "string", "title": field.title or field.name}
    if field.description:
        made["description"] = field.description
    match field.kind:
        case "number" | "integer":
            made["type"] = field.kind
        case "yes":
            made["type"] = "boolean"
        case "choice":
            made["oneOf"] = _choices(pairs)
        case "choices":
            made |= {"type": "array", "items": {"anyOf": _choices(pairs)}}
        case _:
            pass
    if field.default not in (None, "") and field.kind in ("text", "choice", "path"):
        made["default"] = field.default
    return made


def _choices(pairs: Sequence[tuple[str, str]]) -> list[Json]:
    return [{"const": value, "title": label} for value, label in pairs]
