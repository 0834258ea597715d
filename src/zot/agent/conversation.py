"""The public API of a running agent: front ends, RPC, SDK, slash commands and sub-agents use only this.
It has prompting, the model, the session and the event stream; everything else is a ``Feature``
(``agent/features.py``), found with ``feature``. ``build`` creates a conversation, ``child`` a side conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zot.agent.feature import Feature, PromptDraft
from zot.agent.features import FeatureSet
from zot.agent.model_resolver import LaunchOverrides, ResolvedModel, require_credential
from zot.agent.services import Services
from zot.agent.session_change import SessionChange
from zot.agent.tool_set import ToolSet
from zot.core import events
from zot.core.agent import Agent, InitialToolCall, Outcome, PendingPrompt, Reader
from zot.core.events import ModelSource
from zot.core.session.session import Session
from zot.errors import AgentBusy, CompactionAborted, CompactionFailed, SessionChangeDenied, UsageError, ZotError
from zot.provider.messages import ImageBlock, Message, Usage
from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.model_call import Client

if TYPE_CHECKING:
    from zot.agent.op_handlers import Op
    from zot.agent.snapshot import ConversationSnapshot
    from zot.core.permission_gate import PermissionGate
    from zot.core.tool import Tool

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Feature)


class Conversation:
    """``agent`` is for features only; ``launch`` is the key and address of the command line, while they apply."""

    def __init__(self, services: Services, agent: Agent, resolved: ResolvedModel, session: Session | None) -> None:
        self.services = services
        self.home, self.settings, self.sessions = services.home, services.settings, services.sessions
        self.catalog, self.auth, self.pool = services.catalog, services.auth, services.pool
        self.workspace = services.workspace
        self.agent, self.resolved = agent, resolved
        self.session: Session | None = None
        self.launch = LaunchOverrides(services.config, resolved.provider.id)
        self.features = FeatureSet()
        self.toolset = ToolSet(self)
        self.is_child = False  # a side conversation
        self.has_more_work: Callable[[], bool] = lambda: False  # a front end's own queue
        self._usage_before = agent.cost
        self._detach_session: Callable[[], None] | None = None
        self._preparing: asyncio.Future[Any] | None = None  # features, before a prompt or a compaction
        self._early: list[events.Diagnostic] | None = []  # until the conversation has started
        self._idle = asyncio.Event()  # set when work ends
        if session is not None:
            self._attach_session(session)

    # --- features

    def feature(self, kind: type[_F]) -> _F | None:
        """A feature of this conversation; None if it has not joined."""
        return self.features.get(kind)

    def notify(self, text: str, source: str = "", level: events.Level = "warning") -> None:
        """Show one line to the user in every front end; before the start it is queued."""
        event = events.Diagnostic(text, of_extension=source == "extensions", source=source, level=level)
        self.emit(event) if self._early is None else self._early.append(event)

    async def start(self, problems: Iterable[str] = ()) -> None:
        """Report problems found so far and start features, after all of them joined."""
        for feature in self.features:
            feature.joined()
        early, self._early = [*(events.Diagnostic(text) for text in problems), *(self._early or [])], None
        for event in early:
            self.emit(event)
        self.features.started = True
        for feature in self.features:
            await feature.start()
        name = self.session.meta.title if self.session is not None else ""
        self.emit(events.SessionStarted(self.agent.session_id, name=name))

    # --- state

    @property
    def snapshot(self) -> ConversationSnapshot:
        from zot.agent.snapshot import take_snapshot  # not needed before the first request

        return take_snapshot(self.agent, self.resolved.provider.id, self.session, self.workspace.cwd)

    @property
    def busy(self) -> bool:
        return self.agent.busy or self._preparing is not None

    async def wait_idle(self) -> None:
        """Wait until no front end's prompt or compaction runs."""
        while self.busy:
            self._idle.clear()
            await self._idle.wait()

    @property
    def model(self) -> Model:
        """The catalog row of the current model."""
        return self.agent.model

    @property
    def gate(self) -> PermissionGate | None:
        """Asks before tools run; None if everything runs and that cannot change."""
        from zot.core.permission_gate import PermissionGate  # most headless runs ask nothing

        return self.agent.gate if isinstance(self.agent.gate, PermissionGate) else None

    @property
    def context_tokens(self) -> int:
        """Tokens of the last prompt; 0 if unknown."""
        return self.agent.last_context_tokens

    def extension_of(self, tool: str) -> str:
        """The extension or server of a tool; empty for zot's own."""
        return str(getattr(self.agent.toolbox.get(tool), "extension", "") or "")

    @property
    def text_intercepted(self) -> bool:
        """True if an interceptor withholds the model's text until it has seen it."""
        return any(interceptor.watches_text for interceptor in self.agent.interceptors)

    @property
    def unavailable_reason(self) -> str:
        """Why no model can answer, and a fix; empty if one can."""
        return self.resolved.missing

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.agent.messages

    @property
    def unanswered_prompt(self) -> Message | None:
        """The user's last prompt if its turn failed without an answer."""
        return self.agent.unanswered

    @property
    def is_answer_cut_off(self) -> bool:
        """True if the last message is an answer: a failed turn failed in the middle of it."""
        return bool(self.messages) and self.messages[-1].role == "assistant"

    @property
    def total_usage(self) -> Usage:
        """Tokens and cost so far, including those of a resumed session."""
        return self.agent.cost

    def run_usage(self) -> Usage:
        """Tokens and cost of this run."""
        return self.agent.cost - self._usage_before

    # --- the stream

    def subscribe(self, reader: Reader, *kinds: type[events.AgentEvent]) -> Callable[[], None]:
        """Subscribe to these kinds of events, or to all that are shown. Call the result to unsubscribe."""
        return self.agent.readers.subscribe(reader, *(kinds or events.SHOWN))

    def emit(self, event: events.AgentEvent) -> None:
        """Emit an event from outside the agent."""
        self.agent.inject_event(event)

    # --- prompting

    def submit(self, op: Op) -> Any:
        """Carry out an op of ``wire/ops.py``: changes are made on return, other results are awaitable."""
        from zot.agent.op_handlers import handle  # only programs submit ops, not -p

        return handle(self, op)

    async def prompt(
        self,
        text: str,
        images: Sequence[ImageBlock] = (),
        *,
        queued: bool = False,
        first_call: InitialToolCall | None = None,
        instead: bool = False,
        meta: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Prompt the model and run until it has answered, with events.
        ``queued``: it was announced when queued; ``first_call`` runs before the model call; ``instead`` replaces a
        prompt that is still unanswered; ``meta`` marks its message."""
        self._require_idle()
        draft = PromptDraft(text, images, replaces=instead, queued=queued, meta=meta)
        try:
            if (outcome := await self._prepare(draft)) is not None:
                return outcome
            for feature in self.features:
                feature.on_prompt(draft)
            given, meta = draft.images, draft.meta
            return await self.agent.prompt(
                draft.text, given, queued=queued, first_call=first_call, instead=instead, meta=meta
            )
        finally:
            for undo in reversed(draft.cleanup):
                await undo()
            await self._after_run()
            self._emit_idle()

    async def _prepare(self, draft: PromptDraft) -> Outcome | None:
        """Let features change or deny the prompt; None if it continues."""
        self.features.join_for_prompt(self, draft.text)
        if (questions := self.features.before_prompt(draft)) is None:
            return None
        done = await self.run_abortable(questions)
        if not done.cancelled() and not done.result() and not draft.handled:
            return None
        handled = not done.cancelled() and not done.result()
        self.emit(events.Done("handled" if handled else ""))
        if handled:
            return Outcome("end", handled=True)
        return Outcome("aborted") if done.cancelled() else Outcome("error", refused=done.result())

    async def run_abortable(self, work: Coroutine[Any, Any, _T]) -> asyncio.Future[_T]:
        """Work of features that must finish before the agent runs; ``abort`` cancels it."""
        if self.busy:
            work.close()
        self._require_idle()
        running = self._preparing = asyncio.ensure_future(work)
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            running.cancel()
            raise
        finally:
            self._preparing = None
            self._idle.set()
        return running

    async def continue_run(self) -> Outcome:
        """Continue from the transcript, or complete an answer that was cut off."""
        try:
            return await (self.agent.continue_answer() if self.is_answer_cut_off else self.agent.continue_run())
        finally:
            await self._after_run()
            self._emit_idle()

    async def _after_run(self) -> None:
        for feature in self.features.implementing("after_run"):
            await feature.after_run()

    def _emit_idle(self) -> None:
        """Nothing runs, and nothing is queued here or in the front end."""
        self._idle.set()
        if self.busy or self.queued or self.has_more_work() or not self.agent.readers.has_subscriber(events.Idle):
            return
        self.emit(events.Idle())

    def steer(self, text: str, images: Sequence[ImageBlock] = (), meta: dict[str, str] | None = None) -> None:
        """Join the running prompt before its next model call."""
        self.features.join_for_prompt(self, text)
        for feature in self.features:
            text = feature.before_steering(text)
        self.agent.steer(text, images, meta)

    def enqueue(self, text: str, images: Sequence[ImageBlock] = (), meta: dict[str, str] | None = None) -> None:
        """Queue a prompt; the front end takes it with ``pop_queued`` and gives its ``meta`` to ``prompt``."""
        self.agent.enqueue(text, images, meta)

    @property
    def queued(self) -> tuple[PendingPrompt, ...]:
        return self.agent.inputs.queued

    @property
    def steering(self) -> tuple[PendingPrompt, ...]:
        return self.agent.inputs.steering

    def withdraw(self, prompt: PendingPrompt) -> bool:
        """Drop a prompt of ``steering`` or ``queued``; False if it was sent."""
        return self.agent.withdraw(prompt)

    def pop_queued(self) -> PendingPrompt | None:
        """The oldest queued prompt."""
        return self.agent.take_queued()

    def pop_last_queued(self) -> PendingPrompt | None:
        """The newest queued prompt, to be edited again."""
        return self.agent.inputs.take_back()

    def drain_input(self) -> tuple[PendingPrompt, ...]:
        """All prompts steered or queued and not yet sent, oldest first."""
        return self.agent.drain_input()

    def abort(self) -> None:
        """Abort the running work; does nothing when idle."""
        if self._preparing is not None:
            self._preparing.cancel()
        self.agent.abort()

    async def compact(self, focus: str = "") -> str:
        """Replace the transcript with a summary and return it; CompactionFailed or CompactionAborted change nothing.
        ``focus`` names the most important content."""
        if (questions := self.features.before_compaction(focus)) is not None:
            done = await self.run_abortable(questions)
            if done.cancelled():
                self.emit(events.Done())
                raise CompactionAborted("compaction aborted")
            if refusal := done.result():
                self.emit(events.Error(refusal))
                self.emit(events.Done())
                raise CompactionFailed(refusal)
        try:
            return await self.agent.compact(focus=focus)
        finally:
            self._emit_idle()

    def record_command(self, text: str, /, **values: object) -> None:
        """Record a slash command, or a command of another program."""
        self.agent.boundary.on_input("command", text=text, **values)

    def add_message(self, message: Message) -> None:
        """Add text to the next prompt, such as the output of a command the user ran."""
        self.agent.add(message)

    # --- tools and settings

    def set_permission_mode(self, mode: str) -> None:
        """Switch from the next tool call on, also in side conversations.
        UsageError for an unknown mode, or one wider than the limit of this run. Callers act for the user, never for
        a model or an extension."""
        from zot.core.permission_gate import switch_mode

        switch_mode(self.gate, mode)

    def refresh_tools(self, *, own: bool = False) -> None:
        """Offer the current tools from the next model call on; ``own``: also those of zot and the front end."""
        if own:
            self.toolset.rebuild()
        self.agent.set_tools(self.toolset.current())

    def apply_settings(self) -> None:
        """Apply settings that take effect at once."""
        self.agent.compact_at = self.settings.values.auto_compact_percent / 100
        if self.resolved.endpoint is not None and not self.resolved.script:
            self.agent.client = self.services.client_for(self.resolved)  # on the same connections, with its retries
        for feature in self.features:
            feature.settings_changed()

    # --- another model

    def set_reasoning(self, level: str, *, extension: str = "") -> None:
        """Set the reasoning level, from the next model call on. ``extension`` chose it, if it was not the user."""
        if level not in REASONING_LEVELS:
            raise UsageError(f'unknown reasoning "{level}": expected one of {", ".join(REASONING_LEVELS)}')
        changed, self.agent.reasoning = self.agent.reasoning != level, level
        if changed:
            self._model_selected(self.model, extension)

    def _model_selected(self, before: Model, extension: str = "", source: ModelSource = "person") -> None:
        if self.agent.readers.has_subscriber(events.ModelSelected):
            present = self.agent.model
            by: ModelSource = "extension" if extension else source
            previous = f"{before.provider}/{before.id}"
            level = self.agent.reasoning
            self.emit(events.ModelSelected(present.provider, present.id, level, previous, by, extension))

    async def set_model(
        self, model: str, provider: str = "", *, logged_out: bool = False, source: ModelSource = "person"
    ) -> None:
        """Continue with another model, of any provider; transcript and cost stay.
        AgentBusy during work, UsageError for an unknown model, NotLoggedIn without a credential (unless
        ``logged_out`` is allowed); nothing changed then."""
        resolved = await self.find_model(model, provider, logged_out=logged_out)
        self._require_idle()
        await self.apply_model(resolved, source=source).aclose()

    async def find_model(self, model: str, provider: str = "", *, logged_out: bool = False) -> ResolvedModel:
        """Resolve a model; errors as in ``use_model``."""
        query = self.services.model_query(self.launch, self.resolved.provider, model, provider)
        resolved = await asyncio.to_thread(self.services.resolve, query)  # a key may come from a slow program
        if not logged_out:
            require_credential(resolved)
        return resolved

    def set_model_now(self, model: str) -> None:
        """The same for another model of the current provider, without a wait."""
        self._require_idle()
        resolved = self.services.resolve(self.services.model_query(self.launch, self.resolved.provider, model))
        require_credential(resolved)
        self.apply_model(resolved)

    def apply_model(self, resolved: ResolvedModel, extension: str = "", *, source: ModelSource = "person") -> Client:
        """Use this model from the next model call on; returns the previous client, for the caller to close when no
        call runs. A running call goes on with the previous model. ``extension`` chose it, if it was not the user."""
        client, before, address = self.agent.client, self.agent.model, self.resolved.address_notice
        if self.agent.busy:
            self.agent.use_side_client(client, before)
        self.agent.replace_model(self.services.client_for(resolved), resolved.model)
        self.resolved = resolved
        if not self.is_child:
            self.services.resolved = resolved
        self.emit(events.ModelChanged(resolved.provider.id, resolved.model.id))
        self._model_selected(before, extension, source)
        for text in (*resolved.notices, resolved.address_notice if resolved.address_notice != address else ""):
            if text:
                self.notify(text)
        if not self.is_child:
            self.features.join_for_model(self)
        for feature in self.features:
            feature.model_changed(before)
        if not self.is_child:
            self.features.join_for_model(self)
        return client

    # --- another session

    def asks_before(self, change: SessionChange) -> bool:
        """True if a feature must be asked before this change of session."""
        return any(feature.reviews_session_changes for feature in self.features)

    async def allow(self, change: SessionChange) -> None:
        """Ask features about a change of session; SessionChangeDenied with the reason if one denies it."""
        if not self.asks_before(change):
            return
        done = await self.run_abortable(self.features.before_session_change(change))
        if done.cancelled():
            raise SessionChangeDenied("cancelled; the session did not change")
        if reason := done.result():
            raise SessionChangeDenied(reason)

    async def open_session(self, path: Path, change: SessionChange | None = None) -> Session:
        """Continue a session file; SessionLocked, SessionCorrupt or SessionError change nothing. ``change`` was
        allowed before."""
        if change is None:
            await self.allow(change := SessionChange("resume", target=str(path)))
        session = await self.sessions.load(path)
        try:
            for feature in self.features:
                await feature.before_session(session)
            self._require_idle()  # a prompt may have begun meanwhile
            self.agent.set_messages(session.messages_to_resume())
        except BaseException:
            session.close()
            raise
        self.agent.set_usage_baseline(session.cumulative)
        self._switch(session, change)
        return session

    async def fork(self, row: int, change: SessionChange | None = None) -> Session:
        """Continue in a new session with the first ``row`` messages of this one's file."""
        if self.session is None:
            raise ZotError("no session to fork")
        if change is None:
            await self.allow(change := SessionChange("fork", row=row))
        self.session.flush()
        path = await asyncio.to_thread(self.sessions.fork, self.session.path, row)
        return await self.open_session(path, change)

    def clear(self, messages: Iterable[Message] = (), *, change: SessionChange | None = None) -> None:
        """Clear the transcript, or replace it with this one; starts a new session. The cost continues. No feature is
        asked: ``session_change.clear`` does that."""
        self.agent.set_messages(())
        session = self.session and self.sessions.create(self.resolved.provider.id, self.model.id)
        self._switch(session, change or SessionChange("clear"))
        for message in messages:
            self.agent.add(message)

    def new_session(self, *, change: SessionChange | None = None) -> None:
        """An empty conversation with the same model, tools and extensions; cost and context restart at zero."""
        self.clear(change=change or SessionChange("new"))
        self.agent.set_usage_baseline(Usage())

    def rename_session(self, title: str) -> None:
        """ZotError without a session, UsageError for an empty title."""
        if self.session is None:
            raise ZotError("no session to rename")
        self.session.rename(title)
        self.emit(events.SessionRenamed(self.session.id, name=self.session.meta.title))

    def _switch(self, session: Session | None, change: SessionChange) -> None:
        """Close the previous session before the next one starts."""
        before = self.agent.session_id
        self.emit(events.SessionEnded(before, "session_switch", change.action))
        if self.session is not None:
            self.session.close()
        if session is not None:
            self._attach_session(session)
        else:
            self.agent.session_id = self.sessions.new_id()
        name = session.meta.title if session is not None else ""
        self.emit(events.SessionStarted(self.agent.session_id, change.action, before, name))
        for message in change.carry:
            self.agent.add(message)

    def _attach_session(self, session: Session) -> None:
        """The session is the first subscriber: events are written before they are shown."""
        if self._detach_session is not None:
            self._detach_session()
        session.on_failure = lambda text, lost: self.emit(events.SessionFault(text, lost))
        self._detach_session = self.agent.readers.subscribe(session.on_event, *events.RECORDED, first=True)
        self.session, self.agent.session_id = session, session.id

    # --- a side conversation

    def child(
        self,
        *,
        messages: Iterable[Message] = (),
        tools: Iterable[Tool] | None = None,
        system: str | None = None,
        role: str = "",
    ) -> Conversation:
        """A side conversation: same model, connections, guards, gate and limits.
        It has no session; its cost counts here, as that of ``role``. ``tools`` None: those of this conversation;
        ``system`` None: its current prompt."""
        agent = self.agent
        beside = agent.create_child(
            messages=tuple(messages),
            tools=agent.tools if tools is None else tools,
            system=agent.system_text() if system is None else system,
        )
        beside.interceptors = [interceptor.for_child() for interceptor in beside.interceptors]
        beside.guard = agent.guard
        beside.goes_on = True  # the program that created it is not asked

        def count(event: events.AgentEvent) -> None:
            if isinstance(event, events.UsageCounted):
                other = "" if beside.model is agent.model else f"{beside.model.provider}/{beside.model.id}"
                agent.add_child_usage(event.usage, event.model or other, role or event.role)

        beside.readers.subscribe(count, events.UsageCounted)
        child = Conversation(self.services, beside, self.resolved, None)
        child.is_child, child._early = True, None
        for feature in self.features:
            if (inherited := feature.for_child(child)) is not None:
                child.features.add(inherited)
        return child

    # --- closing

    async def aclose(self) -> None:
        """Close the session first: later steps may fail."""
        if self.asks_before(leaving := SessionChange("exit")) and not self.busy:
            await self.features.before_session_change(leaving)  # cannot be denied
        self.emit(events.SessionEnded(self.agent.session_id, "shutdown", "exit"))
        for feature in self.features:
            await feature.before_close()
        if self.session is not None:
            self.session.close()
        await self.services.stop_jobs()
        for feature in reversed(list(self.features)):
            await feature.aclose()
        await self.services.aclose()
        await self.agent.client.aclose()

    def _require_idle(self) -> None:
        if self.busy:
            raise AgentBusy("agent is busy")
