"""Stdio transport: a child process with one message per line; stderr goes to a log. Stopping closes stdin, then
signals the whole process tree, since launchers leave grandchildren."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from zot.errors import ExtensionError, describe_error
from zot.features.child_process import JsonLineProcess, start_process
from zot.features.mcp.protocol import Hear, Incoming, McpError, ServerClosed, read_message
from zot.features.process_log import ProcessLog
from zot.system.processes import SandboxLauncher
from zot.wire import limits

Start = Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]]

_SAID = 300  # characters of its last output
_LAST_WORDS_S = 2.0
_GARBAGE = 10  # invalid lines that are logged


def _start_failure(program: str, cwd: Path, error: Exception) -> str:
    if not os.path.isdir(cwd):
        return f'the working directory {cwd} does not exist (its "cwd")'
    if isinstance(error, ValueError):
        return f"{program}: {error} (in its arguments or environment)"
    if not isinstance(error, OSError):
        return str(error)
    reason = os.strerror(error.errno) if error.errno else describe_error(error)
    if isinstance(error, FileNotFoundError) and os.path.exists(program):
        reason = "the interpreter in its first line does not exist"
    return f"{program}: {reason}"


class StdioTransport:
    """``tell_of`` reports protocol errors; ``start_task`` runs background tasks."""

    def __init__(self, name: str, log: Path, tell_of: Callable[[str], None], start_task: Start) -> None:
        self.hear: Hear = lambda message: None
        self.headers: dict[str, str] = {}
        self.heard = 0
        self.closed = ""
        self._name = name
        self._log_path = log
        self._log: ProcessLog | None = None
        self._tell_of = tell_of
        self._start_task = start_task
        self._process: JsonLineProcess | None = None
        self._open: dict[int, asyncio.Future[Incoming]] = {}
        self._garbage = 0
        self._watch: asyncio.Task[Any] | None = None

    @property
    def pid(self) -> int:
        return self._process.tree.pid if self._process is not None else 0

    def start(self, argv: list[str], cwd: Path, env: Mapping[str, str], jail: SandboxLauncher | None = None) -> None:
        """McpError if it cannot be started."""
        try:
            log = self._log = ProcessLog(self._log_path, f"{self._name} -")
        except (ExtensionError, OSError) as error:
            raise McpError(f"{self._name}: {error}") from error
        try:
            self._process = start_process(
                argv,
                cwd=cwd,
                env=env,
                stderr=log.for_child,
                receive=self._received,
                private=False,
                jail=jail,
            )
        except (OSError, RuntimeError, ValueError) as error:
            self._close_log()
            raise McpError(f"{self._name}: cannot start: {_start_failure(argv[0], cwd, error)}") from error
        finally:
            os.close(log.for_child)
        self._watch = self._start_task(self._watch_end(self._process))

    @property
    def is_gone(self) -> bool:
        return bool(self.closed) or self._process is None or self._process.tree.exit_code is not None

    async def ask(self, id: int, headers: Mapping[str, str], message: bytes) -> Incoming:
        if self.closed or self._process is None:
            raise ServerClosed(f"{self._name}: {self.closed or 'not running'}")
        waiting: asyncio.Future[Incoming] = asyncio.get_running_loop().create_future()
        self._open[id] = waiting
        try:
            if self._process.send(message):
                return await waiting
            async with asyncio.timeout(_LAST_WORDS_S):  # it is exiting; its last output is the better reason
                return await waiting
        except TimeoutError:
            raise ServerClosed(f"{self._name}: does not read its input") from None
        finally:
            self._open.pop(id, None)

    def notify(self, message: bytes) -> None:
        if self._process is not None and not self.closed:
            self._process.send(message)

    async def aclose(self, grace: float) -> None:
        self._end("stopped")
        process, self._process = self._process, None
        if self._watch is not None:
            self._watch.cancel()
        if process is not None:
            await process.stop(grace)
        self._close_log()

    # --- output

    def _received(self, line: bytes | None) -> None:
        if line is None:
            if self._log is not None:
                self._log.write("sent a message above 8 MiB, which was skipped")
            self._tell_of("sent a message above 8 MiB, which was skipped")
            self._fail_open("sent a message above 8 MiB")
            return
        if not line.strip():
            return
        self.heard += 1
        message = read_message(line)
        if message is None:
            self._garbage += 1
            shown = line[:200].decode("utf-8", "replace")
            if self._garbage <= _GARBAGE and self._log is not None:
                self._log.write(f"invalid line on stdout: {shown!r}")
            if self._garbage == 1:
                self._tell_of(f"ignored invalid output on stdout: {shown[:80]!r}")
        elif message.is_answer:
            waiting = self._open.get(message.id) if isinstance(message.id, int) else None
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            elif message.id is None:
                self._fail_open(f"rejected a message: {message.error.message if message.error else ''}")
        else:
            self.hear(message)

    # --- exit

    async def _watch_end(self, process: JsonLineProcess) -> None:
        watch = asyncio.ensure_future(process.watch_exit())
        try:
            reason = await process.over
            code = await process.exit_code(0.5)
        finally:
            watch.cancel()
        line = self._log.error_line() if self._log is not None else ""
        ending = "" if code is None else f"exit status {code}" if code >= 0 else f"signal {-code}"
        how = reason or (f"exited ({ending})" if ending else "closed its stdout")
        self._end(how + (f": {line[:_SAID]}" if line else ""))
        process.disconnect("")
        await process.tree.stop(limits.TERMINATE_GRACE)

    def _end(self, reason: str) -> None:
        self.closed = self.closed or reason
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_exception(ServerClosed(f"{self._name}: {self.closed}"))

    def _fail_open(self, reason: str) -> None:
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_exception(McpError(f"{self._name}: {reason}"))

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None
