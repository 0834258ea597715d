"""``zot ext replay FILE PATH``: compares an extension with a recording. Exit 1 at the first difference."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, cast

import msgspec

from zot.cli.arguments import parse
from zot.cli.verb_table import options
from zot.devkit.scripted_host import RunPaths, ScriptedHost, started
from zot.devkit.trace_reader import read_frames
from zot.errors import ConfigError, ExtensionError
from zot.features.extensions.loader.manifest import Manifest, read_manifest
from zot.features.recording.frame_trace import TracedFrame
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
        place, wait = RunPaths.below(scratch), typed.seconds("--timeout", 10)
        outcome = run_loop(replay(recorded, manifest, place, wait=wait, exact=typed.has("--exact")))
    if outcome.difference is None:
        sys.stdout.write(f"no difference: {outcome.compared} frames as recorded\n")
        return 0
    parted = outcome.difference
    where = f" at {parted.at}" if parted.at else ""
    sys.stdout.write(
        f"first difference: frame {outcome.compared}, {one_line(parted.what)}{where} ({file}:{parted.line})\n"
        f"  recorded: {_shown(parted.recorded)}\n"
        f"  now:      {_shown(parted.got)}\n"
    )
    return 1


def _shown(text: str) -> str:
    line = one_line(text)
    return (line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…") or "nothing"


# Sends the host's recorded frames again, in order and only after everything the child had sent by then: so its requests
# are answered from the recording. Answers are compared by id, requests by method and parent, contributions by name, the
# rest in order. Its own ids, directories, dates and durations may differ, unless `exact`.

Recorded = tuple[int, TracedFrame]

_ANSWERS = ("command_response", "tool_result", "event_intercept_response", "response", "progress")
_OWN_IDS = ("call_tool", "request", "contribute", "withdraw")  # the child chose the id
_TO_OWN_IDS = ("tool_result", "response", "progress")  # of the host, about an id of the child
_MATCHED = {"request": ("method", "parent_id"), "contribute": ("kind", "name"), "withdraw": ("kind", "name")}
_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:\d+ )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
    r"(?: \d{1,2})?(?:,? \d{4})?"
    r"|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\b(?: ?[AaPp]\.?[Mm]\b)?"
    r"|\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|seconds|min|minutes)\b"
)
_EXTRA_WAIT = 0.3  # seconds to wait for unrecorded frames


class FrameDifference(msgspec.Struct, frozen=True):
    """``line`` is the recording's; ``at`` the key that differs; an empty text means no frame."""

    line: int
    what: str
    at: str
    recorded: str
    got: str


class ReplayOutcome(msgspec.Struct, frozen=True):
    compared: int
    difference: FrameDifference | None = None


def frames_of(recorded: list[Recorded], name: str) -> list[Recorded]:
    """The frames of an extension's first process; ConfigError if there are none."""
    names = list(dict.fromkeys(frame.extension for _, frame in recorded))
    if name not in names and len(names) == 1:
        name = names[0]
    found = [item for item in recorded if item[1].extension == name]
    if not found:
        known = ", ".join(names) or "none"
        raise ConfigError(f'the recording has no frames of an extension "{name}" (it has: {known})')
    starts = [
        place for place, (_, frame) in enumerate(found) if str((_fields(frame.line) or {}).get("type", "")) == "hello"
    ]
    return found[: starts[1]] if len(starts) > 1 else found


async def replay(
    recorded: list[Recorded], manifest: Manifest, place: RunPaths, *, wait: float = 10.0, exact: bool = False
) -> ReplayOutcome:
    """``wait`` is the time limit for a recorded frame."""
    async with started(manifest, place, "replay") as host:
        player = _Player(host, wait, exact)
        outcome = await player.play(recorded)
        await host.end()
        return outcome


class _Player:
    def __init__(self, host: ScriptedHost, wait: float, exact: bool) -> None:
        self._host = host
        self._wait = wait
        self._exact = exact
        self._unmatched: list[bytes] = []
        self._seen = 0
        self._ids: dict[str, str] = {}  # ids of the child: recorded -> now
        self._paths: dict[str, str] = {}  # recorded -> now

    async def play(self, recorded: list[Recorded]) -> ReplayOutcome:
        compared = 0
        for number, traced in recorded:
            if traced.direction == "out":
                self._send(traced.line)
                continue
            compared += 1
            if difference := await self._expect(number, traced.line):
                return ReplayOutcome(compared, difference)
        await self._host.until(lambda: len(self._host.transcript.received) > self._seen, _EXTRA_WAIT)
        self._collect()
        if not self._unmatched:
            return ReplayOutcome(compared, None)
        extra = self._unmatched[0]
        what = f"after the end: {_name(extra)}"
        return ReplayOutcome(compared, FrameDifference(recorded[-1][0], what, "", "", _text(extra)))

    # --- the host's side

    def _send(self, line: bytes) -> None:
        frame = _fields(line)
        if frame is None:
            return
        match frame.get("type"):
            case "hello_ack":
                here = {"cwd": self._host.place.cwd, "extension_dir": self._host.manifest.directory}
                here["data_dir"] = self._host.place.data
                self._paths = {str(frame[key]): str(now) for key, now in here.items() if frame.get(key)}
                self._send_fields({**frame, **{key: str(now) for key, now in here.items() if key in frame}})
            case kind if kind in _TO_OWN_IDS:
                self._send_fields({**frame, "id": self._ids.get(str(frame.get("id")), frame.get("id"))})
            case "shutdown":
                self._host.send_bytes(line + b"\n")
                self._host.close_stdin()
            case _:
                self._host.send_bytes(line + b"\n")

    def _send_fields(self, frame: dict[str, Any]) -> None:
        self._host.send_bytes(msgspec.json.encode(frame) + b"\n")

    # --- the child's side

    async def _expect(self, number: int, line: bytes) -> FrameDifference | None:
        got: list[bytes] = []

        def came() -> bool:
            self._collect()
            if not got:
                got.extend(self._take(line))
            return bool(got)

        if not await self._host.until(came, self._wait):
            return FrameDifference(number, _name(line), "", _text(line), "")
        return self._compare(number, line, got[0])

    def _collect(self) -> None:
        received = self._host.transcript.received
        self._unmatched += [each.data for each in received[self._seen :]]
        self._seen = len(received)

    def _take(self, line: bytes) -> list[bytes]:
        """The line that corresponds to a recorded one, or None."""
        key = _key(line)
        for place, candidate in enumerate(self._unmatched):
            if _key(candidate) == key:
                return [self._unmatched.pop(place)]
        return []

    def _compare(self, number: int, line: bytes, got: bytes) -> FrameDifference | None:
        then, now = _fields(line), _fields(got)
        if then is None or now is None:
            return None if line == got else FrameDifference(number, _name(line), "", _text(line), _text(got))
        if then.get("type") in _OWN_IDS:
            self._ids[str(then.get("id"))] = str(now.get("id"))
            then, now = {**then, "id": ""}, {**now, "id": ""}
        elif then.get("type") == "cancel":  # of one of its own requests
            then = {**then, "id": self._ids.get(str(then.get("id")), then.get("id"))}
        parted = self._parting(then, now, "")
        return None if parted is None else FrameDifference(number, _name(line), *parted)

    def _parting(self, then: Any, now: Any, at: str) -> tuple[str, str, str] | None:
        """The first key that differs, and both values."""
        if isinstance(then, dict) and isinstance(now, dict):
            old, new = cast("dict[str, Any]", then), cast("dict[str, Any]", now)
            for key in dict.fromkeys((*old, *new)):
                if parted := self._parting(old.get(key), new.get(key), f"{at}.{key}"):
                    return parted
            return None
        if isinstance(then, list) and isinstance(now, list):
            items, others = cast("list[Any]", then), cast("list[Any]", now)
            for place in range(max(len(items), len(others))):
                if parted := self._parting(_item(items, place), _item(others, place), f"{at}[{place}]"):
                    return parted
            return None
        same = self._plain(then) == self._plain(now)
        return None if same else (at, _json(then), _json(now))

    def _plain(self, value: Any) -> Any:
        if not isinstance(value, str) or self._exact:
            return value
        for before, now in self._paths.items():
            value = value.replace(now, before)
        return _TIMES.sub("⏱", value)


def _item(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def _fields(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _key(line: bytes) -> tuple[str, str]:
    """Answers are matched by id, requests and contributions by what they name, everything else by order."""
    frame = _fields(line) or {}
    kind = str(frame.get("type"))
    if named := _MATCHED.get(kind):
        return kind, " ".join(str(frame.get(key, "")) for key in named)
    return (kind, str(frame.get("id"))) if kind in _ANSWERS else ("", "")


def _name(line: bytes) -> str:
    frame = _fields(line)
    if frame is None:
        return "a line that is not a frame"
    return " ".join(str(frame[key]) for key in ("type", "id") if frame.get(key))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
