"""``zot ext replay FILE PATH``: does the extension still say what it said? Exit 1 at the first difference."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from zot.cli.arguments import parse
from zot.cli.verb_table import options
from zot.devkit.frame_replay import Difference, frames_of, replay
from zot.devkit.scripted_host import Place
from zot.devkit.trace_reader import read_frames
from zot.errors import ExtensionError
from zot.features.extensions.loader.manifest import read_manifest
from zot.frontends.console import run_loop
from zot.system.temp_files import scratch_directory
from zot.tui.sanitize import one_line

_SHOWN = 1000


def run(argv: list[str]) -> int:
    typed = parse(argv, options("ext replay"), least=2, most=2, what="the recording or the extension's directory")
    file, directory = (Path(os.path.abspath(os.path.expanduser(word))) for word in typed.words)
    try:
        manifest = read_manifest(directory)
    except ExtensionError as error:
        raise ExtensionError(f"{directory} is not an extension: {error}") from error
    recorded = frames_of(list(read_frames(file)), typed.values.get("--extension", manifest.name))
    with scratch_directory("replay") as scratch:
        place, wait = Place.below(scratch), typed.seconds("--timeout", 10)
        outcome = run_loop(replay(recorded, manifest, place, wait=wait, exact=typed.has("--exact")))
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
