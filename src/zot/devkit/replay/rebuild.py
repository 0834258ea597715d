"""Rebuilds the agent of a recorded run from the recording's setup.

Loop, gate, interceptors, host and system prompt are real; model, tools, users and extension processes are stand-ins.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from zot import __version__
from zot.agent.context_files import ContextFile
from zot.agent.extension_ui import ExtensionUI
from zot.agent.snapshot import ConversationSnapshot
from zot.agent.system_prompt import SystemPrompt
from zot.agent.tools.registry import ALL_TOOLS, BashLimits, bash_spec, builtin_tools, offered_tools
from zot.agent.tools.workspace import Workspace
from zot.core.agent import Agent
from zot.core.event_bus import EventBus
from zot.core.permission_gate import PermissionGate
from zot.core.permission_modes import Mode
from zot.core.run import Run
from zot.core.state import AgentState, Boundary
from zot.core.tool import Tool, ToolContext, ToolResult
from zot.devkit.replay.driver import ReplayDriver
from zot.devkit.replay.recorded_world import (
    RecordedApprovals,
    RecordedInterceptor,
    RecordedModel,
    RecordedProcess,
    RecordedTool,
)
from zot.errors import ConfigError
from zot.features.child_process import JsonLineProcess
from zot.features.extensions.child import ExtensionChild
from zot.features.extensions.host import ExtensionHost
from zot.features.extensions.jail_policy import JailedCommand
from zot.features.extensions.loader.declared_permissions import Permissions
from zot.features.extensions.loader.discovery import DiscoveredExtension, Discovery, LoadProblem
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.extensions.loader.manifest import Manifest
from zot.features.recording.reader import Recording
from zot.features.recording.recorder import Recorder
from zot.features.recording.recording_boundary import RecordingBoundary
from zot.provider.messages import Message, Usage
from zot.provider.model import Model
from zot.provider.model_call import Request, StreamEvent
from zot.system.jail.jail import Jail
from zot.wire import extension_frames


class _Manifest(msgspec.Struct, frozen=True):
    """The parts of a manifest that matter without a process."""

    name: str
    directory: str
    exec: str = ""
    version: str = ""
    language: str = ""
    guard: bool = False
    denies_guard: bool = False


class RecordedEntry(msgspec.Struct, frozen=True):
    """An extension of the recorded run."""

    manifest: _Manifest
    scope: Literal["explicit", "project", "global"]
    data_dir: str
    was_guard: bool = False

    @property
    def directory(self) -> Path:
        return Path(self.manifest.directory)

    def made(self) -> DiscoveredExtension:
        """With a program that always exists: it is looked up, not run."""
        fields = msgspec.structs.asdict(self.manifest)
        fields |= {"directory": self.directory, "exec": "sh" if self.manifest.exec else ""}
        return DiscoveredExtension(Manifest(**fields), self.scope, Path(self.data_dir), self.was_guard)


def _why_not(recording: Recording) -> str:
    """Why it has no initial state."""
    if recording.format < 2:
        return f"format {recording.format} has no initial state"
    if recording.header.get("report"):
        return "a report of a session has no initial state"
    return "it ends before the run starts" if not recording.ended else "it has no initial state"


class RecordedSetup:
    """The line with the run's initial state."""

    def __init__(self, recording: Recording) -> None:
        line = recording.setup
        if recording.format < 2 or line is None:
            raise ConfigError(f"{recording.path}: cannot be verified: {_why_not(recording)}; show it with `zot replay`")
        self.number = line.number
        self.fields = line.fields
        self.cwd, self.home = str(recording.header.get("cwd", "")), str(recording.header.get("home", ""))

    def get(self, name: str, type: Any, default: Any = None) -> Any:
        """A typed field; ConfigError names an invalid one."""
        value = self.fields.get(name, default)
        try:
            return msgspec.convert(value, type, dec_hook=_hook)
        except msgspec.ValidationError as error:
            raise ConfigError(f"line {self.number}: {name}: {error}") from error

    def extensions(self) -> list[RecordedEntry]:
        return self.get("extensions", list[RecordedEntry], [])


def _hook(type: Any, value: Any) -> Any:
    return Path(value) if type is Path else value


class _ReplayedRun(Run):
    """At each yield of the loop, applies all inputs recorded there, cancelled or not."""

    def __init__(self, readers: EventBus, conductor: ReplayDriver) -> None:
        super().__init__(readers)
        self._conductor = conductor

    async def checkpoint(self) -> None:
        try:
            await super().checkpoint()
        finally:
            await self._conductor.caught_up()
        if self.cancelled:
            raise asyncio.CancelledError


class ReplayBoundary(RecordingBoundary):
    """Applies all inputs recorded before a call of the agent."""

    def __init__(self, conductor: ReplayDriver, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._conductor = conductor

    def for_child(self) -> Boundary:
        return ReplayBoundary(self._conductor, self.recorder)

    def create_run(self, readers: EventBus) -> Run:
        return _ReplayedRun(readers, self._conductor)

    async def call(self, agent: AgentState, request: Request) -> AsyncGenerator[StreamEvent]:
        await self._conductor.caught_up()
        async with aclosing(super().call(agent, request)) as events:
            async for event in events:
                yield event

    async def perform(self, tool: Tool, args: dict[str, Any], context: ToolContext) -> ToolResult:
        await self._conductor.caught_up()
        return await super().perform(tool, args, context)


def rebuilt_agent(
    setup: RecordedSetup, conductor: ReplayDriver, recorder: Recorder, live: Workspace | None
) -> tuple[Agent, ReplayBoundary, list[Tool]]:
    """The agent, its boundary and its own tools; ``live`` is where tools run for real."""
    state, people = setup.get("state", dict[str, Any]), RecordedApprovals(conductor)
    mode, limits = state.get("mode") or "everything", setup.get("gate", dict[str, Any] | None)
    gate = None
    if limits is not None:
        gate = PermissionGate(
            people.confirm if state.get("asks") else None,
            mode=cast("Mode", mode),
            limit=limits["limit"],
            nature=people.nature,
            kept=people.kept,
            asks_each=bool(limits["asks_each"]),
        )
    tools = made_tools(setup, setup.get("tools", list[dict[str, Any]], []), conductor, live)
    watching = setup.get("interceptors", list[bool], [])
    model = msgspec.convert(state["model"], Model)
    late: list[Agent] = []
    boundary = ReplayBoundary(conductor, recorder)
    agent = Agent(
        boundary=boundary,
        client=RecordedModel(str(setup.fields.get("provider", "")), conductor),
        model=model,
        system=_system(setup, lambda: bool(late) and late[0].model.tool_calls != ""),
        tools=tools,
        gate=gate,
        messages=setup.get("messages", tuple[Message, ...], ()),
        cumulative=setup.get("cost", Usage),
    )
    late.append(agent)
    for number, watches in enumerate(watching):
        agent.add_interceptor(RecordedInterceptor(conductor, number, watches))
    if gate is not None:
        recorder.watch(gate, boundary)
    apply_state(agent, state, people)
    boundary.begin()
    return agent, boundary, tools


def apply_state(agent: Agent, state: dict[str, Any], people: RecordedApprovals) -> None:
    """Applies recorded changes of the agent."""
    for name, value in state.items():
        if name == "model":
            agent.model = msgspec.convert(value, Model)
        elif name == "mode" and agent.gate is not None:
            cast("PermissionGate", agent.gate).mode = value
        elif name == "asks" and agent.gate is not None:
            cast("PermissionGate", agent.gate).confirmer = people.confirm if value else None
        elif name == "jail" and isinstance(agent.system, _ReplayedPrompt):
            agent.system.jail_text = str(value)
        elif name == "brief" and isinstance(agent.system, _ReplayedPrompt):
            agent.system.short_text = str(value)
        elif name == "server_tools":
            agent.server_tools = tuple(value)
        elif name in (
            "output_schema",
            "reasoning",
            "temperature",
            "session_id",
            "compact_at",
            "max_cost_usd",
            "max_steps",
            "goes_on",
        ):
            setattr(agent, name, value)


class _ReplayedPrompt(SystemPrompt):
    """Jail notice and short prompt come from the recording."""

    jail_text = short_text = ""

    @property
    def told(self) -> tuple[str, str]:
        """The recorded prompt, also before a model change."""
        return self.jail_text, self.short_text


class _ReplayedShortPrompt:
    """Names files of the recorded directory, which is not read here."""

    def __init__(self, prompt: _ReplayedPrompt, is_active: Callable[[], bool]) -> None:
        self._prompt = prompt
        self.is_active = is_active

    def text(self) -> str:
        return self._prompt.short_text

    def sections(self) -> list[tuple[str, str, str]]:
        return [("prompt", "", self.text())]

    def truncation_notice(self) -> str:
        return ""


def _system(setup: RecordedSetup, is_short: Callable[[], bool]) -> Callable[..., str]:
    parts = setup.get("system", dict[str, Any])
    if "text" in parts:
        return lambda *_: str(parts["text"])
    prompt = _ReplayedPrompt(
        cwd=Path(parts["cwd"]) if parts.get("cwd") else None,
        docs_index=Path(parts["docs_index"]),
        custom=parts.get("custom"),
        appends=tuple(parts.get("appends", ())),
        context=[ContextFile(Path(part["path"]), part["text"]) for part in parts.get("context", ())],
        skills=parts.get("skills", ""),
        date=parts.get("date", ""),
    )
    prompt.short_text = str(parts.get("brief", ""))
    prompt.jail_text = str(parts.get("jail", ""))
    prompt.add_section("jail", lambda: prompt.jail_text, order=20)
    prompt.short = _ReplayedShortPrompt(prompt, is_short)
    return prompt


# --- tools


def made_tools(
    setup: RecordedSetup, recorded: Iterable[dict[str, Any]], conductor: ReplayDriver, live: Workspace | None
) -> list[Tool]:
    """A stand-in for each tool that is not in an extension's process."""
    shell = setup.get("bash", dict[str, Any])
    limits = msgspec.convert(shell["limits"], BashLimits)
    real = {} if live is None else {tool.name: tool for tool in builtin_tools(live, names=ALL_TOOLS, limits=limits)}
    specs = {name: spec for name, (spec, _) in offered_tools(Workspace(Path("/")), limits).items()}
    specs["bash"] = bash_spec(str(shell["shell"]), limits)
    tools: list[Tool] = []
    for spec in recorded:
        if own := specs.get(str(spec["name"])):  # this zot's description, so that a change is found
            spec = spec | {"description": own.description, "schema": own.schema, "read_only": own.read_only}
        tools.append(RecordedTool(conductor, spec, real.get(str(spec["name"]))))
    return tools


# --- extensions


_PLACES = ("extension_dir", "data_dir")
_GIVEN = ("mode", "ui", "session", "flags", "settings", "state")  # of the second edition


class _NoJail:
    def close(self) -> None: ...


class _RecordedUI(ExtensionUI):
    def __init__(self, interactive: bool) -> None:
        self._interactive = interactive

    @property
    def interactive(self) -> bool:
        return self._interactive


class RecordedHost(ExtensionHost):
    """The real host over recorded processes."""

    def __init__(
        self, setup: RecordedSetup, recording: Recording, conductor: ReplayDriver, home: Path, agent: Agent
    ) -> None:
        surface = _RecordedUI(bool(setup.fields.get("interactive")))
        self.processes: dict[str, RecordedProcess] = {}
        self._setup = setup
        self._acks: dict[str, list[dict[str, Any]]] = {}  # by extension: what each of its processes was given
        for line in recording.lines:
            frame = line.fields.get("frame")
            if line.type == "frame" and isinstance(frame, dict):
                fields = cast("dict[str, Any]", frame)
                if fields.get("type") == "hello_ack":
                    self._acks.setdefault(str(line.fields.get("extension")), []).append(fields)
        super().__init__(
            home=home,
            cwd=Path(setup.cwd),
            surface=surface,
            zot_version=__version__,
            present=lambda: _present(setup, agent),
            on_fault=lambda text: None,  # notices come from the recording
            environment=dict,
            removed_credentials=(),
            explicit=(),
            scan=False,
            trust=ExtensionTrust(home),
            tool_timeout_s=float(setup.fields.get("tool_timeout_s", 60.0)),
            remember_guards=False,
        )
        self._conductor = conductor
        self.start_process = self._start_recorded

    def plan(self) -> Discovery:
        if self.discovery is None:
            entries = [entry.made() for entry in self._setup.extensions()]
            problems = self._setup.get("missing_guards", list[LoadProblem], [])
            self.discovery = Discovery(entries, problems)
        return self.discovery

    def place(self, entry: DiscoveredExtension) -> Path:
        return entry.manifest.directory

    def environment(self, entry: DiscoveredExtension, place: Path) -> tuple[dict[str, str], list[str]]:
        return {"PATH": os.defpath}, []

    def permissions(self, entry: DiscoveredExtension, manifest: Manifest) -> Permissions | None:
        given = self._setup.get("permissions", dict[str, Permissions | None], {})
        return given.get(entry.manifest.name)

    def confine(self, child: ExtensionChild, argv: list[str], environment: dict[str, str]) -> JailedCommand:
        return JailedCommand(cast("Jail", _NoJail()), environment, [])

    def acknowledge(self, child: ExtensionChild) -> extension_frames.HelloAck:
        """Directories, mode and settings are those of the recording, once for each start."""
        recorded = self._acks.get(child.name, [])
        then = recorded.pop(0) if len(recorded) > 1 else recorded[0] if recorded else {}
        ack = super().acknowledge(child)
        if not child.edition2:
            return msgspec.structs.replace(ack, **{name: then[name] for name in _PLACES if name in then})
        child.granted = frozenset(map(str, then.get("granted", ())))
        unknown: dict[str, Any] = {"mode": "", **dict.fromkeys(_GIVEN[1:])}
        known = unknown | {name: then[name] for name in (*_PLACES, *_GIVEN) if name in then}
        return msgspec.structs.replace(ack, **known, granted=tuple(then.get("granted", ())))

    def send_line(self, name: str, line: bytes) -> None:
        """A frame caused by the user."""
        if child := self._children.find(name):
            child.send_line(line)

    def _start_recorded(self, argv: list[str], *, receive: Callable[[bytes | None], None], **_: Any) -> JsonLineProcess:
        name = str(cast("Any", receive).__self__.name)  # the child's own method
        process = self.processes[name] = RecordedProcess(name, receive, self._conductor)
        self._conductor.advance_soon()
        return cast("JsonLineProcess", process)


def _present(setup: RecordedSetup, agent: Agent) -> ConversationSnapshot:
    first = setup.fields.get("state", {}).get("model", {}).get("id")
    provider = str(setup.fields.get("provider", "")) if agent.model.id == first else agent.model.provider
    return ConversationSnapshot(
        provider=provider,
        model=agent.model.id,
        reasoning=agent.reasoning,
        session_id=agent.session_id,
        session_file="",
        directory=setup.cwd,
        permission_mode=agent.gate.mode if agent.gate is not None else "everything",
    )
