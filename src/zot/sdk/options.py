"""What a Runtime can be told, in one table. Each key means what the flag of the same name means on the command line.

Sessions and extensions are off until asked for, and nothing of the process is changed: not its directory, its
environment, nor its signal handlers.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, get_args

from zot.agent.config import ExtensionUI, FrontEnd, RunConfig
from zot.core.event_bus import Reader
from zot.core.events import Diagnostic, SessionFault
from zot.core.interceptors import Interceptor
from zot.core.permission_modes import MODES
from zot.core.permission_modes import Mode as PermissionMode
from zot.core.tool import Tool
from zot.errors import UsageError
from zot.provider.model import Reasoning
from zot.sdk.approvals import Approval, OutsideRequest, ProgramPresenter
from zot.sdk.interceptors import as_interceptor
from zot.sdk.tools import as_tool
from zot.wire.python_values import Decision, OutsideDecision, rename_options

if TYPE_CHECKING:
    from zot.features.mcp.elicitation import Elicitation

MAX_STEPS = 50

PathLike = str | os.PathLike[str]


OnQuestion = Callable[["Elicitation"], Awaitable[dict[str, Any] | None] | dict[str, Any] | None]
_OLDER = {"elicit": "on_question"}


class _OlderOptions(TypedDict, total=False):
    elicit: OnQuestion | None


class Options(_OlderOptions, total=False):
    """The keyword arguments of ``Runtime``."""

    # who answers
    provider: str  # "anthropic", "openai", "ollama", …; as the settings say when left out
    model: str  # an id; the settings' or the provider's own when left out
    api_key: str  # instead of the environment's and auth.json's
    base_url: str  # the address of a local server, say
    insecure: bool  # no TLS checks, for base_url
    script: PathLike | Mapping[str, Any]  # answers of the scripted model: a file, or what would be in it
    reasoning: Reasoning  # how hard the model thinks; the model's own way when left out
    temperature: float  # 0 to 2
    fallback_model: str  # takes over when the first model failed three times; an id, or provider/id
    retries: int  # of a model call that failed for a reason that may pass; as the settings say (9) when left out
    # where it works
    cwd: PathLike  # the process's own directory when left out
    home: PathLike  # instead of $ZOT_HOME: settings, credentials, skills
    environ: Mapping[str, str]  # instead of os.environ, where credentials are looked for
    # what it is told
    system_prompt: str | None  # "" is a prompt, too; None is zot's own
    append_system_prompt: Sequence[str]  # more text behind it
    context_files: bool  # AGENTS.md; on unless said otherwise
    skills: bool  # on unless said otherwise
    # what it may do
    tools: Sequence[Callable[..., Any] | Tool]  # yours, always offered
    allowed_tools: Sequence[str] | None  # which of the others; None is the default set, () none
    interceptors: Sequence[Callable[..., Any] | Interceptor]  # asked before tool calls, turns and messages
    permission_mode: PermissionMode  # what runs unasked; as the settings say when left out
    approve: (
        Callable[[Approval], Awaitable[Decision] | Decision] | None
    )  # asked before each tool call, or as the mode says
    jail: Literal["on", "net"]  # confine commands and file tools to cwd, "net" with the network
    jail_read: Sequence[PathLike]  # directories they may read, too
    jail_write: Sequence[PathLike]  # directories they may change, too
    approve_outside: (
        Callable[[OutsideRequest], Awaitable[OutsideDecision] | OutsideDecision] | None
    )  # asked about what a call wanted outside the jail, which there is then
    on_question: OnQuestion | None  # answers MCP servers: values by name ({} for an opened address), None declines
    max_steps: int  # model calls per prompt; 50 unless said otherwise, 0 means the same
    max_cost_usd: float  # no further model call once this much was spent
    # what it loads and keeps
    extensions: Sequence[PathLike]  # directories of extensions to load
    installed_extensions: bool  # also those that are installed
    mcp_config: Sequence[PathLike]  # files with MCP servers
    mcp: bool  # also the servers configured for the user and the project; off unless said otherwise
    sessions: PathLike | None  # a directory to keep sessions in
    session: PathLike | None  # a session file to continue
    continue_session: bool  # continue the newest of this cwd in ``sessions``
    record: PathLike  # a file to record the run in, for `zot replay`


def checked(options: Options) -> Options:
    """The options under their current names; TypeError for an unknown one, UsageError for a wrong value."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"Runtime() got an unexpected keyword argument {name!r}")
    if options.get("max_steps", 0) < 0:
        raise UsageError("max_steps: expected a whole number, 0 for the default")
    if options.get("retries", 0) < 0:
        raise UsageError("retries: expected a whole number, 0 for none")
    if (jail := options.get("jail", "")) not in ("", "on", "net"):
        raise UsageError(f'jail "{jail}": expected "on" or "net"')
    if (level := options.get("reasoning", "")) not in get_args(Reasoning):
        raise UsageError(f'reasoning "{level}": expected one of {", ".join(filter(None, get_args(Reasoning)))}')
    if (mode := options.get("permission_mode")) is not None and mode not in MODES:
        raise UsageError(f'permission_mode "{mode}": expected one of {", ".join(MODES)}')
    return cast("Options", rename_options(options, _OLDER, "Runtime"))


def config_of(options: Options) -> RunConfig:
    """The run these options ask for."""
    sessions, session = options.get("sessions"), options.get("session")
    if options.get("continue_session") and not sessions:
        raise UsageError("continue_session needs a directory: sessions=…")
    mode = options.get("permission_mode", "")
    return RunConfig(
        provider=options.get("provider", ""),
        model=options.get("model", ""),
        api_key=options.get("api_key", ""),
        base_url=options.get("base_url", ""),
        insecure=options.get("insecure", False),
        script=_script(options.get("script", "")),
        reasoning=options.get("reasoning", ""),
        temperature=options.get("temperature"),
        fallback_model=options.get("fallback_model", ""),
        retries=options.get("retries"),
        max_steps=options.get("max_steps", 0) or MAX_STEPS,
        max_cost=options.get("max_cost_usd", 0.0),
        cwd=os.fspath(options.get("cwd", "")),
        home=_path(options.get("home")),
        environ=options.get("environ"),
        system_prompt=options.get("system_prompt"),
        append_system_prompt=tuple(options.get("append_system_prompt", ())),
        context_files=options.get("context_files", True),
        skills=options.get("skills", True),
        tools=None if (names := options.get("allowed_tools")) is None else tuple(names),
        permission_mode=mode or ("ask" if options.get("approve") else ""),
        ask_each=not mode and options.get("approve") is not None,
        jail=options.get("jail", ""),
        jail_read=tuple(os.fspath(path) for path in options.get("jail_read", ())),
        jail_write=tuple(os.fspath(path) for path in options.get("jail_write", ())),
        approve="outside" if options.get("approve_outside") else "",
        ext=tuple(os.fspath(path) for path in options.get("extensions", ())),
        installed_extensions=options.get("installed_extensions", False),
        mcp_config=tuple(os.fspath(path) for path in options.get("mcp_config", ())),
        mcp=options.get("mcp", False),
        keep_session=bool(sessions or session),
        session=os.fspath(session or ""),
        continue_session=options.get("continue_session", False),
        sessions=_path(sessions),
        record=os.fspath(options.get("record", "")),
    )


def front_end_of(options: Options, reader: Reader, surface: ExtensionUI) -> FrontEnd:
    """What works with the agent from your side."""
    presenter = ProgramPresenter(options.get("approve"), options.get("approve_outside"), options.get("on_question"))
    return FrontEnd(
        reader=reader,
        kinds=(Diagnostic, SessionFault),
        tools=tuple(map(as_tool, options.get("tools", ()))),
        interceptors=tuple(map(as_interceptor, options.get("interceptors", ()))),
        on_question=presenter,
        question_kinds=presenter.kinds,
        surface=surface,
        switches=True,
    )


def _path(given: PathLike | None) -> Path | None:
    return Path(os.path.abspath(os.path.expanduser(given))) if given else None


def _script(given: PathLike | Mapping[str, Any]) -> str | Mapping[str, Any]:
    return os.fspath(given) if isinstance(given, str | os.PathLike) else given
