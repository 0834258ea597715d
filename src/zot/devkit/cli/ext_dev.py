"""``zot ext dev PATH``: restarts an extension at every change, shows its frames and stderr, checks the rules.

Typed ``/command args``, ``tool {…}`` or frames go to it, ``again`` repeats one; its state is kept over a restart.
With a prompt, ``zot -p`` runs after each change instead.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from zot.cli.arguments import parse
from zot.cli.verb_table import options
from zot.devkit.cli.ext_check import lines
from zot.devkit.conformance.frame_transcript import TranscriptLine
from zot.devkit.conformance.played_host import Outcome
from zot.devkit.conformance.results import ConformanceReport
from zot.devkit.conformance.runner import check_extension
from zot.devkit.dev_host import DevHost
from zot.devkit.inspector import FrameFilter
from zot.devkit.scripted_host import RunPaths, ScriptedHost, started
from zot.devkit.trace_reader import read_frames, summary_of
from zot.errors import ExtensionError, UsageError
from zot.features.extensions.loader.data_dir import looks_like_data
from zot.features.extensions.loader.manifest import FILE, Manifest, read_manifest
from zot.features.recording.frame_trace import FrameLog
from zot.frontends.console import run_loop
from zot.system.safe_open import open_buffered
from zot.system.temp_files import scratch_directory
from zot.tui.sanitize import exact_line

_HOW = "type /command args or tool {…} to try it, again, filter WORDS, answer OUTCOME, r to restart, Ctrl+C to stop"


def run(argv: list[str]) -> int:
    ours, flags = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    typed = parse(ours, options("ext dev"), least=1, what="the extension's directory")
    directory = Path(os.path.abspath(os.path.expanduser(typed.words[0])))
    if not os.path.lexists(directory / FILE):
        raise UsageError(f"{directory} has no {FILE}")
    prompt = " ".join(typed.words[1:])
    if flags and not prompt:
        raise UsageError("arguments after -- need a PROMPT")
    dev_options = DevOptions(
        check=not typed.has("--no-check"),
        once=typed.has("--once"),
        send=typed.values.get("--send", ""),
        filter=typed.values.get("--filter", ""),
    )
    try:
        with scratch_directory("dev") as scratch:
            if prompt:
                return run_loop(PromptLoop(directory, scratch, [*flags, "-p", prompt], _print_line, dev_options).run())
            if not dev_options.once:
                _print_line(f"watching {directory}; {_HOW}")
            return run_loop(DevLoop(directory, scratch, dev_options, _print_line, _print_verdict).run())
    except KeyboardInterrupt:
        return 0  # the normal end


def _print_line(line: str) -> None:
    sys.stdout.write(f"{exact_line(line)}\n")
    sys.stdout.flush()


def _print_verdict(report: ConformanceReport, seconds: float) -> None:
    """One line if all rules pass; else the failures, cause first."""
    passed = sum(result.status == "pass" for result in report.results)
    if report.passed and not report.warnings:
        _print_line(f"✓ check: {passed} rules passed ({seconds:.1f} s)")
        return
    _print_line("✓ check: passed, with warnings" if report.passed else "✗ check: a rule is broken")
    for line in lines(report, seconds):
        if not line.startswith(("  PASS", "  SKIP")):
            _print_line(line)


# One loop plays the host. Frames and stderr are shown; typed lines become frames, as in `trace`. After every
# start the rules are checked in separate processes. If the extension crashes, hangs or loses its manifest, the loop
# reports it and waits for the next change.

LOOK_S = 0.2
CHECK_TIMEOUT_S = 10.0
_PASSED_OVER = {"node_modules", "__pycache__", "venv"}
_MOST = 20_000  # files

Marks = dict[str, tuple[int, int]]


class Watch:
    """Reports changed files once writing has stopped; data files are not watched, or it would restart forever."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known = self._look()
        self._seen = self._known

    def changed(self) -> list[str]:
        """Names of files changed since the last call; empty while files are still changing."""
        now = self._look()
        at_rest, self._seen = now == self._seen, now
        if not at_rest or now == self._known:
            return []
        before, self._known = self._known, now
        return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))

    def _look(self) -> Marks:
        try:
            manifest = read_manifest(self._directory)
        except ExtensionError:
            manifest = Manifest("", self._directory)
        found: Marks = {}
        for folder, folders, names in os.walk(self._directory):
            folders[:] = [name for name in folders if name not in _PASSED_OVER and not name.startswith(".")]
            for path in (Path(folder, name) for name in names):
                try:
                    if not looks_like_data(path, manifest):
                        status = path.stat()
                        found[str(path.relative_to(self._directory))] = status.st_mtime_ns, status.st_size
                except OSError:
                    continue  # deleted meanwhile
            if len(found) > _MOST:
                break
        return found


class DevOptions(msgspec.Struct, frozen=True):
    """``send`` is a line typed after each start, ``filter`` the frames to show."""

    check: bool = True
    once: bool = False
    send: str = ""
    filter: str = ""


class DevLoop:
    """``print_line`` prints one line, ``verdict`` a check's result and duration."""

    def __init__(
        self,
        directory: Path,
        scratch: Path,
        dev_options: DevOptions,
        print_line: Callable[[str], None],
        verdict: Callable[[ConformanceReport, float], None],
    ) -> None:
        self._directory = directory
        self._scratch = scratch
        self._options = dev_options
        self._print_line = print_line
        self._verdict = verdict
        self._watch = Watch(directory)
        self._typed: deque[str] = deque()
        self._starts = 0
        self._failed = False
        self.frames = FrameFilter(dev_options.filter)
        self.state: Any = None  # of the process that ended for a restart
        self.outcome: Outcome = "value"

    async def run(self) -> int:
        """Runs until interrupted; with ``once`` one start and check, 1 on a failure."""
        if not self._options.once:
            loop = asyncio.get_running_loop()

            def read() -> None:
                while line := sys.stdin.readline():
                    with suppress(RuntimeError):  # the loop is closed
                        loop.call_soon_threadsafe(self._typed.append, line)

            threading.Thread(target=read, daemon=True).start()
        while True:
            changed = await self._run_once()
            if self._options.once:
                return 1 if self._failed else 0
            if not changed:
                self._print_line("waiting for a change …")
            while not changed:
                await asyncio.sleep(LOOK_S)
                changed = self.look_for_change()
            self._print_line(f"↻ {', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}: restarting")

    async def _run_once(self) -> list[str]:
        """The changed files, if they caused the restart."""
        try:
            manifest = read_manifest(self._directory)
            if not manifest.has_process:
                self._print_line("it has no program: no frames to show")
                await self._check()
                return []
            self._starts += 1
            data = self._scratch / "data"
            data.mkdir(exist_ok=True)
            place = RunPaths(Path.cwd(), data, self._scratch / f"stderr-{self._starts}")
            async with started(manifest, place, "dev") as host:
                return await _Life(self, host, manifest).run()
        except ExtensionError as error:
            self._failed = True
            self._print_line(f"✗ {error}")
            await self._check()
            return []

    # --- the running process

    def look_for_change(self) -> list[str]:
        if self._typed and self._typed[0].strip() in ("r", "restart"):
            return [self._typed.popleft().strip()]
        return self._watch.changed()

    def next_typed(self) -> str:
        """The next typed line other than ``r``; empty if there is none."""
        if not self._typed or self._typed[0].strip() in ("r", "restart"):
            return ""
        return self._typed.popleft()

    def print_line(self, line: str) -> None:
        self._print_line(line)

    def failed(self) -> None:
        self._failed = True

    @property
    def once(self) -> bool:
        return self._options.once

    @property
    def send(self) -> str:
        return self._options.send

    async def check(self) -> None:
        await self._check()

    async def _check(self) -> None:
        if not self._options.check:
            return
        began = time.monotonic()
        scratch = self._scratch / f"check-{self._starts}-{time.monotonic_ns()}"
        scratch.mkdir()
        report = await check_extension(self._directory, scratch, timeout=CHECK_TIMEOUT_S)
        self._failed = self._failed or not report.passed
        self._verdict(report, time.monotonic() - began)


class _Life:
    """One process of the extension, from its start to its end or to the next change."""

    def __init__(self, loop: DevLoop, host: ScriptedHost, manifest: Manifest) -> None:
        self._loop = loop
        self._host = host
        self._name = manifest.name
        self._frames = FrameLog()
        self._dev = DevHost(host, loop.outcome)
        self._stderr_place = 0
        self._stderr_rest = b""
        host.listeners.append(self._passed)

    async def run(self) -> list[str]:
        state, self._loop.state = self._loop.state, None
        greeted = await self._dev.greet(state)
        self._print_stderr()
        if greeted and self._loop.send:
            self._type(self._loop.send)
        if not greeted:
            self._loop.failed()
            self._loop.print_line(f"✗ {self._name} did not say hello")
        changed: list[str] = []
        try:
            async with asyncio.TaskGroup() as tasks:
                checking = tasks.create_task(self._loop.check())
                changed = await self._serve(checking)
                checking.cancel()
            if changed:
                self._loop.state = await self._dev.save_state()
        finally:
            if self._host.alive and await self._host.end() is None:
                self._loop.print_line(f"✗ {self._name} did not exit on shutdown")
            self._print_stderr()
        return changed

    async def _serve(self, checking: asyncio.Task[None]) -> list[str]:
        """Shows and forwards lines until a change or the end. An ended one is still checked."""
        end_printed = False
        while True:
            await self._host.until(lambda: False, LOOK_S)
            self._print_stderr()
            if changed := self._loop.look_for_change():
                return changed
            while typed := self._loop.next_typed().strip():
                self._type(typed)
            if not self._host.alive and not end_printed:
                end_printed = True
                await self._host.fate()
                self._loop.failed()
                self._loop.print_line(f"✗ {self._name} ended with status {self._host.exit_code}")
            if checking.done() and not self._dev.waits and (self._loop.once or not self._host.alive):
                return []
            if not self._host.alive:
                await asyncio.sleep(LOOK_S)

    def _type(self, typed: str) -> None:
        word, _, rest = typed.partition(" ")
        if word == "filter" and not rest.startswith("{"):
            self._loop.frames.set(rest)
            self._loop.print_line(f"showing {self._loop.frames.words or 'all frames'}")
            return
        if problem := self._dev.type(typed):
            self._loop.print_line(problem)
        self._loop.outcome = self._dev.outcome

    def _passed(self, line: TranscriptLine) -> None:
        self._print_stderr()
        at = line.t - self._host.started
        traced = self._frames.frame(at, self._name, line.direction, line.data)
        if self._loop.frames.shows(traced):
            self._loop.print_line(summary_of(traced))

    def _print_stderr(self) -> None:
        """New complete lines."""
        log = self._host.place.log
        if not log.exists():
            return
        with open_buffered(log) as file:
            file.seek(self._stderr_place)
            data = self._stderr_rest + file.read()
            self._stderr_place = file.tell()
        *lines, self._stderr_rest = data.split(b"\n")
        now = time.monotonic() - self._host.started
        for line in lines:
            self._loop.print_line(f"{now:9.3f} {self._name} ! {line.decode('utf-8', 'replace')}")


class PromptLoop:
    """Runs ``zot -p`` with the extension at every change and shows its frames."""

    def __init__(
        self,
        directory: Path,
        scratch: Path,
        words: list[str],
        print_line: Callable[[str], None],
        dev_options: DevOptions,
    ) -> None:
        self._directory = directory
        self._scratch = scratch
        self._words = words
        self._print_line = print_line
        self._once = dev_options.once
        self._frames = FrameFilter(dev_options.filter)
        self._watch = Watch(directory)
        self._runs = 0

    async def run(self) -> int:
        """Runs until interrupted; with ``once`` returns the exit status of one run."""
        while True:
            status, changed = await self._one_run()
            if self._once:
                return status
            if not changed:
                self._print_line("waiting for a change …")
            while not changed:
                await asyncio.sleep(LOOK_S)
                changed = self._watch.changed()
            self._print_line(f"↻ {', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}: running again")

    async def _one_run(self) -> tuple[int, list[str]]:
        self._runs += 1
        trace = self._scratch / f"trace-{self._runs}.jsonl"
        words = ("-m", "zot", "--ext", str(self._directory), "--ext-trace", str(trace), *self._words)
        child = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=asyncio.subprocess.DEVNULL)
        changed: list[str] = []
        try:
            while child.returncode is None and not changed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await child.wait()
                changed = self._watch.changed()
        finally:
            if child.returncode is None:
                child.terminate()
                await child.wait()
        if trace.exists():
            for _, traced in read_frames(trace):
                if self._frames.shows(traced):
                    self._print_line(summary_of(traced))
        return child.returncode or 0, changed
