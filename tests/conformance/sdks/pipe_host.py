"""A small host for one extension: starts the real process, writes frames to it, reads its lines with a deadline."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Any

from zot.wire import extension_codec, extension_frames

PATIENCE = 30.0  # only reached when something is broken
ACK = extension_frames.HelloAck(
    protocol_version=1,
    capabilities=("call_tool",),
    zot_version="test",
    provider="anthropic",
    model="m",
    cwd="/project",
    extension_dir="/ext",
    data_dir="/data",
)


class PipeHost:
    """Use as a context manager; the process is gone afterwards."""

    def __init__(self, argv: list[str], cwd: Path) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._lines: Queue[bytes] = Queue()
        self.log = b""
        self._readers = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_log)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_log(self) -> None:
        assert self._process.stderr
        self.log = self._process.stderr.read()

    def __enter__(self) -> PipeHost:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def send(self, *sent: extension_frames.Frame | bytes) -> None:
        """All frames in one write."""
        assert self._process.stdin
        data = b"".join(frame if isinstance(frame, bytes) else extension_codec.encode(frame) for frame in sent)
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def close_input(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()

    def line(self) -> bytes:
        """The next line; empty at the end of output."""
        return self._lines.get(timeout=PATIENCE)

    def frame(self) -> Any:
        return extension_codec.decode_child(self.line())

    def rest(self) -> list[bytes]:
        """Every line until the extension closes its output."""
        return list(iter(self.line, b""))

    def exit_status(self) -> int:
        status = self._process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return status

    def greet(self) -> list[bytes]:
        """hello, the ack, and the registrations up to and including ``ready``."""
        hello = self.line()
        self.send(ACK)
        return [hello, *self.registrations()]

    def registrations(self) -> list[bytes]:
        lines = [self.line()]
        while lines[-1] not in (b'{"type":"ready"}\n', b""):
            lines.append(self.line())
        return lines
