"""A provider of models: its description, its stream, cancel and renewal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from zot.devkit.conformance.results import Check
from zot.wire.extension_frames import Cancel, Progress, Request, Response

if TYPE_CHECKING:
    from zot.devkit.conformance.frame_transcript import Question
    from zot.devkit.conformance.played_host import PlayedHost

CHECKS = (
    Check(
        "provider-models",
        "15",
        (121, 169),
        "each model has an id and a context window; without `stream` there is an api and a base_url",
        'describe models as {"id":"…","context_window":128000}; without stream zot makes the calls itself',
    ),
    Check(
        "provider-named",
        "15",
        (124, 169),
        "the manifest names the provider",
        'write "provides": {"providers": ["NAME"]} in extension.json, so that `--model NAME/…` starts the extension',
    ),
    Check(
        "provider-order",
        "15",
        (121, 122, 169),
        "the events of a stream are known, and tool_args come between tool_start and tool_end",
        'send {"text":…}, {"thinking":…}, {"tool_start":{"id":…,"name":…}}, {"tool_args":{"id":…,"delta":…}}, '
        '{"tool_end":{"id":…}}',
    ),
    Check(
        "provider-result",
        "15",
        (121, 169),
        "a stream ends with stop and usage, or with an error",
        'answer {"stop":"end_turn","usage":{"input_tokens":N,"output_tokens":N}}; stop is end_turn, tool_use, length '
        "or error",
    ),
    Check(
        "provider-error",
        "15",
        (121, 169),
        "a model it does not have is answered with an error",
        "answer the request with an error; `busy` with data.retry_after_s before the first event lets zot try again",
    ),
    Check(
        "provider-cancel",
        "15",
        (122, 169),
        "cancel in mid-stream ends it within 2 s, and no event comes after the answer",
        "stop reading from the model and answer at once",
    ),
    Check(
        "provider-renewal",
        "15",
        (123, 169),
        "a provider with a login renews its credential",
        "answer provider.renew with the new credential, an object",
    ),
)

_STOPS = ("end_turn", "tool_use", "length", "error")
_USAGE = ("input_tokens", "output_tokens")
_WITHIN = 2.0


async def check(host: PlayedHost) -> None:
    """Each provider it contributed."""
    for frame, data, t in [each for each in host.contributed if each[0].kind == "provider"]:
        value = cast("dict[str, Any]", frame.value) if isinstance(frame.value, dict) else {}
        verdicts = host.run.verdicts
        verdicts.judged("provider-models", _models_problem(value), data, t)
        if frame.name in host.run.host.manifest.providers:
            verdicts.passed("provider-named")
        else:
            verdicts.warned("provider-named", f"{frame.name!r} is not in provides.providers", data, t)
        models = [model for model in _objects(value.get("models")) if model.get("id")]
        if value.get("stream") is True and models:
            await _streams(host, frame.name, str(models[0]["id"]))
        key: Any = value.get("key")
        if isinstance(key, dict) and cast("dict[str, Any]", key).get("login") is True:
            await _renewal(host, frame.name)


def _models_problem(value: dict[str, Any]) -> str:
    models = _objects(value.get("models"))
    if not models and value.get("refresh") is not True:
        return "it has no models"
    for model in models:
        if not isinstance(model.get("id"), str) or not model["id"]:
            return "a model without id"
        if not isinstance(model.get("context_window"), int):
            return f"the model {model['id']!r} has no context_window"
    if value.get("stream") is not True and not (value.get("api") and value.get("base_url")):
        return "without stream it needs api and base_url"
    return ""


async def _streams(host: PlayedHost, provider: str, model: str) -> None:
    run = host.run
    question = await run.answered(_call(provider, model), "provider-result", run.times.tool)
    if question is not None:
        _judge_events(host, question)
        run.verdicts.judged("provider-result", _result_problem(question.answer), question.answer_line)
    refused = await run.answered(_call(provider, "zot-no-such-model"), "provider-error", run.times.tool)
    if refused is not None and isinstance(answer := refused.answer, Response):
        stop = cast("dict[str, Any]", answer.result or {}).get("stop") if isinstance(answer.result, dict | None) else ""
        wrong = "" if answer.error is not None or stop == "error" else "an unknown model was answered without an error"
        run.verdicts.judged("provider-error", wrong, refused.answer_line)
    await _cancel(host, provider, model)


async def _cancel(host: PlayedHost, provider: str, model: str) -> None:
    run = host.run
    if not run.host.alive:
        return
    question = run.host.ask(_call(provider, model))
    await run.host.until(lambda: question.is_settled or bool(_events(host, question)), _WITHIN)
    run.host.send(Cancel(id=question.id, reason="checked"))
    if not await run.host.answer(question, _WITHIN):
        run.verdicts.failed("provider-cancel", f"the cancelled stream: {await run.why_silent(_WITHIN)}")
        return
    await run.host.settle()
    late = [line for line, _ in _progress(host, question) if line.t > question.answered]
    run.verdicts.judged("provider-cancel", "an event after the answer" if late else "", late[0].data if late else b"")


async def _renewal(host: PlayedHost, provider: str) -> None:
    asked = Request(id=_id(), method="provider.renew", params={"provider": provider, "credential": {"access": "a"}})
    question = await host.run.answered(asked, "provider-renewal", host.run.times.command)
    if question is not None and isinstance(answer := question.answer, Response):
        wrong = "" if isinstance(answer.result, dict) else "the answer is no credential object"
        host.run.verdicts.judged("provider-renewal", wrong, question.answer_line)


def _call(provider: str, model: str) -> Request:
    message = {"role": "user", "content": [{"type": "text", "text": "Say one word."}]}
    about = {"provider": provider, "model": model, "system": "You are zot.", "messages": [message], "tools": []}
    return Request(
        id=_id(), method="provider.stream", params={**about, "max_tokens": 64, "reasoning": "off", "session_id": "s1"}
    )


def _judge_events(host: PlayedHost, question: Question) -> None:
    opened: set[str] = set()
    for line, frame in _progress(host, question):
        for event in _objects(cast("dict[str, Any]", frame.data or {}).get("events")):
            host.run.verdicts.judged("provider-order", _event_problem(event, opened), line.data, line.t)
    if opened:
        host.run.verdicts.failed("provider-order", f"the tool call {min(opened)!r} has no tool_end")


def _event_problem(event: dict[str, Any], opened: set[str]) -> str:
    if len(event) != 1:
        return f"an event with the keys {', '.join(event) or 'none'}; expected one"
    ((name, value),) = event.items()
    if name in ("text", "thinking"):
        return "" if isinstance(value, str) else f"{name} is not a string"
    if name not in ("tool_start", "tool_args", "tool_end") or not isinstance(value, dict):
        return f"unknown event {name!r}"
    about = cast("dict[str, Any]", value)
    id = str(about.get("id", ""))
    if name == "tool_start":
        opened.add(id)
        return "" if id and about.get("name") else "tool_start without id or name"
    if id not in opened:
        return f"{name} of {id!r} without tool_start"
    if name == "tool_end":
        opened.discard(id)
        return ""
    return "" if isinstance(about.get("delta"), str) else "tool_args without a delta"


def _result_problem(answer: object) -> str:
    if not isinstance(answer, Response) or answer.error is not None:
        return "" if isinstance(answer, Response) else "no response"
    result = cast("dict[str, Any]", answer.result) if isinstance(answer.result, dict) else {}
    if result.get("stop") not in _STOPS:
        return f"stop {result.get('stop')!r} is not known"
    usage = cast("dict[str, Any]", result.get("usage")) if isinstance(result.get("usage"), dict) else {}
    absent = [key for key in _USAGE if not isinstance(usage.get(key), int)]
    return f"usage without {absent[0]}" if absent else ""


def _progress(host: PlayedHost, question: Question) -> list[tuple[Any, Progress]]:
    lines = host.run.host.transcript.received
    return [(line, line.frame) for line in lines if isinstance(line.frame, Progress) and line.frame.id == question.id]


def _events(host: PlayedHost, question: Question) -> list[Any]:
    return [line for line, frame in _progress(host, question) if isinstance(frame.data, dict)]


def _objects(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _id() -> str:
    from zot.devkit.conformance.extension_run import new_id

    return new_id("p")
