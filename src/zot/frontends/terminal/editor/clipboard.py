"""ctrl+v: an image from the clipboard, read by the platform's program and checked by its bytes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from zot.errors import ZotError
from zot.frontends.terminal.editor.submission import MAX_IMAGE
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock
from zot.system.files import find_program

if TYPE_CHECKING:
    from zot.frontends.terminal.editor.editor import Editor
    from zot.tui.terminal import Terminal

_WAIT_S = 5.0
_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")


async def attach_image(editor: Editor) -> None:
    """Insert the clipboard's image at the cursor; ZotError if there is none."""
    image = await clipboard_image(os.environ, editor.around.environment() or dict(os.environ))
    editor.insert_units([editor.chips.image(image)])
    editor.around.changed()


async def clipboard_image(environ: Mapping[str, str], child_environment: Mapping[str, str]) -> ImageBlock:
    commands: list[list[str]] = []
    if sys.platform == "darwin":
        if program := find_program("pngpaste"):
            commands.append([program, "-"])
    else:
        if environ.get("WAYLAND_DISPLAY") and (program := find_program("wl-paste")):
            commands += [[program, "--no-newline", "--type", kind] for kind in _TYPES]
        if environ.get("DISPLAY") and (program := find_program("xclip")):
            commands += [[program, "-selection", "clipboard", "-target", kind, "-out"] for kind in _TYPES]
    if not commands:
        raise ZotError(f"cannot read the clipboard: install {_wanted(environ)}")
    for command in commands:
        data = await _output(command, child_environment)
        if mime := sniff(data):
            return ImageBlock(mime, data)
    raise ZotError("no image in the clipboard")


def _wanted(environ: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return "pngpaste"
    if environ.get("WAYLAND_DISPLAY"):
        return "wl-clipboard"
    return "xclip" if environ.get("DISPLAY") else "wl-clipboard or xclip; over ssh, drop the file or attach it with @"


async def _output(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Output of a program; empty if it fails, times out or prints too much."""
    pipe = asyncio.subprocess.PIPE
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=environment
        )
    except OSError:
        return b""
    assert child.stdout is not None
    try:
        async with asyncio.timeout(_WAIT_S):
            data = b"".join([chunk async for chunk in _chunks(child.stdout)])
            return data if await child.wait() == 0 else b""
    except (TimeoutError, OverflowError):
        return b""
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _chunks(stream: asyncio.StreamReader):
    size = 0
    while chunk := await stream.read(1 << 16):
        size += len(chunk)
        if size > MAX_IMAGE:
            raise OverflowError
        yield chunk


# Copying text: through the terminal, which may be remote, and the platform's program.

_COPY_WAIT_S = 3.0


async def copy(text: str, terminal: Terminal, environment: Mapping[str, str]) -> str:
    """How the text was copied: ``by xclip``, ``through the terminal``; empty if it was not."""
    sent = terminal.copy(text)
    for program in clipboard_programs(os.environ):
        if await _gave(program, text, environment):
            return f"by {os.path.basename(program[0])}"
    return "through the terminal" if sent else ""


def clipboard_programs(environ: Mapping[str, str]) -> list[list[str]]:
    """Programs that may copy from stdin, in order: installed, with a display to connect to."""
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
    """True if the program accepted it. One that stays to serve the clipboard keeps only this pipe."""
    nothing = asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.PIPE, stdout=nothing, stderr=nothing, env=dict(environment)
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(_COPY_WAIT_S):
            await child.communicate(text.encode("utf-8", "replace"))
        return child.returncode == 0
    except (TimeoutError, OSError):
        return False
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
