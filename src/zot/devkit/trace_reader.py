"""Reads traces and recordings: frames of a file or of a growing one, and a readable line for each."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.devkit.conformance.extension_run import new_id
from zot.devkit.scripted_host import RunPaths, ScriptedHost, started
from zot.errors import BadFrame, ConfigError, ExtensionError
from zot.features.extensions.loader.manifest import Manifest
from zot.features.recording.frame_trace import FrameLog, TracedFrame
from zot.frontends.console import print_notice
from zot.system.safe_open import open_buffered, read_prefix
from zot.wire import limits
from zot.wire.extension_codec import decode_host
from zot.wire.extension_frames import CommandInvoked, Frame, ToolCall
from zot.wire.line_splitter import LineSplitter

if TYPE_CHECKING:
    from zot.devkit.dev_host import DevHost

_LOOK_AGAIN = 0.1
_AT_ONCE = 16 << 20
_SUMMARY = 96
_NAMED = {"request": ("method",), "contribute": ("kind", "name"), "withdraw": ("kind", "name")}


def read_frames(path: Path) -> Iterator[tuple[int, TracedFrame]]:
    """The extension frames of a recording or a trace, with their line numbers; ConfigError names a bad line."""
    try:
        file = open_buffered(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    with file:
        for number, line in enumerate(file, 1):
            if (traced := _frame_of(path, number, line)) is not None:
                yield number, traced


def _frame_of(path: Path, number: int, line: bytes) -> TracedFrame | None:
    """None for other records, and for an incomplete last line."""
    try:
        if msgspec.json.decode(line, type=_RecordKind).type not in ("", "frame"):
            return None
        return msgspec.json.decode(line, type=TracedFrame)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        if not line.endswith(b"\n"):
            return None
        raise ConfigError(f"{path}: line {number} is not from a trace or recording: {error}") from error


class _RecordKind(msgspec.Struct, frozen=True):
    type: str = ""


def follow_frames(path: Path) -> Iterator[TracedFrame]:
    """The frames of a growing file, endless; a truncated file is read from its start."""
    lines, place = LineSplitter(), 0
    while True:
        size = path.stat().st_size if path.exists() else 0
        if size < place:
            lines, place = LineSplitter(), 0
        if size > place:
            with open_buffered(path) as file:
                file.seek(place)
                new = file.read(_AT_ONCE)
                place = file.tell()
            yield from (traced for line in lines.feed(new) if (traced := _traced(line or b"")) is not None)
        else:
            time.sleep(_LOOK_AGAIN)


def _traced(line: bytes) -> TracedFrame | None:
    """None for other records and damaged lines."""
    try:
        return msgspec.json.decode(line, type=TracedFrame)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def summary_of(traced: TracedFrame) -> str:
    """One readable line: time, extension, direction, type, id, latency, size and the beginning of the rest."""
    line = traced.line
    arrow = "←" if traced.direction == "in" else "→"
    words = [f"{traced.t:9.3f}", traced.extension, arrow, *_type_and_fields(traced)]
    if traced.latency is not None:
        words.append(f"after {traced.latency * 1000:.1f} ms")
    if traced.pending:
        words.append(f"[{len(traced.pending)} open]")
    size = f"{len(line)} B" if len(line) < 10_000 else f"{len(line) / 1024:.0f} KiB"
    return " ".join((*words, f"({size})"))


def _type_and_fields(traced: TracedFrame) -> list[str]:
    if traced.text or not bytes(traced.frame):
        return ["NOT A FRAME", _cut(repr(traced.text))]
    value: Any = msgspec.json.decode(traced.frame)
    if not isinstance(value, dict):
        return ["NOT A FRAME", _cut(bytes(traced.frame).decode())]
    fields = cast("dict[str, Any]", value)
    named = _NAMED.get(str(fields.get("type")), ())
    rest = {key: item for key, item in fields.items() if key not in ("type", "id", *named)}
    words = [str(fields.get("type", "?"))]
    if "id" in fields:
        words.append(f"#{fields['id']}")
    words += [str(fields[key]) for key in named if key in fields]
    return [*words, _cut(msgspec.json.encode(rest).decode())] if rest else words


def _cut(text: str) -> str:
    return text if len(text) <= _SUMMARY else f"{text[: _SUMMARY - 1]}…"


# An extension started by hand: frames are shown as they pass, lines from stdin become frames. Its state goes to a
# scratch directory; at the end of stdin zot waits for open questions, then shuts it down.

Show = Callable[[TracedFrame], None]


class LiveTrace:
    def __init__(self, manifest: Manifest, scratch: Path, show: Show) -> None:
        self._manifest = manifest
        self._place = RunPaths(Path.cwd(), scratch, scratch / "stderr")
        self._show = show
        self._log = FrameLog()

    async def run(self) -> int:
        """The exit status: 1 if it did not start or did not exit on shutdown."""
        async with started(self._manifest, self._place, "trace") as host:
            frame, name = self._log.frame, self._manifest.name
            host.listeners.append(
                lambda line: self._show(frame(line.t - host.started, name, line.direction, line.data))
            )
            from zot.devkit.dev_host import DevHost  # reading a file needs no host

            dev = DevHost(host)
            greeted = await dev.greet(None)
            if greeted:
                await self._serve(host, dev)
            took = await host.end()
        if self._place.log.exists():
            os.write(2, read_prefix(self._place.log))
        if not greeted:
            raise ExtensionError(f"{self._manifest.name} did not say hello")
        return 0 if took is not None else 1

    async def _serve(self, host: ScriptedHost, dev: DevHost) -> None:
        typed = StdinLines(host)
        while line := await typed.line():
            if line.strip() and (problem := dev.type(line.strip())):
                print_notice(problem)
            await host.settle()
        await host.until(lambda: not any(q.is_open for q in host.transcript.questions.values()), limits.TOOL_REPLY)
        await host.settle()


class StdinLines:
    """Lines of stdin, read in a daemon thread, so that a dead extension or Ctrl+C ends the run at once."""

    def __init__(self, host: ScriptedHost) -> None:
        self._host = host
        self._lines: deque[str] = deque()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True).start()

    async def line(self) -> str:
        """Empty at the end of stdin, or after the extension ended."""
        await self._host.until(lambda: bool(self._lines), None)
        return self._lines.popleft() if self._lines else ""

    def _read(self) -> None:
        line = "-"
        while line:
            line = sys.stdin.readline()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._add, line)

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._host.wake()


def read_typed(typed: str) -> Frame:
    """``/name args`` is a command, ``name {json}`` a tool call, ``{…}`` a frame as typed; BadFrame with the reason."""
    if typed.startswith("{"):
        return decode_host(typed.encode())
    name, _, rest = typed.partition(" ")
    if name.startswith("/"):
        return CommandInvoked(id=new_id(""), name=name[1:], args=rest.strip())
    try:
        args = msgspec.json.decode(rest.encode() or b"{}", type=dict[str, object])
    except msgspec.MsgspecError as error:
        raise BadFrame(f"write /command args, tool {{json}} or a whole frame ({error})") from error
    return ToolCall(id=new_id(""), name=name, args=args)
