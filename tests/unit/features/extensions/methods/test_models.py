"""``model.*``: the models of the conversation, and model calls of extensions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.client import Pause, answer, calls, falls_silent, says
from tests.fakes.extension_puppet import Puppet, Stage, Talk
from zot.core.events import Diagnostic, UsageCounted
from zot.errors import Overloaded
from zot.provider.catalog import builtin_rows
from zot.provider.messages import Usage
from zot.provider.model import Model

CALL = ("model.call",)
LOGGED_OUT = f"anthropic/{next(row.id for row in builtin_rows() if row.provider == 'anthropic')}"
COSTLY = Usage(input_tokens=1000, output_tokens=1000, cost_usd=0.4)


def _price(talk: Talk, dollars: float = 1.0) -> None:
    """Per million tokens."""
    agent = talk.conversation.agent
    agent.model = msgspec.structs.replace(agent.model, price_input=dollars, price_output=dollars, max_output=1000)


def _set(stage: Stage, **values: Any) -> None:
    home = stage.root / "home"
    home.mkdir(exist_ok=True)
    (home / "config.json").write_bytes(msgspec.json.encode(values))


# --- list, get, set


async def test_list_names_models_and_which_can_be_used(stage: Stage) -> None:
    """§13: model.list and model.get need no word."""
    x = stage.add()
    async with stage.talk() as talk:
        found = {(row["provider"], row["id"]): row for row in (await x.result("model.list"))["models"]}
        present = await x.result("model.get")
        assert present == {"provider": "script", "model": talk.conversation.model.id, "reasoning": ""}
        assert found["script", present["model"]]["usable"] is True
        claude = next(row for key, row in found.items() if key[0] == "anthropic")
        assert {"name", "context_window", "max_output", "images", "reasoning", "usable"} <= claude.keys()
        assert claude["cost"]["input"] > 0


async def test_set_changes_session_and_names_the_extension(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-111: the session's model changes, no setting; the event and the screen name the extension."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    x = stage.add(uses=["model.set"])
    async with stage.talk(says("a")) as talk:
        await x.subscribe("model_changed")
        model = next(row["id"] for row in (await x.result("model.list"))["models"] if row["provider"] == "anthropic")
        done = await x.result("model.set", {"model": f"anthropic/{model}", "reasoning": "high"})
        assert done == {"provider": "anthropic", "model": model, "reasoning": "high"}
        by_x = {"source": "extension", "extension": "x", "model": model}
        told = [frame["data"] for frame in x.of("event", event="model_changed")]
        assert [{key: data[key] for key in by_x} for data in told] == [by_x, by_x]
        assert told[1]["reasoning"] == "high"
        said = [event.text for event in talk.reported if isinstance(event, Diagnostic)]
        assert f"extension x set the model to anthropic/{model} and the reasoning level to high" in said
        assert not (stage.root / "home" / "config.json").exists()
        assert talk.conversation.snapshot.model == model


async def test_set_while_a_call_runs_holds_for_the_next(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-111: a running model call goes on with its model, and its cost is that model's."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    x = stage.add(uses=["model.set"])
    pause = Pause()
    first = says("a")
    async with stage.talk([*first[:2], pause, *first[2:]]) as talk:
        counted: list[Any] = []
        talk.conversation.subscribe(counted.append, UsageCounted)
        prompt = asyncio.ensure_future(talk.conversation.prompt("hi"))
        await pause.reached.wait()
        before = talk.conversation.model
        model = next(row["id"] for row in (await x.result("model.list"))["models"] if row["provider"] == "anthropic")
        await x.result("model.set", {"model": f"anthropic/{model}"})
        pause.go_on.set()
        assert (await prompt).stop == "end" and talk.conversation.messages[-1].text() == "a"
        assert counted[0].model == f"{before.provider}/{before.id}" and counted[0].usage.cost_usd == 0


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"model": LOGGED_OUT}, "unavailable"),
        ({"reasoning": "very"}, "bad_params"),
        ({"model": 3}, "bad_params"),
    ],
)
async def test_set_refuses_what_the_user_could_not_choose(stage: Stage, params: dict[str, Any], code: str) -> None:
    """ext2-019, ext2-111: wrong values change nothing and are named."""
    x = stage.add(uses=["model.set"])
    async with stage.talk() as talk:
        before = talk.conversation.model
        assert (await x.error("model.set", params))[0] == code
        assert talk.conversation.model is before


# --- call


async def test_call_answers_and_leaves_nothing(stage: Stage) -> None:
    """ext2-112: an answer through zot's client, without tools, not in the transcript."""
    x = stage.add(uses=CALL)
    async with stage.talk(says("three word name")) as talk:
        done = await x.result("model.call", {"prompt": "Name it.", "system": "Be brief.", "max_tokens": 50})
        assert (done["text"], done["stop"]) == ("three word name", "end_turn")
        assert done["usage"] == {"input_tokens": 100, "output_tokens": 10, "cache_read_tokens": 0, "cost_usd": 0.0}
        assert done["model"] == f"script/{talk.conversation.model.id}"
        (request,) = talk.client.requests
        assert (request.system, request.tools, request.max_tokens) == ("Be brief.", (), 50)
        assert request.messages[0].text() == "Name it." and not talk.conversation.messages


async def test_call_streams_and_takes_messages(stage: Stage) -> None:
    """ext2-112: with stream, progress carries the text; the whole text is in the result."""
    x = stage.add(uses=CALL)
    async with stage.talk(says("one ", "two")) as talk:
        messages = [
            {"role": "user", "content": "count"},
            {"role": "assistant", "content": [{"type": "text", "text": "zero"}]},
            {"role": "user", "content": "go on"},
        ]
        done = await x.result("model.call", {"messages": messages, "stream": True}, id="c")
        assert "".join(frame["data"]["text"] for frame in x.of("progress", id="c")) == done["text"] == "one two"
        assert [message.role for message in talk.client.requests[0].messages] == ["user", "assistant", "user"]


async def test_call_with_schema_returns_json(stage: Stage) -> None:
    """§13: an answer in the schema comes as json; another one fails with its text."""
    x = stage.add(uses=CALL)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with stage.talk(says('```json\n{"n": 3}\n```'), says('{"n": "3"}')) as talk:
        assert (await x.result("model.call", {"prompt": "n?", "schema": schema}))["json"] == {"n": 3}
        assert talk.client.requests[0].output_schema == schema and '"n"' in talk.client.requests[0].system
        failed = (await x.request("model.call", {"prompt": "n?", "schema": schema}))["error"]
        assert failed["code"] == "failed" and "does not match the schema" in failed["message"]
        assert failed["data"] == {"text": '{"n": "3"}'}


async def test_call_counts_under_the_extension(stage: Stage) -> None:
    """ext2-113: the cost counts in the session, in the role of the extension, as /cost shows it."""
    x = stage.add(uses=CALL)
    async with stage.talk(says("a"), says("b", usage=COSTLY)) as talk:
        await talk.conversation.prompt("hi")
        counted: list[Any] = []
        talk.conversation.subscribe(counted.append, UsageCounted)
        await x.result("model.call", {"prompt": "n?"})
        assert (counted[0].role, counted[0].usage.cost_usd) == ("extension x", 0.4)
        assert talk.conversation.total_usage.cost_usd == 0.4
        session = talk.conversation.session
        assert session is not None
        session.flush()
        assert b'"role":"extension x"' in session.path.read_bytes()


async def test_extension_limit_ends_with_budget(stage: Stage, tmp_path: Path) -> None:
    """ext2-113: extension_max_cost is a limit per extension and session, also after a resume."""
    _set(stage, extension_max_cost=0.5)
    x, y = stage.add("x", uses=CALL), stage.add("y", uses=CALL)
    async with stage.talk(says("hi"), *(says("b", usage=COSTLY) for _ in range(3))) as talk:
        _price(talk)
        await talk.conversation.prompt("begin")
        for _ in range(2):
            await x.result("model.call", {"prompt": "n?"})
        code, text = await x.error("model.call", {"prompt": "n?"})
        assert code == "budget" and "cost limit of $0.5 for the extension x" in text and "$0.8000 spent" in text
        assert (await y.result("model.call", {"prompt": "n?"}))["text"] == "b"
        talk.host.__dict__.pop("spending")  # as in a new process that resumes the session
        assert (await x.error("model.call", {"prompt": "n?"}))[0] == "budget"
        talk.conversation.new_session()
        talk.client.add(says("new"))
        assert (await x.result("model.call", {"prompt": "n?"}))["text"] == "new"


async def test_session_limit_ends_with_budget(stage: Stage) -> None:
    """ext2-113: --max-cost counts calls of extensions too."""
    x = stage.add(uses=CALL)
    async with stage.talk(says("b", usage=COSTLY), max_cost=0.3) as talk:
        _price(talk)
        await x.result("model.call", {"prompt": "n?"})
        code, text = await x.error("model.call", {"prompt": "n?"})
        assert code == "budget" and "cost limit of $0.3" in text


async def test_answer_is_cut_at_what_the_limit_pays(stage: Stage) -> None:
    """ext2-113: priced before: the longest answer is what the limit still pays."""
    _set(stage, extension_max_cost=0.0015)
    x = stage.add(uses=CALL)
    async with stage.talk(says("b", stop="length")) as talk:
        _price(talk)
        agent = talk.conversation.agent
        agent.model = msgspec.structs.replace(agent.model, max_output=5000)
        assert (await x.result("model.call", {"prompt": "n?"}))["stop"] == "length"
        assert 1000 < talk.client.requests[0].model.max_output < 1500


async def test_unknown_price_is_refused_unless_unlimited(stage: Stage) -> None:
    """ext2-113: without a price no limit can be enforced; 0 is no limit."""
    x = stage.add(uses=CALL)
    unknown = Model(id="m", provider="corp")
    async with stage.talk(says("a")) as talk:
        talk.conversation.agent.model = unknown
        code, text = await x.error("model.call", {"prompt": "n?"})
        assert code == "budget" and "unknown price of corp/m" in text
        talk.conversation.settings.values = msgspec.structs.replace(
            talk.conversation.settings.values, extension_max_cost=0
        )
        assert (await x.result("model.call", {"prompt": "n?"}))["text"] == "a"


async def test_at_most_four_at_a_time(stage: Stage) -> None:
    """ext2-114: a fifth call is busy; cancelled ones free their place."""
    x = stage.add(uses=CALL)
    silent = [falls_silent() for _ in range(4)]
    async with stage.talk(*(items for _, items in silent), says("later")):
        ids = [x.begin("model.call", {"prompt": str(n)}) for n in range(4)]
        for pause, _ in silent:
            await pause.reached.wait()
        assert (await x.error("model.call", {"prompt": "5"}))[0] == "busy"
        for id in ids:
            x.send(type="cancel", id=id)
        assert [(await x.response(id))["error"]["code"] for id in ids] == ["cancelled"] * 4
        assert (await x.result("model.call", {"prompt": "6"}))["text"] == "later"


async def test_guards_see_calls_and_may_block(stage: Stage) -> None:
    """ext2-114: model_request with purpose and origin; a block is refused."""
    x, g = stage.add("x", uses=CALL), stage.add("g", uses=["context"], guard=True)
    async with stage.talk(says("a")):
        verdicts: list[dict[str, Any]] = [{}, {"block": True, "reason": "no money today"}]
        await g.intercept("model_request", lambda _: verdicts.pop(0))
        g.send(type="ready")
        assert (await x.result("model.call", {"prompt": "n?"}))["text"] == "a"
        assert await x.error("model.call", {"prompt": "n?"}) == ("refused", "model.call: no money today")
        first = g.asked("model_request")[0]
        assert (first["purpose"], first["origin_extension"], first["message_count"]) == ("extension", "x", 1)


async def test_own_interception_is_not_asked_again(stage: Stage) -> None:
    """ext2-017: a call made while answering model_request is not put to the same child again."""
    x = stage.add(uses=(*CALL, "context"))
    async with stage.talk(says("inner"), says("outer")) as talk:

        def asked(frame: dict[str, Any]) -> None:
            task = asyncio.ensure_future(_answer_after_call(x, frame))
            tasks.append(task)

        tasks: list[asyncio.Future[None]] = []
        x.handlers["event_intercept"] = asked
        await x.subscribe(intercept=["model_request"])
        await talk.conversation.prompt("hi")
        assert talk.conversation.messages[-1].text() == "outer" and len(tasks) == 1


async def _answer_after_call(x: Puppet, frame: dict[str, Any]) -> None:
    assert (await x.result("model.call", {"prompt": "n?"}, parent_id=frame["id"]))["text"] == "inner"
    x.send(type="event_intercept_response", id=frame["id"])


async def test_call_ends_with_its_parent(stage: Stage) -> None:
    """ext2-015: the end of the tool call cancels the model call."""
    x = stage.add(uses=CALL)
    silent, never = falls_silent()
    async with stage.talk(calls(("build", {})), never, says("done")) as talk:
        value = {"description": "d", "schema": {"type": "object"}}
        await x.request("none")
        x.send(type="contribute", id="o", kind="tool", name="build", value=value)
        await x.response("o")
        x.handlers["tool_call"] = lambda frame: x.begin("model.call", {"prompt": "p"}, id="c", parent_id=frame["id"])
        prompt = asyncio.ensure_future(talk.conversation.prompt("go"))
        await silent.reached.wait()
        x.send(type="tool_result", id=x.of("tool_call")[0]["id"], content=[{"type": "text", "text": "ok"}])
        assert (await x.response("c"))["error"]["code"] == "cancelled"
        assert (await prompt).stop == "end"


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({}, "model.call: prompt: expected either prompt or messages"),
        ({"prompt": "a", "messages": [{"content": "b"}]}, "model.call: prompt: expected either prompt or messages"),
        ({"messages": [{"role": "system", "content": "b"}]}, "model.call: messages: role: expected user or assistant"),
        ({"prompt": "a", "temperature": 9}, "model.call: temperature: expected 0 to 2"),
        ({"prompt": "a", "reasoning": "much"}, "model.call: reasoning: expected one of"),
    ],
)
async def test_wrong_parameters_are_named(stage: Stage, params: dict[str, Any], why: str) -> None:
    """ext2-019: the message names the parameter."""
    x = stage.add(uses=CALL)
    async with stage.talk():
        code, text = await x.error("model.call", params)
        assert code == "bad_params" and text.startswith(why)


async def test_failure_of_the_provider_is_told(stage: Stage) -> None:
    """§3.3: a provider's failure is failed, a missing login unavailable."""
    x = stage.add(uses=CALL)
    async with stage.talk([Overloaded("the provider is overloaded")], answer((), stop="end")):
        assert await x.error("model.call", {"prompt": "a"}) == ("failed", "model.call: the provider is overloaded")
        assert (await x.error("model.call", {"prompt": "a", "model": LOGGED_OUT}))[0] == "unavailable"
        assert (await x.result("model.call", {"prompt": "a", "model": "small"}))["text"] == ""


async def test_without_the_word_nothing_is_called(stage: Stage) -> None:
    """ext2-020: model.call and model.set are denied without their word."""
    x = stage.add()
    async with stage.talk() as talk:
        for method in ("model.call", "model.set"):
            code, text = await x.error(method, {"prompt": "a"})
            assert code == "denied" and f'"{method}"' in text
        assert not talk.client.requests
