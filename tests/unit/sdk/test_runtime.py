"""The Runtime against a scripted model on a real socket."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, Slow
from zot.errors import AgentBusy, BadRequest, CompactionFailed, NotLoggedIn, Overloaded, RuntimeClosed, UsageError
from zot.sdk import (
    AssistantMessage,
    Done,
    Error,
    Event,
    RetryWait,
    Runtime,
    TextDelta,
    ToolResult,
    TurnEnd,
    UserMessage,
    decode,
    text_of,
)
from zot.wire import events as wire

Serve = Callable[..., FakeModelServer]
Embed = Callable[..., Runtime]
ENDLESS = Slow(Say("word " * 2000), 0.005)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


async def read(stream: Any) -> list[Event]:
    return [event async for event in stream]


def types(events: list[Event]) -> list[str]:
    return [str(type(event).__struct_config__.tag) for event in events]


async def test_prompt_streams_typed_events_and_ends_after_done(serve: Serve, embed: Embed) -> None:
    async with embed(serve(Say("Hello there"))) as zot:
        events = await read(zot.prompt("hi"))
    assert isinstance(events[0], UserMessage) and isinstance(events[-1], Done)
    assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == "Hello there"
    assert types(events).index("turn_start") < types(events).index("usage") < types(events).index("turn_end")


async def test_events_have_the_shape_of_the_wire(serve: Serve, embed: Embed) -> None:
    """Events of the SDK, encoded, are decoded by ``decode`` as equal values."""
    async with embed(serve(CallTools([("bash", {"command": "echo one"})], "Let me look."), Say("one"))) as zot:
        events = await read(zot.prompt("hi"))
    assert [decode(msgspec.json.encode(event)) for event in events] == events


async def test_a_transcript_of_the_json_mode_is_read_as_the_same_types(serve: Serve, embed: Embed) -> None:
    """The SDK's events encode to the very lines of the encoder that ``--json`` and ``zot rpc`` share."""
    lines: list[bytes] = []
    async with embed(serve(Say("Hello"))) as zot:
        zot._built.subscribe(  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
            lambda event: lines.append(line) if (line := wire.encode(event)) else None
        )
        events = await read(zot.prompt("hi"))
    assert [msgspec.json.encode(event) for event in events] == lines


async def test_overlapping_prompt_is_rejected_and_first_continues(serve: Serve, embed: Embed) -> None:
    """rpc-062: busy on overlap."""
    async with embed(serve(Slow(Say("a b c"), 0.01))) as zot:
        first = zot.prompt("hi")
        with pytest.raises(AgentBusy, match="runtime is busy"):
            zot.prompt("again")
        with pytest.raises(AgentBusy):
            await zot.compact()
        with pytest.raises(AgentBusy):
            await zot.set_model("claude-haiku-4-5")
        assert zot.busy and isinstance((await read(first))[-1], Done)
        assert not zot.busy


async def test_closed_runtime_raises_and_second_close_is_harmless(serve: Serve, embed: Embed) -> None:
    """rpc-062: Prompt after Close raises closed."""
    async with embed(serve(Say("x"))) as zot:
        await zot.close()
        with pytest.raises(RuntimeClosed, match="runtime is closed"):
            zot.prompt("hi")
        await zot.close()


async def test_cancel_when_idle_is_harmless(serve: Serve, embed: Embed) -> None:
    """rpc-062: Cancel when idle."""
    async with embed(serve(Say("fine"))) as zot:
        await zot.cancel()
        assert await zot.ask("hi") == "fine"
        await zot.cancel()
        assert zot.state().message_count == 2


async def test_cancel_ends_the_stream_with_aborted_and_done(serve: Serve, embed: Embed) -> None:
    async with embed(serve(ENDLESS, Say("after"))) as zot:
        seen: list[Event] = []
        async for event in zot.prompt("hi"):
            seen.append(event)
            if isinstance(event, TextDelta) and len(seen) < 10:
                await zot.cancel()
        assert seen[-2:] == [TurnEnd(stop="aborted", error=seen[-2].error), Done()]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
        assert not any(isinstance(event, Error) for event in seen)
        assert await zot.ask("again") == "after"


async def test_breaking_the_loop_cancels_prompt_and_next_one_works(serve: Serve, embed: Embed) -> None:
    server = serve(ENDLESS, Say("after"))
    async with embed(server) as zot:
        async for event in zot.prompt("hi"):
            if isinstance(event, TextDelta):
                break
        assert await zot.ask("again") == "after"
    assert await asyncio.to_thread(server.wait_until_client_closes)


async def test_retained_stream_ends_with_its_loop(serve: Serve, embed: Embed) -> None:
    """Not when the garbage collector finds it: the next prompt runs at once, and the server is let go."""
    server = serve(ENDLESS, Say("after"))
    async with embed(server) as zot:
        stream = zot.prompt("hi")
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        assert not zot.busy
        assert await zot.ask("again") == "after"
        assert stream is not None
    assert await asyncio.to_thread(server.wait_until_client_closes)


async def test_a_runtime_is_opened_and_closed_without_a_block(serve: Serve, embed: Embed) -> None:
    zot = await embed(serve(Say("fine"))).open()
    assert await zot.ask("hi") == "fine"
    await zot.close()
    with pytest.raises(RuntimeClosed):
        zot.prompt("more")
    with pytest.raises(UsageError, match=r"open the Runtime first"):
        embed(serve()).state()


async def test_protocol_names_and_older_names_are_equivalent(serve: Serve, embed: Embed) -> None:
    async with embed(serve(Say("one"), Say("two"))) as zot:
        assert zot.models() == zot.list_models() != ()
        await zot.abort()
        await zot.cancel()
        await zot.ask("hi")
        await zot.clear()
        assert zot.messages() == () and await zot.ask("again") == "two"


async def test_script_is_a_file_or_its_content(tmp_path: Path) -> None:
    script = {"turns": [{"text": "from a dict"}]}
    (tmp_path / "script.json").write_bytes(msgspec.json.encode(script))
    for given in (script, tmp_path / "script.json", str(tmp_path / "script.json")):
        async with Runtime(script=given, home=tmp_path, cwd=tmp_path) as zot:
            assert await zot.ask("hi") == "from a dict"
            with pytest.raises(BadRequest, match="has no turn 2"):
                await zot.ask("more")


async def test_an_exception_in_the_loop_cancels_the_prompt(serve: Serve, embed: Embed) -> None:
    server = serve(ENDLESS, Say("after"))
    async with embed(server) as zot:
        with pytest.raises(ZeroDivisionError):
            async for event in zot.prompt("hi"):
                if isinstance(event, TextDelta):
                    raise ZeroDivisionError
        assert await zot.ask("again") == "after"


async def test_a_timeout_around_the_loop_cancels_the_prompt(serve: Serve, embed: Embed) -> None:
    async with embed(serve(ENDLESS, Say("after"))) as zot:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await read(zot.prompt("hi"))
        assert await zot.ask("again") == "after"


async def test_retained_stream_ends_with_its_block(serve: Serve, embed: Embed) -> None:
    async with embed(serve(ENDLESS, Say("after"))) as zot:
        async with zot.prompt("hi") as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        assert not zot.busy and await zot.ask("again") == "after"
        assert events is not None


async def test_prompt_dropped_while_queued_never_reaches_model(serve: Serve, embed: Embed) -> None:
    server = serve(Say("only"))
    async with embed(server) as zot:
        zot.prompt("never read")
        assert await zot.ask("read") == "only"
    assert len(server.requests) == 1


async def test_a_failing_model_is_an_error_event_and_asking_raises_it(serve: Serve, embed: Embed) -> None:
    refusal = Refuse(400, {"error": {"type": "invalid_request_error", "message": "no such thing"}})
    async with embed(serve(refusal, refusal)) as zot:
        events = await read(zot.prompt("hi"))
        assert types(events)[-3:] == ["turn_end", "error", "done"]
        with pytest.raises(BadRequest, match="no such thing"):
            await zot.ask("hi")


async def test_compacting_returns_the_summary_and_leaves_one_message(serve: Serve, embed: Embed) -> None:
    async with embed(serve(Say("answer"), Say("the summary"))) as zot:
        with pytest.raises(CompactionFailed, match="nothing to compact"):
            await zot.compact()
        await zot.ask("question")
        assert await zot.compact() == "the summary"
        assert [message.role for message in zot.messages()] == ["user"]
        assert "the summary" in text_of(zot.messages()[0])


async def test_state_messages_cost_and_models_can_be_looked_at(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    async with embed(serve(Say("answer", usage=(10, 5)))) as zot:
        await zot.ask("question")
        state = zot.state()
        assert (state.provider, state.cwd, state.message_count) == ("anthropic", str(tmp_path / "project"), 2)
        assert (zot.cost().input, zot.cost().output, state.usage) == (10, 5, zot.cost())
        assert [(message.role, text_of(message)) for message in zot.messages()] == [
            ("user", "question"),
            ("assistant", "answer"),
        ]
        assert {model.provider for model in zot.list_models()} == {"anthropic"}


async def test_changed_model_is_used_from_the_next_prompt(serve: Serve, embed: Embed) -> None:
    server = serve(Say("one"), Say("two"))
    async with embed(server, model="claude-opus-4-5") as zot:
        await zot.ask("hi")
        with pytest.raises(UsageError, match='unknown model "nonsense"'):
            await zot.set_model("nonsense")
        await zot.set_model("claude-haiku-4-5")
        await zot.ask("hi")
    assert [request.json["model"] for request in server.requests] == ["claude-opus-4-5", "claude-haiku-4-5"]


async def test_history_can_be_seeded_and_dropped(serve: Serve, embed: Embed) -> None:
    server = serve(CallTools([("bash", {"command": "echo x"})]), Say("one"), Say("two"), Say("three"))
    async with embed(server) as zot:
        await zot.ask("first question")
        history = zot.messages()
        await zot.set_messages()
        assert zot.messages() == () and zot.cost().input > 0
        await zot.set_messages(history)
        assert zot.messages() == history
        await zot.ask("second question")
    assert "first question" in server.requests[-1].body.decode()


async def test_images_go_with_the_prompt_and_other_files_are_refused(
    serve: Serve, embed: Embed, tmp_path: Path
) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    (tmp_path / "notes.txt").write_text("no image")
    server = serve(Say("seen"))
    async with embed(server) as zot:
        with pytest.raises(UsageError, match=r"notes\.txt: expected PNG"):
            zot.prompt("look", [tmp_path / "notes.txt"])
        assert await zot.ask("look", [PNG, tmp_path / "shot.png"]) == "seen"
    kinds = [block["type"] for block in server.requests[0].json["messages"][0]["content"]]
    assert kinds == ["text", "image", "image"]


async def test_sessions_are_off_unless_a_directory_is_given(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    server = serve(Say("one"), Say("two"), Say("three"))
    async with embed(server) as zot:
        await zot.ask("forgotten")
    assert not list((tmp_path / "home").glob("sessions/**/*.jsonl"))
    async with embed(server, sessions=tmp_path / "kept") as zot:
        await zot.ask("remembered")
    assert len(list((tmp_path / "kept").rglob("*.jsonl"))) == 1
    async with embed(server, sessions=tmp_path / "kept", continue_session=True) as zot:
        assert text_of(zot.messages()[0]) == "remembered"


async def test_step_limit_defaults_to_fifty(serve: Serve, embed: Embed) -> None:
    server = serve(CallTools([("bash", {"command": "true"})]), repeat=True)
    async with embed(server, max_steps=2) as zot:
        events = await read(zot.prompt("hi"))
        assert [event.message for event in events if isinstance(event, Error)] == ["max steps (2) exceeded"]
    assert len(server.requests) == 2


async def test_missing_credential_raises_on_enter(tmp_path: Path) -> None:
    from zot.errors import NotLoggedIn

    with pytest.raises(NotLoggedIn, match="ANTHROPIC_API_KEY"):
        async with Runtime(provider="anthropic", home=tmp_path, environ={}):
            pass


async def test_the_environment_given_is_where_keys_are_looked_for(serve: Serve, tmp_path: Path) -> None:
    server = serve(Say("hi"))
    keys = {"ANTHROPIC_API_KEY": "key-of-the-caller"}
    async with Runtime(provider="anthropic", base_url=server.url, home=tmp_path, environ=keys) as zot:
        await zot.ask("hi")
    assert server.requests[0].headers["x-api-key"] == "key-of-the-caller"


@pytest.mark.parametrize(
    "wrong", [{"modle": "x"}, {"reasoning": "very"}, {"max_steps": -1}, {"continue_session": True}]
)
def test_a_wrong_option_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, UsageError), match=next(iter(wrong))):
        Runtime(**wrong)


async def test_process_state_is_unchanged(serve: Serve, embed: Embed) -> None:
    before = (os.getcwd(), dict(os.environ), [signal.getsignal(number) for number in signal.valid_signals()])
    async with embed(serve(CallTools([("bash", {"command": "true"})]), Say("ok"))) as zot:
        await zot.ask("hi")
    assert before == (os.getcwd(), dict(os.environ), [signal.getsignal(number) for number in signal.valid_signals()])


async def test_tools_work_in_the_directory_of_the_runtime(serve: Serve, embed: Embed, tmp_path: Path) -> None:
    server = serve(CallTools([("bash", {"command": "pwd"})]), Say("ok"))
    async with embed(server) as zot:
        events = await read(zot.prompt("where"))
    results = [event for event in events if isinstance(event, ToolResult)]
    assert str(tmp_path / "project") in results[0].content[0].text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert os.getcwd() != str(tmp_path / "project")


async def test_a_system_prompt_may_be_replaced_and_appended_to(serve: Serve, embed: Embed) -> None:
    server = serve(Say("ok"))
    async with embed(server, system_prompt="You are a parrot.", append_system_prompt=["Be brief."]) as zot:
        await zot.ask("hi")
    system = str(server.requests[0].json["system"])
    assert "You are a parrot." in system and "Be brief." in system


async def test_the_last_message_is_the_answer(serve: Serve, embed: Embed) -> None:
    async with embed(serve(CallTools([("bash", {"command": "true"})], "Let me see."), Say("Done."))) as zot:
        events = await read(zot.prompt("hi"))
    messages = [text_of(event) for event in events if isinstance(event, AssistantMessage)]
    assert messages == ["Let me see.", "Done."]


async def test_a_fallback_model_takes_over_and_is_a_notice(serve: Serve, embed: Embed) -> None:
    server = serve(Refuse(401, "wrong key"), Say("hello"), Say("again"))
    async with embed(server, fallback_model="claude-haiku-4-5") as zot:
        kinds = [type(event).__name__ async for event in zot.prompt("hi")]
        assert kinds.count("Done") == 1 and kinds[-1] == "Done" and "Error" not in kinds
        assert zot.model == "claude-haiku-4-5" and len(zot.notices) == 1
        assert "claude-sonnet-5-5 failed" in zot.notices[0]
        assert await zot.ask("more") == "again"


async def test_unusable_fallback_model_raises_on_enter(serve: Serve, embed: Embed) -> None:
    with pytest.raises(NotLoggedIn, match="fallback_model='openai/gpt-5': no credential"):
        async with embed(serve(), fallback_model="openai/gpt-5"):
            pass


async def test_retries_are_events_and_an_option(serve: Serve, embed: Embed) -> None:
    server = serve(Refuse(529, "busy", {"retry-after": "0.6"}), Say("ok"), Refuse(529, "busy"))
    async with embed(server, retries=1) as zot:
        seen = [event async for event in zot.prompt("hi")]
    [wait] = [event for event in seen if isinstance(event, RetryWait)]
    assert (wait.attempt, wait.attempts, wait.wait_s, wait.reason) == (2, 2, 0.6, "overloaded")
    async with embed(server, retries=0) as zot:
        with pytest.raises(Overloaded):
            await zot.ask("hi")
    with pytest.raises(UsageError, match="retries: expected a whole number"):
        embed(server, retries=-1)
