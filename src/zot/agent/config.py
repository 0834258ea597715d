"""The frozen configuration of a run (``RunConfig``), created by the command line and the SDK, and the front end's
part of a conversation (``FrontEnd``). Nothing here reads a file or the environment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from zot.core.event_bus import Reader
from zot.core.events import SHOWN, AgentEvent
from zot.core.tool import Tool

if TYPE_CHECKING:
    from zot.core.interceptors import Interceptor
    from zot.wire.extension_frames import Panel


class ExtensionUI(Protocol):
    """What an extension may show or do through the front end. Calls are quick and never raise; a front end that cannot
    show a thing ignores it (protocol reference, "Modes")."""

    @property
    def interactive(self) -> bool:
        """Whether a person is there: tools that wait for one may run, panels may open."""
        ...

    def notify(self, extension: str, level: str, message: str) -> None:
        """A one-shot note; an unknown level is shown as info."""
        ...

    def clear_notes(self, extension: str) -> None: ...

    def submit(self, extension: str, text: str) -> None:
        """As if typed: starts a turn, or queues behind the running one."""
        ...

    def submit_slash(self, extension: str, text: str) -> None:
        """Run a slash command; the text begins with a slash."""
        ...

    def open_panel(self, extension: str, panel: Panel) -> None: ...

    def render_panel(self, extension: str, panel: Panel) -> None:
        """Redraw: an empty title keeps the old one, lines and footer replace."""
        ...

    def close_panel(self, extension: str, panel_id: str) -> None: ...


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Empty and None mean: as the settings say, else zot's default."""

    # who answers
    provider: str = ""
    model: str = ""
    api_key: str = ""
    base_url: str = ""
    insecure: bool = False
    script: str | Mapping[str, Any] = ""  # answers of the scripted model: a file, or what would be in it
    reasoning: str = ""
    temperature: float | None = None
    fallback_model: str = ""  # asked once when the first model fails
    retries: int | None = None  # of a model call that failed for a reason that may pass; None is the setting
    max_steps: int = 0
    max_cost: float = 0.0
    # where it works
    cwd: str = ""
    home: Path | None = None  # instead of $ZOT_HOME
    environ: Mapping[str, str] | None = None  # where credentials are looked for, instead of the process's own
    # what it is told
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    context_files: bool = True
    skills: bool = True
    # what it may do
    tools: tuple[str, ...] | None = None  # only these; () is none at all
    permission_mode: str = ""  # what runs without a question: plan, ask, accept-edits or everything
    permission_limit: str = ""  # the widest mode it may be switched to
    ask_each: bool = False  # in the modes that ask, about reading in the project, too
    jail: str = ""  # "on"; "net" with the network
    jail_read: tuple[str, ...] = ()
    jail_write: tuple[str, ...] = ()
    jail_level: str = ""  # the least that will do: "full", else "reduced"
    approve: str = ""  # "outside": what a jailed call wanted outside is put to a person
    # what it loads and keeps
    ext: tuple[str, ...] = ()
    installed_extensions: bool = True
    patient_with_ext: bool = False  # wait longer at the start for what ``ext`` names
    mcp_config: tuple[str, ...] = ()  # files with MCP servers, for this run
    mcp: bool = True  # also the servers that are configured for the user and the project
    trust_project: bool = False
    project: str = ""  # whose extensions, hooks and servers apply; a worker's is its starter's, whatever its cwd
    required_guards: tuple[str, ...] = ()  # directories of guards: every call is denied while one does not run
    required_hooks: tuple[str, ...] = ()  # files with PreToolUse hooks: the same
    trusted_for_run: tuple[str, ...] = ()  # what the user trusted without saving it: "kind name digest"
    all_workers: bool = False  # a client may control every worker, not only those it started
    ext_trace: str = ""
    record: str = ""
    argv: tuple[str, ...] = ()  # the command line, for a recording
    keep_session: bool = True
    session: str = ""  # which one to continue: its file, number, id or the beginning of it
    session_file: str = ""  # continued when it is there, else begun
    continue_session: bool = False  # the newest of this directory
    sessions: Path | None = None  # a directory to keep sessions in

    def __repr__(self) -> str:
        """Without the key: tracebacks show this."""
        return f"RunConfig(provider={self.provider!r}, model={self.model!r}, cwd={self.cwd!r})"


class FrontEnd(msgspec.Struct, frozen=True):
    """``reader`` hears events of these ``kinds``, from the first diagnostic on. ``tools`` are offered whatever the
    configuration chooses among zot's own; ``interceptors`` are asked before extensions; ``on_question`` answers
    questions of these ``question_kinds`` (``features/questions.py``) and may be registered later; ``switches`` says
    that the mode may change while it runs. ``surface`` is where extensions may show things; without one they show
    nothing. With ``may_log_in`` a missing credential is not an error: the conversation opens and refuses to talk until
    there is one.
    With ``offers_to_go_on`` an answer that broke off is left to it, and to the person in front of it; else the model is
    asked once to go on.
    """

    reader: Reader | None = None
    kinds: tuple[type[AgentEvent], ...] = SHOWN
    tools: tuple[Tool, ...] = ()
    interceptors: tuple[Interceptor, ...] = ()
    on_question: Callable[[Any], Awaitable[Any]] | None = None  # features.questions.Presenter
    question_kinds: tuple[str, ...] = ()
    surface: ExtensionUI | None = None
    may_log_in: bool = False
    offers_to_go_on: bool = False
    switches: bool = False


NO_FRONT_END = FrontEnd()
