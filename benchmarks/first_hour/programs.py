"""zot, Claude Code and Codex: how each is prepared, started and answered."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.first_hour.script import ToolCall
from benchmarks.first_hour.user import User
from benchmarks.install_peers import CLAUDE_CODE, CODEX_NEXT, Peer

ROOT = Path(__file__).parents[2]
KEY = "sk-scripted-0123456789012345678901234567890"  # no program has seen a real key


@dataclass(frozen=True)
class Program:
    """What differs between the programs; patterns are regular expressions for the screen."""

    name: str
    title: str
    peer: Peer | None  # None: this checkout of zot
    prepared: str
    prepare: Callable[[Path, str], None]  # (home, address of the model server): writes its settings
    translate: Callable[[str, dict[str, Any]], ToolCall]
    start: str
    resume: str
    first_start: Callable[[User], None]
    log_in: Callable[[User], None]
    question: str
    always: str  # the keys of the answer that lasts
    plan_mode: str
    cancel_key: str
    cancelled: str
    dialogs: tuple[str, str]  # shown by /status and by /model
    leave_keys: tuple[str, ...]
    ready: str

    @property
    def command(self) -> Path | None:
        return self.peer.command if self.peer else Path(sys.prefix, "bin", "zot")

    def install(self, home: Path) -> None:
        """Put it on the PATH of the home."""
        assert self.command
        switches = "--no-daemon " if self.name == "codex" else ""
        script = home / "bin" / self.start
        script.parent.mkdir()
        script.write_text(f'#!/bin/sh\nexec "{self.command}" {switches}"$@"\n')
        script.chmod(0o755)


def environment(program: Program, home: Path, url: str) -> dict[str, str]:
    """Nothing of the user's environment but PATH: no key, no real home, no way out of this machine."""
    return {
        "HOME": str(home),
        "ZOT_HOME": f"{home}/zot",
        "TMPDIR": f"{home}/tmp",
        "PATH": f"{home}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src") if program.peer is None else "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TERM": "tmux-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "PS1": "$ ",
        "HTTPS_PROXY": "http://127.0.0.1:9",  # the discard port: requests to other machines fail at once
        "NO_PROXY": "127.0.0.1",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def _export_key(user: User, start: str) -> None:
    user.type("export ANTHROPIC_API_KEY=")
    user.paste(KEY, "the key")
    user.press("Enter")
    user.enter(f"clear; {start}")


def leave(user: User, *keys: str) -> None:
    """Press the keys within the second that programs wait for the next one."""
    for key in keys:
        user.press(key)
        user.look(0.2)
    user.wait_for(r"\$\s*$")


# zot


def _prepare_nothing(home: Path, url: str) -> None:
    pass


def _start_zot(user: User) -> None:
    user.enter("zot")
    user.wait_for("how may zot run here")
    user.look()
    user.press("Down")
    user.look()
    if not re.search(r"48;[0-9;]+m\s*ask first", user.tmux.styled_screen):
        user.press("Up")  # without a full jail, `ask first` was selected
    user.press("Enter")
    user.wait_for("zot needs a model")


def _log_in_zot(user: User) -> None:
    user.press("Escape")
    user.wait_gone("zot needs a model")
    leave(user, "C-c", "C-c")
    _export_key(user, "zot")
    user.wait_for("ask anything")
    user.wait_gone("starting…")


def _zot_call(name: str, args: dict[str, Any]) -> ToolCall:
    return name, args


ZOT = Program(
    name="zot",
    title="zot (this checkout)",
    peer=None,
    prepared="nothing; the address of the model server is in `ANTHROPIC_BASE_URL`",
    prepare=_prepare_nothing,
    translate=_zot_call,
    start="zot",
    resume="zot -c",
    first_start=_start_zot,
    log_in=_log_in_zot,
    question=r"run bash\?",
    always="2",
    plan_mode="plans only",
    cancel_key="C-c",
    cancelled="cancelled",
    dialogs=("── status", "── model"),
    leave_keys=("C-c", "C-c"),
    ready="ask anything",
)

# Claude Code


def _prepare_claude(home: Path, url: str) -> None:
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))


def _start_claude(user: User) -> None:
    user.enter("claude")
    user.wait_for("Yes, I trust this folder")
    user.look()
    user.press("Down", "Enter")
    user.wait_for("auto mode on")


def _log_in_claude(user: User) -> None:
    leave(user, "C-c", "C-c")
    _export_key(user, "claude")
    user.wait_for("Do you want to use this API key")
    user.look()
    user.press("Up", "Enter")
    user.wait_for("auto mode on")
    user.look()
    user.press("BTab")  # auto mode checks each command on Anthropic's server, which is not there
    user.wait_for("manual mode on")


def _claude_call(name: str, args: dict[str, Any]) -> ToolCall:
    if name == "bash":
        return "Bash", {**args, "description": "Run the test"}
    return "Write", {"file_path": args["path"], "content": args["content"]}


CLAUDE = Program(
    name="claude-code",
    title=f"Claude Code {CLAUDE_CODE.version}",
    peer=CLAUDE_CODE,
    prepared="`~/.claude.json` with `hasCompletedOnboarding`, because its onboarding stops without its own server; "
    "`CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1`; the model server in `ANTHROPIC_BASE_URL`",
    prepare=_prepare_claude,
    translate=_claude_call,
    start="claude",
    resume="claude -c",
    first_start=_start_claude,
    log_in=_log_in_claude,
    question=r"Do you want to proceed\?",
    always="2",
    plan_mode="plan mode on",
    cancel_key="Escape",
    cancelled="Interrupted",
    dialogs=("Session ID", "Select model"),
    leave_keys=("C-c", "C-c"),
    ready="❯",
)

# Codex


def _prepare_codex(home: Path, url: str) -> None:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(f'openai_base_url = "{url}/v1"\ncheck_for_update_on_startup = false\n')


def _start_codex(user: User) -> None:
    user.enter("codex")
    user.wait_for("Sign in with ChatGPT")


def _log_in_codex(user: User) -> None:
    user.press("3")
    user.wait_for("Use an OpenAI API key")
    user.look()
    user.press("Enter")
    user.wait_for("Paste or type your API key")
    user.look()
    user.paste(KEY, "the key")
    user.press("Enter")
    user.wait_for("Trust this folder")
    user.look()
    user.press("Enter")
    user.wait_for("Ask Codex to do anything")


def _codex_call(name: str, args: dict[str, Any]) -> ToolCall:
    """A command outside its sandbox, because only these are asked about."""
    if name == "bash":
        words = str(args["command"]).split()
        reason = {"sandbox_permissions": "require_escalated", "justification": "May I run the test?"}
        return "exec_command", {"cmd": args["command"], **reason, "prefix_rule": words}
    patch = f"*** Begin Patch\n*** Add File: {args['path']}\n+{args['content'].rstrip()}\n*** End Patch"
    return "exec_command", {"cmd": f"apply_patch <<'END'\n{patch}\nEND\n"}


CODEX = Program(
    name="codex",
    title=f"Codex {CODEX_NEXT.version}",
    peer=CODEX_NEXT,
    prepared="`~/.codex/config.toml` with `openai_base_url` (the model server) and no check for updates; "
    "`--no-daemon` in a script `codex`, because its background server copies itself into the home and stays",
    prepare=_prepare_codex,
    translate=_codex_call,
    start="codex",
    resume="codex resume --last",
    first_start=_start_codex,
    log_in=_log_in_codex,
    question="Would you like to run the following command",
    always="p",
    plan_mode="Plan mode",
    cancel_key="Escape",
    cancelled="interrupted",
    dialogs=("Token usage", "Select Model"),
    leave_keys=("C-c",),
    ready="Ask Codex to do anything",
)

PROGRAMS = (ZOT, CLAUDE, CODEX)
