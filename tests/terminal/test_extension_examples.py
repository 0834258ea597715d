"""The examples that draw on the screen, in a real terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot

EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"


def example(name: str) -> tuple[str, str]:
    return "--ext", str(EXAMPLES / name)


def test_snake_moves_and_closes(serve: Any, open_zot: OpenZot) -> None:
    """snake: an overlay that redraws itself, takes arrows, and closes with esc."""
    serve([])
    terminal = open_zot(*example("snake"), columns=100, rows=30)
    terminal.submit("/snake")
    terminal.wait_for("snake · 3")
    before = terminal.screen
    terminal.wait_until(lambda: terminal.screen != before, "the snake to move")
    terminal.press("down")
    terminal.type(" ")
    terminal.wait_for("paused")
    terminal.press("esc")
    terminal.wait_gone("snake ·")


def test_rainbow_colours_and_animates_a_word(serve: Any, open_zot: OpenZot) -> None:
    """rainbow-editor: each letter has its colour, and the colours move without a key."""
    serve([])
    terminal = open_zot(*example("rainbow-editor"), columns=100)
    terminal.type("please ultrathink about #42")
    terminal.wait_for("ultrathink about #42")
    terminal.wait_until(lambda: terminal.cell("ultrathink").fg != terminal.cell("please").fg, "colours")
    first = terminal.cell("ultrathink").fg
    terminal.wait_until(lambda: terminal.cell("ultrathink").fg != first, "the colours to move")
    assert terminal.cell("#42").underscore


def test_modal_keymap_moves_and_deletes(serve: Any, open_zot: OpenZot) -> None:
    """modal-editor: esc leaves insert mode, letters are commands, i returns."""
    server = serve([Say("fine")])
    terminal = open_zot(*example("modal-editor"), columns=100)
    terminal.type("helloo world")
    terminal.wait_for("helloo world")
    terminal.press("esc")
    terminal.wait_for("NORMAL")
    terminal.type("0wbx")
    terminal.wait_for("elloo world")
    terminal.type("iH")
    terminal.wait_gone("NORMAL")
    terminal.wait_for("Helloo world")
    terminal.press("esc")
    terminal.wait_for("NORMAL")
    terminal.press("enter")
    terminal.wait_for("fine")
    assert "Helloo world" in str(server.requests[0].json)


def test_test_run_is_drawn_as_a_bar(serve: Any, open_zot: OpenZot) -> None:
    """test-report: a bar and the failures on the screen; the model reads the output."""
    output = "FAILED tests/test_a.py::test_b - assert 1 == 2\\n1 failed, 3 passed in 0.12s"
    command = f"printf '{output}\\n'; : pytest"
    server = serve([CallTools([("bash", {"command": command})]), Say("one test fails")])
    terminal = open_zot(*example("test-report"), columns=120)
    terminal.submit("run the tests")
    terminal.wait_for("one test fails")
    assert "3 passed, 1 failed" in terminal.screen and "✗ tests/test_a.py::test_b  assert 1 == 2" in terminal.screen
    assert "1 failed, 3 passed in 0.12s" in str(server.requests[1].json)


def test_provider_answers(zot: Zot) -> None:
    """echo-provider: ``--model echo/parrot`` starts it and streams its answer."""
    ran = zot("-p", "hello there", *example("echo-provider"), "--model", "echo/parrot")
    assert (ran.code, ran.out) == (0, "You said: hello there\n"), ran.err
