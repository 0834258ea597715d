"""Skills, templates and themes that extensions bring while they run."""

from __future__ import annotations

import itertools
from pathlib import Path

from tests.fakes.client import says
from tests.fakes.extension_puppet import Puppet, Stage
from zot.agent.slash_commands import find_command

_IDS = itertools.count()
SKILL = "---\nname: deploy\ndescription: How to deploy.\n---\nPush the button.\n"


def place_of(stage: Stage, puppet: Puppet) -> Path:
    return next(directory for directory in stage.directories if directory.name == puppet.name)


async def contribute(puppet: Puppet, name: str = "mine", **value: object) -> dict[str, object]:
    id = f"c{next(_IDS)}"
    puppet.send(type="contribute", id=id, kind="resource", name=name, value=value)
    return await puppet.response(id)


async def test_skills_templates_and_themes_come_and_go(stage: Stage) -> None:
    """ext2-133: like the manifest's skills and the user's templates, with the extension's prefix."""
    x = stage.add("helpDesk", uses=["resources"])
    place = place_of(stage, x)
    for folder in ("skills/deploy", "commands"):
        (place / folder).mkdir(parents=True)
    (place / "skills/deploy/SKILL.md").write_text(SKILL)
    (place / "commands/greet.md").write_text("Say hello to $ARGUMENTS")
    (place / "night.json").write_text('{"name": "night"}')
    async with stage.talk(says("a"), says("b"), says("c")) as talk:
        conversation = talk.conversation
        await conversation.prompt("hi")
        assert "help-desk:deploy" not in talk.client.requests[0].system
        value = {"skills": ["skills"], "templates": ["commands"], "themes": ["night.json"]}
        assert "error" not in await contribute(x, **value)
        found = find_command(conversation, "/help-desk:greet Ada")
        assert found is not None and found.command.expands
        await conversation.prompt("/help-desk:greet Ada")
        assert "Say hello to Ada" in str(talk.client.requests[1].messages[-1])
        assert "help-desk:deploy" in talk.client.requests[1].system
        assert list(talk.host.contributed_themes()) == [("helpDesk", place / "night.json")]
        x.send(type="withdraw", id="w", kind="resource", name="mine")
        await x.response("w")
        await conversation.prompt("bye")
        assert "help-desk:deploy" not in talk.client.requests[2].system
        assert find_command(conversation, "/help-desk:greet Ada") is None
        assert not list(talk.host.contributed_themes())


async def test_paths_outside_are_refused(stage: Stage, tmp_path: Path) -> None:
    """ext2-133: only the extension's directory and its data directory, also after links."""
    x, y = stage.add("x", uses=["resources"]), stage.add("y")
    place = place_of(stage, x)
    outside = tmp_path / "outside"
    outside.mkdir()
    (place / "link").symlink_to(outside)
    async with stage.talk():
        for path in ("..", str(outside), "link"):
            assert (await contribute(x, templates=[path]))["error"]["code"] == "refused"  # type: ignore[index]
        assert (await contribute(x, skills=["nothing"]))["error"]["code"] == "not_found"  # type: ignore[index]
        assert (await contribute(x, themes=["main.py"]))["error"]["code"] == "bad_params"  # type: ignore[index]
        assert (await contribute(y, skills=["."]))["error"]["code"] == "denied"  # type: ignore[index]
