"""One to four questions of the model to the user: checked arguments, the question for the queue, the answer as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec

from zot.errors import ToolError
from zot.features.questions import Question

if TYPE_CHECKING:
    from zot.wire.rpc_frames import QuestionRequest

MOST_QUESTIONS, LEAST_OPTIONS, MOST_OPTIONS = 4, 2, 6
LONGEST_QUESTION, LONGEST_HEADER, LONGEST_LABEL, LONGEST_DESCRIPTION = 1_000, 40, 120, 400
LONGEST_ANSWER = 20_000  # characters of the user's own words
DECIDE = "Decide yourself, choose what is easiest to undo, and say in your answer what you assumed"
NO_USER = f"no user is present to answer. {DECIDE}"


class QuestionOption(msgspec.Struct, frozen=True):
    label: str
    description: str = ""


class UserQuestion(msgspec.Struct, frozen=True):
    """Without ``options`` it asks for text. The user may always answer in other words."""

    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False


class QuestionAnswers(msgspec.Struct, frozen=True):
    """One tuple of texts per question; or ``declined`` with a comment; or ``unavailable``: why there is no answer."""

    answers: tuple[tuple[str, ...], ...] = ()
    declined: bool = False
    comment: str = ""
    unavailable: str = ""


class UserQuestions(Question[QuestionAnswers], frozen=True, kw_only=True):
    kind: ClassVar[str] = "questions"
    call_id: str
    questions: tuple[UserQuestion, ...]

    def as_frame(self, request_id: str) -> QuestionRequest:
        """For clients and programs."""
        from zot.wire.rpc_frames import QuestionRequest  # not in the terminal

        fields = {"type": "question_request", "request_id": request_id, "tool_id": self.call_id}
        return msgspec.convert({**fields, "questions": msgspec.to_builtins(self.questions)}, QuestionRequest)

    def denial(self, reason: str = "") -> QuestionAnswers:
        return QuestionAnswers(unavailable=reason or NO_USER)


# --- the model's arguments


def parse_questions(args: dict[str, Any]) -> tuple[UserQuestion, ...]:
    """ToolError names the wrong field."""
    given: Any = args.get("questions")
    items = _list([given] if isinstance(given, dict) else given)
    if not 1 <= len(items) <= MOST_QUESTIONS:
        raise ToolError(f'ask_user: expected "questions", a list of 1 to {MOST_QUESTIONS} objects')
    return tuple(_question(number, item) for number, item in enumerate(items, 1))


def _question(number: int, item: Any) -> UserQuestion:
    where = f"ask_user: question {number}"
    fields = _object(item, "question")
    question = _text(f"{where}: question", fields.get("question"), LONGEST_QUESTION, required=True)
    header = _text(f"{where}: header", fields.get("header"), LONGEST_HEADER)
    listed = _list(fields.get("options"))
    if listed and not LEAST_OPTIONS <= len(listed) <= MOST_OPTIONS:
        raise ToolError(
            f"{where}: {len(listed):,} options; expected {LEAST_OPTIONS} to {MOST_OPTIONS}, or none for an answer in "
            "words"
        )
    options = tuple(_option(f"{where}: option {place}", each) for place, each in enumerate(listed, 1))
    if len({option.label for option in options}) < len(options):
        raise ToolError(f"{where}: two options have the same label")
    return UserQuestion(question, header, options, fields.get("multiple") is True and bool(options))


def _option(where: str, item: Any) -> QuestionOption:
    fields = _object(item, "label")
    label = _text(f"{where}: label", fields.get("label"), LONGEST_LABEL, required=True)
    return QuestionOption(label, _text(f"{where}: description", fields.get("description"), LONGEST_DESCRIPTION))


def _object(item: Any, key: str) -> dict[str, Any]:
    """A bare value is that of ``key``."""
    return cast("dict[str, Any]", item) if isinstance(item, dict) else {key: item}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(where: str, value: Any, most: int, *, required: bool = False) -> str:
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise ToolError(f"{where}: expected {'text that is not empty' if required else 'text'}")
    if len(value) > most:
        raise ToolError(f"{where}: {len(value):,} characters; at most {most:,} are allowed")
    return value.strip()


# --- the answer


def check_answers(questions: Sequence[UserQuestion], answers: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """A program's answers, checked; ValueError if they do not fit the questions."""
    if len(answers) != len(questions):
        raise ValueError(f"answers: expected {len(questions)} lists of texts, got {len(answers)}")
    for number, (question, given) in enumerate(zip(questions, answers, strict=True), 1):
        if len(given) > 1 and not question.multiple:
            raise ValueError(f"answers: question {number} allows one answer, got {len(given)}")
        if len(given) > MOST_OPTIONS + 1 or any(len(text) > LONGEST_ANSWER for text in given):
            raise ValueError(f"answers: question {number}: too many or too long texts")
    return tuple(tuple(text for text in given if text.strip()) for given in answers)


def answer_text(questions: Sequence[UserQuestion], given: QuestionAnswers) -> str:
    """The answers for the model."""
    if given.unavailable:
        return given.unavailable
    if given.declined:
        why = f": {given.comment.strip()}" if given.comment.strip() else ""
        return f"the user declined to answer{why}. Go on without the answers, or ask differently"
    return "\n".join(["the user answered:", *(f"- {line}" for line in answer_lines(questions, given))])


def answer_lines(questions: Sequence[UserQuestion], given: QuestionAnswers) -> list[str]:
    """One line per question."""
    return list(map(_line, questions, given.answers))


def _line(question: UserQuestion, answers: Sequence[str]) -> str:
    labels = {option.label for option in question.options}
    words = [text if text in labels or not labels else f"{text} (the user's own words)" for text in answers]
    return f"{question.question} → {'; '.join(words) or '(no answer)'}"
