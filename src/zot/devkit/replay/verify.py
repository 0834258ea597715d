"""``zot replay --verify``: runs a recording through the real loop up to the first difference."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Coroutine
from pathlib import Path
from typing import Any, cast

import msgspec

from zot import __version__
from zot.agent.extension_ui import ExtensionUI
from zot.agent.snapshot import ConversationSnapshot
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent, InitialToolCall
from zot.core.events import (
    Diagnostic,
    Done,
    Error,
    JobUpdate,
    ModelChanged,
    Notice,
    SessionEnded,
    SessionFault,
    SessionStarted,
    Todos,
)
from zot.devkit.replay.comparison import Comparison, Difference
from zot.devkit.replay.driver import ReplayDriver
from zot.devkit.replay.rebuild import RecordedHost, RecordedSetup, apply_state, made_tools, rebuilt_agent
from zot.devkit.replay.recorded_world import RecordedApprovals, frame_of
from zot.errors import ConfigError, ZotError
from zot.features.extensions.host import ExtensionHost
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.recording.reader import RecordedLine, Recording
from zot.features.recording.recorder import Recorder
from zot.features.recording.recording_boundary import RecordingBoundary
from zot.provider.messages import ImageBlock, Message, Usage
from zot.provider.model import Model
from zot.system.background_tasks import BackgroundTasks
from zot.system.files import make_private_dir, zot_home
from zot.system.jail.jail import Jail
from zot.wire import limits

_Told = (
    Diagnostic | Done | Error | JobUpdate | ModelChanged | Notice | SessionEnded | SessionFault | SessionStarted | Todos
)
_OF_EXTENSIONS = frozenset({"frame", "gone", "exit"})
_SILENT = frozenset({"header", "setup", "command", "about"})
_OF_PEOPLE = ("panel_key", "panel_close")  # frames caused by a key press
_WITH_EXTENSIONS_S = limits.INTERCEPT_REPLY + limits.READY_GRACE + 4.0  # limit for live extensions


class Live(msgspec.Struct, frozen=True):
    """What runs for real, in ``cwd`` and this jail."""

    tools: bool = False
    extensions: bool = False
    cwd: Path = Path()
    jail: Jail | None = None
    named: tuple[str, ...] = ()  # real paths of extensions that the user named


class Verified(msgspec.Struct, frozen=True):
    """The number of compared lines, and the first difference, if any."""

    compared: int
    difference: Difference | None = None


async def verify(recording: Recording, scratch: Path, live: Live) -> Verified:
    """ConfigError if the recording cannot be run again."""
    try:
        run = _SecondRun(recording, scratch, live)
    except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{recording.path}: cannot be verified: its initial state is invalid ({error!r})") from error
    try:
        return await run.outcome()
    finally:
        await run.close()


class _SecondRun:
    def __init__(self, recording: Recording, scratch: Path, live: Live) -> None:
        self._setup = RecordedSetup(recording)
        self._comparison = Comparison(live=live.tools or live.extensions)
        home = scratch / "home"
        make_private_dir(home)
        if self._setup.home:
            self._comparison.here[os.fspath(home)] = self._setup.home
        lines = [line for line in recording.lines if line.number > self._setup.number]
        silent = {*_SILENT, *(_OF_EXTENSIONS if live.extensions else ()), *(("progress",) if live.tools else ())}
        self.conductor = ReplayDriver(lines, self._comparison, silent.__contains__)
        recorder = Recorder(self.conductor)
        self._people = RecordedApprovals(self.conductor)
        self._workspace = Workspace(live.cwd) if live.tools else None
        if self._workspace is not None:
            self._workspace.jail = live.jail
        self.agent, boundary, self._own_tools = rebuilt_agent(self._setup, self.conductor, recorder, self._workspace)
        self._agents: dict[int, Agent] = {1: self.agent}
        self._boundaries: dict[int, RecordingBoundary] = {1: boundary}
        self._work: dict[int, asyncio.Task[Any]] = {}
        self._tasks = BackgroundTasks()
        if "extensions" not in self._setup.fields:
            self._host = None
        elif not live.extensions:
            self._host = RecordedHost(self._setup, recording, self.conductor, home, self.agent)
        else:
            self._host = live_host(
                [entry.directory for entry in self._setup.extensions()], home, live.cwd, self._present, live.named
            )
        self._recorded_host = self._host if isinstance(self._host, RecordedHost) else None
        self._started = self._host is None
        self._ending = self._reloading = False
        if self._host is not None:
            self._join(self._host, recorder)
            self.conductor.patience = _WITH_EXTENSIONS_S
        if live.tools or live.extensions:
            self.conductor.patience = 630.0  # the longest a command may take
        self.conductor.triggers = {
            "told": self._on_told,
            "state": self._change,
            "input": self._input,
            "stream": lambda line: self.conductor.wake("stream", line.fields.get("n")),
            "refusal": lambda line: self.conductor.wake("stream", line.fields.get("n")),
            "progress": lambda line: self.conductor.wake("tool", line.fields.get("id")),
            "result": lambda line: self.conductor.wake("tool", line.fields.get("id")),
            "answer": lambda line: self.conductor.wake("answer", line.fields.get("id")),
            "exit": lambda line: self.conductor.wake("exit", line.fields.get("extension")),
            "fallback": lambda line: self.conductor.wake("fallback"),
            "frame": self._frame,
            "gone": self._gone,
            "end": lambda line: self.conductor.skip_line(),
        }
        if self._setup.fields.get("fallback"):
            self.agent.fallback = self._fallback

    async def outcome(self) -> Verified:
        if self._host is not None:
            self._begin(self._start(self._host))
        self._begin(self.conductor.watch(self._idle))
        self.conductor.advance()
        difference = await self.conductor.over
        return Verified(self.conductor.compared, difference)

    async def close(self) -> None:
        """Stops everything."""
        tasks = [*self._tasks, *self._work.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._recorded_host is not None:
            for process in self._recorded_host.processes.values():
                process.disconnect("")
        if self._host is not None:
            await self._host.stop()

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = self._tasks.start(self._guarded(work))
        task.add_done_callback(lambda _: work.close())  # cancelled before it started
        return task

    async def _guarded(self, work: Coroutine[Any, Any, Any]) -> None:
        """An error of this run is a difference; recorded errors are events."""
        try:
            await work
        except ZotError:
            pass
        except Exception as error:
            line = self.conductor.line
            number, name = (line.number, line.type) if line is not None else (0, "the end")
            self.conductor.fail(Difference(number, name, "", "", f"{type(error).__name__}: {error}"))

    def _idle(self) -> bool:
        """Whether nothing runs that could still produce a line."""
        return self._started and all(task.done() for task in self._work.values())

    # --- extensions

    def _present(self) -> ConversationSnapshot:
        agent = self.agent
        return ConversationSnapshot(
            agent.model.provider,
            agent.model.id,
            agent.reasoning,
            agent.session_id,
            "",
            self._setup.cwd,
            agent.gate.mode if agent.gate is not None else "",
        )

    def _join(self, host: ExtensionHost, recorder: Recorder) -> None:
        agent = self.agent
        host.traces.append(recorder.frame)
        host.ends.append(recorder)
        host.run_tool = agent.run_tool
        host.on_tools_changed = self._refresh_tools
        agent.interceptors.append(host.interceptor)
        agent.readers.subscribe(host.observe, *host.observed)
        agent.system_editor = host.edit_system_prompt

    def _refresh_tools(self) -> None:
        chosen: list[str] | None = self._setup.get("chosen", list[str] | None)
        taken: list[str] = self._setup.get("taken", list[str], [])
        offered = self._host.tools(taken) if self._host is not None else []
        kept = [tool for tool in offered if chosen is None or tool.name in chosen]
        self.agent.set_tools([*self._own_tools, *kept])

    async def _start(self, host: ExtensionHost) -> None:
        await host.start()
        self._started = True
        self.conductor.advance()

    def _frame(self, line: RecordedLine) -> bool:
        host = self._recorded_host
        if host is None:
            return False
        name = str(line.fields.get("extension"))
        if line.fields.get("direction") == "in":
            process = host.processes.get(name)
            alive = process is not None and not process.over.done()
            say = lambda: process.say(line, self._comparison) if process is not None else None  # noqa: E731
            return self.conductor.soon(say) if alive else False
        frame = cast("dict[str, Any]", line.fields.get("frame") or {})
        match frame.get("type"):
            case "command_invoked":
                named, args = str(frame.get("name")), str(frame.get("args", ""))
                return self.conductor.once(lambda: self._begin(host.run_command(named, args)))
            case "shutdown" if not (self._reloading or self._ending):
                self._ending = True
                return self.conductor.once(lambda: self._begin(host.stop()))
            case kind if kind in _OF_PEOPLE:
                return self.conductor.soon(lambda: host.send_line(name, frame_of(line, self._comparison) + b"\n"))
            case _:
                return False

    def _gone(self, line: RecordedLine) -> bool:
        process = self._recorded_host and self._recorded_host.processes.get(str(line.fields.get("extension")))
        if process and not process.over.done():
            self.conductor.soon(lambda: process.disconnect(str(line.fields.get("reason", ""))))
        return False

    # --- changes by others

    def _on_told(self, line: RecordedLine) -> bool:
        event = _converted(line, "event", _Told)
        if isinstance(event, SessionStarted) and not self._started:
            return False
        self._agent_of(line).inject_event(event)
        return True

    def _change(self, line: RecordedLine) -> bool:
        agent = self._agent_of(line)
        apply_state(agent, line.fields, self._people)
        self._boundaries[line.agent].record_changes()
        return True

    def _agent_of(self, line: RecordedLine) -> Agent:
        agent = self._agents.get(line.agent)
        if agent is None:
            raise ConfigError(f"line {line.number} refers to agent {line.agent}, which does not exist")
        return agent

    async def _fallback(self, error: Exception) -> bool:
        line = await self.conductor.next_for("fallback")
        return bool(line.fields.get("taken"))

    # --- inputs

    def _input(self, line: RecordedLine) -> bool:
        if not self._started:
            return False
        agent, fields = self._agent_of(line), line.fields
        match fields.get("what"):
            case "prompt":
                return self._work_on(agent, lambda: self._prompt(agent, line))
            case "proceed":
                return self._work_on(agent, agent.continue_run)
            case "go_on":
                return self._work_on(agent, agent.continue_answer)
            case "compact":
                tail, focus = int(fields.get("keep_tail", 0)), str(fields.get("focus", ""))
                return self._work_on(agent, lambda: agent.compact(keep_tail=tail, focus=focus))
            case "messages":
                messages = _converted(line, "messages", tuple[Message, ...], ())
                return self._work_on(agent, lambda: _at_once(agent.set_messages, messages))
            case "abort":
                return self.conductor.soon(agent.abort)
            case "steer":
                prompt = (str(fields.get("text", "")), _images(line), _meta(line))
                return self.conductor.soon(lambda: agent.steer(*prompt))
            case "queue":
                prompt = (str(fields.get("text", "")), _images(line), _meta(line))
                return self.conductor.soon(lambda: agent.enqueue(*prompt))
            case "take_all":
                return self.conductor.soon(lambda: _done(agent.drain_input()))
            case "add":
                return self._add(agent, _converted(line, "message", Message))
            case _:
                return self._change_by_input(agent, line)

    def _add(self, agent: Agent, message: Message) -> bool:
        """At once where a step starts, whose request has it."""
        if not self.conductor.follows_event("turn_start"):
            return self.conductor.soon(lambda: agent.add(message))
        agent.add(message)
        return True

    def _change_by_input(self, agent: Agent, line: RecordedLine) -> bool:
        match line.fields.get("what"):
            case "cost":
                agent.set_usage_baseline(_converted(line, "usage", Usage))
            case "compact_soon":
                agent.compact_soon(str(line.fields.get("focus", "")))
            case "beside":
                agent.add_child_usage(_converted(line, "usage", Usage))
            case "model":
                agent.replace_model(agent.client, _converted(line, "model", Model))
            case "child":
                fields = line.fields
                names = cast("list[str]", fields.get("tools") or [])
                known = {tool.name: tool for tool in (*self._own_tools, *agent.tools)}
                child = agent.create_child(
                    messages=_converted(line, "messages", tuple[Message, ...] | None) or (),
                    tools=[known[name] for name in names if name in known],
                    system=str(fields.get("system", "")),
                )
                child.goes_on = True
                number = int(fields.get("number", 0))
                self._agents[number] = child
                self._boundaries[number] = cast("RecordingBoundary", child.boundary)
            case "tools":
                specs = _converted(line, "tools", list[dict[str, Any]], [])
                self._own_tools = made_tools(self._setup, specs, self.conductor, self._workspace)
                self._refresh_tools()
            case "reload":
                return self._work_on(agent, self._reload)
            case "run_tool":
                name, args, origin = (line.fields.get(each) for each in ("name", "args", "origin"))
                return self._work_on(
                    agent, lambda: agent.run_tool(str(name), dict(args or {}), str(origin), is_input=True)
                )
            case what:
                raise ConfigError(f"line {line.number}: unknown input: {what}")
        return True

    def _work_on(self, agent: Agent, work: Callable[[], Awaitable[Any]]) -> bool:
        """Runs when earlier work is over."""

        async def begin(before: asyncio.Task[Any] | None) -> None:
            if before is not None:
                await asyncio.wait([before])
            await work()

        def start() -> None:
            self._work[id(agent)] = self._begin(begin(self._work.get(id(agent))))

        return self.conductor.once(start, holds=False)

    async def _prompt(self, agent: Agent, line: RecordedLine) -> None:
        fields = line.fields
        await agent.prompt(
            str(fields.get("text", "")),
            _images(line),
            queued=bool(fields.get("queued")),
            first_call=_converted(line, "first_call", InitialToolCall | None),
            instead=bool(fields.get("instead")),
            meta=_meta(line),
        )

    async def _reload(self) -> None:
        if self._host is None:
            return
        self._reloading = True
        self.agent.boundary.on_input("reload")
        await self._host.reload()
        self.agent.invalidate_system_prompt()
        self._reloading = False
        self.conductor.advance()


def live_host(
    directories: list[Path],
    home: Path,
    cwd: Path,
    present: Callable[[], ConversationSnapshot],
    named: Collection[str] = (),
) -> ExtensionHost:
    """The recorded extensions as they are now, started for real, if they are installed, trusted or in ``named``."""
    own = zot_home()
    installed, trust = os.path.realpath(own / "extensions"), ExtensionTrust(own)
    as_project: list[Path] = []
    for path in directories:
        real = os.path.realpath(path)
        if not path.is_dir():
            raise ConfigError(f"--live-extensions: {path} does not exist")
        if os.path.dirname(real) == installed or real in named:
            continue
        if not trust.is_trusted(path):
            raise ConfigError(
                f"--live-extensions: {path} is not installed or trusted; review it, then add --ext {path}"
            )
        as_project.append(path)
    return ExtensionHost(
        home=home,
        cwd=cwd,
        surface=ExtensionUI(),
        zot_version=__version__,
        present=present,
        on_fault=lambda text: None,
        environment=Workspace(cwd).child_environment,
        removed_credentials=(),
        explicit=directories,
        scan=False,
        trust=ExtensionTrust(home),
        remember_guards=False,
        as_project=as_project,
    )


def _done(result: object) -> None:
    """Awaits only the effect, not the result."""


async def _at_once(action: Callable[[Any], None], value: Any) -> None:
    action(value)


def _images(line: RecordedLine) -> tuple[ImageBlock, ...]:
    return _converted(line, "images", tuple[ImageBlock, ...], ())


def _meta(line: RecordedLine) -> dict[str, str]:
    return _converted(line, "meta", dict[str, str], {})


def _converted(line: RecordedLine, name: str, type: Any, default: Any = None) -> Any:
    try:
        return msgspec.convert(line.fields.get(name, default), type)
    except msgspec.ValidationError as error:
        raise ConfigError(f"line {line.number}: {name}: {error}") from error
