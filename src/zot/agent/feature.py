"""Base class of everything that joins a conversation. Each method has a default that does nothing; ``join`` is called
once in the order of the table in ``agent/features.py``, ``start`` when all features have joined."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from zot.agent.system_prompt import SystemPrompt

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.config import RunConfig
    from zot.agent.services import Services
    from zot.agent.tools.workspace import ChangeRecorder
    from zot.core.events import Level
    from zot.core.permission_gate import Answer, ApprovalQuestion
    from zot.core.tool import Tool
    from zot.provider.messages import ImageBlock
    from zot.provider.model import Model
    from zot.system.jail.jail import Jail
    from zot.wire.ops import Op

    from zot.agent.conversation import Conversation  # isort: skip


class PromptDraft:
    """A prompt before it is sent: features may replace ``text`` and register what has to be undone afterwards.

    ``replaces`` says that it takes the place of a prompt that is still unanswered."""

    def __init__(self, text: str, images: Sequence[ImageBlock] = (), *, replaces: bool = False) -> None:
        self.text = text
        self.images = images
        self.replaces = replaces
        self.cleanup: list[Callable[[], Awaitable[None]]] = []


class Feature:
    """One feature of one conversation.

    ``tool_priority`` orders features that offer a tool of the same name: the lowest wins, 0 is zot itself."""

    name: ClassVar[str] = ""
    tool_priority: ClassVar[int] = 0

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.services: Services = conversation.services

    @property
    def system_prompt(self) -> SystemPrompt:
        """For sections of a feature's own."""
        system = self.conversation.agent.system
        assert isinstance(system, SystemPrompt)
        return system

    # --- joining

    @classmethod
    def prepare(cls, services: Services) -> None:
        """Before a conversation exists, for rows that are ``early``: check flags, set up the workspace."""

    def join(self) -> None:
        """Add interceptors, subscribers and prompt sections. Nothing is started here."""

    def joined(self) -> None:
        """Every feature has joined, nothing has been reported or started."""

    async def start(self) -> None:
        """Start processes."""

    def for_child(self, child: Conversation) -> Feature | None:
        """The same feature of a side conversation; None if side conversations do without it."""
        return None

    def for_worker(self, config: RunConfig) -> RunConfig:
        """The configuration of a swarm worker that this conversation starts, narrowed to this feature's limits."""
        return config

    # --- what it contributes

    def tools(self, taken: Collection[str]) -> list[Tool]:
        """The tools offered now; ``taken`` are names that other features use already."""
        return []

    def tool_names(self) -> Iterable[str]:
        """Tools it knows, offered or not; for a check of ``--tools``."""
        return ()

    @property
    def is_starting(self) -> bool:
        """Whether it may still learn of tools."""
        return False

    def wrap_tool(self, tool: Tool) -> Tool:
        """A built-in tool, perhaps inside another one."""
        return tool

    @property
    def recorder(self) -> ChangeRecorder | None:
        """Receives file changes before and after tools make them; None for features that record nothing."""
        return None

    def submit(self, op: Op) -> Any:
        """Carry out one of the ops named in its row; the result may be awaitable."""
        raise NotImplementedError

    # --- prompts: all of these are awaited so that ``abort`` cancels them at once

    async def before_prompt(self, draft: PromptDraft) -> str:
        """May change the draft; a non-empty text denies the prompt and says why."""
        return ""

    def on_prompt(self, draft: PromptDraft) -> None:
        """Every feature allowed the prompt: add what the model should read before it. Not a wait, nothing is denied."""

    def before_steering(self, text: str) -> str:
        """What the user adds to the running prompt, expanded."""
        return text

    async def before_compaction(self, focus: str) -> str:
        """Why the user's ``/compact`` is denied; empty allows it."""
        return ""

    async def wait_for_results(self) -> str:
        """Wait for agents that work in the background; what to submit as the next prompt, empty if nothing."""
        return ""

    async def before_close(self) -> None:
        """The conversation ends, its session is still open."""

    # --- what the user changes

    async def approve(self, question: ApprovalQuestion) -> Answer | None:
        """Answer a permission question in the user's place; None leaves it to the user."""
        return None

    async def confine(self, jail: Jail | None) -> None:
        """The jail has changed, None is no jail: restart what runs, or raise ZotError, which undoes the change."""

    def settings_changed(self) -> None:
        """The user changed a setting that applies at once."""

    def model_changed(self, before: Model) -> None:
        """Another model answers from now on."""

    def model_updated(self, known: Model) -> None:
        """The catalog learned more about the current model."""

    # --- for the user

    def notify(self, text: str, level: Level = "warning") -> None:
        """Show one line to the user, in every front end; programs get it as a ``diagnostic`` event."""
        self.conversation.notify(text, self.name, level)

    def problems(self) -> list[str]:
        """What ``/doctor`` should list about this conversation."""
        return []

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        """What ``zot doctor`` should list about its files, where no conversation runs."""
        return ()

    @classmethod
    def setup_facts(cls, home: Path, cwd: Path) -> Iterable[tuple[str, str]]:
        """Its lines in ``zot doctor``: a label of one word, and what is set up."""
        return ()

    def spent(self) -> float:
        """In USD, by agents that work for this conversation and count for themselves."""
        return 0.0

    def status(self) -> str:
        """A few words for the status bar; empty shows nothing."""
        return ""

    async def aclose(self) -> None:
        """Stop everything it started."""
