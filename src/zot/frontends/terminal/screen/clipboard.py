"""Text on its way to the clipboard: through the terminal, which may be on another machine, and through the platform's
own program, which tells whether it worked. Both are tried, because neither is there for everybody.

tmux drops the terminal's sequence unless it was told otherwise, but hands on what is loaded into its buffer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from zot.system.files import find_program

if TYPE_CHECKING:
    from zot.tui.terminal import Terminal

_WAIT_S = 3.0


async def copy(text: str, terminal: Terminal, environment: Mapping[str, str]) -> str:
    """How the text got there: ``by xclip``, ``through the terminal``; empty when nothing would take it."""
    sent = terminal.copy(text)
    for program in clipboard_programs(os.environ):
        if await _gave(program, text, environment):
            return f"by {os.path.basename(program[0])}"
    return "through the terminal" if sent else ""


def clipboard_programs(environ: Mapping[str, str]) -> list[list[str]]:
    """What may take a text on its standard input, in order: installed, and with somebody to talk to."""
    wanted: list[list[str]] = []
    if sys.platform == "darwin":
        wanted.append(["pbcopy"])
    if environ.get("WAYLAND_DISPLAY"):
        wanted.append(["wl-copy"])
    if environ.get("DISPLAY"):
        wanted += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if environ.get("WSL_DISTRO_NAME"):
        wanted.append(["clip.exe"])
    if environ.get("TMUX"):
        wanted.append(["tmux", "load-buffer", "-w", "-"])
    found = [(find_program(argv[0]), argv[1:]) for argv in wanted]
    return [[program, *rest] for program, rest in found if program is not None]


async def _gave(argv: list[str], text: str, environment: Mapping[str, str]) -> bool:
    """Whether the program took it. One that stays to serve the clipboard keeps none of our pipes but this one."""
    nothing = asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.PIPE, stdout=nothing, stderr=nothing, env=dict(environment)
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_WAIT_S):
            await child.communicate(text.encode("utf-8", "replace"))
        return child.returncode == 0
    except (TimeoutError, OSError):
        return False
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
