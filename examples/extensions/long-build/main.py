"""A tool that takes long: it shows how far it is, and stops when the user presses esc.

BUILD_COMMAND is the build (default ``make``), run in the project. Lines such as ``[3/12] compiling`` move the bar.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process

from zot.ext import Context, Extension, ToolResult, line, view

COMMAND = os.environ.get("BUILD_COMMAND", "make")
STEP = re.compile(r"\[\s*(\d+)\s*/\s*(\d+)\s*\]")
LAST = 20  # lines the model gets
ext = Extension("long-build", "1.0.0")


@ext.tool(timeout_s=600)
async def build(ctx: Context, target: str = "") -> ToolResult:
    """Build the project."""
    argv = [*COMMAND.split(), *([target] if target else [])]
    ext.status("build", line("building ", (target or "everything", "accent")))
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=ext.host.cwd or None, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
    )
    lines: list[str] = []
    try:
        await follow(process, lines, ctx)
        code = await process.wait()
    finally:  # also when the call is cancelled: CancelledError
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
            await process.wait()
        ext.withdraw("status", "build")
    words = "built" if code == 0 else f"the build failed with exit code {code}"
    shown = view(lines[-3:], title=words, expanded=lines[-200:])
    return ctx.result("\n".join([*lines[-LAST:], words]), is_error=code != 0, view=shown, details={"code": code})


async def follow(process: Process, lines: list[str], ctx: Context) -> None:
    """Read the output; the newest lines are the partial result."""
    assert process.stdout
    async for raw in process.stdout:
        lines.append(raw.decode("utf-8", "replace").rstrip())
        step = STEP.search(lines[-1])
        fraction = min(1.0, int(step[1]) / max(1, int(step[2]))) if step else None
        await ctx.progress(lines[-1], fraction, content="\n".join(lines[-LAST:]), view=lines[-5:])


if __name__ == "__main__":
    ext.run()
