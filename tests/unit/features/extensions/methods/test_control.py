"""``session.new``, ``switch``, ``fork``, ``rewind``, ``compact``, ``app.reload`` and ``app.exit``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes.client import Pause, calls, says
from tests.fakes.extension_puppet import FakeExtensionUI, Puppet, Stage, Talk
from zot.agent.config import FrontEnd
from zot.core.events import CompactionEnded
from zot.core.permission_gate import Answer
from zot.core.session.session import Session
from zot.features.questions import Approval

CONTROL = ("session.control", "session.read", "session.hold", "context")


class FakeScreen(FakeExtensionUI):
    """A terminal: records what it is asked to show."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[str, str, str]] = []
        self.left: list[str] = []

    async def show_session(self, session: Session | None, note: str, draft: str) -> None:
        self.shown.append(("" if session is None else session.id, note, draft))

    def leave(self, extension: str) -> Awaitable[bool] | None:
        self.left.append(extension)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        answer.set_result(len(self.left) > 1)
        return answer


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen within 10 s")


async def by_command(talk: Talk, puppet: Puppet, method: str, params: Any = None) -> dict[str, Any]:
    """The response to a request that serves a command of the user."""
    if "go" not in puppet.handlers:
        puppet.send(type="register_command", name="go")
        await puppet.request("none")

    def invoked(frame: dict[str, Any]) -> None:
        puppet.begin(method, params, parent_id=frame["id"], id="of-" + frame["id"])

    def answered(frame: dict[str, Any]) -> None:
        if frame["id"].startswith("of-"):
            puppet.send(type="command_response", id=frame["id"].removeprefix("of-"), action="noop")

    puppet.handlers |= {"command_invoked": invoked, "response": answered, "go": invoked}
    await talk.host.run_command("go", "")
    invocations = puppet.of("command_invoked")
    return await puppet.response("of-" + invocations[-1]["id"])


async def test_new_session_with_name_messages_draft_and_prompt(stage: Stage) -> None:
    """ext2-103: a command of the user starts a session with what the extension gives it."""
    x, screen = stage.add(uses=CONTROL), FakeScreen()
    async with stage.talk(says("old"), surface=screen) as talk:
        conversation = talk.conversation
        await conversation.prompt("before")
        first = conversation.agent.session_id
        params = {
            "name": "hand-off",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "the goal"}]}],
            "draft": "/go on",
            "prompt": "start here",
        }
        answer = await by_command(talk, x, "session.new", params)
        second = answer["result"]["session_id"]
        assert second == conversation.agent.session_id != first
        assert [message.text() for message in conversation.messages] == ["the goal"]
        assert conversation.session is not None and conversation.session.meta.title == "hand-off"
        assert screen.shown == [("", "extension x started a new session", "/go on")]
        assert [prompt.text for prompt in conversation.queued] == ["start here"]
        back = await by_command(talk, x, "session.switch", {"session_id": first})
        assert back["result"] == {"session_id": first}
        assert [message.text() for message in conversation.messages] == ["before", "old"]


async def test_fork_and_rewind_go_back_to_before_an_entry(stage: Stage) -> None:
    """ext2-103: ``entry_id`` is the first entry that the new session does not have."""
    x = stage.add(uses=CONTROL)
    async with stage.talk(says("one"), says("two")) as talk:
        conversation = talk.conversation
        await conversation.prompt("first")
        await conversation.prompt("second")
        entries = (await x.result("session.entries"))["entries"]
        forked = await by_command(talk, x, "session.fork", {"entry_id": entries[2]["entry_id"]})
        assert forked["result"]["session_id"] == conversation.agent.session_id
        assert [message.text() for message in conversation.messages] == ["first", "one"]
        rewound = await by_command(talk, x, "session.rewind", {"entry_id": entries[0]["entry_id"], "files": True})
        assert "session_id" in rewound["result"] and not conversation.messages
        unknown = await by_command(talk, x, "session.fork", {"entry_id": "nope"})
        assert unknown["error"]["code"] == "not_found"


async def test_change_without_a_command_asks_the_user(stage: Stage) -> None:
    """ext2-103: without a command of the user zot asks in its own dialog; headless it is refused."""
    asked: list[str] = []

    async def answer(question: Any) -> Answer:
        assert isinstance(question, Approval)
        asked.append(str(question.request))
        return Answer("once" if len(asked) == 1 else "deny")

    x = stage.add(uses=CONTROL)
    front = FrontEnd(on_question=answer, question_kinds=("approval",), mode="terminal")
    async with stage.talk(says("a"), front_end=front) as talk:
        await talk.conversation.prompt("hi")
        assert "session_id" in await x.result("session.new")
        assert "it wants to start a new session" in asked[0]
        assert (await x.error("session.new"))[0] == "refused" and len(asked) == 2
    async with stage.talk() as talk:
        code, message = await x.error("session.new")
        assert code == "refused" and "parent_id of a command" in message


async def test_running_turn_ends_first(stage: Stage) -> None:
    """ext2-104: a change ends the turn; two at a time conflict; a turn cannot wait for its own end."""
    x, pause = stage.add(uses=CONTROL), Pause()
    async with stage.talk([pause]) as talk:
        running = asyncio.create_task(talk.conversation.prompt("hi"))
        await pause.reached.wait()
        assert "session_id" in (await by_command(talk, x, "session.new"))["result"]
        assert (await running).stop == "aborted" and not talk.conversation.messages
        talk.host.changes_session = True
        conflict = await by_command(talk, x, "session.new")
        assert conflict["error"]["code"] == "conflict"
    y = stage.add("y", uses=CONTROL)
    async with stage.talk(calls(("ask", {})), says("done")) as talk:
        y.send(type="register_tool", name="ask", schema={"type": "object"})
        await y.request("none")
        prompting = asyncio.create_task(talk.conversation.prompt("go"))
        call = await y.frame("tool_call")
        code, message = await y.error("session.new", parent_id=call["id"])
        assert code == "conflict" and "use a command or key" in message
        y.send(type="tool_result", id=call["id"], content=[{"type": "text", "text": "ok"}])
        assert (await prompting).stop == "end"


async def test_change_passes_session_before(stage: Stage) -> None:
    """ext2-104: an extension that holds back the change leaves the session as it is."""
    x, guard = stage.add(uses=CONTROL), stage.add("keeper", uses=["session.hold"])
    async with stage.talk(says("a")) as talk:
        await talk.conversation.prompt("hi")
        await guard.intercept("session_before", lambda frame: {"block": True, "reason": "unsaved work"})
        before = talk.conversation.agent.session_id
        for method in ("session.new", "session.fork"):
            entry = (await x.result("session.entries"))["entries"][0]["entry_id"]
            params = {"entry_id": entry} if method == "session.fork" else None
            assert (await by_command(talk, x, method, params))["result"] == {"cancelled": True}
        assert talk.conversation.agent.session_id == before and len(talk.conversation.messages) == 2
        assert [data["action"] for data in guard.asked("session_before")] == ["new", "fork"]


async def test_compaction_runs_at_the_end_of_the_step(stage: Stage) -> None:
    """ext2-103: ``session.compact`` may come from any handler; it runs before the next step, or when idle."""
    x = stage.add(uses=CONTROL)
    ended: list[CompactionEnded] = []
    answers = [
        says("one"),
        says("two"),
        says("three"),
        calls(("ask", {})),
        says("summary"),
        says("done"),
        says("again"),
    ]
    async with stage.talk(*answers) as talk:
        conversation = talk.conversation
        conversation.subscribe(lambda event: ended.append(event) or None, CompactionEnded)  # type: ignore[arg-type]
        for text in ("a", "b", "c"):
            await conversation.prompt(text)
        x.send(type="register_tool", name="ask", schema={"type": "object"})
        await x.request("none")
        prompting = asyncio.create_task(conversation.prompt("go"))
        call = await x.frame("tool_call")
        assert await x.result("session.compact", {"instructions": "keep names"}, parent_id=call["id"]) == {}
        assert not ended
        x.send(type="tool_result", id=call["id"], content=[{"type": "text", "text": "ok"}])
        assert (await prompting).stop == "end"
        assert [event.status for event in ended] == ["completed"]
        assert "keep names" in str(talk.client.requests[4].messages)
        assert await x.result("session.compact") == {}
        await until(lambda: len(ended) == 2)
        assert ended[1].status == "completed"


async def test_headless_has_one_session(stage: Stage) -> None:
    """§20: in print and JSON mode there are compact and exit only."""
    x = stage.add(uses=CONTROL)
    async with stage.talk(says("a"), front_end=FrontEnd(mode="print")) as talk:
        await talk.conversation.prompt("hi")
        for method, params in (("session.new", None), ("session.switch", {"session_id": "s"})):
            assert (await x.error(method, params))[0] == "unavailable"
        assert await x.result("app.exit") == {}


async def test_exit_waits_until_idle_and_the_user_may_stop_it(stage: Stage) -> None:
    """ext2-103: ``app.exit`` answers, waits for the end of the work, and asks the screen to leave."""
    x, screen, pause = stage.add(uses=CONTROL), FakeScreen(), Pause()
    front = FrontEnd(mode="terminal", surface=screen)
    async with stage.talk([pause, *says("a")], front_end=front) as talk:
        running = asyncio.create_task(talk.conversation.prompt("hi"))
        await pause.reached.wait()
        assert await x.result("app.exit") == {} and not screen.left
        pause.go_on.set()
        await running
        await until(lambda: any("you stopped it" in event.text for event in talk.reported))
        assert screen.left == ["x"]


async def test_client_ends_its_own_process(stage: Stage) -> None:
    """§20: the program that started zot ends it."""
    x = stage.add(uses=CONTROL)
    async with stage.talk():
        code, message = await x.error("app.exit")
        assert code == "unavailable" and "program that started zot" in message
