"""How hard a model should think: zot's levels in the words and numbers of a vendor.

A level the model does not have becomes the nearest one it has; of two equally near ones the lower.
``Model.reasoning_levels`` names what a model has; without it a dialect's own table holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.model_call import Request

# Every reasoning model of the OpenAI family has these three; more must be named by the catalogue.
EFFORTS = {"low": "low", "medium": "medium", "high": "high"}

# Anthropic's thinking budgets in tokens; "max" is whatever leaves ROOM for the answer.
BUDGETS = {"minimum": "1024", "low": "2048", "medium": "8192", "high": "16384", "xhigh": "32768", "max": "max"}
ROOM = 4096
_LEAST_BUDGET = 1024
_UNKNOWN_BUDGET = 32768


def setting(request: Request, table: Mapping[str, str]) -> str:
    """What the vendor calls the asked level; empty when nothing is asked or the model cannot reason."""
    model = request.model
    if not model.reasoning or not request.reasoning:
        return ""
    levels = model.reasoning_levels or table
    if request.reasoning == "off":
        return levels.get("off", "")
    level = clamp(request.reasoning, levels)
    return levels[level] if level else ""


def clamp(level: str, levels: Mapping[str, str]) -> str:
    """The nearest level present in ``levels`` ("off" is never a neighbour); empty when there is none."""
    wanted = REASONING_LEVELS.index(level)
    present = [i for i, name in enumerate(REASONING_LEVELS) if name in levels and name != "off"]
    nearest = min(present, key=lambda i: (abs(i - wanted), i), default=None)
    return "" if nearest is None else REASONING_LEVELS[nearest]


def budget(value: str, model: Model) -> int:
    """A budget in tokens, capped so that an answer still fits; 0 when the model has no room to think."""
    cap = model.max_output - ROOM if model.max_output else _UNKNOWN_BUDGET
    if cap < _LEAST_BUDGET:
        return 0
    return cap if value == "max" else min(int(value), cap)
