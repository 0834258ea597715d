"""Themes in a running session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot


@pytest.fixture
def home(zot: Zot) -> Path:
    (zot.home / "zot" / "themes").mkdir(parents=True)
    return zot.home / "zot"


def accent(terminal: FakeTerminal) -> str:
    """The colour of the prompt's bar."""
    y = terminal.cursor[0]
    return terminal._emulated.buffer[y][0].fg


def theme(home: Path, name: str, **raw: Any) -> Path:
    path = home / "themes" / f"{name}.json"
    path.write_text(json.dumps(raw))
    return path


def test_theme_flag_beats_environment_beats_stored_theme(serve: Any, open_zot: OpenZot, home: Path) -> None:
    """iface-223, iface-234: the stored theme is used, `ZOT_THEME` wins over it, and `--theme` over both."""
    serve([])
    for name, colour in (("one", 21), ("two", 22), ("three", 23)):
        theme(home, name, accent=colour)
    (home / "config.json").write_text('{"theme": "one"}')
    assert accent(open_zot()) == "0000ff"
    assert accent(open_zot(env={"ZOT_THEME": "two"})) == "005f00"
    assert accent(open_zot("--theme", "three", env={"ZOT_THEME": "two"})) == "005f5f"


def test_a_missing_theme_is_a_warning_and_stays_stored(serve: Any, open_zot: OpenZot, home: Path) -> None:
    """iface-224: a missing theme gives a warning and stays stored."""
    serve([])
    (home / "config.json").write_text('{"theme": "vanished", "other": 1}')
    terminal = open_zot()
    terminal.wait_for('unknown theme "vanished"')
    assert accent(terminal) == "87afff"
    assert json.loads((home / "config.json").read_text())["theme"] == "vanished"


def test_a_broken_theme_does_not_stop_zot(serve: Any, open_zot: OpenZot, home: Path) -> None:
    """iface-225, iface-226: a malformed theme does not stop zot, and a bad value spoils only its own key."""
    serve([Say("fine")])
    (home / "themes" / "bad.json").write_text("{ nonsense")
    terminal = open_zot("--theme", "bad")
    terminal.wait_for("not JSON")
    terminal.submit("hi")
    terminal.wait_for("fine")


def test_mistyped_theme_key_gets_a_suggestion_also_in_doctor(
    serve: Any, open_zot: OpenZot, home: Path, zot: Zot
) -> None:
    serve([])
    theme(home, "mine", acent=21, error=196)
    theme(home, "other", colors={"light": {"mutd": 8}})
    terminal = open_zot("--theme", "mine", columns=200)
    terminal.wait_for("mine.json: acent is not a theme key; did you mean accent?")
    assert "other.json" not in terminal.screen
    told = zot("doctor", model=False).out
    assert "mine.json: acent is not a theme key; did you mean accent?" in told
    assert told.count("other.json: mutd is not a theme key; did you mean muted?") == 1


def test_editing_the_active_file_changes_the_colours_at_once(serve: Any, open_zot: OpenZot, home: Path) -> None:
    serve([])
    theme(home, "mine", accent=21)
    terminal = open_zot("--theme", "mine")
    assert accent(terminal) == "0000ff"
    theme(home, "mine", accent=196)
    terminal.wait_until(lambda: accent(terminal) == "ff0000", "the new colour")


def test_a_theme_extension_runs_nothing_and_offers_its_theme(
    zot: Zot, serve: Any, open_zot: OpenZot, home: Path
) -> None:
    """iface-231, iface-232: a theme extension runs nothing, writes no log and offers its themes."""
    serve([])
    directory = home / "extensions" / "sea"
    (directory / "themes").mkdir(parents=True)
    (directory / "extension.json").write_text('{"name": "sea"}')
    (directory / "themes" / "theme.json").write_text('{"name": "sea", "accent": 21}')
    terminal = open_zot("--theme", "sea")
    assert accent(terminal) == "0000ff"
    terminal.press("ctrl+d")
    terminal.wait_exit()
    assert not list((home / "logs").glob("ext-*")) if (home / "logs").exists() else True


def test_theme_change_affects_only_new_output(serve: Any, open_zot: OpenZot, home: Path) -> None:
    serve([Say("# first"), Say("# second")])
    theme(home, "mine", accent=21)
    terminal = open_zot("--theme", "mine")
    terminal.submit("one")
    terminal.wait_for("# first")
    terminal.wait_idle()
    theme(home, "mine", accent=196)
    terminal.wait_until(lambda: accent(terminal) == "ff0000", "the new colour")
    terminal.submit("two")
    terminal.wait_for("# second")
    assert terminal.cell("# first").fg == "0000ff"
    assert terminal.cell("# second").fg == "ff0000"


def test_a_background_is_painted_behind_everything_that_is_drawn(serve: Any, open_zot: OpenZot, home: Path) -> None:
    serve([Say("an **answer** here")])
    theme(home, "deep", background=17)
    terminal = open_zot("--theme", "deep")
    terminal.submit("hello you")
    terminal.wait_for("an answer here")
    terminal.wait_idle()
    y = terminal.row_of("an answer here")
    assert {terminal._emulated.buffer[y][x].bg for x in range(80)} == {"00005f"}
    assert terminal._emulated.buffer[terminal.cursor[0]][40].bg == "00005f"


def test_the_themes_that_come_with_zot_are_offered_and_used(serve: Any, open_zot: OpenZot, home: Path) -> None:
    serve([])
    terminal = open_zot("--theme", "terminal")
    assert accent(terminal) == "brightcyan"
    terminal.submit("/settings")
    terminal.wait_for("colour theme")
    terminal.type("colour")
    terminal.wait_for("filter: colour")
    terminal.press("enter")
    terminal.wait_for("up/down previews")
    for name in ("catppuccin", "gruvbox", "nord", "colour-blind-dark", "colour-blind-light"):
        assert name in terminal.screen
    terminal.type("blind")
    terminal.wait_for("filter: blind")
    terminal.press("enter")
    terminal.wait_for("colour theme: colour-blind-dark")
    assert json.loads((home / "config.json").read_text())["theme"] == "colour-blind-dark"
