"""A renderer that holds the event loop for minutes: keys and signals still end it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attack.place import Place
from attack.stage import zot_in
from attack.table import attack
from tests.fakes.model_server import FakeModelServer, Say
from tests.fakes.terminal import FakeTerminal

# The real program, with a renderer that never comes back once the word is in the text.
_SLOW = """
import time
from zot.frontends.terminal.screen import transcript
real = transcript.visible
def slow(text):
    while "FREEZE" in text:
        pass
    return real(text)
transcript.visible = slow
import sys
from zot.__main__ import main
sys.exit(main())
"""


@contextmanager
def _frozen(scratch: Path) -> Iterator[FakeTerminal]:
    zot = zot_in(scratch)
    with FakeModelServer([Say("FREEZE"), Say("second answer")]) as server:
        argv = [sys.executable, "-c", _SLOW, "--base-url", server.url, "--api-key", "k"]
        with FakeTerminal(argv, cwd=zot.project, env=zot.env()) as terminal:
            terminal.wait_for("▌")
            terminal.wait_gone("starting…")
            terminal.submit("go on")
            terminal.wait_until(lambda: bool(server.requests), "the request")
            terminal.wait_idle()  # frozen: nothing is painted any more
            yield terminal


def _given_back(terminal: FakeTerminal) -> str:
    for mode in (b"\x1b[?2004l", b"\x1b[?25h"):
        if mode not in terminal.raw:
            return "the terminal was not given back"
    return ""


def _after(number: signal.Signals) -> object:
    def run(scratch: Path) -> str:
        with _frozen(scratch) as terminal:
            terminal.signal(number)
            code = terminal.wait_exit(12)
            return _given_back(terminal) or ("" if code == 128 + number else f"it ended with {code}")

    return run


for _number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    attack("terminal", f"a renderer that never ends, and {_number.name}", expect="zot ends", quick=_number == 15)(
        _after(_number)  # pyright: ignore[reportArgumentType]
    )


@attack("terminal", "a renderer that never ends, and esc", expect="interrupted; zot continues", quick=False)
def esc_while_it_is_held(scratch: Path) -> str:
    with _frozen(scratch) as terminal:
        frozen = len(terminal.raw)
        terminal.press("esc")
        terminal.wait_until(lambda: len(terminal.raw) > frozen, "another frame", 12)
        terminal.type("still alive")
        terminal.wait_for("still alive", 12)
    return ""


@attack("terminal", "a renderer that never ends, and ctrl+c twice", expect="zot ends", quick=False)
def ctrl_c_while_it_is_held(scratch: Path) -> str:
    with _frozen(scratch) as terminal:
        terminal.press("ctrl+c")
        terminal.pump(1.0)
        terminal.press("ctrl+c")
        terminal.wait_exit(15)
        return _given_back(terminal)


# --- without a terminal

# The real program, with a reader of its events that never comes back; the second kind takes no interruption either.
_DEAF = """
import sys, time
{patch}
def held(*_):
    open({mark!r}, "w").close()
    while True:
        {hold}
{place} = held
from zot.__main__ import main
sys.exit(main())
"""
_HOLDS = {
    "blocks the event loop": "pass",
    "cannot be interrupted": "try: time.sleep(0.01)\n        except BaseException: pass",
}
_MODES = {
    "-p": ("from zot.frontends.headless.runner import PrintMode", "PrintMode.emit", ("-p", "go")),
    "--json": ("from zot.frontends.headless.json_mode import JsonMode", "JsonMode.emit", ("--json", "go")),
    "--stream": ("from zot.frontends.headless.stream_mode import StreamMode", "StreamMode.emit", ("--stream", "go")),
    "rpc": ("from zot.frontends.rpc.commands import RpcCommands", "RpcCommands.dispatch", ("rpc",)),
}


def _ends(mode: str, hold: str, number: signal.Signals) -> object:
    def run(scratch: Path) -> str:
        place, mark = Place(scratch), scratch / "held"
        patch, attribute, words = _MODES[mode]
        program = _DEAF.format(patch=patch, mark=str(mark), hold=_HOLDS[hold], place=attribute)
        with subprocess.Popen(
            [sys.executable, "-c", program, *words[:1], *place.model(), *words[1:]],
            cwd=place.clone,
            env=place.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as zot:
            assert zot.stdin is not None and zot.stderr is not None
            if mode == "rpc":
                zot.stdin.write(b'{"type":"get_state"}\n')
                zot.stdin.flush()
            else:
                zot.stdin.close()
            end = time.monotonic() + 20
            while not mark.exists() and zot.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            if not mark.exists():
                zot.kill()
                return f"the control failed: the loop was not held: {zot.stderr.read()[-300:]!r}"
            zot.send_signal(number)
            try:
                code = zot.wait(15)
            except subprocess.TimeoutExpired:
                zot.kill()
                return "it did not end"
            said = zot.stderr.read()
        if b"Traceback" in said:
            return f"a traceback: {said[-300:]!r}"
        return "" if code == 128 + number else f"it ended with {code}: {said[-300:]!r}"

    return run


for _mode in _MODES:
    for _hold in _HOLDS:
        for _number in (signal.SIGTERM, signal.SIGINT):
            attack(
                "terminal",
                f"`zot {_mode}`, whose work {_hold}, and {_number.name}",
                expect="zot ends",
                quick=_number == signal.SIGTERM and _hold == "blocks the event loop" and _mode in ("-p", "rpc"),
            )(_ends(_mode, _hold, _number))  # pyright: ignore[reportArgumentType]
