"""What a Client can be told, in one table, and the command line and environment it makes of that."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypedDict

from zot.wire.python_values import Decision, OutsideDecision
from zot.wire.rpc_frames import ApprovalRequest, ElicitationRequest, Event

TOKEN_VARIABLE = "ZOTCORE_RPC_TOKEN"

PathLike = str | os.PathLike[str]


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of ``Client`` and ``SyncClient``."""

    command: Sequence[str]  # how zot is started; this Python's own zot when left out
    args: Sequence[str]  # more flags, such as "--session", "FILE"
    env: Mapping[str, str]  # added to the process's own environment: keys belong here, not into args
    provider: str  # as the settings say when left out
    model: str
    base_url: str  # the address of a local server, say
    cwd: PathLike  # where zot works; the process's own directory when left out
    extensions: Sequence[PathLike]  # directories of extensions to load
    token: str  # a shared secret: zot serves nobody else
    # Asked before each tool call; and, with ``outside`` in the request, about what a jailed one wanted outside.
    approve: Callable[[ApprovalRequest], Awaitable[Decision | OutsideDecision] | Decision | OutsideDecision] | None
    # Asked what MCP servers ask: the values by name ({} for an address that was opened), or None for no. One that
    # fails, or whose values do not fit the question, has not answered.
    elicit: Callable[[ElicitationRequest], Awaitable[dict[str, Any] | None] | dict[str, Any] | None] | None
    capabilities: Sequence[str]  # "commands", "panels"
    on_event: Callable[[Event], None]  # hears events that belong to no prompt
    on_stderr: Callable[[str], None]  # hears zot's stderr, line by line
    restart: bool  # start another process when the last one died; on unless said otherwise
    start_timeout: float  # 30 s
    answer_timeout: float  # 10 s, for commands that are answered at once
    silence: float  # 30 s without an event, then zot is asked whether it is there
    exit_timeout: float  # 5 s between closing its stdin and killing it


def argv_of(options: ClientOptions) -> list[str]:
    argv = [*options.get("command", (sys.executable, "-m", "zot")), "rpc"]
    for flag, value in (
        ("--provider", options.get("provider", "")),
        ("--model", options.get("model", "")),
        ("--base-url", options.get("base_url", "")),
        ("--cwd", os.fspath(options.get("cwd", ""))),
    ):
        argv += [flag, value] if value else []
    for path in options.get("extensions", ()):
        argv += ["--ext", os.fspath(path)]
    if options.get("approve"):
        argv.append("--no-yolo")
    return [*argv, *options.get("args", ())]


def environment_of(options: ClientOptions) -> dict[str, str]:
    environment = {**os.environ, **options.get("env", {})}
    environment.pop(TOKEN_VARIABLE, None)
    if token := options.get("token", ""):
        environment[TOKEN_VARIABLE] = token
    return environment


def capabilities_of(options: ClientOptions) -> tuple[str, ...]:
    handlers = (("approvals", options.get("approve")), ("elicitation", options.get("elicit")))
    asked = tuple(name for name, handler in handlers if handler)
    return (*asked, *(name for name in options.get("capabilities", ()) if name not in asked))
