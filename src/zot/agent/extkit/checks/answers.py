"""Answers belong to questions: by the id, exactly, and once. Faults are found by the transcript as lines arrive."""

from __future__ import annotations

from zot.agent.extkit.verdicts import Check

CHECKS = (
    Check(
        "answers.string-ids",
        "2.2",
        (8,),
        "the id of an answer is a string",
        'keep the id as you got it: "007" is not 7',
    ),
    Check(
        "answers.known-ids",
        "2.2",
        (57,),
        "the id of an answer is the id of an open question",
        "copy the id of the frame you answer, character by character",
    ),
    Check(
        "answers.once",
        "2.2",
        (56, 147),
        "each question gets one answer",
        "answer in one place; a handler that failed after answering must not answer again",
    ),
)
