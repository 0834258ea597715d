"""One extension process: starting → greeting → ready → (stopping | gone | restarting → starting).
``starting`` waits for ``hello``, ``greeting`` registers, ``gone`` lasts until a reload. Registrations end with the
process; being a guard does not."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from zot.errors import BadFrame, ConfigError, ExtensionCrashed, ExtensionError, ExtensionTimedOut, describe_error
from zot.features.extensions.child_log import ChildLog, Diagnostics
from zot.features.extensions.loader.discovery import DiscoveredExtension
from zot.features.extensions.loader.manifest import read_manifest
from zot.features.extensions.open_questions import Answer, Kind, OnProgress, OpenQuestion, OpenQuestions, Question
from zot.features.extensions.subscriptions import matches
from zot.wire import extension_frames, limits
from zot.wire.extension_codec import UnknownFrame, decode_child, encode

if TYPE_CHECKING:
    from zot.features.child_process import JsonLineProcess
    from zot.features.extensions.frame_link import FrameLink
    from zot.features.extensions.jail_policy import JailedCommand
    from zot.features.extensions.loader.declared_permissions import Permissions
    from zot.features.extensions.loader.manifest import Manifest
    from zot.features.recording.frame_trace import Direction
    from zot.system.jail.jail import Jail

State = Literal["waiting", "starting", "greeting", "ready", "stopping", "gone", "restarting"]
ReadyHow = Literal["", "frame", "idle", "grace"]
_SHOWN_CHARS = 200
_AFTERMATH_S = 2.0  # answers and progress of an abandoned request are dropped silently for so long
_NEW_FRAMES = (
    extension_frames.Request,
    extension_frames.Response,
    extension_frames.Cancel,
    extension_frames.Contribute,
    extension_frames.Withdraw,
)


def new_request_id() -> str:
    """A request id that only the asked child knows, so that no other process can answer."""
    return os.urandom(8).hex()


class ChildOwner(Protocol):
    home: Path
    diagnostics: Diagnostics
    start_process: Callable[..., JsonLineProcess]

    def open_link(self, child: ExtensionChild, receive: Callable[[bytes | None], None]) -> FrameLink:
        """Connect to an extension at a URL; ExtensionError if that is not possible."""
        ...

    def place(self, entry: DiscoveredExtension) -> Path:
        """The directory to run it in; ExtensionError if it may not start now."""
        ...

    def environment(self, entry: DiscoveredExtension, place: Path) -> tuple[dict[str, str], list[str]]:
        """The child's variables, and remarks for its log."""
        ...

    def permissions(self, entry: DiscoveredExtension, manifest: Manifest) -> Permissions | None:
        """Its permissions; None for all rights."""
        ...

    def confine(self, child: ExtensionChild, argv: list[str], environment: dict[str, str]) -> JailedCommand:
        """Its jail if it has permissions; ExtensionError if none can be built."""
        ...

    def acknowledge(self, child: ExtensionChild) -> extension_frames.HelloAck: ...

    def readied(self, child: ExtensionChild) -> None:
        """It sent ``ready`` or counts as ready."""
        ...

    def guard_declared(self, child: ExtensionChild) -> None:
        """Its hello declares a guard that the manifest does not declare: store it."""
        ...

    def guard_withdrawn(self, child: ExtensionChild) -> None:
        """A former guard no longer declares itself one."""
        ...

    def received(self, child: ExtensionChild, frame: extension_frames.ChildFrame) -> None: ...

    def ended(self, child: ExtensionChild) -> None: ...

    def disconnected(self, child: ExtensionChild, reason: str) -> None: ...

    def exited(self, child: ExtensionChild, code: int | None) -> None: ...

    def tap(self, name: str, direction: Direction, line: bytes) -> None: ...


class RestartBackoff:
    """Restart delays after crashes: 1, 2, 4, 8, 16 s, then none; a minute of uptime resets them."""

    def __init__(self) -> None:
        self._used = 0

    def next_delay(self, lived_s: float) -> float | None:
        """Seconds until the next start; None for no restart."""
        if lived_s >= limits.RESTART_RESET:
            self._used = 0
        if self._used >= len(limits.RESTART_DELAYS):
            return None
        self._used += 1
        return limits.RESTART_DELAYS[self._used - 1]


class ExtensionChild:
    """``before``: the child this one replaces. ``settled``: ready or failed.
    ``guarded``: all events it ever intercepted. A former guard counts as one until its next hello."""

    def __init__(self, entry: DiscoveredExtension, owner: ChildOwner, *, before: ExtensionChild | None = None) -> None:
        self.entry = entry
        self.name = entry.manifest.name
        was_guard = entry.was_guard or (before is not None and before.guard)
        self.guard = entry.manifest.guard or was_guard
        self._presumed = was_guard and not entry.manifest.guard
        self._before_reload: frozenset[str] = frozenset(before.guarded if before is not None and before.guard else ())
        self.state: State = "waiting"
        self.ready_how: ReadyHow = ""
        self.settled = asyncio.Event()
        self.slow_calls = 0
        self.withheld: list[str] = []  # set variables that its process did not get
        self.capabilities: frozenset[str] = frozenset()
        self.commands: dict[str, extension_frames.RegisterCommand] = {}
        self.tools: dict[str, extension_frames.RegisterTool] = {}
        self.events: set[str] = set()
        self.intercepts: set[str] = set()
        self.guarded: set[str] = set(self._before_reload)
        self._owner = owner
        self.log = ChildLog(self.name, owner.diagnostics)
        self.questions = OpenQuestions()
        self._abandoned: dict[str, float] = {}
        self.options: dict[str, dict[str, Any]] = {}  # of ``subscribe``, by event
        self.tool_filters: dict[str, frozenset[str] | None] = {}  # tools an event is limited to; None: all
        self._restarts = RestartBackoff()
        self._stop_asked = asyncio.Event()
        self._load_problem = ""
        self.manifest = entry.manifest
        self.place = entry.manifest.directory
        self.permissions = owner.permissions(entry, entry.manifest)
        self._jail: Jail | None = None
        self._private = False
        self._begin()

    def _begin(self) -> None:
        self._process: FrameLink | None = None
        self._refused = ""
        self._once_more = False
        self._greeted = False
        self._said_ready = False
        self._lines = 0
        self.granted: frozenset[str] = frozenset()  # words of ``uses`` that hold
        self._filtered: set[str] = set()  # events whose filter is of this process
        self.seen_entries: set[str] = set()  # messages whose content it has been given (``context``)
        self._timers: list[asyncio.TimerHandle] = []
        self.ready_how = ""

    # --- requests

    @property
    def alive(self) -> bool:
        return self.state in ("greeting", "ready")

    def intercepting(self, event: str, tool: str = "") -> bool:
        """True if the child must be called. ``tool`` is the tool's name, for events that have one.
        A guard is also called while not running, for events it guarded before, and for tool calls until ``ready``."""
        if not self.guard:
            return self.alive and event in self.intercepts and self.wants_tool(event, tool)
        chosen = self._said_ready and bool(self.intercepts)
        if event in self.guarded:
            return self.wants_tool(event, tool)
        return event == "tool_call" and not chosen

    def wants_tool(self, event: str, tool: str) -> bool:
        """False if the event is limited to other tools."""
        tools = self.tool_filters.get(event)
        return tools is None or not tool or matches(tools, tool)

    def filter_tools(self, event: str, tools: frozenset[str] | None) -> None:
        """Limit an event to tools, besides those it is limited to already. A filter of a previous process, which a
        guard keeps until now, is replaced."""
        before = self.tool_filters.get(event, frozenset()) if event in self._filtered else frozenset[str]()
        self._filtered.add(event)
        self.tool_filters[event] = None if tools is None or before is None else before | tools

    def send(self, frame: extension_frames.Frame) -> bool:
        return self.alive and self._write(encode(frame))

    def send_line(self, line: bytes) -> bool:
        """Send a frame that was encoded once for many children."""
        return self.alive and self._write(line)

    @property
    def edition2(self) -> bool:
        return extension_frames.EDITION2 in self.capabilities

    async def ask(
        self,
        question: Question,
        seconds: float | None,
        *,
        most: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """The frame that answers a request; ExtensionError without one.
        ``seconds`` limit the silence, ``most`` the whole; ``progress`` frames are passed on."""
        opened = self.questions.open(question, seconds, most, on_progress)
        try:
            if not self.send(question):
                raise ExtensionCrashed("does not accept input" if self.alive else "is not running")
            return await opened.answer()
        except (asyncio.CancelledError, ExtensionTimedOut) as error:
            self._abandon(opened, "timeout" if isinstance(error, ExtensionTimedOut) else "aborted")
            raise
        finally:
            self.questions.close(opened)

    def _abandon(self, question: OpenQuestion, reason: str) -> None:
        """Tell the process once that the answer is no longer needed."""
        if self.edition2:
            self._abandoned = {id: at for id, at in self._abandoned.items() if time.monotonic() - at < _AFTERMATH_S}
            self._abandoned[question.id] = time.monotonic()
            self.send(extension_frames.Cancel(id=question.id, reason=reason))
        elif question.kind == "tool" and "tool_cancel" in self.capabilities:
            self.send(extension_frames.ToolCancel(id=question.id))

    @property
    def resume_token(self) -> str:
        """What an extension at a URL names to go on after a lost connection; empty for a process."""
        return getattr(self._process, "resume", "")

    @property
    def is_backlogged(self) -> bool:
        """True while a frame waits for the process to read."""
        return self._process is not None and self._process.is_backlogged

    def fault(self, kind: str, text: str) -> None:
        self.log.fault(kind, text)

    # --- process lifetime

    async def live(self) -> None:
        """Run the process and restart it as ``Restarts`` allows."""
        while True:
            began = time.monotonic()
            restart = await self._run_process()
            if self._once_more and not self._stop_asked.is_set():
                continue
            delay = self._restarts.next_delay(time.monotonic() - began) if restart else None
            if delay is None:
                self.state = "gone"
                return
            self.state = "restarting"
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._stop_asked.wait()
                return

    async def _run_process(self) -> bool:
        """Run one process; true if another should follow."""
        self._begin()
        self.state = "starting"
        try:
            process = self._process = self._start()
        except (ExtensionError, OSError) as error:
            self._leave_jail()
            self._load_error(
                str(error) if isinstance(error, ExtensionError) else f"cannot start: {describe_error(error)}"
            )
            return False
        try:
            return await self._serve(process)
        finally:
            await process.reap()
            self._leave_jail()

    def _start(self) -> FrameLink:
        self.place = self._owner.place(self.entry)
        if self.place != self.entry.manifest.directory:
            self.manifest = read_manifest(self.place)  # its remarks belong to this start
            self.guard |= self.manifest.guard
        manifest = self.manifest
        self.permissions = self._owner.permissions(self.entry, manifest)
        if manifest.url:
            return self._connect(manifest)
        environment, remarks = self._owner.environment(self.entry, self.place)
        argv = manifest.argv(environment.get("PATH", ""))
        if self.permissions is not None:
            confined = self._owner.confine(self, argv, environment)
            self._jail, environment = confined.jail, confined.environment
            remarks += confined.remarks
        self.withheld = [name for name, value in os.environ.items() if value and name not in environment]
        stderr = self.log.open(self._owner.home, manifest.version)
        for remark in remarks:
            self.log.write(remark)
        self._private = self.guard
        try:
            process = self._owner.start_process(
                argv,
                cwd=self.place,
                env=environment,
                stderr=stderr,
                receive=self._received,
                private=self._private,
                jail=self._jail,
            )
        except (ConfigError, RuntimeError) as error:  # for example a link in place of a protected name
            raise ExtensionError(f"cannot create its jail: {error}") from error
        finally:
            os.close(stderr)
        self._after(limits.HELLO_DEADLINE, self._hello_overdue)
        return process

    def _connect(self, manifest: Manifest) -> FrameLink:
        """Reach an extension at a URL."""
        os.close(self.log.open(self._owner.home, manifest.version))
        self._private = True  # nothing on this machine can write into the connection
        self._after(limits.HELLO_DEADLINE, self._hello_overdue)
        return self._owner.open_link(self, self._received)

    def _leave_jail(self) -> None:
        if self._jail is not None:
            jail, self._jail = self._jail, None
            jail.close()

    async def _serve(self, process: FrameLink) -> bool:
        """Wait for the process to end; true if it crashed and should restart."""
        exit_watch = asyncio.ensure_future(process.watch_exit())
        try:
            reason = await process.over
            self._owner.disconnected(self, reason)
            if self._once_more and self.state == "starting":
                self._cancel_timers()
                return True
            greeted, stopping = self.state != "starting", self.state == "stopping"
            self._leave()
            if stopping:  # wait for its exit, not for the end of stdout; the host bounds this
                await process.wait()
                return False
            if reason and not greeted:
                self._load_error(self._refused or reason)
                return bool(self.manifest.url) and not (self._refused or process.is_final)
            code = await process.exit_code(limits.EXIT_AFTER_EOF)
            self._owner.exited(self, code)
            if not greeted:
                exited = code is not None
                self._load_error(f"exited before hello ({_exit(code)})" if exited else "closed its stdout before hello")
                return False
            return await self._ended(process, reason, code)
        finally:
            exit_watch.cancel()

    async def _ended(self, process: FrameLink, reason: str, code: int | None) -> bool:
        """Report how it ended; true for a crash."""
        self.settled.set()
        if reason:
            self.log.ended(f"disconnected: it {reason}")
            return True
        if code is None:
            self.log.ended("closed its stdout and is disconnected, although its process still runs")
            await process.wait()
            return False
        if code == 0:
            self.log.ended("exited; /reload-ext or the next launch starts it again")
            return False
        self.log.ended(f"crashed ({_exit(code)})")
        return True

    def _leave(self) -> None:
        """Fail all open requests: it can no longer be reached."""
        stopping = self.state == "stopping"
        self.state = "stopping" if stopping else "gone"
        self._cancel_timers()
        self.questions.fail_all(ExtensionCrashed("disconnected before answering"))
        self.commands, self.tools = {}, {}
        self.events, self.intercepts, self.options = set(), set(), {}
        self.log.write("end of its stdout")
        self._owner.ended(self)

    def _load_error(self, reason: str) -> None:
        manifest = self.entry.manifest
        self.state = "gone"
        language = [f"language {manifest.language}"] if manifest.language else []
        how = f"url {manifest.url}" if manifest.url else f"exec {manifest.exec}"
        if reason != self._load_problem:  # an address is tried again
            self.log.load_error(manifest.directory, reason, [how, *language])
        self._load_problem = reason
        self.settled.set()

    # --- stopping

    def ask_to_stop(self) -> None:
        """Send ``shutdown`` after queued frames, then close stdin."""
        if self.alive:
            self._write(encode(extension_frames.Shutdown()))
        if self.state in ("waiting", "starting", "greeting", "ready"):
            self.state = "stopping"
        elif self.state == "restarting":
            self.state = "gone"
        self._stop_asked.set()
        if self._process is not None:
            self._process.close_stdin()

    async def force_to_stop(self) -> None:
        """SIGTERM, and SIGKILL a second later."""
        if self._process is not None:
            await self._process.terminate(limits.TERMINATE_GRACE)

    # --- hello and readiness

    def _greet(self, line: bytes) -> None:
        try:
            hello = decode_child(line)
        except BadFrame as error:
            self._refuse(f"its first line is not a hello frame: {error}: {_shown(line)}")
            return
        if not isinstance(hello, extension_frames.Hello):
            self._refuse(f"its first frame is {type(hello).__struct_config__.tag}, not hello")
        elif not hello.name:
            self._refuse("its hello has no name")
        else:
            self._welcome(hello)

    def _welcome(self, hello: extension_frames.Hello) -> None:
        if hello.name != self.name:
            self.log.write(f"hello says {hello.name!r}; the manifest's name {self.name!r} is used")
        self.capabilities = frozenset(hello.capabilities)
        if self.manifest.url and not self.edition2:
            self._refuse(f'its hello lacks "{extension_frames.EDITION2}", which an extension at a URL needs')
            return
        declared = "guard" in self.capabilities and self._may_guard()
        if declared and self.manifest.uses and not self.manifest.guard:
            from zot.features.extensions.loader.declared_uses import check_guard

            try:
                check_guard(self.manifest.uses)
            except ExtensionError as error:
                self._refuse(str(error))
                return
        if self.manifest.guard:
            pass
        elif declared:
            self.guard = True
            self._owner.guard_declared(self)
        elif self._presumed:
            self.guard = False
            self._owner.guard_withdrawn(self)
        self._presumed = False
        if self.guard and not self._private:
            # A guard first declared by hello has pipes; restart it with private streams.
            self.log.write("declares itself a guard: remembered, and restarted with private streams")
            self._once_more = True
            if self._process is not None:
                self._process.disconnect("")
            return
        self._greeted = True
        self.state = "greeting"
        self._write(encode(self._owner.acknowledge(self)))
        self._watch_for_silence()

    def _may_guard(self) -> bool:
        """A guard needs the permission to intercept."""
        allowed = self.permissions is None or self.permissions.intercepts
        if not allowed:
            self.fault("permissions", "declares itself a guard, but its permissions do not allow intercepting")
        return allowed

    def _watch_for_silence(self) -> None:
        """Every 250 ms: a child that sent nothing since the last check counts as ready."""
        lines_before = self._lines

        def look() -> None:
            if self.state == "greeting" and self._lines == lines_before:
                self.log.write("readiness assumed: it was silent and sent no ready frame")
                self.make_ready("idle")
            elif self.state == "greeting":
                self._watch_for_silence()

        self._after(limits.IDLE_READY, look)

    def make_ready(self, how: ReadyHow) -> None:
        if self.state == "greeting":
            self.state = "ready"
            self.ready_how = how
            self.settled.set()
            if self.edition2:
                self._owner.readied(self)

    def give_up_waiting(self) -> None:
        """Continue the start without its ``ready``; without hello it may join later."""
        if self.state == "starting":
            self.fault("late", "sent no hello in time; zot continues without it, and it may join later")
        elif self.state == "greeting":
            self.log.write("not ready in time; zot continues without waiting")
        self.make_ready("grace")

    def _hello_overdue(self) -> None:
        if self.state == "starting":
            self._refuse(f"no hello within {limits.HELLO_DEADLINE:g} s")

    def _refuse(self, reason: str) -> None:
        self._refused = reason
        if self._process is not None:
            self._process.disconnect(reason)

    # --- lines

    def _write(self, line: bytes) -> bool:
        if self._process is None or not self._process.send(line):
            return False
        self._owner.tap(self.name, "out", line)
        return True

    def _received(self, line: bytes | None) -> None:
        self._lines += 1
        if line is not None:
            self._owner.tap(self.name, "in", line)
        if self.state == "stopping" and not self._greeted:
            return  # stopped before its hello: its output no longer matters
        if line is None:
            text = f"sent a line above {limits.MAX_LINE >> 20} MiB, which was skipped"
            self._spoiled("oversize", text)
            self.questions.fail_only("tool", BadFrame(text))  # only results are that long
            return
        if self.state == "starting":
            self._greet(line)
            return
        try:
            self._heed(decode_child(line))
        except UnknownFrame as error:
            self._spoiled("unknown", f"sent an unknown frame type {error.type[:60]!r}, which was ignored", line)
        except BadFrame as error:
            self._spoiled("malformed", f"sent a malformed frame, which was dropped: {error}: {self._shown(line)}", line)

    def _heed(self, frame: extension_frames.ChildFrame) -> None:
        match frame:
            case extension_frames.CommandResponse():
                self._answered("command", frame)
            case extension_frames.ToolResult():
                self._answered("tool", frame)
            case extension_frames.EventInterceptResponse():
                self._answered("intercept", frame)
            case extension_frames.Progress():
                self._progressed(frame)
            case extension_frames.Response() if self.edition2:
                self._answered("request", frame)
            case extension_frames.Ready():
                self._said_ready = True
                self.guarded = self.guarded - self._before_reload | self.intercepts
                self._before_reload = frozenset()
                self.make_ready("frame")
            case extension_frames.Hello():
                raise UnknownFrame("hello")
            case _ if isinstance(frame, _NEW_FRAMES) and not self.edition2:
                raise UnknownFrame(str(type(frame).__struct_config__.tag))
            case _:
                self._owner.received(self, frame)

    def _answered(self, kind: Kind, answer: Answer) -> None:
        """Unexpected answers are dropped and reported. An unknown id fails the only open request of its kind."""
        if self.questions.settle(kind, answer) or self._is_aftermath(answer.id):
            return
        text = f"answered a {kind} request {answer.id[:60]!r} that is not open; it was dropped"
        self.fault("stray answer", text)
        if not self.questions.was_asked(answer.id):
            self.questions.fail_only(kind, BadFrame(text))

    def _progressed(self, progress: extension_frames.Progress) -> None:
        """Progress of a finished request crossed its end on the wire: it is dropped."""
        if (question := self.questions.named(progress.id)) is not None:
            question.progressed(progress)

    def _is_aftermath(self, id: str) -> bool:
        at = self._abandoned.get(id)
        return at is not None and time.monotonic() - at < _AFTERMATH_S

    def _spoiled(self, kind: str, text: str, line: bytes = b"") -> None:
        """An unparsable line never counts as permission by a guard."""
        if self.state == "starting":
            self._refuse(f"its first line is not a hello frame: {text}")
            return
        self.fault(kind, text)
        if self.guard and kind != "unknown":
            self.questions.fail_all(BadFrame(text), ("intercept",))
        if line:
            self.questions.fail_named(line, BadFrame(text))

    def _shown(self, line: bytes) -> str:
        return "(its text may be a credential)" if self.questions.is_private else _shown(line)

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _after(self, seconds: float, action: Any) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, action))


def _exit(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    import signal  # only for the name of a signal

    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _shown(line: bytes) -> str:
    return repr(line[:_SHOWN_CHARS].decode("utf-8", "replace"))
