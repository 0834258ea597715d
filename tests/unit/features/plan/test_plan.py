"""Plans: files, checks of an answer, and what follows in a new session (issue 32.2)."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import cast

import pytest

from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.core.events import Todo, Todos
from zot.errors import ToolError
from zot.features.plan.fresh_start import files_read, follow_up_prompt
from zot.features.plan.plan_files import save_plan, slug_of
from zot.features.plan.plan_question import PlanAnswer, PlanQuestion, checked, parse_plan, refusal_text
from zot.provider.messages import Message, ToolCallBlock

ASKED = PlanQuestion(call_id="1", plan="# Do it", modes=("ask", "accept-edits"), mode="ask")


def test_plan_file_is_private_and_named_after_its_title(tmp_path: Path) -> None:
    """issue 32.2: `<date>-<slug>.md`, 0600; a second plan of the day does not replace the first."""
    first, second = save_plan(tmp_path, "# Add: a Cache!\ntext"), save_plan(tmp_path, "# Add: a Cache!")
    assert first.name.endswith("-add-a-cache.md") and second.name.endswith("-add-a-cache-2.md")
    assert stat.S_IMODE(first.stat().st_mode) == 0o600 and stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    assert save_plan(tmp_path, "revised", first) == first and first.read_text() == "revised\n"


@pytest.mark.parametrize(
    ("plan", "slug"),
    [("../../etc/passwd", "etc-passwd"), ("\x1b]0;x\x07", "0-x"), ("計画", "plan"), ("# " + "long " * 40, "long-" * 9)],
)
def test_slug_is_a_plain_file_name(plan: str, slug: str) -> None:
    made = slug_of(plan)
    assert made.startswith(slug.rstrip("-")) and len(made) <= 48 and os.path.basename(made) == made


@pytest.mark.parametrize(
    ("plan", "wrong"),
    [
        ("", "the whole plan as Markdown"),
        (" \n", "the whole"),
        (3, "the whole"),
        ("x" * 1_000_000, "1,000,000 characters"),
    ],
)
def test_empty_and_huge_plans_are_not_presented(plan: object, wrong: str) -> None:
    """issue 32.2: an empty plan, and one of 1 MB."""
    with pytest.raises(ToolError, match=wrong):
        parse_plan({"plan": plan})


def test_only_offered_modes_approve() -> None:
    """issue 32.2: an emptied plan is refused, and so is a mode that was not offered."""
    assert checked(PlanAnswer("approve", "accept-edits"), ASKED).decision == "approve"
    assert checked(PlanAnswer("approve", "everything"), ASKED).decision == "refuse"
    assert checked(PlanAnswer("approve", "plan"), ASKED).decision == "refuse"
    emptied = checked(PlanAnswer("approve", "ask", plan=" \n"), ASKED)
    assert emptied.decision == "refuse" and "emptied the plan" in refusal_text(emptied)
    assert ASKED.denial("gone").decision == "refuse" and ASKED.denial().decision == "refuse"


def test_modes_of_a_client_narrow_the_question() -> None:
    assert ASKED.limited_to(("accept-edits",)).mode == "accept-edits"
    assert ASKED.limited_to(("ask", "accept-edits")) == ASKED


def test_prompt_of_the_new_session_has_plan_and_files() -> None:
    calls = [
        ToolCallBlock(str(n), "read", "{}").with_args({"path": path}) for n, path in enumerate(["a", "b", "a", "\x1b"])
    ]
    files = files_read([Message("assistant", tuple(calls), "")])
    assert files == ["- a", "- b"]
    text = follow_up_prompt("# Plan", Path("/p.md"), files)
    assert "# Plan" in text and "- a\n- b" in text and text.endswith("The plan is saved in /p.md.")


async def test_side_conversations_present_no_plan_and_keep_their_own_steps(tmp_path: Path) -> None:
    """issue 32.2: a sub-agent neither asks about a plan nor replaces the list that the user sees."""
    config = RunConfig(provider="script", home=tmp_path, cwd=str(tmp_path), permission_mode="plan", keep_session=False)
    seen: list[Todos] = []
    async with build(config) as conversation:
        conversation.toolset.activate(["todo"])
        conversation.subscribe(lambda event: seen.append(cast("Todos", event)), Todos)
        assert {"present_plan", "ask_user", "todo"} <= conversation.agent.toolbox.keys()
        child = conversation.child()
        assert "present_plan" not in child.agent.toolbox and "todo" in child.agent.toolbox
        for agent in (child.agent, conversation.agent):
            await agent.run_tool("todo", {"items": ["a step"]}, "test")
    assert seen == [Todos((Todo("a step"),))]
