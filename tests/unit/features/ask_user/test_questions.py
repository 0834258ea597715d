"""Arguments of ``ask_user`` and the answers as the model reads them (issue 32.2)."""

from __future__ import annotations

from typing import Any

import pytest

from zot.errors import ToolError
from zot.features.ask_user.questions import (
    NO_USER,
    QuestionAnswers,
    QuestionOption,
    UserQuestion,
    UserQuestions,
    answer_text,
    check_answers,
    parse_questions,
)

TWO = [{"label": "a"}, {"label": "b", "description": "the second"}]


def test_questions_are_read_with_their_options() -> None:
    asked = {"questions": [{"question": " which? ", "header": "H", "options": TWO, "multiple": True}, "your name?"]}
    assert parse_questions(asked) == (
        UserQuestion("which?", "H", (QuestionOption("a"), QuestionOption("b", "the second")), multiple=True),
        UserQuestion("your name?"),
    )


@pytest.mark.parametrize(
    ("questions", "wrong"),
    [
        (None, "a list of 1 to 4 objects"),
        ([], "a list of 1 to 4 objects"),
        ([{"question": "?"}] * 5, "a list of 1 to 4 objects"),
        ([{"question": " "}], "question 1: question: expected text that is not empty"),
        ([{"question": 7}], "question 1: question: expected text"),
        ([{"question": "?", "options": [{"label": str(n)} for n in range(50)]}], "50 options; expected 2 to 6"),
        ([{"question": "?", "options": [{"label": "only"}]}], "1 options; expected 2 to 6, or none"),
        ([{"question": "?", "options": [{"label": "a"}, {"label": "a"}]}], "two options have the same label"),
        ([{"question": "?", "options": [{"label": ""}, {"label": "a"}]}], "option 1: label: expected text"),
        ([{"question": "x" * 1001}], "question: 1,001 characters; at most 1,000"),
    ],
)
def test_wrong_questions_name_the_field(questions: Any, wrong: str) -> None:
    """issue 32.2: questions without options, with 50 options, empty or too long ones."""
    with pytest.raises(ToolError, match=wrong):
        parse_questions({"questions": questions})


def test_answers_say_which_words_are_the_users_own() -> None:
    asked = parse_questions({"questions": [{"question": "which?", "options": TWO, "multiple": True}, "name?", "why?"]})
    given = QuestionAnswers((("a", "something else"), ("zot",), ()))
    assert answer_text(asked, given).split("\n") == [
        "the user answered:",
        "- which? → a; something else (the user's own words)",
        "- name? → zot",
        "- why? → (no answer)",
    ]


def test_declined_and_missing_users_are_different_answers() -> None:
    asked = parse_questions({"questions": ["name?"]})
    assert answer_text(asked, QuestionAnswers(declined=True, comment="later")).startswith(
        "the user declined to answer: later. "
    )
    assert answer_text(asked, UserQuestions(call_id="1", questions=asked).denial()) == NO_USER


@pytest.mark.parametrize(
    ("answers", "wrong"),
    [
        ((), "expected 2 lists of texts, got 0"),
        ((("a", "b"), ("x",)), "question 1 allows one answer, got 2"),
        ((("a",), ("x" * 20_001,)), "question 2: too many or too long"),
    ],
)
def test_answers_of_programs_must_fit(answers: Any, wrong: str) -> None:
    asked = parse_questions({"questions": [{"question": "which?", "options": TWO}, "name?"]})
    with pytest.raises(ValueError, match=wrong):
        check_answers(asked, answers)
