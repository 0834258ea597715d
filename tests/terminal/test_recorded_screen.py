"""A recorded terminal run, with all user input, is shown and replayed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say, Slow
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from zot.devkit.replay.verify import Live, verify
from zot.features.recording.reader import read_recording

GUARD = Path(__file__).parents[2] / "examples" / "extensions" / "guard"
ENDLESS = Slow(Say(" ".join(f"word{n}" for n in range(2000))), 0.02)


def inputs(path: Path) -> list[str]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line.get("what", "") for line in lines if line["type"] == "input"]


def same(path: Path, scratch: Path) -> None:
    outcome = asyncio.run(verify(read_recording(path), scratch, Live()))
    assert outcome.difference is None, outcome.difference


def test_steering_queueing_stopping_and_commands_verify(
    serve: Any, open_zot: OpenZot, project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run.zotrec"
    serve(
        [
            CallTools([("bash", {"command": "until [ -e go ]; do sleep 0.05; done; echo gone on"})]),
            Say("steered"),
            Say("queued too"),
            ENDLESS,
            Say("a new beginning"),
        ]
    )
    terminal = open_zot("--record", str(path))
    terminal.submit("begin")
    terminal.wait_for("esc stops")
    terminal.type("use tabs")
    terminal.wait_for("▌ use tabs")
    terminal.press("ctrl+s")
    terminal.wait_for("steering in: use tabs")
    terminal.submit("and then")
    terminal.wait_for("sliding in: and then")
    (project / "go").touch()
    terminal.wait_for("queued too")
    terminal.submit("talk")
    terminal.wait_for("word5")
    terminal.press("esc")
    terminal.wait_gone("esc stops")
    terminal.submit("/clear")
    terminal.wait_for("a new conversation")
    terminal.submit("again")
    terminal.wait_for("a new beginning")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    seen = inputs(path)
    assert {"prompt", "steer", "queue", "abort", "messages"} <= set(seen), seen
    assert '"type":"command"' in path.read_text() and '"text":"/clear"' in path.read_text()
    same(path, tmp_path / "scratch")


def test_a_side_chat_beside_a_turn_verifies(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    path = tmp_path / "run.zotrec"
    serve([Say("first answer"), Say("an aside about love"), Say("last answer")])
    terminal = open_zot("--record", str(path))
    terminal.submit("begin")
    terminal.wait_for("first answer")
    terminal.submit("/btw what is love")
    terminal.wait_for("an aside about love")
    terminal.press("esc")
    terminal.wait_gone("an aside about love")
    terminal.submit("go on")
    terminal.wait_for("last answer")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    assert "child" in inputs(path) and '"agent":2' in path.read_text()
    same(path, tmp_path / "scratch")


def test_a_side_chat_during_a_turn_that_is_stopped_verifies(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    path = tmp_path / "run.zotrec"
    server = serve([ENDLESS, Say("an aside about love"), ENDLESS])
    terminal = open_zot("--record", str(path))
    terminal.submit("begin")
    terminal.wait_for("word5")
    terminal.submit("/btw what is love")
    terminal.wait_for("an aside about love")
    terminal.type("and hate")
    terminal.wait_for("› and hate")
    terminal.press("enter")
    terminal.wait_until(lambda: len(server.requests) == 3)
    terminal.wait_for("esc stops")
    terminal.press("esc")
    terminal.wait_for("enter asks")
    terminal.press("esc")
    terminal.wait_gone("by the way")
    terminal.press("esc")
    terminal.wait_gone("esc stops")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    assert inputs(path).count("abort") == 2
    same(path, tmp_path / "scratch")


def test_extensions_that_are_reloaded_verify(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    path = tmp_path / "run.zotrec"
    serve(
        [
            CallTools([("bash", {"command": "sudo ls"})]),
            Say("one"),
            CallTools([("bash", {"command": "true"})]),
            Say("two"),
        ]
    )
    terminal = open_zot("--record", str(path), "--ext", str(GUARD))
    terminal.submit("begin")
    terminal.wait_for("  one")
    terminal.submit("/reload-ext")
    terminal.wait_for("1 ready")
    terminal.submit("again")
    terminal.wait_for("  two")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    assert "reload" in inputs(path)
    same(path, tmp_path / "scratch")


def test_recording_is_shown_in_the_terminal(serve: Any, zot: Zot, tmp_path: Path) -> None:
    path = tmp_path / "run.zotrec"
    serve([CallTools([("bash", {"command": "echo hello"})]), Say("It says **hello**.")])
    assert zot("-p", "--record", str(path), "greet").code == 0
    argv = zot.argv(["replay", "--step", str(path)])
    with FakeTerminal(argv, cwd=zot.project, env=zot.env(), columns=80, rows=24) as terminal:
        terminal.wait_for("a recording of")
        for text in ("› greet", "● Ran echo hello · ", "It says hello.", "the end:"):
            terminal.press("enter")
            terminal.wait_for(text)
        assert terminal.wait_exit() == 0
