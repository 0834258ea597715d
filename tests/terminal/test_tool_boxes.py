"""Tool calls on the screen: alive while they run, closed when they are done."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.fakes.model_server import CallTools, Raw, Say, Slow
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot


def boxes(terminal: FakeTerminal) -> list[list[str]]:
    """Every closed box in the scrollback and on the screen, as its rows."""
    found: list[list[str]] = []
    for row in terminal.everything.split("\n"):
        if "┌─" in row:
            found.append([])
        if found:
            found[-1].append(row)
    return [
        rows[: next(i for i, row in enumerate(rows) if "└" in row) + 1] for rows in found if any("└" in r for r in rows)
    ]


def run(terminal: FakeTerminal, until: str = "all done") -> None:
    terminal.submit("go")
    terminal.wait_for(until)
    terminal.wait_idle()


def test_three_calls_in_one_message_give_three_closed_boxes(serve: Any, open_zot: OpenZot) -> None:
    """iface-094: three calls in one message give three closed boxes."""
    calls = [("bash", {"command": f"echo out-{i}"}) for i in range(3)]
    serve([CallTools(calls), Say("all done")])
    terminal = open_zot(rows=50)
    run(terminal)
    assert len(boxes(terminal)) == 3
    for number, box in enumerate(boxes(terminal)):
        assert any(f"out-{number}" in row for row in box[1:-1])
        assert all(row.rstrip().endswith(("┐", "│", "┘")) for row in box)


def slow_arguments(name: str, pieces: list[str], delay: float = 0.15) -> Slow:
    """Anthropic's events of one call whose arguments come in pieces."""

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
    return Slow(Raw(200, {"content-type": "text/event-stream"}, chunks), delay)


def test_while_write_streams_its_path_is_in_the_label_and_the_content_grows(serve: Any, open_zot: OpenZot) -> None:
    """iface-095: while `write` streams, its path is in the label and the content grows."""
    pieces = ['{"path":"deep/new.py",', '"content":"import os\\n', "def f():\\n", "    return 42\\n", '"}']
    serve([slow_arguments("write", pieces, 1.0), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("write deep/new.py")
    terminal.wait_for("1 import os")
    assert "return 42" not in terminal.screen
    terminal.wait_for("3     return 42")
    terminal.wait_for("all done")
    assert (Path(terminal._cwd) / "deep" / "new.py").exists()


def test_while_edit_streams_the_number_of_the_edit_is_shown(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-096: while `edit` streams, the number of the current edit is shown."""
    (project / "a.txt").write_text("one\ntwo\n")
    pieces = ['{"path":"a.txt","edits":[{"oldText":"one","newText":"ONE', '"},{"oldText":"two",', '"newText":"TWO"}]}']
    serve([slow_arguments("edit", pieces, 1.0), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("edit 1")
    terminal.wait_for("edit 2")
    terminal.wait_for("all done")


def test_a_running_command_stays_visible_with_its_time_and_its_output_is_live(serve: Any, open_zot: OpenZot) -> None:
    """iface-097, iface-098: a running command stays visible with its time, and its output is live."""
    command = "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo finished"
    serve([CallTools([("bash", {"command": command})]), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("│ begun")
    terminal.wait_until(lambda: re.search(r"bash .*running [1-9]\.\ds", terminal.screen) is not None, "the time")
    assert "bash echo begun" in terminal.screen
    (Path(terminal._cwd) / "go").touch()
    terminal.wait_for("│ finished")
    terminal.wait_for("[exit 0]  Took")


def test_results_appear_when_each_is_done_not_when_all_are(serve: Any, open_zot: OpenZot) -> None:
    """iface-097: each result appears when it is there, not when all are."""
    calls = [("bash", {"command": "echo early"}), ("bash", {"command": "while [ ! -e go ]; do sleep 0.05; done"})]
    serve([CallTools(calls), Say("all done")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("[exit 0]  Took")
    assert "early" in terminal.screen
    (Path(terminal._cwd) / "go").touch()
    terminal.wait_for("all done")


def test_a_long_result_is_folded_and_a_twelve_row_one_is_not(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-099: thirteen rows are folded to ten; twelve are shown whole."""
    (project / "twelve").write_text("".join(f"t{i}\n" for i in range(12)))
    (project / "thirteen").write_text("".join(f"u{i}\n" for i in range(13)))
    serve([CallTools([("read", {"path": "twelve"}), ("read", {"path": "thirteen"})]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    assert "t11" in terminal.screen
    assert "u9" in terminal.screen
    assert "u10" not in terminal.screen
    assert "3 of 13" in terminal.screen
    assert "ctrl+o" in terminal.screen


def test_a_long_output_of_bash_keeps_its_end(serve: Any, open_zot: OpenZot) -> None:
    """iface-099: a long output of bash keeps its end."""
    serve([CallTools([("bash", {"command": "seq 1000 1099"})]), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    assert "1099" in terminal.screen
    assert "│ 1050" not in terminal.screen


def inside(rows: list[str]) -> list[str]:
    return [row.strip(" │") for row in rows[1:-1] if row.strip(" │")]


def test_a_folded_box_of_bash_begins_with_its_command(serve: Any, open_zot: OpenZot) -> None:
    long = "seq 1000 1099; true " + "very-long-argument " * 5
    commands = ["seq 1000 1099", "seq 1000 1099\ntrue", long, "seq 1000 1099; exit 3"]
    serve([CallTools([("bash", {"command": command}) for command in commands]), Say("all done")])
    terminal = open_zot(rows=80)
    run(terminal)
    folded = [inside(box) for box in boxes(terminal)]
    assert [rows[0] for rows in folded[:2]] == ["$ seq 1000 1099", "$ seq 1000 1099 …"]
    assert folded[2][0].startswith("$ seq 1000 1099; true very-long") and folded[2][0].endswith("…")
    assert folded[3][0] == "$ seq 1000 1099; exit 3"
    for rows in folded:
        assert "rows hidden, ctrl+o shows all" in rows[1]
        assert len(rows) == 12
        assert "1099" in rows
        assert "1050" not in rows
    shown, total = (int(number) for number in re.findall(r"\d+", folded[0][1])[:2])
    assert total - shown == 11, "the command and ten rows"


def test_a_cancelled_command_is_named_in_its_folded_box(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "seq 1000 1099; sleep 60"})])])
    terminal = open_zot(rows=60)
    terminal.submit("go")
    terminal.wait_for("│ 1099")
    terminal.press("esc")
    terminal.wait_for("rows hidden")
    rows = inside(boxes(terminal)[-1])
    assert rows[0] == "$ seq 1000 1099; sleep 60"
    assert "1099" in rows


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


def test_read_is_numbered_from_its_offset_and_labelled_with_its_range(
    serve: Any, open_zot: OpenZot, project: Path
) -> None:
    """iface-103, iface-104: `read` numbers its rows from the offset and is labelled with its range."""
    (project / "f.txt").write_text("".join(f"row {i}\n" for i in range(1, 100)))
    calls = [("read", {"path": "f.txt", "offset": 40}), ("read", {"path": "f.txt", "offset": 10, "limit": 5})]
    serve([CallTools(calls), Say("all done")])
    terminal = open_zot(rows=60)
    run(terminal)
    assert "  40 row 40" in terminal.screen
    assert "read f.txt:40-" in terminal.screen
    assert "read f.txt:10-14" in terminal.screen
    assert "  10 row 10" in terminal.screen


def test_labels_are_short_and_keep_the_range(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-105: a long label is cut and keeps its range."""
    name = "a" * 100
    (project / name).write_text("x\ny\nz\n")
    serve([CallTools([("read", {"path": name, "offset": 2, "limit": 1})]), Say("all done")])
    terminal = open_zot(columns=120, rows=40)
    run(terminal)
    (label,) = re.findall(r"read (a+\.\.\.:2-2)", terminal.screen)
    assert len(label) == 60


def test_output_with_returns_tabs_and_colours_keeps_the_edge_straight(serve: Any, open_zot: OpenZot) -> None:
    """iface-106: returns, tabs and colours in output leave the box's edge straight."""
    command = r"printf 'a\tb\rover\n\033[31mred\033[0m\twide日本\nbell\a\b\n'"
    serve([CallTools([("bash", {"command": command})]), Say("all done")])
    terminal = open_zot(rows=40)
    run(terminal)
    (box,) = boxes(terminal)
    edges = {row.rindex("│") for row in box[1:-1]}
    # A wide character takes two cells and one place in the text of its row.
    assert edges <= {77, 75}
    assert any("a       b" in row for row in box)
    assert any("over" in row for row in box)


def test_an_error_says_so_and_is_red(serve: Any, open_zot: OpenZot) -> None:
    """iface-107: an error says so and is red."""
    serve([CallTools([("read", {"path": "nowhere.txt"}), ("bash", {"command": "echo oops; exit 3"})]), Say("all done")])
    terminal = open_zot(rows=50)
    run(terminal)
    assert terminal.screen.count("│ error") == 2
    assert terminal.cell("│ error", 2).fg == "ff5f5f"
    assert "[exit 3]" in terminal.screen


def test_a_call_that_was_cancelled_leaves_no_half_box(serve: Any, open_zot: OpenZot) -> None:
    """iface-161: a cancelled call leaves no half-drawn box."""
    serve([CallTools([("bash", {"command": "sleep 60"})])])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("esc stops")
    terminal.press("esc")
    terminal.wait_for("cancelled")
    terminal.wait_gone("esc stops")
    assert terminal.everything.count("┌─") == terminal.everything.count("└─")


def test_ctrl_o_unfolds_a_live_box_in_place_and_shows_settled_ones_on_their_own_screen(
    serve: Any, open_zot: OpenZot, project: Path
) -> None:
    """iface-100: ctrl+o unfolds a live box in place and shows settled ones on a screen of their own."""
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


def test_an_image_is_drawn_where_the_terminal_can_and_captioned_elsewhere(
    serve: Any, open_zot: OpenZot, project: Path
) -> None:
    """iface-101, iface-118: an image is drawn where the terminal can, and never folded."""
    (project / "pic.png").write_bytes(png(200, 200))
    serve([CallTools([("read", {"path": "pic.png"})]), Say("all done")])
    terminal = open_zot(env={"ZOT_INLINE_IMAGES": "kitty"}, rows=40)
    run(terminal)
    assert b"\x1b_Ga=T,f=100,C=1" in terminal.raw
    assert "[image/png, 200×200 px" in terminal.screen
    (box,) = boxes(terminal)
    assert len(box) > 13
    assert "ctrl+o" not in terminal.screen


def test_without_graphics_there_is_a_caption_and_no_escape(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """iface-118, iface-119: without graphics an image is a caption, and no escape is written."""
    (project / "pic.png").write_bytes(png(20, 20))
    serve([CallTools([("read", {"path": "pic.png"})]), Say("all done")])
    terminal = open_zot(env={"ZOT_INLINE_IMAGES": "off", "KITTY_WINDOW_ID": "1"})
    run(terminal)
    assert "[image/png, 20×20 px" in terminal.screen
    assert b"\x1b_G" not in terminal.raw
