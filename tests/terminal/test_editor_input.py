"""Pastes, dropped and picked files, commands, history, the user's own editor: from the key to the model's request."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say, SeenRequest, Slow
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import user_texts


@pytest.fixture(autouse=True)
def model(serve: Any) -> None:
    """A model, so that no login dialog opens."""
    serve([])


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def images_of(request: SeenRequest) -> list[bytes]:
    content = request.json["messages"][-1]["content"]
    return [base64.b64decode(block["source"]["data"]) for block in content if block["type"] == "image"]


def test_long_paste_is_a_chip_on_screen_and_whole_for_model(serve: Any, open_zot: OpenZot) -> None:
    """iface-138, iface-139, iface-140, iface-141: a long paste is shown as a token and sent in full."""
    server = serve([Say("answer")])
    terminal = open_zot()
    terminal.paste("a\r\nb\rc\n" * 4)
    terminal.wait_for("[pasted text #1 +12 lines]")
    terminal.paste("y" * 1500)
    terminal.wait_for("[pasted text #2 1500 chars]")
    terminal.press("enter")
    terminal.wait_for("answer")
    assert user_texts(server.requests[0]) == ["a\nb\nc\n" * 4 + "y" * 1500]


def test_ten_lines_stay_inline(serve: Any, open_zot: OpenZot) -> None:
    """iface-139: a paste of ten lines stays as text."""
    terminal = open_zot(rows=40)
    terminal.paste("\n".join(f"row {number}" for number in range(10)))
    terminal.wait_for("row 9")
    assert "pasted text" not in terminal.screen


def test_numbers_restart_when_the_editor_was_cleared(open_zot: OpenZot) -> None:
    """iface-142: the numbers of tokens begin again when the editor is cleared."""
    terminal = open_zot()
    terminal.paste("x" * 1200)
    terminal.wait_for("#1 1200")
    terminal.press("esc")
    terminal.wait_gone("#1 1200")
    terminal.paste("x" * 1300)
    terminal.wait_for("[pasted text #1 1300 chars]")


def test_dropped_paths_become_chips_and_reach_the_model_quoted(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    """iface-143, iface-144, iface-147: dropped paths are shown as tokens and sent quoted."""
    server = serve([Say("answer")])
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "it's.txt").write_text("")
    terminal = open_zot()
    terminal.paste(f"{tmp_path}/drop")
    terminal.wait_for("[dir:1:drop/]")
    escaped = f"{tmp_path}/drop/it\\'s.txt"
    terminal.paste(escaped)
    terminal.wait_for("[file:1:it's.txt]")
    terminal.press("enter")
    terminal.wait_for("answer")
    assert user_texts(server.requests[0]) == [f"'{tmp_path}/drop''{tmp_path}/drop/it'\\''s.txt'"]


def test_pasted_text_that_is_no_file_stays_unchanged(open_zot: OpenZot) -> None:
    """iface-145, iface-146: a pasted path that does not exist, a URL and a line of shell stay as they are."""
    terminal = open_zot()
    terminal.paste("/no/such/file ")
    terminal.paste("https://example.com/x ")
    terminal.paste("/x;rm -rf /")
    terminal.wait_for("▌ /no/such/file https://example.com/x /x;rm -rf /")


def test_a_dropped_image_reaches_the_model_as_an_image(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    server = serve([Say("answer")])
    (tmp_path / "shot.png").write_bytes(PNG)
    terminal = open_zot()
    terminal.paste(f"file://{tmp_path}/shot.png")
    terminal.wait_for("[file:1:shot.png]")
    terminal.press("enter")
    terminal.wait_for("answer")
    assert images_of(server.requests[0]) == [PNG]


def test_a_picked_file_reaches_the_model_as_an_absolute_path(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-148, iface-149, iface-150, iface-151, iface-152: a file is picked through its folders and sent as an
    absolute path, beside an earlier paste.
    """
    server = serve([Say("answer")])
    (project / "lib").mkdir()
    (project / "lib" / "Main.py").write_text("one\ntwo\n")
    (project / "notes.md").write_text("")
    terminal = open_zot()
    terminal.paste("z" * 1100)
    terminal.type(" me@here @")
    terminal.wait_for("lib/")
    assert terminal.row_of("lib/") < terminal.row_of("notes.md")
    terminal.press("right")
    terminal.wait_for("lib/Main.py")
    terminal.press("left")
    terminal.wait_for("notes.md")
    terminal.type("main")
    terminal.wait_for("lib/Main.py")
    terminal.press("enter")
    terminal.wait_for("[file:lib/Main.py]")
    terminal.press("enter")
    terminal.wait_for("answer")
    block = '\n\n<file path="lib/Main.py">\none\ntwo\n</file>'
    assert user_texts(server.requests[0]) == [f"{'z' * 1100} me@here @lib/Main.py {block}"]
    terminal.wait_for("me@here @lib/Main.py")
    terminal.wait_for("attached lib/Main.py (2 lines)")
    assert "<file" not in terminal.everything
    terminal.press("up")
    terminal.wait_for("chars] me@here @lib/Main.py")


def test_the_content_of_a_file_is_attached(serve: Any, open_zot: OpenZot, project: Path) -> None:
    server = serve([Say("answer")])
    (project / "facts.txt").write_text("water is wet\n")
    terminal = open_zot()
    terminal.type("read !@fac")
    terminal.wait_for("  facts.txt")
    terminal.press("enter")
    terminal.wait_for("[content:facts.txt]")
    terminal.press("enter")
    terminal.wait_for("answer")
    path = project / "facts.txt"
    assert user_texts(server.requests[0]) == [f'read {path} \n\n<file path="{path}">\nwater is wet\n</file>']


def test_tab_completes_a_path_and_at_picks_a_file_of_the_home(
    zot: Zot, serve: Any, open_zot: OpenZot, project: Path
) -> None:
    server = serve([Say("answer")])
    (project / "parser.py").write_text("")
    (zot.home / "notes.txt").write_text("")
    terminal = open_zot(env={"HOME": str(zot.home)})
    terminal.type("compare par")
    terminal.wait_for("compare par")
    terminal.press("tab")
    terminal.wait_for("compare parser.py")
    terminal.type(" with @~/no")
    terminal.wait_for("  notes.txt")
    terminal.press("enter")
    terminal.wait_for("[file:~/notes.txt]")
    terminal.press("enter")
    terminal.wait_for("answer")
    assert user_texts(server.requests[0])[0].startswith("compare parser.py with @~/notes.txt ")


def test_fuzzy_command_is_written_out_before_it_runs(open_zot: OpenZot) -> None:
    terminal = open_zot()
    terminal.type("/dctr")
    terminal.wait_for("/doctor")
    assert terminal.cell("/doctor", 1).bold or terminal.cell("/doctor", 1).bg != "default"
    terminal.press("enter")
    terminal.wait_until(lambda: any(row.endswith("/doctor") for row in terminal.screen.split("\n")), "it in the editor")
    assert "zot home" not in terminal.screen
    terminal.press("enter")
    terminal.wait_gone("▌ /doctor")


def test_slash_lists_commands_and_enter_runs_highlighted(open_zot: OpenZot) -> None:
    """iface-153, iface-155: `/` lists the commands, and enter runs the highlighted one."""
    terminal = open_zot(rows=40)
    terminal.type("/")
    terminal.wait_for("/help")
    terminal.type("exi")
    terminal.wait_gone("/login")
    terminal.press("enter")
    assert terminal.wait_exit() == 0


def test_palette_shows_its_keys_if_there_is_room(open_zot: OpenZot) -> None:
    terminal = open_zot(rows=30)
    terminal.type("/")
    terminal.wait_for("↑↓ choose · tab completes · enter runs · esc clears")
    terminal.type("dctr")  # a guess
    terminal.wait_for("↑↓ choose · tab or enter completes · esc clears")
    terminal.press("esc")
    terminal.wait_gone("↑↓ choose")
    terminal.resize(80, 12)
    terminal.type("/he")
    terminal.wait_for("/help")
    terminal.wait_idle()
    assert "↑↓ choose" not in terminal.screen


def test_first_screen_repeats_nothing(open_zot: OpenZot) -> None:
    terminal = open_zot()
    terminal.wait_for("ask anything · / for commands")
    terminal.wait_for("shift+tab: permission mode · esc esc: rewind · /help: more")
    assert terminal.screen.count("ask ") == 1


def test_arguments_of_a_command_are_completed(open_zot: OpenZot) -> None:
    terminal = open_zot()
    terminal.type("/session ex")
    terminal.wait_for("write it to a .zotsession file")
    terminal.press("tab")
    terminal.wait_for("▌ /session export")


def test_commands_work_in_any_case(open_zot: OpenZot) -> None:
    """iface-288: a command works in any case."""
    terminal = open_zot()
    terminal.type("/EXIT")
    terminal.wait_for("/EXIT")
    terminal.press("enter")
    assert terminal.wait_exit() == 0


def test_history_is_stored_private_and_searchable(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    """iface-126: the history is stored for the next start, private and searchable."""
    serve([Say("answer one"), Say("answer two")])
    first = open_zot()
    first.submit("explain the parser")
    first.wait_for("answer one")
    first.submit("unrelated words")
    first.wait_for("answer two")
    first.submit("/exit")
    first.wait_exit()
    (stored,) = (zot.home / "zot" / "history").glob("*.jsonl")
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    second = open_zot()
    second.press("ctrl+r")
    second.wait_for("history:")
    second.type("parser")
    second.wait_gone("unrelated")
    second.press("enter")
    second.wait_for("▌ explain the parser")


def test_without_a_session_nothing_is_remembered(zot: Zot, serve: Any, open_zot: OpenZot) -> None:
    serve([Say("answer")])
    terminal = open_zot("--no-session")
    terminal.submit("a secret")
    terminal.wait_for("answer")
    assert not (zot.home / "zot" / "history").exists()


def test_draft_opens_in_external_editor_with_normal_terminal(
    zot: Zot, serve: Any, open_zot: OpenZot, tmp_path: Path
) -> None:
    server = serve([Say("answer")])
    script = tmp_path / "ed.sh"
    script.write_text('#!/bin/sh\nstty -a > "$0.modes"\necho editing; read line; echo "$line" >> "$1"\n')
    script.chmod(0o755)
    terminal = open_zot(env={"EDITOR": str(script)})
    terminal.type("draft")
    terminal.wait_for("draft")
    terminal.press("ctrl+g")
    terminal.wait_for("editing")
    terminal.type("more\n")
    terminal.wait_for("▌ draftmore")
    assert " icanon" in Path(f"{script}.modes").read_text().replace("\n", " ")
    terminal.type("!")
    terminal.wait_for("draftmore!")
    terminal.press("enter")
    terminal.wait_for("answer")
    assert user_texts(server.requests[0]) == ["draftmore!"]


def test_image_is_pasted_from_the_clipboard(serve: Any, open_zot: OpenZot, tmp_path: Path) -> None:
    server = serve([Say("answer")])
    (tmp_path / "picture").write_bytes(PNG)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "xclip").write_text(f'#!/bin/sh\ncase "$*" in *image/png*) cat {tmp_path}/picture;; *) exit 1;; esac\n')
    (tools / "xclip").chmod(0o755)
    terminal = open_zot(env={"PATH": f"{tools}:{os.environ['PATH']}", "DISPLAY": ":9"})
    terminal.type("look: ")
    terminal.press("ctrl+v")
    terminal.wait_for("[image #1]")
    terminal.press("enter")
    terminal.wait_for("answer")
    assert images_of(server.requests[0]) == [PNG]


def test_escape_gives_queued_prompts_back_to_the_editor(serve: Any, open_zot: OpenZot) -> None:
    serve([Slow(Say("slow answer"), 20)])
    terminal = open_zot()
    terminal.submit("begin")
    terminal.submit("queued one")
    terminal.wait_for("sliding in: queued one")
    terminal.type("draft")
    terminal.wait_for("draft")
    terminal.press("esc")
    terminal.wait_for("▌ queued one")
    terminal.wait_for("  draft")
