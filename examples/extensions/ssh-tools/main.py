"""Runs the agent's commands and file tools on another machine: ``zot --ssh user@host:/path``. Without the flag it does
nothing. Commands typed with ``!`` run there, too."""

from __future__ import annotations

import os
import shlex
from typing import Any

from zot.ext import Context, Extension, Interception, ToolResult, Verdict, line

SSH = os.environ.get("SSH_COMMAND", "ssh").split()
MOST = 60_000  # characters of output
ext = Extension("ssh-tools", "1.0.0")


def target() -> tuple[str, str]:
    host, _, path = str(ext.flags.get("ssh") or "").partition(":")
    return host, path or "."


def remote(ctx: Context, script: str, stdin: str | None = None, timeout_s: int = 600) -> dict[str, Any]:
    host, path = target()
    command = f"cd {shlex.quote(path)} && {script}"
    return ctx.run_program([*SSH, host, command], stdin=stdin, timeout_s=timeout_s)


def result(ctx: Context, done: dict[str, Any]) -> ToolResult:
    text = (done["stdout"] + done["stderr"])[-MOST:] or "(no output)"
    return ctx.result(text if not done["code"] else f"{text}\n[exit {done['code']}]", is_error=done["code"] != 0)


@ext.on_hello
def begin() -> None:
    if not target()[0]:
        return
    ext.status("ssh", line(("ssh ", "muted"), (ext.flags["ssh"], "accent")))

    @ext.tool("bash", override=True, timeout_s=600)
    def bash(command: str, ctx: Context) -> ToolResult:
        """Run a shell command on the remote machine."""
        return result(ctx, remote(ctx, command))

    @ext.tool("read", override=True)
    def read(path: str, ctx: Context) -> ToolResult:
        """Read a file of the remote machine."""
        return result(ctx, remote(ctx, f"cat -- {shlex.quote(path)}"))

    @ext.tool("write", override=True)
    def write(path: str, content: str, ctx: Context) -> ToolResult:
        """Write a file of the remote machine."""
        quoted = shlex.quote(path)
        done = remote(ctx, f"mkdir -p -- $(dirname -- {quoted}) && cat > {quoted}", stdin=content)
        return result(
            ctx, {**done, "stdout": f"wrote {len(content):,} characters to {path}" if not done["code"] else ""}
        )


@ext.intercept("user_shell")
def shell(event: Interception, ctx: Context) -> Verdict | None:
    if not target()[0]:
        return None
    done = remote(ctx, event.command, timeout_s=4)
    return event.handled(done["stdout"] + done["stderr"], code=done["code"])


if __name__ == "__main__":
    ext.run()
