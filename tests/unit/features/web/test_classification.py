"""issue 32.1: permissions go by host: "always" allows exactly this one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.agent.conversation import Conversation
from zot.core.permission_gate import Answer, ApprovalQuestion
from zot.provider.messages import ToolCallBlock


@pytest.fixture
async def conversation(tmp_path: Path) -> AsyncIterator[Conversation]:
    config = RunConfig(
        provider="script",
        home=tmp_path / "home",
        cwd=str(tmp_path),
        keep_session=False,
        tools=("web_fetch", "read"),
        permission_mode="ask",
    )
    async with build(config) as conversation:
        yield conversation


def fetch(url: object) -> ToolCallBlock:
    return ToolCallBlock("c1", "web_fetch").with_args({"url": url})


async def test_always_allows_this_host_alone(conversation: Conversation) -> None:
    asked: list[ApprovalQuestion] = []

    async def answer(question: ApprovalQuestion) -> Answer:
        asked.append(question)
        return Answer("prefix")

    gate = conversation.gate
    assert gate is not None
    gate.confirmer = answer
    assert await gate.authorize(fetch("https://Example.com/a")) is None
    assert asked[0].prefix == ("example.com",)
    for same in ("example.com/b?c", "http://example.com:8080/", "https://example.com./x"):
        assert gate.evaluate(fetch(same)).step == "run", same
    for other in (
        "https://example.com.evil.org/",
        "https://www.example.com/",
        "https://example.org",
        "",
        "http://[::1",
    ):
        assert gate.evaluate(fetch(other)).step == "ask", other


@pytest.mark.parametrize(
    ("mode", "step"), [("plan", "ask"), ("ask", "ask"), ("accept-edits", "ask"), ("everything", "run")]
)
async def test_modes(conversation: Conversation, mode: str, step: str) -> None:
    gate = conversation.gate
    assert gate is not None

    async def answer(question: ApprovalQuestion) -> Answer:
        return Answer("deny")

    gate.confirmer = answer
    conversation.set_permission_mode(mode)
    assert gate.evaluate(fetch("https://example.com/")).step == step


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://localhost:8080/x", "http://0x7f000001/", "http://[::1]/"])
async def test_address_that_is_refused_anyway_is_not_asked_about(conversation: Conversation, url: str) -> None:
    """The call says how the user can allow it."""
    gate = conversation.gate
    assert gate is not None and gate.evaluate(fetch(url)).step == "run"
    assert gate.evaluate(fetch("https://example.com/")).step != "run"
