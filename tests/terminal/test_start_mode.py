"""The first interactive start asks once how zot may run; the answer is the default from then on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.test_dialogs_confirm import listening

QUESTION = "how may zot run here?"


def settings(zot: Zot) -> dict[str, object]:
    return json.loads((zot.home / "zot" / "config.json").read_text())


def test_the_first_start_offers_three_modes_with_the_jail_selected(open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.2: jailed is preselected where the full jail is available, and kept as the default."""
    terminal = open_zot(first_start=True, wait="")
    terminal.wait_for(QUESTION)
    for mode in ("jailed", "ask first", "everything"):
        assert mode in terminal.screen
    terminal.press("enter")
    terminal.wait_for("jailed (full)")
    assert settings(zot)["start_mode"] == "jailed"
    again = open_zot(first_start=True, wait="jailed (full)")
    assert QUESTION not in again.screen
    assert "asks about outside jailed (full)" in again.screen  # nothing inside needs approval


def test_a_mode_chosen_in_the_jail_holds_inside(open_zot: OpenZot, zot: Zot, serve: Any) -> None:
    """issue 29.1, 29.2: shift+tab to "ask" asks before changes inside as well, also after a resume."""
    one, two = (CallTools([("write", {"path": name, "content": "x"})]) for name in ("one", "two"))
    serve([one, Say("refused"), two])
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"start_mode": "jailed"}')
    terminal = open_zot(wait="asks about outside jailed (full)")
    terminal.press("shift+tab")
    terminal.wait_for("asks first jailed (full)")
    terminal.submit("write one")
    terminal.wait_for("run write?")
    assert not (zot.project / "one").exists()
    listening(terminal)
    terminal.press("esc")
    terminal.wait_for("refused")
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    again = open_zot("-c", wait="asks first jailed (full)")
    again.submit("write two")
    again.wait_for("run write?")


@pytest.mark.parametrize(("downs", "mode", "shown"), [(1, "ask", "asks first"), (2, "everything", "runs everything")])
def test_the_other_modes_are_kept_as_well(open_zot: OpenZot, zot: Zot, downs: int, mode: str, shown: str) -> None:
    """issue 29.2."""
    terminal = open_zot(first_start=True, wait="")
    terminal.wait_for(QUESTION)
    terminal.press(*["down"] * downs, "enter")
    terminal.wait_for(shown)
    assert settings(zot)["start_mode"] == mode
    assert "jailed" not in terminal.screen.splitlines()[-1]


def test_a_prompt_typed_meanwhile_takes_the_selected_mode_once(open_zot: OpenZot, zot: Zot, serve: Any) -> None:
    """issue 29.2: the question does not swallow what is typed, and it returns at the next start."""
    serve([Say("hello back")])
    terminal = open_zot(first_start=True, wait="")
    terminal.wait_for(QUESTION)
    terminal.submit("hello there")
    terminal.wait_for("hello back")
    assert "jailed (full)" in terminal.screen
    assert "start mode of this run: jailed; zot asks again at the next start" in terminal.everything
    assert not (zot.home / "zot" / "config.json").exists()


@pytest.mark.parametrize("flag", [("--permission-mode", "ask"), ("--jail",), ("--no-jail",)])
def test_a_flag_makes_the_question_unnecessary(open_zot: OpenZot, flag: tuple[str, ...]) -> None:
    """issue 29.2."""
    terminal = open_zot(*flag, first_start=True)
    assert QUESTION not in terminal.screen


def test_headless_modes_keep_their_default(zot: Zot, serve: Any) -> None:
    """issue 29.2: `-p` neither asks nor obeys the setting of the terminal."""
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"start_mode": "jailed"}')
    command = "touch /var/tmp/zot-start-mode && rm /var/tmp/zot-start-mode"
    serve([CallTools([("bash", {"command": command})]), Say("ok")])
    done = zot("--json", "go")
    results = [event for event in done.events if event["type"] == "tool_result"]
    assert results and not results[0].get("is_error"), done.out


def test_without_a_jail_the_default_asks_instead(open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.2: a guard that fails denies: the jail of `start_mode` cannot hold zot's own home."""
    zot.environment["ZOT_HOME"] = str(zot.project / "zot")
    (zot.project / "zot").mkdir()
    (zot.project / "zot" / "config.json").write_text('{"start_mode": "jailed"}')
    terminal = open_zot(columns=200)
    terminal.wait_for("zot asks before each command instead")
    assert "asks first" in terminal.screen
