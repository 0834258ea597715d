"""``zot ext replay FILE PATH``: does the extension still say what it said? Exit 1 at the first difference."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from zot.agent.cli.verb_arguments import parse
from zot.agent.extensions.loading.manifest import Manifest, read_manifest
from zot.agent.extkit.replay import Difference, default_place, frames_of, replay
from zot.agent.recording.recorder import read_frames
from zot.errors import ExtensionError, UsageError
from zot.tui.sanitize import one_line

_OPTIONS = {"--extension": True, "--timeout": True, "--exact": False}
_SHOWN = 1000


def _manifest(directory: Path) -> Manifest:
    try:
        return read_manifest(directory)
    except ExtensionError as error:
        raise ExtensionError(f"{directory} is not an extension: {error}") from error


def run(argv: list[str]) -> int:
    typed = parse(argv, _OPTIONS, least=2, most=2, what="the recording or the extension's directory")
    file, directory = (Path(os.path.abspath(os.path.expanduser(word))) for word in typed.words)
    manifest = _manifest(directory)
    recorded = frames_of(list(read_frames(file)), typed.values.get("--extension", manifest.name))
    with tempfile.TemporaryDirectory(prefix="zot-replay-") as scratch:
        playing = replay(
            recorded,
            manifest,
            default_place(Path(scratch)),
            wait=_seconds(typed.values.get("--timeout", "10")),
            exact=typed.has("--exact"),
        )
        outcome = asyncio.run(playing)
    if outcome.difference is None:
        sys.stdout.write(f"no difference: {outcome.compared} frames as recorded\n")
        return 0
    sys.stdout.write("".join(f"{line}\n" for line in _lines(file, outcome.compared, outcome.difference)))
    return 1


def _lines(file: Path, number: int, difference: Difference) -> list[str]:
    at = f" at {difference.at}" if difference.at else ""
    return [
        f"first difference: frame {number}, {one_line(difference.what)}{at} ({file}:{difference.line})",
        f"  recorded: {_shown(difference.recorded)}",
        f"  now:      {_shown(difference.got)}",
    ]


def _shown(text: str) -> str:
    line = one_line(text)
    return (line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…") or "nothing"


def _seconds(typed: str) -> float:
    try:
        seconds = float(typed)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(f'--timeout "{typed}": expected seconds above 0')
    return seconds
