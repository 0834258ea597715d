"""``zot ext trace``: prints frames, one line each, of a live extension or of a trace or recording."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from zot.cli.arguments import parse
from zot.cli.output import print_notice
from zot.cli.verb_table import options
from zot.devkit.trace_reader import LiveTrace, follow_frames, read_frames, summary_of
from zot.errors import UsageError, ZotError
from zot.features.extensions.install.installed import Installed, all_installed, find
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.extensions.loader.manifest import FILE, Manifest, read_manifest
from zot.features.recording.frame_trace import TracedFrame
from zot.frontends.console import run_loop
from zot.system.files import zot_home
from zot.system.temp_files import scratch_directory
from zot.tui.sanitize import exact_line

_WHAT = "a trace file, an extension's directory or its name"


def run(argv: list[str]) -> int:
    follows = any(word.startswith("--follow") for word in argv)
    typed = parse(argv, options("ext trace"), least=0 if follows else 1, most=1, what=_WHAT)
    show = _show_json if typed.has("--json") else _show_text
    word = typed.words[0] if typed.words else ""
    try:
        if "--follow" in typed.values:  # until interrupted; the file may not exist yet
            for traced in follow_frames(Path(typed.values["--follow"])):
                if word in ("", traced.extension):
                    show(traced)
        elif Path(word).is_file():
            for _, traced in read_frames(Path(word)):
                show(traced)
        else:
            manifest = _extension(word)
            with scratch_directory("trace") as scratch:
                return run_loop(LiveTrace(manifest, scratch, show).run())
        return 0
    except KeyboardInterrupt:
        return 130


def _extension(word: str) -> Manifest:
    """A name is an installed extension; a path, or any other word, a directory."""
    if os.sep not in word and (found := [item for item in all_installed() if word in (item.name, item.directory.name)]):
        return _installed(find(word, print_notice) if len(found) > 1 else found[0])
    if (Path(word) / FILE).is_file():
        return read_manifest(Path(word))
    if os.sep in word:
        raise UsageError(f'"{word}" is neither an extension\'s directory nor a trace file')
    return _installed(find(word, print_notice))


def _installed(item: Installed) -> Manifest:
    """A project's extension runs only as trusted."""
    if item.scope == "project":
        store = ExtensionTrust(zot_home())
        if not store.is_trusted(item.directory):
            raise ZotError(
                f"{item.directory} has changed since you trusted it; review it, then run"
                f" `zot ext trust {item.directory}`, or trace it by its path"
            )
        return read_manifest(store.trusted_path(item.directory))
    if item.manifest is None:
        raise ZotError(f'the manifest of "{item.name}" cannot be used; see `zot ext doctor`')
    return item.manifest


def _show_text(traced: TracedFrame) -> None:
    """The summary is one line of JSON; whitespace is not collapsed."""
    _write(exact_line(summary_of(traced)))


def _show_json(traced: TracedFrame) -> None:
    _write(msgspec.json.encode(traced).decode())


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
