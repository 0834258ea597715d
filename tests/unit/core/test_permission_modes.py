"""The table of permission modes, and the gate's decisions."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.unit.core.test_confirm_gate import FakeConfirmer, call
from zot.core.permission_gate import Answer, PermissionGate
from zot.core.permission_modes import CYCLE, MODES, PLANNING, CallClass, Kind, Mode, Rule, decide, parse_mode

_WIDTH = ("refuse", "ask", "run")


def test_each_mode_includes_the_previous_one() -> None:
    for kind in get_args(Kind):
        steps = [_WIDTH.index(decide(mode, kind)) for mode in MODES]
        assert steps == sorted(steps), kind
    assert set(CYCLE) == set(MODES) == set(get_args(Mode))


def gate(mode: Mode, kind: Kind, *answers: Answer, **more: object) -> PermissionGate:
    confirmer = FakeConfirmer(*answers) if answers else None
    return PermissionGate(confirmer, mode=mode, nature=lambda _: CallClass(kind), **more)  # pyright: ignore[reportArgumentType]


async def test_plan_mode_denies_with_reason_and_no_question() -> None:
    planning = gate("plan", "edit", Answer("once"))
    assert await planning.authorize(call("edit", {})) == PLANNING
    assert await gate("plan", "look").authorize(call("read", {})) is None


async def test_project_reads_need_no_approval_except_in_strict_mode() -> None:
    assert gate("ask", "look").evaluate(call("read", {})).step == "run"
    assert gate("ask", "look", asks_each=True).evaluate(call("read", {})).step == "refuse"  # nobody can be asked


async def test_unclassifiable_call_counts_as_most_dangerous() -> None:
    def broken(_: object) -> CallClass:
        raise OSError("gone")

    assert PermissionGate(mode="plan", nature=broken).evaluate(call("read", {})).step == "refuse"
    assert PermissionGate(FakeConfirmer(Answer("once")), nature=broken).evaluate(call("read", {})).step == "ask"


async def test_rules_that_cannot_be_read_allow_nothing() -> None:
    def broken() -> list[Rule]:
        raise OSError("gone")

    assert PermissionGate(FakeConfirmer(Answer("once")), kept=broken).evaluate(call("bash", {})).step == "ask"


async def test_approval_is_void_if_mode_became_plan() -> None:
    asked = gate("ask", "act", Answer("all"))

    async def switch(_: object) -> Answer:
        asked.mode = "plan"
        return Answer("once")

    asked.confirmer = switch
    assert await asked.authorize(call("bash", {})) == PLANNING


@pytest.mark.parametrize(("mode", "limit"), [("plan", "everything"), ("ask", "accept-edits")])
async def test_approval_of_everything_respects_the_limit(mode: Mode, limit: Mode) -> None:
    asked = gate(mode, "look elsewhere", Answer("all"), limit=limit)
    assert await asked.authorize(call("read", {})) is None
    assert asked.mode == mode and asked.evaluate(call("read", {})).source == "remembered"
    assert asked.evaluate(call("glob", {})).step == "ask"


def test_a_mode_beyond_the_limit_is_the_limit() -> None:
    assert PermissionGate(mode="everything", limit="ask").mode == "ask"


async def test_prefix_rule_covers_same_prefix_of_same_tool_only() -> None:
    words = {"a": ("git", "status", "-s"), "b": ("git", "statusx"), "c": (), "d": ("git", "status")}
    asked = PermissionGate(
        FakeConfirmer(Answer("prefix")),
        nature=lambda call: CallClass("act", "", words[call.value["command"]], ("git", "status")),
    )
    assert await asked.authorize(call("bash", {"command": "a"})) is None
    steps = {name: asked.evaluate(call("bash", {"command": name})).step for name in words}
    assert steps == {"a": "run", "b": "ask", "c": "ask", "d": "run"}
    assert asked.evaluate(call("other", {"command": "a"})).step == "ask"


async def test_a_tool_of_the_same_name_of_another_extension_is_another() -> None:
    owner = ["first"]
    asked = PermissionGate(FakeConfirmer(Answer("tool")), nature=lambda _: CallClass("act", owner[0]))
    assert await asked.authorize(call("deploy", {})) is None
    owner[0] = "second"
    assert asked.evaluate(call("deploy", {})).step == "ask"


def test_bypass_and_yolo_are_everything() -> None:
    assert parse_mode("bypass") == parse_mode("yolo") == "everything"


def test_unknown_mode_is_none() -> None:
    assert parse_mode("") is None and parse_mode("ask each") is None
