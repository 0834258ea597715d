"""Refuses shell commands that destroy things, and writes down what happened.

The manifest says ``"guard": true``: if this process is slow, dead or missing, zot refuses tool calls instead of letting
them through. Patterns are a seat belt, not a jail: they catch accidents, not deliberate evasion.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from zot.ext import Event, Extension

ext = Extension("guard", "1.0.0")

_REST = r"[^|;&\n]*"  # the rest of one simple command
REFUSED = {
    "rm -rf": rf"\brm\b(?={_REST}\s(-\w*[rR]|--recursive))(?={_REST}\s(-\w*f|--force))",
    "sudo": r"(^|[\s;&|(`])sudo\b",
    "dd of=/": rf"\bdd\b{_REST}\bof=[\"']?/",
    "mkfs": r"\bmkfs(\.\w+)?\b",
    "fork bomb": r"(\S+)\s*\(\s*\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}\s*;\s*\1",
    "chmod -R 777": rf"\bchmod\b(?={_REST}\s(-\w*R|--recursive)){_REST}\s(0?777|a\+rwx)\b",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in REFUSED.items()}


def verdict(command: str) -> str:
    """Why the command is refused, or nothing."""
    return next((name for name, pattern in _PATTERNS.items() if pattern.search(command)), "")


@ext.intercept_tool_call
def guard(tool: str, args: dict[str, object]) -> tuple[bool, str]:
    reason = verdict(str(args.get("command", ""))) if tool == "bash" else ""
    if reason:
        audit("refused", tool=tool, reason=reason)
        return False, f"refused by guard: {reason}. Find a way without it, or ask the user to run it."
    return True, ""


def audit(what: str, **facts: object) -> None:
    """One line per happening, in the extension's data directory."""
    folder = Path(ext.host.data_dir or ".")
    line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "what": what, **facts})
    with (folder / "audit.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


@ext.on("session_start")
def session_start(event: Event) -> None:
    audit(event.event, cwd=ext.host.cwd)


@ext.on("turn_start")
def turn_start(event: Event) -> None:
    audit(event.event, step=event.step)


@ext.on("tool_call")
def tool_call(event: Event) -> None:
    audit(event.event, tool=event.tool_name, args=event.tool_args)


@ext.on("turn_end")
def turn_end(event: Event) -> None:
    audit(event.event, stop=event.stop)


if __name__ == "__main__":
    ext.run()
