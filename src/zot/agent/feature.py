"""Base class of everything that joins a conversation; each method has a default that does nothing.
``join`` is called once per feature in the order of ``agent/features.py``, ``start`` when all have joined."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from zot.agent.system_prompt import SystemPrompt

if TYPE_CHECKING:
    from pathlib import Path

    from zot.agent.config import RunConfig
    from zot.agent.services import Services
    from zot.agent.session_change import SessionChange
    from zot.agent.slash_commands import CommandAnswer, SlashCommand
    from zot.agent.tools.workspace import ChangeRecorder
    from zot.agent.user_shell import ShellDraft
    from zot.core.events import Level
    from zot.core.permission_gate import Answer, ApprovalQuestion
    from zot.core.session.session import Session
    from zot.core.tool import Tool
    from zot.provider.messages import ImageBlock
    from zot.provider.model import Model
    from zot.system.jail.jail import Jail
    from zot.wire.ops import Op

    from zot.agent.conversation import Conversation  # isort: skip


class PromptDraft:
    """A prompt before it is sent: features may replace ``text``, add to ``meta`` and register cleanups.
    ``replaces``: it replaces a prompt that is still unanswered; ``queued``: it waited for the previous one.
    A feature that answers it in the model's place sets ``handled``."""

    def __init__(
        self,
        text: str,
        images: Sequence[ImageBlock] = (),
        *,
        replaces: bool = False,
        queued: bool = False,
        meta: Mapping[str, str] | None = None,
    ) -> None:
        self.text = text
        self.images = images
        self.replaces = replaces
        self.queued = queued
        self.meta = dict(meta or {})
        self.handled = False
        self.cleanup: list[Callable[[], Awaitable[None]]] = []


class Feature:
    """One feature of one conversation.
    ``priority`` orders features with a tool or slash command of the same name: the lowest wins, 0 is zot itself."""

    name: ClassVar[str] = ""
    priority: ClassVar[int] = 0

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.services: Services = conversation.services

    @property
    def system_prompt(self) -> SystemPrompt:
        """Renders the feature's prompt section."""
        system = self.conversation.agent.system
        assert isinstance(system, SystemPrompt)
        return system

    # --- joining

    @classmethod
    def prepare(cls, services: Services) -> None:
        """Before a conversation exists, for rows that are ``early``: check flags, set up the workspace."""

    def join(self) -> None:
        """Add interceptors, subscribers and prompt sections. Starts nothing."""

    def joined(self) -> None:
        """Called when every feature has joined, before anything is reported or started."""

    async def start(self) -> None:
        """Start processes."""

    def for_child(self, child: Conversation) -> Feature | None:
        """The same feature of a side conversation; None if it has none."""
        return None

    def for_worker(self, config: RunConfig) -> RunConfig:
        """The configuration of a swarm worker started here, limited by this feature."""
        return config

    # --- contributions

    def tools(self, taken: Collection[str]) -> list[Tool]:
        """The tools offered now; ``taken`` are names used by other features."""
        return []

    def replace_tools(self, tools: list[Tool]) -> list[Tool]:
        """The built-in tools, some of them replaced by others of the same name. Not for features of zot itself."""
        return tools

    def limit_tools(self, tools: list[Tool]) -> list[Tool]:
        """The tools of all features, without some."""
        return tools

    def tool_names(self) -> Iterable[str]:
        """Tools it knows, offered or not, to check ``--tools``."""
        return ()

    @property
    def is_starting(self) -> bool:
        """True if more tools may still be discovered."""
        return False

    def wrap_tool(self, tool: Tool) -> Tool:
        """Wrap a built-in tool, or return it."""
        return tool

    @property
    def recorder(self) -> ChangeRecorder | None:
        """Receives file changes before and after tools make them; None if it records nothing."""
        return None

    def submit(self, op: Op) -> Any:
        """Carry out one of the ops named in its row; the result may be awaitable."""
        raise NotImplementedError

    # --- slash commands, read when the user types one or a front end lists them

    def slash_commands(self) -> Iterable[SlashCommand]:
        """Its commands, without the slash (``agent/slash_commands.py``)."""
        return ()

    def find_slash_command(self, name: str) -> SlashCommand | None:
        """The command of this name; override it if a search costs less than the list."""
        return next((command for command in self.slash_commands() if command.name.lower() == name.lower()), None)

    async def run_slash_command(self, name: str, arguments: str) -> CommandAnswer:
        """Run one of its commands; not called for those that expand a prompt."""
        raise NotImplementedError

    def mentions(self) -> Iterable[tuple[str, str]]:
        """What ``@`` may name in a prompt besides files: the word after ``@``, and a description."""
        return ()

    # --- prompts: all of these are awaited, so that ``abort`` cancels them

    async def on_input(self, draft: PromptDraft) -> str:
        """Before templates, files and hooks: may change the text, set ``handled``, or deny the prompt with a reason."""
        return ""

    @property
    def reviews_shell(self) -> bool:
        """True if ``on_shell`` must be asked now."""
        return False

    async def on_shell(self, draft: ShellDraft) -> str:
        """Before a ``!`` command of the user: may change or run it; a non-empty text denies it."""
        return ""

    async def before_prompt(self, draft: PromptDraft) -> str:
        """May change the draft; a non-empty text denies the prompt with this reason."""
        return ""

    def on_prompt(self, draft: PromptDraft) -> None:
        """Add messages before the prompt, which every feature allowed. Must not wait or deny."""

    def before_steering(self, text: str) -> str:
        """Expand text the user adds to the running prompt."""
        return text

    async def before_compaction(self, focus: str) -> str:
        """Why the user's ``/compact`` is denied; empty allows it."""
        return ""

    async def after_run(self) -> None:
        """A prompt has ended and the agent is idle: may change the session and queue prompts."""

    async def wait_for_results(self) -> str:
        """Wait for background agents; returns the next prompt to submit, or empty."""
        return ""

    def answer_problem(self) -> str:
        """Why the last answer cannot be used; the run then fails. Empty accepts it."""
        return ""

    async def before_close(self) -> None:
        """The conversation ends; its session is still open."""

    # --- changes by the user

    async def approve(self, question: ApprovalQuestion) -> Answer | None:
        """Answer a permission question for the user; None asks the user."""
        return None

    async def confine(self, jail: Jail | None) -> None:
        """The jail changed (None: no jail): restart processes, or raise ZotError to undo the change."""

    def limits_changed(self) -> None:
        """The permission mode changed, or the jail after all features were confined."""

    @property
    def reviews_session_changes(self) -> bool:
        """True if ``before_session_change`` must be asked now."""
        return False

    async def before_session_change(self, change: SessionChange) -> str:
        """Before another session begins or zot ends; a non-empty text denies it with this reason."""
        return ""

    async def before_session(self, session: Session) -> None:
        """Another session is about to be continued; ZotError keeps the present one."""

    def settings_changed(self) -> None:
        """The user changed a setting that applies at once."""

    def model_changed(self, before: Model) -> None:
        """The model was switched."""

    def model_updated(self, known: Model) -> None:
        """The catalog has new data about the current model."""

    # --- reports

    def notify(self, text: str, level: Level = "warning") -> None:
        """Show one line to the user in every front end; programs get it as a ``diagnostic`` event."""
        self.conversation.notify(text, self.name, level)

    def problems(self) -> list[str]:
        """Lines about this conversation for ``/doctor``."""
        return []

    @classmethod
    def setup_problems(cls, home: Path, cwd: Path) -> Iterable[str]:
        """Lines about its files for ``zot doctor``, without a conversation."""
        return ()

    @classmethod
    def setup_facts(cls, home: Path, cwd: Path) -> Iterable[tuple[str, str]]:
        """Its rows in ``zot doctor``: a label of one word and a text."""
        return ()

    def spent(self) -> float:
        """Cost in USD of agents that work for this conversation and count separately."""
        return 0.0

    def status(self) -> str:
        """A short text for the status bar; empty shows nothing."""
        return ""

    async def aclose(self) -> None:
        """Stop everything it started."""
