"""``zot report``: a session, or a recording, as one redacted file for a bug report. Nothing is sent anywhere."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

from zot import __version__
from zot.agent.build import working_directory
from zot.cli.arguments import Arguments, parse
from zot.cli.output import show_path, tell
from zot.cli.verb_table import options
from zot.core.session.fork import write_numbered
from zot.core.session.store import SessionStore, find_session
from zot.core.session.summary import summarise
from zot.devkit.report import about_this_machine, counts, of_recording, of_session, report_lines
from zot.errors import SessionError, UsageError
from zot.features.export.export import redaction
from zot.features.recording.reader import read_recording
from zot.system.files import zot_home
from zot.system.plural import counted

SUFFIX = ".zotrec"


def run(argv: list[str]) -> int:
    typed = parse(argv, options("report"), most=1)
    home, cwd = zot_home(), working_directory(typed.values.get("--cwd", ""))
    about = about_this_machine(home, cwd)
    if named := typed.values.get("--recording"):
        if typed.words:
            raise UsageError("--recording and a SESSION: one of them")
        recording = read_recording(os.path.abspath(os.path.expanduser(named)))
        if recording.damage:
            tell(f"{named}: {recording.damage}")
        where, records = str(recording.header.get("cwd", cwd)), list(of_recording(recording, about))
        what = "the recording"
    else:
        path = _session(SessionStore(home, cwd, __version__), typed.word(0))
        summary = summarise(path)
        if summary is None:
            raise SessionError(f"{path} is not a session: its first row is not a `meta` row")
        where, records = summary.cwd, list(of_session(path, summary, about))
        what = f'the session "{summary.label}"'
    written = write_numbered(_target(typed), SUFFIX, report_lines(records, redaction(home, where)))
    prompts, calls = counts(records)
    show_path(written)
    tell(f"In it: {what} ({counted(prompts, 'prompt')}, {counted(calls, 'tool call')}), the settings you changed, and")
    tell("what `zot doctor` says. Keys, addresses of people and paths that zot recognises are replaced; it cannot know")
    tell("every secret, so look through it before you give it to somebody. Nothing was sent.")
    tell(f"  zot replay --fast {shlex.quote(str(written))}    shows it; any editor shows every line")
    return 0


def _session(store: SessionStore, text: str | None) -> Path:
    if text is not None:
        return find_session(store, text)
    if (newest := store.newest()) is None:
        raise SessionError(f"no sessions in {store.cwd}; name one, or record a run with --record and use --recording")
    return newest


def _target(typed: Arguments) -> Path:
    named = typed.values.get("--out", f"zot-report-{time.strftime('%Y%m%d-%H%M%S')}{SUFFIX}")
    path = Path(os.path.abspath(os.path.expanduser(named)))
    return path if path.name.endswith(SUFFIX) else path.with_name(path.name + SUFFIX)
