"""Dialogs of extensions: what is asked, and whether an answer fits. Front ends show them as questions of their own
lane: zot's questions come first and never wait for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import msgspec

from zot.features.questions import Question
from zot.wire.lines import Line, plain_text, to_line, to_lines

if TYPE_CHECKING:
    from zot.wire.rpc_frames import ExtDialog

LANE = "extensions"
MOST_OPTIONS, MOST_FIELDS, MOST_MESSAGE, LONGEST_TITLE = 1000, 20, 40, 200
_SECRET = re.compile(r"pass(word|phrase|wd)?\b|secret|token|api.?key|credential|\bpin\b", re.IGNORECASE)

DialogKind = Literal["confirm", "select", "choose", "input", "editor", "form", "url"]
FieldKind = Literal["text", "number", "integer", "yes", "choice", "choices", "path"]


class DialogOption(msgspec.Struct, frozen=True):
    value: str
    label: Any = None
    description: str = ""
    group: str = ""
    disabled: bool = False

    @property
    def line(self) -> Line:
        return to_line(self.label) or to_line(self.value)


class DialogField(msgspec.Struct, frozen=True):
    name: str
    kind: FieldKind = "text"
    title: str = ""
    description: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    pattern: str = ""


class DialogParams(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of ``ui.ask``."""

    kind: DialogKind
    title: str
    message: Any = None
    options: tuple[DialogOption, ...] = ()
    default: Any = None
    placeholder: str = ""
    text: str = ""
    fields: tuple[DialogField, ...] = ()
    url: str = ""
    timeout_s: int = 0
    yes: str = ""
    no: str = ""


class DialogAnswer(msgspec.Struct, frozen=True):
    """``value`` of the user, or ``cancelled``; ``unavailable`` if the front end could not ask after all."""

    value: Any = None
    cancelled: bool = False
    unavailable: str = ""


class ExtensionDialog(Question[DialogAnswer], frozen=True, kw_only=True):
    """``until`` is the time of the event loop at which it closes, None for no limit."""

    kind: ClassVar[str] = "dialog"
    lane: ClassVar[str] = LANE
    extension: str
    params: DialogParams
    until: float | None = None

    @property
    def source(self) -> str:
        return self.extension

    @property
    def message(self) -> tuple[Line, ...]:
        return to_lines(self.params.message, MOST_MESSAGE)

    def as_frame(self, request_id: str) -> ExtDialog:
        """For clients and programs."""
        from zot.wire.rpc_frames import ExtDialog  # not in the terminal

        params = {key: value for key, value in msgspec.to_builtins(self.params).items() if value is not None}
        fields = {"type": "ext_dialog", **params, "request_id": request_id, "extension": self.extension}
        return msgspec.convert(fields, ExtDialog)

    def denial(self, reason: str = "") -> DialogAnswer:
        return DialogAnswer(cancelled=not reason, unavailable=reason)


def problem_of(params: DialogParams) -> str:
    """Why this dialog cannot be shown; empty if it can."""
    if not 1 <= len(params.title) <= LONGEST_TITLE:
        return f"title: expected 1 to {LONGEST_TITLE} characters"
    if params.kind in ("select", "choose") and not 1 <= len(params.options) <= MOST_OPTIONS:
        return f"options: expected 1 to {MOST_OPTIONS}"
    if params.kind == "form" and not 1 <= len(params.fields) <= MOST_FIELDS:
        return f"fields: expected 1 to {MOST_FIELDS}"
    if params.kind == "url" and not re.match(r"https?://\S+$", params.url):
        return "url: expected https:// or http://"
    if not 0 <= params.timeout_s <= 3600:
        return "timeout_s: expected 1 to 3600"
    names = [field.name for field in params.fields]
    if len(set(names)) != len(names):
        return "fields: two fields have the same name"
    for field in params.fields:
        if field.kind in ("choice", "choices") and not field.choices:
            return f"fields: {field.name}: choices: missing"
    if params.default is not None and (wrong := answer_problem(params, params.default)):
        return f"default: {wrong}"
    return ""


def asks_for_secret(params: DialogParams) -> str:
    """The field or title that seems to ask for a credential, else empty."""
    texts = [field.title or field.name for field in params.fields]
    texts += [params.title] if params.kind in ("input", "editor") else []
    return next((text for text in texts if _SECRET.search(text)), "")


def answer_problem(params: DialogParams, value: Any) -> str:
    """Why ``value`` is no answer to this dialog; empty if it is one."""
    match params.kind:
        case "confirm" | "url":
            return "" if isinstance(value, bool) else "expected true or false"
        case "select":
            return "" if value in _choosable(params) else "expected the value of an option"
        case "choose":
            values = cast("list[Any]", value) if isinstance(value, list) else [None]
            return "" if all(item in _choosable(params) for item in values) else "expected values of options"
        case "input" | "editor":
            return "" if isinstance(value, str) else "expected a string"
        case "form":
            if not isinstance(value, dict):
                return "expected an object"
            given = cast("dict[str, Any]", value)
            return next(filter(None, (field_problem(field, given.get(field.name)) for field in params.fields)), "")


def field_problem(field: DialogField, value: Any) -> str:
    """Why ``value`` does not fit a field; None is no answer."""
    name = field.title or field.name
    if value is None or value == "":
        return f"{name}: expected a value" if field.required else ""
    fits = {
        "text": isinstance(value, str),
        "path": isinstance(value, str),
        "yes": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "choice": value in field.choices,
        "choices": isinstance(value, list) and all(item in field.choices for item in cast("list[Any]", value)),
    }
    if not fits[field.kind]:
        return f"{name}: expected {_EXPECTED[field.kind]}"
    if field.pattern and isinstance(value, str) and not _matches(field.pattern, value):
        return f"{name}: does not match {field.pattern}"
    return ""


_EXPECTED = {
    "text": "a text",
    "path": "a path",
    "yes": "yes or no",
    "integer": "a whole number",
    "number": "a number",
    "choice": "one of the choices",
    "choices": "some of the choices",
}


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.fullmatch(pattern[:200], text[:1000]) is not None
    except re.error:
        return True


def _choosable(params: DialogParams) -> list[str]:
    return [option.value for option in params.options if not option.disabled]


def describe(option: DialogOption) -> str:
    return plain_text(option.line)
