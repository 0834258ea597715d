"""Questions of extensions to the user: who may ask, what fits, time, and runs without a user."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_puppet import FakeExtensionUI, Stage
from zot.agent.config import FrontEnd
from zot.features.extensions.dialogs import DialogAnswer, ExtensionDialog

Answer = Callable[[ExtensionDialog], Awaitable[DialogAnswer]]


class FakeUser:
    """Answers dialogs when the test says so; ``asked`` are those that were shown."""

    def __init__(self) -> None:
        self.asked: list[ExtensionDialog] = []
        self.open: list[ExtensionDialog] = []
        self.answers: asyncio.Queue[DialogAnswer] = asyncio.Queue()
        self._shown = asyncio.Condition()

    async def __call__(self, question: ExtensionDialog) -> DialogAnswer:
        async with self._shown:
            self.asked.append(question)
            self.open.append(question)
            self._shown.notify_all()
        try:
            return await self.answers.get()
        finally:
            self.open.remove(question)

    async def sees(self, number: int) -> ExtensionDialog:
        """Returns when so many dialogs were shown."""
        async with asyncio.timeout(10), self._shown:
            await self._shown.wait_for(lambda: len(self.asked) >= number)
        return self.asked[number - 1]

    def front_end(self) -> FrontEnd:
        return FrontEnd(surface=FakeExtensionUI(), on_question=self, question_kinds=("dialog",))


CONFIRM = {"kind": "confirm", "title": "Deploy?"}


@pytest.mark.parametrize(
    ("params", "value"),
    [
        (CONFIRM, True),
        ({"kind": "select", "title": "t", "options": [{"value": "a"}, {"value": "b"}]}, "b"),
        ({"kind": "choose", "title": "t", "options": [{"value": "a"}, {"value": "b"}]}, ["a"]),
        ({"kind": "input", "title": "t"}, "text"),
        ({"kind": "editor", "title": "t"}, "one\ntwo"),
        ({"kind": "form", "title": "t", "fields": [{"name": "n", "kind": "integer"}]}, {"n": 3}),
        ({"kind": "url", "title": "t", "url": "https://a.b/c"}, True),
    ],
)
async def test_each_kind_returns_its_value(stage: Stage, params: dict[str, Any], value: Any) -> None:
    """ext2-068: the answer of the user reaches the extension, with its source."""
    x, user = stage.add(uses=["dialogs"]), FakeUser()
    async with stage.talk(front_end=user.front_end()):
        user.answers.put_nowait(DialogAnswer(value))
        assert await x.result("ui.ask", params) == {"value": value, "source": "person"}
        user.answers.put_nowait(DialogAnswer(cancelled=True))
        assert await x.result("ui.ask", params) == {"cancelled": True, "source": "person"}


@pytest.mark.parametrize("name", ["ZOT", "z0t", "System", "approval", "zоt"])
async def test_names_that_imitate_zot_may_not_ask(stage: Stage, name: str) -> None:
    """ext2-068: a name that could be taken for the host is denied dialogs, headers and footers."""
    x, user = stage.add(name, uses=["dialogs", "ui"]), FakeUser()
    async with stage.talk(front_end=user.front_end()):
        assert (await x.error("ui.ask", CONFIRM))[0] == "denied"
        x.send(type="contribute", id="c", kind="footer", name="f", value={"lines": ["x"]})
        assert (await x.response("c"))["error"]["code"] == "denied"


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"kind": "confirm"}, "title"),
        ({"kind": "confirm", "title": "x" * 201}, "title"),
        ({"kind": "select", "title": "t"}, "options"),
        ({"kind": "dance", "title": "t"}, "kind"),
        ({"kind": "form", "title": "t", "fields": [{"name": "a"}, {"name": "a"}]}, "fields"),
        ({"kind": "url", "title": "t", "url": "javascript:x"}, "url"),
        ({"kind": "confirm", "title": "t", "timeout_s": 4000}, "timeout_s"),
        ({"kind": "confirm", "title": "t", "default": "yes"}, "default"),
    ],
)
async def test_a_wrong_parameter_is_named(stage: Stage, params: dict[str, Any], named: str) -> None:
    """ext2-019: bad parameters of a dialog are refused, and the message names the parameter."""
    x = stage.add(uses=["dialogs"])
    async with stage.talk(front_end=FakeUser().front_end()):
        code, message = await x.error("ui.ask", params)
        assert code == "bad_params" and named in message


async def test_dialogs_are_shown_one_at_a_time_in_order(stage: Stage) -> None:
    """ext2-071: others wait, at most three for each extension, then `busy`; `cancel` takes one out."""
    x, y, user = stage.add("x", uses=["dialogs"]), stage.add("y", uses=["dialogs"]), FakeUser()
    async with stage.talk(front_end=user.front_end()) as talk:
        from zot.features.questions import question_queue

        question_queue(talk.conversation.services).present(user, ("dialog",))  # as the terminal does
        ids = [x.begin("ui.ask", {"kind": "confirm", "title": f"x{number}"}) for number in range(4)]
        await user.sees(1)
        assert (await x.error("ui.ask", CONFIRM))[0] == "busy"
        other = y.begin("ui.ask", {"kind": "confirm", "title": "y"})
        await y.request("none")
        x.send(type="cancel", id=ids[1])
        assert (await x.response(ids[1]))["error"]["code"] == "cancelled"
        for number in range(4):
            await user.sees(number + 1)
            assert len(user.open) == 1
            user.answers.put_nowait(DialogAnswer(True))
        await y.response(other)
        assert [question.params.title for question in user.asked] == ["x0", "x2", "x3", "y"]


async def test_cancel_closes_the_open_dialog(stage: Stage) -> None:
    """ext2-071: `cancel` closes the dialog; ext2-013: the response says `cancelled`."""
    x, user = stage.add(uses=["dialogs"]), FakeUser()
    async with stage.talk(front_end=user.front_end()):
        id = x.begin("ui.ask", CONFIRM)
        await user.sees(1)
        x.send(type="cancel", id=id)
        assert (await x.response(id))["error"]["code"] == "cancelled"
        assert not user.open


async def test_a_dialog_approves_no_tool_call(stage: Stage) -> None:
    """ext2-072: after an interceptor's dialog, zot's own approval still comes."""
    x, user = stage.add(uses=["dialogs"]), FakeUser()
    asked: list[str] = []

    async def present(question: Any) -> Any:
        asked.append(question.kind)
        return DialogAnswer(True) if question.kind == "dialog" else question.denial()

    front = FrontEnd(surface=FakeExtensionUI(), on_question=present, question_kinds=("dialog", "approval"))
    answers = (calls(("bash", {"command": "touch made"})), says("done"))
    async with stage.talk(*answers, front_end=front, permission_mode="ask") as talk:

        def decide(frame: dict[str, Any]) -> None:
            id = x.begin("ui.ask", CONFIRM, parent_id=frame["id"])

            async def answer() -> None:
                await x.response(id)
                x.send(type="event_intercept_response", id=frame["id"])

            tasks.append(asyncio.ensure_future(answer()))

        tasks: list[asyncio.Future[None]] = []
        x.handlers["event_intercept"] = decide
        await x.subscribe(intercept=["tool_call"])
        await talk.conversation.prompt("go")
        await asyncio.gather(*tasks)
    assert asked == ["dialog", "approval"]
    assert not (stage.root / "project" / "made").exists() and user.asked == []


@pytest.mark.parametrize("title", ["Your password", "API key of the service", "Access token"])
async def test_a_question_for_a_secret_is_reported_once(stage: Stage, title: str) -> None:
    """ext2-073: a dialog that asks for a credential gives one diagnostic."""
    x, user = stage.add(uses=["dialogs"]), FakeUser()
    async with stage.talk(front_end=user.front_end()) as talk:
        for _ in range(2):
            user.answers.put_nowait(DialogAnswer("x"))
            await x.request("ui.ask", {"kind": "input", "title": title})
        assert len([event for event in talk.reported if "secret" in event.text]) == 1


async def test_without_a_user_the_default_is_the_answer(stage: Stage) -> None:
    """ext2-021: §8.3: the default without a person, else `unavailable`, within 10 ms."""
    x = stage.add(uses=["dialogs"])
    async with stage.talk():
        assert await x.result("ui.ask", {**CONFIRM, "default": False}) == {"value": False, "source": "default"}
        began = time.monotonic()
        assert (await x.error("ui.ask", CONFIRM))[0] == "unavailable"
        assert time.monotonic() - began < 0.5


async def test_an_interceptors_dialog_never_takes_the_default(stage: Stage) -> None:
    """ext2-074: a dialog whose parent is an interception is `unavailable` without a user."""
    x = stage.add(uses=["dialogs"])
    async with stage.talk(calls(("read", {"path": "x"})), says("done")) as talk:
        id: list[str] = []

        def decide(frame: dict[str, Any]) -> None:
            id.append(x.begin("ui.ask", {**CONFIRM, "default": True}, parent_id=frame["id"]))
            x.send(type="event_intercept_response", id=frame["id"])

        # the response may come after the interception ended: then it says `cancelled`, never the default
        x.handlers["event_intercept"] = decide
        await x.subscribe(intercept=["tool_call"])
        await talk.conversation.prompt("go")
        answer = await x.response(id[0])
        assert answer["error"]["code"] in ("unavailable", "cancelled")


async def test_the_clock_of_an_interception_stands_still(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ext2-075, ext2-076: while the user thinks, neither the interception ends nor the guard fails."""
    monkeypatch.setattr("zot.wire.limits.INTERCEPT_REPLY", 0.4)
    x, user = stage.add(uses=["dialogs"], guard=True), FakeUser()
    answers = (calls(("bash", {"command": "touch made"})), says("done"))
    async with stage.talk(*answers, front_end=user.front_end(), permission_mode="everything") as talk:
        tasks: list[asyncio.Future[None]] = []

        async def answer(frame: dict[str, Any], id: str) -> None:
            said = (await x.response(id))["result"]
            x.send(type="event_intercept_response", id=frame["id"], block=not said.get("value"))

        def decide(frame: dict[str, Any]) -> None:
            id = x.begin("ui.ask", CONFIRM, parent_id=frame["id"])
            tasks.append(asyncio.ensure_future(answer(frame, id)))

        x.handlers["event_intercept"] = decide
        await x.subscribe(intercept=["tool_call"])
        prompt = asyncio.ensure_future(talk.conversation.prompt("go"))
        await user.sees(1)
        await asyncio.sleep(0.8)  # longer than an interception may take
        user.answers.put_nowait(DialogAnswer(True))
        await prompt
        await asyncio.gather(*tasks)
    assert (stage.root / "project" / "made").exists()


async def test_a_guard_that_dies_with_its_dialog_blocks(stage: Stage) -> None:
    """ext2-076: the death of a guard closes its dialog and blocks."""
    x, user = stage.add(uses=["dialogs"], guard=True), FakeUser()
    answers = (calls(("bash", {"command": "touch made"})), says("done"))
    async with stage.talk(*answers, front_end=user.front_end(), permission_mode="everything") as talk:
        x.handlers["event_intercept"] = lambda frame: x.begin("ui.ask", CONFIRM, parent_id=frame["id"]) and None
        await x.subscribe(intercept=["tool_call"])
        prompt = asyncio.ensure_future(talk.conversation.prompt("go"))
        await user.sees(1)
        x.die()
        await prompt
        assert not user.open
    assert not (stage.root / "project" / "made").exists()


async def test_an_abort_closes_the_dialogs_of_what_was_aborted(stage: Stage) -> None:
    """ext2-077: an abort closes the dialogs of the aborted call, with `cancelled`; others stay open."""
    x, user = stage.add(uses=["dialogs"]), FakeUser()
    async with stage.talk(calls(("build", {})), says("done"), front_end=user.front_end()) as talk:
        ids: list[str] = []
        x.handlers["tool_call"] = lambda frame: ids.append(x.begin("ui.ask", CONFIRM, parent_id=frame["id"]))
        x.send(type="register_tool", name="build", description="b", schema={"type": "object"})
        await x.request("none")
        prompt = asyncio.ensure_future(talk.conversation.prompt("go"))
        await user.sees(1)
        talk.conversation.abort()
        await prompt
        assert (await x.response(ids[0]))["error"]["code"] == "cancelled"
        assert not user.open


async def test_a_dialog_times_out(stage: Stage) -> None:
    """ext2-018: §29: a time-out gives the default with its source, or the error `timeout`."""
    x, user = stage.add(uses=["dialogs"]), FakeUser()
    async with stage.talk(front_end=user.front_end()):
        kept = x.begin("ui.ask", {**CONFIRM, "timeout_s": 1, "default": False})
        bare = x.begin("ui.ask", {**CONFIRM, "timeout_s": 1})
        assert (await x.response(kept))["result"] == {"value": False, "source": "timeout"}
        assert (await x.response(bare))["error"]["code"] == "timeout"
