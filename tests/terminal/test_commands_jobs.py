"""/jobs: lists background commands, shows their output and stops them; they end with zot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes.model_server import CallTools, Say
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

RUNS = "still running in the background"


def gone(pid: Path) -> bool:
    """Exited, possibly a zombie."""
    try:
        return Path(f"/proc/{pid.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def start(terminal: FakeTerminal, name: str, project: Path) -> Path:
    """A command that prints hello and stays; returns the file with its process id."""
    place = project / f"{name}.pid"
    told = f"echo $$ > {place}.new; mv {place}.new {place}\n"
    (project / f"{name}.sh").write_text(f"{told}echo hello from {name}\nsleep 1000\n")
    before = terminal.screen.count(RUNS)
    terminal.submit(f"!sh {name}.sh &")
    terminal.wait_until(place.exists, f"{name} to run")
    terminal.wait_until(lambda: terminal.screen.count(RUNS) > before, f"{name} to be left")
    return place


def test_jobs_are_listed_shown_and_stopped(serve: Any, open_zot: OpenZot, project: Path) -> None:
    serve([])
    terminal = open_zot(rows=40)
    terminal.submit("/jobs")
    terminal.wait_for("no background commands")
    one, two = start(terminal, "one", project), start(terminal, "two", project)
    terminal.submit("/jobs")
    terminal.wait_for("in the background ──")
    terminal.wait_for("1  sh one.sh &")
    terminal.wait_for("2  sh two.sh &")
    terminal.press("down", "enter")
    terminal.wait_for("job 2: sh two.sh &")
    terminal.wait_for("hello from two")
    terminal.press("esc")
    terminal.wait_for("ctrl+x stops it")
    terminal.press("ctrl+x")
    terminal.wait_until(lambda: gone(two), "the second to end")
    terminal.wait_for("stopped: sh two.sh &")
    terminal.wait_for("1  sh one.sh &")
    assert "2  sh two.sh &" not in terminal.screen
    terminal.press("esc")
    terminal.wait_gone("ctrl+x stops it")
    assert not gone(one)
    terminal.submit("/jobs stop 7")
    terminal.wait_for("no job 7")
    terminal.submit("/jobs stop 1")
    terminal.wait_for("stopped: sh one.sh &")
    assert gone(one)


def test_shown_output_grows_while_the_job_runs(serve: Any, open_zot: OpenZot, project: Path) -> None:
    """Issue 32.3: the view of a job follows its output, as long as its end is visible."""
    (project / "slow.sh").write_text("echo first; while [ ! -e go ]; do sleep 0.1; done; echo second; sleep 1000\n")
    serve([CallTools([("bash", {"command": "sh slow.sh", "background": True})]), Say("it runs")])
    terminal = open_zot()
    terminal.submit("start it")
    terminal.wait_for("it runs")
    terminal.submit("/jobs")
    terminal.wait_for("in the background ──")
    terminal.press("enter")
    terminal.wait_for("  first")
    (project / "go").touch()
    terminal.wait_for("  second")
    terminal.press("esc")
    terminal.wait_for("ctrl+x stops it")
    terminal.press("esc")
    terminal.wait_gone("ctrl+x stops it")
    terminal.submit("/jobs 7")
    terminal.wait_for("no job 7")
    terminal.submit("/jobs 1")
    terminal.wait_for("  second")


def test_background_command_is_a_job_and_ends_with_zot(serve: Any, open_zot: OpenZot, project: Path) -> None:
    (project / "server.sh").write_text("echo $$ > server.new; mv server.new server.pid; sleep 1000\n")
    serve([CallTools([("bash", {"command": "sh server.sh & echo started"})]), Say("it runs")])
    terminal = open_zot()
    terminal.submit("start the server")
    terminal.wait_for("it runs")
    terminal.wait_until((project / "server.pid").exists)
    terminal.submit("/jobs")
    terminal.wait_for("1  sh server.sh & echo started")
    assert "1 job running" in terminal.screen
    terminal.press("esc")
    terminal.wait_gone("ctrl+x stops it")
    terminal.submit("/exit")
    terminal.wait_exit()
    assert gone(project / "server.pid")
