"""The options of a Runtime. Each means the same as the flag of that name.
Sessions and extensions are off by default, and nothing of the process is changed: not its directory, environment or
signal handlers."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, get_args

from zot.agent.config import FrontEnd, RunConfig
from zot.agent.extension_ui import ExtensionUI
from zot.core.event_bus import Reader
from zot.core.events import Diagnostic, SessionFault
from zot.core.interceptors import Interceptor
from zot.core.permission_modes import MODES
from zot.core.permission_modes import Mode as PermissionMode
from zot.core.tool import Tool
from zot.errors import UsageError
from zot.provider.model import Reasoning
from zot.sdk.approvals import Approval, OnAskUser, OnPlan, OutsideRequest, ProgramPresenter
from zot.sdk.interceptors import as_interceptor
from zot.sdk.tools import as_tool
from zot.wire.python_values import Decision, OutsideDecision, rename_options

if TYPE_CHECKING:
    from zot.features.mcp.elicitation import Elicitation
    from zot.wire.rpc_frames import ExtDialog, ExtSurface

MAX_STEPS = 50

PathLike = str | os.PathLike[str]


OnQuestion = Callable[["Elicitation"], Awaitable[dict[str, Any] | None] | dict[str, Any] | None]
OnDialog = Callable[["ExtDialog"], Awaitable[Any] | Any]
OnSurface = Callable[["ExtSurface"], object]
_OLDER = {"elicit": "on_question"}


class _OlderOptions(TypedDict, total=False):
    elicit: OnQuestion | None


class Options(_OlderOptions, total=False):
    """The keyword arguments of ``Runtime``."""

    # model
    provider: str  # "anthropic", "openai", "ollama", …; default: the setting
    model: str  # an id; default: the setting, else the provider's default
    api_key: str  # instead of environment and auth.json
    base_url: str  # for example the address of a local server
    insecure: bool  # skip TLS checks of base_url
    script: PathLike | Mapping[str, Any]  # answers of the scripted model: a file, or its content
    reasoning: Reasoning  # reasoning level; default: the model's
    temperature: float  # 0 to 2
    fallback_model: str  # used after the first model failed three times; an id, or provider/id
    retries: int  # retries of a failed model call; default: the setting (9)
    # directories and environment
    cwd: PathLike  # default: the process's directory
    home: PathLike  # instead of $ZOT_HOME: settings, credentials, skills
    environ: Mapping[str, str]  # instead of os.environ, for credentials
    # prompt
    system_prompt: str | None  # "" is valid; None is zot's own
    append_system_prompt: Sequence[str]  # more text after it
    context_files: bool  # AGENTS.md; default: on
    skills: bool  # default: on
    # tools and permissions
    tools: Sequence[Callable[..., Any] | Tool]  # yours, always offered
    allowed_tools: Sequence[str] | None  # selects zot's tools; None is the default set, () none
    interceptors: Sequence[Callable[..., Any] | Interceptor]  # called before tool calls, turns and messages
    permission_mode: PermissionMode  # what runs without asking; default: the setting
    approve: (
        Callable[[Approval], Awaitable[Decision] | Decision] | None
    )  # called before each tool call, or as the mode requires
    jail: Literal["on", "net", "off"]  # confine tools to cwd, "net" with the network; "off" also for a jailed session
    jail_read: Sequence[PathLike]  # also allow reading these directories
    jail_write: Sequence[PathLike]  # also allow changing these directories
    approve_outside: (
        Callable[[OutsideRequest], Awaitable[OutsideDecision] | OutsideDecision] | None
    )  # called before a call reaches outside; starts the jail
    on_question: OnQuestion | None  # answers MCP servers: values by name ({} for an opened address), None declines
    on_ask_user: OnAskUser | None  # answers questions of the model, one text or several per question; None declines
    on_plan: OnPlan | None  # decides about a plan in plan mode: True, False or a PlanDecision
    on_dialog: OnDialog | None  # answers questions of extensions with a value of their kind, None cancels
    on_surface: OnSurface | None  # called for each status item, widget, … that extensions draw or withdraw
    max_steps: int  # model calls per prompt; default and 0: 50
    max_cost_usd: float  # stop before the next model call once this is spent
    price_unknown: Literal["refuse", "allow"]  # with max_cost_usd, a model without a price; default: refuse
    # extensions and sessions
    extensions: Sequence[PathLike]  # directories of extensions to load
    installed_extensions: bool  # also installed ones
    mcp_config: Sequence[PathLike]  # files with MCP servers
    mcp: bool  # also the servers configured for the user and the project; default: off
    sessions: PathLike | None  # directory for sessions
    session: PathLike | None  # a session file to continue
    continue_session: bool  # continue the newest of this cwd in ``sessions``
    record: PathLike  # file to record the run in, for `zot replay`


def checked(options: Options) -> Options:
    """The options under their current names; TypeError for an unknown one, UsageError for a wrong value."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"Runtime() got an unexpected keyword argument {name!r}")
    if options.get("max_steps", 0) < 0:
        raise UsageError("max_steps: expected a whole number, 0 for the default")
    if options.get("retries", 0) < 0:
        raise UsageError("retries: expected a whole number, 0 for none")
    if (jail := options.get("jail", "")) not in ("", "on", "net", "off"):
        raise UsageError(f'jail "{jail}": expected "on", "net" or "off"')
    if (level := options.get("reasoning", "")) not in get_args(Reasoning):
        raise UsageError(f'reasoning "{level}": expected one of {", ".join(filter(None, get_args(Reasoning)))}')
    if (mode := options.get("permission_mode")) is not None and mode not in MODES:
        raise UsageError(f'permission_mode "{mode}": expected one of {", ".join(MODES)}')
    return cast("Options", rename_options(options, _OLDER, "Runtime"))


def config_of(options: Options) -> RunConfig:
    """The run configuration of these options."""
    sessions, session = options.get("sessions"), options.get("session")
    if options.get("continue_session") and not sessions:
        raise UsageError("continue_session requires sessions=DIRECTORY")
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
        price_unknown="allow" if options.get("price_unknown") == "allow" else "",
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
        jail="" if options.get("jail") == "off" else options.get("jail", ""),
        no_jail=options.get("jail") == "off",
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
    """The front end of the program."""
    presenter = ProgramPresenter(
        options.get("approve"),
        options.get("approve_outside"),
        options.get("on_question"),
        options.get("on_dialog"),
        options.get("on_ask_user"),
        options.get("on_plan"),
    )
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
