"""Panels of the second edition on the screen: several at a time, overlays, keys by name, the cursor, the size."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import seen_of, write_extension
from tests.fakes.model_server import CallTools, Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

# `/send` sends the frames of frames.json, `/close-all` nothing: a command of the user that opens panels.
PANELS = """
hello("edition2"); send(type="register_command", name="show-" + NAME); ready()
def run(f):
    for frame in json.load(open(os.path.join(HERE, "frames.json"))):
        send(**frame)
    send(type="command_response", id=f["id"], action="noop")
def pressed(f):
    if f["key"] == "rune" and f.get("text") == "!":
        for frame in json.load(open(os.path.join(HERE, "later.json"))):
            send(**frame)
serve(command_invoked=run, panel_key=pressed)
"""


class Panels:
    """An extension that opens what the test says."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def show(self, terminal: FakeTerminal, *frames: dict[str, Any], later: Any = ()) -> None:
        (self.directory / "frames.json").write_text(json.dumps(frames))
        (self.directory / "later.json").write_text(json.dumps(list(later)))
        terminal.submit(f"/show-{self.directory.name}")

    def keys(self) -> list[str]:
        return [frame["key"] for frame in seen_of(self.directory, "panel_key")]

    def closed(self) -> list[str]:
        return [frame["panel_id"] for frame in seen_of(self.directory, "panel_close")]

    def focus(self) -> list[tuple[str, bool]]:
        return [(frame["panel_id"], frame["focused"]) for frame in seen_of(self.directory, "panel_focus")]

    def sizes(self, panel_id: str) -> list[tuple[int, int]]:
        frames = [frame for frame in seen_of(self.directory, "panel_resize") if frame["panel_id"] == panel_id]
        return [(frame["width"], frame["height"]) for frame in frames]


def panel(id: str, *rows: Any, **more: Any) -> dict[str, Any]:
    return {"type": "open_panel", "panel": {"id": id, "rows": list(rows), **more}}


def render(id: str, *rows: Any, **more: Any) -> dict[str, Any]:
    return {"type": "panel_render", "panel_id": id, "rows": list(rows), **more}


@pytest.fixture
def panels(zot: Zot) -> Panels:
    return Panels(write_extension(zot.home / "zot" / "extensions", "view", PANELS))


def test_rows_are_styled_lines_and_the_panel_knows_its_size(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-082, ext2-051: rows are Lines; `panel_resize` comes at opening and when the window changes."""
    serve([])
    terminal = open_zot()
    panels.show(terminal, panel("a", [{"text": "passed", "style": "success"}], title="Tests", footer="q quits"))
    terminal.wait_for("passed")
    assert terminal.cell("passed").fg == "87d787" and "Tests [view]" in terminal.screen and "q quits" in terminal.screen
    terminal.wait_until(lambda: panels.focus() == [("a", True)], "the focus")
    terminal.wait_until(lambda: len(panels.sizes("a")) == 1, "the size")
    terminal.resize(60, 20)
    terminal.wait_until(lambda: panels.sizes("a")[-1][0] == 60, "the other size")
    assert panels.sizes("a")[0][0] == 80 and panels.sizes("a")[0][1] > panels.sizes("a")[-1][1] > 0


def test_several_panels_are_open_and_one_has_the_focus(serve: Any, open_zot: OpenZot, panels: Panels, zot: Zot) -> None:
    """ext2-082: one per extension and id; another extension's panel takes the focus only when none has it."""
    serve([])
    other = Panels(write_extension(zot.home / "zot" / "extensions", "other", PANELS))
    terminal = open_zot(rows=40)
    unfocused = {"mode": "inline", "focus": False}
    panels.show(terminal, panel("log", "the log", place=unfocused))
    terminal.wait_for("the log")
    panels.show(terminal, panel("log", "the log again", place=unfocused), panel("menu", "the menu"))
    terminal.wait_for("the menu")
    assert "the log again" in terminal.screen and terminal.screen.count("the log") == 1
    terminal.press("x")
    terminal.wait_until(lambda: panels.keys() == ["rune"], "the key")
    assert [frame["panel_id"] for frame in seen_of(panels.directory, "panel_key")] == ["menu"]
    # Another extension opens one while the first has the focus.
    (other.directory / "frames.json").write_text(json.dumps([panel("theirs", "their panel")]))
    (panels.directory / "later.json").write_text(json.dumps([{"type": "submit_slash", "text": "/show-other"}]))
    terminal.type("!")
    terminal.wait_for("their panel")
    terminal.press("y")
    terminal.wait_until(lambda: panels.keys() == ["rune"] * 3, "the key at the one that has the focus")
    assert other.keys() == [] and other.focus() == []
    terminal.press("esc")
    terminal.wait_until(lambda: panels.closed() == ["menu"], "the close")
    terminal.wait_until(lambda: other.focus() == [("theirs", True)], "the focus of the other")
    terminal.press("z")
    terminal.wait_until(lambda: other.keys() == ["rune"], "its key")


def test_a_ninth_panel_is_refused(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-082: at most eight panels are open; the ninth is a diagnostic."""
    serve([])
    terminal = open_zot(rows=50, columns=120)
    place = {"mode": "overlay", "focus": False}
    panels.show(terminal, *(panel(f"p{n}", f"panel {n}", place=place) for n in range(9)))
    terminal.wait_for("opened more than 8 panels")
    terminal.wait_for("panel 7")
    assert "panel 8" not in terminal.everything


def test_an_overlay_lies_over_the_conversation_and_never_over_the_mode(
    serve: Any, open_zot: OpenZot, panels: Panels
) -> None:
    """ext2-083: it is clipped to the screen, names its extension, and leaves the row of the permission mode."""
    serve([Say("an answer\n\n" + "\n\n".join(f"paragraph {n}" for n in range(20)))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("paragraph 19")
    rows = [f"row {n}" for n in range(100)]
    place = {"mode": "overlay", "anchor": "bottom_right", "width": 200, "max_height": 200, "margin": 0, "focus": False}
    panels.show(terminal, panel("o", *rows, title="Big", place=place))
    terminal.wait_for("row 3")
    lines = terminal.screen.splitlines()
    assert "extension view panel" in lines[0] and "runs everything" in terminal.screen
    assert terminal.cell("extension view").reverse and "paragraph 19" not in terminal.screen
    assert terminal.row_of("┗") < terminal.row_of("▌ ask")  # without the focus not over the editor either
    small = {**place, "width": 20, "max_height": 4}
    panels.show(terminal, {"type": "panel_close", "panel_id": "o"}, panel("p", "a clock", place=small))
    terminal.wait_for("a clock")
    assert "paragraph 19" in terminal.screen and "paragraph 15" in terminal.screen
    terminal.type("still typing")
    terminal.wait_for("still typing")
    panels.show(terminal, {"type": "panel_close", "panel_id": "p"})
    terminal.wait_gone("a clock")
    assert "paragraph 19" in terminal.everything


def test_a_question_of_zot_hides_every_panel(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-083, ext2-069: overlays and panels are gone while zot asks, and back afterwards."""
    serve([CallTools([("bash", {"command": "touch made-here"})]), Say("finished")])
    terminal = open_zot("--no-yolo", rows=40)
    unfocused = {"mode": "inline", "focus": False}
    overlay = {"mode": "overlay", "anchor": "center", "width": "100%", "max_height": "100%", "focus": False}
    panels.show(terminal, panel("over", *["APPROVED"] * 50, place=overlay), panel("in", "inline one", place=unfocused))
    terminal.wait_for("APPROVED")
    terminal.submit("go")
    terminal.wait_for("touch made-here")
    terminal.wait_gone("APPROVED")
    assert "inline one" not in terminal.screen
    terminal.press("tab")
    terminal.wait_for("or enter answers")
    end = time.monotonic() + 0.4  # its first moment takes no key
    terminal.wait_until(lambda: time.monotonic() > end)
    terminal.press("1")
    terminal.wait_for("APPROVED")


def test_names_that_imitate_zot_get_no_overlay(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """ext2-068, ext2-083: an extension named like the host may not draw over the screen."""
    serve([])
    imitating = Panels(write_extension(zot.home / "zot" / "extensions", "Z0T", PANELS))
    terminal = open_zot()
    imitating.show(terminal, panel("o", "TRUST ME", place={"mode": "overlay"}))
    terminal.wait_for("could be taken for")
    assert "TRUST ME" not in terminal.screen


def test_all_keys_have_their_names_and_esc_closes_the_second_time(
    serve: Any, open_zot: OpenZot, panels: Panels
) -> None:
    """ext2-083: with `keys` `all` esc is delivered once; a second one within 500 ms closes."""
    serve([])
    terminal = open_zot()
    panels.show(terminal, panel("k", "press any", keys="all"))
    terminal.wait_for("press any")
    terminal.press("ctrl+k", "alt+x", "shift+tab", "a")
    terminal.press("esc")
    terminal.wait_until(lambda: panels.keys() == ["ctrl+k", "alt+x", "shift+tab", "rune", "esc"], "the keys")
    assert panels.closed() == []
    end = time.monotonic() + 0.6
    terminal.wait_until(lambda: time.monotonic() > end)
    terminal.press("esc")
    terminal.pump(0.1)
    terminal.press("esc")
    terminal.wait_until(lambda: panels.closed() == ["k"], "the close")
    panels.show(terminal, panel("k", "press again", keys="all"))
    terminal.wait_for("press again")
    terminal.press("ctrl+c")
    terminal.wait_until(lambda: panels.closed() == ["k", "k"], "ctrl+c")


def test_named_keys_are_those_of_the_first_edition(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-083: without `keys` other keys are `unknown`, and esc closes at once; `release` says `press`."""
    serve([])
    terminal = open_zot()
    panels.show(terminal, panel("k", "press any"))
    terminal.wait_for("press any")
    terminal.press("ctrl+k", "up")
    terminal.wait_until(lambda: panels.keys() == ["unknown", "up"], "the keys")
    terminal.press("esc")
    terminal.wait_until(lambda: panels.closed() == ["k"], "the close")
    panels.show(terminal, panel("r", "held keys", keys="release"))
    terminal.wait_for("held keys")
    terminal.press("up")
    terminal.wait_until(lambda: len(panels.keys()) == 3, "the key")
    assert seen_of(panels.directory, "panel_key")[-1]["event"] == "press"


def test_a_panel_without_focus_takes_no_keys(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-084: the editor goes on getting them."""
    serve([])
    terminal = open_zot()
    panels.show(terminal, panel("p", "watching", place={"mode": "overlay", "focus": False}))
    terminal.wait_for("watching")
    terminal.type("typed text")
    terminal.wait_for("▌ typed text")
    assert panels.keys() == []


def test_the_newest_of_many_redraws_is_drawn(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-084: 2,000 redraws are some frames on the terminal, and the last one stands."""
    serve([])
    terminal = open_zot()
    panels.show(
        terminal, panel("p", "number"), *(render("p", f"number {n}") for n in range(2_000)), render("p", "the last")
    )
    terminal.wait_for("the last")
    assert terminal.raw.count(b"number ") < 200


def test_the_cursor_of_a_panel_is_the_terminals(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-085: an extension draws its own text field."""
    serve([])
    terminal = open_zot()
    panels.show(terminal, panel("f", "name:", "> abc", cursor={"row": 1, "col": 5}))
    terminal.wait_for("> abc")
    terminal.wait_until(lambda: terminal.cursor == (terminal.row_of("> abc"), 5), "the cursor")
    overlay = {"mode": "overlay", "width": 40, "max_height": 10}
    terminal.press("esc")
    terminal.wait_gone("> abc")
    panels.show(terminal, panel("g", "> over", cursor={"row": 0, "col": 6}, place=overlay))
    terminal.wait_for("> over")
    row = terminal.row_of("> over")
    column = terminal.screen.splitlines()[row].index("> over") + 6
    terminal.wait_until(lambda: terminal.cursor == (row, column), "the cursor in the overlay")


def test_a_full_panel_fills_the_screen_and_leaves_the_mode(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-083: `full` keeps the row that names the permission mode; the conversation is whole afterwards."""
    serve([Say("the answer")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("the answer")
    panels.show(terminal, panel("f", *(f"row {n}" for n in range(50)), place={"mode": "full"}))
    terminal.wait_for("row 19")
    assert "the answer" not in terminal.screen and "runs everything" in terminal.screen
    terminal.press("esc")
    terminal.wait_for("the answer")


def test_an_overlay_on_a_low_screen_is_inline(serve: Any, open_zot: OpenZot, panels: Panels) -> None:
    """ext2-083: below ten rows there is no room over the conversation; the panel with the focus stays visible."""
    serve([])
    terminal = open_zot(rows=9)
    panels.show(terminal, panel("o", "low row", place={"mode": "overlay"}))
    terminal.wait_for("low row")
    terminal.press("esc")
    terminal.wait_gone("low row")
