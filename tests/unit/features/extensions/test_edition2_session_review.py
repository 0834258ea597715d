"""Interceptions before another session and after a prompt, and shell commands of the user."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.client import says
from tests.fakes.extension_puppet import Stage, Talk
from zot.agent import session_change
from zot.agent.queued_prompts import run_queued
from zot.agent.user_shell import ShellDraft
from zot.core.events import OF_EXTENSION
from zot.errors import ZotError
from zot.features.checkpoints.rewind import rewind

HOLD = ("session.hold",)
Answer = dict[str, Any]


def value(**keys: Any) -> Answer:
    return {"value": keys}


async def _subscribed(talk: Talk, name: str, event: str) -> None:
    child = talk.host.children.find(name)
    assert child is not None
    async with asyncio.timeout(10):
        while event not in child.events:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def _clear(talk: Talk, action: Any = "clear") -> None:
    if (changing := session_change.clear(talk.conversation, action)) is not None:
        await changing


async def test_every_change_of_session_is_asked(stage: Stage) -> None:
    """ext2-036: new, clear, resume, fork and rewind are put to the extension with what they would do."""
    x = stage.add(uses=HOLD)
    async with stage.talk(*[says("a")] * 4) as talk:
        conversation = talk.conversation
        await x.intercept("session_before", lambda frame: {})
        await conversation.prompt("first")
        assert conversation.session is not None
        first, path = conversation.session.id, conversation.session.path
        await _clear(talk)
        await _clear(talk, "new")
        await conversation.open_session(path)
        await conversation.fork(0)
        await conversation.open_session(path)
        await rewind(conversation, 1, "conversation")
        asked = x.asked("session_before")
        assert [one["action"] for one in asked] == ["clear", "new", "resume", "fork", "resume", "rewind"]
        assert asked[2]["target"] == first and not {"entry_id", "files"} & asked[2].keys()
        assert asked[5]["entry_id"] == asked[3].get("entry_id", asked[5]["entry_id"]) and "files" not in asked[5]


@pytest.mark.parametrize("action", ["new", "clear", "resume", "fork", "rewind"])
async def test_held_session_stays(stage: Stage, action: str) -> None:
    """§5.4: a block keeps the session, and the user reads the reason."""
    x = stage.add(uses=HOLD)
    async with stage.talk(*[says("a")] * 2) as talk:
        conversation = talk.conversation
        await conversation.prompt("first")
        assert conversation.session is not None
        path = conversation.session.path
        await _clear(talk)
        await conversation.prompt("second")
        await x.intercept("session_before", lambda frame: {"block": True, "reason": "not yet"})
        before = conversation.agent.session_id
        with pytest.raises(ZotError, match="not yet"):
            match action:
                case "resume":
                    await conversation.open_session(path)
                case "fork":
                    await conversation.fork(0)
                case "rewind":
                    await rewind(conversation, 1, "conversation")
                case _:
                    await _clear(talk, action)
        assert conversation.agent.session_id == before and conversation.messages[0].text() == "second"


async def test_message_is_carried_into_the_next_session(stage: Stage) -> None:
    """§5.4: ``carry`` is the first message of the target, marked with the extension."""
    x = stage.add(uses=HOLD)
    async with stage.talk(says("a"), says("b")) as talk:
        conversation = talk.conversation
        await conversation.prompt("first")
        await x.intercept("session_before", lambda frame: value(carry={"role": "user", "content": "we had: first"}))
        await _clear(talk, "new")
        (carried,) = conversation.messages
        assert carried.text() == "we had: first" and carried.meta[OF_EXTENSION] == "x"
        await conversation.prompt("second")
        assert [message.text() for message in talk.client.requests[1].messages] == ["we had: first", "second"]


async def test_wrong_carry_is_ignored_with_one_diagnostic(stage: Stage) -> None:
    """ext2-039: a value of a wrong shape changes nothing."""
    x = stage.add(uses=HOLD)
    async with stage.talk(says("a")) as talk:
        await talk.conversation.prompt("first")
        await x.intercept("session_before", lambda frame: value(carry="text"))
        await _clear(talk)
        assert not talk.conversation.messages
        assert [one.text for one in talk.reported if "carry: expected an object" in one.text]


async def test_exit_cannot_be_held(stage: Stage) -> None:
    """§5.4: the extension is asked and zot ends all the same."""
    x = stage.add(uses=HOLD)
    async with stage.talk(says("a")) as talk:
        await talk.conversation.prompt("first")
        await x.intercept("session_before", lambda frame: {"block": True})
    assert x.asked("session_before") == [{"action": "exit"}]


async def test_events_of_sessions_carry_reason_and_names(stage: Stage) -> None:
    """§5.3: ``session_start`` and ``session_end`` carry ``data`` for the second edition, and for no other child."""
    x, old = stage.add("x"), stage.add("old", capabilities=())
    async with stage.talk(says("a")) as talk:
        await x.subscribe("session_start", "session_end")
        old.send(type="subscribe", events=["session_start", "session_end"])
        await _subscribed(talk, "old", "session_start")
        first = talk.conversation.agent.session_id
        await talk.conversation.prompt("first")
        await _clear(talk, "new")
        second = talk.conversation.agent.session_id
        await x.frame("event", event="session_start")
        assert x.events("session_end") == [{"reason": "new", "session_id": first}]
        assert x.events("session_start") == [{"reason": "new", "session_id": second, "previous_session_id": first}]
        seen = await old.frame("event", event="session_start")
        assert "data" not in seen and not any("data" in frame for frame in old.of("event"))


# --- the end of a prompt


async def test_prompt_is_continued_after_its_end(stage: Stage) -> None:
    """ext2-042: ``continue`` starts another prompt with that text, marked with the extension."""
    x = stage.add(uses=("chat",))
    async with stage.talk(says("a"), says("b")) as talk:
        answers = iter([value(**{"continue": "and the tests?"}), {}])
        await x.intercept("prompt_end", lambda frame: next(answers))
        outcome = await talk.conversation.prompt("go")
        await run_queued(talk.conversation, outcome)
        assert [one["text"] for one in x.asked("prompt_end")] == ["a", "b"]
        assert x.asked("prompt_end")[0]["status"] == "completed" and x.asked("prompt_end")[0]["prompt_id"]
        last = talk.conversation.messages[2]
        assert last.text() == "and the tests?" and last.meta[OF_EXTENSION] == "x"


async def test_prompts_are_continued_ten_times_in_a_row(stage: Stage) -> None:
    """ext2-042: then one diagnostic and the end; a prompt of the user begins anew."""
    x = stage.add(uses=("chat",))
    async with stage.talk(*[says("a")] * 40) as talk:
        await x.intercept("prompt_end", lambda frame: value(**{"continue": "more"}))
        for expected in (11, 22):
            await run_queued(talk.conversation, await talk.conversation.prompt("go"))
            assert len(talk.client.requests) == expected
        assert len([one for one in talk.reported if "10 prompts in a row" in one.text]) == 1


async def test_aborted_prompt_is_not_continued(stage: Stage) -> None:
    """§5.4: whoever aborts a prompt does not want another one."""
    x = stage.add(uses=("chat",))
    async with stage.talk() as talk:
        await x.intercept("prompt_end", lambda frame: value(**{"continue": "more"}))
        talk.conversation.subscribe(lambda event: talk.conversation.abort())
        outcome = await talk.conversation.prompt("go")
        assert outcome.stop == "aborted" and not x.asked("prompt_end") and not talk.conversation.queued


async def test_words_are_needed(stage: Stage) -> None:
    """ext2-020: without their words of ``uses`` these interceptions are not subscribed."""
    x = stage.add()
    async with stage.talk(says("a")) as talk:
        for event in ("session_before", "prompt_end", "user_shell"):
            await x.intercept(event, lambda frame: {"block": True})
        await talk.conversation.prompt("go")
        await _clear(talk)
        assert not x.of("event_intercept")
        texts = " ".join(one.text for one in talk.reported)
        assert "session.hold" in texts and '"chat"' in texts and '"input"' in texts


# --- shell commands of the user


async def test_shell_command_is_changed_denied_or_answered(stage: Stage) -> None:
    """ext2-037: for ``user_shell`` the command is replaced, not run, or answered with output and code."""
    x = stage.add(uses=("input",))
    async with stage.talk() as talk:
        answers = iter(
            [value(command="ls -l"), {"block": True, "reason": "no"}, {"handled": True, **value(output="42", code=3)}]
        )
        await x.intercept("user_shell", lambda frame: next(answers))
        drafts = [ShellDraft("ls", "/work", hidden=False) for _ in range(3)]
        refusals = [await talk.conversation.features.on_shell(draft) for draft in drafts]
        assert x.asked("user_shell")[0] == {"command": "ls", "hidden": False, "cwd": "/work"}
        assert refusals == ["", "no", ""] and drafts[0].command == "ls -l"
        assert (drafts[2].handled, drafts[2].output, drafts[2].code) == ("x", "42", 3)
