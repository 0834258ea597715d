"""``zot replay FILE``: shows a recorded run, or with ``--verify`` runs it again and compares."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from zot.cli.arguments import ParsedArguments, parse
from zot.cli.verb_table import options
from zot.errors import UsageError
from zot.features.recording.reader import Recording, read_recording
from zot.frontends.console import print_notice, run_loop
from zot.system.visible_text import pluralize
from zot.tui.sanitize import one_line

if TYPE_CHECKING:
    from zot.system.jail.jail import Jail

_SHOWN = 1000
_FASTEST = 1000.0


def run(argv: list[str]) -> int:
    typed = parse(argv, options("replay"), least=1, most=2, what="FILE, a recording,")
    verify, script = typed.has("--verify"), typed.has("--to-script")
    if script != (len(typed.words) == 2):
        raise UsageError("--to-script needs a file to write" if script else f'unexpected argument "{typed.words[1]}"')
    if typed.has("--live-tools", "--live-extensions") and not verify:
        raise UsageError("--live-tools and --live-extensions need --verify")
    if (verify or script) and typed.has("--speed", "--fast", "--step"):
        raise UsageError("--speed, --fast and --step cannot be combined with --verify or --to-script")
    if verify and script:
        raise UsageError("--verify and --to-script cannot be combined")
    path = Path(os.path.abspath(os.path.expanduser(typed.words[0])))
    recording = read_recording(path)
    if typed.has("--to-script"):
        out = typed.words[1]
        import msgspec

        from zot.provider.recording_script import read_answers
        from zot.system.safe_open import create

        script = read_answers(Path(recording.path))
        try:
            with os.fdopen(create(os.path.expanduser(out)), "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(script), indent=1) + b"\n")
        except OSError as error:
            raise UsageError(f"{out}: {error.strerror or error}") from error
        print_notice(
            f"{out}: {pluralize(len(script.turns), 'answer')}; to play it: zot --provider script --script {out}"
        )
        return 0
    return _verify(recording, typed) if typed.has("--verify") else _show(recording, typed)


# --- show


def _show(recording: Recording, typed: ParsedArguments) -> int:
    from zot.devkit.replay.player import show

    if recording.damage:
        print_notice(f"{recording.path}: {recording.damage}; the output may be wrong")
    speed = 0.0 if typed.has("--fast", "--step") else _speed(typed.values.get("--speed"))
    unknown = show(recording, speed, _step if typed.has("--step") else None)
    if unknown:
        made = "is invalid and was" if unknown == 1 else "are invalid and were"
        print_notice(f"{recording.path}: {pluralize(unknown, 'line')} {made} skipped")
    return 1 if recording.damage else 0


def _speed(text: str | None) -> float:
    try:
        speed = 1.0 if text is None else float(text.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0 < speed <= _FASTEST:
        raise UsageError(f'--speed "{text}": expected a number above 0, such as 2')
    return speed


def _step() -> bool:
    """Enter continues; q, or the end of input, quits."""
    return (line := sys.stdin.readline()) != "" and line.strip().lower() != "q"


# --- verify


def _verify(recording: Recording, typed: ParsedArguments) -> int:
    from zot.devkit.replay.verify import Live, verify
    from zot.system.temp_files import scratch_directory

    if recording.damage:
        print_notice(f"{recording.path}: {recording.damage}; it cannot be verified")
        return 1
    live = Live(
        tools=typed.has("--live-tools"),
        extensions=typed.has("--live-extensions"),
        cwd=Path.cwd(),
        named=tuple(os.path.realpath(os.path.expanduser(path)) for path in typed.all("--ext")),
        jail=_jail(typed) if typed.has("--live-tools", "--live-extensions") else None,
    )
    if live.tools:
        where = f"{live.cwd}, {live.jail.label}" if live.jail is not None else f"{live.cwd}, without a jail"
        print_notice(f"--live-tools: running the recorded calls for real in {where}")
    try:
        with scratch_directory("verify") as scratch:
            verified = run_loop(verify(recording, scratch, live))
    finally:
        if live.jail is not None:
            live.jail.close()
    difference = verified.difference
    if difference is not None:
        at = f" at {one_line(difference.at)}" if difference.at else ""
        sys.stdout.write(
            f"first difference: {one_line(difference.what)}{at} ({recording.path}:{difference.line})\n"
            f"  recorded: {_cut(difference.recorded)}\n"
            f"  now:      {_cut(difference.got)}\n"
        )
        return 1
    until = "" if recording.ended else "; the recording is incomplete and ends there"
    sys.stdout.write(f"no difference: {pluralize(verified.compared, 'line')} as recorded{until}\n")
    return 0 if recording.ended else 1


def _jail(typed: ParsedArguments) -> Jail | None:
    """A recording is a file of unknown origin: what it runs for real has the limits of the user's own runs."""
    from zot.agent.settings import Settings
    from zot.system.files import zot_home

    home = zot_home()
    values = Settings(home).values
    if typed.has("--live-tools") and values.permission_mode not in ("", "everything"):
        raise UsageError(
            f"cannot run recorded calls: the setting permission_mode is {values.permission_mode}, and no user approves"
        )
    if not (values.jail_by_default or typed.has("--jail")):
        return None
    from zot.features.jail.feature import JailOptions, confine

    return confine(Path.cwd(), home, JailOptions(False, (), tuple(values.jail_roots), "reduced"))


def _cut(text: str) -> str:
    line = one_line(text)
    return (line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…") or "nothing"


# --- a script
