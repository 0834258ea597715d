"""A real host with real child processes, and an agent on a fake model joined to it as a run would."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from tests.fakes.client import FakeClient
from tests.fakes.extensions import write_extension
from tests.fakes.surface import FakeSurface
from zot.agent.snapshot import ConversationSnapshot
from zot.core.agent import Agent
from zot.core.events import SessionEnded, SessionStarted
from zot.core.tool import Tool
from zot.features.extensions.host import ExtensionHost
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.provider.messages import TextBlock
from zot.provider.model import Model

MODEL = Model(id="fake-1", provider="fake", context_window=100_000)


async def until(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """Waits for another process; returns the condition's first true value."""
    async with asyncio.timeout(seconds):
        while not (value := condition()):  # noqa: ASYNC110  the other side is a process
            await asyncio.sleep(0.005)
    return value


class Kit:
    """Extensions are written with ``add`` before ``start``; ``host`` and ``surface`` are there from the beginning."""

    def __init__(self, root: Path, surface: FakeSurface, **options: Any) -> None:
        self.root = root
        self.home = root / "home"
        self.cwd = root / "project"
        self.surface = surface
        self.session_id = "s1"
        self.directories: list[Path] = []
        self._options = options
        for directory in (self.home, self.cwd):
            directory.mkdir(exist_ok=True)

    def add(self, name: str, body: str = "hello(); ready(); serve()", **options: Any) -> Path:
        directory = write_extension(self.root / "extensions", name, body, **options)
        self.directories.append(directory)
        return directory

    async def start(self) -> ExtensionHost:
        self.make()
        await self.host.start()
        return self.host

    def make(self) -> ExtensionHost:
        defaults: dict[str, Any] = {
            "home": self.home,
            "cwd": self.cwd,
            "surface": self.surface,
            "zot_version": "9.9",
            "present": lambda: ConversationSnapshot("fake", "fake-1", "", self.session_id, "", str(self.cwd)),
            "on_fault": self.surface.faults.append,
            "environment": lambda: dict(os.environ),
            "removed_credentials": (),
            "explicit": self.directories,
            "scan": False,
            "trust": ExtensionTrust(self.home),
        }
        self.host = ExtensionHost(**(defaults | self._options))
        return self.host

    def session_started(self) -> None:
        """Emits the event of a conversation that becomes active."""
        self.host.observe(SessionStarted(self.session_id))

    def session_ended(self, reason: Literal["shutdown", "session_switch"]) -> None:
        self.host.observe(SessionEnded(self.session_id, reason))

    def agent(self, *answers: Any, tools: Sequence[Tool] = (), **options: Any) -> tuple[Agent, FakeClient]:
        """An agent joined to the host the way ``Conversation`` joins them."""
        client = FakeClient(*answers)
        agent = Agent(client=client, model=MODEL, system=lambda specs: "base prompt", tools=tools, **options)
        host = self.host

        def refresh() -> None:
            agent.set_tools([*tools, *host.tools({tool.name for tool in tools})])

        agent.interceptors.append(host.interceptor)
        agent.readers.subscribe(host.observe, *host.observed)
        agent.system_editor = host.edit_system_prompt
        host.run_tool = agent.run_tool
        host.on_tools_changed = refresh
        refresh()
        return agent, client

    def log(self, name: str) -> str:
        file = self.home / "logs" / f"ext-{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def fault(self, word: str) -> str:
        """The one diagnostic that has this word."""
        found = [line for line in self.surface.faults if word in line]
        assert len(found) == 1, self.surface.faults
        return found[0]


@asynccontextmanager
async def hosting(root: Path, *, interactive: bool = True, **options: Any) -> AsyncGenerator[Kit]:
    """Whatever was started is stopped at the end."""
    kit = Kit(root, FakeSurface(interactive=interactive), **options)
    try:
        yield kit
    finally:
        if hasattr(kit, "host"):
            await kit.host.stop()


def texts(result: Any) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
