"""``zot ext trace``: frames as they pass, one readable line each.

Of an extension it starts here (a path or an installed name), driven by what is typed: ``/command args``,
``tool {"arg": …}`` or a raw frame. Of a file that ``--ext-trace`` or ``--record`` wrote, at once or while it grows.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import msgspec

from zot.agent.cli.verb_arguments import parse
from zot.agent.extensions.loading.manifest import FILE, Manifest, read_manifest
from zot.agent.extkit.live_trace import LiveTrace
from zot.agent.extkit.trace_reading import follow_frames, read_frames, summary_of
from zot.agent.recording.frame_trace import TracedFrame
from zot.errors import UsageError, ZotError
from zot.tui.sanitize import one_line

_OPTIONS = {"--follow": True, "--json": False}
_WHAT = "a trace file, an extension's directory or its name"


def run(argv: list[str]) -> int:
    follows = any(word.startswith("--follow") for word in argv)
    typed = parse(argv, _OPTIONS, least=0 if follows else 1, most=1, what=_WHAT)
    show = _show_json if typed.has("--json") else _show_text
    word = typed.words[0] if typed.words else ""
    try:
        if "--follow" in typed.values:  # until interrupted; the file need not be there yet
            for traced in follow_frames(Path(typed.values["--follow"])):
                if word in ("", traced.extension):
                    show(traced)
        elif Path(word).is_file():
            for _, traced in read_frames(Path(word)):
                show(traced)
        else:
            manifest = _extension(word)
            with tempfile.TemporaryDirectory(prefix="zot-trace-") as scratch:
                return asyncio.run(LiveTrace(manifest, Path(scratch), show).run())
        return 0
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


def _show_text(traced: TracedFrame) -> None:
    _write(one_line(summary_of(traced)))


def _show_json(traced: TracedFrame) -> None:
    _write(msgspec.json.encode(traced).decode())


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
