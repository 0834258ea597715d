"""``zot report``: a session, or a recording, as one redacted file for a bug report. Nothing is sent anywhere."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import msgspec

from zot import __version__
from zot.agent.build import working_directory
from zot.agent.settings import Settings, SettingsValues
from zot.cli.arguments import parse
from zot.cli.output import print_notice, show_path
from zot.cli.verb_table import options
from zot.core import events
from zot.core.session.fork import write_numbered
from zot.core.session.records import MessageRow, message_of
from zot.core.session.session_file import read_lines
from zot.core.session.store import SessionStore, find_session
from zot.core.session.summary import Summary, summarise
from zot.errors import SessionError, UsageError
from zot.features.export.redaction import Redaction, redaction
from zot.features.recording.feature import versions
from zot.features.recording.journal_file import encoded, plain
from zot.features.recording.reader import Recording, read_recording
from zot.frontends.doctor_report import report as doctor_report
from zot.provider.messages import Message
from zot.system.checksummed_lines import RECORDING_FORMAT, add_checksum
from zot.system.files import zot_home
from zot.system.safe_open import open_buffered
from zot.system.visible_text import pluralize

SUFFIX = ".zotrec"


def run(argv: list[str]) -> int:
    typed = parse(argv, options("report"), most=1)
    home, cwd = zot_home(), working_directory(typed.values.get("--cwd", ""))
    about = about_this_machine(home, cwd)
    if named := typed.values.get("--recording"):
        if typed.words:
            raise UsageError("--recording and SESSION cannot be combined")
        recording = read_recording(os.path.abspath(os.path.expanduser(named)))
        if recording.damage:
            print_notice(f"{named}: {recording.damage}")
        where, records = str(recording.header.get("cwd", cwd)), list(of_recording(recording, about))
        what = "the recording"
    else:
        store = SessionStore(home, cwd, __version__)
        text = typed.word(0)
        if text is not None:
            path = find_session(store, text)
        elif (path := store.newest()) is None:
            raise SessionError(
                f"no sessions in {store.cwd}; name one, or record a run with --record and use --recording"
            )
        summary = summarise(path)
        if summary is None:
            raise SessionError(f"{path} is not a session: its first row is not a `meta` row")
        where, records = summary.cwd, list(of_session(path, summary, about))
        what = f'the session "{summary.label}"'
    named = typed.values.get("--out", f"zot-report-{time.strftime('%Y%m%d-%H%M%S')}{SUFFIX}")
    path = Path(os.path.abspath(os.path.expanduser(named)))
    if not path.name.endswith(SUFFIX):
        path = path.with_name(path.name + SUFFIX)
    written = write_numbered(path, SUFFIX, report_lines(records, redaction(home, where)))
    prompts, calls = counts(records)
    show_path(written)
    size = f"{pluralize(prompts, 'prompt')}, {pluralize(calls, 'tool call')}"
    print_notice(f"In it: {what} ({size}), the settings you changed, and")
    print_notice(
        "what `zot doctor` says. Keys, addresses of people and paths that zot recognises are replaced; it cannot know"
    )
    print_notice("every secret, so read it before you share it. Nothing was sent.")
    print_notice(f"  zot replay --fast {shlex.quote(str(written))}    shows it; any editor shows every line")
    return 0


# The bundle: a conversation as a redacted recording, and the environment. One made from a session can be shown and
# its answers played; one made from a recording can also be verified.

_Record = tuple[str, float, dict[str, Any]]  # type, time and fields of a line
_SEALS = ("type", "t", "sum")


def report_lines(records: Iterable[_Record], redaction: Redaction) -> Iterator[bytes]:
    """The file, line by line."""
    before = ""
    for type, t, fields in records:
        line, before = add_checksum(redaction.row(encoded(type, t, fields)).rstrip(b"\n"), before)
        yield line + b"\n"


def of_recording(recording: Recording, about: dict[str, Any]) -> Iterator[_Record]:
    """Its lines, with the description of this machine after the header."""
    pieces = _Pieces(recording)
    for line in recording.lines:
        fields = {name: value for name, value in line.fields.items() if name not in _SEALS}
        if line.type == "stream":
            yield line.type, line.t, pieces.joined(fields)
        elif line.type == "header":
            yield line.type, line.t, {**fields, "report": True}
            yield "about", line.t, about
        else:
            yield line.type, line.t, fields


class _Pieces:
    """Joins streamed pieces into the first, since a secret split over two is not recognised."""

    def __init__(self, recording: Recording) -> None:
        self._whole: dict[tuple[Any, ...], list[str]] = {}
        for line in recording.lines:
            if line.type == "stream" and (found := _piece(line.fields)) is not None:
                self._whole.setdefault(found[0], []).append(found[1])

    def joined(self, fields: dict[str, Any]) -> dict[str, Any]:
        found = _piece(fields)
        if found is None:
            return fields
        name = "delta" if fields["kind"] == "ToolArgs" else "text"
        return {**fields, "value": {**fields["value"], name: "".join(self._whole.pop(found[0], ()))}}


def _piece(fields: dict[str, Any]) -> tuple[tuple[Any, ...], str] | None:
    """The text stream a line adds to, and the text."""
    value, kind = fields.get("value"), fields.get("kind")
    if not isinstance(value, dict) or kind not in ("TextDelta", "ThinkingDelta", "ToolArgs"):
        return None
    content = cast("dict[str, Any]", value)
    return (fields.get("n"), kind, str(content.get("id", ""))), str(
        content.get("delta" if kind == "ToolArgs" else "text", "")
    )


def of_session(path: Path, summary: Summary, about: dict[str, Any]) -> Iterator[_Record]:
    """Its messages as lines of a recording."""
    try:
        with open_buffered(path) as file:
            rows = [line.row for line in read_lines(file)]
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    found = (message_of(row.message) for row in rows if isinstance(row, MessageRow))
    messages = [message for message in found if message is not None]
    if not messages:
        raise SessionError(f"{path}: no messages to report")
    began = _seconds(messages[0].time) if messages else time.time()
    clock = {"wall": began, "zone": time.strftime("%z")}
    yield "header", 0.0, {"format": RECORDING_FORMAT, **versions(), "report": True, "cwd": summary.cwd, "clock": clock}
    yield "about", 0.0, about
    number, t = 0, 0.0
    for message in messages:
        number += message.role == "assistant"
        t = max(t, _seconds(message.time) - began)
        yield from ((type, t, fields) for type, fields in _lines_of(message, number))
    yield "end", t, {}


def about_this_machine(home: Path, cwd: Path) -> dict[str, Any]:
    """Versions, changed settings and the output of ``zot doctor``."""
    found = doctor_report(home, cwd)
    doctor = [*found.lines, *(item.line for item in found.extensions), *found.notes]
    values: dict[str, Any] = msgspec.to_builtins(Settings(home).values, enc_hook=plain)
    default: dict[str, Any] = msgspec.to_builtins(SettingsValues(), enc_hook=plain)
    return {
        **versions(),
        "settings": {name: value for name, value in values.items() if value != default.get(name)},
        "doctor": doctor,
        "problems": found.problems,
    }


def counts(records: Iterable[_Record]) -> tuple[int, int]:
    """The number of prompts and calls."""
    prompts = calls = 0
    for type, _, fields in records:
        prompts += type == "input" and fields.get("what") == "prompt"
        calls += type == "tool"
    return prompts, calls


def _lines_of(message: Message, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    match message.role:
        case "user":
            yield "input", {"what": "prompt", "text": message.text()}
            yield "event", {"event": events.UserMessage(message)}
        case "assistant":
            calls = message.tool_calls()
            yield "request", {"n": number, "shared": 0, "messages": []}
            yield "stream", {"n": number, "kind": "TextDelta", "value": {"text": message.shown_text()}}
            stop = "tool_use" if calls else "end"
            value = {"stop": stop, "message": message, "error": None}
            yield "stream", {"n": number, "kind": "Finished", "value": value}
            yield "event", {"event": events.AssistantMessage(message)}
            for call in calls:
                yield "event", {"event": events.ToolCall(call)}
            for call in calls:
                yield "tool", {"id": call.id, "name": call.name, "arguments": call.arguments}
            yield "event", {"event": events.TurnEnd(stop)}
        case "tool":
            for result in message.tool_results():
                event = events.ToolResultEvent(result.call_id, result.is_error, result.content)
                yield (
                    "result",
                    {"id": result.call_id, "result": {"content": result.content, "is_error": event.is_error}},
                )
                yield "event", {"event": event}


def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
