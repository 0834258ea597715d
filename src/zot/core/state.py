"""The mutable state of an agent: transcript, model, tools, cost, pending input.
Every change of the transcript increments the revision; all but ``set_messages`` are emitted for the session first."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.event_bus import EventBus
from zot.core.events import (
    AgentEvent,
    AnswerEnded,
    Diagnostic,
    MessageAppended,
    ToolsChanged,
    TranscriptCompacted,
    UsageCounted,
    is_prompt,
)
from zot.core.run import Run
from zot.core.tool import Tool, ToolContext, ToolResult, spec_of
from zot.provider.messages import AnswerEnd, ImageBlock, Message, ToolCallBlock, Usage
from zot.provider.model import Model, Reasoning
from zot.provider.model_call import Client, Request, StreamEvent, ToolSpec

if TYPE_CHECKING:
    from zot.core.interceptors import Gate, Interceptor


class PendingPrompt(msgspec.Struct, frozen=True):
    """A prompt that is not yet part of the transcript. ``meta`` goes into its message (see ``events.OF_EXTENSION``)."""

    text: str
    images: tuple[ImageBlock, ...] = ()
    meta: dict[str, str] = {}


class InitialToolCall(msgspec.Struct, frozen=True):
    """A tool call that an extension requests before the model answers."""

    call: ToolCallBlock
    origin: str


class PendingInput:
    def __init__(self) -> None:
        self._steering: deque[PendingPrompt] = deque()
        self._queue: deque[PendingPrompt] = deque()

    def steer(self, prompt: PendingPrompt) -> None:
        self._steering.append(prompt)

    def enqueue(self, prompt: PendingPrompt) -> None:
        self._queue.append(prompt)

    @property
    def steered(self) -> bool:
        return bool(self._steering)

    @property
    def steering(self) -> tuple[PendingPrompt, ...]:
        return tuple(self._steering)

    @property
    def queued(self) -> tuple[PendingPrompt, ...]:
        return tuple(self._queue)

    def take_steering(self) -> tuple[PendingPrompt, ...]:
        taken = tuple(self._steering)
        self._steering.clear()
        return taken

    def withdraw(self, prompt: PendingPrompt) -> None:
        """Drop this prompt if it is still steered."""
        self._steering = deque(each for each in self._steering if each is not prompt)

    def remove(self, prompt: PendingPrompt) -> bool:
        """Drop this prompt, steered or queued; False if it was sent."""
        before = len(self._steering) + len(self._queue)
        self.withdraw(prompt)
        self._queue = deque(each for each in self._queue if each is not prompt)
        return len(self._steering) + len(self._queue) < before

    def take_queued(self) -> PendingPrompt | None:
        """The oldest queued prompt, to be run next."""
        return self._queue.popleft() if self._queue else None

    def take_back(self) -> PendingPrompt | None:
        """The newest queued prompt, for the user to edit again."""
        return self._queue.pop() if self._queue else None

    def take_all(self) -> tuple[PendingPrompt, ...]:
        """Empty the queue and return it, oldest first."""
        taken = tuple(self._queue)
        self._queue.clear()
        return taken

    def requeue_steering(self) -> None:
        """End of a run: steered prompts go to the front of the queue."""
        self._queue.extendleft(reversed(self.take_steering()))


NOTHING_SPENT = Usage()
_WORTH_TELLING = 4096  # tokens
_MOST_REPORTED = 20  # distinct failures of interceptors

System = Callable[[tuple[ToolSpec, ...]], str]
SystemEditor = Callable[[str], Awaitable[str]]
Fallback = Callable[[Exception], Awaitable[bool]]
Guard = Callable[[Client, Request], AsyncGenerator[StreamEvent]]
FindSideModel = Callable[[str], Awaitable[tuple[Client, Model] | None]]


class Boundary:
    """Inputs, model calls, tools and interceptors of one agent.
    Recordings and replays use a subclass instead."""

    def attach(self, agent: AgentState) -> None:
        """The agent has been created."""

    def for_child(self) -> Boundary:
        """That of a side agent."""
        return self

    def on_input(self, what: str, /, **fields: Any) -> None:
        """An outside request or change."""

    def emit(self, agent: AgentState, event: AgentEvent) -> None:
        """An event from outside the agent."""
        agent.emit(event)

    def wrap_interceptor(self, interceptor: Interceptor, place: int) -> Interceptor:
        return interceptor

    def create_run(self, readers: EventBus) -> Run:
        return Run(readers)

    def call(self, agent: AgentState, request: Request) -> AsyncGenerator[StreamEvent]:
        client = agent.client_for(request.model)
        return client.stream(request) if agent.guard is None else agent.guard(client, request)

    async def perform(self, tool: Tool, args: dict[str, Any], context: ToolContext) -> ToolResult:
        return await tool.execute(args, context)

    async def take_over(self, agent: AgentState, error: Exception) -> bool:
        return agent.fallback is not None and await agent.fallback(error)


class AgentState:
    """``readers`` receive every event, the session first.
    Settings and limits may change any time and apply to the next model call or tool. The caller closes the client.
    ``goes_on``: continue interrupted answers without asking. ``fallback`` may switch the model after a failed call;
    ``guard`` may deny a model call."""

    def __init__(
        self,
        *,
        client: Client,
        model: Model,
        system: System,
        tools: Iterable[Tool] = (),
        max_steps: int = 0,
        reasoning: Reasoning = "",
        temperature: float | None = None,
        interceptors: Sequence[Interceptor] = (),
        gate: Gate | None = None,
        readers: EventBus | None = None,
        messages: Sequence[Message] = (),
        cumulative: Usage = NOTHING_SPENT,
        session_id: str = "",
        compact_at: float = 0.85,
        max_cost_usd: float = 0.0,
        boundary: Boundary | None = None,
    ) -> None:
        self.boundary = boundary or Boundary()
        self.client = client
        self.model = model
        self.system = system
        self.max_steps = max_steps
        self.reasoning: Reasoning = reasoning
        self.temperature = temperature
        self.interceptors = list(interceptors)
        self.readers = readers or EventBus()
        self.emit = self.readers.emit
        self.system_editor: SystemEditor | None = None
        self.fallback: Fallback | None = None
        self.guard: Guard | None = None
        self.find_side_model: FindSideModel | None = None
        self._side_clients: dict[tuple[str, str], Client] = {}
        self.role = ""  # what the current model was chosen for, if not for everything
        self.request_origin = ""  # the extension whose sub-agent this is
        self.goes_on = False
        self.server_tools: tuple[str, ...] = ()  # run by the provider
        self.output_schema: dict[str, Any] | None = None  # of answers
        self.gate = gate
        self.session_id = session_id
        self.compact_at = compact_at
        self.compaction_focus: str | None = None  # of a compaction before the next step
        self.max_cost_usd = max_cost_usd
        self.inputs = PendingInput()
        self.cost = cumulative
        self.last_context_tokens = 0
        self.revision = 0
        self._edited_system: tuple[str, str] | None = None
        self.run_system: Callable[[str], str] | None = None  # changes the system prompt of one prompt
        self._system_rebuilds = 0
        self._reported_interceptors: set[str] = set()
        self._before_messages: tuple[str, str, tuple[ToolSpec, ...]] | None = None
        self._transcript = list(messages)
        self.toolbox: dict[str, Tool] = {}
        self.set_tools(tools)
        self.boundary.attach(self)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._transcript)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(self.toolbox.values())

    def add_interceptor(self, interceptor: Interceptor) -> None:
        """Append an interceptor."""
        self.interceptors.append(self.boundary.wrap_interceptor(interceptor, len(self.interceptors)))

    def set_tools(self, tools: Iterable[Tool]) -> None:
        """Replace the tools; a running step keeps its own."""
        before = self.toolbox.keys()
        self.toolbox = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self.specs = tuple(spec_of(tool) for tool in self.toolbox.values())
        self.boundary.on_input("tools", tools=self.tools)
        if before != self.toolbox.keys() and self.readers.has_subscriber(ToolsChanged):
            self.emit(ToolsChanged(tuple(self.toolbox)))

    def replace_model(self, client: Client, model: Model) -> None:
        """Use another model from the next model call on; the caller closes the old client."""
        self.client, self.model = client, model
        self.invalidate_system_prompt()
        self.boundary.on_input("model", model=model)

    def append(self, message: Message) -> None:
        self.emit(MessageAppended(message))
        self._transcript.append(message)
        self.revision += 1

    @property
    def unanswered(self) -> Message | None:
        """The user's last prompt if its turn failed without an answer."""
        last = self._transcript[-1] if self._transcript else None
        return last if last is not None and is_prompt(last) else None

    def replace_last(self, message: Message) -> None:
        """Replace the unanswered prompt; ``message`` has the mark."""
        self.append(message)
        del self._transcript[-2]

    def mark_end(self, how: AnswerEnd, why: str = "") -> None:
        """Mark the last message: the prompt ended here without a complete answer, or without an answer to a tool."""
        message = self._transcript[-1] = self._transcript[-1].ended(how, why)
        self.emit(AnswerEnded(how, message, why))

    def set_messages(self, messages: Iterable[Message]) -> None:
        """Replace the transcript (resume, clear, switch) without an event."""
        self._replace(messages)
        self.invalidate_system_prompt()

    def apply_compaction(self, summary: Message, keep_tail: int) -> None:
        tail = self._transcript[len(self._transcript) - keep_tail :]
        self.emit(TranscriptCompacted(keep_tail, summary))
        self._replace([summary, *tail])

    def _replace(self, messages: Iterable[Message]) -> None:
        self._transcript = list(messages)
        self.revision += 1
        self.last_context_tokens = 0

    async def side_model(self, role: str) -> Model | None:
        """The model for other work than answering; None for the conversation's."""
        found = None if self.find_side_model is None else await self.find_side_model(role)
        if found is None or (found[1].provider, found[1].id) == (self.model.provider, self.model.id):
            return None
        client, model = found
        self._side_clients[model.provider, model.id] = client
        return model

    def client_for(self, model: Model) -> Client:
        if not self._side_clients or (model.provider, model.id) == (self.model.provider, self.model.id):
            return self.client
        return self._side_clients.get((model.provider, model.id), self.client)

    def call_model(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Every model call is made here."""
        return self.boundary.call(self, request)

    async def perform(self, tool: Tool, args: dict[str, Any], context: ToolContext) -> ToolResult:
        """Every tool runs here."""
        return await self.boundary.perform(tool, args, context)

    def report_interceptor(self, interceptor: Interceptor, error: Exception) -> None:
        """Report a failed interceptor once; it denies each time."""
        from zot.core.interceptors import InterceptorFailed  # imported already: it raised

        own = isinstance(error, InterceptorFailed)
        text = str(error) if own else f"{type(interceptor).__name__} failed: {type(error).__name__}: {error}"
        if text not in self._reported_interceptors and len(self._reported_interceptors) < _MOST_REPORTED:
            self._reported_interceptors.add(text)
            self.emit(Diagnostic(text, source="interceptor", level="error"))

    async def switch_to_fallback(self, error: Exception) -> bool:
        """A model call failed: True if another model replaces it."""
        return await self.boundary.take_over(self, error)

    def uncached_tokens(self, request: Request) -> str:
        """A sentence if the prompt prefix changed since the last request and the cache is lost; else ""."""
        before = self._before_messages
        self._before_messages = now = (request.model.id, request.system, request.tools)
        tokens = self.last_context_tokens
        if before is None or now[0] != before[0] or tokens < _WORTH_TELLING or not request.model.price_cache_read:
            return ""
        parts = zip(("the system prompt", "the tools"), before[1:], now[1:], strict=True)
        if not (changed := [what for what, old, new in parts if old != new]):
            return ""
        return f"prompt prefix changed ({' and '.join(changed)}): {tokens:,} cached tokens must be sent again"

    def set_usage_baseline(self, cumulative: Usage) -> None:
        """Set the baseline of later usage (resume, model switch)."""
        self.boundary.on_input("cost", usage=cumulative)
        self.cost = cumulative

    def use_side_client(self, client: Client, model: Model) -> None:
        """Calls of this model go to this client."""
        self._side_clients[model.provider, model.id] = client

    def count_call(self, usage: Usage, side: Model | None = None, role: str = "") -> Usage:
        """Count one model call, priced by the current model (or ``side``) unless the provider sent the cost."""
        priced = usage if usage.cost_usd else (side or self.model).priced(usage)
        self.count(priced, "" if side is None else f"{side.provider}/{side.id}", role or self.role)
        return priced

    def count(self, priced: Usage, model: str = "", role: str = "") -> None:
        self.cost = self.cost + priced
        self.emit(UsageCounted(priced, self.cost, model, role))

    @property
    def needs_compaction(self) -> bool:
        """True if the last prompt filled so much of the window that compaction is due."""
        window = self.model.context_window
        return window > 0 and self.compact_at > 0 and self.last_context_tokens >= self.compact_at * window

    # --- the system prompt, which an editor may change once per conversation, model and tool set

    def invalidate_system_prompt(self) -> None:
        self._system_rebuilds += 1
        self._edited_system = None

    async def finalize_system_prompt(self) -> None:
        """Let the editor change the prompt, once per version."""
        while self.system_editor is not None:
            base, rebuilds = self.system(self.specs), self._system_rebuilds
            if self._edited_system is not None and self._edited_system[0] == base:
                return
            text = await self.system_editor(base)
            if rebuilds == self._system_rebuilds:
                self._edited_system = (base, text)

    def system_text(self) -> str:
        base = self.system(self.specs)
        edited = self._edited_system
        text = edited[1] if edited is not None and edited[0] == base else base
        return text if self.run_system is None else self.run_system(text)

    async def reviewed_request(self, request: Request, purpose: str, origin: str = "") -> Request:
        """The model call as interceptors change it; RequestDenied if one denies it."""
        if not self.interceptors:
            return request
        from zot.core.interceptors import review_request  # most runs have no interceptors

        return await review_request(self.interceptors, request, purpose, origin, self.report_interceptor)

    def request(self) -> Request:
        return Request(
            model=self.model,
            system=self.system_text(),
            messages=self.messages,
            tools=self.specs,
            temperature=self.temperature,
            reasoning=self.reasoning,
            server_tools=self.server_tools,
            output_schema=self.output_schema,
            session_id=self.session_id,
        )
