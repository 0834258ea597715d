"""The confirm gate (engine-core C5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.tools import FakeTool
from tests.unit.core.harness import heard, make_agent, results
from zot.core.permission_gate import Answer, ApprovalQuestion, PermissionGate, preview
from zot.provider.messages import ToolCallBlock

ONCE, TOOL, ALL, DENY = Answer("once"), Answer("tool"), Answer("all"), Answer("deny")


def call(name: str, args: dict[str, Any]) -> ToolCallBlock:
    return ToolCallBlock("t1", name).with_args(args)


class FakeConfirmer:
    """Gives the scripted answers, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, str, Any]] = []

    async def __call__(self, question: ApprovalQuestion) -> Answer:
        self.asked.append((question.call.name, question.preview, question.call.args))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def test_without_a_gate_every_tool_runs() -> None:
    """engine-194: without a gate every tool runs."""
    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[tool])
    await heard(agent)
    assert tool.ran == [{}]


async def test_a_gate_without_a_confirmer_refuses_and_names_the_flag() -> None:
    """engine-194, and the core half of engine-200: headless modes deny."""
    tool = FakeTool()
    agent, _ = make_agent(calls(("bash", {})), says("ok"), tools=[tool], gate=PermissionGate())
    _, said = await heard(agent)
    [(_, is_error, text)] = results(said)
    assert is_error and "--permission-mode" in text and "no user is present" in text
    assert tool.ran == []


async def test_a_plain_yes_asks_again_next_time() -> None:
    """engine-195: a plain yes is not remembered: the same call needs approval again."""
    confirmer = FakeConfirmer(ONCE)
    gate = PermissionGate(confirmer)
    assert await gate.authorize(call("bash", {"command": "ls"})) is None
    assert await gate.authorize(call("bash", {"command": "ls"})) is None
    assert confirmer.asked == [("bash", "ls", {"command": "ls"})] * 2


async def test_remembered_answer_covers_only_that_tool() -> None:
    """engine-196: an answer remembered for one tool does not cover another."""
    confirmer = FakeConfirmer(TOOL, DENY)
    gate = PermissionGate(confirmer)
    assert await gate.authorize(call("bash", {})) is None
    assert await gate.authorize(call("bash", {})) is None
    assert await gate.authorize(call("write", {})) is not None
    assert [tool for tool, _, _ in confirmer.asked] == ["bash", "write"]


async def test_remembering_all_skips_every_question() -> None:
    """engine-197: after "all" no tool needs approval."""
    confirmer = FakeConfirmer(ALL)
    gate = PermissionGate(confirmer)
    assert await gate.authorize(call("bash", {})) is None
    assert await gate.authorize(call("write", {})) is None
    assert len(confirmer.asked) == 1


async def test_yolo_skips_every_question() -> None:
    """engine-197: `/yolo` opens the gate without a question."""
    gate = PermissionGate()
    gate.mode = "everything"
    assert await gate.authorize(call("bash", {})) is None


async def test_reset_forgets_every_yes() -> None:
    confirmer = FakeConfirmer(ALL, DENY)
    gate = PermissionGate(confirmer)
    await gate.authorize(call("bash", {}))
    gate.reset()
    assert await gate.authorize(call("bash", {})) is not None


async def test_a_refusal_gives_its_reason_trimmed_or_a_default() -> None:
    """engine-198: a refusal gives its own reason, trimmed, or a default one."""
    assert await PermissionGate(FakeConfirmer(Answer("deny", "  not now "))).authorize(call("bash", {})) == "not now"
    assert await PermissionGate(FakeConfirmer(Answer("deny", "  "))).authorize(call("bash", {}))


async def test_a_refusal_remembers_nothing() -> None:
    confirmer = FakeConfirmer(DENY, ONCE)
    gate = PermissionGate(confirmer)
    assert await gate.authorize(call("bash", {})) is not None
    assert await gate.authorize(call("bash", {})) is None
    assert len(confirmer.asked) == 2


async def test_a_confirmer_can_be_attached_later() -> None:
    gate = PermissionGate()
    gate.confirmer = FakeConfirmer(ONCE)
    assert await gate.authorize(call("bash", {})) is None


async def test_a_confirmer_that_fails_refuses() -> None:
    async def broken(question: ApprovalQuestion) -> Answer:
        raise ConnectionError("client gone")

    refusal = await PermissionGate(broken).authorize(call("bash", {}))
    assert refusal and "client gone" in refusal


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"path": "a.py", "command": "ls"}, "ls"),
        ({"command": " ", "path": "a.py"}, "a.py"),
        ({"file_path": "b.py"}, "b.py"),
        ({"url": "u"}, "u"),
        ({"query": "q"}, "q"),
        ({"name": "n"}, "n"),
        ({"n": 1}, '{"n":1}'),
        ('{"command":"ls"}', "ls"),
        ("[1, 2]", "[1,2]"),
        ("not json", "not json"),
        ("", ""),
        ({"command": "  ls  "}, "ls"),
        ({"command": "echo a\nrm -rf /\r\nx"}, "echo a↩rm -rf /↩x"),
    ],
)
def test_preview_shows_command_path_or_url(args: Any, shown: str) -> None:
    """engine-199: the preview shows the command, path or URL of a call, and the raw text of bad JSON."""
    assert preview(args) == shown


def test_long_preview_is_cut_on_characters_with_a_count() -> None:
    """engine-199: a preview longer than 120 characters is cut on a character with the number of missing ones."""
    shown = preview({"command": "ü" * 200})
    assert shown == "ü" * 119 + "… (81 more characters)"
    assert preview({"command": "x" * 120}) == "x" * 120
