"""An agent on fakes, and its events as short words: the vocabulary of the core's tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.fakes.client import FakeClient
from tests.fakes.journal import FakeJournal
from zot.core import events
from zot.core.agent import Agent, Outcome
from zot.core.event_bus import Reader
from zot.core.events import AgentEvent
from zot.provider.messages import Message, TextBlock, ToolCallBlock, ToolResultBlock
from zot.provider.model import Model
from zot.provider.model_call import ToolSpec

MODEL = Model(id="fake-1", provider="fake", context_window=100_000, price_input=3.0, price_output=15.0)


def plain_system(specs: tuple[ToolSpec, ...]) -> str:
    return "system"


def make_agent(
    *answers: Any, journal: FakeJournal | None = None, observers: Sequence[Reader] = (), **options: Any
) -> tuple[Agent, FakeClient]:
    """``journal`` replaces the session, the first subscriber; ``observers`` receive shown events."""
    client = FakeClient(*answers)
    options.setdefault("model", MODEL)
    options.setdefault("system", plain_system)
    agent = Agent(client=client, **options)
    if journal is not None:
        agent.readers.subscribe(journal.read, *events.RECORDED, first=True)
    for observer in observers:
        agent.readers.subscribe(observer, *events.SHOWN)
    return agent, client


async def heard(agent: Agent, text: str = "go") -> tuple[Outcome, list[AgentEvent]]:
    """Prompt the agent and return its outcome and all events."""
    said: list[AgentEvent] = []
    outcome = await agent.prompt(text, emit=said.append)
    return outcome, said


def words(said: list[AgentEvent]) -> list[str]:
    """The events by their wire names."""
    return [str(type(event).__struct_config__.tag) for event in said]


def of(said: list[AgentEvent], kind: type[Any]) -> list[Any]:
    return [event for event in said if isinstance(event, kind)]


def results(said: list[AgentEvent]) -> list[tuple[str, bool, str]]:
    """Tool results as (call id, is_error, text)."""
    return [(e.id, e.is_error, text_of(e.content)) for e in of(said, events.ToolResultEvent)]


def text_of(content: tuple[Any, ...]) -> str:
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))


def roles(agent: Agent) -> list[str]:
    return [message.role for message in agent.messages]


def user(text: str) -> Message:
    return Message("user", (TextBlock(text),))


def assistant(text: str) -> Message:
    return Message("assistant", (TextBlock(text),))


def called(*ids: str, name: str = "bash") -> Message:
    return Message("assistant", tuple(ToolCallBlock(i, name, "{}") for i in ids))


def answered(*ids: str, text: str = "ok") -> Message:
    return Message("tool", tuple(ToolResultBlock(i, (TextBlock(text),)) for i in ids))


def is_valid(messages: tuple[Message, ...]) -> bool:
    """Whether every call is answered by the very next message and no result stands alone."""
    owed: list[str] = []
    for message in messages:
        if [result.call_id for result in message.tool_results()] != owed:
            return False
        owed = [call.id for call in message.tool_calls()]
    return not owed


class Running:
    """A prompt in the background, with its events so far."""

    def __init__(self) -> None:
        self.said: list[AgentEvent] = []
        self.task: asyncio.Task[Any]

    async def outcome(self) -> Any:
        async with asyncio.timeout(5):
            return await self.task


@asynccontextmanager
async def running(agent: Agent, text: str = "go") -> AsyncGenerator[Running]:
    """Run a prompt while the test does something else; it must be over at the end of the block."""
    background = Running()
    async with asyncio.TaskGroup() as group:
        background.task = group.create_task(agent.prompt(text, emit=background.said.append))
        yield background
