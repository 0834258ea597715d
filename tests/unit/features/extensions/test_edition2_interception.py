"""Interceptions of the second edition, put to real extension processes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.client import calls, falls_silent, says
from tests.fakes.extension_puppet import Puppet, Stage, Talk
from zot.core.events import OF_EXTENSION, TYPED, AgentEvent, Done, Error, ToolResultEvent, UserMessage
from zot.core.tool import text_result

GUARD = ("edition2", "guard")
Answer = dict[str, Any]


def value(**keys: Any) -> Answer:
    return {"value": keys}


def _allow(_frame: dict[str, Any]) -> Answer:
    return {}


class FakeTool:
    """Returns its argument ``say``."""

    read_only = True
    description = ""
    schema: dict[str, Any] = {"type": "object"}  # noqa: RUF012  a constant

    def __init__(self, name: str = "read") -> None:
        self.name = name
        self.ran: list[dict[str, Any]] = []

    async def execute(self, args: dict[str, Any], context: Any) -> Any:
        self.ran.append(args)
        return text_result(args.get("say", "the result"))


def _words(talk: Talk, number: int, role: str = "user") -> list[str]:
    return [message.text() for message in talk.client.requests[number].messages if message.role == role]


def _result(talk: Talk, number: int = 1) -> tuple[str, bool]:
    """Text and error mark of the last tool result in a request."""
    block = talk.client.requests[number].messages[-1].tool_results()[-1]
    return "".join(getattr(item, "text", "") for item in block.content), block.is_error


# --- filters


async def test_filter_of_tools_is_applied_before_anything_is_sent(stage: Stage) -> None:
    """ext2-031: filters are joined, ``*`` matches any rest, and a subscription without one removes them."""
    x = stage.add()
    async with stage.talk(*(calls(("read", {}), ("write2", {})), says("a")) * 3) as talk:
        talk.conversation.agent.set_tools([FakeTool("read"), FakeTool("write2")])
        await x.intercept("tool_call", _allow, tools=["edit"])
        await x.intercept("tool_call", _allow, tools=["wri*"])
        await talk.conversation.prompt("go")
        assert [frame["tool_name"] for frame in x.of("event_intercept")] == ["write2"]
        await x.intercept("tool_call", _allow)
        await talk.conversation.prompt("go")
        assert [frame["tool_name"] for frame in x.of("event_intercept")] == ["write2", "read", "write2"]
        await x.subscribe(drop=["tool_call"])
        await talk.conversation.prompt("go")
        assert len(x.of("event_intercept")) == 3


async def test_absent_guard_blocks_only_what_its_filter_matches(stage: Stage) -> None:
    """ext2-032: outside its filter a guard is not asked, and its absence blocks nothing there."""
    x = stage.add(capabilities=GUARD)
    async with stage.talk(calls(("read", {}), ("write2", {})), says("a")) as talk:
        read, write = FakeTool("read"), FakeTool("write2")
        await x.intercept("tool_call", _allow, tools=["write2"])
        x.die()
        await _gone(talk, "x")
        talk.conversation.agent.set_tools([read, write])
        await talk.conversation.prompt("go")
        assert read.ran and not write.ran
        text, is_error = _result(talk)
        assert is_error and "denied" in text


async def _gone(talk: Talk, name: str) -> None:
    async with asyncio.timeout(10):
        while any(child.name == name and child.state == "ready" for child in talk.host.children):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_guard_cannot_drop_what_it_guards(stage: Stage) -> None:
    """ext2-151: only an extension that is no guard gives an interception up."""
    x = stage.add(capabilities=GUARD)
    async with stage.talk(calls(("read", {})), says("a")) as talk:
        talk.conversation.agent.set_tools([FakeTool("read")])
        await x.intercept("tool_call", _allow)
        await x.subscribe(drop=["tool_call"])
        await talk.conversation.prompt("go")
        assert len(x.of("event_intercept")) == 1


# --- input


async def test_input_is_rewritten_and_the_original_is_kept(stage: Stage) -> None:
    """ext2-045: the model gets the rewritten text, the session keeps what was typed and names the extension."""
    x, y = stage.add("x", ["input"]), stage.add("y", ["input"])
    async with stage.talk(says("ok")) as talk:
        await x.intercept("input", lambda frame: value(text=frame["data"]["text"].replace("#1", "issue 1")))
        await y.intercept("input", lambda frame: value(text=frame["data"]["text"] + "!"))
        shown: list[AgentEvent] = []
        talk.conversation.subscribe(shown.append, UserMessage)
        await talk.conversation.prompt("fix #1")
        assert _words(talk, 0) == ["fix issue 1!"]
        assert x.asked("input") == [{"text": "fix #1", "images": 0, "source": "sdk", "deliver": "now"}]
        assert y.asked("input")[0]["text"] == "fix issue 1"
        (event,) = shown
        assert isinstance(event, UserMessage)
        assert event.message.meta == {TYPED: "fix #1", OF_EXTENSION: "y"}


async def test_blocked_input_is_not_sent(stage: Stage) -> None:
    """ext2-036: the first block ends the chain; the reason is the answer."""
    x, y = stage.add("x", ["input"]), stage.add("y", ["input"])
    async with stage.talk() as talk:
        await x.intercept("input", lambda _: {"block": True, "reason": "not on Fridays"})
        await y.intercept("input", _allow)
        outcome = await talk.conversation.prompt("deploy")
        assert outcome.refused and "not on Fridays" in str(outcome.refused) and not y.asked("input")
        assert not talk.conversation.messages


async def test_handled_input_ends_without_a_model_call(stage: Stage) -> None:
    """ext2-037: handled is no refusal; nothing is sent, and ``done`` says so."""
    x = stage.add("x", ["input"])
    async with stage.talk() as talk:
        shown: list[AgentEvent] = []
        talk.conversation.subscribe(shown.append, Done, Error)
        await x.intercept("input", lambda _: {"handled": True})
        outcome = await talk.conversation.prompt("what time is it")
        assert outcome.handled and not outcome.refused and shown == [Done("handled")]


async def test_guard_is_asked_before_handled_counts(stage: Stage) -> None:
    """ext2-038: a guard's block beats handled; block and handled together are a block (ext2-039)."""
    x, guard = stage.add("x", ["input"]), stage.add("guard", ["input"], capabilities=GUARD)
    async with stage.talk() as talk:
        await x.intercept("input", lambda _: {"handled": True})
        await guard.intercept("input", lambda _: {"block": True, "reason": "no"})
        outcome = await talk.conversation.prompt("hi")
        assert outcome.refused and not outcome.handled and guard.asked("input")
        await guard.intercept("input", _allow)
        assert (await talk.conversation.prompt("hi")).handled
        await x.intercept("input", lambda _: {"handled": True, "block": True, "reason": "both"})
        outcome = await talk.conversation.prompt("hi")
        assert outcome.refused and not outcome.handled


async def test_guard_that_handles_has_blocked(stage: Stage) -> None:
    """ext2-149: a guard may not answer handled; it is a block (§29)."""
    guard = stage.add("guard", ["input"], capabilities=GUARD)
    async with stage.talk() as talk:
        await guard.intercept("input", lambda _: {"handled": True})
        outcome = await talk.conversation.prompt("hi")
        assert outcome.refused and not outcome.handled


@pytest.mark.parametrize("wrong", [{"text": 3}, "text", 7])
async def test_value_of_a_wrong_shape(stage: Stage, wrong: Any) -> None:
    """ext2-039: ignored with one diagnostic; from a guard it blocks (ext2-146)."""
    x, guard = stage.add("x", ["input"]), stage.add("guard", ["input"], capabilities=GUARD)
    async with stage.talk(says("ok")) as talk:
        await x.intercept("input", lambda _: {"value": wrong})
        await talk.conversation.prompt("hi")
        assert _words(talk, 0) == ["hi"]
        assert any("answered input with an invalid value" in line for line in _faults(talk))
        await guard.intercept("input", lambda _: {"value": wrong})
        outcome = await talk.conversation.prompt("hi")
        assert outcome.refused and "guard guard gave an invalid value" in str(outcome.refused)


def _faults(talk: Talk) -> list[str]:
    return [event.text for event in talk.reported]


async def test_input_of_an_extension_is_not_offered_to_itself(stage: Stage) -> None:
    """ext2-041: the sender is not asked about its own text, others are, with source extension."""
    x, y = stage.add("x", ["input", "chat"]), stage.add("y", ["input"])
    async with stage.talk(says("ok")) as talk:
        await x.intercept("input", _allow)
        await y.intercept("input", _allow)
        await x.result("chat.send", {"content": "go on", "deliver": "queue"})
        from zot.agent.queued_prompts import next_queued

        await next_queued(talk.conversation)
        assert not x.asked("input") and y.asked("input")[0]["source"] == "extension"
        assert y.asked("input")[0]["deliver"] == "queue"


async def test_steering_text_is_reviewed(stage: Stage) -> None:
    """§5.4: text that joins a running prompt is input with deliver steer."""
    x = stage.add("x", ["input"])
    silent, first = falls_silent()
    async with stage.talk([*first, *says("one")], says("two")) as talk:
        await x.intercept("input", lambda frame: value(text=frame["data"]["text"].upper()))
        async with asyncio.TaskGroup() as group:
            group.create_task(talk.conversation.prompt("go"))
            await silent.reached.wait()
            talk.conversation.steer("faster")
            silent.go_on.set()
        assert _words(talk, 1) == ["GO", "FASTER"] and x.asked("input")[1]["deliver"] == "steer"


async def test_without_the_word_nothing_is_asked(stage: Stage) -> None:
    """ext2-141: an interception whose word is not in uses is denied, with one diagnostic."""
    x = stage.add("x")
    async with stage.talk(says("ok")) as talk:
        await x.intercept("input", lambda _: {"block": True})
        await talk.conversation.prompt("hi")
        assert not x.asked("input") and any('"input"' in line for line in _faults(talk))


async def test_permissions_limit_the_new_interceptions(stage: Stage) -> None:
    """ext2-144: with permissions, the name must be in ``intercept`` as well."""
    x = stage.add("x", ["input"], permissions={"intercept": ["tool_call"], "net": True, "fs": {"write": ["."]}})
    async with stage.talk(says("ok")) as talk:
        await x.intercept("input", lambda _: {"block": True})
        await talk.conversation.prompt("hi")
        assert not x.asked("input")


async def test_rewrite_after_a_guard_is_put_to_it_again(stage: Stage) -> None:
    """ext2-147: what another extension rewrites after a guard is asked again; five rounds, then block."""
    guard, x = stage.add("guard", ["input"], capabilities=GUARD), stage.add("x", ["input"])
    async with stage.talk(says("ok")) as talk:

        def judge(frame: dict[str, Any]) -> Answer:
            return {"block": True, "reason": "secret"} if "secret" in frame["data"]["text"] else {}

        await guard.intercept("input", judge)
        await x.intercept("input", lambda _: value(text="the secret"))
        outcome = await talk.conversation.prompt("hi")
        assert outcome.refused and [one["text"] for one in guard.asked("input")] == ["hi", "the secret"]


async def test_guards_that_keep_changing_each_other_block(stage: Stage) -> None:
    """ext2-147: after five rounds it is denied."""
    one = stage.add("one", ["input"], capabilities=GUARD)
    two = stage.add("two", ["input"], capabilities=GUARD)
    async with stage.talk() as talk:
        await one.intercept("input", lambda frame: value(text=frame["data"]["text"] + "1"))
        await two.intercept("input", lambda frame: value(text=frame["data"]["text"] + "2"))
        outcome = await talk.conversation.prompt("hi")
        assert outcome.refused and "keep changing" in str(outcome.refused) and len(one.asked("input")) == 5


# --- prompts and requests


async def test_prompt_start_changes_hold_for_one_prompt(stage: Stage) -> None:
    """ext2-097: they hold for all steps of the prompt and end with it."""
    x = stage.add("x", ["context"])
    async with stage.talk(calls(("read", {})), says("a"), says("b")) as talk:
        talk.conversation.agent.set_tools([FakeTool()])
        message = {"role": "user", "content": [{"type": "text", "text": "the branch is main"}]}
        await x.intercept("prompt_start", lambda _: value(system_append="Be brief.", messages=[message]))
        await talk.conversation.prompt("go")
        await x.intercept("prompt_start", _allow)
        await talk.conversation.prompt("again")
        first, second, third = talk.client.requests
        assert first.system.endswith("Be brief.") and second.system == first.system
        assert not third.system.endswith("Be brief.")
        assert _words(talk, 0)[0].endswith("the branch is main") and _words(talk, 0)[1] == "go"
        asked = x.asked("prompt_start")[0]
        assert asked["text"] == "go" and asked["source"] == "sdk" and asked["tools"] == ["read"]
        assert not asked["system_prompt"].endswith("Be brief.")


async def test_blocked_prompt_start_ends_the_prompt(stage: Stage) -> None:
    """§5.4: the prompt ends with the reason."""
    x = stage.add("x", ["context"])
    async with stage.talk() as talk:
        await x.intercept("prompt_start", lambda _: {"block": True, "reason": "over budget"})
        outcome = await talk.conversation.prompt("go")
        assert "over budget" in str(outcome.refused or outcome.error) and not talk.client.requests


async def test_context_edit_holds_for_one_request(stage: Stage) -> None:
    """ext2-092: the transcript does not change; the last user message cannot be dropped (ext2-093)."""
    x = stage.add("x", ["context", "session.read"])
    async with stage.talk(says("one"), says("two"), says("three")) as talk:
        await talk.conversation.prompt("first")
        seen: list[dict[str, Any]] = []

        def edit(frame: dict[str, Any]) -> Answer:
            messages = frame["data"]["messages"]
            seen.append(frame["data"])
            drop = [messages[0]["entry_id"], messages[1]["entry_id"], messages[-1]["entry_id"]]
            insert = {"after": "", "message": {"role": "user", "content": "from x"}}
            return value(drop=drop, insert=[insert])

        await x.intercept("context", edit)
        await talk.conversation.prompt("second")
        await x.intercept("context", _allow)
        await talk.conversation.prompt("third")
        assert _words(talk, 1) == ["from x", "second"] and _words(talk, 1, "assistant") == []
        assert _words(talk, 2) == ["first", "second", "third"]
        assert any("last user message cannot be dropped" in line for line in _faults(talk))
        assert [message["role"] for message in seen[0]["messages"]] == ["user", "assistant", "user"]
        assert all(message["entry_id"] for message in seen[0]["messages"])


async def test_context_gives_only_new_content(stage: Stage) -> None:
    """ext2-095: with ``new`` a message's content is sent once, with ``none`` never, with ``full`` always."""
    x, y, z = (stage.add(name, ["context"]) for name in "xyz")
    async with stage.talk(says("one"), says("two")) as talk:
        await x.intercept("context", _allow)
        await y.intercept("context", _allow, content="full")
        await z.intercept("context", _allow, content="none")
        await talk.conversation.prompt("first")
        await talk.conversation.prompt("second")

        def with_content(puppet: Puppet, number: int) -> list[bool]:
            return ["content" in message for message in puppet.asked("context")[number]["messages"]]

        assert with_content(x, 0) == [True] and with_content(x, 1) == [False, True, True]
        assert with_content(y, 1) == [True, True, True] and with_content(z, 1) == [False, False, False]


async def test_dropped_call_takes_its_result_along(stage: Stage) -> None:
    """ext2-093: dropping a tool call drops its result."""
    x = stage.add("x", ["context"])
    async with stage.talk(calls(("read", {})), says("a")) as talk:
        talk.conversation.agent.set_tools([FakeTool()])

        def edit(frame: dict[str, Any]) -> Answer:
            return value(drop=[m["entry_id"] for m in frame["data"]["messages"] if m["role"] == "assistant"])

        await x.intercept("context", edit)
        await talk.conversation.prompt("go")
        assert [message.role for message in talk.client.requests[1].messages] == ["user"]


@pytest.mark.parametrize("role", ["assistant", "tool"])
async def test_insert_of_another_role_is_ignored(stage: Stage, role: str) -> None:
    """ext2-093: an insert that is not the user's is refused."""
    x = stage.add("x", ["context"])
    async with stage.talk(says("a")) as talk:
        insert = {"after": "", "message": {"role": role, "content": "I agree"}}
        await x.intercept("context", lambda _: value(insert=[insert]))
        await talk.conversation.prompt("go")
        assert _words(talk, 0) == ["go"] and any("expected user" in line for line in _faults(talk))


async def test_edit_before_the_cache_is_reported_once(stage: Stage) -> None:
    """ext2-094: an edit of what the provider has cached is said once per session, with the tokens."""
    x = stage.add("x", ["context"])
    async with stage.talk(says("1"), says("2"), says("3"), says("4")) as talk:
        await x.intercept("context", lambda frame: value(drop=[frame["data"]["messages"][0]["entry_id"]]))
        for text in ("a", "b", "c", "d"):
            await talk.conversation.prompt(text)
        assert len([line for line in _faults(talk) if "messages that the provider has cached" in line]) == 1


async def test_model_request_is_narrowed(stage: Stage) -> None:
    """ext2-096: tools only narrow, a step only appends to the system prompt; ext2-044: only x- headers."""
    x = stage.add("x", ["context"])
    async with stage.talk(says("a")) as talk:
        talk.conversation.agent.set_tools([FakeTool("read"), FakeTool("write2")])
        change = {
            "tools": ["read", "rm"],
            "system_append": "Say please.",
            "max_tokens": 100,
            "temperature": 0.5,
            "headers": {"x-team": "blue", "authorization": "Bearer stolen"},
        }
        await x.intercept("model_request", lambda _: {"value": change})
        await talk.conversation.prompt("go")
        (request,) = talk.client.requests
        assert [tool.name for tool in request.tools] == ["read"] and request.system.endswith("Say please.")
        assert (request.max_tokens, request.temperature, request.headers) == (100, 0.5, (("x-team", "blue"),))
        asked = x.asked("model_request")[0]
        assert asked["purpose"] == "step" and asked["tools"] == ["read", "write2"] and asked["message_count"] == 1
        assert any("authorization" in line for line in _faults(talk))


async def test_choosing_a_model_needs_its_word(stage: Stage) -> None:
    """§5.4: model and reasoning of a request need model.set as well."""
    x = stage.add("x", ["context"])
    async with stage.talk(says("a")) as talk:
        before = talk.conversation.agent.model.id
        await x.intercept("model_request", lambda _: value(model="gpt-5", reasoning="high"))
        await talk.conversation.prompt("go")
        assert talk.client.requests[0].model.id == before and any('"model.set"' in line for line in _faults(talk))


async def test_blocked_request_ends_the_step(stage: Stage) -> None:
    """§5.4: a block of context or model_request ends the step with an error."""
    x = stage.add("x", ["context"])
    async with stage.talk() as talk:
        await x.intercept("model_request", lambda _: {"block": True, "reason": "quota used up"})
        outcome = await talk.conversation.prompt("go")
        assert (outcome.stop, outcome.refused) == ("error", "quota used up") and not talk.client.requests


async def test_dead_guard_blocks_requests(stage: Stage) -> None:
    """ext2-146: a guard of model_request that died denies every request."""
    guard = stage.add("guard", ["context"], capabilities=GUARD)
    async with stage.talk() as talk:
        await guard.intercept("model_request", _allow)
        guard.die()
        await _gone(talk, "guard")
        outcome = await talk.conversation.prompt("go")
        assert outcome.refused.startswith("denied: the guard guard") and not talk.client.requests


async def test_silent_interceptor_is_skipped_and_silent_guard_blocks(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ext2-151: an extension that is no guard delays no longer than the limit; ext2-146: a guard's silence blocks."""
    monkeypatch.setattr("zot.features.extensions.edition2_interception.PROMPT_ANSWER", _quick())
    x, guard = stage.add("x", ["input"]), stage.add("guard", ["input"], capabilities=GUARD)
    async with stage.talk(says("ok")) as talk:
        await x.subscribe(intercept=["input"])
        assert not (await talk.conversation.prompt("hi")).refused
        await guard.subscribe(intercept=["input"])
        assert (await talk.conversation.prompt("hi")).refused


def _quick() -> Any:
    from zot.features.extensions.interception import AnswerLimit

    return AnswerLimit(0.3)


# --- tool calls and results


async def test_handled_call_is_answered_by_the_extension(stage: Stage) -> None:
    """ext2-037: the given content is the result; without the word results it is an error."""
    x, y = stage.add("x", ["results"]), stage.add("y")
    async with stage.talk(calls(("read", {})), says("a"), calls(("read", {})), says("a")) as talk:
        tool = FakeTool()
        talk.conversation.agent.set_tools([tool])
        answer = {"handled": True, "value": {"content": [{"type": "text", "text": "from the cache"}]}}
        await x.intercept("tool_call", lambda _: answer)
        await talk.conversation.prompt("go")
        assert _result(talk) == ("from the cache", False) and not tool.ran
        await x.subscribe(drop=["tool_call"])
        await y.intercept("tool_call", lambda _: answer)
        await talk.conversation.prompt("go")
        text, is_error = _result(talk, 3)
        assert is_error and 'lacks "results"' in text and not tool.ran


async def test_result_is_changed_and_the_original_kept(stage: Stage) -> None:
    """ext2-045: the model gets the changed result, the outcome row keeps the tool's own."""
    x, y = stage.add("x", ["results"]), stage.add("y", ["results"])
    async with stage.talk(calls(("read", {})), says("a")) as talk:
        talk.conversation.agent.set_tools([FakeTool()])
        await x.intercept("tool_result", lambda _: value(append="\n2 warnings", details={"n": 2}))
        await y.intercept("tool_result", lambda _: value(is_error=True))
        shown: list[AgentEvent] = []
        talk.conversation.subscribe(shown.append, ToolResultEvent)
        await talk.conversation.prompt("go")
        assert _result(talk) == ("the result\n2 warnings", True)
        asked = y.asked("tool_result")[0]
        assert asked["details"] == {"n": 2} and asked["is_error"] is False and asked["tool_name"] == "read"
        path = talk.conversation.session.path
        assert path is not None
        rows = path.read_text().splitlines()
        assert any('"original"' in row and "the result" in row for row in rows)


async def test_blocked_result_is_an_error_with_the_reason(stage: Stage) -> None:
    """§5.4: the model gets an error result with the reason."""
    x = stage.add("x", ["results"])
    async with stage.talk(calls(("read", {})), says("a")) as talk:
        talk.conversation.agent.set_tools([FakeTool()])
        await x.intercept("tool_result", lambda _: {"block": True, "reason": "contains a key"})
        await talk.conversation.prompt("go")
        assert _result(talk) == ("contains a key", True)


async def test_ask_where_nobody_can_be_asked_is_a_refusal(stage: Stage) -> None:
    """ext2-150: ``ask`` without a user denies, whatever the permission mode."""
    x = stage.add("x")
    async with stage.talk(calls(("read", {})), says("a"), permission_mode="everything") as talk:
        tool = FakeTool()
        talk.conversation.agent.set_tools([tool])
        await x.intercept("tool_call", lambda _: {"ask": True, "reason": "production"})
        await talk.conversation.prompt("go")
        text, is_error = _result(talk)
        assert is_error and "no user is present" in text and "production" in text and not tool.ran


# --- compaction


async def test_compaction_by_an_extension(stage: Stage) -> None:
    """§5.4: the given summary takes the model's place."""
    x = stage.add("x", ["context"])
    async with stage.talk(says("one"), says("two")) as talk:
        await talk.conversation.prompt("first")
        await talk.conversation.prompt("second")
        await x.intercept("compaction", lambda _: value(summary="They said first and second.", keep_tail=0))
        await talk.conversation.compact()
        asked = x.asked("compaction")[0]
        assert asked["trigger"] == "manual" and [m["role"] for m in asked["messages"]][:2] == ["user", "assistant"]
        assert "They said first and second." in talk.conversation.messages[0].text()
        assert len(talk.client.requests) == 2


async def test_blocked_compaction_is_left_out(stage: Stage) -> None:
    """§5.4: block leaves the compaction out and says why."""
    x = stage.add("x", ["context"])
    async with stage.talk(says("one"), says("two")) as talk:
        await talk.conversation.prompt("first")
        await talk.conversation.prompt("second")
        await x.intercept("compaction", lambda _: {"block": True, "reason": "not now"})
        from zot.errors import ZotError

        with pytest.raises(ZotError, match="not now"):
            await talk.conversation.compact()
        assert len(talk.conversation.messages) == 4


# --- cycles


async def test_child_is_not_asked_about_what_it_is_deciding(stage: Stage) -> None:
    """ext2-017: a request inside an interception does not ask the same interception of the same child."""
    x = stage.add("x", ["tools"])
    async with stage.talk(calls(("read", {})), says("a")) as talk:
        first, second = FakeTool("read"), FakeTool("second")
        talk.conversation.agent.set_tools([first, second])

        def asks(frame: dict[str, Any]) -> None:
            x.send(
                type="request",
                id="inner",
                method="tools.call",
                params={"name": "second", "args": {}},
                parent_id=frame["id"],
            )

        x.handlers["event_intercept"] = asks
        await x.subscribe(intercept=["tool_call"])

        async def release() -> None:
            await x.response("inner")
            (outer,) = x.of("event_intercept")
            x.send(type="event_intercept_response", id=outer["id"])

        async with asyncio.TaskGroup() as group:
            group.create_task(talk.conversation.prompt("go"))
            group.create_task(release())
        assert len(x.of("event_intercept")) == 1
