"""The extension host: starts all extensions in parallel and connects them to the agent. ``start`` waits up to 3 s for
readiness; ``stop`` leaves no process. A fault affects only its child, except that a guard's fault denies."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import Context
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from zot.agent.extension_ui import ExtensionUI
from zot.agent.slash_commands import CommandAnswer, FailedCommand
from zot.core.tool import Tool
from zot.errors import ConfigError, ExtensionError, describe_error
from zot.features.child_process import start_process
from zot.features.extensions.child import ExtensionChild
from zot.features.extensions.child_group import ChildGroup
from zot.features.extensions.child_log import Diagnostics
from zot.features.extensions.commands import CommandInvoker
from zot.features.extensions.event_fanout import OBSERVED, EventFanout
from zot.features.extensions.handshake import second_edition_ack
from zot.features.extensions.inbound_requests import InboundRequests, NestedCalls, RunTool
from zot.features.extensions.interception import ExtensionInterceptor
from zot.features.extensions.loader.data_dir import LOCK, is_data_dir, make_data_dir
from zot.features.extensions.loader.discovery import DiscoveredExtension, Discovery, LoadProblem, discover
from zot.features.extensions.loader.extension_trust import ExtensionTrust
from zot.features.extensions.loader.guard_registry import remember
from zot.features.extensions.panels import PanelRequests
from zot.features.extensions.registry import (
    BUILTIN_COMMANDS,
    ExtensionCommand,
    ExtensionStatus,
    NameRegistry,
    is_deferred,
)
from zot.features.extensions.saved_states import SavedStates
from zot.features.extensions.tools import ExtensionTool
from zot.features.trust import Untrusted, project_key
from zot.provider.messages import Usage
from zot.system.background_tasks import BackgroundTasks
from zot.wire import extension_frames, limits

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.agent.snapshot import ConversationSnapshot
    from zot.core.session.entry_ids import EntryIds
    from zot.core.session.records import ExtensionRow, LabelRow
    from zot.features.extensions.approvals import RequiredApprovals
    from zot.features.extensions.context_edit import ContextEntries
    from zot.features.extensions.contributions import Contributions
    from zot.features.extensions.conversation_input import ConversationInput
    from zot.features.extensions.frame_link import FrameLink
    from zot.features.extensions.jail_policy import JailedCommand
    from zot.features.extensions.late_events import LateEvents
    from zot.features.extensions.loader.declared_flags import ExtensionFlag
    from zot.features.extensions.loader.declared_permissions import Permissions
    from zot.features.extensions.loader.extension_trust import UntrustedExtension
    from zot.features.extensions.loader.manifest import Manifest
    from zot.features.extensions.methods.bus import BusRate
    from zot.features.extensions.overrides import ToolOverrides
    from zot.features.extensions.providers.registry import ExtensionProviders
    from zot.features.extensions.renderers import Renderers
    from zot.features.extensions.requests import RequestRouter
    from zot.features.extensions.resources import ContributedResources
    from zot.features.extensions.spending import ExtensionSpending
    from zot.features.extensions.tool_selection import ToolSelection
    from zot.features.recording.frame_trace import Direction, ExitListener, FrameTap
    from zot.provider.messages import ToolCallBlock


class ReloadStats(msgspec.Struct, frozen=True):
    stopped: int
    loaded: int
    ready: int
    errors: tuple[str, ...] = ()


def _ignore() -> None: ...


def json_text(value: str) -> bytes:
    """As other JSON encoders write it: only ASCII."""
    import json  # only for secrets

    return json.dumps(value)[1:-1].encode()


def _values(values: dict[str, Any]) -> dict[str, Any]:
    return {"values": values}


class ExtensionHost:
    """Runs extensions and connects them to the agent.
    ``present()`` describes model, session and directory for children. ``on_fault`` is called once per fault,
    ``on_tools_changed`` if ``tools`` changed. ``granted`` returns variables granted by name. ``remember_guards`` stores
    guards and grants. ``explicit_grace_s`` is the wait for explicit extensions."""

    def __init__(
        self,
        *,
        home: Path,
        cwd: Path,
        project: Path | None = None,
        surface: ExtensionUI,
        zot_version: str,
        present: Callable[[], ConversationSnapshot],
        on_fault: Callable[[str], None],
        environment: Callable[[], dict[str, str]],
        granted: Callable[[Collection[str]], dict[str, str]] | None = None,
        removed_credentials: Sequence[str],
        explicit: Sequence[Path],
        scan: bool,
        trust: ExtensionTrust,
        trust_project: bool = False,
        required_guards: Sequence[str] = (),
        tool_timeout_s: float = limits.TOOL_REPLY,
        tool_max_s: float = limits.TOOL_TOTAL,
        trace: FrameTap | None = None,
        explicit_grace_s: float = 0,
        remember_guards: bool = True,
        as_project: Collection[Path] = (),
        builtin_commands: Collection[str] = BUILTIN_COMMANDS,
        flag_values: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.home = home
        self.cwd = cwd
        self._project = project or cwd
        self._required_guards = frozenset(required_guards)
        self.present = present
        self.tool_timeout_s = tool_timeout_s
        self.tool_max_s = tool_max_s
        self.on_tools_changed: Callable[[], None] = _ignore
        self.traces: list[FrameTap] = [trace] if trace else []
        self.ends: list[ExitListener] = []
        self.diagnostics = Diagnostics(on_fault)
        self.discovery: Discovery | None = None
        self.start_process = start_process
        self.conversation: Conversation | None = None
        self.mode = "sdk"
        self._flag_values = flag_values or {}
        self._flags: dict[str, ExtensionFlag] = {}
        self.open_dialogs: Counter[str] = Counter()
        self.model_calls: Counter[str] = Counter()  # running now, by extension
        self.agents: Counter[str] = Counter()  # likewise
        self.saved_states = SavedStates()
        self.changes_session = False  # an extension opens another session now
        self.unsaved_entries: list[ExtensionRow | LabelRow] = []  # of a run that keeps no session
        self.has_started = False
        self._requests2: RequestRouter | None = None
        self._providers: ExtensionProviders | None = None
        self._contributions: Contributions | None = None
        self._used_words: set[tuple[str, str]] = set()
        self._starts: Counter[str] = Counter()
        self._settings: dict[str, dict[str, Any]] = {}  # as extensions know them
        self._secrets: set[bytes] = set()  # that an extension was given
        self._surface = surface
        self._zot_version = zot_version
        self._environment = environment
        self._granted = granted
        self._removed = tuple(removed_credentials)
        self._explicit = tuple(explicit)
        self._scan = scan
        self._trust = trust
        self._trust_project = trust_project
        self._listed: dict[str, UntrustedExtension] = {}
        self._explicit_grace_s = explicit_grace_s
        self._remember_guards = remember_guards
        self._as_project = frozenset(as_project)
        self._missing_guards: list[LoadProblem] = []
        self._activated: set[str] = set()
        self._taken: frozenset[str] = frozenset()
        self._reloading: frozenset[ExtensionChild] = frozenset()  # started by a reload, not yet greeted
        self._tools_stale = False
        self._tasks = BackgroundTasks(self._on_bug)
        self._children = ChildGroup(self, self._tasks)
        self._registry = NameRegistry(builtin_commands)
        self._panels = PanelRequests(surface, self._children.find)
        self._nested = NestedCalls(self._tasks)
        self._commands = CommandInvoker(self._registry, self._panels)
        self._requests = InboundRequests(surface, self._registry, self._panels, self._nested, self._tools_changed)
        self._requests.second_edition = self._second_edition
        self._requests.require_word = self.require_word
        self._requests.subscribed = self._subscribed
        self._late_events: LateEvents | None = None
        self.approvals: RequiredApprovals | None = None
        self.overrides: ToolOverrides | None = None
        self.tool_selection: ToolSelection | None = None
        self.resources: ContributedResources | None = None
        self.reported_cache = ""  # the session whose lost cache was reported
        surface.on_change = self.announce
        self._fanout = EventFanout(self._children, present)
        self.observe, self.observed = self._fanout.observe, OBSERVED
        self.interceptor = ExtensionInterceptor(self._children, lambda: self._missing_guards, self._warn, lambda: self)

    # --- starting and stopping

    def plan(self) -> Discovery:
        """Find the extensions of this run without starting any; ``start`` uses the result."""
        if self.discovery is None:
            self.discovery = discover(
                explicit=self._explicit,
                cwd=self._project,
                home=self.home,
                scan=self._scan,
                trust=self._trust,
                trust_project=self._trust_project,
                required_guards=self._required_guards,
            )
        return self.discovery

    async def start(self, first: str = "", *, reloading: bool = False) -> None:
        """Start all in parallel and wait until ready or the grace is over; faults are reported, not raised.
        ``first`` is the extension that the rest waits for."""
        found = self.plan()
        for note in found.notes:
            self.diagnostics.note(note)
        for problem in found.problems:
            self.diagnostics.load_error(problem.directory, problem.message)
        self._resolve_flags(found.entries)
        if found.new_guards or found.former_guards:
            self._remember(lambda: remember(self.home, learned=found.new_guards, forgotten=found.former_guards))
        self._missing_guards = [problem for problem in found.problems if problem.guard]
        self._children.start(found.entries, first)
        self.has_started = True
        self._reloading = frozenset(self._children) if reloading else frozenset()
        await self._children.wait_until_ready(self._explicit_grace_s)
        self._registry.resolve_names(self._children)
        self._notify_tools_changed()

    def require_guard(self, directory: Path) -> None:
        """A guard was just trusted: deny its events until ``start`` has run it."""
        reason, fix = "it was just trusted and is not running yet", "try again when the extensions are ready"
        self._missing_guards.append(LoadProblem(directory, reason, guard=True, fix=fix))

    async def stop(self) -> None:
        """Send ``shutdown``, wait 2 s, then SIGTERM, then SIGKILL; no process or task is left."""
        if self._contributions is not None:
            self._contributions.close()
        if self._requests2 is not None:
            self._requests2.close()
            await asyncio.sleep(0)  # answers first
        await self._children.stop()
        await self._tasks.aclose()

    async def reload(self) -> ReloadStats:
        """Reload manifests and restart; the conversation continues without a ``session_start``."""
        stopped = sum(child.alive for child in self._children)
        self._registry.clear()
        self._activated.clear()
        if self.overrides is not None:
            self.overrides.clear()
        self._notify_tools_changed()
        await self.saved_states.save(self._children)
        await self._children.stop()
        self.diagnostics.forget()
        self.discovery = None
        await self.start(reloading=True)
        self._reloading = frozenset()
        bundles = [entry for entry in self.plan().entries if not entry.manifest.has_process]
        ready = [child for child in self._children if child.state == "ready"]
        return ReloadStats(
            stopped,
            sum(child.state != "gone" for child in self._children) + len(bundles),
            len(ready) + len(bundles),
            tuple(self.diagnostics.load_errors),
        )

    async def reload_one(self, name: str) -> None:
        """Restart one extension; the others go on. ExtensionError if it cannot be found again."""
        before = self._children.find(name)
        if before is None:
            raise ExtensionError(f"no extension {name[:60]!r} runs")
        self.discovery = None
        directory = before.entry.manifest.directory
        entry = next((each for each in self.plan().entries if each.manifest.directory == directory), None)
        if entry is None or not entry.manifest.has_process:
            raise ExtensionError(f"{name}: it cannot be started again: see `zot ext list`")
        await self.saved_states.save([before])
        if self.overrides is not None:
            self.overrides.forget(name)
        after = await self._children.replace(before, entry)
        self._reloading = frozenset((after,))
        await self._children.settled([after])
        self._reloading = frozenset()
        self._registry.resolve_names(self._children)
        self._notify_tools_changed()

    def guard_directories(self) -> tuple[str, ...]:
        """Of all guards that run or should run."""
        running = (child.entry.manifest.directory for child in self._children if child.guard)
        missing = (problem.directory for problem in self._missing_guards)
        return tuple(sorted({*map(project_key, running), *map(project_key, missing), *self._required_guards}))

    # --- for the agent

    def tools(self, taken: Collection[str] = ()) -> list[Tool]:
        """The tools to offer, except names ``taken`` by others."""
        self._taken = frozenset(taken)
        offered: list[Tool] = []
        for child, frame in self._registry.tools():
            if self.overrides is not None and self.overrides.is_replaced(frame.name):
                continue
            if frame.name in self._taken:
                child.fault("shadowed", f"tool {frame.name} is hidden by the built-in of that name")
            elif frame.exposure != "codemode" and (not is_deferred(frame) or frame.name in self._activated):
                offered.append(ExtensionTool(child, frame, self))
        return offered

    @property
    def run_tool(self) -> RunTool | None:
        return self._nested.run_tool

    @run_tool.setter
    def run_tool(self, run: RunTool) -> None:
        self._nested.run_tool = run

    async def edit_system_prompt(self, text: str) -> str:
        """``before_agent_start``; for ``AgentState.system_editor``."""
        question = extension_frames.EventIntercept(
            id="",
            event="before_agent_start",
            session_id=self.present().session_id,
            agent_run_id=os.urandom(8).hex(),
            cwd=str(self.cwd),
            provider=self.present().provider,
            model=self.present().model,
            system_prompt=text,
        )
        return await self.interceptor.edit_system_prompt(question)

    # --- for screens and clients

    @property
    def trust(self) -> ExtensionTrust:
        """Trust decisions; set before a reload."""
        return self._trust

    def untrusted_items(self) -> list[Untrusted]:
        """The project's undecided extensions (features.trust.TrustSubject)."""
        from zot.features.extensions.loader.extension_trust import untrusted_extensions

        found = untrusted_extensions(self._project, self._trust) if self._scan and not self._trust_project else []
        self._listed = {str(extension.directory): extension for extension in found}
        return [extension.as_item() for extension in found]

    def accept_items(self, items: Sequence[Untrusted]) -> None:
        """Until a reload starts them, guards among them deny tool calls."""
        for item in items:
            if item.guard:
                self.require_guard(Path(item.source))

    async def trust_items(self, items: Sequence[Untrusted], *, save: bool = True) -> None:
        """Save trust; they run after a reload."""
        found = [self._listed[item.source] for item in items]
        for extension in found:
            try:
                if save:  # exactly what was shown
                    await asyncio.to_thread(self._trust.trust, extension.directory, extension.fingerprint)
                else:
                    self._trust.trust_for_session(extension.directory)
            except (ConfigError, ExtensionError, OSError) as error:
                self.diagnostics.note(f"extension {extension.name}: its trust was not saved: {describe_error(error)}")

    def commands(self) -> list[ExtensionCommand]:
        return self._registry.commands()

    def command_extras(self, command: ExtensionCommand) -> dict[str, Any]:
        """What a contributed command says beside its description: ``arguments`` and ``completed``."""
        if self._contributions is None:
            return {}
        found = self._contributions.find(command.extension, "command", command.name.lower())
        if found is None:
            return {}
        return {"arguments": found.value.get("arguments", ""), "completed": found.value.get("complete") is True}

    def renders(self, of: str, name: str) -> bool:
        """True if an extension draws these."""
        return self._contributions is not None and self._contributions.renders(of, name)

    def offers_tool(self, child: ExtensionChild, name: str) -> bool:
        """True if the model calls this child's tool by this name."""
        return name not in self._taken and self.owner_of_tool(name) is child

    @cached_property
    def renderers(self) -> Renderers:
        from zot.features.extensions.renderers import Renderers  # few extensions draw

        return Renderers(self, self._tasks)

    @property
    def completes(self) -> bool:
        """True if an extension completes something."""
        return self._contributions is not None and self._contributions.complete

    def find_command(self, name: str) -> tuple[ExtensionChild, str] | None:
        return self._registry.command(name)

    async def press_key(self, extension: str, name: str, text: str) -> CommandAnswer:
        """What a key of the editor does; the extension gets ``text`` with the word ``editor``."""
        child = self._children.find(extension)
        if child is None:
            return FailedCommand(f"{extension} is not running")
        return await self._commands.press(child, name, text if "editor" in child.granted else None)

    async def run_command(self, name: str, args: str) -> CommandAnswer:
        """Run ``/name args``; the caller acts on the answer."""
        return await self._commands.run(name, args)

    def panel_key(self, extension: str, panel_id: str, key: str, text: str = "", event: str = "") -> None:
        self._panels.key(extension, panel_id, key, text, event)

    def panel_resized(self, extension: str, panel_id: str, width: int, height: int) -> None:
        self._panels.resized(extension, panel_id, width, height)

    @property
    def focused_panel(self) -> tuple[str, str] | None:
        """Extension and id of the panel that gets the keys."""
        return self._panels.focused

    def panel_closed(self, extension: str, panel_id: str) -> None:
        self._panels.closed_by_user(extension, panel_id)

    def statuses(self) -> list[ExtensionStatus]:
        return [self._registry.status(child, self._taken) for child in self._children]

    # --- for children (child.Owner)

    def place(self, entry: DiscoveredExtension) -> Path:
        directory = entry.manifest.directory
        in_place = entry.scope != "project" or self._trust_project
        place = directory if in_place else self._trust.trusted_path(directory)
        if entry.scope != "project":
            self._check_lock(entry)
        try:
            if problem := make_data_dir(entry.manifest, entry.scope, entry.data_dir):
                self.diagnostics.note(problem)
        except OSError:
            if entry.scope == "project":
                raise
        return place

    def environment(self, entry: DiscoveredExtension, place: Path) -> tuple[dict[str, str], list[str]]:
        environment, remarks = self._environment(), list[str]()
        environment.update(PWD=str(place), PYTHONDONTWRITEBYTECODE="1", ZOT_BYTECODE=str(self.home / "pycache"))
        if entry.scope == "project" and place == entry.manifest.directory:
            # A project's bytecode cannot be trusted. The copy has none, and the standard library need not be compiled
            # at every start.
            environment["PYTHONPYCACHEPREFIX"] = str(self.home / "pycache")
        if place != entry.manifest.directory:
            from zot.features.extensions.loader.trusted_copy import strip_project_env

            remarks.append(f"runs the trusted copy: {place}")
            if names := strip_project_env(environment, self._project, self.home):
                remarks.append(f"without variables that lead into the project: {', '.join(names)}")
        if self._removed:
            names, place_of = ", ".join(self._removed), self.home / "config.json"
            remarks.append(f"not passed on: {names} (to allow one, add it to env_passthrough of {place_of})")
        return environment, remarks

    def permissions(self, entry: DiscoveredExtension, manifest: Manifest) -> Permissions | None:
        """Declared permissions; a project extension without any gets the minimum unless granted all."""
        if entry.scope != "project" and entry.manifest.directory not in self._as_project:
            return manifest.permissions
        if self._trust.is_unconfined(entry.manifest.directory):
            return None
        from zot.features.extensions.loader.declared_permissions import OF_PROJECTS

        return manifest.permissions or OF_PROJECTS

    def confine(self, child: ExtensionChild, argv: list[str], environment: dict[str, str]) -> JailedCommand:
        from zot.features.extensions.jail_policy import JailContext, build_jail, immutable_paths

        entry, permissions = child.entry, child.permissions
        assert permissions is not None
        if permissions.env and self._granted is not None:
            environment |= self._granted(permissions.env)
        if not entry.data_dir.is_dir():
            raise ExtensionError(f"has no data directory: cannot create {entry.data_dir}")
        otherwise = ""
        if entry.scope == "project":
            otherwise = f"; run it with all your rights: `zot ext trust --unconfined {entry.manifest.directory}`"
        kept = immutable_paths(child.manifest, child.place, self._came_with(entry)) if permissions.write else ()
        setting = JailContext(child.place, entry.data_dir, self.cwd, self.home, kept)
        return build_jail(permissions, setting, argv, environment, otherwise)

    def open_link(self, child: ExtensionChild, receive: Callable[[bytes | None], None]) -> FrameLink:
        from zot.features.extensions.remote import connect_remote  # few extensions are elsewhere

        return connect_remote(self, child, receive)

    def confine_program(self, child: ExtensionChild, argv: list[str], environment: dict[str, str]) -> JailedCommand:
        """The jail of a program that a confined extension has zot run; ExtensionError if none can be built."""
        from zot.features.extensions.jail_policy import JailContext, build_program_jail

        permissions, jail = child.permissions, self.conversation and self.conversation.workspace.jail
        assert permissions is not None
        if permissions.env and self._granted is not None:
            environment |= self._granted(permissions.env)
        setting = JailContext(child.place, child.entry.data_dir, self.cwd, self.home)
        return build_program_jail(permissions, setting, argv, environment, jail.policy if jail else None)

    def acknowledge(self, child: ExtensionChild) -> extension_frames.HelloAck:
        entry, place = child.entry, child.place
        ack = extension_frames.HelloAck(
            protocol_version=extension_frames.PROTOCOL_VERSION,
            capabilities=("call_tool",),
            zot_version=self._zot_version,
            provider=self.present().provider,
            model=self.present().model,
            cwd=str(self.cwd),
            extension_dir=str(place),
            data_dir=str(entry.data_dir if os.path.isdir(entry.data_dir) else place),  # the home is not writable
        )
        self._starts[child.name] += 1
        if not child.edition2:
            return ack
        ack = second_edition_ack(self, child, ack)
        if not child.manifest.url:
            return ack
        from zot.features.extensions.remote import remote_ack

        return remote_ack(child, ack, self._project)

    def start_reason(self, child: ExtensionChild) -> str:
        """Why this process starts: ``start``, ``reload`` or ``restart``."""
        if self.saved_states.has(child) or child in self._reloading:
            return "reload"
        return "restart" if self._starts[child.name] > 1 else "start"

    # --- second edition

    def run_later(self, work: Coroutine[Any, Any, None]) -> None:
        """Work that an extension asked for and that goes on after its answer; it ends with the host."""
        self._tasks.add(asyncio.get_running_loop().create_task(work, context=Context()))

    @cached_property
    def conversation_input(self) -> ConversationInput:
        """Needs a conversation."""
        from zot.features.extensions.conversation_input import ConversationInput  # only for chat.send

        assert self.conversation is not None
        return ConversationInput(self.conversation)

    async def require_approval(self, call: ToolCallBlock, origin: str, wanted: Sequence[tuple[str, str]]) -> str:
        """Ask the user about a call for these extensions and reasons; returns why it is denied."""
        assert self.conversation is not None
        if self.approvals is None:
            from zot.features.extensions.approvals import RequiredApprovals  # few extensions demand it

            self.approvals = RequiredApprovals(self.conversation)
        return await self.approvals.require(call, origin, wanted)

    def asking_tool(self, name: str) -> str:
        """The extension whose tool of this name always needs approval; empty if it does not."""
        owner = self.owner_of_tool(name)
        return owner.name if owner is not None and owner.edition2 and owner.tools[name].ask else ""

    def skill_names(self) -> list[str]:
        """The skills that the model can load."""
        from zot.features.lookup import skills

        found = skills(self.conversation) if self.conversation is not None else None
        return [] if found is None else sorted(skill.name for skill in found.skills.all)

    @cached_property
    def spending(self) -> ExtensionSpending:
        """What extensions spend on models; needs a conversation."""
        from zot.features.extensions.spending import ExtensionSpending  # only for model.call and agent.run

        assert self.conversation is not None
        return ExtensionSpending(self.conversation)

    @cached_property
    def entry_ids(self) -> EntryIds:
        from zot.core.session.entry_ids import EntryIds

        return EntryIds()

    @cached_property
    def context_entries(self) -> ContextEntries:
        from zot.features.extensions.context_edit import ContextEntries

        return ContextEntries(self)

    @property
    def surface(self) -> ExtensionUI:
        return self._surface

    @property
    def children(self) -> ChildGroup:
        return self._children

    def granted(self, child: ExtensionChild) -> tuple[str, ...]:
        """The words of ``uses`` that hold in this run."""
        from zot.features.extensions.loader.declared_uses import granted_words

        denied = self.conversation.settings.values.extension_denied if self.conversation is not None else {}
        return granted_words(child.manifest, child.entry.scope, denied)

    def flags(self, child: ExtensionChild) -> dict[str, Any]:
        """The values of the flags that its manifest declares, with defaults."""
        if not child.manifest.flags or "flags" not in child.granted:
            return {}
        given = self._flag_values.get(child.name, {})
        own = [flag.declared for flag in self._flags.values() if flag.extension == child.name]
        known = {flag.name: given.get(flag.name, flag.default) for flag in own}
        return {name: value for name, value in known.items() if value is not None}

    def _resolve_flags(self, entries: Iterable[DiscoveredExtension]) -> None:
        """Which flag belongs to which extension."""
        if not any(entry.manifest.flags for entry in entries):
            return
        from zot.features.extensions.loader.declared_flags import usable_flags

        self._flags, problems = usable_flags(entries)
        for problem in problems:
            self.diagnostics.note(problem)

    def setting_values(self, child: ExtensionChild) -> dict[str, Any]:
        """Its settings with defaults, without secrets."""
        if not child.manifest.settings:
            return {}
        from zot.features.extensions.loader.extension_settings import current_values

        stored = self.conversation.settings.values.extensions if self.conversation is not None else {}
        report = partial(child.fault, "bad setting")
        return current_values(child.manifest.settings, stored.get(child.name, {}), report)

    def settings_changed(self) -> None:
        """The user changed a setting: tell the extension whose settings are others now."""
        for child in self._children:
            if child.alive and child.edition2 and "settings_changed" in child.events:
                values = self.setting_values(child)
                if self._settings.get(child.name) != values:
                    self._settings[child.name] = values
                    self._fanout.send_late("settings_changed", partial(_values, values), only=child)

    def keep_secret(self, value: str) -> None:
        """Mask this value in traces from now on."""
        plain = value.encode()
        self._secrets |= {plain, msgspec.json.encode(value)[1:-1], json_text(value)}

    def without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret.decode(), "[removed]")
        return text

    def require_word(self, child: ExtensionChild, word: str, method: str) -> None:
        """RequestError unless the user granted it; one diagnostic per word."""
        if word in child.granted:
            self._used_words.add((child.name, word))
            return
        from zot.features.extensions.requests import denied

        error = denied(method, word)
        child.fault(f"needs {word}", str(error))
        raise error

    @property
    def contributions(self) -> Contributions:
        if self._contributions is None:
            from zot.features.extensions.contributions import Contributions  # only for the second edition

            self._contributions = Contributions(
                self._surface, self._registry, self.require_word, self._contributed_tools
            )
            self._contributions.special["provider"] = self._contributed_provider
            self._contributions.special["resource"] = self._change_resource
            self._contributions.special["renderer"] = self._renderer_contributed
        return self._contributions

    @property
    def providers(self) -> ExtensionProviders:
        """Model providers of extensions; needs a conversation."""
        if self._providers is None:
            from zot.features.extensions.providers.registry import ExtensionProviders  # few extensions bring one

            assert self.conversation is not None
            self._providers = ExtensionProviders.of(self.conversation.services)
            self._providers.attach(self)
        return self._providers

    def _contributed_provider(self, child: ExtensionChild, name: str, value: dict[str, Any] | None) -> None:
        if self.conversation is not None:
            self.providers.contributed(child, name, value)

    def find_child(self, name: str) -> ExtensionChild | None:
        return self._children.find(name)

    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.start(work)

    @property
    def router(self) -> RequestRouter:
        if self._requests2 is None:
            from zot.features.extensions.requests import RequestRouter  # only for the second edition

            self._requests2 = RequestRouter(self, self._tasks, self._on_bug)
        return self._requests2

    def _second_edition(self, child: ExtensionChild, frame: extension_frames.ChildFrame) -> None:
        match frame:
            case extension_frames.Request():
                self.router.requested(child, frame)
            case extension_frames.Cancel(id=id):
                self.router.cancelled(child, id)
            case extension_frames.Contribute():
                self.contributions.contributed(child, frame)
            case extension_frames.Withdraw():
                self.contributions.withdrawn(child, frame)
            case _:
                pass

    def _contributed_tools(self, child: ExtensionChild, withdrawn: str) -> None:
        if withdrawn and self.overrides is not None:
            self.overrides.withdrawn(child, withdrawn)
        self._tools_changed()

    def _renderer_contributed(self, child: ExtensionChild, name: str, value: dict[str, Any] | None) -> None:
        """It follows calls from now on."""
        if value is not None and value["for"] == "tool":
            _ = self.renderers

    def inform(self, text: str) -> None:
        """Show one line that is no fault."""
        if self.conversation is not None:
            self.conversation.notify(text, "extensions", "info")

    def spent(self, child: ExtensionChild, usd: float) -> None:
        if self.conversation is not None:
            self.conversation.agent.count(Usage(cost_usd=usd), role=f"extension {child.name}")

    def replace_tools(self, tools: list[Tool]) -> list[Tool]:
        """The built-in ``tools``, with those of extensions that take their place."""
        wanted = [(child, frame) for child, frame in self._registry.tools() if frame.override and child.edition2]
        if self.overrides is None:
            if not wanted:
                return tools
            from zot.features.extensions.overrides import ToolOverrides  # few extensions do this

            self.overrides = ToolOverrides(self)
        return self.overrides.replace(tools, wanted)

    def limit_tools(self, tools: list[Tool]) -> list[Tool]:
        return tools if self.tool_selection is None else self.tool_selection.limit(tools)

    @property
    def nested(self) -> NestedCalls:
        return self._nested

    def deferred_tools(self) -> dict[str, tuple[ExtensionChild, extension_frames.RegisterTool]]:
        """Those that the model does not see until they are activated."""
        found = {frame.name: (child, frame) for child, frame in self._registry.tools()}
        return {name: pair for name, pair in found.items() if is_deferred(pair[1]) and name not in self._activated}

    def _subscribed(self, child: ExtensionChild) -> None:
        if self._late_events is None:
            if self.conversation is None or not child.events.intersection(extension_frames.EDITION2_EVENTS):
                return
            from zot.features.extensions.late_events import LateEvents  # only for the second edition

            self._late_events = LateEvents(self, self.conversation, self._fanout)
            self._fanout.before = self._late_events.flush
        self._late_events.refresh()

    def contributed_themes(self) -> Iterable[tuple[str, Path]]:
        """Extension and file of themes that came while it runs."""
        return () if self.resources is None else self.resources.themes()

    def _change_resource(self, child: ExtensionChild, name: str, value: dict[str, Any] | None) -> None:
        if self.resources is None:
            from zot.features.extensions.resources import ContributedResources  # few extensions bring any

            self.resources = ContributedResources(self)
        self.resources.change(child, name, value)

    @cached_property
    def bus_rate(self) -> BusRate:
        from zot.features.extensions.methods.bus import BusRate

        return BusRate()

    def send_event(self, event: str, data: dict[str, Any], child: ExtensionChild) -> None:
        """An event of the second edition for one extension that observes it."""
        self._fanout.send_late(event, lambda: data, only=child)

    def announce(self, event: str, data: dict[str, Any]) -> None:
        """Send an event of the second edition to those that observe it."""
        if self._late_events is not None:
            self._late_events.send(event, data)

    def limits_changed(self) -> None:
        if self._late_events is not None:
            self._late_events.mode_changed()

    def readied(self, child: ExtensionChild) -> None:
        if self._contributions is not None:
            self._contributions.readied(child)

    def guard_declared(self, child: ExtensionChild) -> None:
        if not child.entry.was_guard:
            self._note_guard(child.entry, learned=True)

    def guard_withdrawn(self, child: ExtensionChild) -> None:
        self.diagnostics.note(f"{child.name} no longer declares itself a guard and guards nothing now")
        self._note_guard(child.entry, learned=False)

    def received(self, child: ExtensionChild, frame: extension_frames.ChildFrame) -> None:
        self._requests.dispatch(child, frame)

    def ended(self, child: ExtensionChild) -> None:
        self._registry.release(child)
        self._panels.child_ended(child)
        self._nested.child_ended(child)
        if self._requests2 is not None:
            self._requests2.child_ended(child)
        if self._contributions is not None:
            self._contributions.child_ended(child)
        if self._late_events is not None:
            self._late_events.refresh()
        self._tools_changed()

    def disconnected(self, child: ExtensionChild, reason: str) -> None:
        for tap in self.ends:
            tap.gone(child.name, reason)

    def exited(self, child: ExtensionChild, code: int | None) -> None:
        for tap in self.ends:
            tap.exited(child.name, code)

    def tap(self, name: str, direction: Direction, line: bytes) -> None:
        if self.traces and self._providers is not None:
            line = self._providers.without_credentials(line, direction)
        for secret in self._secrets if self.traces else ():
            line = line.replace(secret, b"[removed]")
        for trace in self.traces:
            trace(name, direction, line)

    # --- for tools (tools.ToolHost)

    @property
    def interactive(self) -> bool:
        return self._surface.interactive

    def owner_of_tool(self, name: str) -> ExtensionChild | None:
        return next((child for child, frame in self._registry.tools() if frame.name == name), None)

    def call_open(self, child: ExtensionChild, id: str, tool: str) -> AbstractContextManager[None]:
        return self._nested.within(child, id, tool)

    def activate(self, names: tuple[str, ...]) -> None:
        """Deferred tools become callable from the next model request on; unknown names are ignored."""
        known = {frame.name for _, frame in self._registry.tools() if is_deferred(frame)} & set(names)
        if known - self._activated:
            self._activated |= known
            self._tools_changed()

    # --- inside

    def _check_lock(self, entry: DiscoveredExtension) -> None:
        """Checked before every start: installed files and granted permissions of the user's extensions."""
        manifest = entry.manifest
        if not is_data_dir(manifest.directory, self.home):
            return
        if not (manifest.permissions or manifest.uses or (self.home / LOCK).exists()):
            return
        from zot.features.extensions.loader.lock_file import LockFile

        lock = LockFile(self.home)
        try:
            known = lock.check(manifest)
            undecided = known is None and (manifest.permissions is not None or manifest.uses)
            if (undecided or (known and known.uses is None and manifest.uses)) and self._remember_guards:
                lock.grant_first(manifest)
        except ConfigError as error:
            raise ExtensionError(str(error)) from error
        except OSError as error:
            self.diagnostics.note(f"cannot save permissions in {self.home}: {describe_error(error)}")

    def _came_with(self, entry: DiscoveredExtension) -> Collection[str] | None:
        if entry.scope == "project":
            record = None if self._trust_project else self._trust.record(entry.manifest.directory)
            return record.files if record else None
        from zot.features.extensions.loader.lock_file import LockFile

        known = (
            LockFile(self.home).of(entry.manifest.directory.name)
            if is_data_dir(entry.manifest.directory, self.home)
            else None
        )
        return known.pins[-1] if known and known.pins else None

    def _note_guard(self, entry: DiscoveredExtension, *, learned: bool) -> None:
        """Key of an extension for the next run: directory name, trust key or path."""
        directory = entry.manifest.directory

        def write() -> None:
            if entry.scope == "project" and not self._trust_project and self._trust.record_guard(directory, learned):
                return
            key = directory.name if entry.scope == "global" else project_key(directory)
            if not learned:
                remember(self.home, forgotten=[key])
            elif entry.scope == "global":
                remember(self.home, learned=[key])
            else:
                remember(self.home, paths=[key])

        self._remember(write)

    def _remember(self, write: Callable[[], None]) -> None:
        """If the home is not writable this is only logged: in this run the guards are known."""
        if not self._remember_guards:
            return
        try:
            write()
        except (OSError, ConfigError) as error:
            self.diagnostics.note(f"cannot save guards in {self.home}: {describe_error(error)}")

    def _tools_changed(self) -> None:
        """Notify the agent once per turn of the event loop."""
        if not self._tools_stale:
            self._tools_stale = True
            asyncio.get_running_loop().call_soon(self._notify_tools_changed)

    def _notify_tools_changed(self) -> None:
        self._tools_stale = False
        self.on_tools_changed()

    def _warn(self, extension: str, text: str) -> None:
        self._surface.notify(extension, "warn", text)

    def _on_bug(self, error: BaseException) -> None:
        self.diagnostics.note(f"extension host: {type(error).__name__}: {error}")
