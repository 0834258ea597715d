"""Permission modes at the keyboard: shift+tab, the status bar and saved answers."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import said
from tests.terminal.test_dialogs_confirm import listening, touch

WRITE = ("write", {"path": "w.txt", "content": "x"})


def test_shift_tab_cycles_modes_and_bar_shows_them(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot()
    terminal.wait_for("runs everything")
    for shown in ("asks first", "accepts edits", "plans only", "runs everything"):
        terminal.press("shift+tab")
        terminal.wait_for(shown)


def test_plan_mode_denies_changes_and_informs_model(serve: Any, open_zot: OpenZot, project: Path) -> None:
    (project / "a.txt").write_text("the content")
    read = ("read", {"path": "a.txt"})
    server = serve(
        [CallTools([read, touch("one"), WRITE]), Say("here is the plan"), CallTools([WRITE]), Say("finished")]
    )
    terminal = open_zot("--permission-mode", "plan")
    terminal.wait_for("plans only")
    terminal.submit("go")
    terminal.wait_for("here is the plan")
    assert sorted(path.name for path in project.iterdir()) == ["a.txt"]
    texts = [text for _, text in said(server.requests[1])]
    assert any("switched to plan mode" in text for text in texts)
    assert any("the content" in text for text in texts)
    assert "".join(texts).count("denied: plan mode is on") == 2
    terminal.press("shift+tab")
    terminal.wait_for("runs everything")
    terminal.submit("do it")
    terminal.wait_for("finished")
    assert (project / "w.txt").exists()
    assert any("left plan mode" in text for _, text in said(server.requests[2]))


PLAN_ROW = "◇ plan mode: changes are denied · shift+tab leaves"


def test_plan_mode_has_a_row_that_says_how_to_leave(serve: Any, open_zot: OpenZot) -> None:
    """The rows are the same after a resume."""
    serve([Say("here is the plan"), Say("finished")])
    terminal = open_zot()
    terminal.submit("/plan think")
    terminal.wait_for("here is the plan")
    assert terminal.everything.index(PLAN_ROW) < terminal.everything.index("› think")
    terminal.submit("/plan")
    terminal.wait_for("plan: changes are denied · shift+tab leaves")
    terminal.press("shift+tab")
    terminal.wait_for("runs everything")
    terminal.submit("do it")
    terminal.wait_for("finished")
    assert "◇ plan mode is over" in terminal.everything and terminal.everything.count(PLAN_ROW) == 1
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot("-c")
    again.wait_for("finished")
    assert again.everything.index(PLAN_ROW) < again.everything.index("› think")
    assert "◇ plan mode is over" in again.everything


def test_reads_need_approval_only_outside_project(serve: Any, open_zot: OpenZot, project: Path, tmp_path: Path) -> None:
    (project / "a.txt").write_text("inside")
    (tmp_path / "b.txt").write_text("outside")
    server = serve(
        [CallTools([("read", {"path": "a.txt"}), ("read", {"path": str(tmp_path / "b.txt")})]), Say("finished")]
    )
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("run read?")
    listening(terminal)
    terminal.press("4")
    terminal.wait_for("finished")
    texts = [text for _, text in said(server.requests[1])]
    assert any("inside" in text for text in texts) and not any("outside" in text for text in texts)


def test_project_edits_are_accepted_and_commands_need_approval(serve: Any, open_zot: OpenZot, project: Path) -> None:
    serve([CallTools([WRITE, touch("one")]), Say("finished")])
    terminal = open_zot("--permission-mode", "accept-edits")
    terminal.submit("go")
    terminal.wait_for("run bash?")
    listening(terminal)
    terminal.press("4")
    terminal.wait_for("finished")
    assert [path.name for path in project.iterdir()] == ["w.txt"]


def test_a_key_for_the_mode_answers_no_question(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """The open question stays in every mode; later ones follow the mode at their turn."""
    serve([CallTools([touch("one"), touch("two")]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("run bash?")
    listening(terminal)
    for shown in ("accepts edits", "plans only", "runs everything"):
        terminal.press("shift+tab")
        terminal.wait_for(shown)
        assert "run bash?" in terminal.screen and not (project / "one").exists()
    terminal.press("4")
    terminal.wait_for("finished")
    assert [path.name for path in project.iterdir()] == ["two"]


def test_always_is_offered_for_each_part_and_never_all_of_bash_first(
    serve: Any, open_zot: OpenZot, project: Path
) -> None:
    """issue 29.4: one prefix per part; a part without one leaves once, everything and no."""
    commands = ("touch a && mkdir d", "mkdir e; touch b", "touch c && chmod 600 c")
    serve([CallTools([("bash", {"command": command}) for command in commands]), Say("finished")])
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("always `touch …` and `mkdir …` in this session")
    listening(terminal)
    terminal.press("2")
    terminal.wait_for("  $ touch c && chmod 600 c")
    terminal.wait_for("3  yes, and everything")
    listening(terminal)
    assert (project / "b").exists() and "and always" not in terminal.screen and "2  yes" not in terminal.screen
    assert "✓ always `touch …` and `mkdir …` in this session; /permissions" in terminal.screen
    assert "allowed: always mkdir …, touch …" in terminal.everything
    terminal.press("4")
    terminal.wait_for("finished")
    assert sorted(path.name for path in project.iterdir()) == ["a", "b", "d", "e"]


def test_leaving_plan_mode_goes_back_to_the_mode_before(serve: Any, open_zot: OpenZot, zot: Any) -> None:
    """issue 29.1: never to a wider one, also in a session that is resumed in plan mode."""
    serve([Say("planned")])
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"start_mode": "ask"}')
    terminal = open_zot()
    terminal.wait_for("asks first")
    for _ in range(2):
        terminal.submit("/plan")
        terminal.wait_for("plans only")
        terminal.press("shift+tab")
        terminal.wait_for("asks first")
    terminal.submit("/plan think")
    terminal.wait_for("planned")
    terminal.wait_idle()
    terminal.submit("/exit")
    assert terminal.wait_exit() == 0
    again = open_zot("-c", wait="plans only")
    again.press("shift+tab")
    again.wait_for("asks first")
    again.press("shift+tab")
    again.wait_for("accepts edits")


def test_reading_commands_run_unasked_in_plan_and_ask(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """issue 29.3: parsed commands that only read run; a refusal in plan mode is one short line."""
    (project / "a.txt").write_text("the content")
    looks = ["cat a.txt | head -3", f"cd {project} && ls -la 2>/dev/null; find . -name '*.txt'"]
    bash = [("bash", {"command": command}) for command in (*looks, "touch made")]
    server = serve([CallTools(bash), Say("planned"), CallTools(bash[:2]), Say("finished")])
    terminal = open_zot("--permission-mode", "plan")
    terminal.submit("go")
    terminal.wait_for("planned")
    assert "denied: plan mode is on" in terminal.screen and "read-only tools" not in terminal.screen
    texts = [text for _, text in said(server.requests[1])]
    assert sum("the content" in text for text in texts) == 1 and sum("./a.txt" in text for text in texts) == 1
    assert sum("Read what you need with the read-only tools" in text for text in texts) == 1
    terminal.press("shift+tab", "shift+tab")
    terminal.wait_for("asks first")
    terminal.submit("again")
    terminal.wait_for("finished")
    assert not (project / "made").exists()


def test_project_answer_is_stored_and_can_be_removed(serve: Any, open_zot: OpenZot, project: Path, zot: Any) -> None:
    serve([CallTools([touch("a")]), Say("finished")] * 3)
    terminal = open_zot("--no-yolo")
    terminal.submit("go")
    terminal.wait_for("run bash?")
    listening(terminal)
    terminal.press("right")
    terminal.wait_for("always `touch …` in this project")
    terminal.press("2")
    terminal.wait_for("finished")
    [file] = zot.home.rglob("permissions.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["projects"] == {str(project): [{"tool": "bash", "prefix": ["touch"]}]}
    assert sorted(path.name for path in project.iterdir()) == ["a"]  # nothing but what the call made
    terminal.submit("/exit")
    terminal.wait_exit()

    later = open_zot("--no-yolo")
    later.submit("go")
    later.wait_for("finished")
    later.submit("/permissions")
    later.wait_for("always `touch …`")
    later.press("up", "up", "up", "up", "down", "down", "down", "down")
    later.press("enter")
    later.wait_for("deleted: always `touch …`")
    later.press("esc")
    assert not json.loads(file.read_text())["projects"]


def test_launcher_limit_applies_to_the_keyboard(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot("--permission-mode", "ask", "--permission-limit", "accept-edits", columns=120)
    for shown in ("asks first", "accepts edits", "plans only", "asks first"):
        terminal.wait_for(shown)
        terminal.press("shift+tab")
    terminal.submit("/yolo")
    terminal.wait_for("allows at most accept-edits")


# --- what opens by itself takes nothing that was typed for something else

LATE_PANEL = """
import time
hello(); send(type="register_command", name="panel"); ready()
def opened(f):
    while not os.path.exists("drafted"): time.sleep(0.02)
    send(type="command_response", id=f["id"], action="open_panel",
         open_panel={"id": "p", "title": "My panel", "lines": ["a line"], "footer": ""})
serve(command_invoked=opened)
"""


def test_a_panel_that_opens_late_waits_for_the_end_of_a_draft(
    serve: Any, open_zot: OpenZot, project: Path, tmp_path: Path
) -> None:
    serve([])
    directory = write_extension(
        tmp_path / "extensions", "late", LATE_PANEL.replace('"drafted"', repr(str(project / "drafted")))
    )
    terminal = open_zot("--ext", str(directory))
    terminal.submit("/panel")
    terminal.type("1 or 2")
    terminal.wait_for("1 or 2")
    (project / "drafted").touch()
    terminal.wait_for("My panel")
    terminal.wait_for("waits while you type")
    terminal.type(" or 3")
    terminal.wait_for("1 or 2 or 3")


def test_the_question_about_trust_waits_for_the_end_of_a_draft(serve: Any, open_zot: OpenZot, project: Path) -> None:
    serve([])
    write_extension(project / ".zot" / "extensions", "local", "hello(); ready(); serve()")
    terminal = open_zot(wait="▌")
    terminal.type("2 tests")
    terminal.wait_for("wants to run")
    terminal.wait_for("waits while you type")
    terminal.type(" and 1 more")
    terminal.wait_for("2 tests and 1 more")
    assert "wants to run" in terminal.screen


def test_mode_and_jail_chosen_at_the_keyboard_come_back(serve: Any, open_zot: OpenZot) -> None:
    """issue 29.1: `/jail` and shift+tab, quit, `zot -c`; also for a session picked with `/sessions`."""
    serve([Say("first answer")])
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("first answer")
    terminal.submit("/jail")
    terminal.wait_for("jailed (full)")
    terminal.press("shift+tab")
    terminal.wait_for("asks first jailed (full)")
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot("-c", columns=120)
    again.wait_for("◇ resumed with permission mode ask, jailed")
    again.wait_for("asks first jailed (full)")
    again.submit("/exit")
    again.wait_exit()
    third = open_zot(columns=120)
    third.wait_for("runs everything")
    third.submit("/sessions")
    third.wait_for("hello")
    third.press("enter")
    third.wait_for("asks first jailed (full)")
