"""Commands that act on the conversation: clear, new, compact, study, the shell escape, and unknown commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Refuse, Say, Silent, Slow
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import configure, rows, said
from zot import __version__


@pytest.fixture
def zot(zot: Zot) -> Zot:
    """With a model of 200k tokens, for 3 dollars a million tokens in and 15 out, as the figures below assume."""
    zot.model_id = "claude-sonnet-4-5"
    return zot


def test_an_unknown_command_is_reported_and_nothing_is_sent(serve: Any, open_zot: OpenZot) -> None:
    """iface-157: an unknown command is reported, stays in the editor and sends nothing."""
    server = serve([Say("never")])
    terminal = open_zot()
    terminal.submit("/nope now")
    terminal.wait_for("unknown command /nope")
    assert "/nope now" in terminal.screen  # the text stays in the editor
    assert server.requests == []


def test_a_mistyped_command_is_answered_with_the_likely_one(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("never")])
    terminal = open_zot()
    terminal.submit("/modle")
    terminal.wait_for("unknown command /modle; did you mean /model?")
    terminal.press("ctrl+u")
    terminal.submit("/cost")
    terminal.wait_for("total  ")
    assert "unknown command" not in terminal.screen  # what went wrong before is over


def test_a_path_is_a_prompt(serve: Any, open_zot: OpenZot) -> None:
    """iface-156: text that begins like a path is sent to the model."""
    server = serve([Say("a directory")])
    terminal = open_zot()
    terminal.submit("/usr/bin is what")
    terminal.wait_for("a directory")
    assert said(server.requests[0])[-1] == ("user", "/usr/bin is what")


def test_command_names_may_be_written_in_capitals(serve: Any, open_zot: OpenZot) -> None:
    """iface-288: /CLEAR works; the argument of /model preserves its case."""
    serve([Say("hello")])
    terminal = open_zot()
    terminal.submit("/CLEAR")
    terminal.wait_for("started a new conversation")
    terminal.submit("/model GPT-x")
    terminal.wait_for('unknown model "GPT-x"')


def test_session_runs_the_operations_and_not_the_list(serve: Any, open_zot: OpenZot) -> None:
    """iface-154: `/session` opens the operations, not the list of sessions."""
    serve([])
    terminal = open_zot()
    terminal.submit("/session")
    terminal.wait_for("write it to a .zotsession file")
    assert "sessions of this directory" not in terminal.screen


def test_clear_begins_a_session_that_stays_clear_after_resume(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-168: `/clear` begins a new session, and resuming does not bring the old messages back."""
    server = serve([Say("first answer"), Say("second answer")])
    terminal = open_zot()
    terminal.submit("remember apples")
    terminal.wait_for("first answer")
    terminal.submit("/clear")
    terminal.wait_for("started a new conversation")
    terminal.submit("now pears")
    terminal.wait_for("second answer")
    assert said(server.requests[1]) == [("user", "now pears")]
    terminal.submit("/exit")
    terminal.wait_exit()
    assert len(zot.sessions) == 2
    again = open_zot("--continue")
    again.wait_for("now pears")
    assert "remember apples" not in again.everything


def test_clear_from_the_popup_ends_the_turn_first(serve: Any, open_zot: OpenZot) -> None:
    """iface-167: `/clear` from the popup cancels the running turn first."""
    server = serve([Silent(Say("some words that never end"), after_bytes=1200), Say("after")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_until(lambda: len(server.requests) == 1)
    terminal.type("/cle")
    terminal.wait_for("start a new conversation")
    terminal.press("enter")
    terminal.wait_for("started a new conversation")
    assert server.wait_until_client_closes()
    terminal.submit("next")
    terminal.wait_for("after")
    assert said(server.requests[1]) == [("user", "next")]


def test_new_keeps_the_session_in_the_list_and_starts_at_zero(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-290: `/new` leaves the old session in the list and starts the figures at zero."""
    serve([Say("first answer", usage=(5000, 50)), Say("second")])
    terminal = open_zot()
    terminal.submit("keep me")
    terminal.wait_for("first answer")
    terminal.wait_for("↑5.0k")
    terminal.submit("/new")
    terminal.wait_for("started a new session")
    assert "↑5.0k" not in terminal.screen
    assert "claude-sonnet-4-5" in terminal.screen
    terminal.submit("/sessions")
    terminal.wait_for("sessions of this directory")
    terminal.wait_for("keep me")


def test_new_is_refused_without_sessions(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot("--no-session")
    terminal.submit("/new")
    terminal.wait_for("/new requires sessions")


def test_compact_of_one_exchange_resets_the_meter(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-309, iface-169: queued prompts follow, and the model sees one summary that ends with the instruction."""
    server = serve([Say("an answer", usage=(20_000, 5)), Slow(Say("the summary"), 0.3), Say("went on", usage=(11, 5))])
    terminal = open_zot()
    terminal.submit("my exact words")
    terminal.wait_for("10.0%/200k")
    terminal.submit("/compact")
    terminal.wait_for("compacting")
    terminal.submit("and then this")
    terminal.wait_for("went on")
    shown = said(server.requests[2])
    assert shown[-1][1].endswith("and then this")
    assert "the summary" in shown[0][1]
    assert "my exact words" in shown[0][1]
    terminal.wait_gone("10.0%/200k")


def test_compacting_nothing_is_an_error(serve: Any, open_zot: OpenZot) -> None:
    """iface-309: compacting an empty conversation is an error and sends nothing."""
    server = serve([])
    terminal = open_zot()
    terminal.submit("/compact")
    terminal.wait_for("nothing to compact")
    assert server.requests == []


def test_esc_cancels_a_compaction_and_changes_nothing(serve: Any, open_zot: OpenZot) -> None:
    server = serve([Say("an answer"), Silent(Say("the summary")), Say("still here")])
    terminal = open_zot()
    terminal.submit("my words")
    terminal.wait_for("an answer")
    terminal.submit("/compact")
    terminal.wait_until(lambda: len(server.requests) == 2)
    terminal.press("esc")
    terminal.wait_for("nothing was compacted")
    terminal.submit("go on")
    terminal.wait_for("still here")
    assert said(server.requests[2])[0] == ("user", "my words")


def test_study_waits_its_turn(serve: Any, open_zot: OpenZot) -> None:
    """iface-172: `/study` during a turn waits for it."""
    server = serve([Slow(Say("one two three"), 0.3), Say("studied")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_until(lambda: len(server.requests) == 1)
    terminal.submit("/study src")
    terminal.wait_for("sliding in: Study src")
    terminal.wait_for("studied")
    assert "Study src" in said(server.requests[1])[-1][1]


def test_shell_escape_needs_no_model_and_next_turn_sees_it(
    serve: Any, open_zot: OpenZot, project: Path, zot: Zot
) -> None:
    """iface-289: `!ls` runs without a model call, and the next turn sees its output."""
    (project / "here.txt").write_text("")
    server = serve([Say("I see it")])
    terminal = open_zot()
    terminal.submit("!ls; exit 3")
    terminal.wait_for("here.txt")
    terminal.wait_for("✖ Ran ls; exit 3 · exit 3")
    assert server.requests == []
    terminal.submit("what is there?")
    terminal.wait_for("I see it")
    told = "\n".join(text for _, text in said(server.requests[0]))
    assert "here.txt" in told and "[exit 3]" in told
    assert any("here.txt" in str(row) for row in rows(zot.sessions[0], "message"))


def test_esc_ends_a_shell_escape_and_all_it_started(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-289: esc ends a shell escape and all the processes it started."""
    serve([])
    terminal = open_zot()
    terminal.submit("!echo begun; sleep 1000; touch late")
    terminal.wait_for("begun")
    terminal.press("esc")
    terminal.wait_for("cancelled")
    terminal.submit("!echo again")
    terminal.wait_for("● Ran echo again")
    assert not (project / "late").exists()


def test_a_shell_escape_is_refused_while_a_turn_runs(serve: Any, open_zot: OpenZot) -> None:
    """iface-289: a shell escape is refused while a turn runs."""
    server = serve([Silent(Say("slow"))])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_until(lambda: len(server.requests) == 1)
    terminal.submit("!ls")
    terminal.wait_for("a turn is running")


def test_jailed_run_attaches_nothing_from_outside(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """engine-225: a link of the project that leads out, through `!@` and as a picture that is dropped."""
    server = serve([Say("seen")])
    (zot.project.parent / "private.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (zot.project.parent / "private.txt").write_text("s3cr3t")
    (zot.project / "notes.txt").symlink_to("../private.txt")
    terminal = open_zot(columns=200)  # the paths are long, and the line is not to be broken
    terminal.submit("/jail")
    terminal.wait_for("jailed (full)")
    terminal.type("!@notes")
    terminal.wait_for("notes.txt")
    terminal.press("enter")
    terminal.wait_for("[content:notes.txt]")
    terminal.press("enter")
    terminal.wait_for("cannot attach")
    terminal.wait_for(": jailed:")
    terminal.press("ctrl+c")
    terminal.wait_gone("[content:notes.txt]")
    terminal.paste(str(zot.project.parent / "private.png"))
    terminal.wait_for("jailed: ")
    terminal.press("enter")
    terminal.wait_for("seen")
    sent = str(server.requests[-1].json["messages"])
    assert "private.png" in sent and "image" not in sent.replace("private.png", "") and "s3cr3t" not in sent


def test_the_jail_is_shown_while_it_is_there(serve: Any, open_zot: OpenZot) -> None:
    """iface-114: `jailed` appears after `/jail` and disappears after `/unjail`."""
    serve([])
    terminal = open_zot(columns=120)
    terminal.submit("/jail")
    terminal.wait_for("jailed (full)")
    terminal.wait_for("leave with /unjail")
    terminal.submit("!touch ../outside; echo ended $?")
    terminal.wait_for("ended")
    terminal.submit("/unjail")
    terminal.wait_for("left the jail")
    terminal.wait_gone("jailed (full)")
    terminal.submit("/unjail")
    terminal.wait_for("not in a jail")


def test_help_lists_commands_and_the_true_keys(serve: Any, open_zot: OpenZot) -> None:
    """iface-174: `/help` lists the commands and the keys as they are bound."""
    serve([])
    terminal = open_zot(rows=90)
    terminal.submit("/help")
    terminal.wait_for("show the cost by model and by turn")
    terminal.wait_for("cancel or clear; twice: quit")
    terminal.wait_for("steer: send what is typed")
    terminal.press("esc")
    terminal.wait_gone("what was spent")


def test_help_scrolls_on_a_small_screen(serve: Any, open_zot: OpenZot) -> None:
    """iface-174: `/help` scrolls on a small screen."""
    serve([])
    terminal = open_zot(columns=40, rows=12)
    terminal.submit("/help")
    terminal.wait_for("1–")
    terminal.press("end")
    terminal.wait_for("suspend zot")
    terminal.press("esc")
    terminal.wait_gone("suspend zot")


def test_cost_is_shown_by_model_and_turn(serve: Any, open_zot: OpenZot) -> None:
    serve([Say("one", usage=(10_000, 0)), Say("two", usage=(20_000, 0))])
    terminal = open_zot(columns=100)
    terminal.submit("first question")
    terminal.wait_for("  one")
    terminal.submit("second question")
    terminal.wait_for("  two")
    terminal.submit("/cost")
    terminal.wait_for("total  ")
    screen = terminal.screen
    assert "#1 first question" in screen and "$0.0300" in screen
    assert "#2 second question" in screen and "$0.0600" in screen
    assert "$0.0900" in screen


def test_limit_ends_turn_in_terminal_and_cost_shows_it(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Say("one", usage=(100_000, 10_000)), Say("never")])  # $0.45
    configure(zot, max_cost_day=0.4)
    terminal = open_zot("--max-cost", "3", columns=100)
    terminal.submit("first question")
    terminal.wait_for("  one")
    terminal.submit("second question")
    terminal.wait_for("cost limit for today of $0.4 reached ($0.4500 spent)")
    assert len([request for request in server.requests if request.method == "POST"]) == 1
    terminal.wait_for("▌ second question")  # it is back in the editor
    terminal.press("esc")
    terminal.wait_gone("▌ second question")
    terminal.submit("/cost")
    terminal.wait_for("session limit: $3; $0.4500 of $0.4 spent today")


def test_doctor_command_equals_zot_doctor(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot()
    terminal.submit("/doctor")
    terminal.wait_for("nothing is wrong")
    assert f"zot          {__version__}, Python" in terminal.screen and "credentials" in terminal.screen
    terminal.press("esc")
    terminal.wait_gone("nothing is wrong")


def test_full_context_is_compacted_automatically_and_marked(serve: Any, open_zot: OpenZot) -> None:
    """iface-170: at 85 % the context is compacted by itself and marked `(auto)`."""
    full = Say("three", usage=(171_000, 5))
    server = serve([Say("one"), Say("two"), full, Slow(Say("the summary"), 0.3), Say("went on")])
    terminal = open_zot()
    for prompt, answer in (("a1", "  one"), ("a2", "  two"), ("a3", "  three")):
        terminal.submit(prompt)
        terminal.wait_for(answer)
    terminal.wait_for("85.5%/200k")
    terminal.submit("second")
    terminal.wait_for("(auto)")
    terminal.wait_for("went on")
    assert "(auto)" not in terminal.screen
    assert "the summary" in said(server.requests[-1])[0][1]


def test_too_large_request_is_compacted_and_sent_again(serve: Any, open_zot: OpenZot) -> None:
    """iface-171: a request that is too large is compacted and sent again, with one user message."""
    too_large = Refuse(413, "payload too large")
    server = serve([Say("one"), Say("two"), Say("three"), too_large, Say("the summary"), Say("it fits now")])
    terminal = open_zot()
    for prompt, answer in (("a1", "  one"), ("a2", "  two"), ("a3", "  three")):
        terminal.submit(prompt)
        terminal.wait_for(answer)
    terminal.submit("the big one")
    terminal.wait_for("it fits now")
    retried = said(server.requests[-1])
    assert [text for role, text in retried if role == "user" and text == "the big one"] == ["the big one"]
    assert terminal.everything.count("› the big one") == 1
