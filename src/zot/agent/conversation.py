"""A conversation: the one door to a running agent. Modes, the RPC server, the SDK, slash commands and sub-agents hold
it and nothing behind it.

It has every verb, one value for what holds at this moment (``present``) which others read instead of keeping a copy,
and one stream of events out of it (``read``). ``build`` opens one; ``child`` makes another beside it on the same
extensions, connections, guards and limits. Leaving ``build``'s block closes everything.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from zot.agent.model_resolver import Launch, Query, Resolved, require_credential
from zot.agent.services import Resources
from zot.agent.snapshot import Present
from zot.agent.system_prompt import SystemPrompt
from zot.agent.tools.registry import SWARM, SWARM_NAMES
from zot.core.agent import Agent, FirstCall, Outcome
from zot.core.event_bus import Reader
from zot.core.events import (
    RECORDED,
    SHOWN,
    AgentEvent,
    Diagnostic,
    Done,
    Error,
    ModelChanged,
    SessionEnded,
    SessionFault,
    SessionStarted,
    UsageCounted,
    UserMessage,
)
from zot.core.session.session import Session
from zot.core.session.store import new_id
from zot.core.tool import Tool
from zot.errors import AgentBusy, CompactionFailed, UsageError, ZotError, in_words
from zot.provider.messages import ImageBlock, Message, Usage
from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.model_call import Client

if TYPE_CHECKING:
    from zot.agent.context_usage import WindowUse
    from zot.core.interceptors import Interceptor
    from zot.core.pending_input import Prompt
    from zot.core.permission_gate import ConfirmGate
    from zot.core.state import Guard
    from zot.features.checkpoints.change_log import Event
    from zot.features.checkpoints.change_recorder import Keeping
    from zot.features.extensions.commands import CommandAnswer
    from zot.features.extensions.host import ExtensionHost, ReloadStats
    from zot.features.extensions.registry import CommandInfo
    from zot.features.hooks.host import HookHost
    from zot.features.hooks.interceptor import HookInterceptor
    from zot.features.mcp.host import McpHost
    from zot.features.templates.discovery import Template
    from zot.swarm.model_agents import ModelSwarm
    from zot.system.jail.jail import Jail
    from zot.wire.events import JailState
    from zot.wire.rpc_frames import Changes, McpServer, McpState, ModelInfo, Rewound, State

_T = TypeVar("_T")


class Conversation:
    """``launch`` is the key and the address the run was started with, for as long as they hold. What conversations
    share (settings, catalog, …) stands on it as it stands in ``resources``."""

    def __init__(self, resources: Resources, agent: Agent, resolved: Resolved, session: Session | None) -> None:
        self.resources = resources
        self.home, self.settings, self.sessions = resources.home, resources.settings, resources.sessions
        self.catalog, self.auth, self.pool = resources.catalog, resources.auth, resources.pool
        self.workspace, self.skills = resources.workspace, resources.skills
        self._agent = agent
        self.resolved = resolved
        self.session: Session | None = None
        self.launch = Launch(resources.config, resolved.provider.id)
        self._spent_before = agent.cost
        self._stop_recording: Callable[[], None] | None = None
        self._keeping: Keeping | None = None
        self._changes: list[Event] | None = None  # of whoever collects them
        self._said = ""  # when the last prompt was
        self._asking: asyncio.Future[Any] | None = None  # hooks about a prompt, a model about its abilities
        self._looked_at: Resolved | None = None  # whose abilities are known as far as they can be
        self._permits: Guard | None = None
        self._unrecorded = False  # the ledger cannot be written, and that was told
        self.is_child = False  # beside another, whose jail it has
        if session is not None:
            self._record(session)

    # --- what holds at this moment

    @property
    def present(self) -> Present:
        return Present(
            provider=self.resolved.provider.id,
            model=self._agent.model.id,
            reasoning=self._agent.reasoning,
            session_id=self._agent.session_id,
            session_file=str(self.session.path) if self.session is not None else "",
            directory=str(self.resources.workspace.cwd),
            permission_mode=self._agent.gate.mode if self._agent.gate is not None else "everything",
        )

    @property
    def busy(self) -> bool:
        return self._agent.busy or self._asking is not None

    @property
    def model(self) -> Model:
        """The catalogue row of the current model."""
        return self._agent.model

    def learn_window(self) -> None:
        """Take the window of the current model from the catalogue, which has just been told it."""
        model = self._agent.model
        known = self.catalog.find(model.id, model.provider)
        if known is not None and known.context_window != model.context_window:
            sizes = {"context_window": known.context_window, "max_output": known.max_output}
            self._agent.model = msgspec.structs.replace(model, **sizes)
        if known is not None and self.resolved.provider.local:
            from zot.agent.local_model import shortcomings  # few have such a server

            for text in shortcomings(self._agent.model if self._agent.model.tool_calls else known):
                self.emit(Diagnostic(text))

    @property
    def gate(self) -> ConfirmGate | None:
        """Who asks before tools run; None when nobody is asked and nobody can change that."""
        from zot.core.permission_gate import ConfirmGate  # most runs ask nobody

        return self._agent.gate if isinstance(self._agent.gate, ConfirmGate) else None

    @property
    def context_tokens(self) -> int:
        """How much of the model's window the last prompt took; 0 when it is unknown."""
        return self._agent.last_context_tokens

    def window_use(self) -> WindowUse:
        """What fills the model's window now, by part."""
        from zot.agent.context_usage import window_use  # people ask now and then

        agent = self._agent
        request, compact_at = agent.request(), self.settings.values.auto_compact_percent  # which settles the prompt
        prompt = agent.system if isinstance(agent.system, SystemPrompt) else None
        sections, left_out = (prompt.sections(agent.specs), prompt.left_out) if prompt is not None else ([], "")
        return window_use(request, sections, self.extension_of, self.context_tokens, compact_at, left_out)

    def tool(self, name: str) -> Tool | None:
        return self._agent.toolbox.get(name)

    def extension_of(self, tool: str) -> str:
        """The extension a tool belongs to; empty for zot's own."""
        return str(getattr(self._agent.toolbox.get(tool), "extension", "") or "")

    @property
    def text_watched(self) -> bool:
        """Whether an extension looks at what the model says before a person does; it is not asked about thoughts."""
        return any(interceptor.watches_text for interceptor in self._agent.interceptors)

    @property
    def missing(self) -> str:
        """Why no model can answer and what to do about it; empty when one can."""
        return self.resolved.missing

    @property
    def messages(self) -> tuple[Message, ...]:
        return self._agent.messages

    @property
    def unanswered(self) -> Message | None:
        """The user's last prompt if nothing followed it: its turn failed."""
        return self._agent.unanswered

    @property
    def cost(self) -> Usage:
        """Tokens and money of everything so far, a resumed session's past included."""
        return self._agent.cost

    def spent(self) -> Usage:
        """What this run used, without what a resumed session had used before."""
        return self._agent.cost - self._spent_before

    def models(self) -> tuple[ModelInfo, ...]:
        """The models of the current provider."""
        from zot.wire.rpc_frames import ModelInfo  # nobody asks on the way to an answer

        provider = self.resolved.provider
        rows = [row for row in self.resources.catalog.rows() if row.provider == (provider.rows_of or provider.id)]
        return tuple(
            ModelInfo(
                id=row.id,
                provider=provider.id,
                context_window=row.context_window,
                max_output=row.max_output,
                reasoning=bool(row.reasoning),
            )
            for row in rows
        )

    def mcp_servers(self, only: str = "") -> tuple[McpServer, ...]:
        """The MCP servers of this run, or one of them, as they are now; nobody is started to be asked."""
        host = self.resources.mcp
        if host is None:
            return ()
        from zot.features.mcp.saying import as_told

        return tuple(map(as_told, host.statuses(only)))

    def hear_servers(self, reader: Callable[[McpState], None]) -> None:
        """From now on, each time the state of an MCP server changes."""
        from zot.wire.rpc_frames import McpState

        def tell(name: str) -> None:
            for server in self.mcp_servers(name):
                reader(McpState(server=server))

        if self.resources.mcp is not None:
            self.resources.mcp.on_state = tell

    def state(self, *, busy: bool | None = None) -> State:
        """All of it as one value of the wire; a mode that queues work of its own knows better whether it is busy."""
        from zot.wire.events import totals_of
        from zot.wire.rpc_frames import State

        present = self.present
        return State(
            provider=present.provider,
            model=present.model,
            cwd=present.directory,
            message_count=len(self._agent.messages),
            busy=self.busy if busy is None else busy,
            usage=totals_of(self.cost),
            permission_mode=present.permission_mode,
            jail=self.jail_state(),
        )

    # --- the stream

    def read(self, reader: Reader, *kinds: type[AgentEvent]) -> Callable[[], None]:
        """Join the stream, behind those who are there: for these kinds of events, for what is shown if none is named.
        Call what comes back to leave it."""
        return self._agent.readers.add(reader, *(kinds or SHOWN))

    def emit(self, event: AgentEvent) -> None:
        """Emit an event that does not come from the agent's own work."""
        self._agent.tell(event)

    # --- talking

    async def say(
        self,
        text: str,
        images: Sequence[ImageBlock] = (),
        *,
        queued: bool = False,
        first_call: FirstCall | None = None,
        instead: bool = False,
    ) -> Outcome:
        """Say something and work until it is answered; how it ended comes back, what happened is in the stream.

        ``queued``: it waited in the queue and was announced then; ``first_call`` runs before the model is asked;
        ``instead`` takes the place of a prompt that is still unanswered. The name of a prompt template behind a slash
        is said as what the template makes of it."""
        text = await self._meant(text)
        if text.startswith("/"):
            from zot.features.templates.expansion import answered_by, filled_text  # few prompts name one

            template, text = filled_text(self, text)
            if template is not None:
                async with answered_by(self, template):
                    return await self._say(text, images, queued, first_call, instead)
        return await self._say(text, images, queued, first_call, instead)

    async def _meant(self, text: str) -> str:
        """A prompt of an MCP server, in its own words; what it names of a server's resources is read first."""
        if self.resources.mcp is None or not (text.startswith("/mcp:") or ("@" in text and "://" in text)):
            return text
        from zot.features.mcp.saying import meant

        return await meant(self, self.resources.mcp, text)

    async def _say(
        self, text: str, images: Sequence[ImageBlock], queued: bool, first_call: FirstCall | None, instead: bool
    ) -> Outcome:
        if self._looked_at is not self.resolved and not await self._look_at_model():
            return Outcome("aborted")
        if self.resources.hooks is not None and not self.is_child:
            outcome = await self._ask_hooks(self.resources.hooks, text)
            if outcome is not None:
                return outcome
        if not instead:
            self._tell_of_planning()
        return await self._agent.prompt(text, images, queued=queued, first_call=first_call, instead=instead)

    async def _ask_hooks(self, hooks: HookHost, text: str) -> Outcome | None:
        """How it ended already, where a hook refused the prompt or somebody gave up waiting; else None."""
        asked = await self._ask(hooks.before_prompt(text))
        outcome = None
        if asked.cancelled():
            outcome = Outcome("aborted")
        elif refusal := asked.result():
            outcome = Outcome("error", refused=refusal)
        if outcome is not None:
            self.emit(Done())
        return outcome

    async def _ask(self, question: Coroutine[Any, Any, _T]) -> asyncio.Future[_T]:
        """The end of a question that must be answered before a prompt; ``abort`` gives it up."""
        self._must_be_idle()
        asked = self._asking = asyncio.ensure_future(question)
        try:
            await asyncio.wait([asked])
        except asyncio.CancelledError:
            asked.cancel()
            raise
        finally:
            self._asking = None
        return asked

    async def _look_at_model(self) -> bool:
        """A model on this machine that cannot call tools is held by a grammar from here on; False when somebody gave up
        waiting for it to say."""
        resolved = self.resolved
        if not resolved.abilities_unsure or not self._agent.specs or self.is_child or self.busy:
            return True
        from zot.local_model.tool_support import held_if_unable  # few have such a server

        asked = await self._ask(held_if_unable(resolved, self.resources))
        if asked.cancelled():
            self.emit(Done())
            return False
        self._looked_at = resolved
        if (held := asked.result()) is not None:
            self._looked_at = held
            name = held.model.id
            self.emit(Diagnostic(f"{name} cannot call tools by itself, as a small request showed: a grammar holds it"))
            await self.adopt(held).aclose()
        return True

    async def proceed(self) -> Outcome:
        """Continue from the transcript as it stands."""
        return await self._agent.proceed()

    @property
    def broke_off(self) -> bool:
        """Whether the last word is an answer, so that a failed turn is one that broke off in the middle of it."""
        messages = self._agent.messages
        return bool(messages) and messages[-1].role == "assistant"

    async def go_on(self) -> Outcome:
        """Continue an answer that broke off, from what is kept of it."""
        return await self._agent.go_on()

    def steer(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        """Join the running prompt before its next model call."""
        if text.startswith("/"):
            from zot.features.templates.expansion import filled_text

            _, text = filled_text(self, text)
        self._agent.steer(text, images)

    def queue(self, text: str, images: Sequence[ImageBlock] = ()) -> None:
        """Keep a prompt for later; whoever runs prompts takes it with ``take_queued``."""
        self._agent.enqueue(text, images)

    @property
    def queued(self) -> tuple[Prompt, ...]:
        return self._agent.inputs.queued

    @property
    def steering(self) -> tuple[Prompt, ...]:
        return self._agent.inputs.steering

    def take_queued(self) -> Prompt | None:
        """The oldest queued prompt, to be said next."""
        return self._agent.take_queued()

    def take_back(self) -> Prompt | None:
        """The newest queued prompt, to be edited again."""
        return self._agent.inputs.take_back()

    def take_all(self) -> tuple[Prompt, ...]:
        """Everything that was steered or queued and not said yet, oldest first."""
        return self._agent.take_all()

    def abort(self) -> None:
        """End whatever runs; nothing happens when it is idle or ending already."""
        if self._asking is not None:
            self._asking.cancel()
        self._agent.abort()

    async def compact(self, focus: str = "") -> str:
        """Replace the transcript with a summary and return it; CompactionFailed or CompactionAborted change nothing.
        ``focus`` says what the summary should keep above all."""
        hooks = self.resources.hooks
        if hooks is not None and (refusal := await hooks.before_compaction("manual", focus)):
            self.emit(Error(refusal))
            self.emit(Done())
            raise CompactionFailed(refusal)
        return await self._agent.compact(focus=focus)

    def note_command(self, text: str, /, **values: object) -> None:
        """A slash command, or a command of another program, was given; a recording shows it."""
        self._agent.note("command", text=text, **values)

    def add(self, message: Message) -> None:
        """Add something the model should know with the next prompt, such as a command the user ran."""
        self._agent.add(message)

    # --- prompt templates

    def templates(self) -> list[Template]:
        """Those there are at this moment, by name, without their texts."""
        from zot.features.templates.discovery import all_templates, places_of

        found = all_templates(places_of(self), self.workspace.beneath, [])
        if self.resources.mcp is None:
            return found
        from zot.features.mcp.saying import as_templates

        return [*found, *as_templates(self.resources.mcp)]

    def names_template(self, text: str) -> bool:
        """Whether ``text``, said as it is, would be said as a template."""
        from zot.features.templates.expansion import template_of

        if self.resources.mcp is not None and text.startswith("/mcp:"):
            from zot.features.mcp.saying import names_prompt

            return names_prompt(self.resources.mcp, text)
        return template_of(self, text) is not None

    # --- permission

    def set_permission_mode(self, mode: str) -> None:
        """From the next tool call on, in conversations beside this one, too. UsageError for a mode that does not exist
        or that is wider than this run may get. Whoever calls it acts for who began the run, never for a model or an
        extension."""
        from zot.core.permission_modes import MODES, parse_mode, wider  # few runs change it

        wanted, gate = parse_mode(mode), self.gate
        if wanted is None:
            raise UsageError(f'unknown permission mode "{mode}": expected one of {", ".join(MODES)}')
        if gate is None or wider(wanted, gate.limit):
            limit = "everything" if gate is None else gate.limit
            raise UsageError(f"the permission mode cannot be {wanted}: this run was started with the limit {limit}")
        gate.mode = wanted

    def _tell_of_planning(self) -> None:
        """The model learns with a prompt that it is to plan, and that it no longer is; nothing else of the modes is its
        business. A compaction forgets it, and it is told again."""
        gate = self._agent.gate
        if gate is None or self.busy:
            return
        from zot.features.permissions.planning import note_due  # loaded with the gate

        note = note_due(gate.mode, self._agent.messages)
        if note is not None:
            self._agent.add(note)

    # --- extensions

    @property
    def extensions(self) -> ExtensionHost | None:
        """Who runs them, for what only they have: panels, trust, statuses."""
        return self.resources.extensions

    def commands(self) -> list[CommandInfo]:
        """The slash commands of extensions."""
        return self.resources.extensions.commands() if self.resources.extensions is not None else []

    async def run_command(self, name: str, args: str) -> CommandAnswer:
        """Run an extension's slash command; what it answered is for the mode to act on."""
        if self.resources.extensions is None:
            raise UsageError(f"unknown command /{name}")
        return await self.resources.extensions.run_command(name, args)

    async def start_extensions(self) -> None:
        """Start them and join them to the agent: from here on they see and may refuse everything."""
        host, agent = self.resources.extensions, self._agent
        if host is not None:
            host.run_tool = agent.run_tool
            host.on_tools_changed = self.refresh_tools
            agent.interceptors.append(host.interceptor)
            agent.readers.add(host.observe, *host.observed)
            agent.system_editor = host.edit_system_prompt
            await host.start()
        self.emit(SessionStarted(agent.session_id))

    async def find_extensions(self) -> bool:
        """Whether there are any; those that came since the run began are started first."""
        if self.resources.extensions is None:
            from zot.agent.build import extension_host  # a run without extensions has no use for it

            self.resources.extensions = extension_host(self.resources, lambda: self.present, self.emit)
            if self.resources.extensions is not None:
                await self.start_extensions()
        return self.resources.extensions is not None

    async def reload_extensions(self) -> ReloadStats | None:
        """Restart all of them; the conversation continues. None when there are none. Needs an idle agent."""
        if not await self.find_extensions() or self.resources.extensions is None:
            return None
        self._agent.note("reload")
        stats = await self.resources.extensions.reload()
        self._agent.rebuild_system()
        return stats

    def join_mcp(self, host: McpHost | None) -> None:
        """The tools of MCP servers follow what the servers offer; where somebody stays, unknown ones are asked soon."""
        if host is not None:
            host.on_tools_changed = self.refresh_tools
            if self.resources.front_end.switches:
                host.begin()

    def refresh_tools(self) -> None:
        """The tools of this run as they are at this moment, for the next model call."""
        self._agent.set_tools(self.resources.tools())

    def read_settings(self) -> None:
        """What was changed in the settings and holds at once."""
        self._agent.compact_at = self.settings.values.auto_compact_percent / 100
        if self.resolved.endpoint is not None and not self.resolved.script:
            self._agent.client = self.resources.client_for(self.resolved)  # on the same connections, with its tries
        self.hold_limits()
        values = self.settings.values
        wanted = values.auto_swarm_enabled or SWARM in values.tools
        if self.resources.config.tools is None and wanted != any(
            tool.name in SWARM_NAMES for tool in self.resources.own_tools
        ):
            from zot.agent.build import own_tools  # it is loaded: it made this conversation

            self.resources.own_tools = own_tools(self.resources, self.model)
            self.refresh_tools()

    # --- agents the model starts

    def make_swarm(self) -> ModelSwarm:
        """Where somebody types, what its agents answered is said as if typed; elsewhere whoever runs this asks."""
        from zot.swarm.model_agents import ModelSwarm  # few have one

        surface = self.resources.front_end.surface
        typed = surface is not None and surface.interactive
        return ModelSwarm(self, (lambda text: surface.submit("swarm", text)) if surface and typed else None)

    async def swarm_news(self) -> str:
        """What agents of the model answered, waited for while some are at work; empty when there is nothing."""
        return await self.resources.swarm.news() if self.resources.swarm is not None else ""

    # --- money

    def hold_limits(self) -> None:
        """From the next model call on, the limits of what may be spent are those of the flag and the settings."""
        values = self.settings.values
        session = self.resources.config.max_cost or values.max_cost_session
        self._agent.max_cost_usd = max(session, 0.0)
        self._agent.guard = self._permits
        if session or values.max_cost_day:
            from zot.features.budget.spending_limits import Budget  # most runs have no limit

            self._agent.guard = Budget(self, self._permits).stream

    def ask_permits(self, permits: Guard | None) -> None:
        """From the next model call on, each is made by ``permits``, within the limits of this run; None asks nobody."""
        self._permits = permits
        self.hold_limits()

    def expect_spending(self, _: AgentEvent) -> None:
        """A model call begins: the ledger is loaded and opened while it connects, not when it has answered."""
        if not self.resources.has_ledger and self.model.source != "script":
            asyncio.get_running_loop().call_soon(lambda: self.resources.ledger.prepare())

    def note_spending(self, event: AgentEvent) -> None:
        """What was paid for goes into the day's ledger, for the limits of other runs and for ``zot cost``."""
        if not isinstance(event, UsageCounted) or self.model.source == "script" or event.usage == Usage():
            return
        from zot.features.budget.ledger import spent_row  # loaded since the request, see above

        present, kept = self.present, self.session is not None
        try:
            self.resources.ledger.append(
                spent_row(
                    event.usage, present.provider, present.model, present.session_id, present.directory if kept else ""
                )
            )
        except OSError as error:
            if not self._unrecorded:
                self._unrecorded = True
                self.emit(Diagnostic(f"what this run costs cannot be added to the day's ledger: {in_words(error)}"))

    # --- another model

    def set_reasoning(self, level: str) -> None:
        """How hard the model thinks, from the next model call on."""
        if level not in REASONING_LEVELS:
            raise UsageError(f'unknown reasoning "{level}": expected one of {", ".join(REASONING_LEVELS)}')
        self._agent.reasoning = level

    async def use_model(self, model: str, provider: str = "", *, logged_out: bool = False) -> None:
        """Continue with another model, of the current provider or of another; transcript and cost stay.

        AgentBusy during work, UsageError for a model nobody has, NotLoggedIn without a credential (unless it may be
        ``logged_out``); nothing changed then."""
        query = self._model_query(model, provider)
        # In a thread: a key may come from a program that takes its time.
        resolved = await asyncio.to_thread(self.resources.resolve, query)
        if not logged_out:
            require_credential(resolved)
        self._must_be_idle()
        await self.adopt(resolved).aclose()

    def use_model_at_once(self, model: str) -> None:
        """The same for another model of the current provider, where the next command must not come in between."""
        self._must_be_idle()
        resolved = self.resources.resolve(self._model_query(model, ""))
        require_credential(resolved)
        self.adopt(resolved)

    def adopt(self, resolved: Resolved) -> Client:
        """Let this model answer, from the next model call on; returns the previous client, for the caller to close.
        Whoever calls it knows that no model call is being made."""
        before, was = self._agent.client, self._agent.model
        self._agent.replace_model(self.resources.client_for(resolved), resolved.model)
        self.resolved = resolved
        self.emit(ModelChanged(resolved.provider.id, resolved.model.id))
        for text in resolved.notices:
            self.emit(Diagnostic(text))
        if resolved.model.tool_calls != was.tool_calls:
            from zot.local_model.safeguards import adapt  # few models are held by a grammar

            for text in adapt(self):
                self.emit(Diagnostic(text))
        return before

    def _model_query(self, model: str, provider: str) -> Query:
        current = self.resolved.provider
        if not provider and (own := self.settings.values.model_names.get(model)):
            from zot.agent.model_lookup import own_model  # few have such names

            found = own_model(own, self.resources.catalog, current.id)
            model, provider = found.model, found.provider
        if not provider and self.resources.catalog.find(model, current.id) is None and not current.any_model:
            raise UsageError(f'unknown model "{model}" (provider="{current.id}")')
        return self.launch.query(provider or current.id, model)

    # --- another session

    async def open_session(self, path: Path) -> Session:
        """Continue a session file; SessionLocked, SessionCorrupt or SessionError leave everything as it is."""
        session = await self.resources.sessions.load(path)
        try:
            self._agent.set_messages(hydrated(session.messages))
        except BaseException:
            session.close()
            raise
        self._agent.seed_cost(session.cumulative)
        self._switch(session)
        return session

    async def fork(self, row: int) -> Session:
        """Continue in a new session that holds the first ``row`` messages of this one's file: what was said before a
        prompt."""
        from zot.core.session.fork import fork_at  # a rare wish

        if self.session is None:
            raise ZotError("there is no session to branch off from")
        self.session.flush()
        path = await asyncio.to_thread(fork_at, self.resources.sessions, self.session.path, row)
        return await self.open_session(path)

    def clear(self, messages: Iterable[Message] = ()) -> None:
        """Drop the transcript, or begin with this one. A session stays as it is and the next one begins; the cost
        goes on counting."""
        self._agent.set_messages(())
        present = self.present
        kept = self.session is not None
        self._switch(self.resources.sessions.create(present.provider, present.model) if kept else None)
        for message in messages:
            self._agent.add(message)

    def begin_session(self) -> None:
        """An empty conversation with the same model, tools and extensions; cost and context begin at zero."""
        self.clear()
        self._agent.seed_cost(Usage())

    def _switch(self, session: Session | None) -> None:
        """The previous session is complete on disk when the next one begins."""
        self.emit(SessionEnded(self._agent.session_id, "session_switch"))
        self._said = ""
        if self.session is not None:
            self.session.close()
        if session is not None:
            self._record(session)
        else:
            self._agent.session_id = new_id()
        self.emit(SessionStarted(self._agent.session_id))

    def _record(self, session: Session) -> None:
        """From now on this session is the first reader of the agent."""
        if self._stop_recording is not None:
            self._stop_recording()
        session.on_failure = lambda text, lost: self.emit(SessionFault(text, lost))
        self._stop_recording = self._agent.readers.add(session.read, *RECORDED, first=True)
        self.session, self._agent.session_id = session, session.id

    # --- what became of the files

    @property
    def keeping(self) -> Keeping | None:
        """Who keeps what tools change; None where no session is kept, or the user wants nothing kept."""
        capacity = self.settings.values.keep_changes_mb << 20
        if self.session is None or not capacity:
            return None
        if self._keeping is None:
            from zot.features.checkpoints.change_log import Place
            from zot.features.checkpoints.change_recorder import Keeping  # many a run changes nothing

            self._keeping = Keeping(
                Place(self.home),
                self.workspace.cwd,
                lambda: self.session,
                self._prompt_time,
                lambda text: self.emit(Diagnostic(text)),
                capacity,
            )
            config = self.resources.config
            self._keeping.happened = self._changes
            self._keeping.ours = tuple(map(os.path.realpath, filter(None, (config.record, config.ext_trace))))
        return self._keeping

    def collect_changes(self) -> list[Event]:
        """A list that fills with what is changed from now on, oldest first, until the next one is asked for."""
        self._changes = []
        if self._keeping is not None:
            self._keeping.happened = self._changes
        return self._changes

    async def file_changes(self, prompt: int = 0) -> Changes:
        """What the prompt of this number, from 1, did to files; with 0 the whole session."""
        from zot.features.checkpoints.rewind import changes_in, session_file  # a rare wish

        return await asyncio.to_thread(changes_in, self, session_file(self), prompt)

    async def rewind(
        self, prompt: int, what: str = "both", *, overwrite: bool = False, dry_run: bool = False
    ) -> Rewound:
        """Go back to before the prompt of this number: ``both``, ``files`` or ``conversation``; 0 undoes the last
        rewinding of files. What others changed is named, and overwritten only if wanted. Needs an idle agent."""
        from zot.features.checkpoints.rewind import rewind

        self._must_be_idle()
        return await rewind(self, prompt, what, overwrite=overwrite, dry_run=dry_run)

    def note_prompt(self, event: AgentEvent) -> None:
        """What is changed from now on is changed for this prompt."""
        if isinstance(event, UserMessage):
            self._said = event.message.time

    def _prompt_time(self) -> str:
        if not self._said:  # a turn that goes on from a resumed session
            from zot.core.session.turn_history import turns_in

            turns = turns_in(list(enumerate(self.messages)))
            self._said = turns[-1].prompt.time if turns else ""
        return self._said

    # --- a second agent

    def child(
        self, *, messages: Iterable[Message] = (), tools: Iterable[Tool] | None = None, system: str | None = None
    ) -> Conversation:
        """Another conversation beside this one: same model, connections, extensions, guards, gate and limits.

        It keeps no session, and what it spends counts here. ``tools`` None are those of this conversation; ``system``
        None is the prompt this one has at this moment."""
        agent = self._agent
        child = agent.beside(
            messages=tuple(messages),
            tools=agent.tools if tools is None else tools,
            system=agent.system_text() if system is None else system,
        )

        def count(event: AgentEvent) -> None:
            if isinstance(event, UsageCounted):
                agent.count_beside(event.usage)

        if self.resources.mcp is not None:
            self.resources.mcp.search_beside(child)
        if self.resources.hooks is not None:
            own = self.resources.hooks.interceptor
            child.interceptors = [_beside(each, own) for each in child.interceptors]
        child.guard = agent.guard
        child.goes_on = True  # whoever made it is not asked either
        child.readers.add(count, UsageCounted)
        made = Conversation(self.resources, child, self.resolved, None)
        made.is_child = True
        return made

    # --- the jail

    @property
    def jailed(self) -> str:
        """What to call the jail: ``jailed (full)``, ``jailed (reduced, network)``; empty when there is none."""
        jail = self.workspace.jail
        return f"jailed ({jail.level}{', network' * jail.policy.network})" if jail is not None else ""

    def jail_state(self) -> JailState | None:
        """The jail as programs see it."""
        jail = self.workspace.jail
        if jail is None:
            return None
        from zot.wire.events import JailState

        policy = jail.policy
        return JailState(
            level=jail.level,
            network=policy.network,
            read=(*policy.read, *policy.read_files),
            write=(*policy.writable, *policy.write_files),
            approve="outside" if self.resources.asks_outside else "",
        )

    def ask_outside(self) -> None:
        """From the next call on, whether a person is asked about what is outside is what the flag and the settings say;
        only a person's own keyboard gets here."""
        self._must_own_the_jail()
        if self.resources.outside is not None:
            self.resources.outside.asks = bool(self.resources.config.approve or self.settings.values.approve)

    def jail(self, *, network: bool = False) -> str:
        """Confine what tools do from now on; ZotError where nothing can hold that. Flags' directories stay."""
        from zot.features.jail.setup import confine, wanted

        self._must_own_the_jail()
        config, values = self.resources.config, self.settings.values
        kind = "net" if network else "on"
        asked = wanted(kind, config.jail_read, config.jail_write, config.jail_level, values)
        self._use_jail(confine(self.workspace.cwd, self.resources.home, asked))
        return self.jailed

    def unjail(self) -> bool:
        """A person's word, and nobody else's: whether there was a jail."""
        self._must_own_the_jail()
        was = self.workspace.jail is not None
        self._use_jail(None)
        return was

    def _must_own_the_jail(self) -> None:
        if self.is_child:
            raise UsageError("a conversation beside another has its jail, and cannot change it")

    def _use_jail(self, jail: Jail | None) -> None:
        old, self.workspace.jail = self.workspace.jail, jail
        if old is not None:
            old.close()

    # --- the end

    async def aclose(self) -> None:
        """Close in the order of what may be lost: the session first."""
        self.emit(SessionEnded(self._agent.session_id, "shutdown"))
        if self.resources.hooks is not None:
            await self.resources.hooks.aclose()
        if self.session is not None:
            self.session.close()
        if self._keeping is not None:
            self._keeping.close()
        await self.resources.aclose()
        await self._agent.client.aclose()

    def _must_be_idle(self) -> None:
        if self.busy:
            raise AgentBusy("agent is busy")


def _beside(interceptor: Interceptor, hooks: HookInterceptor) -> Interceptor:
    """Hooks know a conversation beside another by its own name; a recorder may stand around them."""
    if interceptor is hooks:
        return hooks.for_child()
    around: Callable[[Interceptor], Interceptor] | None = getattr(interceptor, "around", None)
    return around(hooks.for_child()) if around is not None and interceptor.inner is hooks else interceptor  # pyright: ignore


def hydrated(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What the model continues with: the last messages, and the summary of what came before them if there is one."""
    from zot.core.session.resume import window  # only a conversation that goes on needs it

    tail = window(messages)
    first = messages[0] if messages else None
    if first is not None and first.meta.get("compaction") and tail and tail[0] is not first:
        return (first, *tail)
    return tail
