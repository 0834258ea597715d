"""Dialogs to read and to ask on the side: the side chat, skills, settings and their live preview."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Refuse, Say, Silent
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import config, said


def test_the_side_chat_leaves_no_trace_but_its_cost(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-194: `/btw` adds its cost and nothing else to the conversation and its file."""
    server = serve([Say("main answer", usage=(10, 5)), Say("side answer", usage=(4000, 5)), Say("second")])
    terminal = open_zot()
    terminal.submit("main question")
    terminal.wait_for("main answer")
    terminal.submit("/btw what is love")
    terminal.wait_for("side answer")
    terminal.wait_for("↑4.0k")
    assert server.requests[1].json.get("tools") in (None, [])
    assert said(server.requests[1])[0] == ("user", "main question")
    terminal.press("esc")
    terminal.wait_gone("by the way")
    terminal.submit("go on")
    terminal.wait_for("second")
    assert [text for _, text in said(server.requests[2])] == ["main question", "main answer", "go on"]
    assert "what is love" not in zot.sessions[0].read_text()
    assert "side answer" not in zot.sessions[0].read_text()


def test_side_chat_works_beside_turn_and_esc_cancels_then_closes(serve: Any, open_zot: OpenZot) -> None:
    """iface-195: `/btw` works beside a running turn; esc cancels it first and then closes."""
    server = serve([Silent(Say("main")), Silent(Say("side")), Say("second side answer")])
    terminal = open_zot()
    terminal.submit("main question")
    terminal.wait_until(lambda: len(server.requests) == 1)
    terminal.submit("/btw first")
    terminal.wait_until(lambda: len(server.requests) == 2)
    terminal.wait_for("esc stops")
    terminal.press("esc")
    terminal.wait_for("enter asks")
    terminal.type("second")
    terminal.wait_for("› second")
    terminal.press("enter")
    terminal.wait_for("second side answer")
    terminal.press("esc")
    terminal.wait_gone("by the way")
    assert "- " in terminal.screen  # the turn still runs


def skill(directory: Path, name: str, text: str) -> None:
    path = directory / ".zot" / "skills" / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {text}\n---\n# {name}\n\nBody of {text}.\n")


def test_skills_are_read_again_each_time(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-202: `/skills` shows the current content of the files."""
    serve([])
    skill(project, "cooking", "old words")
    terminal = open_zot()
    terminal.submit("/skills")
    terminal.wait_for("old words")
    terminal.press("esc")
    terminal.wait_gone("old words")
    skill(project, "cooking", "new words")
    terminal.submit("/skills")
    terminal.wait_for("new words")
    terminal.press("enter")
    terminal.wait_for("Body of new words.")
    terminal.press("esc")
    terminal.wait_for("write-zot-extension")


def test_skills_dialog_reports_disabled_skills(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot("--no-skill")
    terminal.submit("/skills")
    terminal.wait_for("skills are disabled")


def test_skill_is_loaded_by_the_user(serve: Any, open_zot: OpenZot, project: Path) -> None:
    server = serve([Say("cooked")])
    skill(project, "cooking", "the words")
    terminal = open_zot()
    terminal.submit("/skill:cooking make soup")
    terminal.wait_for("cooked")
    prompt = said(server.requests[0])[-1][1]
    assert "Body of the words." in prompt and prompt.endswith("make soup")


def test_a_setting_is_stored_at_once_and_unknown_keys_stay(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-272: a setting is stored at once, and unknown keys stay."""
    serve([])
    home = zot.home / "zot"
    home.mkdir()
    (home / "config.json").write_text(json.dumps({"of_another_program": 1}))
    terminal = open_zot()
    terminal.submit("/settings")
    terminal.wait_for("compact when the context")
    terminal.type("compact when")
    terminal.wait_for("filter: compact when")
    terminal.press("enter")
    terminal.wait_for("compact when the context is this full (%): 70")
    assert config(zot) == {"of_another_program": 1, "auto_compact_threshold": 70}


def test_tries_and_permission_mode_are_set_and_in_force(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Refuse(529, "overloaded"), Say("never")])
    terminal = open_zot("--base-url", server.url, "--api-key", "test-key", model=False)
    for typed, presses, told in (("permission mode", 1, "ask"), ("retries of", 2, "0")):
        terminal.submit("/settings")
        terminal.wait_for("enter changes")
        terminal.type(typed)
        terminal.wait_for(f"filter: {typed}")
        for _ in range(presses):
            terminal.press("enter")
            terminal.wait_idle()
        terminal.wait_for(f": {told}")
        terminal.press("esc")
        terminal.wait_gone("enter changes")
    assert config(zot) == {"permission_mode": "ask", "retries": 0}
    terminal.wait_for("asks first")
    terminal.submit("hello")
    terminal.wait_for("did not answer")
    assert len(server.requests) == 1


def test_theme_is_previewed_while_moving_and_stored_on_enter(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-222: preview, esc restores, enter writes ``theme`` and preserves other keys."""
    serve([])
    home = zot.home / "zot"
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text('{"mine": [1, 2]}')
    terminal = open_zot()
    before = terminal.cell("▌").fg
    terminal.submit("/settings")
    terminal.wait_for("colour theme")
    terminal.type("colour")
    terminal.wait_for("filter: colour")
    terminal.press("enter")
    terminal.wait_for("up/down previews")
    terminal.press("down", "down")
    terminal.wait_until(lambda: terminal.cell("▌").fg != before, "the light palette")
    terminal.press("esc")
    terminal.wait_until(lambda: terminal.cell("▌").fg == before, "the old colours")
    assert "theme" not in config(zot)
    terminal.wait_for("enter changes")
    terminal.type("colour")
    terminal.wait_for("filter: colour")
    terminal.press("enter")
    terminal.wait_for("up/down previews")
    terminal.press("down", "down", "enter")
    terminal.wait_for("colour theme: light")
    assert (config(zot)["theme"], config(zot)["mine"]) == ("light", [1, 2])
