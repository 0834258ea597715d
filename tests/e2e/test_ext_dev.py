"""``zot ext dev``: shows frames, stderr and the check result, and restarts on every change."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say

GREETING = """
hello("tools")
tool("greet")
ready()
print("GREETING", file=sys.stderr, flush=True)
def greet(frame):
    text(frame["id"], "GREETING")
def end(frame):
    send(type="shutdown_ack")
for line in sys.stdin.buffer:
    frame = json.loads(line)
    if frame["type"] == "tool_call": greet(frame)
    if frame["type"] == "shutdown": end(frame); break
"""


class Dev:
    """A running `zot ext dev` and its output."""

    def __init__(self, zot: Zot, *words: str) -> None:
        self.process = zot.start("ext", "dev", *words, stdin=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert self.process.stdout
        os.set_blocking(self.process.stdout.fileno(), False)
        self.said = ""
        self._read_to = 0

    def until(self, text: str) -> str:
        """New output up to and including ``text``."""
        assert self.process.stdout
        deadline = time.monotonic() + 90
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while text not in self.said[self._read_to :]:
                assert time.monotonic() < deadline, f"{text!r} is not in {self.said}"
                if selector.select(1) and (data := self.process.stdout.read()):
                    self.said += data.decode()
                elif self.process.poll() is not None:
                    raise AssertionError(self.said)
        end = self.said.index(text, self._read_to) + len(text)
        new, self._read_to = self.said[self._read_to : end], end
        return new

    def type(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()


@pytest.fixture
def dev(zot: Zot) -> Iterator[Dev]:
    write_extension(zot.project, "x", GREETING.replace("GREETING", "good morning"))
    running = Dev(zot, "x")
    yield running
    running.process.kill()
    running.process.wait()


def test_ext_dev_shows_frames_and_verdict_and_restarts_on_change(zot: Zot, dev: Dev) -> None:
    started = dev.until("rules passed")
    assert "x ← hello" in started and "x → hello_ack" in started and "x ← register_tool" in started
    assert "x ! good morning" in started
    dev.type('greet {"a": 1}')
    assert "x → tool_call" in dev.until("good morning")
    (zot.project / "x" / "notes.txt").write_text("what it writes itself is no reason to start again")
    write_extension(zot.project, "x", GREETING.replace("GREETING", "good evening"))
    again = dev.until("rules passed")
    assert "↻ extension.json, main.py: restarting" in again.splitlines()
    assert "x ← shutdown_ack" in again
    assert "x ! good evening" in again
    assert "notes.txt" not in again
    dev.type("r")
    assert "x ← hello" in dev.until("x ← ready")
    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(30) == 0


def test_ext_dev_reports_crash_or_bad_manifest_and_waits(zot: Zot, dev: Dev) -> None:
    dev.until("rules passed")
    manifest = (zot.project / "x" / "extension.json").read_text()
    write_extension(zot.project, "x", "raise SystemExit('no luck today')")
    crashed = dev.until("waiting for a change")
    assert "✗ x did not say hello" in crashed
    assert "no luck today" in crashed
    assert "✗ check: a rule is broken" in crashed
    (zot.project / "x" / "extension.json").write_text("{")
    assert "✗ extension.json" in dev.until("waiting for a change")
    (zot.project / "x" / "extension.json").write_text(manifest)
    dev.until("waiting for a change")
    write_extension(zot.project, "x", GREETING.replace("GREETING", "fine"))
    assert "x ! fine" in dev.until("rules passed")


@pytest.mark.parametrize(("body", "code"), [(GREETING, 0), ("hello(); raw(b'nonsense\\n'); ready(); serve()", 1)])
def test_once_is_for_scripts(zot: Zot, body: str, code: int) -> None:
    write_extension(zot.project, "x", body)
    ran = zot("ext", "dev", "x", "--once")
    assert ran.code == code, ran.out
    assert "x ← hello" in ran.out
    assert ("rules passed" in ran.out) == (code == 0)
    assert "x ← hello" in zot("ext", "dev", "x", "--once", "--no-check").out


def test_ext_dev_with_prompt_shows_frames_of_the_run(zot: Zot, serve) -> None:
    write_extension(zot.project, "x", GREETING)
    server = serve([CallTools([("greet", {})]), Say("It greeted.")])
    ran = zot("ext", "dev", "x", "--once", "greet", "me", "--")  # followed by where the model is
    assert ran.code == 0, ran.out + ran.err
    assert "It greeted." in ran.out
    assert "x → tool_call" in ran.out and "x ← tool_result" in ran.out
    assert "greet me" in json.dumps(server.requests[0].json["messages"])


def test_a_directory_without_an_extension_is_an_error(zot: Zot) -> None:
    ran = zot("ext", "dev", "nowhere")
    assert (ran.code, "has no extension.json" in ran.err) == (1, True)
    assert Path(zot.project).is_dir()


# --- the second edition


@pytest.fixture
def second(zot: Zot) -> Iterator[Dev]:
    """A guard that asks."""
    assert zot("ext", "new", "ask", "--lang", "python", "--template", "question", model=False).code == 0
    running = Dev(zot, "ask", "--no-check", "--filter", "event_intercept,ui.ask")
    running.until("watching")
    yield running
    running.process.kill()
    running.process.wait()


ASKED = '{"type":"event_intercept","id":"%s","event":"tool_call","tool_name":"bash","tool_args":{"command":"rm -rf x"}}'


def test_ext_dev_shows_methods_and_latencies_of_the_filtered_frames(second: Dev) -> None:
    """ext2-171: a question, the request it leads to, its answer and the latencies of both."""
    second.type(ASKED % "one")
    shown = second.until("ask ← event_intercept_response #one after")
    assert "ask → event_intercept #one" in shown
    assert "ask ← request #r1 ui.ask" in shown
    assert "ask → response #r1" in shown
    assert "hello" not in second.said
    [answer] = [line for line in shown.splitlines() if "→ response #r1" in line]
    assert " after " in answer


def test_ext_dev_repeats_a_frame_and_ends_dialogs_as_told(second: Dev) -> None:
    """ext2-166: the author tries every end of a dialog by hand."""
    second.type(ASKED % "one")
    second.until("ask ← event_intercept_response #one after")
    second.type("answer cancelled")
    second.type("again one")
    again = second.until("the user did not agree")
    assert '{"cancelled":true' in again.replace('"result":', "")
    second.type("answer maybe")
    second.until("answer: expected one of value, cancelled, unavailable, timeout, busy")
    second.type("again seven")
    second.until("again: no frame with the id seven was sent; known: one")
    second.type("filter hello,shutdown_ack")
    second.until("showing hello, shutdown_ack")
    second.type("r")
    restarted = second.until("ask ← hello")
    assert "shutdown_ack" in restarted and "hello_ack" not in restarted


def test_ext_dev_keeps_the_state_over_a_restart(zot: Zot) -> None:
    """ext2-137: what state.save returns comes with the next greeting."""
    assert zot("ext", "new", "bar", "--lang", "python", "--template", "status", model=False).code == 0
    dev = Dev(zot, "bar", "--no-check")
    try:
        dev.until("bar ← ready")
        dev.type('{"type":"event","event":"tool_call","tool_name":"read"}')
        dev.until("contribute widget last")
        dev.type("r")
        restarted = dev.until("bar ← ready")
        assert "→ request #state-" in restarted and " state.save " in restarted
        assert '{"text":"1","style":"accent"}' in restarted
        dev.type("filter hello_ack")
        main = zot.project / "bar" / "main.py"
        main.write_text(main.read_text().replace("tools ", "calls "))
        dev.until("restarting")
        dev.until("hello_ack")
    finally:
        dev.process.kill()
        dev.process.wait()


def test_send_plays_a_frame_after_each_start(zot: Zot) -> None:
    """ext2-171: one frame from the command line, also for scripts."""
    assert zot("ext", "new", "ask", "--lang", "python", "--template", "question", model=False).code == 0
    ran = zot("ext", "dev", "ask", "--once", "--no-check", "--send", ASKED % "one", model=False)
    assert ran.code == 0, ran.out
    assert "ask ← event_intercept_response #one" in ran.out
