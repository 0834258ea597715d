"""The read tool: a window of a text file of any size in constant memory, an image, or the names in a directory."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec

from zot.agent.tools.arguments import ToolArguments
from zot.agent.tools.registry import READ
from zot.agent.tools.truncate import MAX_BYTES, MAX_LINES, CappedRows, truncate_utf8
from zot.agent.tools.workspace import WorkspaceTool
from zot.core.tool import ToolContext, ToolResult, text_result
from zot.errors import ToolError
from zot.provider.images import sniff
from zot.provider.messages import ImageBlock

MAX_IMAGE_BYTES = 20 * 1024 * 1024
_IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_BINARY_TEST_BYTES = 8192
_INLINE_BYTES = 4 * 1024 * 1024  # larger files are read in a thread
_CHUNK = 256 * 1024
_COUNTED_BYTES = 1024 * 1024 * 1024  # above this the total is reported as "or more"


class ReadTool(WorkspaceTool):
    name = "read"
    spec = READ

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolResult:
        arguments = ToolArguments(self.name, args)
        path = self._workspace.resolve(arguments.filled_text("path"))
        first, limit = max(arguments.integer("offset"), 1), max(arguments.integer("limit"), 0)
        shown = self._workspace.display_path(path)
        with self._reading(path):
            try:
                fd = self._workspace.open_regular(path)
            except IsADirectoryError:
                return await self._list(path, first, limit)
        with os.fdopen(fd, "rb", buffering=0) as file:
            head = file.read(_BINARY_TEST_BYTES)
            # Both the name and the first bytes must be those of an image: a text file named .png is text.
            if path.suffix.lower() in _IMAGE_SUFFIXES and (kind := sniff(head)):
                size = os.fstat(fd).st_size
                if size > MAX_IMAGE_BYTES:
                    most = MAX_IMAGE_BYTES // (1024 * 1024)
                    raise ToolError(
                        f"read: {shown}: the image has {size} bytes; at most {most} MiB can be sent. Shrink it first"
                    )
                os.lseek(fd, 0, os.SEEK_SET)
                with os.fdopen(fd, "rb", closefd=False) as image:
                    return ToolResult((ImageBlock(kind, image.read(MAX_IMAGE_BYTES)),))
            if b"\0" in head:
                raise ToolError(f"read: {shown}: is a binary file and cannot be shown as text")
            newer = await self._workspace.unsaved(path)
            window = await _window(fd, first, limit) if newer is None else _window_of(newer, first, limit)
        if b"\0" in window.data:
            raise ToolError(f"read: {shown}: holds binary data in these lines and cannot be shown as text")
        details = {
            "path": str(path),
            "start_line": first,
            "lines_truncated": window.cut_by_lines,
            "bytes_truncated": window.cut_by_bytes,
            "total_lines": window.total_lines,
        }
        text = window.data.decode("utf-8", "replace")
        end = "" if not text or text.endswith("\n") else "\n"
        return text_result(f"{text}{end}{_notes(first, window)}", details=details)

    async def _list(self, path: Path, first: int, limit: int) -> ToolResult:
        """The names in a directory, sorted; those of directories end with a slash."""
        fd = self._workspace.open_directory(path)
        try:
            names = await asyncio.to_thread(_names, fd)
        finally:
            os.close(fd)
        rows = CappedRows()
        for name in names[first - 1 : first - 1 + limit if limit else None]:
            if not rows.add(name):
                break
        following = first + len(rows.rows)
        note = f"... [the directory has {len(names)} entries; continue with offset {following}]\n"
        text = rows.text() + (note if rows.truncated else "")
        details = {"path": str(path), "entries": len(names), "truncated": rows.truncated}
        return text_result(text or f"[the directory has {len(names)} entries]\n", details=details)


def _names(fd: int) -> list[str]:
    """With a mark for bytes that are not UTF-8 and for line breaks."""
    with os.scandir(fd) as entries:
        found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    shown = ((os.fsencode(name).decode("utf-8", "replace").replace("\n", "�"), folder) for name, folder in found)
    return [f"{name}/" if folder else name for name, folder in shown]


async def _window(fd: int, first: int, limit: int) -> ReadWindow:
    if os.fstat(fd).st_size <= _INLINE_BYTES:
        return read_window(fd, first, limit)
    # The thread gets its own descriptor: a cancelled call closes this one while the thread may still read.
    own = os.dup(fd)

    def read_and_close() -> ReadWindow:
        try:
            return read_window(own, first, limit)
        finally:
            os.close(own)

    return await asyncio.to_thread(read_and_close)


def _window_of(data: bytes, first: int, limit: int) -> ReadWindow:
    """Of a file that a connected editor has."""
    import tempfile  # few have one

    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return read_window(file.fileno(), first, limit)


def _notes(first: int, window: ReadWindow) -> str:
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


class ReadWindow(msgspec.Struct, frozen=True):
    """Consecutive lines: ``lines`` of them in ``data``, the last one perhaps truncated, of ``total_lines``."""

    data: bytes
    lines: int
    total_lines: int
    cut_by_lines: bool = False
    cut_by_bytes: bool = False
    cut_inside_line: bool = False
    counted_all: bool = True


def read_window(fd: int, first: int, limit: int) -> ReadWindow:
    """Lines from ``first`` (from 1), at most ``limit`` of them if positive, within the caps."""
    os.lseek(fd, 0, os.SEEK_SET)
    collector = _Collector(first)
    seen = 0
    while seen < _COUNTED_BYTES and (chunk := os.read(fd, _CHUNK)):
        seen += len(chunk)
        collector.feed(chunk)
    return collector.window(limit, counted_all=seen < _COUNTED_BYTES)


class _Collector:
    """Skips to the first line, stores one line and one byte more than the cap, counts the rest."""

    def __init__(self, first: int) -> None:
        self._to_skip = first - 1
        self._kept = bytearray()
        self._newlines = 0
        self._ends_in_newline = True

    def feed(self, chunk: bytes) -> None:
        self._newlines += chunk.count(b"\n")
        self._ends_in_newline = chunk.endswith(b"\n")
        start = self._skip(chunk)
        room = MAX_BYTES + 1 - len(self._kept)
        if start < len(chunk) and room > 0:
            self._kept += chunk[start : start + room]

    def _skip(self, chunk: bytes) -> int:
        """Start of the window in this chunk; its end before the first line."""
        if not self._to_skip:
            return 0
        here = chunk.count(b"\n")
        if here < self._to_skip:
            self._to_skip -= here
            return len(chunk)
        position = 0
        for _ in range(self._to_skip):
            position = chunk.index(b"\n", position) + 1
        self._to_skip = 0
        return position

    def window(self, limit: int, *, counted_all: bool) -> ReadWindow:
        total = self._newlines + (not self._ends_in_newline)
        wanted = min(limit, MAX_LINES) if limit > 0 else MAX_LINES
        kept = bytes(self._kept)
        parts = kept.split(b"\n", wanted)
        data = kept[: len(kept) - len(parts[wanted])] if len(parts) > wanted else kept
        by_bytes = len(data) > MAX_BYTES
        if by_bytes:
            # Whole lines, so that the next offset continues exactly; part of a line only if it alone is too long.
            end = data.rfind(b"\n", 0, MAX_BYTES)
            data = data[: end + 1] if end >= 0 else truncate_utf8(data[:MAX_BYTES])
        return ReadWindow(
            data,
            lines=data.count(b"\n") + (not data.endswith(b"\n") if data else 0),
            total_lines=total,
            cut_by_lines=not by_bytes and wanted != limit and len(data) < len(kept),
            cut_by_bytes=by_bytes,
            cut_inside_line=by_bytes and not data.endswith(b"\n"),
            counted_all=counted_all,
        )
