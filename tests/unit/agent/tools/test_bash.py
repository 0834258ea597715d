"""The bash tool with real shells: its output, limits and process cleanup."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import stat
import time
from pathlib import Path

import pytest

from tests.unit.agent.tools.conftest import Run, text_of
from tests.unit.system.living import gone_within, is_alive
from zot.agent.tools.bash import BashTool, duration
from zot.agent.tools.bash_output import PROGRESS_BYTES
from zot.agent.tools.registry import BashLimits
from zot.agent.tools.workspace import Workspace
from zot.core.tool import Tool, ToolContext
from zot.errors import ToolError
from zot.provider.messages import ToolCallBlock
from zot.system.processes import live_processes


@pytest.fixture
def bash(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> BashTool:
    (tmp_path / "spool").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spool"))
    return BashTool(workspace, BashLimits())


def without_time(text: str) -> str:
    return re.sub(r"Took \S+$", "Took T", text)


def first_number(text: str) -> int:
    found = re.search(r"\d+", text.partition("\n")[2])
    assert found
    return int(found[0])


async def stop_background() -> None:
    for tree in live_processes():
        await tree.stop(0)


async def test_success_shows_command_output_exit_code_and_time(bash: Tool, run: Run) -> None:
    """engine-217: a command that succeeds shows itself, its output, `[exit 0]` and the time it took."""
    result = await run(bash, command="echo hello")
    assert without_time(text_of(result)) == "$ echo hello\n\nhello\n\n[exit 0]  Took T"
    assert not result.is_error
    assert result.details is not None
    assert {**result.details, "duration_ms": 0} == {
        "exit_code": 0,
        "full_output_path": "",
        "lines_truncated": False,
        "bytes_truncated": False,
        "duration_ms": 0,
    }


async def test_failure_has_the_error_flag(bash: Tool, run: Run) -> None:
    """engine-218: a command that fails shows `[exit 1]` and carries the error flag."""
    result = await run(bash, command="exit 1")
    assert without_time(text_of(result)) == "$ exit 1\n\n[exit 1]  Took T"
    assert result.is_error


async def test_output_without_a_final_newline_gets_one(bash: Tool, run: Run) -> None:
    assert "\n\nabc\n\n[exit 0]" in text_of(await run(bash, command="printf abc"))


async def test_stdout_and_stderr_are_merged_in_order(bash: Tool, run: Run) -> None:
    """engine-219: standard output and standard error appear in the order they were written."""
    result = await run(bash, command="echo 1; echo 2 >&2; echo 3; echo 4 >&2")
    assert "\n1\n2\n3\n4\n" in text_of(result)


async def test_a_signal_shows_as_minus_one(bash: Tool, run: Run) -> None:
    result = await run(bash, command="kill -KILL $$")
    assert "[exit -1]" in text_of(result)
    assert result.is_error


async def test_stdin_is_empty(bash: Tool, run: Run) -> None:
    """engine-224: the command reads an empty standard input."""
    assert "\n0\n" in text_of(await run(bash, command="wc -c"))


async def test_bash_runs_in_the_working_directory(bash: Tool, run: Run, tmp_path: Path) -> None:
    assert f"\n{tmp_path}\nbash\n" in text_of(await run(bash, command='pwd; [[ -n $BASH_VERSION ]] && echo "bash"'))


@pytest.mark.parametrize("command", ["", "  \n"])
async def test_a_blank_command_is_an_error(bash: Tool, run: Run, command: str) -> None:
    with pytest.raises(ToolError, match="'command'"):
        await run(bash, command=command)


async def test_a_vanished_working_directory_is_an_error_that_names_it(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="gone"):
        await run(BashTool(Workspace(tmp_path / "gone"), BashLimits()), command="true")


async def test_a_command_with_a_nul_is_an_error(bash: Tool, run: Run) -> None:
    with pytest.raises(ToolError, match="null"):
        await run(bash, command="echo \0")


async def test_timeout_kills_whole_group_and_is_reported(bash: Tool, run: Run) -> None:
    """engine-220: a background child, one in its own session, and the shell."""
    result = await run(bash, command="sleep 100 & echo $!; setsid sleep 100 & echo $!; wait", timeout=1)
    text = text_of(result)
    assert "[timed out after 1s: the command and all it started were killed; limits: argument timeout," in text
    assert "settings bash_timeout_s and bash_timeout_max_s]\n[exit -1]" in text  # issue 29.22
    assert result.is_error
    pids = [int(line) for line in text.splitlines() if line.isdigit()]
    assert len(pids) == 2
    assert [pid for pid in pids if not gone_within(pid, 2)] == []


async def test_a_background_child_does_not_escape_the_timeout(bash: Tool, run: Run) -> None:
    """engine-220: it ignores SIGTERM, so SIGKILL ends it three seconds later."""
    started = time.monotonic()
    result = await run(bash, command="trap '' TERM; sh -c 'echo $$; while :; do sleep 100; done'", timeout=1)
    assert 3.9 < time.monotonic() - started < 10
    assert gone_within(first_number(text_of(result)), 1)


def test_timeouts_have_a_default_and_a_maximum(workspace: Workspace) -> None:
    tool = BashTool(workspace, BashLimits(bash_timeout_s=20, bash_max_timeout_s=50))
    asked = {seconds: tool._timeout(seconds) for seconds in (-1, 0, 5, 50, 51)}  # pyright: ignore[reportPrivateUsage]
    assert asked == {-1: 20, 0: 20, 5: 5, 50: 50, 51: 50}


async def test_cancelling_the_call_kills_the_tree(bash: Tool) -> None:
    """iface-042: SIGINT during a command cancels its call."""
    pids: list[int] = []
    started = asyncio.Event()

    def progress(text: str) -> None:
        pids.extend(int(word) for word in text.split())
        if len(pids) == 2:
            started.set()

    call = bash.execute(
        {"command": "sleep 100 & echo $!; setsid sleep 100 & echo $!; wait"},
        ToolContext(ToolCallBlock("1", "bash"), progress),
    )
    task = asyncio.ensure_future(call)
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [pid for pid in pids if not gone_within(pid, 1)] == []


async def test_background_child_with_pipe_does_not_delay_result(bash: Tool, run: Run) -> None:
    """engine-221: about one second, and the child is named and alive."""
    started = time.monotonic()
    text = text_of(await run(bash, command="sleep 100 & echo $!"))
    assert 0.9 < time.monotonic() - started < 3
    pid = first_number(text)
    assert f"[still running in the background: {pid} (sleep 100); output goes on to " in text
    assert is_alive(pid)
    await stop_background()
    assert gone_within(pid, 1)


async def test_background_child_without_pipe_returns_at_once(bash: Tool, run: Run) -> None:
    """engine-221: a background process does not delay the result, which mentions it."""
    started = time.monotonic()
    text = text_of(await run(bash, command="sleep 100 >/dev/null 2>&1 & echo $!"))
    assert time.monotonic() - started < 0.9
    assert re.search(rf"\[still running in the background: {first_number(text)} \(.*sleep 100.*\)\]", text)
    await stop_background()


async def test_output_of_child_ending_after_shell_is_included(bash: Tool, run: Run) -> None:
    text = text_of(await run(bash, command="(sleep 0.1; echo late) &"))
    assert "\nlate\n" in text
    assert "still running" not in text


async def test_later_output_of_background_child_is_in_the_file(bash: Tool, run: Run, tmp_path: Path) -> None:
    """A server left running must neither block on a full pipe nor die of a broken one: 1 MB arrives whole."""
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    text = text_of(await run(bash, command="echo early; (cat go; head -c 1000000 /dev/zero | tr '\\0' x; echo end) &"))
    spool = re.search(r"output goes on to (\S+)\]", text)
    assert spool
    assert Path(spool[1]).read_text() == "early\n"
    await asyncio.to_thread(fifo.write_text, "later\n")
    async with asyncio.timeout(10):
        while not Path(spool[1]).read_text().endswith("end\n"):  # noqa: ASYNC110 the file is all there is to see
            await asyncio.sleep(0.01)
    assert Path(spool[1]).read_text() == f"early\nlater\n{'x' * 1000000}end\n"


async def test_truncated_output_is_whole_in_a_private_file(bash: Tool, run: Run) -> None:
    """engine-222: 300,000 lines, two megabytes; head and tail in the text, all of it in the file."""
    result = await run(bash, command="seq 300000")
    text = text_of(result)
    assert result.details is not None
    path = Path(result.details["full_output_path"])
    assert re.fullmatch(r"zot-bash-[0-9a-f]{12}\.log", path.name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "".join(f"{n}\n" for n in range(1, 300001))
    assert f"[exit 0] (full output: {path})  Took" in text
    assert text.startswith("$ seq 300000\n\n1\n2\n3\n")
    assert "\n800\n... [298000 lines, " in text
    assert "bytes omitted]\n298801\n" in text
    assert "\n300000\n... [truncated at 2000 lines]\n... [truncated at 51200 bytes]\n\n[exit 0]" in text


async def test_a_flood_costs_neither_memory_nor_the_loop(bash: Tool, run: Run) -> None:
    """100 MB of output: never 50 ms of work before the loop continues, under 8 MB more memory, thinned progress.

    The lag is counted in the thread's own time, so that a busy machine cannot fail it; 8 ms of wall time were measured.
    """
    lag = 0.0
    pieces: list[int] = []

    async def measure() -> None:
        nonlocal lag
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            lag = max(lag, time.thread_time() - before)

    await run(bash, command="true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    watching = asyncio.ensure_future(measure())
    started = time.monotonic()
    result = await run(bash, lambda text: pieces.append(len(text)), command="head -c 104857700 /dev/zero | tr '\\0' x")
    seconds = time.monotonic() - started
    watching.cancel()
    assert lag < 0.05
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024
    assert sum(pieces) < 200_000 + seconds / 0.05 * PROGRESS_BYTES
    assert result.details is not None
    spool = Path(result.details["full_output_path"])
    assert spool.stat().st_size == 100 * 1024 * 1024
    assert "[the full output file is not complete: only the first 100 MB were kept]" in text_of(result)


async def test_progress_comes_in_whole_characters_of_small_pieces(bash: Tool, run: Run) -> None:
    """A character cut by the pipe is completed, bad bytes are replaced, NULs dropped; at most 4 KiB a piece."""
    pieces: list[str] = []
    result = await run(
        bash, pieces.append, command=r"printf '\303'; sleep 0.1; printf '\244\377\000x'; printf 'ä%.0s' {1..6000}"
    )
    assert "".join(pieces) == "ä\ufffdx" + "ä" * 6000
    assert max(len(piece.encode()) for piece in pieces) <= PROGRESS_BYTES
    assert f"\n{''.join(pieces)}\n" in text_of(result)


async def test_progress_arrives_while_the_command_runs(bash: Tool, run: Run, tmp_path: Path) -> None:
    """The command ends only after its first line was seen."""
    result = await run(
        bash,
        lambda text: (tmp_path / "seen").touch(),
        command="echo go; until [ -e seen ]; do sleep 0.01; done",
        timeout=10,
    )
    assert not result.is_error


async def test_credentials_are_not_inherited(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """engine-223: provider keys and zot's own tokens, unless the user named one."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "ZOTCORE_RPC_TOKEN", "TELEGRAM_BOT_TOKEN", "HARMLESS"):
        monkeypatch.setenv(name, "v")
    keys = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
    workspace = Workspace(tmp_path, credentials=keys, passthrough=["OPENAI_API_KEY"])
    text = text_of(await run(BashTool(workspace, BashLimits()), command="env"))
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert {"HARMLESS", "OPENAI_API_KEY"} <= names
    assert not names & {"ANTHROPIC_API_KEY", "ZOTCORE_RPC_TOKEN", "TELEGRAM_BOT_TOKEN"}


async def test_one_step_costs_little_more_than_the_shell(bash: Tool, run: Run) -> None:
    """Measured at about 1 ms over ``sh -c true``, both best of 150; the bound leaves room for a busy machine."""

    async def timed(count: int) -> list[float]:
        times: list[float] = []
        for _ in range(count):
            started = time.perf_counter()
            await run(bash, command="true")
            times.append(time.perf_counter() - started)
        return times

    assert min(await timed(20)) < min(plain_shell() for _ in range(20)) + 0.005


def plain_shell() -> float:
    started = time.perf_counter()
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", "true"], os.environ), 0)
    return time.perf_counter() - started


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.0004, "0.0s"), (0.12, "0.1s"), (59.4, "59.4s"), (60, "1m0s"), (125, "2m5s"), (3600, "1h0m"), (9000, "2h30m")],
)
def test_durations_are_formatted_briefly(seconds: float, told: str) -> None:
    assert duration(seconds) == told
