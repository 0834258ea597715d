"""Settings, secrets and words of extensions in a conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.fakes.extension_puppet import Stage
from zot.agent.config import FrontEnd
from zot.agent.settings import Settings
from zot.core.permission_gate import Answer
from zot.features.extensions.loader.extension_settings import secret_place
from zot.features.questions import Approval

SETTINGS: dict[str, Any] = {
    "region": {"type": "string", "default": "eu"},
    "count": {"type": "integer", "default": 1, "maximum": 9},
    "key": {"type": "string", "secret": True},
}


def _save(stage: Stage, **values: Any) -> None:
    home = stage.root / "home"
    home.mkdir(exist_ok=True)
    Settings(home).save(**values)


async def test_values_come_with_the_ack_and_on_request(stage: Stage) -> None:
    """ext2-128: defaults included, secrets left out; a value that does not fit is reported and the default used."""
    x = stage.add(settings=SETTINGS)
    _save(stage, extensions={"x": {"region": "us", "count": 10}})
    async with stage.talk() as talk:
        ack = await x.frame("hello_ack")
        assert ack["settings"] == {"region": "us", "count": 1}
        assert (await x.result("settings.get"))["values"] == {"region": "us", "count": 1}
        (status,) = talk.host.statuses()
        assert [one for one in status.faults if "count: expected at most 9" in one]


async def test_own_settings_are_set_and_told(stage: Stage) -> None:
    """ext2-128: on disk before the answer; a change by the user is an event."""
    x = stage.add(settings=SETTINGS)
    async with stage.talk() as talk:
        await x.subscribe("settings_changed")
        await x.result("settings.set", {"name": "region", "value": "us"})
        assert Settings(stage.root / "home").values.extensions == {"x": {"region": "us"}}
        talk.conversation.settings.save(extensions={"x": {"region": "asia"}})
        talk.conversation.apply_settings()
        talk.conversation.apply_settings()
        await x.frame("event", event="settings_changed")
        await x.request("none")
        assert x.events("settings_changed") == [{"values": {"region": "asia", "count": 1}}]
        assert (await x.error("settings.set", {"name": "count", "value": "2"}))[0] == "bad_params"
        assert (await x.error("settings.set", {"name": "none", "value": 1}))[0] == "not_found"
        assert (await x.error("settings.set", {"name": "key", "value": "s"}))[0] == "refused"


async def test_own_secret_is_given_and_masked_in_traces(stage: Stage) -> None:
    """ext2-130, ext2-132: from the credential store; a trace has it nowhere, also where the child repeats it."""
    x = stage.add(settings=SETTINGS)
    async with stage.talk() as talk:
        seen: list[bytes] = []
        talk.host.traces.append(lambda name, direction, line: seen.append(line))
        assert (await x.error("secrets.get", {"name": "key"})) == (
            "not_found",
            "secrets.get: name: key is not set; the user sets it with `zot ext set x key`",
        )
        talk.conversation.auth.set_api_key(secret_place("x", "key"), "s3cret-value")
        assert await x.result("secrets.get", {"name": "key"}) == {"value": "s3cret-value"}
        x.send(type="notify", level="info", message="it is s3cret-value")
        await x.request("none")
        assert b"s3cret" not in b"".join(seen) and b"[removed]" in b"".join(seen)
        assert (await x.error("secrets.get", {"name": "region"}))[0] == "bad_params"
        assert (await x.error("secrets.get", {}))[0] == "bad_params"


async def test_key_of_a_provider_needs_word_and_yes(stage: Stage) -> None:
    """ext2-131: the word, and a yes to zot's own question; without a user it is refused."""
    asked: list[Any] = []

    async def answer(question: Any) -> Any:
        assert isinstance(question, Approval)
        asked.append(question.request)
        return Answer("once")

    x, y = stage.add("x", uses=("secrets.openai",)), stage.add("y")
    front = FrontEnd(on_question=answer, question_kinds=frozenset({"approval"}))
    async with stage.talk(front_end=front) as talk:
        talk.conversation.auth.set_api_key("openai", "sk-of-the-user")
        assert await x.result("secrets.get", {"provider": "openai"}) == {"value": "sk-of-the-user"}
        assert "it wants your key for openai" in str(asked)
        assert (await y.error("secrets.get", {"provider": "openai"}))[0] == "denied"


async def test_key_of_a_provider_is_refused_without_user(stage: Stage) -> None:
    """ext2-131: headless before the yes: ``refused``."""
    x = stage.add(uses=("secrets.openai",))
    async with stage.talk() as talk:
        talk.conversation.auth.set_api_key("openai", "sk-of-the-user")
        code, text = await x.error("secrets.get", {"provider": "openai"})
        assert code == "refused" and "no user is present" in text


async def test_denied_word_does_not_hold(stage: Stage) -> None:
    """ext2-143: ``granted`` shows it, and the method is denied with one diagnostic."""
    x = stage.add(uses=("session.read", "ui"))
    _save(stage, extension_denied={"x": ("session.read",)})
    async with stage.talk() as talk:
        assert (await x.frame("hello_ack"))["granted"] == ["ui"]
        for _ in range(2):
            code, text = await x.error("session.info")
            assert code == "denied" and "session.read" in text
        assert len([one for one in talk.reported if "session.read" in one.text]) == 1


async def test_unreadable_denials_deny_all(stage: Stage) -> None:
    """ext2-141: a guard that cannot be read is strict: no word holds until config.json is fixed."""
    x = stage.add(uses=("session.read", "ui"))
    home = stage.root / "home"
    home.mkdir()
    (home / "config.json").write_text('{"extension_denied": ["ui"]}')
    async with stage.talk():
        assert (await x.frame("hello_ack")).get("granted", []) == []


async def test_project_extension_sets_nothing_and_gets_no_key(stage: Stage, tmp_path: Path) -> None:
    """ext2-129, ext2-131: it reads settings of the user, and no more."""
    x = stage.add(uses=("secrets.openai", "ui"), settings=SETTINGS)
    async with stage.talk() as talk:
        child = talk.host.children.find("x")
        assert child is not None
        child.entry = type(child.entry)(**{**_fields(child.entry), "scope": "project"})
        assert (await x.result("settings.get"))["values"]["region"] == "eu"
        assert (await x.error("settings.set", {"name": "region", "value": "us"}))[0] == "refused"
        assert (await x.error("secrets.get", {"provider": "openai"}))[0] == "denied"
        assert talk.host.granted(child) == ("ui",)


def _fields(entry: Any) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in entry.__struct_fields__}


async def test_guard_of_hello_may_not_act(stage: Stage) -> None:
    """ext2-149: a guard that only its hello declares may not have such a word either."""
    stage.add(uses=("chat",), capabilities=("edition2", "guard"))
    try:
        async with asyncio.timeout(10):
            async with stage.talk() as talk:
                raise AssertionError(talk.reported)
    except (TimeoutError, KeyError):
        pass
