"""Stored conversations: the list, renaming, deleting, resuming, exporting, branching."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import rows, said, two_providers


def converse(terminal: FakeTerminal, prompt: str, answer: str) -> None:
    terminal.submit(prompt)
    terminal.wait_for(answer)


def open_list(terminal: FakeTerminal) -> None:
    terminal.submit("/sessions")
    terminal.wait_for("msgs ·")
    terminal.wait_for("r renames")


def two_conversations(terminal: FakeTerminal) -> None:
    """The server answers ``apples answer`` and ``pears answer``; the second conversation is the current one."""
    converse(terminal, "about apples", "apples answer")
    terminal.submit("/new")
    terminal.wait_for("started a new session")
    converse(terminal, "about pears", "pears answer")


def test_session_list_hides_empty_and_shows_newest_first(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-184: the list hides empty sessions and begins with the newest."""
    serve([Say("apples answer"), Say("pears answer")])
    terminal = open_zot()
    two_conversations(terminal)
    meta = {"type": "meta", "meta": {"id": "e", "cwd": str(zot.project), "started": "2026-01-01T00:00:00Z"}}
    (zot.sessions[0].parent / "20260101-000000-eeeeeeee.jsonl").write_text(json.dumps(meta) + "\n")
    os.utime(next(path for path in zot.sessions if "apples" in path.read_text()), (1, 1))
    open_list(terminal)
    screen = terminal.screen
    assert "2 msgs · $0.0001 · anthropic/claude-sonnet-5-5" in screen
    listed = screen[screen.index("sessions of this directory") :]
    assert listed.index("about pears") < listed.index("about apples")
    assert "(no text)" not in screen


def test_session_row_shows_full_model_name_or_none(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([Say("apples answer")])
    terminal = open_zot()
    converse(terminal, "tell me all there is to know about apples, pears and quinces", "apples answer")
    open_list(terminal)
    (row,) = [line for line in terminal.screen.splitlines() if "just now" in line]
    assert row.endswith("  2 msgs · claude-sonnet-5-5")
    assert "tell me all there is to know abou" in row
    for columns, ending in ((130, "2 msgs · $0.0001 · anthropic/claude-sonnet-5-5"), (60, "  claude-sonnet-5-5")):
        terminal.resize(columns, 24)
        terminal.wait_until(
            lambda columns=columns, ending=ending: any(
                "just now" in line and line.endswith(ending) and len(line) <= columns
                for line in terminal.screen.splitlines()
            ),
            f"a row that ends with {ending}",
        )
    terminal.resize(40, 24)
    terminal.wait_until(
        lambda: any(line.endswith("tell me all there is to…") for line in terminal.screen.splitlines()),
        "a row without a model",
    )


def test_resume_shows_conversation_and_continues(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("apples answer"), Say("pears answer"), Say("more apples")])
    terminal = open_zot()
    two_conversations(terminal)
    open_list(terminal)
    terminal.press("down", "enter")
    terminal.wait_for("resumed: 2 messages")
    terminal.wait_for("◇ resumed: about apples")
    assert terminal.everything.count("◇ a new conversation") == 1  # of /new
    terminal.submit("go on")
    terminal.wait_for("more apples")
    assert [text for _, text in said(server.requests[-1])] == ["about apples", "apples answer", "go on"]


def test_renamed_session_shows_title_at_once_and_after_restart(serve: Any, open_zot: OpenZot) -> None:
    """iface-185: ctrl+r renames a session; the title is shown at once and after a restart."""
    serve([Say("apples answer")])
    terminal = open_zot()
    converse(terminal, "about apples", "apples answer")
    open_list(terminal)
    terminal.press("ctrl+r")
    terminal.wait_for("title ›")
    terminal.type("Fruit talk")
    terminal.wait_for("Fruit talk")
    terminal.press("enter")
    terminal.wait_for("just now  Fruit talk")
    terminal.press("esc")
    terminal.wait_gone("sessions of this directory")
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot()
    again.submit("/sessions")
    again.wait_for("Fruit talk")


def test_session_list_shows_id_and_parent_of_a_branch(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.17: a branch has the title of its parent, so the list shows both ids."""
    serve([Say("apples answer")])
    zot("-p", "about apples")
    branch = Path(zot("sessions", "fork", "1", model=False).out.strip())
    [parent] = {*zot.sessions} - {branch}
    terminal = open_zot(columns=110)
    open_list(terminal)
    ids = [path.stem.rpartition("-")[2] for path in (branch, parent)]
    terminal.wait_for(f"{ids[0]}, branch of {ids[1]}")
    assert terminal.screen.count("branch of") == 1


def test_deleting_asks_first_and_spares_the_current_one(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([Say("apples answer"), Say("pears answer")])
    terminal = open_zot()
    two_conversations(terminal)
    open_list(terminal)
    terminal.press("ctrl+d")
    terminal.wait_for("Delete this session for good?")
    terminal.press("down", "enter")
    terminal.wait_for("cannot delete the current session")
    terminal.wait_for("r renames")
    terminal.press("down", "ctrl+d")
    terminal.wait_for("Delete this session for good?")
    terminal.press("enter")
    terminal.wait_for("sessions of this directory")
    assert len(zot.sessions) == 2
    terminal.press("ctrl+d")
    terminal.wait_for("Delete this session for good?")
    terminal.press("down", "enter")
    terminal.wait_for("✓ deleted")
    assert len(zot.sessions) == 1
    assert "pears" in zot.sessions[0].read_text()


def test_letters_search_the_list_also_d_and_r(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("apples answer"), Say("pears answer")])
    terminal = open_zot()
    converse(terminal, "debug the apples", "apples answer")
    terminal.submit("/new")
    terminal.wait_for("started a new session")
    converse(terminal, "rewrite the pears", "pears answer")
    open_list(terminal)
    terminal.type("debug")
    terminal.wait_for("search: debug")
    terminal.wait_until(lambda: "just now  rewrite" not in terminal.screen, "the other one to be filtered out")
    assert "just now  debug the apples" in terminal.screen
    terminal.press("esc")
    terminal.wait_for("just now  rewrite the pears")
    terminal.type("r")
    terminal.wait_for("search: r")
    assert "title ›" not in terminal.screen


def test_session_list_previews_end_and_searches_text(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("the answer speaks of rhubarb"), Say("pears answer")])
    terminal = open_zot(rows=30)
    converse(terminal, "about apples", "rhubarb")
    terminal.submit("/new")
    terminal.wait_for("started a new session")
    converse(terminal, "about pears", "pears answer")
    open_list(terminal)
    terminal.wait_for("› about pears")
    terminal.press("down")
    terminal.wait_for("› about apples")
    terminal.type("RHUBARB")
    terminal.wait_until(lambda: "just now  about pears" not in terminal.screen, "the other one to be filtered out")
    terminal.wait_for("just now  about apples")
    terminal.wait_until(lambda: terminal.screen.count("the answer speaks of rhubarb") == 2, "where it was said")
    terminal.press("enter")
    terminal.wait_for("resumed: 2 messages")


def test_keys_do_not_wait_while_a_hundred_megabytes_are_searched(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([Say("apples answer")])
    terminal = open_zot()
    converse(terminal, "about apples", "apples answer")
    (path,) = zot.sessions
    meta, *_ = path.read_text().splitlines()
    said = {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "word " * 400}]}}
    row = json.dumps(said) + "\n"
    for number in range(5):
        with (path.parent / f"20260101-00000{number}-eeeeeee{number}.jsonl").open("w") as file:
            file.write(f"{meta}\n" + row * (20_000_000 // len(row)))
    terminal.submit("/sessions")
    terminal.wait_for("r renames", timeout=60)
    slowest = 0.0
    for typed in range(1, 12):
        began = time.monotonic()
        terminal.type("w")
        terminal.wait_for(f"search: {'w' * typed}")
        slowest = max(slowest, time.monotonic() - began)
        terminal.pump(0.15)
    assert slowest < 1.0
    terminal.press("ctrl+u")
    terminal.type("word appl")
    terminal.wait_for("nothing matches")
    terminal.press("esc", "esc")
    terminal.wait_gone("sessions of this directory")


def test_resume_restores_model_after_provider_switch(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-186, iface-183: the session's model is used again, even after a provider switch."""
    server = serve([Say("apples answer"), Say("pears answer"), Say("more apples")])
    two_providers(zot, server.url)
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    converse(terminal, "about apples", "apples answer")
    terminal.submit("/new")
    terminal.wait_for("started a new session")
    terminal.submit("/model beta/beta-one")
    terminal.wait_for("model: beta-one (beta)")
    converse(terminal, "about pears", "pears answer")
    open_list(terminal)
    terminal.press("down", "enter")
    terminal.wait_for("(alpha) alpha-one")
    terminal.submit("go on")
    terminal.wait_for("more apples")
    assert server.requests[-1].json["model"] == "alpha-one"
    assert ("user", "about apples") in said(server.requests[-1])


def test_resume_on_the_command_line_opens_the_list(serve: Any, open_zot: OpenZot) -> None:
    """iface §1.8: `--resume` opens the list of sessions."""
    serve([Say("apples answer")])
    terminal = open_zot()
    converse(terminal, "about apples", "apples answer")
    terminal.submit("/exit")
    terminal.wait_exit()
    again = open_zot("--resume")
    again.wait_for("sessions of this directory")
    again.press("enter")
    again.wait_for("apples answer")


def test_export_goes_to_downloads_without_the_directory(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-187: an export goes to Downloads, with an empty cwd."""
    serve([Say("apples answer")])
    downloads = zot.home / "Downloads"
    downloads.mkdir()
    terminal = open_zot()
    converse(terminal, "about apples", "apples answer")
    terminal.submit("/session export")
    terminal.wait_for("exported to")
    (written,) = downloads.iterdir()
    assert written.suffix == ".zotsession"
    assert written.name.endswith("-about-apples.zotsession")
    assert rows(written, "meta")[0]["meta"]["cwd"] == ""


def test_an_export_is_imported_under_a_new_id_and_opens(
    serve: Any, open_zot: OpenZot, zot: Zot, tmp_path: Path
) -> None:
    """iface-188: an imported session has a new id and this directory, and opens."""
    server = serve([Say("apples answer"), Say("more apples")])
    terminal = open_zot()
    converse(terminal, "about apples", "apples answer")
    terminal.submit(f"/session export {tmp_path}/x")
    terminal.wait_for("exported to")
    terminal.submit("/new")
    terminal.wait_for("started a new session")
    terminal.submit(f"/session import '{tmp_path}/x.zotsession'")
    terminal.wait_for("imported as a new session")
    converse(terminal, "go on", "more apples")
    assert said(server.requests[-1])[0] == ("user", "about apples")
    old, new = (rows(path, "meta")[0]["meta"] for path in zot.sessions)
    assert old["id"] != new["id"]
    assert new["cwd"] == str(zot.project)


def test_import_without_path_is_an_error(serve: Any, open_zot: OpenZot) -> None:
    """iface-189: `/session import` without a path is an error."""
    serve([])
    terminal = open_zot()
    terminal.submit("/session import")
    terminal.wait_for("/session import: expected the path")


def test_fork_leaves_parent_unchanged_and_prompt_in_editor(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-190: a fork leaves the parent file unchanged and puts the prompt into the editor."""
    server = serve([Say("one"), Say("two"), Say("another two")])
    terminal = open_zot()
    converse(terminal, "first prompt", "  one")
    converse(terminal, "second prompt", "  two")
    (parent,) = zot.sessions
    before = parent.read_bytes()
    terminal.submit("/session fork")
    terminal.wait_for("branch off before")
    terminal.press("enter")
    terminal.wait_for("branched off before prompt #2")
    terminal.wait_for("▌ second prompt")
    terminal.type(" changed")
    terminal.wait_for("second prompt changed")
    terminal.press("enter")
    terminal.wait_for("another two")
    assert [text for _, text in said(server.requests[-1])] == ["first prompt", "one", "second prompt changed"]
    assert parent.read_bytes() == before
    branch = next(path for path in zot.sessions if path != parent)
    meta = rows(branch, "meta")[0]["meta"]
    assert meta["parent"] == rows(parent, "meta")[0]["meta"]["id"]
    assert meta["fork_point"] == 2


def test_fork_of_long_session_cuts_at_chosen_message(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-191: a fork of a long resumed session cuts at the message that was chosen."""
    serve([Say("start")])
    terminal = open_zot()
    converse(terminal, "prompt zero", "start")
    terminal.submit("/exit")
    terminal.wait_exit()
    (path,) = zot.sessions
    with path.open("a") as file:
        for number in range(1, 120):
            for role, text in (("user", f"prompt n{number}."), ("assistant", f"answer n{number}.")):
                message = {"role": role, "content": [{"type": "text", "text": text}]}
                file.write(json.dumps({"type": "message", "message": message}) + "\n")
    again = open_zot()
    again.submit("/sessions")
    again.wait_for("prompt zero")
    again.press("enter")
    again.wait_for("resumed: 240 messages")
    again.submit("/session fork")
    again.wait_for("branch off before")
    again.type("n5.")
    again.wait_for("filter: n5.")
    again.press("enter")
    again.wait_for("branched off before prompt #6")
    branch = next(file for file in zot.sessions if file != path)
    texts = [row["message"]["content"][0]["text"] for row in rows(branch, "message")]
    assert len(texts) == 10
    assert texts[-1] == "answer n4."


def test_the_tree_indents_branches_and_marks_the_current_one(serve: Any, open_zot: OpenZot) -> None:
    """iface-192: the tree indents branches and marks the current one."""
    serve([Say("one"), Say("two"), Say("three")])
    terminal = open_zot()
    converse(terminal, "first prompt", "  one")
    converse(terminal, "second prompt", "  two")
    terminal.submit("/session fork")
    terminal.wait_for("branch off before")
    terminal.press("enter")
    terminal.wait_for("branched off before")
    terminal.press("esc")
    terminal.wait_gone("branched off before")
    terminal.submit("/session tree")
    terminal.wait_for("branches of this directory")
    terminal.wait_for("[current]")
    tree = [line for line in terminal.screen.splitlines() if "first prompt" in line][-2:]
    assert tree[0].startswith("  first prompt")
    assert tree[1].startswith("    first prompt [current]")
    assert all(line.endswith("just now") and " msgs · " in line for line in tree)
    terminal.press("up", "enter")
    terminal.wait_for("resumed: 4 messages")


def test_jump_to_the_only_match_opens_it_without_the_list(serve: Any, open_zot: OpenZot) -> None:
    """iface-193: `/jump` with a single match opens it without the list."""
    serve([Say("red ones"), Say("yellow ones"), Say("ripe ones")])
    terminal = open_zot()
    converse(terminal, "tell me of apples", "red ones")
    converse(terminal, "tell me of bananas", "yellow ones")
    converse(terminal, "tell me of cherries", "ripe ones")
    terminal.submit("/jump banana")
    terminal.wait_for("turn 2 of 3")
    assert b"\x1b[?1049h" in terminal.raw  # on the alternate screen: nothing of the terminal's own is touched
    terminal.wait_for("yellow ones")
    terminal.press("right")
    terminal.wait_for("turn 3 of 3")
    terminal.type("/apples")
    terminal.press("enter")
    terminal.wait_for("turn 1 of 3")
    terminal.press("esc")
    terminal.wait_until(lambda: b"\x1b[?1049l" in terminal.raw)
    terminal.submit("/jump tell")
    terminal.wait_for("jump to")
    terminal.wait_for("#3")


def test_a_session_in_use_is_offered_as_a_branch(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """two processes on one session: the second is offered a branch of it."""
    server = serve([Say("apples answer"), Say("more apples")])
    first = open_zot()
    converse(first, "about apples", "apples answer")
    second = open_zot()
    open_list(second)
    second.press("enter")
    second.wait_for("Another zot has this session open.")
    second.press("down", "enter")
    second.wait_for("resumed: 2 messages")
    converse(second, "go on", "more apples")
    assert said(server.requests[-1])[0] == ("user", "about apples")
    assert len(zot.sessions) == 2
    assert sum("go on" in path.read_text() for path in zot.sessions) == 1


def test_tab_shows_the_sessions_of_all_directories(serve: Any, open_zot: OpenZot, zot: Zot, tmp_path: Path) -> None:
    serve([Say("apples answer"), Say("pears answer")])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = open_zot("--cwd", str(elsewhere))
    converse(other, "about apples", "apples answer")
    other.submit("/exit")
    other.wait_exit()
    terminal = open_zot()
    converse(terminal, "about pears", "pears answer")
    open_list(terminal)
    assert "about apples" not in terminal.screen
    terminal.press("tab")
    terminal.wait_for("sessions of all directories")
    terminal.wait_for("about apples")
    terminal.press("tab")
    terminal.wait_for("sessions of this directory")
    terminal.wait_gone("about apples")


def test_runs_without_an_answer_are_listed_last(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """issue 29.17: failed one-shot runs do not hide the conversations before them."""
    serve([Say("apples answer")])
    terminal = open_zot()
    converse(terminal, "about apples", "apples answer")
    for number in range(2):
        zot("-p", f"failing run {number}", "--base-url", "http://127.0.0.1:9", "--api-key", "x", model=False)
    terminal.submit("/sessions")
    terminal.wait_for("no answer, 1 msg")
    shown = [row for row in terminal.screen.splitlines() if "ago" in row or "just now" in row]
    assert "about apples" in shown[0] and all("failing run" in row for row in shown[1:])
