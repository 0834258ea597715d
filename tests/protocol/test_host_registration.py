"""Name conflicts of commands and tools (extension-protocol.md §6.4–6.6, §22.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, hosting, until
from tests.fakes.extensions import events_seen, seen_of
from tests.fakes.tools import FakeTool
from zot.agent.slash_commands import Display, FailedCommand

COMMAND = """
hello(); send(type="register_command", name="{name}", description="d"); ready()
serve(command_invoked=lambda f: send(type="command_response", id=f["id"], action="display", display=NAME))
"""
TOOL = 'hello(); tool("{name}", description=NAME); ready(); serve(tool_call=lambda f: text(f["id"], "by " + NAME))'


async def test_a_command_registered_after_ready_works_at_once(kit: Kit) -> None:
    """ext-041: a command registered after `ready` can be used at once."""
    kit.add("late", "hello(); ready()\n" + COMMAND.format(name="later").split(";", 1)[1].strip())
    host = await kit.start()
    await until(host.commands)
    assert await host.run_command("later", "") == Display("late", "late")


async def test_second_registration_of_a_command_is_shadowed_once(kit: Kit) -> None:
    """ext-042, ext-108: names that differ only in case conflict; load order decides, not speed."""
    kit.add("one", "time.sleep(0.2)\n" + COMMAND.format(name="Weather"))
    kit.add("two", COMMAND.format(name="weather"))
    host = await kit.start()
    assert [(command.name, command.extension) for command in host.commands()] == [("Weather", "one")]
    assert "hidden by that of extension one" in kit.fault("extension two") and "hidden" in kit.log("two")
    assert host.statuses()[1].shadowed_commands == ("weather",)


async def test_command_lookup_ignores_case(kit: Kit) -> None:
    """ext-107: a command is found whatever its case and invoked by the name it was registered with."""
    directory = kit.add("w", COMMAND.format(name="weather"))
    host = await kit.start()
    assert await host.run_command("Weather", "") == Display("w", "w")
    assert seen_of(directory, "command_invoked")[0]["name"] == "weather"


async def test_a_builtin_command_is_never_taken_over(kit: Kit) -> None:
    """ext-043: a command named like a built-in one is never registered."""
    directory = kit.add("h", COMMAND.format(name="Help"))
    host = await kit.start()
    assert host.commands() == [] and "built-in" in kit.fault("extension h")
    assert await host.run_command("help", "") == FailedCommand("unknown command /help")
    assert seen_of(directory, "command_invoked") == []


async def test_active_builtin_tool_wins_and_inactive_one_does_not(kit: Kit) -> None:
    """ext-044: an active built-in tool is not replaced; the name of one that is off is free."""
    kit.add("b", TOOL.format(name="bash"))
    kit.add("g", TOOL.format(name="grep"))
    host = await kit.start()
    bash = FakeTool("bash")
    agent, client = kit.agent(calls(("bash", {}), ("grep", {})), says("ok"), tools=[bash])
    await agent.prompt("go")
    assert len(bash.ran) == 1 and "built-in" in kit.fault("extension b")
    results = [result.content[0].text for result in client.requests[1].messages[-1].tool_results()]  # pyright: ignore
    assert results == ["bash ok", "by g"]
    assert [(status.tools, status.shadowed_tools) for status in host.statuses()] == [((), ("bash",)), (("grep",), ())]


async def test_first_extension_in_load_order_owns_a_tool_name(kit: Kit) -> None:
    """ext-045: the slower one is first in load order and wins."""
    kit.add("first", "time.sleep(0.2)\n" + TOOL.format(name="t"))
    kit.add("second", TOOL.format(name="t"))
    await kit.start()
    agent, client = kit.agent(calls(("t", {})), says("ok"))
    await agent.prompt("go")
    assert [spec.description for spec in client.requests[0].tools] == ["first"]
    assert client.requests[1].messages[-1].tool_results()[0].content[0].text == "by first"  # pyright: ignore
    assert "hidden" in kit.fault("extension second")


async def test_unknown_intercepts_are_ignored_with_one_diagnostic(kit: Kit) -> None:
    """ext-046: unknown names in `intercept` are ignored with one diagnostic, and the extension stays loaded."""
    kit.add("i", 'hello(); subscribe(intercept=["nonsense", "turn_end", "turn_start"]); ready(); serve()')
    host = await kit.start()
    assert "nonsense" in kit.fault("intercept") and host.statuses()[0].intercepts == ("turn_start",)


async def test_subscriptions_add_up(kit: Kit) -> None:
    """ext-047: two `subscribe` frames add up."""
    directory = kit.add("s", 'hello(); subscribe(["turn_start"]); subscribe(["turn_end"]); ready(); serve()')
    await kit.start()
    agent, _ = kit.agent(says("ok"))
    await agent.prompt("go")
    await until(lambda: events_seen(directory) == ["turn_start", "turn_end"])


async def test_a_bad_tool_is_skipped_alone(kit: Kit) -> None:
    """ext-114, ext-115: a tool with a bad exposure, schema or name is skipped alone; an unknown `replay` is treated as
    `never`.
    """
    kit.add(
        "t",
        """
hello()
tool("a", exposure="sideways"); tool("b", schema=[1]); tool("c", schema={"type": "string"}); tool("bad name")
tool("d", schema={"type": "object", "properties": {"x": 5}}); tool("e", replay="maybe"); tool("f")
ready(); serve()
""",
    )
    host = await kit.start()
    agent, _ = kit.agent()
    assert [tool.name for tool in agent.tools] == ["e", "f"]
    assert "sideways" in kit.fault("skipped tool") and "never" in kit.fault("replay")
    assert kit.log("t").count("skipped tool") == 5 and host.statuses()[0].state == "ready"


async def test_a_deferred_tool_appears_after_a_result_names_it(kit: Kit) -> None:
    """ext-116: a deferred tool is offered from the request after a result that activates it."""
    kit.add(
        "d",
        """
hello(); tool("open_box"); tool("inside", deferred=True); tool("other", exposure="deferred"); ready()
serve(tool_call=lambda f: text(f["id"], "ok", activate_tools=["inside", "nobody"]))
""",
    )
    await kit.start()
    agent, client = kit.agent(calls(("open_box", {})), calls(("inside", {})), says("ok"))
    await agent.prompt("go")
    assert [[spec.name for spec in request.tools] for request in client.requests] == [
        ["open_box"],
        ["inside", "open_box"],
        ["inside", "open_box"],
    ]


async def test_names_of_dead_child_are_free_until_its_restart(kit: Kit) -> None:
    """§11, §1: the names of a dead child are free, and come back with its restart."""
    directory = kit.add(
        "phoenix",
        """
open(HERE + "/lives", "a").write("x")
hello(); tool("t"); send(type="register_command", name="c"); ready()
def die(f): os._exit(1)
serve(command_invoked=die, tool_call=lambda f: text(f["id"], "alive"))
""",
    )
    host = await kit.start()
    agent, _ = kit.agent(calls(("t", {})), says("ok"))
    failed = await host.run_command("c", "")
    assert isinstance(failed, FailedCommand) and "disconnected" in failed.error
    assert host.commands() == [] and await until(lambda: agent.tools == ())
    assert await host.run_command("c", "") == FailedCommand("unknown command /c")
    await until(lambda: [tool.name for tool in agent.tools] == ["t"])
    assert (directory / "lives").read_text() == "xx"
    await agent.prompt("go")
    assert agent.messages[2].tool_results()[0].content[0].text == "alive"  # pyright: ignore


async def test_skills_of_an_extension_need_no_process(tmp_path: Path) -> None:
    """ext-109: an extension with skills alone starts no process, and its skills carry its name."""
    from zot.features.extensions.loader.discovery import skill_files
    from zot.features.skills.discovery import discover

    async with hosting(tmp_path) as kit:
        directory = kit.root / "extensions" / "Dev Kit"
        for place in ("skills/commit", "skills/deep/review", "one"):
            (directory / place).mkdir(parents=True)
            (directory / place / "SKILL.md").write_text(f"---\ndescription: {place}\n---\nbody")
        (directory / "extension.json").write_text(
            '{"name":"Dev Kit","skills":["skills","one/SKILL.md","../out","missing"]}'
        )
        kit.directories.append(directory)
        host = await kit.start()
        files, problems = skill_files(host.plan().entries)
        found = discover(kit.cwd, kit.home, tmp_path, files)
        labels = {skill.name: skill.label for skill in found.visible}
        assert labels == dict.fromkeys(["dev-kit:commit", "dev-kit:one", "dev-kit:review"], "extension Dev Kit")
        assert len(problems) == 2 and "../out" in problems[0] and host.statuses() == []


async def test_registration_flood_is_limited_and_reported(kit: Kit) -> None:
    """One extension cannot drown the others' names, nor the loop in work."""
    kit.add(
        "flood",
        """
hello(); ready()
for i in range(3000): tool(f"t{i}"); send(type="register_command", name=f"c{i}")
send(type="notify", message="done"); serve()
""",
    )
    host = await kit.start()
    agent, _ = kit.agent()
    await until(lambda: kit.surface.of("notify"))
    assert len(host.commands()) == len(host.tools()) == 500
    await until(lambda: len(agent.tools) == 500)
    assert "more than 500 tools" in kit.fault("tools;") and "more than 500 commands" in kit.fault("commands;")


async def test_huge_command_name_is_dropped_and_description_shortened(kit: Kit) -> None:
    """Every key in the list of commands measured them, for seconds."""
    huge = 'send(type="register_command", name="x" * 5_000_000)\n'
    kit.add(
        "h",
        f'hello(); {huge}send(type="register_command", name="c", description="word " * 1_000_000); ready(); serve()',
    )
    host = await kit.start()
    await until(host.commands)  # a busy machine is late with so much text
    (command,) = host.commands()
    assert command.name == "c" and len(command.description) == 2_000
    assert "at most 64 characters" in kit.fault("name") and len(kit.fault("name")) < 1_000


@pytest.mark.parametrize("name", ["/weather", "two words", "wet\\nher", "café", "a.b", "a:b"])
async def test_untypable_command_name_is_rejected_and_reported(kit: Kit, name: str) -> None:
    """As in `zot ext check`: letters, digits, _ and - only."""
    names = f'for name in ("{name}", "ok"): send(type="register_command", name=name)'
    kit.add("odd", f"hello()\n{names}\nready(); serve()")
    host = await kit.start()
    await until(lambda: [command.name for command in host.commands()] == ["ok"])
    assert "expected letters, digits, _ and -" in kit.fault("invalid command name")


async def test_command_registered_twice_is_reported_and_first_stays(kit: Kit) -> None:
    kit.add(
        "twice",
        'hello()\nfor words in ("first", "second"): send(type="register_command", name="c", description=words)\n'
        "ready(); serve()",
    )
    host = await kit.start()
    assert [command.description for command in host.commands()] == ["first"]
    assert "command /c was registered twice; the first one is used" in kit.fault("registered twice")
