"""Traces, recordings and replays of extensions of the second edition, on real runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Say

PROGRAM = """
from zot.ext import Context, Extension, Unavailable, line

ext = Extension("asks", "1.0.0")


@ext.tool("count")
def count(number: int, ctx: Context) -> str:
    "Counts."
    model = ctx.model()["model"]
    try:
        again = ctx.confirm("Again?")
    except Unavailable:
        again = False
    ctx.progress("half", 0.5)
    ext.status("count", line("at ", (str(number), "accent")))
    ext.appended = ctx.append_entry("counted", {"number": number})
    return f"{number} with {model}, again: {again}"


ext.run()
"""


def write(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "main.py").write_text(PROGRAM)
    manifest = {"name": "asks", "exec": sys.executable, "args": ["main.py"], "uses": ["ui", "dialogs"]}
    (directory / "extension.json").write_text(json.dumps(manifest))
    return directory


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run in which the model calls the tool once; `run.jsonl`, `trace.jsonl` and the extension."""
    place = tmp_path_factory.mktemp("recorded")
    extension = write(place / "asks")
    files = ["--record", str(place / "run.jsonl"), "--ext-trace", str(place / "trace.jsonl")]
    with FakeModelServer([CallTools([("count", {"number": 3})]), Say("Counted.")]) as server:
        zot = Zot(place, place, server.url, {})
        ran = zot("-p", "--ext", str(extension), *files, "go")
    assert (ran.code, ran.out) == (0, "Counted.\n"), ran.err
    return place


@pytest.mark.parametrize("file", ["run.jsonl", "trace.jsonl"])
def test_trace_and_recording_carry_the_frames(zot: Zot, recorded: Path, file: str) -> None:
    """ext2-171: requests with their method, responses with their latency, progress and contributions."""
    shown = zot("ext", "trace", str(recorded / file), model=False).out
    for expected in (
        "asks ← request #r1 model.get",
        "asks → response #r1",
        "asks ← request #r2 ui.ask",
        '{"error":{"code":"unavailable"',
        "asks ← progress #",
        "asks ← contribute status count",
        " session.append ",
    ):
        assert expected in shown
    [answer] = [line for line in shown.splitlines() if "→ response #r1" in line]
    assert " after " in answer


@pytest.mark.parametrize("file", ["run.jsonl", "trace.jsonl"])
def test_a_replay_answers_requests_from_the_recording(zot: Zot, recorded: Path, file: str) -> None:
    """ext2-171: without a model, a session or a user."""
    ran = zot("ext", "replay", str(recorded / file), str(recorded / "asks"), model=False)
    assert ran.code == 0, ran.out
    assert ran.out.startswith("no difference: ")


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ('ctx.confirm("Again?")', 'ctx.confirm("Once more?")', "request r2 at .params.title"),
        ('ctx.progress("half", 0.5)', 'ctx.progress("half", 0.4)', "progress "),
        ('("counted", {"number": number})', '("counted", {"number": 0})', "request r3 at .params.data.number"),
        ("    model = ctx.model()", "    ctx.models()\n    model = ctx.model()", "request "),
    ],
)
def test_a_changed_frame_is_the_difference(
    zot: Zot, recorded: Path, tmp_path: Path, before: str, after: str, difference: str
) -> None:
    """ext2-171"""
    extension = write(tmp_path / "asks")
    text = PROGRAM.replace(before, after)
    assert text != PROGRAM
    (extension / "main.py").write_text(text)
    ran = zot("ext", "replay", str(recorded / "run.jsonl"), str(extension), "--timeout", "2", model=False)
    assert ran.code == 1, ran.out
    assert difference in ran.out.splitlines()[0]


def test_a_replay_follows_other_ids(zot: Zot, recorded: Path, tmp_path: Path) -> None:
    """ext2-171: an extension chooses the ids of its requests."""
    text = (recorded / "run.jsonl").read_text()
    other = tmp_path / "other.jsonl"
    other.write_text(text.replace('"id":"r1"', '"id":"first"').replace('"id":"r2"', '"id":"second"'))
    ran = zot("ext", "replay", str(other), str(recorded / "asks"), model=False)
    assert ran.code == 0, ran.out


def test_a_live_trace_plays_a_zot_of_the_second_edition(zot: Zot, recorded: Path) -> None:
    """ext2-171: its requests are answered, dialogs with the first choice."""
    traced: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = zot.start("ext", "trace", str(recorded / "asks"), **traced)
    shown = process.communicate(b'count {"number": 4}\n', timeout=60)[0].decode()
    assert "ui.ask" in shown and '"source":"person"' in shown
    assert "4 with claude-sonnet-5-5, again: True" in shown
