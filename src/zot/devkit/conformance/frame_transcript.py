"""All lines of one run with times and faults; matches answers to questions.

An answer with a wrong id settles the only open question of its kind, so one mistake is not reported twice.
"""

from __future__ import annotations

import re
from typing import Any, Literal, cast, get_args

import msgspec

from zot.errors import BadFrame, closest_match
from zot.system import strict_json
from zot.wire.extension_codec import UnknownFrame, decode_child
from zot.wire.extension_frames import (
    ChildFrame,
    CommandInvoked,
    CommandResponse,
    EventIntercept,
    EventInterceptResponse,
    Request,
    Response,
    ToolCall,
    ToolResult,
)

_TYPE_NAMES = {"str": "a string", "array": "a list", "bool": "true or false", "int": "a number", "object": "an object"}

Kind = Literal["command", "tool", "intercept", "request"]
Asking = CommandInvoked | ToolCall | EventIntercept | Request
Answer = CommandResponse | ToolResult | EventInterceptResponse | Response


class Fault(msgspec.Struct, frozen=True):
    """A fault of a line: its check, and its start if earlier than the line."""

    check: str
    reason: str
    since: float = 0.0


class TranscriptLine(msgspec.Struct, frozen=True):
    """``data`` has no line end; from the child, ``frame`` or ``fault`` or both are set."""

    t: float
    direction: Literal["in", "out"]
    data: bytes
    frame: ChildFrame | None = None
    fault: Fault | None = None


class Question(msgspec.Struct):
    kind: Kind
    id: str
    name: str
    asked: float
    answer: Answer | None = None
    answer_line: bytes = b""
    answered: float = 0.0
    cancelled: bool = False
    spoiled: bool = False  # answered with an invalid frame

    @property
    def is_open(self) -> bool:
        return self.answer is None and not self.cancelled

    @property
    def is_settled(self) -> bool:
        return self.answer is not None or self.spoiled


def kind_of(frame: object) -> Kind | None:
    """The kind of request a frame sends or answers."""
    match frame:
        case CommandInvoked() | CommandResponse():
            return "command"
        case ToolCall() | ToolResult():
            return "tool"
        case EventIntercept() | EventInterceptResponse():
            return "intercept"
        case Request() | Response():
            return "request"
        case _:
            return None


def name_of(frame: Asking) -> str:
    """The command, tool, event or method of a request."""
    match frame:
        case EventIntercept(event=event):
            return event
        case Request(method=method):
            return method
        case _:
            return frame.name


class FrameTranscript:
    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: list[TranscriptLine] = []
        self.questions: dict[tuple[Kind, str], Question] = {}
        self.ending = False  # set when the host asked the child to end

    @property
    def received(self) -> list[TranscriptLine]:
        return [line for line in self.lines if line.direction == "in"]

    def frames(self, *types: type[ChildFrame]) -> list[ChildFrame]:
        return [line.frame for line in self.received if isinstance(line.frame, types)]

    def sent(self, t: float, data: bytes) -> None:
        self.lines.append(TranscriptLine(t, "out", data.rstrip(b"\n")))

    def ask(self, t: float, frame: Asking) -> Question:
        kind = kind_of(frame)
        assert kind is not None
        question = self.questions[kind, frame.id] = Question(kind, frame.id, name_of(frame), t)
        return question

    def receive(self, t: float, data: bytes | None, *, complete: bool = True) -> TranscriptLine:
        """Records a line; None for a too long one. The last one may lack its line feed."""
        if data is None:
            since = next(
                (line.t for line in reversed(self.lines) if line.direction == "in"), 0.0
            )  # it arrived over some time
            line = TranscriptLine(t, "in", b"", None, Fault("framing-size", "a line longer than 8 MiB", since))
        else:
            frame, fault = read_line(data)
            if fault is not None and frame is None:  # it answered every open question whose id is in it
                for question in self.questions.values():
                    if question.is_open and f'"{question.id}"'.encode() in data:
                        question.spoiled = True
            if isinstance(frame, CommandResponse | ToolResult | EventInterceptResponse | Response):
                unexpected = self._settle(t, frame, data)
                fault = fault or unexpected
            if fault is not None and not complete:
                fault = Fault("framing-newline", "the last output has no line feed at its end")
            line = TranscriptLine(t, "in", data, frame, fault)
        self.lines.append(line)
        return line

    def _settle(self, t: float, frame: Answer, data: bytes) -> Fault | None:
        kind = kind_of(frame)
        assert kind is not None
        question = self.questions.get((kind, frame.id))
        fault = None
        if question is None:
            fault = Fault("answers-known-ids", f"no question had the id {frame.id!r}")
            open_ones = [q for q in self.questions.values() if q.kind == kind and q.is_open]
            question = open_ones[0] if len(open_ones) == 1 else None
            if question is None:
                return fault
        elif question.answer is not None:
            return Fault("answers-once", f"a second answer to {frame.id!r}")
        elif self.ending:
            reason = f"the answer to {frame.id!r} came only at shutdown"
            fault = Fault("framing-flush", reason, question.asked)
        question.answer, question.answer_line, question.answered = frame, data, t
        return fault


# --- faults of a single line


def read_line(line: bytes) -> tuple[ChildFrame | None, Fault | None]:
    """The frame of a line, its fault, or both: a numeric id still identifies the request."""
    if line.endswith(b"\r"):
        line = line[:-1]
    try:
        return decode_child(line), None
    except UnknownFrame as error:
        value = _object(line)
        known = [str(kind.__struct_config__.tag) for kind in get_args(ChildFrame)]
        near = closest_match(str(value.get("type")), known) if value else ""
        return None, Fault("framing-known-types", str(error) + (f"; did you mean {near}?" if near else ""))
    except BadFrame as error:
        reason = str(error)
        if fault := _not_json(line, reason):
            return None, fault
        value = _object(line)
        if value is None:
            return None, Fault("framing-only-frames", reason)
        if not isinstance(value.get("id"), str | None):
            return _with_text_id(value), Fault("answers-string-ids", "`id` is not a string")
        return None, Fault("framing-key-types", json_type_error(reason))


def _not_json(line: bytes, reason: str) -> Fault | None:
    if not line.strip():
        return Fault("framing-no-blank-lines", "an empty line")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return Fault("framing-utf8", f"not UTF-8 at byte {error.start}")
    if text.startswith("\ufeff"):
        return Fault("framing-utf8", "begins with a byte order mark")
    try:
        strict_json.loads(line)
    except ValueError as error:
        if _is_lenient_json(line):
            return Fault("framing-strict-json", str(error))
        if _is_a_piece(text.strip()):
            return Fault("framing-one-line", "a piece of a JSON object, or several on one line")
        return Fault("framing-only-frames", reason if text.lstrip().startswith("{") else "text that is not a frame")
    return None


def _is_lenient_json(line: bytes) -> bool:
    import json  # the standard reader accepts NaN, huge integers and duplicate keys

    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return b"[" * strict_json.MAX_DEPTH in line
    return True


def _is_a_piece(text: str) -> bool:
    """Pretty-printed JSON comes as `{`, `"key": value,` and `}`; two frames without a line feed as `}{`."""
    if text.startswith("{"):
        return not text.endswith("}") or "}{" in text.replace(" ", "")
    return text.strip(",") in ("}", "]", "},", "{", "[") or (text.startswith('"') and '":' in text)


def _object(line: bytes) -> dict[str, Any] | None:
    value: Any = strict_json.loads(line)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _with_text_id(value: dict[str, Any]) -> ChildFrame | None:
    try:
        return decode_child(msgspec.json.encode({**value, "id": str(value["id"])}))
    except BadFrame:
        return None


def json_type_error(reason: str) -> str:
    """``Expected `str | null`, got `int` - at `$.name``` as ``"name": expected a string, got a number``."""
    wanted, _, place = reason.partition(" - at `$")
    if not wanted.startswith(("Expected `", "Object missing")):
        return reason
    wanted = wanted.replace(" | null", "").replace("`", "").replace("Expected ", "expected ")
    words = re.sub(r"\w+", lambda word: _TYPE_NAMES.get(word[0], word[0]), wanted)
    return f'"{place.strip("`.")}": {words}' if place else words
