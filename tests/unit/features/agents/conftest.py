"""``talk`` builds a conversation with agent files and a fake model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.client import FakeClient
from zot.agent.build import build
from zot.agent.config import RunConfig
from zot.agent.conversation import Conversation
from zot.core import events


class Talk:
    def __init__(self, conversation: Conversation, client: FakeClient, root: Path) -> None:
        self.conversation = conversation
        self.client = client
        self.project = root / "project"
        self.notices: list[str] = []
        self.events: list[events.AgentEvent] = []
        conversation.subscribe(self.events.append)
        conversation.subscribe(self._heard, events.Diagnostic)

    def _heard(self, event: events.AgentEvent) -> None:
        assert isinstance(event, events.Diagnostic)
        self.notices.append(event.text)

    def results(self) -> list[events.ToolResultEvent]:
        return [event for event in self.events if isinstance(event, events.ToolResultEvent)]

    def tools_of(self, request: int) -> list[str]:
        return [tool.name for tool in self.client.requests[request].tools]


Talking = Callable[..., AbstractAsyncContextManager[Talk]]


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talking:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "project").mkdir()

    @asynccontextmanager
    async def talking(*answers: Any, **config: Any) -> AsyncGenerator[Talk]:
        client = FakeClient(*answers)
        defaults = {"provider": "script", "home": tmp_path / "home", "cwd": str(tmp_path / "project")}
        async with build(RunConfig(**(defaults | {"context_files": False} | config))) as conversation:
            conversation.agent.client = client
            yield Talk(conversation, client, tmp_path)

    return talking


@pytest.fixture
def write_agent(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, body: str = "You do it.", *, folder: str = "project/.claude/agents", **fields: str) -> Path:
        path = tmp_path / folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"name": name, "description": f"Does {name}.", **fields}
        lines = "\n".join(f"{key}: {value}" for key, value in head.items())
        path.write_text(f"---\n{lines}\n---\n{body}\n")
        return path

    return write
