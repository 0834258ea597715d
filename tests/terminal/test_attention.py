"""Attention: the window title shows the state, the bell follows its setting, and a user program writes a status row."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, Say, Silent
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import configure
from tests.terminal.test_dialogs_confirm import listening


@pytest.fixture
def zot(zot: Zot) -> Zot:
    """With a model of 200k tokens, for 3 dollars a million tokens in and 15 out, as the figures below assume."""
    zot.model_id = "claude-sonnet-4-5"
    return zot


def titles(terminal: FakeTerminal) -> list[str]:
    return [found.decode() for found in re.findall(rb"\x1b\]2;([^\x07]*)\x07", terminal.raw)]


def bells(terminal: FakeTerminal) -> int:
    """Bells that do not end a sequence."""
    return re.sub(rb"\x1b\][^\x07\x1b]*\x07", b"", terminal.raw).count(b"\x07")


def test_title_shows_working_and_asking(serve: Any, open_zot: OpenZot) -> None:
    serve([CallTools([("bash", {"command": "touch made"})]), Silent(Say("words that do not end"), after_bytes=900)])
    terminal = open_zot("--no-yolo")
    assert titles(terminal) == ["zot: project"]
    terminal.submit("go")
    terminal.wait_until(lambda: titles(terminal)[-1] == "? zot: project", "the question in the title")
    assert "… zot: project" in titles(terminal)
    terminal.wait_for("yes, this once")
    listening(terminal)
    terminal.press("1")
    terminal.wait_until(lambda: titles(terminal)[-1] == "… zot: project", "work in the title")
    terminal.press("esc")
    terminal.wait_until(lambda: titles(terminal)[-1] == "zot: project", "the idle title")
    assert len(titles(terminal)) < 10  # when the state changes, and not with time


def test_title_is_unchanged_when_disabled(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    configure(zot, terminal_title=False)
    serve([Say("an answer")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("an answer")
    assert titles(terminal) == []


@pytest.mark.parametrize(
    ("bell", "rings", "notifies"), [("on", True, True), ("quiet", False, True), ("off", False, False)]
)
def test_bell_follows_its_setting(
    serve: Any, open_zot: OpenZot, zot: Zot, bell: str, rings: bool, notifies: bool
) -> None:
    configure(zot, bell=bell, notify_after_s=0.001)
    serve([Say("an answer")])
    terminal = open_zot(env={"TERM_PROGRAM": "WezTerm"})
    terminal.submit("go")
    terminal.wait_for("an answer")
    terminal.submit("/exit")
    terminal.wait_exit()
    assert (bells(terminal) > 0) == rings
    assert (b"\x1b]9;zot is done\x07" in terminal.raw) == notifies


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("passes", ["on", "off"])
def test_tmux_passes_a_notification_on(serve: Any, zot: Zot, passes: str) -> None:
    """tmux drops unknown sequences, unless they are wrapped and it may pass them on."""
    configure(zot, notify_after_s=0.001, start_mode="everything")
    serve([Say("an answer")])
    command = shlex.join([f"{sys.prefix}/bin/zot", *zot.endpoint(True)])
    with tempfile.TemporaryDirectory(prefix="zt") as directory:
        config = Path(directory) / "tmux.conf"
        config.write_text(f"set -g allow-passthrough {passes}\nset -g default-terminal tmux-256color\n")
        tmux = [shutil.which("tmux") or "", "-u", "-S", f"{directory}/s", "-f", str(config)]
        environment = {**zot.env(), "LC_TERMINAL": "iTerm2"}
        with FakeTerminal([*tmux, "new-session", command], cwd=zot.project, env=environment) as terminal:
            terminal.wait_for("(anthropic)")
            terminal.submit("go")
            terminal.wait_for("an answer")
            terminal.submit("/exit")
            terminal.wait_exit()
    assert (b"\x1b]9;zot is done\x07" in terminal.raw) == (passes == "on")


def test_question_rings_if_the_terminal_is_not_focused(serve: Any, open_zot: OpenZot) -> None:
    """issue 29.11: a question rings and notifies while another window has the focus, and not otherwise."""
    touch = CallTools([("bash", {"command": "touch made"})])
    serve([touch, Say("it is made"), touch, Say("again made")])
    terminal = open_zot("--permission-mode", "ask", env={"KITTY_WINDOW_ID": "1"})
    assert b"\x1b[?1004h" in terminal.raw
    terminal.submit("go")
    terminal.wait_for("yes, this once")
    listening(terminal)
    assert bells(terminal) == 0
    terminal.press("1")
    terminal.wait_for("it is made")
    terminal.type("again")
    terminal.wait_for("▌ again")
    terminal.type("\x1b[O\r")
    terminal.wait_until(lambda: bells(terminal) == 1, "the bell")
    assert b"\x1b]99;;zot has a question\x1b\\" in terminal.raw


SCRIPT = """\
#!/bin/sh
cat > "{place}/given.new" && mv "{place}/given.new" "{place}/given"
printf '\\n\\033[32mmine\\033[0m \\033[2J\\033]0;owned\\007'
grep -o '"messages":[0-9]*' "{place}/given"
echo a second line
echo noise >&2
"""


def script(zot: Zot, text: str) -> None:
    program = zot.home / "status"
    program.write_text(text)
    program.chmod(0o755)
    configure(zot, status_command=str(program))


def test_a_program_of_the_users_own_writes_a_row(serve: Any, open_zot: OpenZot, zot: Zot, tmp_path: Path) -> None:
    script(zot, SCRIPT.format(place=tmp_path))
    serve([Say("an answer", usage=(2000, 7))])
    terminal = open_zot(columns=100)
    terminal.wait_for('mine "messages":0')
    terminal.submit("go")
    terminal.wait_for('mine "messages":2')
    given = json.loads((tmp_path / "given").read_text())
    assert given["model"] == "claude-sonnet-4-5"
    assert given["cwd"] == str(zot.project)
    assert given["context"] == {"tokens": 2000, "window": 200_000, "percent": 1.0}
    assert given["usage"]["output_tokens"] == 7
    assert "a second line" not in terminal.screen
    assert "noise" not in terminal.screen
    assert b"\x1b]0;owned" not in terminal.raw
    assert terminal.cell("mine").fg not in ("default", terminal.cell("claude-sonnet").fg)
    assert "an answer" in terminal.screen


def test_hanging_notification_program_is_ended_and_reported(
    serve: Any, open_zot: OpenZot, zot: Zot, tmp_path: Path
) -> None:
    script(zot, f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 1000\n")
    serve([Say("an answer")])
    terminal = open_zot()
    terminal.submit("go")
    terminal.wait_for("an answer")
    terminal.wait_for("status_command: no answer within 2 s")
    pid = int((tmp_path / "pid").read_text())
    terminal.wait_until(lambda: not Path(f"/proc/{pid}").exists(), "its end")


def test_failing_notification_program_is_reported(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    script(zot, "#!/bin/sh\necho no; exit 3\n")
    serve([])
    open_zot().wait_for("status_command: exit 3")
