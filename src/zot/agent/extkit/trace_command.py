"""``zot ext trace``: frames as they pass, one readable line each.

Of an extension it starts here (a path or an installed name), driven by what is typed: ``/command args``,
``tool {"arg": …}`` or a raw frame. Of a file that ``--ext-trace`` or ``--record`` wrote, at once or while it grows.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from zot.agent.cli.verb_arguments import parse
from zot.agent.extensions.loading.manifest import FILE, Manifest, read_manifest
from zot.agent.extensions.trace import TracedFrame, shown
from zot.agent.extkit.live_trace import LiveTrace, Show
from zot.agent.recording.recorder import read_frames
from zot.errors import UsageError, ZotError
from zot.tui.sanitize import one_line
from zot.wire.lines import Lines

_OPTIONS = {"--follow": True, "--json": False}
_WHAT = "a trace file, an extension's directory or its name"
_LOOK_AGAIN = 0.1


def run(argv: list[str]) -> int:
    typed = parse(
        argv, _OPTIONS, least=0 if any(word.startswith("--follow") for word in argv) else 1, most=1, what=_WHAT
    )
    show = _show_json if typed.has("--json") else _show_text
    word = typed.words[0] if typed.words else ""
    try:
        if "--follow" in typed.values:
            return _follow(Path(typed.values["--follow"]), word, show)
        if Path(word).is_file():
            for _, traced in read_frames(Path(word)):
                show(traced)
            return 0
        return _live(_extension(word), show)
    except KeyboardInterrupt:
        return 130


def _extension(word: str) -> Manifest:
    if (Path(word) / FILE).is_file():
        return read_manifest(Path(word))
    if os.sep in word:
        raise UsageError(f'"{word}" is neither an extension\'s directory nor a trace file')
    from zot.agent.cli.ext.installed import find

    manifest = find(word).manifest
    if manifest is None:
        raise ZotError(f'the manifest of "{word}" cannot be used; see `zot ext doctor`')
    return manifest


def _live(manifest: Manifest, show: Show) -> int:
    with tempfile.TemporaryDirectory(prefix="zot-trace-") as scratch:
        return asyncio.run(LiveTrace(manifest, Path(scratch), show).run())


def _follow(path: Path, name: str, show: Show) -> int:
    """Until interrupted; the file need not be there yet."""
    for line in _growing(path):
        traced = _traced(line)
        if traced is not None and name in ("", traced.extension):
            show(traced)
    return 0


def _growing(path: Path) -> Iterator[bytes]:
    """Whole lines, as they come; a file that was started over is read from its beginning."""
    lines, place = Lines(), 0
    while True:
        size = path.stat().st_size if path.exists() else 0
        if size < place:
            lines, place = Lines(), 0
        if size > place:
            with path.open("rb") as file:
                file.seek(place)
                new = file.read()
                place = file.tell()
            yield from (line for line in lines.feed(new) if line is not None)
        else:
            time.sleep(_LOOK_AGAIN)


def _traced(line: bytes) -> TracedFrame | None:
    """None for what is not a frame: the other records of a recording, or damage."""
    try:
        return msgspec.json.decode(line, type=TracedFrame)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _show_text(traced: TracedFrame) -> None:
    _write(one_line(shown(traced)))


def _show_json(traced: TracedFrame) -> None:
    _write(msgspec.json.encode(traced).decode())


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
