"""A missing extension, tool or session named by a flag is an error in every mode, with its name and the fix. The exit
code is 1 for `--session`, `--cwd` and `--provider`, otherwise 2.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import FakeModelServer, Say
from zot.errors import NotThere
from zot.sdk import Runtime

MODES = {
    "print": ("-p", "hi"),
    "json": ("--json", "hi"),
    "stream": ("--stream", "hi"),
    "rpc": ("rpc",),
    "interactive": (),
}
NAMED = {
    "an extension": (
        ("--ext", "./typo"),
        2,
        "typo: no such directory; expected the directory that contains ",
    ),
    "a neighbour of one": (("--ext", "."), 2, "project: no extension.json; expected the directory that contains"),
    "a file of one": (
        ("--ext", "main.py"),
        2,
        "main.py: is a file; expected the directory that contains extension.json",
    ),
    "a broken one": (("-e", "broken"), 2, "extension.json: "),
    "a tool": (("--tools", "read,reed"), 2, "no tool named reed; available: agent, ask_user, bash, "),
    "a theme": (
        ("--theme", "nope"),
        2,
        "--theme nope: no such theme; use one of auto, dark, light, catppuccin, ",
    ),
    "a session": (
        ("--session", "nope.jsonl"),
        1,
        "cannot open session nope.jsonl: No such file or directory; list sessions with `zot sess",
    ),
    "a directory": (("--cwd", "nope"), 1, '--cwd "nope": not a directory'),
    "a provider": (("--provider", "nope"), 1, 'unknown provider "nope"; known providers: anthropic, '),
    "a trace": (("--ext-trace", "nope/x"), 1, "nope/x: No such file or directory"),
    "a recording": (("--record", "nope/x"), 1, "nope/x: No such file or directory"),
}


@pytest.fixture
def place(zot: Zot, serve: Any) -> FakeModelServer:
    for path, text in {"broken/extension.json": "{,", "main.py": ""}.items():
        (zot.project / path).parent.mkdir(exist_ok=True)
        (zot.project / path).write_text(text)
    (zot.home / "zot" / "themes").mkdir(parents=True)
    (zot.home / "zot" / "themes" / "own.json").write_text("{}")
    return serve([Say("ok")] * 2)


def run(zot: Zot, mode: str, *flags: str) -> Ran:
    if mode != "interactive":
        return zot(*MODES[mode], *flags)
    primary, secondary = pty.openpty()
    try:
        streams = {"stdin": secondary, "stdout": secondary, "stderr": subprocess.PIPE}
        with zot.start(*flags, **streams) as started:
            _, said = started.communicate(timeout=60)
        return Ran(started.returncode, "", said.decode())
    finally:
        os.close(primary)
        os.close(secondary)


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("mode", MODES)
def test_the_run_does_not_begin(zot: Zot, place: FakeModelServer, mode: str, named: str) -> None:
    flags, code, told = NAMED[named]
    ran = run(zot, mode, *flags)
    last = ran.err.splitlines()[-1]
    assert (ran.code, place.requests) == (code, [])
    assert ran.types == (["error", "done"] if mode == "json" else [])
    assert last.startswith("zot: ") and told in last, ran.err
    assert zot.sessions == []


def test_a_tool_that_waits_to_be_activated_is_there(zot: Zot, place: FakeModelServer, tmp_path: Path) -> None:
    own = write_extension(tmp_path, "w", 'hello(); tool("later", deferred=True); ready(); serve()')
    ran = zot("-p", "hi", "-e", str(own), "--tools", "read,later")
    assert (ran.code, ran.out) == (0, "ok\n"), ran.err


def test_a_theme_of_an_extension_is_there(zot: Zot, place: FakeModelServer) -> None:
    bundle = zot.project / "bundle"
    bundle.mkdir()
    (bundle / "extension.json").write_text('{"name": "bundle"}')
    (bundle / "theme.json").write_text('{"name": "dusk"}')
    assert zot("-p", "hi", "--theme", "dusk").code == 2
    assert zot("-p", "hi", "--theme", "dusk", "--ext", "bundle").code == 0


def test_statistics_that_cannot_be_written_are_an_error(zot: Zot, place: FakeModelServer) -> None:
    ran = zot("-p", "hi", "--stats", "nope/stats.json")
    assert ran.code == 2 and "no such directory" in ran.err and place.requests == []
    ran = zot("-p", "hi", "--stats", ".")
    assert (ran.code, ran.out) == (1, "ok\n") and "--stats .: " in ran.err


def test_bad_extension_in_settings_is_reported_and_run_continues(zot: Zot, place: FakeModelServer) -> None:
    (zot.home / "zot" / "config.json").write_text(json.dumps({"tools": ["grep", "grepp"], "theme": "nope"}))
    told = "config.json: tools: no tool named grepp; available: "
    ran = zot("-p", "hi")
    assert (ran.code, ran.out) == (0, "ok\n") and told in ran.err
    doctor = zot("doctor", model=False).out
    assert told in doctor and 'unknown theme "nope"' in doctor


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"extensions": ["/nonexist"]}, "extension /nonexist: no such directory"),
        ({"allowed_tools": ["reed"]}, "no tool named reed"),
    ],
)
async def test_an_embedded_run_does_not_begin_either(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"turns": [{"text": "ok"}]}')
    with pytest.raises(NotThere, match=told) as raised:
        async with Runtime(provider="script", script=script, home=tmp_path, **options):
            raise AssertionError("it began")
    assert "--" not in str(raised.value)
