"""Model providers of extensions: real extension processes carry model calls of a real conversation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from tests.fakes.extension_host import until
from tests.fakes.extension_puppet import Puppet, Stage, Talk
from tests.fakes.model_server import FakeModelServer, Refuse, Say
from zot.core.events import RetryWait, TextDelta, ToolUseStart, UsageCounted
from zot.errors import TransportFailed
from zot.features.extensions.feature import reload_extensions
from zot.features.extensions.providers import stream_decoder
from zot.features.recording.frame_trace import Direction
from zot.provider.auth.auth_store import AuthStore
from zot.provider.messages import user_message
from zot.provider.model_call import Finished, Request
from zot.wire import limits

MODELS: list[dict[str, Any]] = [
    {"id": "x", "context_window": 50_000, "max_output": 1000, "cost": {"input": 1, "output": 2}},
    {"id": "y", "reasoning": ["low", "high"]},
]
ANSWER = {"stop": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5}}
USES = ("provider",)


def _add(stage: Stage, name: str = "corp-ext", providers: tuple[str, ...] = ("corp",), **more: Any) -> Puppet:
    return stage.add(name, uses=USES, provides={"providers": list(providers)}, **more)


async def _contribute(puppet: Puppet, name: str = "corp", **value: Any) -> dict[str, Any]:
    """The response of zot."""
    given = {"title": "Corp", "stream": True, "models": MODELS} | value
    puppet.send(type="contribute", id="c", kind="provider", name=name, value=given)
    puppet.frames = [frame for frame in puppet.frames if frame.get("id") != "c"]
    return await puppet.response("c")


def _serve(puppet: Puppet, *events: Any, result: Any = None, **answers: Any) -> None:
    """Answer requests: ``provider.stream`` with these events; other methods by name, with _ for the dot."""

    def asked(frame: dict[str, Any]) -> None:
        method = frame["method"].replace(".", "_")
        if method == "provider_stream" and method not in answers:
            for event in events:
                puppet.send(type="progress", id=frame["id"], data={"events": [event]})
            puppet.send(type="response", id=frame["id"], result=ANSWER if result is None else result)
        elif method in answers:
            answers[method](frame)

    puppet.handlers["request"] = asked


def _result(puppet: Puppet, result: Any) -> Any:
    return lambda frame: puppet.send(type="response", id=frame["id"], result=result)


def _error(puppet: Puppet, code: str, message: str = "no", **data: Any) -> Any:
    failed = {"code": code, "message": message, **({"data": data} if data else {})}
    return lambda frame: puppet.send(type="response", id=frame["id"], error=failed)


async def _chosen(talk: Talk, model: str = "x", provider: str = "corp") -> None:
    await talk.conversation.set_model(model, provider)


async def _error_of(talk: Talk) -> str:
    done = await talk.conversation.prompt("go")
    assert done.stop == "error", done
    return str(done.error)


# --- streams


async def test_stream_carries_text_thoughts_and_tools(stage: Stage) -> None:
    """ext2-121: the events of the extension are the answer; usage is counted and priced; the request has all of it."""
    puppet = _add(stage)
    calls: list[dict[str, Any]] = []

    def streamed(frame: dict[str, Any]) -> None:
        calls.append(frame["params"])
        events = [{"thinking": "hm"}, {"text": "I "}, {"text": "look"}]
        if len(calls) == 1:
            tool = [{"tool_start": {"id": "t", "name": "glob"}}, {"tool_args": {"id": "t", "delta": '{"pattern":'}}]
            events += [*tool, {"tool_args": {"id": "t", "delta": '"*"}'}}, {"tool_end": {"id": "t"}}]
        puppet.send(type="progress", id=frame["id"], data={"events": events[:2]})
        puppet.send(type="progress", id=frame["id"], data={"events": events[2:]})
        stop = "tool_use" if len(calls) == 1 else "end_turn"
        usage = {"input_tokens": 1_000_000, "output_tokens": 500_000}
        puppet.send(type="response", id=frame["id"], result={"stop": stop, "usage": usage})

    async with stage.talk() as talk:
        _serve(puppet, provider_stream=streamed)
        assert "error" not in await _contribute(puppet)
        await _chosen(talk)
        tools: list[ToolUseStart] = []
        counted: list[UsageCounted] = []
        talk.conversation.subscribe(tools.append, ToolUseStart)
        talk.conversation.subscribe(counted.append, UsageCounted)
        done = await talk.conversation.prompt("look")
        assert done.stop == "end" and talk.conversation.messages[-1].text() == "I look"
        assert [tool.name for tool in tools] == ["glob"] and len(calls) == 2
        assert counted[0].usage.cost_usd == pytest.approx(2.0)  # 1 and 2 USD per million
        first, second = calls
        assert (first["provider"], first["model"]) == ("corp", "x") and "zot" in first["system"]
        assert {"name", "description", "schema"} == first["tools"][0].keys() and first["max_tokens"] == 1000
        assert first["messages"] == [{"role": "user", "content": [{"type": "text", "text": "look"}]}]
        roles = [message["role"] for message in second["messages"]]
        assert roles == ["user", "assistant", "tool"] and "credential" not in first
        assert second["messages"][1]["content"][1]["args"] == {"pattern": "*"}


async def test_cost_of_the_extension_counts(stage: Stage) -> None:
    """ext2-121: `usage.cost_usd` counts instead of the prices, in the budget too."""
    puppet = _add(stage)
    async with stage.talk(max_cost=0.5) as talk:
        usage = {"input_tokens": 10, "output_tokens": 5, "cost_usd": 0.75}
        _serve(puppet, {"text": "ok"}, result={"stop": "end_turn", "usage": usage})
        await _contribute(puppet)
        await _chosen(talk)
        assert (await talk.conversation.prompt("go")).stop == "end"
        assert talk.conversation.agent.cost.cost_usd == pytest.approx(0.75)
        done = await talk.conversation.prompt("again")
        assert done.stop != "end" and len(puppet.of("request", method="provider.stream")) == 1


async def test_model_has_the_facts_of_the_extension(stage: Stage) -> None:
    """ext2-121: window, limits, prices and reasoning levels are those that the extension described."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        _serve(puppet, {"text": "ok"})
        await _contribute(puppet)
        await _chosen(talk)
        model = talk.conversation.model
        assert (model.context_window, model.max_output, model.price_output) == (50_000, 1000, 2.0)
        await _chosen(talk, "y")
        assert list(talk.conversation.model.reasoning_levels) == ["low", "high"]
        rows = {(row.provider, row.id) for row in talk.conversation.catalog.rows()}
        assert {("corp", "x"), ("corp", "y")} <= rows
        changed = [{**MODELS[1], "context_window": 77_000}]
        await _contribute(puppet, models=changed)
        await until(lambda: talk.conversation.model.context_window == 77_000)


async def test_busy_is_retried_before_the_first_event_only(stage: Stage) -> None:
    """ext2-121: `busy` with `retry_after_s` is repeated as for any provider, but not after an event."""
    puppet = _add(stage)
    count = 0

    def streamed(frame: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        if count > 2:
            puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "some"}]})
        if count != 2:
            _error(puppet, "busy", "too many", retry_after_s=0.05)(frame)
        else:
            puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "ok"}]})
            puppet.send(type="response", id=frame["id"], result=ANSWER)

    async with stage.talk(retries=3) as talk:
        talk.conversation.settings.values = msgspec.structs.replace(
            talk.conversation.settings.values, retry_wait_s=0.01
        )
        _serve(puppet, provider_stream=streamed)
        await _contribute(puppet)
        await _chosen(talk)
        waits: list[RetryWait] = []
        talk.conversation.subscribe(waits.append, RetryWait)
        assert (await talk.conversation.prompt("go")).stop == "end"
        assert [wait.attempt for wait in waits] == [2] and waits[0].wait_s >= 0.05
        error = await _error_of(talk)
        assert "corp: extension corp-ext: too many" in error and count == 3


async def test_silence_ends_the_call(stage: Stage) -> None:
    """ext2-121: a provider that never answers is ended by the silence limit; progress starts it again."""
    puppet = _add(stage)

    def streamed(frame: dict[str, Any]) -> None:
        puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "so far"}]})

    home = stage.root / "home"
    home.mkdir()
    (home / "config.json").write_text(json.dumps({"silence_s": {"corp": 1}}))
    async with stage.talk() as talk:
        _serve(puppet, provider_stream=streamed)
        await _contribute(puppet)
        await _chosen(talk)
        assert "corp: no event for 1 s (timeout)" in await _error_of(talk)
        assert (await puppet.frame("cancel"))["reason"] == "timeout"


async def test_death_in_mid_stream_is_a_broken_connection(stage: Stage) -> None:
    """ext2-122: an extension that dies during the answer ends the call as a broken connection, without a repetition."""
    puppet = _add(stage)

    def streamed(frame: dict[str, Any]) -> None:
        puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "half"}]})
        puppet.die()

    async with stage.talk() as talk:
        _serve(puppet, provider_stream=streamed)
        await _contribute(puppet)
        await _chosen(talk)
        request = Request(model=talk.conversation.model, messages=(user_message("go"),))
        client = talk.conversation.services.client_for(talk.conversation.resolved)
        events = [event async for event in client.stream(request)]
        last = events[-1]
        assert isinstance(last, Finished) and isinstance(last.error, TransportFailed) and last.message.text() == "half"
        assert "corp: connection broken: extension corp-ext disconnected before answering" in str(last.error)
        assert [type(event).__name__ for event in events] == ["Started", "TextDelta", "UsageReported", "Finished"]


async def test_death_before_the_first_event_is_retried(stage: Stage) -> None:
    """ext2-122: zot waits for the new process and asks it."""
    puppet = _add(stage)
    async with stage.talk(retries=2) as talk:
        _serve(puppet, provider_stream=lambda frame: puppet.die())
        await _contribute(puppet)
        await _chosen(talk)
        prompt = asyncio.ensure_future(talk.conversation.prompt("go"))
        await puppet.started(2)
        _serve(puppet, {"text": "back"})
        puppet.send(type="ready")
        await _contribute(puppet)
        assert (await prompt).stop == "end" and talk.conversation.messages[-1].text() == "back"


BAD_EVENTS: list[tuple[Any, str]] = [
    ({"text": 3}, "expected a text"),
    ({"words": "x"}, "expected text, thinking, tool_start, tool_args or tool_end"),
    ({}, "expected an object with one key"),
    ("hello", "expected an object with one key"),
    ({"tool_args": {"id": "t", "delta": "{}"}}, "no tool call with this id is open"),
    ({"tool_start": {"id": "", "name": "x"}}, "id and name must not be empty"),
    ({"tool_start": {"id": "t"}}, "name: expected a text"),
]


@pytest.mark.parametrize(("event", "reason"), BAD_EVENTS)
async def test_malformed_event_names_extension_and_event(stage: Stage, event: Any, reason: str) -> None:
    """ext2-122: the error names both; zot cancels the request."""
    puppet = _add(stage)

    def streamed(frame: dict[str, Any]) -> None:
        puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "a"}, event]})

    async with stage.talk() as talk:
        _serve(puppet, provider_stream=streamed)
        await _contribute(puppet)
        await _chosen(talk)
        shown = msgspec.json.encode(event).decode()
        assert f"corp: extension corp-ext: malformed event {shown}: {reason}" in await _error_of(talk)
        assert await puppet.frame("cancel")


BAD_RESULTS: list[tuple[Any, str]] = [
    (None, "stop: expected"),
    ({"stop": "done"}, "stop: expected"),
    ({"stop": "end_turn", "usage": {"input_tokens": -1}}, "usage.input_tokens"),
    ({"stop": "end_turn", "usage": {"cost_usd": "much"}}, "usage.cost_usd"),
    ({"stop": "error", "message": "the backend is down"}, "the backend is down"),
]


@pytest.mark.parametrize(("result", "reason"), BAD_RESULTS)
async def test_malformed_result_is_an_error(stage: Stage, result: Any, reason: str) -> None:
    """ext2-122: nonsense at the end ends the call with an error that names the extension."""
    puppet = _add(stage)
    async with stage.talk() as talk:

        def streamed(frame: dict[str, Any]) -> None:
            puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "a"}]})
            puppet.send(type="response", id=frame["id"], result=result)

        _serve(puppet, provider_stream=streamed)
        await _contribute(puppet)
        await _chosen(talk)
        error = await _error_of(talk)
        assert reason in error and "extension corp-ext" in error


async def test_answer_without_end_is_ended(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-122: an extension that never stops to send is ended by the limit of one answer, and told so."""
    monkeypatch.setattr(stream_decoder, "MOST_CHARS", 100_000)
    puppet = _add(stage)

    def streamed(frame: dict[str, Any]) -> None:
        for _ in range(200):
            puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "x" * 1000}]})

    async with stage.talk() as talk:
        _serve(puppet, provider_stream=streamed)
        await _contribute(puppet)
        await _chosen(talk)
        assert "the answer is longer than" in await _error_of(talk)
        assert await puppet.frame("cancel")


async def test_partial_tool_call_never_runs(stage: Stage) -> None:
    """ext2-122: a tool call without `tool_end` ends the answer with an error."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        _serve(puppet, {"tool_start": {"id": "t", "name": "bash"}}, result={"stop": "tool_use"})
        await _contribute(puppet)
        await _chosen(talk)
        assert "the tool call 't' has no tool_end" in await _error_of(talk)


async def test_abort_cancels_and_shows_nothing_after_it(stage: Stage) -> None:
    """ext2-122: `cancel` on abort; later events are dropped."""
    puppet = _add(stage)
    asked: list[str] = []

    def streamed(frame: dict[str, Any]) -> None:
        asked.append(frame["id"])
        puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "before"}]})

    async with stage.talk() as talk:
        _serve(puppet, provider_stream=streamed)
        await _contribute(puppet)
        await _chosen(talk)
        deltas: list[TextDelta] = []
        talk.conversation.subscribe(deltas.append, TextDelta)
        prompt = asyncio.ensure_future(talk.conversation.prompt("go"))
        await until(lambda: deltas)
        talk.conversation.abort()
        assert (await prompt).stop == "aborted"
        assert (await puppet.frame("cancel"))["id"] == asked[0]
        puppet.send(type="progress", id=asked[0], data={"events": [{"text": "after"}]})
        puppet.send(type="response", id=asked[0], error={"code": "cancelled", "message": "cancelled"})
        await puppet.request("none")
        assert "".join(delta.delta for delta in deltas) == "before" and not talk.reported


# --- described only


async def test_described_provider_is_spoken_to_by_zot(stage: Stage) -> None:
    """ext2-121: without `stream` zot speaks the dialect; no prompt passes the extension."""
    settings = {"api_key": {"type": "string", "secret": True}}
    puppet = _add(stage, settings=settings)
    with FakeModelServer([Say("from the server")]) as server:
        async with stage.talk() as talk:
            talk.conversation.auth.set_api_key("extension:corp-ext:api_key", "sk-corp-1234")
            value = {"api": "openai", "base_url": f"{server.url}/v1", "headers": {"x-team": "a"}, "stream": False}
            assert "error" not in await _contribute(puppet, **value, key={"setting": "api_key"})
            await _chosen(talk)
            assert (await talk.conversation.prompt("a secret prompt")).stop == "end"
            assert talk.conversation.messages[-1].text() == "from the server"
            (request,) = [seen for seen in server.requests if seen.method == "POST"]
            assert request.headers["authorization"] == "Bearer sk-corp-1234" and request.headers["x-team"] == "a"
            assert not puppet.of("request") and "secret prompt" not in json.dumps(puppet.frames)


async def test_described_login_is_renewed_after_a_refusal(stage: Stage) -> None:
    """ext2-121, ext2-123: a 401 of the server makes zot ask `provider.renew`; the new token is sent as bearer."""
    puppet = _add(stage)
    with FakeModelServer([Refuse(401, "expired"), Say("welcome back")]) as server:
        async with stage.talk() as talk:
            renewed = _result(puppet, {"access_token": "tok-secret-2"})
            _serve(puppet, provider_login=_result(puppet, CREDENTIAL), provider_renew=renewed)
            await _contribute(puppet, stream=False, api="openai", base_url=f"{server.url}/v1", **LOGIN)
            await _chosen(talk)
            assert (await talk.conversation.prompt("go")).stop == "end"
            assert talk.conversation.messages[-1].text() == "welcome back"
            sent = [seen.headers["authorization"] for seen in server.requests if seen.method == "POST"]
            assert sent == ["Bearer tok-secret-1", "Bearer tok-secret-2"]
            assert not puppet.of("request", method="provider.stream")


WRONG_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"stream": False}, "value.api: expected one of"),
    ({"stream": False, "api": "openai"}, "value.base_url: expected https://"),
    ({"stream": False, "api": "openai", "base_url": "http://other.example"}, "http:// to this machine"),
    ({"stream": False, "api": "grammar", "base_url": "https://a.example"}, "value.api"),
    ({"models": [{"id": ""}]}, "value.models"),
    ({"models": [{"id": "a"}, {"id": "a"}]}, "is there twice"),
    ({"models": [{"id": "a", "context_window": -1}]}, "value.models"),
    ({"models": [{"id": "a", "reasoning": ["much"]}]}, "unknown reasoning level"),
    ({"key": {"setting": "nothing"}}, "is no secret setting"),
    ({"headers": {"bad header": "x"}}, "invalid header"),
]


@pytest.mark.parametrize(("value", "reason"), WRONG_VALUES)
async def test_wrong_description_is_refused(stage: Stage, value: dict[str, Any], reason: str) -> None:
    """ext2-121: `bad_params` names what is wrong, and no provider is there."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        error = (await _contribute(puppet, **value))["error"]
        assert error["code"] == "bad_params" and reason in error["message"], error
        assert not any(row.provider == "corp" for row in talk.conversation.catalog.rows())


async def test_provider_needs_its_word(stage: Stage) -> None:
    """ext2-121, ext2-141: without `provider` in `uses` the contribution is denied."""
    puppet = stage.add("x")
    async with stage.talk():
        assert (await _contribute(puppet))["error"]["code"] == "denied"


# --- credentials


LOGIN = {"key": {"login": True}}
CREDENTIAL = {"access_token": "tok-secret-1", "refresh_token": "ref-secret-1", "type": "bearer"}


async def test_login_credential_is_kept_and_given_back(stage: Stage) -> None:
    """ext2-123: asked for once, kept in the credential store, given only with provider requests."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        _serve(puppet, {"text": "ok"}, provider_login=_result(puppet, CREDENTIAL))
        await _contribute(puppet, **LOGIN)
        await _chosen(talk)
        assert (await talk.conversation.prompt("a")).stop == "end"
        assert (await talk.conversation.prompt("b")).stop == "end"
        assert len(puppet.of("request", method="provider.login")) == 1
        streams = puppet.of("request", method="provider.stream")
        assert [frame["params"]["credential"] for frame in streams] == [CREDENTIAL, CREDENTIAL]
        place = next(name for name in AuthStore(talk.conversation.home).stored() if name.startswith("provider:corp:"))
        assert json.loads(AuthStore(talk.conversation.home).entry(place).api_key) == CREDENTIAL
        assert (talk.conversation.home / "auth.json").stat().st_mode & 0o777 == 0o600
        assert {"tok-secret-1", "ref-secret-1"} <= set(AuthStore(talk.conversation.home).secrets())


async def test_credential_is_never_in_traces(stage: Stage) -> None:
    """ext2-123: the answer of the login, the credential of requests and every repetition are masked."""
    puppet = _add(stage)
    lines: list[bytes] = []

    def trace(name: str, direction: Direction, line: bytes) -> None:
        lines.append(line)

    odd = {"access_token": 'quote"secret\u00e9', "nested": {"list": ["deep-secret-value"]}}
    async with stage.talk() as talk:
        talk.host.traces.append(trace)
        _serve(puppet, {"text": "ok"}, provider_login=_result(puppet, odd))
        await _contribute(puppet, **LOGIN)
        await _chosen(talk)
        await talk.conversation.prompt("a")
        puppet.send(type="notify", level="info", message='I leak quote"secret\u00e9 and deep-secret-value')
        await puppet.request("none")
    text = b"".join(lines)
    assert b"provider.login" in text and b"[removed]" in text and b"I leak" in text
    for secret in ('quote"secret', 'quote\\"secret', "deep-secret-value"):
        assert secret.encode() not in text


async def test_malformed_login_answer_is_not_shown(stage: Stage) -> None:
    """ext2-123: a line that cannot be read while a login is open is not quoted in diagnostics or logs."""
    puppet = _add(stage)

    def answered(frame: dict[str, Any]) -> None:
        assert puppet._writer is not None
        puppet._writer.write(b"0")  # joins the next line: no JSON
        puppet.send(type="response", id=frame["id"], result={"access_token": "tok-secret-9"})

    async with stage.talk() as talk:
        puppet.handlers["request"] = answered
        await _contribute(puppet, **LOGIN)
        await _chosen(talk)
        error = await _error_of(talk)
        log = (talk.conversation.home / "logs" / "ext-corp-ext.log").read_text()
        assert "malformed" in log or "malformed" in error
        assert "tok-secret-9" not in log + error + str(talk.reported)


async def test_expired_credential_is_renewed(stage: Stage) -> None:
    """ext2-123: `provider.renew` before a call with an expired one, and after `denied`."""
    puppet = _add(stage)
    old, new = {**CREDENTIAL, "expires": "2001-01-01T00:00:00Z"}, {"access_token": "tok-secret-2", "expires": 4e9}
    third = {"access_token": "tok-secret-3"}
    renewed = iter([new, third])
    seen: list[str] = []

    def streamed(frame: dict[str, Any]) -> None:
        seen.append(frame["params"]["credential"]["access_token"])
        if seen[1:] == ["tok-secret-2", "tok-secret-2"]:
            _error(puppet, "denied", "expired")(frame)
        else:
            puppet.send(type="progress", id=frame["id"], data={"events": [{"text": "ok"}]})
            puppet.send(type="response", id=frame["id"], result=ANSWER)

    async with stage.talk() as talk:
        _serve(
            puppet,
            provider_stream=streamed,
            provider_login=_result(puppet, old),
            provider_renew=lambda frame: _result(puppet, next(renewed))(frame),
        )
        await _contribute(puppet, **LOGIN)
        await _chosen(talk)
        await talk.conversation.prompt("a")  # login with an expired one is used as it is; the next call renews
        await talk.conversation.prompt("b")
        await talk.conversation.prompt("c")
        assert (await talk.conversation.prompt("d")).stop == "end"
        assert seen == ["tok-secret-1", "tok-secret-2", "tok-secret-2", "tok-secret-3", "tok-secret-3"]


async def test_login_without_user_fails_with_advice(stage: Stage) -> None:
    """ext2-123: the error of the login names the extension and `/login`; nothing is stored."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        _serve(puppet, provider_login=_error(puppet, "unavailable", "no user can be asked"))
        await _contribute(puppet, **LOGIN)
        await _chosen(talk)
        error = await _error_of(talk)
        assert "corp: not logged in: extension corp-ext: no user can be asked" in error and "/login corp" in error
        assert not any(name.startswith("provider:") for name in talk.conversation.auth.stored())


async def test_dialog_of_a_login_needs_no_word(stage: Stage) -> None:
    """ext2-145, ext2-123: `ui.ask` with the login as parent is not denied; without it it is."""
    puppet = _add(stage)
    codes: list[str] = []

    async def login(frame: dict[str, Any]) -> None:
        question = {"kind": "input", "title": "Code"}
        codes.append((await puppet.error("ui.ask", question, parent_id=frame["id"]))[0])
        codes.append((await puppet.error("ui.ask", question))[0])
        puppet.send(type="response", id=frame["id"], result=CREDENTIAL)

    tasks: list[asyncio.Task[None]] = []
    async with stage.talk() as talk:
        _serve(puppet, {"text": "ok"}, provider_login=lambda frame: tasks.append(asyncio.ensure_future(login(frame))))
        await _contribute(puppet, **LOGIN)
        await _chosen(talk)
        await talk.conversation.prompt("a")
        assert codes == ["unavailable", "denied"]


async def test_other_extension_does_not_get_the_credential(stage: Stage) -> None:
    """ext2-123: a provider of the same id in another extension begins without a credential."""
    one, two = _add(stage, "one"), _add(stage, "two", ("corp",))
    async with stage.talk() as talk:
        _serve(one, {"text": "ok"}, provider_login=_result(one, CREDENTIAL))
        await _contribute(one, **LOGIN)
        await _chosen(talk)
        await talk.conversation.prompt("a")
        assert "belongs to the extension one" in (await _contribute(two, **LOGIN))["error"]["message"]
        one.send(type="withdraw", kind="provider", name="corp")
        await one.request("none")
        _serve(two, {"text": "ok"}, provider_login=_error(two, "failed", "nothing stored"))
        await _contribute(two, **LOGIN)
        assert "nothing stored" in await _error_of(talk)
        assert "tok-secret" not in json.dumps(two.frames)


async def test_models_are_refreshed(stage: Stage) -> None:
    """ext2-123: with `refresh` zot asks `provider.models`; a wrong answer is a diagnostic."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        _serve(puppet, {"text": "ok"}, provider_models=_result(puppet, {"models": [{"id": "fresh"}]}))
        await _contribute(puppet, refresh=True, models=[])
        await until(lambda: any(row.id == "fresh" for row in talk.conversation.catalog.rows()))
        _serve(puppet, provider_models=_result(puppet, {"models": 3}))
        await _contribute(puppet, refresh=True)
        await until(lambda: "its models are not known" in str(talk.reported))


# --- names


async def test_unknown_model_is_named(stage: Stage) -> None:
    """ext2-124: a model that the provider does not have is an error with those it has."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        await _contribute(puppet)
        await _chosen(talk, "z")
        assert 'corp: unknown model "z"; the extension corp-ext has: x, y' in await _error_of(talk)
        assert not puppet.of("request")


async def test_builtin_is_replaced_only_with_replace(stage: Stage) -> None:
    """ext2-125, §4.2: an id of zot needs `replace` and the manifest; then calls go to the extension."""
    puppet, other = _add(stage, providers=("anthropic",)), _add(stage, "other")
    async with stage.talk() as talk:
        error = (await _contribute(puppet, "anthropic"))["error"]
        assert error["code"] == "conflict" and '"replace"' in error["message"]
        assert (await _contribute(other, "anthropic", replace=True))["error"]["code"] == "denied"
        assert "error" not in await _contribute(puppet, "anthropic", replace=True)
        _serve(puppet, {"text": "from the extension"})
        await _chosen(talk, "x", "anthropic")
        assert (await talk.conversation.prompt("go")).stop == "end"
        assert talk.conversation.messages[-1].text() == "from the extension"


async def test_guard_cannot_be_a_provider(stage: Stage) -> None:
    """ext2-125: in the manifest it is a load error, by hello it is refused."""
    from zot.errors import ExtensionError
    from zot.features.extensions.loader.manifest import read_manifest

    puppet = _add(stage)
    directory = stage.directories[0]
    manifest = json.loads((directory / "extension.json").read_text())
    guarding = {**manifest, "guard": True, "uses": []}
    with pytest.raises(ExtensionError, match="a guard cannot provide models"):
        read_manifest(directory, json.dumps(guarding).encode())
    with pytest.raises(ExtensionError, match="a guard may not have provider"):
        read_manifest(directory, json.dumps({**guarding, "provides": {}, "uses": ["provider"]}).encode())
    async with stage.talk() as talk:
        talk.host.find_child("corp-ext").guard = True  # type: ignore[union-attr]
        error = (await _contribute(puppet))["error"]
        assert (error["code"], "guard" in error["message"]) == ("refused", True)
        talk.host.find_child("corp-ext").guard = False  # type: ignore[union-attr]


async def test_missing_extension_is_reported_in_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-124: zot waits a limited time for the extension of the model, and names it."""
    monkeypatch.setattr(limits, "PROVIDER_WAIT", 0.5)
    puppet = _add(stage)
    async with stage.talk(provider="", model="corp/x") as talk:
        talk.conversation.agent.client = talk.conversation.services.client_for(talk.conversation.resolved)
        error = await _error_of(talk)
        assert "the extension corp-ext does not offer it" in error and "zot ext logs corp-ext" in error
        _serve(puppet, {"text": "late"})
        await _contribute(puppet)
        assert (await talk.conversation.prompt("again")).stop == "end"


async def test_reload_keeps_the_provider(stage: Stage) -> None:
    """ext2-124: after a reload the calls go to the new process."""
    puppet = _add(stage)
    async with stage.talk() as talk:
        await _contribute(puppet)
        await _chosen(talk)
        await reload_extensions(talk.conversation)
        await puppet.started(2)
        puppet.send(type="ready")
        _serve(puppet, {"text": "new"})
        await _contribute(puppet)
        assert (await talk.conversation.prompt("go")).stop == "end"
