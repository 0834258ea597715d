"""A client of ``zot rpc`` for tests: sends lines, reads lines with a deadline, and sees how the process ends."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PATIENCE_S = 20.0


class FakeRpcClient:
    """Reads stdout in a thread; ``pause`` stops that, as a client that hangs would. ``seen`` holds every line read."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.seen: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self._stdin, self._stdout, self._stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._may_read = threading.Event()
        self._may_read.set()
        self._parked = threading.Event()
        self._errors = b""
        self._threads = [threading.Thread(target=t, daemon=True) for t in (self._read_lines, self._read_errors)]
        for thread in self._threads:
            thread.start()

    # --- saying

    def send(self, type: str, **fields: Any) -> None:
        self.write(json.dumps({"type": type, **fields}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        self._stdin.write(data)

    def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        """Sends a command and returns its response; events in between go to ``seen``."""
        self.send(type, **fields)
        return self.response(type)

    def prompt(self, message: str, **fields: Any) -> list[dict[str, Any]]:
        """A whole prompt: every line from its response to ``done``."""
        start = len(self.seen)
        self.send("prompt", message=message, **fields)
        self.until("done")
        return self.seen[start:]

    def end_input(self) -> None:
        self._stdin.close()

    def close(self) -> int:
        """End of input, and the exit code that follows."""
        self.end_input()
        return self.exit_code()

    # --- hearing

    def next(self, timeout: float = PATIENCE_S) -> dict[str, Any]:
        line = self._lines.get(timeout=timeout)
        assert line is not None, f"zot rpc ended; stderr: {self.stderr}"
        self.raw.append(line)
        self.seen.append(json.loads(line))
        return self.seen[-1]

    def until(self, type: str, **fields: Any) -> dict[str, Any]:
        """The next line of that type with those fields."""
        while True:
            line = self.next()
            if line["type"] == type and fields.items() <= line.items():
                return line

    def response(self, command: str) -> dict[str, Any]:
        return self.until("response", command=command)

    def rest(self) -> list[dict[str, Any]]:
        """Everything up to the end of output."""
        start = len(self.seen)
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            self.raw.append(line)
            self.seen.append(json.loads(line))
        return self.seen[start:]

    def is_silent(self, seconds: float = 0.3) -> bool:
        try:
            self.next(seconds)
        except queue.Empty:
            return True
        return False

    def pause(self) -> None:
        self._may_read.clear()

    def resume(self) -> None:
        self._may_read.set()

    def hang_up(self) -> None:
        """Closes our end of stdout when no reader is active (a pong ends the read)."""
        self.pause()
        self.send("ping")
        assert self._parked.wait(PATIENCE_S)
        self._stdout.close()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [line for line in self.seen if line["type"] != "response"]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    # --- the process

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def exit_code(self) -> int:
        return self.process.wait(PATIENCE_S)

    @property
    def stderr(self) -> str:
        """All of it, once the process has ended."""
        if self.process.poll() is not None:
            self._threads[1].join(5)
        return self._errors.decode()

    def rss_mb(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no VmRSS")

    def wait_until_stderr_says(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self._errors.decode():
            assert time.monotonic() < deadline, f"stderr never said {text!r}: {self._errors.decode()!r}"
            time.sleep(0.01)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self.resume()
        for stream in (self._stdin, self._stderr):
            stream.close()

    def _read_lines(self) -> None:
        try:
            rest = b""
            while data := self._chunk():
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._lines.put(line)
        except (OSError, ValueError):
            pass  # hung up
        self._lines.put(None)

    def _chunk(self) -> bytes:
        if not self._may_read.is_set():
            self._parked.set()
            self._may_read.wait()
            self._parked.clear()
        return self._stdout.read(65536)

    def _read_errors(self) -> None:
        try:
            while data := self._stderr.read(4096):
                self._errors += data
        except (OSError, ValueError):
            pass
