"""Rows about workers: none is wider than the screen, each state has its sign, a log reads like the stream it was."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from zot.errors import UsageError
from zot.frontends.terminal.commands.swarm import spec_from_request
from zot.frontends.terminal.swarm import worker_summary
from zot.frontends.terminal.swarm.dashboard import SwarmDashboard, WorkerAction
from zot.frontends.terminal.swarm.worker_summary import rows_of
from zot.frontends.terminal.swarm.worker_view import WorkerView
from zot.swarm.git.worktrees import Diffstat
from zot.tui.keys import Key
from zot.tui.markdown import Painter
from zot.tui.theme import built_in
from zot.tui.width import cells, visible
from zot.wire.rpc_frames import UsageTotals
from zot.wire.swarm_frames import WorkerInfo

THEME = built_in()
NAMES = ("short", "a-name-that-is-much-longer-than-most", "名前の長いワーカー")


def worker(number: int, status: Any) -> WorkerInfo:
    usage = UsageTotals(input=12_000, output=700, reasoning=None, cache_read=0, cache_write=0, cost_usd=0.05 * number)
    return WorkerInfo(
        id=str(number),
        name=f"{NAMES[number % 3]}-{number}",
        status=status,
        task="do 全部 of it\nand more",
        mode="worktree",
        cwd="/work",
        created=number,
        started=1000.0,
        ended=1010.0 + 100 * number,
        usage=usage,
        activity="tool: bash \x1b[2J",
        last="## Done\nI **did** all of it, `quickly`, and it took a while to explain",
        reason="the disk\nis full",
        branch="zot/x",
    )


def known(count: int) -> Any:
    statuses = list(worker_summary.GLYPHS)
    rows = {str(n): worker(n, statuses[n % len(statuses)]) for n in range(count)}
    stats = {"1": Diffstat(3, 1200, 7)}
    return SimpleNamespace(known=rows, stats=stats, rested={}, everyone=False, listed=lambda: list(rows.values()))


def status() -> Any:
    return SimpleNamespace(text="", failed=False, clear=lambda: None)


@pytest.mark.parametrize("width", [20, 40, 80, 99, 100, 120, 200])
@pytest.mark.parametrize("height", [3, 6, 12, 40])
async def test_no_row_is_wider_than_the_screen(width: int, height: int) -> None:
    for count in (0, 1, 3, 64):
        lines = SwarmDashboard(known(count), status()).lines(THEME, width, height)
        assert max(map(cells, lines)) <= width
        assert len(lines) <= max(height, 3)
        assert not any("\x1b[2J" in line for line in lines)


async def test_columns_are_aligned_and_show_known_values() -> None:
    shown = SwarmDashboard(known(9), status())
    rows = [visible(line) for line in shown.lines(THEME, 120, 40)]
    glyphs = {row[2] for row in rows if row[3:4] == " " and "$" in row} - {" "}
    assert glyphs == {glyph for glyph, _ in worker_summary.GLYPHS.values()}
    places = {cells(row[: row.index("12k")]) for row in rows if " 12k  " in row}
    assert len(places) == 1
    assert any("+1.2k −7" in row for row in rows)
    assert any("Done I did all of it, quickly, and" in row for row in rows)
    assert shown.key(Key("end")) and shown.key(Key("k", "k"))
    assert await shown.answer() == WorkerAction("stop", "8")


EVENTS: list[dict[str, Any]] = [
    {"type": "agent_ready", "attempt": 1},
    {"type": "user_message", "content": [{"type": "text", "text": "look at it"}], "time": ""},
    {"type": "turn_start", "step": 1},
    {"type": "assistant_start"},
    {"type": "text_delta", "delta": "I will *loo"},
    {"type": "text_delta", "delta": "k*."},
    {"type": "assistant_message", "content": [{"type": "text", "text": "I will *look*."}], "time": ""},
    {"type": "tool_call", "id": "1", "name": "bash", "args": {"command": "ls"}},
    {"type": "turn_end", "stop": "tool_use"},
    {"type": "tool_progress", "id": "1", "text": "a"},
    {"type": "tool_result", "id": "1", "is_error": False, "content": [{"type": "text", "text": "a.txt\n"}]},
    {"type": "tool_result", "id": 7},
    {"type": "nobody knows"},
    {"type": "text_delta", "delta": 7},
    {"type": "done"},
    {"type": "agent_stopped", "status": "done", "reason": ""},
]


def seen(events: list[dict[str, Any]], *, whole_at_once: bool) -> list[str]:
    ui = SimpleNamespace(
        theme=THEME, painter=Painter.of(THEME), height=24, status=status(), redraw=lambda: None, spawn=lambda work: None
    )
    view = WorkerView(known(3), "1", cast("Any", ui), cast("Any", None))
    rows: list[str] = []
    for event in events:
        view.hear(event)
        if not whole_at_once:
            rows = view.lines(THEME, 80, 24)
    return [visible(row) for row in rows or view.lines(THEME, 80, 24)]


async def test_a_log_reads_like_the_stream_it_was() -> None:
    logged = [event for event in EVENTS if event["type"] not in ("text_delta", "tool_progress")]
    streamed = seen(EVENTS, whole_at_once=False)
    assert seen(logged, whole_at_once=True) == streamed == seen(EVENTS, whole_at_once=True)
    text = "\n".join(streamed)
    assert "› look at it" in text and "I will look." in text and "Ran ls" in text and "◇ done" in text


def test_only_arguments_before_task_are_flags() -> None:
    order = spec_from_request("--model=a/b --shared --write  fix --this\n  and that")
    assert (order.model, order.mode, order.write, order.task) == ("a/b", "shared", True, "fix --this\n  and that")
    for wrong in ("--model", "--shared --worktree x", "--write=1 x", "--other x", "--write"):
        with pytest.raises(UsageError):
            spec_from_request(wrong)


def test_a_diff_is_shown_file_by_file_and_drives_nothing() -> None:
    text = (
        "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n"
        " a = 1\n-b = 2\n+b = \x1b[2J3\n"
        "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n"
        "diff --git a/pic b/pic\nindex 1..2\nBinary files a/pic and b/pic differ\n"
    )
    rows = rows_of(text, Painter.of(THEME), 80)
    assert not any("\x1b[2J" in row for row in rows)
    plain = [visible(row) for row in rows]
    assert [row for row in plain if row and not row.startswith(" ")] == [
        "x.py · +1 −1",
        "n · new file · +1 −0",
        "pic · Binary",
    ]


def test_subscriber_module_is_loaded_lazily() -> None:
    import subprocess
    import sys

    program = (
        "import sys, zot.frontends.terminal.swarm.workers; print([m for m in sys.modules if m.startswith('zot.swarm')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
