"""Delegated agents: context, tools, limits, abort, transcripts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.client import calls, falls_silent, says
from tests.unit.features.agents.conftest import Talking
from zot.agent.slash_commands import Display, find_command
from zot.core import events
from zot.provider.messages import TextBlock, Usage

COSTLY = Usage(input_tokens=1000, output_tokens=1000, cost_usd=0.4)


def ask(agent: str, task: str = "do it") -> tuple[str, dict[str, Any]]:
    return "agent", {"agent": agent, "task": task}


def text_of(result: events.ToolResultEvent) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextBlock))


def _wait_for_text(path: Path) -> None:
    while not (path.exists() and path.read_text().strip()):
        time.sleep(0.02)


async def test_agent_is_offered_by_name_and_on_demand(talk: Talking) -> None:
    """issue 32: the first request only names it; after `more_tools` it is described with its agents."""
    async with talk(calls(("more_tools", {"names": ["agent"]})), says("ok")) as x:
        await x.conversation.prompt("hi")
        assert "agent" not in x.tools_of(0) and "agent" in x.tools_of(1)
        (more,) = (tool for tool in x.client.requests[0].tools if tool.name == "more_tools")
        (agent,) = (tool for tool in x.client.requests[1].tools if tool.name == "agent")
        assert "agent (delegate" in more.description and "- explore: Finds things" in agent.description
        assert x.client.requests[0].system == x.client.requests[1].system  # the cached prompt stays


async def test_agent_has_a_context_of_its_own(talk: Talking, write_agent: Callable[..., Path]) -> None:
    """issue 32.4: its own prompt and tools, nothing of the conversation; only the answer comes back."""
    write_agent("finder", "You find things.", tools="Read")
    async with talk(
        calls(ask("finder", "what is in notes.txt?")),
        calls(("read", {"path": "notes.txt"})),
        says("it is 42"),
        says("done"),
        tools=("read", "bash", "agent"),
    ) as x:
        (x.project / "notes.txt").write_text("the answer is 42")
        await x.conversation.prompt("a private word")
        _, first, second, last = x.client.requests
        assert x.tools_of(1) == ["read"] and "You find things." in first.system
        assert "private word" not in str(first.messages) and "answer is 42" in str(second.messages)
        assert "it is 42" in str(last.messages) and "the answer is 42" not in str(last.messages)
        assert x.conversation.total_usage.input_tokens == 400


async def test_agents_of_one_message_run_side_by_side(talk: Talking) -> None:
    one, first = falls_silent()
    two, second = falls_silent()
    async with talk(calls(ask("explore"), ask("plan")), first, second, says("both"), tools=("read", "agent")) as x:
        running = asyncio.ensure_future(x.conversation.prompt("go"))
        await asyncio.wait_for(asyncio.gather(one.reached.wait(), two.reached.wait()), 5)
        shown = [event.text for event in x.events if isinstance(event, events.ToolProgress)]
        assert "explore: step 1\n" in shown and "plan: step 1\n" in shown
        x.conversation.abort()
        assert (await running).stop == "aborted"


async def test_abort_ends_agents_and_their_commands(talk: Talking, write_agent: Callable[..., Path]) -> None:
    """issue 32.4: esc ends the agent and what it started; the transcript keeps what it did."""
    write_agent("worker", folder="project/.zot/agents")
    async with talk(
        calls(ask("worker")), calls(("bash", {"command": "echo $$ > pid; sleep 60"})), tools=("bash", "agent")
    ) as x:
        running = asyncio.ensure_future(x.conversation.prompt("go"))
        pid = x.project / "pid"
        await asyncio.wait_for(asyncio.to_thread(_wait_for_text, pid), 10)
        x.conversation.abort()
        assert (await asyncio.wait_for(running, 5)).stop == "aborted"
        number = int(pid.read_text())
        assert not Path(f"/proc/{number}").exists() or "Z" in Path(f"/proc/{number}/stat").read_text()
        assert x.conversation.session is not None
        (transcript,) = x.conversation.session.path.with_suffix(".agents").iterdir()
        assert "sleep 60" in transcript.read_text()


async def test_result_names_changed_files_and_the_transcript(talk: Talking, write_agent: Callable[..., Path]) -> None:
    write_agent("fixer")
    async with talk(
        calls(ask("fixer")),
        calls(("write", {"path": "new.txt", "content": "x"}), ("edit", {"path": "gone.txt", "edits": []})),
        says("made it"),
        says("ok"),
        tools=("write", "edit", "agent"),
    ) as x:
        await x.conversation.prompt("go")
        (result,) = x.results()
        assert text_of(result).startswith("made it\n[changed: new.txt]\n[transcript: ")
        path = Path(text_of(result).split("[transcript: ")[1].rstrip("]"))
        rows = [json.loads(line)["type"] for line in path.read_text().splitlines()]
        assert rows[0] == "meta" and "tool_outcome" in rows and path.stat().st_mode & 0o077 == 0
        assert result.details is not None and result.details["files"] == ["new.txt"]


async def test_agent_that_only_reads_cannot_change_anything(talk: Talking) -> None:
    """issue 32.4: `explore` reads, whatever the conversation may do; reading commands run."""
    async with talk(
        calls(ask("explore")),
        calls(
            ("bash", {"command": "touch made"}), ("bash", {"command": "ls"}), ("bash", {"command": "ls; touch made"})
        ),
        says("no"),
        says("ok"),
        tools=("bash", "read", "agent"),
    ) as x:
        await x.conversation.prompt("go")
        told = str(x.client.requests[2].messages)
        assert told.count("may only read") == 2 and "exit 0" in told and not (x.project / "made").exists()


async def test_agents_cannot_widen_tools_or_start_agents(talk: Talking, write_agent: Callable[..., Path]) -> None:
    """issue 32.4: tools that the conversation does not have stay away; an agent has no `agent`."""
    write_agent("greedy", tools="Read, Bash, Write, Agent, Task, agent, swarm_spawn")
    async with talk(calls(ask("greedy")), says("ok"), says("ok"), tools=("read", "agent")) as x:
        await x.conversation.prompt("go")
        assert x.tools_of(1) == ["read"]


async def test_agent_gets_on_demand_tools_that_the_conversation_does_not_show(
    talk: Talking, write_agent: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_agent("helper", tools="Read, more_tools, agent")
    write_agent("all")
    async with talk(calls(ask("helper"), ask("all")), says("a"), says("b"), says("c")) as x:
        x.conversation.toolset.activate(["agent"])
        await x.conversation.prompt("go")
        assert x.tools_of(1) == ["read"]
        assert "agent" not in x.tools_of(2) and "more_tools" not in x.tools_of(2)
        assert {"bash", "jobs"} <= set(x.tools_of(2))  # for commands that it starts in the background


async def test_steps_of_the_file_and_money_of_the_run_limit_it(talk: Talking, write_agent: Callable[..., Path]) -> None:
    """issue 32.4: maxTurns ends it with what it said; the budget of the run counts it."""
    write_agent("short", maxTurns="1")
    async with talk(
        calls(ask("short")), calls(("read", {"path": "."}), text="so far"), says("ok"), tools=("read", "agent")
    ) as x:
        await x.conversation.prompt("go")
        (result,) = x.results()
        assert result.is_error and "so far" in text_of(result) and "stopped after 1 step" in text_of(result)
    async with talk(
        calls(ask("short"), usage=COSTLY), says("x", usage=COSTLY), tools=("read", "agent"), max_cost=0.5
    ) as x:
        agent = x.conversation.agent
        agent.model = msgspec.structs.replace(agent.model, price_input=1.0, price_output=1.0, max_output=1000)
        outcome = await x.conversation.prompt("go")
        assert outcome.error is not None and len(x.client.requests) <= 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"agent": "explor", "task": "x"}, "did you mean explore?"),
        ({"agent": "zzz", "task": "x"}, "available: explore, plan"),
        ({"agent": "explore"}, "task"),
        ({"agent": "explore", "task": "  "}, "task"),
        ({"agent": 3, "task": "x"}, "agent"),
    ],
)
async def test_mistakes_in_a_call_are_named(talk: Talking, args: dict[str, Any], said: str) -> None:
    async with talk(calls(("agent", args)), says("ok"), tools=("read", "agent")) as x:
        await x.conversation.prompt("go")
        (result,) = x.results()
        assert result.is_error and said in text_of(result)


async def test_failing_model_of_an_agent_is_an_error_result(talk: Talking) -> None:
    from zot.errors import ProviderError

    async with talk(calls(ask("explore")), [ProviderError("no money left")], says("ok"), tools=("read", "agent")) as x:
        await x.conversation.prompt("go")
        (result,) = x.results()
        assert result.is_error and "explore failed: no money left" in text_of(result)


async def test_file_written_during_the_session_is_found(talk: Talking, write_agent: Callable[..., Path]) -> None:
    async with talk(calls(ask("later")), says("here"), says("ok"), tools=("read", "agent")) as x:
        write_agent("later")
        await x.conversation.prompt("go")
        assert text_of(x.results()[0]) == "here"


async def test_mention_brings_the_tool_and_a_note(talk: Talking, write_agent: Callable[..., Path]) -> None:
    """issue 32.4: `@agent-NAME` in a prompt; an unknown one is a notice, and the prompt stays as typed."""
    write_agent("reviewer")
    async with talk(says("ok"), says("ok")) as x:
        await x.conversation.prompt("@agent-reviewer, look at a.py")
        assert "agent" in x.tools_of(0)
        first = str(x.client.requests[0].messages)
        assert "asks for the agent reviewer" in first and "@agent-reviewer, look at a.py" in first
        await x.conversation.prompt("@agent-nothing look")
        assert [text for text in x.notices if "no agent is called nothing" in text]


async def test_notes_of_a_file_are_reported_once_when_it_runs(talk: Talking, write_agent: Callable[..., Path]) -> None:
    write_agent("odd", tools="Read, Frobnicate", hooks="{}")
    async with talk(calls(ask("odd"), ask("odd")), says("a"), says("b"), says("c"), tools=("read", "agent")) as x:
        await x.conversation.prompt("go")
        said = [text for text in x.notices if "odd" in text]
        assert len([text for text in said if "Frobnicate" in text and "hooks" in text]) == 1


async def test_slash_command_lists_agents(talk: Talking, write_agent: Callable[..., Path]) -> None:
    write_agent("reviewer", tools="Nonsense", memory="user")
    async with talk() as x:
        found = find_command(x.conversation, "/agents")
        assert found is not None
        answer = await found.run()
        assert isinstance(answer, Display)
        assert "reviewer: Does reviewer. (project (claude)" in answer.text and "memory" in answer.text
        assert "explore: " in answer.text


async def test_child_of_the_conversation_enables_tools_for_itself(talk: Talking) -> None:
    async with talk(calls(("more_tools", {"names": ["agent"]})), says("ok"), says("ok")) as x:
        child = x.conversation.child()
        await child.prompt("go")
        assert "agent" in x.tools_of(1)
        await x.conversation.prompt("hi")
        assert "agent" not in x.tools_of(2)


async def test_wrong_names_for_more_tools_are_named(talk: Talking) -> None:
    async with talk(
        calls(("more_tools", {"names": ["agnt"]}), ("more_tools", {"names": []}), ("more_tools", {})), says("ok")
    ) as x:
        await x.conversation.prompt("go")
        results = x.results()
        assert all(result.is_error for result in results)
        assert "no tool named 'agnt'" in text_of(results[0]) and "expected one or more" in text_of(results[1])


async def test_tools_off_removes_a_tool_everywhere(talk: Talking, tmp_path: Path) -> None:
    """issue 32: each tool is switchable in the settings; `--tools` wins."""
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home/config.json").write_text('{"tools_off": ["agent", "grep"]}')
    async with talk(says("ok")) as x:
        await x.conversation.prompt("hi")
        assert "grep" not in x.tools_of(0) and "read" in x.tools_of(0)
        assert "agent (" not in str(x.client.requests[0].tools)
        x.conversation.toolset.activate(["agent"])
        assert "agent" not in x.conversation.agent.toolbox
    async with talk(says("ok"), tools=("grep", "agent")) as x:
        await x.conversation.prompt("hi")
        assert x.tools_of(0) == ["agent", "grep"]


async def test_resumed_session_has_the_tools_it_had(talk: Talking) -> None:
    async with talk(calls(("more_tools", {"names": ["agent"]})), says("ok")) as x:
        await x.conversation.prompt("go")
        assert x.conversation.session is not None
        path = x.conversation.session.path
    async with talk(says("ok"), session=str(path)) as x:
        await x.conversation.prompt("again")
        assert "agent" in x.tools_of(0)
