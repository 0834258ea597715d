"""What a Runtime can be told, in one table. Each key means what the flag of the same name means on the command line.

Sessions and extensions are off until asked for, and nothing of the process is changed: not its directory, its
environment, nor its signal handlers.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, get_args

from zot.agent.cli.flags import Flags
from zot.agent.embedding import Embedding
from zot.core.interceptors import Interceptor
from zot.core.tool import Tool
from zot.errors import UsageError
from zot.provider.model import Reasoning
from zot.sdk.approvals import Approval, confirmer
from zot.sdk.interceptors import as_interceptor
from zot.sdk.tools import as_tool
from zot.wire.caller_values import Decision

MAX_STEPS = 50

PathLike = str | os.PathLike[str]


class Options(TypedDict, total=False):
    """The keyword arguments of ``Runtime``."""

    # who answers
    provider: str
    model: str
    api_key: str
    base_url: str
    insecure: bool  # no TLS checks, for base_url
    script: PathLike  # answers of the scripted model (provider "script")
    reasoning: Reasoning
    temperature: float
    # where it works
    cwd: PathLike  # the process's own directory when left out
    home: PathLike  # instead of $ZOT_HOME: settings, credentials, skills
    environ: Mapping[str, str]  # instead of os.environ, where credentials are looked for
    # what it is told
    system_prompt: str | None  # "" is a prompt, too; None is zot's own
    append_system_prompt: Sequence[str]
    context_files: bool  # AGENTS.md; on unless said otherwise
    skills: bool  # on unless said otherwise
    # what it may do
    tools: Sequence[Callable[..., Any] | Tool]  # yours, always offered
    allowed_tools: Sequence[str] | None  # which of the others; None is the default set, () none
    interceptors: Sequence[Callable[..., Any] | Interceptor]
    approve: Callable[[Approval], Awaitable[Decision] | Decision] | None  # asked before each tool call
    max_steps: int  # model calls per prompt; 50 unless said otherwise, 0 means the same
    max_cost_usd: float
    # what it loads and keeps
    extensions: Sequence[PathLike]
    installed_extensions: bool  # also those that are installed
    sessions: PathLike | None  # a directory to keep sessions in
    session: PathLike | None  # a session file to go on with
    continue_session: bool  # go on with the newest of this cwd in ``sessions``


def check(options: Options) -> None:
    """TypeError for an unknown key, as for any call; UsageError for a value that cannot be."""
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"Runtime() got an unexpected keyword argument {name!r}")
    if options.get("max_steps", 0) < 0:
        raise UsageError("max_steps: expected a whole number, 0 for the default")
    if (level := options.get("reasoning", "")) not in get_args(Reasoning):
        raise UsageError(f'reasoning "{level}": expected one of {", ".join(filter(None, get_args(Reasoning)))}')


def flags_of(options: Options) -> Flags:
    """The command line that would say the same."""
    flags = Flags()
    flags.provider = options.get("provider", "")
    flags.model = options.get("model", "")
    flags.api_key = options.get("api_key", "")
    flags.base_url = options.get("base_url", "")
    flags.insecure = options.get("insecure", False)
    flags.script = os.fspath(options.get("script", ""))
    flags.reasoning = options.get("reasoning", "")
    flags.temperature = options.get("temperature")
    flags.cwd = os.fspath(options.get("cwd", ""))
    flags.system_prompt = options.get("system_prompt")
    flags.append_system_prompt = tuple(options.get("append_system_prompt", ()))
    flags.no_context_files = not options.get("context_files", True)
    flags.no_skills = not options.get("skills", True)
    flags.tools = None if (names := options.get("allowed_tools")) is None else tuple(names)
    flags.no_yolo = options.get("approve") is not None
    flags.max_steps = options.get("max_steps", 0) or MAX_STEPS
    flags.max_cost = options.get("max_cost_usd", 0.0)
    _persistence(flags, options)
    return flags


def _persistence(flags: Flags, options: Options) -> None:
    flags.ext = tuple(os.fspath(path) for path in options.get("extensions", ()))
    flags.no_ext = not options.get("installed_extensions", False)
    sessions, session = options.get("sessions"), options.get("session")
    flags.no_session = not sessions and not session
    flags.session = os.fspath(session or "")
    flags.continue_ = options.get("continue_session", False)
    if flags.continue_ and not sessions:
        raise UsageError("continue_session needs a directory: sessions=…")


def embedding_of(options: Options) -> Embedding:
    """What a command line cannot say."""
    approve = options.get("approve")
    return Embedding(
        home=_path(options.get("home")),
        environ=options.get("environ"),
        tools=tuple(map(as_tool, options.get("tools", ()))),
        interceptors=tuple(map(as_interceptor, options.get("interceptors", ()))),
        confirmer=confirmer(approve) if approve else None,
        sessions=_path(options.get("sessions")),
    )


def _path(given: PathLike | None) -> Path | None:
    return Path(os.path.abspath(os.path.expanduser(given))) if given else None
