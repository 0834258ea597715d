"""``model.call``: one call of a model for an extension. It has no tools and leaves nothing in the transcript. Guards
see it, and its cost counts under the extension."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import AuthFailed, ContextTooLong, CostLimitReached, NotLoggedIn, ProviderError, RequestDenied
from zot.features import json_schema
from zot.features.extensions.methods.models import resolved_model
from zot.features.extensions.methods.session import usage_values
from zot.features.extensions.requests import MethodCall, RequestError
from zot.features.extensions.spending import role_of
from zot.features.extensions.wire_messages import WireMessage, parse_messages
from zot.provider.messages import Message, Usage, user_message
from zot.provider.model import REASONING_LEVELS, Model
from zot.provider.model_call import Finished, Request, TextDelta, UsageReported
from zot.wire import limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from zot.agent.conversation import Conversation

_CURRENT, _SMALL = "current", "small"


class _CallParams(msgspec.Struct, frozen=True):
    prompt: str = ""
    messages: tuple[WireMessage, ...] = ()
    system: str = ""
    model: str = _CURRENT
    max_tokens: int = 0
    reasoning: str = ""
    temperature: float | None = None
    stream: bool = False
    schema: dict[str, Any] | None = None


class _Answer(msgspec.Struct):
    stop: str = ""
    text: str = ""
    usage: Usage = Usage()
    model: str = ""


async def call(call: MethodCall) -> dict[str, Any]:
    params, host = call.params(_CallParams), call.host
    messages = _messages(params)
    _check(params)
    if (reason := call.conversation.unavailable_reason) and params.model in (_CURRENT, _SMALL):
        raise call.unavailable(reason)
    with counted(call, host.model_calls, limits.MODEL_CALLS, "model calls"):
        beside = call.conversation.child(tools=(), system="", role=role_of(call.child.name))
        beside.agent.guard = host.spending.guard(call.child.name)
        model = await model_of(call, params.model, beside)
        answer = await _answered(call, params, beside, _request(params, messages, model, call.conversation))
    return _result(params, answer)


@contextmanager
def counted(call: MethodCall, running: dict[str, int], most: int, what: str) -> Generator[None]:
    """RequestError if as many of this extension run already."""
    name = call.child.name
    if running.get(name, 0) >= most:
        raise RequestError("busy", f"{call.frame.method}: at most {most} {what} of an extension may run at a time")
    running[name] = running.get(name, 0) + 1
    try:
        yield
    finally:
        running[name] -= 1


# --- the request


def _messages(params: _CallParams) -> tuple[Message, ...]:
    if bool(params.prompt.strip()) == bool(params.messages):
        raise RequestError("bad_params", "model.call: prompt: expected either prompt or messages")
    if not params.messages:
        return (user_message(params.prompt),)
    try:
        found = parse_messages(params.messages)
    except ValueError as error:
        raise RequestError("bad_params", f"model.call: {error}") from None
    if found[-1].role != "user":
        raise RequestError("bad_params", "model.call: messages: expected the last one to be of the user")
    return found


def _check(params: _CallParams) -> None:
    if params.max_tokens < 0:
        raise RequestError("bad_params", "model.call: max_tokens: expected at least 1")
    if params.reasoning and params.reasoning not in REASONING_LEVELS:
        raise RequestError("bad_params", f"model.call: reasoning: expected one of {', '.join(REASONING_LEVELS)}")
    if params.temperature is not None and not 0 <= params.temperature <= 2:
        raise RequestError("bad_params", "model.call: temperature: expected 0 to 2")


async def model_of(call: MethodCall, name: str, beside: Conversation) -> Model:
    """The model of the call; its client is that of the side conversation."""
    agent = call.conversation.agent
    if name == _SMALL:
        small = await agent.side_model(_SMALL)
        if small is not None:
            beside.agent.use_side_client(agent.client_for(small), small)
            return small
    if name in (_CURRENT, _SMALL):
        return agent.model
    resolved = await resolved_model(call, name)
    if (resolved.model.provider, resolved.model.id) == (agent.model.provider, agent.model.id):
        return agent.model
    beside.agent.use_side_client(beside.services.client_for(resolved), resolved.model)
    return resolved.model


def _request(params: _CallParams, messages: tuple[Message, ...], model: Model, conversation: Conversation) -> Request:
    system = params.system
    if params.schema is not None and not model.structured_output:
        text = msgspec.json.encode(params.schema).decode()
        words = f"Your answer must be only JSON that matches this JSON Schema: {text}"
        system = f"{system}\n\n{words}" if system else words
    return Request(
        model=model,
        system=system,
        messages=messages,
        max_tokens=min(params.max_tokens, model.max_output or params.max_tokens),
        temperature=params.temperature,
        reasoning=cast("Any", params.reasoning),
        output_schema=params.schema,
        session_id=conversation.agent.session_id,
    )


# --- the call


async def _answered(call: MethodCall, params: _CallParams, beside: Conversation, request: Request) -> _Answer:
    agent = beside.agent
    try:
        request = await agent.reviewed_request(request, "extension", call.child.name)
        return await _streamed(call, params, beside, request)
    except RequestDenied as error:
        raise RequestError("refused", f"model.call: {error}") from error
    except CostLimitReached as error:
        raise RequestError("budget", f"model.call: {error}") from error
    except ContextTooLong as error:
        raise RequestError("too_large", f"model.call: {error}") from error
    except (AuthFailed, NotLoggedIn) as error:
        raise RequestError("unavailable", f"model.call: {error}") from error
    except ProviderError as error:
        raise RequestError("failed", f"model.call: {error}") from error


async def _streamed(call: MethodCall, params: _CallParams, beside: Conversation, request: Request) -> _Answer:
    agent, answer = beside.agent, _Answer(model=f"{request.model.provider}/{request.model.id}")
    side = None if request.model is agent.model else request.model
    deltas = DeltaProgress(lambda text: call.progress(data={"text": text})) if params.stream else None
    async with aclosing(agent.call_model(request)) as events:
        async for event in events:
            match event:
                case TextDelta(text):
                    if deltas is not None:
                        deltas.add(text)
                case UsageReported(usage):
                    answer.usage = agent.count_call(usage, side)
                case Finished(stop, message, error):
                    if error is not None:
                        raise error
                    answer.stop = "end_turn" if stop == "end" else stop
                    answer.text = message.text()
                case _:
                    pass
    if deltas is not None:
        deltas.flush()
    if not answer.stop:
        raise RequestError("failed", "model.call: the stream ended too early")
    return answer


class DeltaProgress:
    """Gathers text for ``send``, which is called at most every 50 ms."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._waiting: list[str] = []
        self._sent = 0.0

    def add(self, text: str) -> None:
        self._waiting.append(text)
        if time.monotonic() - self._sent >= limits.PROGRESS_INTERVAL:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._send("".join(self._waiting))
            self._waiting, self._sent = [], time.monotonic()


def _result(params: _CallParams, answer: _Answer) -> dict[str, Any]:
    result: dict[str, Any] = {"text": answer.text}
    if params.schema is not None:
        result["json"] = _matching(answer.text, params.schema)
    return {**result, "stop": answer.stop, "usage": usage_values(answer.usage), "model": answer.model}


def _matching(text: str, schema: dict[str, Any]) -> Any:
    plain = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        value = msgspec.json.decode(plain)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RequestError("failed", f"model.call: the answer is not JSON: {error}", {"text": text}) from None
    if wrong := json_schema.validate_arguments(schema, value).replace("the arguments", "the answer"):
        raise RequestError("failed", f"model.call: the answer does not match the schema: {wrong}", {"text": text})
    return value
