"""The interactive mode in a real pty: start, streaming markdown, a flooding tool, memory, resuming a long session."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import scratch_home
from benchmarks.row import Row
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, FakeModelServer, Say
from tests.fakes.terminal import FakeTerminal

ZOT = [f"{sys.prefix}/bin/zot"]
PROMPT = "▌ "


def rows(p: float) -> Iterator[Row]:
    yield start(p)
    yield from streaming()
    yield flood()
    yield surfaces()
    yield memory()
    yield resume()


def start(p: float) -> Row:
    """A key is typed while the process starts; the time until the editor shows it."""
    with scratch_home() as (env, cwd):
        best = min(_until_key(env, cwd) for _ in range(12))
    return Row("zot: spawn → editor accepts a key", best / p, 16, "P", note=f"{best * 1000:.0f} ms")


def _until_key(env: dict[str, str], cwd: Path) -> float:
    with FakeTerminal(ZOT, cwd=cwd, env=env) as terminal:
        terminal.type("q")
        terminal.wait_until(lambda: terminal.row_of(f"{PROMPT}q") >= 0, "the key")
        return time.monotonic() - terminal.started


def markdown(tokens: int) -> tuple[str, ...]:
    """Deltas of an answer with prose, lists, tables and code, a word or so each."""
    part = (
        "## Step {n}\n\nThe *quick* brown fox **jumps** over the `lazy_dog` and goes on for a while, see "
        "[the page](https://example.org/{n}).\n\n- first point of {n}\n- second point\n- third\n\n"
        "```python\ndef step_{n}(value: int) -> int:\n    total = 0\n    for i in range(value):\n"
        '        total += i * {n}  # add\n    return total or "nothing"\n```\n\n'
        "| name | value |\n|---|--:|\n| a{n} | {n} |\n| b | 2 |\n\n"
    )
    words: list[str] = []
    n = 0
    while len(words) < tokens:
        n += 1
        text = part.replace("{n}", str(n))
        words += [text[i : i + 4] for i in range(0, len(text), 4)]
    return tuple(words[:tokens])


def streaming() -> Iterator[Row]:
    tokens = 20_000
    deltas = markdown(tokens)
    cpu, written = _converse(deltas)
    base, _ = _converse(("done",))
    yield Row("zot: 20,000 tokens of markdown, CPU over one word", cpu - base, 2, "s")
    yield Row("zot: 20,000 tokens of markdown, bytes to the tty", written / 1e6, 1, "MB")


def _converse(deltas: tuple[str, ...]) -> tuple[float, int]:
    """CPU seconds and bytes written by one session with one answer."""
    with scratch_home() as (env, cwd), FakeModelServer([Say("x", deltas=(*deltas, "\n\nENDOFIT"))]) as server:
        argv = [*ZOT, "--base-url", server.url, "--no-session"]
        with FakeTerminal(argv, cwd=cwd, env=env) as terminal:
            terminal.wait_for(PROMPT)
            terminal.submit("go")
            terminal.wait_until(lambda: b"ENDOFIT" in terminal.raw, "the end", 60)
            terminal.wait_idle()
            cpu = cpu_seconds(terminal.pid)
            return cpu, len(terminal.raw)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process that still runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def flood() -> Row:
    """Keys typed while a command writes 100 MB: the slowest of them."""
    command = "head -c 100000000 /dev/zero | tr '\\0' 'x' | fold -w 100; sleep 1"
    slowest = 0.0
    with (
        scratch_home() as (env, cwd),
        FakeModelServer([CallTools([("bash", {"command": command})]), Say("ok")]) as server,
        FakeTerminal([*ZOT, "--base-url", server.url], cwd=cwd, env=env) as terminal,
    ):
        terminal.wait_for(PROMPT)
        terminal.submit("flood")
        terminal.wait_for("xxxxxxxxxx")
        typed = ""
        for letter in "abcdefghijklmnopqrstuvwxyz":
            typed += letter
            terminal.pump(0.02)
            wanted, seen, before = typed.encode(), len(terminal.raw), time.monotonic()
            terminal.type(letter)
            # In the bytes, not on the emulated screen: that would time the emulator.
            terminal.wait_until(lambda w=wanted, s=seen: w in terminal.raw[s:], letter)
            slowest = max(slowest, time.monotonic() - before)
        terminal.signal(signal.SIGTERM)
        terminal.wait_exit()
    return Row("zot: key → paint while a tool writes 100 MB, slowest of 26", slowest * 1000, 50, "ms")


def memory() -> Row:
    """Growth of the process over the second half of 1,000 turns."""
    turns = 1_000
    with (
        scratch_home() as (env, cwd),
        FakeModelServer([Say("A **short** answer.\n\n- one\n- two")], repeat=True) as server,
        FakeTerminal([*ZOT, "--base-url", server.url, "--no-session"], cwd=cwd, env=env) as terminal,
    ):
        terminal.wait_for(PROMPT)
        half = 0.0
        for number in range(turns):
            terminal.type(f"prompt {number}\r")
            terminal.wait_until(lambda n=number: _answers(terminal) > n, f"answer {number}", 30)
            if number == turns // 2:
                half = rss_mb(terminal.pid)
        grown = rss_mb(terminal.pid) - half
    return Row("zot: memory grown over turns 501 to 1,000", grown, 10, "MB")


def _answers(terminal: FakeTerminal) -> int:
    return terminal.raw.count(b"two")


def resume() -> Row:
    """A session of 10,000 messages: spawn until its last words are on the screen."""
    with scratch_home() as (env, cwd), FakeModelServer([Say("first")]) as server:
        path = _long_session(env, cwd, server.url)
        best = 60.0
        for _ in range(3):
            with FakeTerminal([*ZOT, "--base-url", server.url, "--session", str(path)], cwd=cwd, env=env) as terminal:
                terminal.wait_until(lambda: terminal.row_of("the last answer") >= 0, "the last message", 30)
                best = min(best, time.monotonic() - terminal.started)
    return Row("zot: 10,000 messages resumed, last screens visible", best, 0.5, "s")


def _long_session(env: dict[str, str], cwd: Path, url: str) -> Path:
    """Written by zot's own writer, so that it is what a long conversation leaves."""
    from zot.core.session.store import SessionStore
    from zot.provider.messages import Message, TextBlock, user_message, utc_now

    session = SessionStore(Path(env["ZOT_HOME"]), cwd, "0").create("anthropic", "claude-sonnet-5-5")
    for number in range(5_000):
        session.appended(user_message(f"question {number}"))
        text = f"Answer {number} with **some** text and `code`." if number < 4_999 else "the last answer"
        session.appended(Message("assistant", (TextBlock(text),), utc_now()))
    session.close()
    return session.path


DRAWING = """
hello("edition2"); ready()
name = NAME.encode()
def frame(n):
    kind, value = ((b"status", b'{"line":"%d"}' % n), (b"widget", b'{"lines":["' + name + b' %d"]}' % n))[n % 2]
    return b'{"type":"contribute","kind":"' + kind + b'","name":"n","value":' + value + b'}\\n'
sent, began = 0, time.monotonic()
while True:
    due = int((time.monotonic() - began) * 1000)
    if due > sent: raw(b"".join(map(frame, range(sent, due))))
    sent = max(sent, due)
    time.sleep(0.01)
"""
DRAWERS = 20


def surfaces() -> Row:
    """Keys typed while 20 extensions send 1,000 status items and widgets a second each: the 95th percentile."""
    with scratch_home() as (env, cwd):
        for number in range(DRAWERS):
            write_extension(Path(env["ZOT_HOME"]) / "extensions", f"d{number:02}", DRAWING, uses=["ui"])
        times = typing_beside(env, cwd)
    slowest = f"slowest of {len(times)}: {times[-1] * 1000:.0f} ms"
    what = f"zot: key → paint while {DRAWERS} extensions send 1,000 surface frames a second each, p95"
    return Row(what, times[int(len(times) * 0.95)] * 1000, 16, "ms", note=slowest)


def typing_beside(env: dict[str, str], cwd: Path) -> list[float]:
    """Seconds from each key to its paint, sorted."""
    times: list[float] = []
    with FakeTerminal([*ZOT, "--base-url", "http://127.0.0.1:9", "--api-key", "k"], cwd=cwd, env=env) as terminal:
        terminal.wait_for(PROMPT)
        terminal.wait_for("more rows of extensions", 30)
        for _ in range(4):
            typed = ""
            for letter in "abcdefghijklmnopqrstuvwxyz":
                typed += letter
                quiet = time.monotonic() + 0.03
                while time.monotonic() < quiet:
                    terminal.pump(0.005)
                # In the bytes, not on the emulated screen: that would time the emulator.
                wanted, seen, before = typed.encode(), len(terminal.raw), time.monotonic()
                terminal.type(letter)
                terminal.wait_until(lambda w=wanted, s=seen: w in terminal.raw[s:], letter)
                times.append(time.monotonic() - before)
            terminal.press("ctrl+u")
            terminal.wait_gone(typed)
        terminal.signal(signal.SIGTERM)
        terminal.wait_exit()
    return sorted(times)
