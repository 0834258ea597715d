"""``agent.run``: a sub-agent of the conversation that works on one prompt. It has the guards, permission mode, jail and
limits of the conversation, and ends with the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from zot.core.events import AgentEvent, TextDelta, ToolCall, TurnStart
from zot.errors import CostLimitReached, RequestDenied, StepLimitReached, ToolError
from zot.features.extensions.methods.model_calls import DeltaProgress, counted, model_of
from zot.features.extensions.methods.session import usage_values
from zot.features.extensions.requests import MethodCall, RequestError
from zot.features.extensions.spending import role_of
from zot.wire import limits

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.core.agent import Outcome

_CURRENT = "current"
_DEFAULT_STEPS, _MOST_STEPS = 20, 100


class _RunParams(msgspec.Struct, frozen=True):
    prompt: str
    system: str = ""
    tools: tuple[str, ...] | None = None
    model: str = _CURRENT
    max_steps: int = _DEFAULT_STEPS
    cwd: str = ""


async def run(call: MethodCall) -> dict[str, Any]:
    params, host = call.params(_RunParams), call.host
    _check(params)
    if (reason := call.conversation.unavailable_reason) and params.model == _CURRENT:
        raise call.unavailable(reason)
    prompt = _prompt(call, params)
    with counted(call, host.agents, limits.MODEL_CALLS, "agents"):
        beside = _sub_agent(call, params)
        model = await model_of(call, params.model, beside)
        if model is not beside.agent.model:
            beside.agent.replace_model(beside.agent.client_for(model), model)
        progress = _Progress(call)
        beside.subscribe(progress.observe, TurnStart, ToolCall, TextDelta)
        outcome = await beside.prompt(prompt)
        progress.flush()
    return _result(beside, outcome, progress.step)


def _check(params: _RunParams) -> None:
    if not params.prompt.strip():
        raise RequestError("bad_params", "agent.run: prompt: expected a text")
    if not 1 <= params.max_steps <= _MOST_STEPS:
        raise RequestError("bad_params", f"agent.run: max_steps: expected 1 to {_MOST_STEPS}")


def _prompt(call: MethodCall, params: _RunParams) -> str:
    """A leading slash is text. Tools run in the directory of the conversation, so another one is named."""
    text = f" {params.prompt}" if params.prompt.startswith("/") else params.prompt
    if not params.cwd:
        return text
    try:
        place = call.conversation.workspace.resolve(params.cwd)
    except ToolError as error:
        raise RequestError("bad_params", f"agent.run: cwd: {error}") from error
    if not place.is_dir():
        raise RequestError("not_found", f"agent.run: cwd: no directory {params.cwd[:200]}")
    return f"Work in the directory {place}.\n\n{text}"


def _sub_agent(call: MethodCall, params: _RunParams) -> Conversation:
    conversation, name = call.conversation, call.child.name
    tools = [tool for tool in conversation.agent.tools if params.tools is None or tool.name in params.tools]
    if unknown := set(params.tools or ()) - {tool.name for tool in tools}:
        raise RequestError("not_found", f"agent.run: tools: no active tool {sorted(unknown)[0][:60]!r}")
    beside = conversation.child(tools=tools, system=params.system or None, role=role_of(name))
    beside.agent.guard = call.host.spending.guard(name)
    beside.agent.max_steps = params.max_steps
    beside.agent.request_origin = name
    return beside


def _result(beside: Conversation, outcome: Outcome, steps: int) -> dict[str, Any]:
    if outcome.stop == "aborted":
        raise RequestError("cancelled", "agent.run: cancelled")
    if outcome.refused or isinstance(outcome.error, RequestDenied):
        raise RequestError("refused", f"agent.run: {outcome.refused or outcome.error}")
    if isinstance(outcome.error, CostLimitReached):
        raise RequestError("budget", f"agent.run: {outcome.error}")
    answers = [message.text() for message in beside.messages if message.role == "assistant"]
    result: dict[str, Any] = {"text": answers[-1] if answers else ""}
    if isinstance(outcome.error, StepLimitReached):
        result["status"] = "step_limit"
    elif outcome.error is not None:
        result |= {"status": "failed", "message": str(outcome.error)}
    else:
        result["status"] = "completed"
    return {**result, "steps": steps, "usage": usage_values(beside.run_usage())}


class _Progress:
    """Reports each step, tool and piece of text."""

    def __init__(self, call: MethodCall) -> None:
        self._call = call
        self._deltas = DeltaProgress(lambda text: self._send(text=text))
        self.step = 0

    def observe(self, event: AgentEvent) -> None:
        match event:
            case TurnStart(step):
                self.flush()
                self.step = step
                self._send()
            case ToolCall(call):
                self.flush()
                self._send(tool_name=call.name)
            case TextDelta(text):
                self._deltas.add(text)
            case _:
                pass

    def flush(self) -> None:
        self._deltas.flush()

    def _send(self, **data: str) -> None:
        self._call.progress(data={"step": self.step, **data})
