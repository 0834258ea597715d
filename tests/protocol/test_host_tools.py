"""Tools that live in extensions (extension-protocol.md §8, §22.1, §22.6)."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, hosting, until
from tests.fakes.extensions import seen_of
from tests.fakes.tools import FakeTool
from zot.core.events import ToolResultEvent
from zot.provider.messages import ImageBlock, TextBlock, ToolResultBlock

PNG = "iVBORw0KGgo="


def serving(handler: str, registration: str = 'tool("t")', *capabilities: str) -> str:
    names = ", ".join(repr(name) for name in capabilities)
    return f"hello({names}); {registration}; ready()\ndef call(f):\n    {handler}\nserve(tool_call=call)"


async def result_of(kit: Kit, args: Any = None, **options: Any) -> ToolResultBlock:
    agent, _ = kit.agent(calls(("t", {} if args is None else args)), says("ok"), **options)
    await agent.prompt("go")
    return agent.messages[2].tool_results()[0]


def text_of(result: ToolResultBlock) -> str:
    return "|".join(block.text for block in result.content if isinstance(block, TextBlock))


async def test_model_sees_schema_and_child_gets_arguments(kit: Kit) -> None:
    """ext-058, ext-118: the model sees name, description and schema, and the child gets the arguments and
    nothing more.
    """
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    directory = kit.add("w", serving('text(f["id"], "fog")', f'tool("t", description="Weather.", schema={schema!r})'))
    await kit.start()
    agent, client = kit.agent(calls(("t", {"city": "Köln"})), says("ok"))
    await agent.prompt("go")
    (spec,) = client.requests[0].tools
    assert (spec.name, spec.description, spec.schema) == ("t", "Weather.", schema)
    (call,) = seen_of(directory, "tool_call")
    assert set(call) == {"type", "id", "name", "args"} and call["args"] == {"city": "Köln"}


async def test_arguments_are_an_empty_object_when_the_model_sends_none(kit: Kit) -> None:
    """ext-059: the child gets `{}` when the model sends no arguments."""
    directory = kit.add("w", serving('text(f["id"], "ok")'))
    await kit.start()
    assert not (await result_of(kit, "")).is_error
    assert seen_of(directory, "tool_call")[0]["args"] == {}


async def test_arguments_violating_schema_are_an_error_for_the_model(kit: Kit) -> None:
    """The schema is checked on the call, so that an extension need not."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    directory = kit.add("w", serving('text(f["id"], "ok")', f'tool("t", schema={schema!r})'))
    await kit.start()
    result = await result_of(kit, {"n": "many"})
    assert result.is_error and "'n' must be integer" in text_of(result)
    assert seen_of(directory, "tool_call") == []


async def test_error_result_reaches_model_without_details(kit: Kit) -> None:
    """ext-060, ext-144: an error result reaches the model as an error, without the details for the screen."""
    kit.add("w", serving('text(f["id"], "no such city", is_error=True, structured_content={"secret": 1})'))
    await kit.start()
    said: list[Any] = []
    agent, client = kit.agent(calls(("t", {})), says("ok"))
    await agent.prompt("go", emit=said.append)
    (result,) = client.requests[1].messages[-1].tool_results()
    assert result == ToolResultBlock("t1", (TextBlock("no such city"),), True)
    (event,) = [event for event in said if isinstance(event, ToolResultEvent)]
    assert event.details == {"extension": "w", "tool": "t", "structured_content": {"secret": 1}}


@pytest.mark.parametrize(
    ("content", "expected", "is_error"),
    [
        ([{"type": "image", "mime_type": "image/png", "data": PNG}], [b"\x89PNG\r\n\x1a\n"], False),
        ([{"type": "image", "data": "***"}, {"type": "text", "text": "x"}], ["cannot be decoded", "x"], True),
        ([{"type": "hologram"}], ["unknown type 'hologram'"], False),
        ([{"type": "text", "text": ""}], ["returned no content"], False),
        ([], ["returned no content"], False),
        ([{"type": "text", "text": "# t", "format": "markdown"}], ["# t"], False),
    ],
)
async def test_content_is_converted_block_by_block(
    kit: Kit, content: list[dict[str, str]], expected: list[Any], is_error: bool
) -> None:
    """ext-061, ext-062, ext-113: blocks are converted one by one: images decoded, broken ones and empty content become
    text.
    """
    kit.add("w", serving(f'send(type="tool_result", id=f["id"], content={content!r})'))
    await kit.start()
    result = await result_of(kit)
    assert result.is_error is is_error and len(result.content) == len(expected)
    for block, wanted in zip(result.content, expected, strict=True):
        assert block.data == wanted if isinstance(block, ImageBlock) else wanted in block.text
        if isinstance(block, TextBlock) and "#" not in wanted and wanted != "x":
            assert "w/t" in block.text


async def test_markdown_hint_stays_with_screens(kit: Kit) -> None:
    """ext-113, ext-117: the markdown hint and structured content stay with the screen; the model gets the
    plain text.
    """
    kit.add(
        "w",
        serving('send(type="tool_result", id=f["id"], content=[{"type":"text","text":"**b**","format":"markdown"}])'),
    )
    await kit.start()
    said: list[Any] = []
    agent, client = kit.agent(calls(("t", {})), says("ok"))
    await agent.prompt("go", emit=said.append)
    assert client.requests[1].messages[-1].tool_results()[0].content == (TextBlock("**b**"),)
    assert [event.details["formats"] for event in said if isinstance(event, ToolResultEvent)] == [["markdown"]]


@pytest.mark.parametrize("capabilities", [(), ("tool_cancel",)])
async def test_no_answer_within_the_limit_is_an_error_naming_both(
    tmp_path: Path, capabilities: tuple[str, ...]
) -> None:
    """ext-063, ext-143, ext-111: a child that supports it receives a cancellation."""
    async with hosting(tmp_path, tool_timeout_s=0.3) as kit:
        directory = kit.add("w", serving("pass", 'tool("t")', *capabilities))
        await kit.start()
        began = time.monotonic()
        result = await result_of(kit)
        assert time.monotonic() - began < 2
        assert result.is_error and text_of(result).startswith("extension w/t failed: timeout")
        await kit.host.stop()
        (call,) = seen_of(directory, "tool_call")
        assert seen_of(directory, "tool_cancel") == [
            {"type": "tool_cancel", "id": call["id"]} for _ in range(len(capabilities))
        ]


@pytest.mark.parametrize("capabilities", [(), ("tool_cancel",)])
async def test_aborting_the_turn_ends_the_wait_at_once(kit: Kit, capabilities: tuple[str, ...]) -> None:
    """ext-064, ext-111: aborting ends the wait at once; only a child that announced it gets one `tool_cancel`."""
    directory = kit.add("w", serving("pass", 'tool("t")', *capabilities))
    await kit.start()
    agent, _ = kit.agent(calls(("t", {})))
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("go"))
        await until(lambda: seen_of(directory, "tool_call"))
        began = time.monotonic()
        agent.abort()
        assert (await run).stop == "aborted" and time.monotonic() - began < 1
    await kit.host.stop()
    assert len(seen_of(directory, "tool_cancel")) == len(capabilities)


async def test_success_sends_no_cancel(kit: Kit) -> None:
    """ext-111: a call that succeeds sends no `tool_cancel`."""
    directory = kit.add("w", serving('text(f["id"], "ok")', 'tool("t")', "tool_cancel"))
    await kit.start()
    assert text_of(await result_of(kit)) == "ok"
    await kit.host.stop()
    assert seen_of(directory, "tool_cancel") == []


async def test_killing_child_in_call_fails_only_that_call(kit: Kit) -> None:
    """ext-065, ext-066: killing a child in mid-call gives an error result at once, and other extensions continue."""
    kit.add("w", serving("os.kill(os.getpid(), 9)"))
    kit.add("other", 'hello(); tool("o"); ready(); serve(tool_call=lambda f: text(f["id"], "fine"))')
    host = await kit.start()
    agent, _ = kit.agent(calls(("t", {}), ("o", {})), says("ok"))
    began = time.monotonic()
    await agent.prompt("go")
    dead, fine = agent.messages[2].tool_results()
    assert time.monotonic() - began < 3
    assert dead.is_error and text_of(dead) == "extension w/t failed: the extension disconnected before answering"
    assert text_of(fine) == "fine"
    assert "crashed (signal SIGKILL)" in await until(lambda: "".join(kit.surface.faults))
    await until(lambda: host.statuses()[0].state == "ready")


async def test_tool_of_exited_extension_returns_an_error(kit: Kit) -> None:
    """§8.1: gone before the call"""
    kit.add("w", serving("pass").replace("serve(", "time.sleep(0.3); sys.exit(0); serve("))
    host = await kit.start()
    (tool,) = host.tools()
    await until(lambda: host.statuses()[0].state == "gone")
    result = await tool.execute({}, None)  # pyright: ignore[reportArgumentType]  the context is not used
    assert result.is_error and "no extension registered for tool t" in result.content[0].text  # pyright: ignore
    assert result.details == {"extension": "w", "tool": "t"}


async def test_interactive_tool_without_a_user_is_denied(tmp_path: Path) -> None:
    """ext-112: an interactive tool is refused at once where no user is present."""
    async with hosting(tmp_path, interactive=False) as kit:
        directory = kit.add("w", serving('text(f["id"], "late")', 'tool("t", interactive=True)'))
        await kit.start()
        result = await result_of(kit)
        assert result.is_error and "requires user input" in text_of(result)
        assert seen_of(directory, "tool_call") == []


async def test_interactive_tool_with_a_user_has_no_timeout(tmp_path: Path) -> None:
    """ext-112: an interactive tool may take as long as it needs where a user is present."""
    async with hosting(tmp_path, tool_timeout_s=0.1) as kit:
        kit.add("w", serving('time.sleep(0.5); text(f["id"], "chosen")', 'tool("t", interactive=True)'))
        await kit.start()
        assert text_of(await result_of(kit)) == "chosen"


async def test_tool_flags_apply_to_extension_tools(kit: Kit) -> None:
    """OP-11: the tools of a run are selected in one place."""
    from zot.agent.services import ToolChoice

    kit.add("w", serving("pass"))
    host = await kit.start()
    offered = [FakeTool("bash"), *host.tools({"bash"})]
    assert [tool.name for tool in ToolChoice(("t",)).filter(offered)] == ["t"]
    assert ToolChoice(()).filter(offered) == []


SPOILED = {
    "content of the wrong type": 'send(type="tool_result", id=f["id"], content="words")',
    "a wrong number": 'send(type="tool_result", id="1", content=[])',
    "no number": 'send(type="tool_result", content=[])',
    "a number that is none": 'raw(b\'{"type":"tool_result","id":7,"content":[]}\\n\')',
    "broken JSON": 'raw(b\'{"type":"tool_result","id":"\' + f["id"].encode() + b\'","content":[}\\n\')',
    "not UTF-8": 'raw(b\'{"type":"tool_result","id":"\' + f["id"].encode() + b\'","content":[],"x":"\\xff"}\\n\')',
    "a misspelt type": 'send(type="tool_results", id=f["id"], content=[])',
    "too long": 'raw(b\'{"type":"tool_result","content":"\' + b"x" * (9 << 20) + b\'"}\\n\')',
}


@pytest.mark.parametrize("answer", SPOILED)
async def test_an_answer_that_cannot_be_used_fails_the_call_at_once(kit: Kit, answer: str) -> None:
    """The model gets the reason without waiting for the timeout."""
    kit.add("w", serving(SPOILED[answer]))
    await kit.start()
    began = time.monotonic()
    result = await result_of(kit)
    assert time.monotonic() - began < 30
    assert result.is_error and text_of(result).startswith("extension w/t failed: the extension ")
    assert "timeout" not in text_of(result)


async def test_noise_and_late_answer_do_not_fail_the_open_call(tmp_path: Path) -> None:
    late = 'hello(); tool("t"); ready()\nlast = []\ndef call(f):\n    raw(b"noise\\n"); last.append(f["id"])\n'
    late += '    if len(last) > 1: text(last[0], "late"); time.sleep(1); text(f["id"], "right")\nserve(tool_call=call)'
    async with hosting(tmp_path, tool_timeout_s=5) as kit:
        kit.add("w", late)
        await kit.start()
        assert "timeout" in text_of(await result_of(kit))
        assert text_of(await result_of(kit)) == "right"


async def test_timeout_names_the_limit_and_its_setting(tmp_path: Path) -> None:
    """issue 29.22: the error of a tool that does not answer names the seconds and the setting."""
    async with hosting(tmp_path, tool_timeout_s=0.2) as kit:
        kit.add("w", serving("pass"))
        await kit.start()
        result = await result_of(kit)
    assert "no answer within 0.2 s; the limit is the setting extension_tool_timeout_s" in text_of(result)


async def test_failure_names_a_withheld_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """issue 29.22: a failing tool that mentions a variable which its process did not get says so."""
    monkeypatch.setenv("WEATHER_API_KEY", "secret")
    given = {name: value for name, value in os.environ.items() if name != "WEATHER_API_KEY"}
    async with hosting(tmp_path, environment=lambda: dict(given)) as kit:
        kit.add("w", serving('text(f["id"], "WEATHER_API_KEY is not set", is_error=True)'))
        await kit.start()
        text = text_of(await result_of(kit))
    assert "[not passed to extension w: WEATHER_API_KEY; the user can name it in env_passthrough" in text
    assert "secret" not in text
