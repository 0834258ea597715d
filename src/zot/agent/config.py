"""Frozen configuration of a run (``RunConfig``), and the front end's part of a conversation (``FrontEnd``).
Reads no file and no environment variable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from zot.core.event_bus import Reader
from zot.core.events import SHOWN, AgentEvent
from zot.core.tool import Tool

if TYPE_CHECKING:
    from zot.agent.extension_ui import ExtensionUI
    from zot.core.interceptors import Interceptor


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Empty and None mean the setting, else zot's default."""

    # model
    provider: str = ""
    model: str = ""
    api_key: str = ""
    base_url: str = ""
    base_url_from: str = ""  # the variable of a worker's base_url; no stored credential is sent there
    insecure: bool = False
    script: str | Mapping[str, Any] = ""  # answers of the scripted model: a file, or its content
    reasoning: str = ""
    temperature: float | None = None
    output_schema: str = ""  # JSON Schema of the last answer: a file, or its content
    fallback_model: str = ""  # used if the first model fails
    retries: int | None = None  # retries of a failed model call; None is the setting
    max_steps: int = 0
    max_cost: float = 0.0
    price_unknown: Literal["", "allow"] = ""  # "allow": models without a price count as free for a spending limit
    # directories and environment
    cwd: str = ""
    home: Path | None = None  # instead of $ZOT_HOME
    environ: Mapping[str, str] | None = None  # for credentials, instead of the process's environment
    # prompt
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    context_files: bool = True
    skills: bool = True
    # tools and permissions
    tools: tuple[str, ...] | None = None  # only these; () for none
    permission_mode: str = ""  # plan, ask, accept-edits or everything
    permission_limit: str = ""  # the widest mode it may be switched to
    ask_each: bool = False  # modes that ask also ask about reading in the project
    jail: str = ""  # "on", or "net" with the network
    no_jail: bool = False  # none, whatever settings and the resumed session say
    jail_read: tuple[str, ...] = ()
    jail_write: tuple[str, ...] = ()
    jail_level: str = ""  # minimum level: "full", else "reduced"
    approve: str = ""  # "outside": ask the user before a jailed call reaches outside
    # extensions and session
    ext: tuple[str, ...] = ()
    extension_flags: Mapping[str, Mapping[str, Any]] = {}  # values of flags that extensions declare, by extension
    installed_extensions: bool = True
    patient_with_ext: bool = False  # wait longer at the start for extensions of ``ext``
    mcp_config: tuple[str, ...] = ()  # files with MCP servers, for this run
    mcp: bool = True  # also the servers configured for the user and the project
    trust_project: bool = False
    project: str = ""  # whose extensions, hooks and servers apply; a worker's is its starter's, whatever its cwd
    required_guards: tuple[str, ...] = ()  # directories of guards: every call is denied while one does not run
    required_hooks: tuple[str, ...] = ()  # files with PreToolUse hooks: the same
    required_rules: tuple[str, ...] = ()  # permission rules of the run that started this worker, as JSON
    trusted_for_run: tuple[str, ...] = ()  # what the user trusted without saving it: "kind name digest"
    all_workers: bool = False  # a client may control every worker, not only those it started
    ext_trace: str = ""
    record: str = ""
    telemetry: str = ""  # of a worker: its starter's telemetry as JSON, with the span it hangs under
    argv: tuple[str, ...] = ()  # the command line, for a recording
    keep_session: bool = True
    session: str = ""  # file, number, id or id prefix of the session to continue
    session_file: str = ""  # continued if it exists, else created
    continue_session: bool = False  # the newest of this directory
    sessions: Path | None = None  # directory of the sessions

    def __repr__(self) -> str:
        """Omits the key, since tracebacks show this."""
        return f"RunConfig(provider={self.provider!r}, model={self.model!r}, cwd={self.cwd!r})"


RunCommand = Callable[[str, str], Awaitable[tuple[str, int]]]  # call id and command; output and exit code


class FrontEnd(msgspec.Struct, frozen=True):
    """``reader`` receives events of these ``kinds``, from the first diagnostic on.
    ``tools`` are offered whatever tools are chosen; ``interceptors`` run before those of extensions; ``on_question``
    answers questions of these ``question_kinds`` (``features/questions.py``) and may be registered later;
    ``switches``: the mode may change during the run. ``mode`` is the name extensions get: terminal, print, json,
    stream, rpc, sdk, daemon or subagent. ``surface`` shows extension UI, if any. With ``may_log_in`` a missing
    credential is no error: prompts fail until there is one. With ``offers_to_go_on`` the front end handles an answer
    that broke off; otherwise the model is asked once to continue."""

    reader: Reader | None = None
    kinds: tuple[type[AgentEvent], ...] = SHOWN
    tools: tuple[Tool, ...] = ()
    interceptors: tuple[Interceptor, ...] = ()
    on_question: Callable[[Any], Awaitable[Any]] | None = None  # features.questions.Presenter
    question_kinds: tuple[str, ...] = ()
    surface: ExtensionUI | None = None
    run_command: RunCommand | None = None  # in a terminal that the user sees
    mode: str = "sdk"
    may_log_in: bool = False
    offers_to_go_on: bool = False
    switches: bool = False


NO_FRONT_END = FrontEnd()
