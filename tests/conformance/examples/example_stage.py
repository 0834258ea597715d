"""Examples of the second edition in a real conversation: the host and the example are real, the model is fake."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.client import FakeClient
from tests.fakes.extension_puppet import FakeExtensionUI
from zot.agent.build import build
from zot.agent.config import FrontEnd, RunConfig
from zot.agent.conversation import Conversation
from zot.agent.extension_ui import UiInfo
from zot.core.events import AgentEvent, ToolProgress
from zot.features.extensions.dialogs import DialogAnswer, ExtensionDialog
from zot.features.extensions.feature import ExtensionsFeature
from zot.features.extensions.host import ExtensionHost
from zot.wire.lines import plain_text, to_line, to_lines

EXAMPLES = Path(__file__).parents[3] / "examples" / "extensions"


class FakeScreen(FakeExtensionUI):
    """Keeps what is drawn: ``drawn`` by kind and name, with ``history`` of all values."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: dict[tuple[str, str], Any] = {}
        self.history: list[tuple[str, str, Any]] = []
        self.shown: list[str] = []
        self.submitted: list[str] = []
        self.desktop: list[str] = []
        self.panels: dict[str, Any] = {}
        self.editor = ""

    @property
    def interactive(self) -> bool:
        return True

    def ui_info(self) -> UiInfo:
        return UiInfo(dialogs=True, surfaces=True, panels=True, editor=True, width=80, height=24, colors=256)

    def contribute(self, extension: str, kind: str, name: str, value: Any, *, stale: bool = False) -> str:
        self.drawn[kind, name] = value
        self.history.append((kind, name, value))
        return ""

    def withdraw(self, extension: str, kind: str, name: str) -> None:
        self.drawn.pop((kind, name), None)

    def display(self, extension: str, text: str) -> None:
        self.shown.append(text)

    def submit(self, extension: str, text: str) -> None:
        self.submitted.append(text)

    def notify_desktop(self, extension: str, message: str) -> None:
        self.desktop.append(message)

    def open_panel(self, extension: str, panel: Any) -> None:
        self.panels[panel.id] = panel

    def render_panel(self, extension: str, panel: Any) -> None:
        self.panels[panel.id] = panel

    def close_panel(self, extension: str, panel_id: str) -> None:
        self.panels.pop(panel_id, None)

    def write_editor(self, extension: str, text: str, cursor: int | None = None, *, insert: bool = False) -> bool:
        self.editor = self.editor + text if insert else text
        return True

    def texts(self, kind: str, name: str) -> list[str]:
        """The drawn lines as plain text."""
        value = self.drawn.get((kind, name), {})
        lines = to_lines(value["lines"], 50) if "lines" in value else [to_line(value.get("line", ""))]
        return [plain_text(line) for line in lines]


class Run:
    """``answers`` are those of the user, in order; a dialog without one is closed."""

    def __init__(self, screen: FakeScreen, answers: list[Any]) -> None:
        self.screen = screen
        self.answers = answers
        self.dialogs: list[ExtensionDialog] = []
        self.progress: list[ToolProgress] = []
        self.conversation: Conversation
        self.client: FakeClient

    @property
    def host(self) -> ExtensionHost:
        feature = self.conversation.feature(ExtensionsFeature)
        assert feature is not None
        return feature.host

    async def answer(self, question: Any) -> Any:
        assert isinstance(question, ExtensionDialog), question
        self.dialogs.append(question)
        if not self.answers:
            return DialogAnswer(cancelled=True)
        return DialogAnswer(value=self.answers.pop(0))

    def result(self, number: int = -1) -> tuple[str, bool]:
        """Text of the newest tool result in a request to the model, and whether it is an error."""
        block = self.client.requests[number].messages[-1].tool_results()[-1]
        return "\n".join(getattr(item, "text", "") for item in block.content), block.is_error

    def prompt_texts(self, number: int = -1) -> str:
        """What the user said, as the model got it."""
        messages = self.client.requests[number].messages
        return "\n".join(message.text() for message in messages if message.role == "user")

    async def until(self, condition: Callable[[], Any]) -> Any:
        async with asyncio.timeout(15):
            while not (value := condition()):  # noqa: ASYNC110  the other side is a process
                await asyncio.sleep(0.005)
        return value

    async def command(self, line: str) -> Any:
        """Run a slash command of an extension; its response."""
        name, _, args = line.removeprefix("/").partition(" ")
        return await self.host.run_command(name, args)


@asynccontextmanager
async def running(
    name: str, tmp_path: Path, *model: Any, answers: list[Any] | None = None, **config: Any
) -> AsyncGenerator[Run]:
    """A conversation with a copy of the example. Without ``answers`` no user can be asked."""
    directory = tmp_path / name
    if not directory.exists():
        shutil.copytree(EXAMPLES / name, directory)
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    run = Run(FakeScreen(), answers if answers is not None else [])
    asks = {"on_question": run.answer, "question_kinds": ("dialog",)} if answers is not None else {}
    front = FrontEnd(surface=run.screen, mode="terminal" if answers is not None else "print", **asks)
    defaults: dict[str, Any] = {
        "provider": "script",
        "home": tmp_path / "home",
        "cwd": str(project),
        "ext": (str(directory),),
        "installed_extensions": False,
        "context_files": False,
        "patient_with_ext": True,
    }
    async with build(RunConfig(**(defaults | config)), front) as run.conversation:
        run.client = run.conversation.agent.client = FakeClient(*model)
        run.conversation.subscribe(lambda event: _keep(run, event), ToolProgress)
        yield run


def _keep(run: Run, event: AgentEvent) -> None:
    if isinstance(event, ToolProgress):
        run.progress.append(event)
