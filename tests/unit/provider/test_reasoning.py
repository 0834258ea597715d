"""Levels in a vendor's words."""

from __future__ import annotations

import msgspec
import pytest

from tests.unit.provider.samples import THINKER
from zot.provider.model import Model
from zot.provider.model_call import Request
from zot.provider.reasoning import BUDGETS, EFFORTS, budget, clamp, setting


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
    assert setting(msgspec.convert({"model": THINKER, "reasoning": level}, Request), EFFORTS) == effort


def test_of_two_equally_near_levels_the_lower_is_taken() -> None:
    assert clamp("medium", {"low": "l", "high": "h"}) == "low"


def test_a_model_may_name_its_own_levels() -> None:
    model = msgspec.structs.replace(THINKER, reasoning_levels={"off": "none", "minimum": "minimal", "max": "ultra"})
    words = [setting(Request(model=model, reasoning=level), EFFORTS) for level in ("off", "low", "xhigh", "max")]
    assert words == ["none", "minimal", "ultra", "ultra"]


def test_a_model_with_nothing_but_off_is_not_asked() -> None:
    assert clamp("high", {"off": "none"}) == ""


def test_a_model_of_unknown_size_has_a_bounded_budget() -> None:
    assert budget(BUDGETS["max"], Model(id="x", provider="p")) == 32768
