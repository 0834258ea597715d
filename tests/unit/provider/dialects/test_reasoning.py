"""Levels in a vendor's words."""

from __future__ import annotations

import msgspec
import pytest

from tests.unit.provider.samples import THINKER
from zot.provider.dialects.openai_chat import LEVELS
from zot.provider.dialects.request_parts import THINKING_BUDGETS, nearest_level, reasoning_setting, thinking_budget
from zot.provider.model import Model
from zot.provider.model_call import Request


@pytest.mark.parametrize(
    ("level", "effort"),
    [
        ("minimum", "low"),
        ("low", "low"),
        ("medium", "medium"),
        ("high", "high"),
        ("xhigh", "high"),
        ("max", "high"),
        ("off", ""),
        ("", ""),
    ],
)
def test_a_level_a_model_lacks_becomes_the_nearest(level: str, effort: str) -> None:
    assert reasoning_setting(msgspec.convert({"model": THINKER, "reasoning": level}, Request), LEVELS) == effort


def test_lower_of_two_equally_near_levels_is_used() -> None:
    assert nearest_level("medium", {"low": "l", "high": "h"}) == "low"


def test_a_model_may_name_its_own_levels() -> None:
    model = msgspec.structs.replace(THINKER, reasoning_levels={"off": "none", "minimum": "minimal", "max": "ultra"})
    words = [
        reasoning_setting(Request(model=model, reasoning=level), LEVELS) for level in ("off", "low", "xhigh", "max")
    ]
    assert words == ["none", "minimal", "ultra", "ultra"]


def test_model_with_only_off_gets_no_reasoning_parameter() -> None:
    assert nearest_level("high", {"off": "none"}) == ""


def test_a_model_of_unknown_size_has_a_bounded_budget() -> None:
    assert thinking_budget(THINKING_BUDGETS["max"], Model(id="x", provider="p")) == 32768
