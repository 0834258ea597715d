"""``bus.publish`` and ``theme.*``."""

from __future__ import annotations

from typing import Any

from tests.fakes.client import says
from tests.fakes.extension_puppet import FakeExtensionUI, Stage


async def test_message_reaches_other_subscribers(stage: Stage) -> None:
    """ext2-135: ``from`` is set by zot, topics filter, and what is not observed is not delivered."""
    a, b, c = stage.add("a", uses=["bus"]), stage.add("b"), stage.add("c")
    async with stage.talk():
        await a.subscribe("bus")
        await b.subscribe("bus", options={"bus": {"topics": ["plan/step"]}})
        await c.request("none")
        params = {"topic": "plan/step", "payload": {"n": 1, "from": "zot"}}
        assert await a.result("bus.publish", params) == {"delivered": 1}
        await b.request("none")
        assert b.events("bus") == [{"topic": "plan/step", "from": "a", "payload": {"n": 1, "from": "zot"}}]
        assert await a.result("bus.publish", {"topic": "other"}) == {"delivered": 0}
        assert await a.result("bus.publish", {"topic": "plan/step", "to": "c"}) == {"delivered": 0}
        assert not a.events("bus") and not c.of("event")


async def test_order_is_kept_and_late_subscribers_get_nothing(stage: Stage) -> None:
    """ext2-135: delivered in order, not stored."""
    a, b = stage.add("a", uses=["bus"]), stage.add("b")
    async with stage.talk():
        await a.result("bus.publish", {"topic": "t", "payload": 0})
        await b.subscribe("bus")
        for number in range(1, 20):
            a.begin("bus.publish", {"topic": "t", "payload": number})
        await a.result("bus.publish", {"topic": "t", "payload": 20})
        await b.request("none")
        assert [event["payload"] for event in b.events("bus")] == list(range(1, 21))


async def test_bus_has_limits_and_needs_its_word(stage: Stage) -> None:
    """ext2-136: 100 messages a second, 64 KiB each; the word ``bus``; no grant travels with a message."""
    a, b = stage.add("a", uses=["bus"]), stage.add("b")
    async with stage.talk(says("hello")) as talk:
        await b.subscribe("bus")
        assert (await b.error("bus.publish", {"topic": "t"}))[0] == "denied"
        assert (await a.error("bus.publish", {"topic": "T!"}))[0] == "bad_params"
        assert (await a.error("bus.publish", {"topic": "t", "payload": "x" * (64 << 10)}))[0] == "too_large"
        assert (await a.error("bus.publish", {"topic": "t", "to": "nope"}))[0] == "not_found"
        ids = [a.begin("bus.publish", {"topic": "t"}) for _ in range(60)]
        ids += [a.begin("bus.publish", {"topic": "t"}) for _ in range(160)]
        answers = [await a.response(id) for id in ids]
        assert "busy" in {answer.get("error", {}).get("code") for answer in answers}
        await talk.conversation.prompt("hi")
        assert "topic" not in str(talk.client.requests[0].messages)


class FakeThemes(FakeExtensionUI):
    def __init__(self) -> None:
        super().__init__()
        self.chosen = "dark"

    def theme_info(self) -> dict[str, Any]:
        return {"name": self.chosen, "base": "dark", "roles": {"accent": "#ff0000"}, "themes": ["dark", "light"]}

    def set_theme(self, name: str) -> str:
        if name not in ("dark", "light"):
            return f"unknown theme {name!r}"
        self.chosen = name
        return ""


async def test_theme_is_read_by_all_and_set_with_ui(stage: Stage) -> None:
    """ext2-134: get and list are free, set needs ``ui`` and holds for the run."""
    a, b, screen = stage.add("a", uses=["ui"]), stage.add("b"), FakeThemes()
    async with stage.talk(surface=screen):
        assert await b.result("theme.get") == {"name": "dark", "base": "dark", "roles": {"accent": "#ff0000"}}
        assert await b.result("theme.list") == {"themes": ["dark", "light"]}
        assert (await b.error("theme.set", {"name": "light"}))[0] == "denied"
        await a.subscribe("theme_changed")
        assert await a.result("theme.set", {"name": "light"}) == {} and screen.chosen == "light"
        assert (await a.error("theme.set", {"name": "nope"}))[0] == "not_found"
        screen.on_change("theme_changed", {"name": "light", "base": "light"})
        await a.request("none")
        assert a.events("theme_changed") == [{"name": "light", "base": "light"}]
    async with stage.talk():
        assert (await b.error("theme.get"))[0] == "unavailable"
