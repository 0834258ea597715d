"""Conversions of Python values to wire values: a file for an image, a bool for a decision.
Shared by ``zot.sdk`` and ``zot.client``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from zot.core.permission_gate import ApprovalAnswer
from zot.errors import UsageError
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock
from zot.system.safe_open import read_whole

_LARGEST_IMAGE = 64 << 20

PromptImage = bytes | str | os.PathLike[str] | ImageBlock

# ``prefix`` allows commands that begin like this one from now on, ``tool`` this tool, ``all`` every tool; True means
# ``once``, False ``deny``.
Word = Literal["once", "prefix", "tool", "all", "deny"]
Decision = bool | Word | ApprovalAnswer
# About access outside a jail: ``session`` allows it from now on, ``never`` stops the questions.
OutsideWord = Literal["once", "session", "never", "deny"]
OutsideDecision = bool | OutsideWord

# Answers to questions of a model, one per question: a text, or several where several are allowed. None declines.
QuestionAnswers = Sequence[Sequence[str] | str] | None


class PlanDecision(msgspec.Struct, frozen=True):
    """What ``on_plan`` may return instead of a bool. ``approved`` switches to ``mode``, by default that of the request;
    ``fresh`` starts a new session with the plan; ``plan`` replaces its text. Otherwise ``comment`` goes to the
    model."""

    approved: bool
    mode: str = ""
    fresh: bool = False
    plan: str = ""
    comment: str = ""


def to_plan_decision(decision: object) -> PlanDecision:
    if isinstance(decision, bool):
        return PlanDecision(decision)
    if not isinstance(decision, PlanDecision):
        raise UsageError(f"on_plan returned {decision!r}: expected a bool or a PlanDecision")
    return decision


def to_answer_lists(answers: Sequence[Sequence[str] | str]) -> tuple[tuple[str, ...], ...]:
    return tuple((each,) if isinstance(each, str) else tuple(each) for each in answers)


def rename_options(options: Mapping[str, Any], older: Mapping[str, str], name: str) -> dict[str, Any]:
    """Options under their current names; TypeError if both names of one are given."""
    renamed = {older.get(key, key): value for key, value in options.items()}
    if len(renamed) < len(options):
        twice = next(old for old, new in older.items() if old in options and new in options)
        raise TypeError(f"{name}() got both {older[twice]!r} and its older name {twice!r}")
    return renamed


def image_block(given: PromptImage) -> ImageBlock:
    """An image from bytes or a file, its type from the content; UsageError unless PNG, JPEG, GIF or WebP."""
    if isinstance(given, ImageBlock):
        return given
    name = "the image" if isinstance(given, bytes) else os.fspath(given)
    try:
        data = given if isinstance(given, bytes) else read_whole(given, _LARGEST_IMAGE)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from error
    kind = sniff(data)
    if not kind:
        raise UsageError(f"{name}: expected PNG, JPEG, GIF or WebP")
    return ImageBlock(kind, data)


def to_approval_answer(decision: Decision) -> ApprovalAnswer:
    """The answer that ``approve`` returned."""
    if isinstance(decision, ApprovalAnswer):
        return decision
    if isinstance(decision, bool):
        return ApprovalAnswer("once" if decision else "deny")
    if decision not in get_args(Word):
        raise UsageError(f"approve returned {decision!r}: expected a bool or one of {', '.join(get_args(Word))}")
    return ApprovalAnswer(decision)


def to_outside_answer(decision: object) -> OutsideWord:
    """The answer to a question about access outside a jail."""
    if isinstance(decision, bool):
        return "once" if decision else "deny"
    if isinstance(decision, ApprovalAnswer) and decision.decision in ("once", "deny"):
        return decision.decision
    words: dict[object, OutsideWord] = {word: word for word in get_args(OutsideWord)}
    if not isinstance(decision, str) or decision not in words:
        raise UsageError(f"the answer was {decision!r}: expected a bool or one of {', '.join(get_args(OutsideWord))}")
    return words[decision]
