"""Tool calls on the screen: live while they run, a summary line afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Held, Raw, Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

GLYPHS = "●✖⊘◌"
TOOK = re.compile(r" · \d+\.\d s(?= ·|$)")  # which a slow machine adds anywhere


def calls_of(terminal: FakeTerminal) -> list[list[str]]:
    """Every call in the scrollback and on the screen, as its head and the rows of its body."""
    found: list[list[str]] = []
    inside = False
    for row in terminal.everything.split("\n"):
        if row[:1] in GLYPHS and row[1:2] == " ":
            found.append([TOOK.sub("", row)])
            inside = True
        elif inside and row.startswith("    "):
            found[-1].append(row[4:])
        else:
            inside = False
    return found


def run(terminal: FakeTerminal, until: str = "all done") -> None:
    terminal.submit("go")
    terminal.wait_for(until)
    terminal.wait_idle()


def test_three_calls_in_one_message_give_three_lines(serve: Any, open_zot: OpenZot) -> None:
    """iface-094: three calls in one message give three lines, without a frame and without blank rows between them."""
    calls = [("bash", {"command": f"echo out-{i}"}) for i in range(3)]
    serve([CallTools(calls), Say("all done")])
    terminal = open_zot(rows=50)
    run(terminal)
    heads = [f"● Ran echo out-{i} · out-{i}" for i in range(3)]
    assert calls_of(terminal) == [[head] for head in heads]
    assert "\n".join(heads) in "\n".join(TOOK.sub("", row) for row in terminal.everything.split("\n"))
    assert not re.search("[│┌└┐┘]", terminal.everything)


def test_read_edit_and_a_failing_command_take_24_rows(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """Three calls, their diff and the end of the failed output are visible at once, without padding."""
    prices = "".join(f"PRICE_{i} = {i}\n" for i in range(60))
    (project / "prices.py").write_text(prices)
    edit = {"path": "prices.py", "edits": [{"oldText": "PRICE_30 = 30\n", "newText": "PRICE_30 = 31\nNEW = 1\n"}]}
    fails = {"command": "seq 1 40; echo boom; exit 2"}
    calls = [("read", {"path": "prices.py"}), ("edit", edit), ("bash", fails)]
    serve([*[CallTools([call]) for call in calls], Say("all done")])
    terminal = open_zot(columns=110, rows=40)
    run(terminal)
    rows = terminal.everything.split("\n")
    first = next(i for i, row in enumerate(rows) if row.startswith("● Read prices.py"))
    last = next(i for i, row in enumerate(rows) if "all done" in row)
    assert last - first <= 24
    assert any(row.startswith("● Edited prices.py (+2 −1)") for row in rows)
    assert any(re.match(r"✖ Ran seq 1 40; echo boom; exit 2 · exit 2", row) for row in rows)
    assert "    boom" in rows and "    40" in rows and "    20" not in rows
    assert not any("PRICE_10 =" in row for row in rows), "nobody asked to see the file"


def test_call_state_is_visible_without_colours(serve: Any, open_zot: OpenZot) -> None:
    calls = [("bash", {"command": "true"}), ("bash", {"command": "false"}), ("read", {"path": "nowhere.txt"})]
    serve([CallTools(calls), Say("all done")])
    terminal = open_zot(env={"NO_COLOR": "1"}, rows=40)
    run(terminal)
    heads = [call[0] for call in calls_of(terminal)]
    assert heads[0].startswith("● Ran true") and heads[1].startswith("✖ Ran false · exit 1")
    assert heads[2].startswith("✖ Read nowhere.txt · ")


def test_denied_call_has_its_own_mark_and_reason(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "touch x"})]), Say("all done")])
    terminal = open_zot("--no-yolo", rows=40)
    terminal.submit("go")
    terminal.wait_for("run bash?")
    terminal.press("r")
    terminal.wait_for("because")
    terminal.type("not now")
    terminal.press("enter")
    terminal.wait_for("all done")
    assert calls_of(terminal) == [["⊘ Run touch x · refused: not now · denied by you"]]


def test_decisions_are_shown_after_resume(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """The models' requests do not name who decided."""
    run_it = CallTools([("bash", {"command": "touch x"})])
    server = serve([run_it, run_it, Say("all done"), Say("and on")])
    terminal = open_zot("--no-yolo", rows=40)
    terminal.submit("go")
    terminal.wait_for("run bash?")
    terminal.press("4")
    terminal.wait_for("denied by you")
    terminal.wait_for("run bash?")
    terminal.press("1")
    terminal.wait_for("all done")
    calls = calls_of(terminal)
    assert [call[0].rpartition(" · ")[2] for call in calls] == ["denied by you", "allowed by you"]
    terminal.press("ctrl+d")
    terminal.wait_exit()
    again = open_zot("-c", rows=40)
    again.wait_for("all done")
    assert calls_of(again) == calls
    again.submit("go on")
    again.wait_for("and on")
    assert "by you" not in str(server.requests[-1].json)


def test_extension_denial_stays_a_denial_after_resume(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([CallTools([("bash", {"command": "touch x"})]), Say("all done")])
    words = 'hello(); subscribe(intercept=["tool_call"]); ready()\n'
    words += 'serve(event_intercept=lambda f: answer(f, block=True, reason="only on Mondays"))'
    write_extension(zot.home / "zot" / "extensions", "mondays", words)
    terminal = open_zot(rows=40)
    run(terminal)
    calls = calls_of(terminal)
    assert calls == [["⊘ Run touch x · only on Mondays · denied by extension mondays"]]
    terminal.press("ctrl+d")
    terminal.wait_exit()
    again = open_zot("-c", rows=40)
    again.wait_for("all done")
    assert calls_of(again) == calls


def test_neighbouring_reads_and_searches_are_one_line(serve: Any, open_zot: OpenZot, project: Path) -> None:
    for name in ("a.py", "b.py"):
        (project / name).write_text("total = 1\n")
    read = [("read", {"path": "a.py"}), ("read", {"path": "b.py"})]
    search = [("grep", {"pattern": "total"}), ("bash", {"command": "true"}), ("read", {"path": "b.py"})]
    serve([CallTools(read), CallTools(search), Say("all done")])
    terminal = open_zot("--tools", "read,grep,bash", rows=40)
    run(terminal)
    heads = [call[0] for call in calls_of(terminal)]
    assert heads[0] == '● Read a.py, b.py · searched "total"'
    assert heads[1].startswith("● Ran true") and heads[2] == "● Read b.py"
    terminal.press("ctrl+d")
    terminal.wait_exit()
    again = open_zot("-c", "--tools", "read,grep,bash", rows=40)
    again.wait_for("all done")
    assert [call[0] for call in calls_of(again)] == heads


def test_many_reads_are_counted(serve: Any, open_zot: OpenZot, project: Path) -> None:
    names = [f"a-rather-long-name-{i}.txt" for i in range(6)]
    for name in names:
        (project / name).write_text("x\n")
    serve([CallTools([("read", {"path": name}) for name in names]), Say("all done")])
    terminal = open_zot(rows=40)
    run(terminal)
    assert [call[0] for call in calls_of(terminal)] == ["● Read 6 files"]


def in_pieces(name: str, pieces: list[str], held: tuple[bytes, ...]) -> Held:
    """Anthropic's events of one call with arguments in pieces, some of them released by the test."""

    def event(kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

    deltas = [
        event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": piece})
        for piece in pieces
    ]
    usage = {"input_tokens": 5, "output_tokens": 5}
    chunks = [
        event("message_start", message={"id": "m", "role": "assistant", "model": "x", "content": [], "usage": usage}),
        event(
            "content_block_start",
            index=0,
            content_block={"type": "tool_use", "id": "call-1", "name": name, "input": {}},
        ),
        *deltas,
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "tool_use"}, usage=usage),
        event("message_stop"),
    ]
    return Held(Raw(200, {"content-type": "text/event-stream"}, chunks), held)


def test_streaming_write_shows_path_and_growing_content(serve: Any, open_zot: OpenZot) -> None:
    """iface-095: while `write` streams, its path is in the label and the content grows."""
    pieces = ['{"path":"deep/new.py",', '"content":"import os\\n', "def f():\\n", "    return 42\\n", '"}']
    server = serve([in_pieces("write", pieces, (b"import os", b"return 42", b"message_stop")), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("Writing deep/new.py")
    assert "import os" not in terminal.screen
    server.go_on()
    terminal.wait_for("1 import os")
    assert "return 42" not in terminal.screen
    server.go_on()
    terminal.wait_for("3     return 42")
    server.go_on()
    terminal.wait_for("all done")
    assert (Path(terminal._cwd) / "deep" / "new.py").exists()


def test_while_edit_streams_the_number_of_the_edit_is_shown(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-096: while `edit` streams, the number of the current edit is shown."""
    (project / "a.txt").write_text("one\ntwo\n")
    pieces = ['{"path":"a.txt","edits":[{"oldText":"one","newText":"ONE', '"},{"oldText":"two",', '"newText":"TWO"}]}']
    server = serve([in_pieces("edit", pieces, (b"two", b"TWO")), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("edit 1")
    server.go_on()
    terminal.wait_for("edit 2")
    server.go_on()
    terminal.wait_for("all done")


def test_running_command_shows_time_and_live_output(serve: Any, open_zot: OpenZot) -> None:
    """iface-097, iface-098: a running command stays visible with its time, and its output is live."""
    command = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo finished"
    serve([CallTools([("bash", {"command": command})]), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("    begun")
    terminal.wait_until(lambda: re.search(r"Running echo .* [1-9]\.\d s", terminal.screen) is not None, "the time")
    (Path(terminal._cwd) / "go").touch()
    terminal.wait_until(lambda: re.search(r"● Ran echo .* s · 2 lines", terminal.screen) is not None, "the end")


def test_results_appear_when_each_is_done_not_when_all_are(serve: Any, open_zot: OpenZot) -> None:
    """iface-097: each result appears when it is there, not when all are."""
    calls = [("bash", {"command": "echo early"}), ("bash", {"command": "while [ ! -e go ]; do sleep 0.05; done"})]
    serve([CallTools(calls), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("● Ran echo early")
    (Path(terminal._cwd) / "go").touch()
    terminal.wait_for("all done")


def test_failed_output_shows_its_end_and_hidden_row_count(serve: Any, open_zot: OpenZot) -> None:
    """iface-099: of a long output that failed the last rows are shown, and how many are hidden."""
    commands = ["seq 1000 1099; exit 3", "seq 1000 1009; exit 3"]
    serve([CallTools([("bash", {"command": command}) for command in commands]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    long, short = calls_of(terminal)
    assert long[1:] == ["… 92 earlier rows · ctrl+o shows all", *(str(n) for n in range(1092, 1100))]
    assert short[1:] == [str(n) for n in range(1000, 1010)], "a hint would save nothing"


def test_a_command_the_user_runs_shows_its_output(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot(rows=60)
    terminal.submit("!seq 1000 1029")
    terminal.wait_for("● Ran seq 1000 1029")
    [call] = calls_of(terminal)
    assert call[1:] == [str(n) for n in range(1000, 1030)]


def test_a_long_command_is_one_row_and_in_full_with_ctrl_o(serve: Any, open_zot: OpenZot) -> None:
    long = "true " + "very-long-argument " * 9
    commands = [long, "echo first\necho second"]
    serve([CallTools([("bash", {"command": command}) for command in commands]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    heads = [call[0] for call in calls_of(terminal)]
    assert heads[0].startswith("● Ran true very-long") and "…" in heads[0]
    assert heads[1].startswith("● Ran echo first … · ") and heads[1].endswith("2 lines")
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    assert "".join(terminal.screen.split()).count("very-long-argument") >= 9
    assert "    echo second" in terminal.screen


def test_cancelled_command_keeps_its_output(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "seq 1000 1099; sleep 60"})])])
    terminal = open_zot(rows=60)
    terminal.submit("go")
    terminal.wait_for("    1099")
    terminal.press("esc")
    terminal.wait_for("◌ Ran seq 1000 1099; sleep 60 · interrupted")
    call = calls_of(terminal)[0]
    assert call[-1] == "1099" and len(call) == 10


def test_edits_show_true_line_numbers_in_green_and_red(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-102: edits show true line numbers, added rows green and removed rows red."""
    (project / "big.txt").write_text("".join(f"line {i}\n" for i in range(1, 201)))
    edits = [{"oldText": "line 120\n", "newText": "changed\n"}]
    serve([CallTools([("edit", {"path": "big.txt", "edits": edits})]), Say("all done")])
    terminal = open_zot(rows=50)
    run(terminal)
    assert "-120 line 120" in terminal.screen
    assert "+120 changed" in terminal.screen
    assert terminal.cell("-120 ").fg == "ff5f5f"
    assert terminal.cell("+120 ").fg == "87d787"
    assert " 117 line 117" in terminal.screen


def test_read_label_has_range_and_rows_are_numbered_from_it(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-103, iface-104: `read` is labelled with its range and numbers its rows from the offset."""
    (project / "f.txt").write_text("".join(f"row {i}\n" for i in range(1, 100)))
    serve([CallTools([("read", {"path": "f.txt", "offset": 10, "limit": 5})]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    assert "● Read f.txt:10-14" in terminal.screen and "row 10" not in terminal.screen
    terminal.press("ctrl+o")
    terminal.wait_for("  10 row 10")
    assert "  14 row 14" in terminal.screen


def test_long_line_continues_after_a_mark_in_full_view(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """A change at the end of a long line is seen; nothing is cut."""
    (project / "long.txt").write_text("begins " + "x" * 300 + " ends\n")
    edit = {"path": "long.txt", "edits": [{"oldText": " ends", "newText": " is over"}]}
    serve([CallTools([("read", {"path": "long.txt"})]), CallTools([("edit", edit)]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    edited = "\n".join(next(call for call in calls_of(terminal) if "Edited" in call[0]))
    assert " ends" in edited and " is over" in edited and "↪" in edited and "x…" not in edited
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    assert "↪" in terminal.screen and terminal.screen.count(" ends") == 2 and "x…" not in terminal.screen


def test_returns_tabs_and_colours_of_output_stay_in_their_row(serve: Any, open_zot: OpenZot) -> None:
    """iface-106: output is shown as a terminal would leave it: text overwritten by a carriage return is gone."""
    command = r"printf 'a\tb\n10%%\r20%%\rover\n\033[31mred\033[0m\twide日本\nbell\a\b\n'; exit 1"
    serve([CallTools([("bash", {"command": command})]), Say("all done")])
    terminal = open_zot(rows=40)
    run(terminal)
    [call] = calls_of(terminal)
    assert [row.rstrip() for row in call[1:]] == ["a       b", "over", "red     wide日本", "bell"]


def test_error_shows_reason_in_red(serve: Any, open_zot: OpenZot) -> None:
    """iface-107: an error is red and shows its reason."""
    serve([CallTools([("read", {"path": "nowhere.txt"}), ("bash", {"command": "echo oops; exit 3"})]), Say("all done")])
    terminal = open_zot(rows=50)
    run(terminal)
    missing, failed = calls_of(terminal)
    assert missing[0].startswith("✖ Read nowhere.txt · no such file")
    assert failed[0].startswith("✖ Ran echo oops; exit 3 · exit 3") and failed[1:] == ["oops"]
    assert terminal.cell("✖ Read").fg == terminal.cell("no such file").fg == "ff5f5f"


def test_cancelled_call_shows_cancelled(serve: Any, open_zot: OpenZot) -> None:
    """iface-161: a cancelled call leaves one line."""
    serve([CallTools([("bash", {"command": "sleep 60"})])])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("Running sleep 60")
    terminal.press("esc")
    terminal.wait_for("◌ Ran sleep 60 · interrupted")
    terminal.wait_gone("Running sleep 60")


def test_ctrl_o_shows_folded_calls_on_its_own_screen(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-100: ctrl+o shows settled calls in full on a screen of their own."""
    (project / "long").write_text("".join(f"u{i}\n" for i in range(30)))
    serve([CallTools([("read", {"path": "long"})]), Say("all done")])
    terminal = open_zot()
    run(terminal)
    before = terminal.everything
    terminal.press("ctrl+o")
    terminal.wait_for("in full")
    assert "u29" in terminal.screen
    terminal.press("ctrl+o")
    terminal.wait_gone("in full")
    terminal.wait_idle()
    assert "u29" not in terminal.screen
    assert b"\x1b[3J" not in terminal.raw
    assert before.count("all done") == 1


def png(width: int, height: int) -> bytes:
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + b"\x80\x40\x20" * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_image_is_drawn_if_supported_else_captioned(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-101, iface-118: an image is drawn where the terminal can, and never folded."""
    (project / "pic.png").write_bytes(png(200, 200))
    serve([CallTools([("read", {"path": "pic.png"})]), Say("all done")])
    terminal = open_zot(env={"ZOT_INLINE_IMAGES": "kitty"}, rows=40)
    run(terminal)
    assert b"\x1b_Ga=T,f=100,C=1" in terminal.raw
    assert "[image/png, 200×200 px" in terminal.screen
    assert "● Read pic.png" in terminal.screen
    assert "ctrl+o" not in terminal.screen


def test_image_without_graphics_is_a_caption_without_escapes(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-118, iface-119: without graphics an image is a caption, and no escape is written."""
    (project / "pic.png").write_bytes(png(20, 20))
    serve([CallTools([("read", {"path": "pic.png"})]), Say("all done")])
    terminal = open_zot(env={"ZOT_INLINE_IMAGES": "off", "KITTY_WINDOW_ID": "1"})
    run(terminal)
    assert "[image/png, 20×20 px" in terminal.screen
    assert b"\x1b_G" not in terminal.raw
