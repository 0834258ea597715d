"""An extension started by hand: its frames are shown as they pass, and lines from stdin become frames.

State it keeps goes to a scratch directory. At the end of stdin open questions are waited for, then it is shut down.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.devkit.conformance.extension_run import new_id
from zot.devkit.conformance.frame_transcript import Asking, Line, kind_of
from zot.devkit.scripted_host import Place, ScriptHost, started
from zot.errors import BadFrame, ExtensionError
from zot.features.extensions.loader.manifest import Manifest
from zot.features.recording.frame_trace import FrameLog, TracedFrame
from zot.frontends.console import say
from zot.system.safe_open import read_beginning
from zot.wire import limits
from zot.wire.extension_codec import decode_host, encode
from zot.wire.extension_frames import CommandInvoked, Frame, ToolCall

Show = Callable[[TracedFrame], None]


class LiveTrace:
    def __init__(self, manifest: Manifest, scratch: Path, show: Show) -> None:
        self._manifest = manifest
        self._place = Place(Path.cwd(), scratch, scratch / "stderr")
        self._show = show
        self._log = FrameLog()

    async def run(self) -> int:
        """The exit status: 1 when it did not start, or did not end when asked."""
        async with started(self._manifest, self._place, "trace") as host:
            host.listeners.append(lambda line: self._passed(host, line))
            greeted = await host.shake_hands(limits.HELLO_DEADLINE)
            if greeted is not None:
                await self._serve(host)
            took = await host.end()
        self._tell_log()
        if greeted is None:
            raise ExtensionError(f"{self._manifest.name} did not say hello")
        return 0 if took is not None else 1

    def _passed(self, host: ScriptHost, line: Line) -> None:
        self._show(self._log.frame(line.t - host.started, self._manifest.name, line.direction, line.data))

    async def _serve(self, host: ScriptHost) -> None:
        typed = Typed(host)
        while line := await typed.line():
            if line.strip():
                self._send(host, line.strip())
            await host.settle()
        await host.until(lambda: not any(q.is_open for q in host.transcript.questions.values()), limits.TOOL_REPLY)
        await host.settle()

    def _send(self, host: ScriptHost, typed: str) -> None:
        try:
            frame = read_typed(typed)
        except BadFrame as error:
            say(str(error))
            return
        if isinstance(frame, Asking) and kind_of(frame) is not None:
            host.note_question(frame)
        host.send_bytes(typed.encode() + b"\n" if typed.startswith("{") else encode(frame))

    def _tell_log(self) -> None:
        """What it wrote to its stderr goes to ours."""
        if self._place.log.exists():
            os.write(2, read_beginning(self._place.log))


class Typed:
    """Lines of stdin, read in a thread that may be left waiting: a dead extension or Ctrl-C ends the run at once."""

    def __init__(self, host: ScriptHost) -> None:
        self._host = host
        self._lines: deque[str] = deque()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True).start()

    async def line(self) -> str:
        """Empty at the end of stdin, or when the extension is gone."""
        await self._host.until(lambda: bool(self._lines), None)
        return self._lines.popleft() if self._lines else ""

    def _read(self) -> None:
        line = "-"
        while line:
            line = sys.stdin.readline()
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._add, line)

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._host.wake()


def read_typed(typed: str) -> Frame:
    """``/name args`` is a command, ``name {json}`` a tool call, ``{…}`` a frame as it stands; BadFrame says why not."""
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
