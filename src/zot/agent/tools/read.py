"""The read tool: a window of a text file as it is, or an image.

The caps apply to the window, not to the file, so that every line of a file of any size can be reached.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from zot.agent.tools.arguments import Arguments
from zot.agent.tools.image_type import image_type
from zot.agent.tools.limits import MAX_BYTES, MAX_LINES
from zot.agent.tools.specs import READ
from zot.agent.tools.text_window import Window, read_window
from zot.agent.tools.workspace_tool import WorkspaceTool
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.provider.messages import ImageBlock
from zot.system.files import open_regular

MAX_IMAGE_BYTES = 20 * 1024 * 1024
_BINARY_TEST_BYTES = 8192
_INLINE_BYTES = 4 * 1024 * 1024  # larger files are read in a thread


class ReadTool(WorkspaceTool):
    name = "read"
    spec = READ

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = Arguments(self.name, args)
        path = self._workspace.resolve(arguments.filled_text("path"))
        first, limit = max(arguments.integer("offset"), 1), max(arguments.integer("limit"), 0)
        shown = self._workspace.shown(path)
        with self._reading(path):
            fd = open_regular(path)
        with open(fd, "rb", buffering=0) as file:
            head = file.read(_BINARY_TEST_BYTES)
            if kind := image_type(path.suffix, head):
                return _image(fd, kind, shown)
            if b"\0" in head:
                raise ToolError(f"read: {shown}: is a binary file and cannot be shown as text")
            window = await _window(fd, first, limit)
        if b"\0" in window.data:
            raise ToolError(f"read: {shown}: holds binary data in these lines and cannot be shown as text")
        return _text(path, first, window)


async def _window(fd: int, first: int, limit: int) -> Window:
    if os.fstat(fd).st_size <= _INLINE_BYTES:
        return read_window(fd, first, limit)
    # The thread gets a descriptor of its own: a cancelled call closes ours while the thread may still read.
    own = os.dup(fd)
    return await asyncio.to_thread(_read_and_close, own, first, limit)


def _read_and_close(fd: int, first: int, limit: int) -> Window:
    try:
        return read_window(fd, first, limit)
    finally:
        os.close(fd)


def _image(fd: int, kind: str, shown: str) -> ToolResult:
    size = os.fstat(fd).st_size
    if size > MAX_IMAGE_BYTES:
        limit = MAX_IMAGE_BYTES // (1024 * 1024)
        raise ToolError(f"read: {shown}: the image has {size} bytes; at most {limit} MiB can be sent. Shrink it first")
    os.lseek(fd, 0, os.SEEK_SET)
    with open(fd, "rb", closefd=False) as file:
        return ToolResult((ImageBlock(kind, file.read()),))


def _text(path: Path, first: int, window: Window) -> ToolResult:
    details = {
        "path": str(path),
        "start_line": first,
        "lines_truncated": window.cut_by_lines,
        "bytes_truncated": window.cut_by_bytes,
        "total_lines": window.total_lines,
    }
    return text_result(_body(window) + _notes(first, window), details=details)


def _body(window: Window) -> str:
    text = window.data.decode("utf-8", "replace")
    return text if not text or text.endswith("\n") else f"{text}\n"


def _notes(first: int, window: Window) -> str:
    total = f"{window.total_lines}{'' if window.counted_all else ' or more'}"
    if not window.total_lines:
        return "[the file is empty]\n"
    if not window.lines:
        return f"[offset {first} is past the end: the file has {total} lines]\n"
    notes: list[str] = []
    if window.cut_by_lines:
        notes.append(f"... [truncated at {MAX_LINES} lines]")
    if window.cut_by_bytes:
        notes.append(f"... [truncated at {MAX_BYTES} bytes]")
    if window.cut_inside_line:
        notes.append(f"... [line {first} goes on; use bash, e.g. cut -c, for the rest of it]")
    if notes:
        notes.append(f"... [the file has {total} lines; continue with offset {first + window.lines}]")
    return "".join(f"{note}\n" for note in notes)
