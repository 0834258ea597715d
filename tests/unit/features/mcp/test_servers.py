"""MCP servers as real processes: both eras, calls and every server fault."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mcp_server import command
from tests.unit.features.mcp.conftest import Stage, text
from zot.features.mcp.elicitation import Elicitation
from zot.provider.messages import ImageBlock


async def until(condition: Any, seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  what is waited for is another process's doing
            await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except FileNotFoundError:
        return True


def journal(stage: Stage) -> list[dict[str, Any]]:
    path = stage.home.parent / "journal"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def kept(stage: Stage, **spec: Any) -> dict[str, dict[str, Any]]:
    return {"fake": command(journal=str(stage.home.parent / "journal"), **spec)}


@pytest.mark.parametrize("era", ["modern", "classic", "both", "first"])
async def test_a_server_of_either_era_is_found_and_called(stage: Stage, era: str) -> None:
    host = stage.host(kept(stage, era=era))
    assert "mcp__fake__echo: what echo does [marked read-only]" in await stage.find(host, "echo")
    result = await stage.call(host, "mcp__fake__echo", text="grüß dich")
    assert (text(result), result.is_error) == ("grüß dich", False)
    [status] = host.statuses()
    assert status.state == "ready" and status.version == ("2026-07-28" if era in ("modern", "both") else "2025-11-25")


async def test_the_era_is_remembered_and_the_second_run_begins_with_it(stage: Stage) -> None:
    await stage.find(stage.host(kept(stage, era="classic")), "echo")
    assert [message["method"] for message in journal(stage)][:2] == ["server/discover", "initialize"]
    (stage.home.parent / "journal").unlink()
    host = stage.host(kept(stage, era="classic"))
    await stage.find(host, "echo")
    assert journal(stage) == []  # the list was known: nobody was started
    assert text(await stage.call(host, "mcp__fake__echo", text="hi")) == "hi"
    assert journal(stage)[0]["method"] == "initialize"


async def test_a_server_that_changed_its_era_is_found_again(stage: Stage) -> None:
    path = stage.home.parent / "spec.json"
    path.write_text('{"era": "modern"}')
    shell = {"command": "sh", "args": ["-c", f"exec {' '.join(command()['args'][:0]) or 'true'}"]}
    fake = command()
    shell["args"] = ["-c", f'exec "$0" -I -S "$1" "$(cat {path})"', fake["command"], fake["args"][2]]
    await stage.find(stage.host({"fake": shell}), "echo")
    path.write_text('{"era": "classic"}')
    host = stage.host({"fake": shell})
    await stage.find(host, "echo")
    assert text(await stage.call(host, "mcp__fake__echo", text="still here")) == "still here"


async def test_classic_server_ignoring_probe_is_initialized_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zot.features.mcp.session.DISCOVER_S", 0.2)
    host = stage.host(kept(stage, era="classic", silent=True))
    assert "mcp__fake__echo" in await stage.find(host, "echo")


async def test_a_server_of_an_unknown_version_is_refused_by_name(stage: Stage) -> None:
    host = stage.host({"fake": command(era="classic", version="1999-01-01")})
    assert "initialize returned unsupported version '1999-01-01'" in await stage.find(host, "echo")


async def test_results_are_mapped(stage: Stage) -> None:
    host = stage.host()
    await stage.find(host, "fail,picture,structured,long")
    failed = await stage.call(host, "mcp__fake__fail", text="why")
    assert (text(failed), failed.is_error) == ("failed: why", True)
    [picture] = (await stage.call(host, "mcp__fake__picture")).content
    assert isinstance(picture, ImageBlock) and picture.data.startswith(b"\x89PNG")
    structured = await stage.call(host, "mcp__fake__structured")
    assert text(structured) == '{"answer":42}' and (structured.details or {})["structured_content"] == {"answer": 42}
    long = text(await stage.call(host, "mcp__fake__long"))
    assert len(long) < 101_000 and "400,000 more characters omitted" in long


async def test_progress_is_shown_and_keeps_a_call_alive(stage: Stage) -> None:
    host = stage.host(timeout_s=4.0)
    await stage.find(host, "steps,never")
    assert text(await stage.call(host, "mcp__fake__steps", steps=3, seconds=1.5)) == "all steps done"
    assert stage.progress == ["1/3 step 1\n", "2/3 step 2\n", "3/3 step 3\n"]


async def test_silent_server_times_out_and_is_cancelled(stage: Stage) -> None:
    host = stage.host(kept(stage), timeout_s=0.3)
    await stage.find(host, "never")
    result = await stage.call(host, "mcp__fake__never")
    assert (
        text(result) == "mcp: fake: no answer to tools/call within 0.3 s; the limit is the setting mcp_tool_timeout_s"
    )
    assert (result.details or {})["timed_out"]
    await until(lambda: journal(stage)[-1]["method"] == "notifications/cancelled")


async def test_an_aborted_call_is_cancelled_on_the_other_side(stage: Stage) -> None:
    host = stage.host(kept(stage))
    await stage.find(host, "never")
    call = asyncio.ensure_future(stage.call(host, "mcp__fake__never"))
    await until(lambda: journal(stage)[-1]["method"] == "tools/call")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: journal(stage)[-1]["method"] == "notifications/cancelled")
    called = next(message for message in journal(stage) if message["method"] == "tools/call")
    assert journal(stage)[-1]["params"]["requestId"] == called["id"]


async def test_server_exit_in_call_is_reported_and_restarts(stage: Stage) -> None:
    host = stage.host()
    await stage.find(host, "die,echo")
    result = await stage.call(host, "mcp__fake__die")
    assert result.is_error
    assert text(result) == ("mcp: fake: exited (exit status 3): out of memory, good bye; the next use starts it again")
    assert text(await stage.call(host, "mcp__fake__echo", text="back")) == "back"


async def test_failed_start_has_the_reason(stage: Stage) -> None:
    host = stage.host({"fake": command(start="exit"), "none": {"command": "no-such-program"}})
    found = await stage.find(host, "echo")
    assert "(fake has no tools now: fake: exited (exit status 1): the fake cannot start: no licence)" in found
    assert "none: command not found on PATH: 'no-such-program'" in found


async def test_garbage_on_stdout_is_ignored_and_reported_once(stage: Stage) -> None:
    host = stage.host({"fake": command(start="chatter")})
    await stage.find(host, "garbage")
    assert text(await stage.call(host, "mcp__fake__garbage")) == "after the garbage"
    assert text(await stage.call(host, "mcp__fake__garbage")) == "after the garbage"
    assert len(stage.told) == 1 and "ignored invalid output on stdout: 'Welcome" in stage.told[0]


async def test_a_flood_is_survived(stage: Stage) -> None:
    host = stage.host()
    await stage.find(host, "flood")
    assert text(await stage.call(host, "mcp__fake__flood", lines=20_000)) == "after the flood"


async def test_a_hundred_megabytes_are_refused_and_the_server_lives_on(stage: Stage) -> None:
    host = stage.host()
    await stage.find(host, "huge,echo")
    result = await stage.call(host, "mcp__fake__huge", megabytes=100)
    assert text(result) == "mcp: fake: sent a message above 8 MiB"
    assert text(await stage.call(host, "mcp__fake__echo", text="alive")) == "alive"


async def test_invalid_schemas_are_repaired(stage: Stage) -> None:
    host = stage.host()
    await stage.find(host, "bad_reference,circle")
    schemas = {tool.name: tool.schema for tool in host.tools()}
    assert schemas["mcp__fake__bad_reference"]["properties"] == {"x": {}, "y": {}}
    assert schemas["mcp__fake__circle"]["properties"] == {"x": {}}


async def test_list_changed_in_call_is_emitted_and_used(stage: Stage) -> None:
    for era in ("modern", "classic"):
        stage.told.clear()
        host = stage.host({"fake": command(era=era, tools=[era])})
        await stage.find(host, "grow")
        await stage.call(host, "mcp__fake__grow")
        await until(lambda: stage.told)
        assert stage.told == ["mcp: the tools of fake changed: 1 new (grown)"]
        assert "mcp__fake__grown" in await stage.find(host, "grown")


async def test_fresh_list_is_not_fetched_again(stage: Stage) -> None:
    await stage.find(stage.host(kept(stage, ttl=60_000)), "echo")
    (stage.home.parent / "journal").unlink()
    host = stage.host(kept(stage, ttl=60_000))
    await stage.find(host, "echo")
    await stage.call(host, "mcp__fake__echo", text="hi")
    await stage.call(host, "mcp__fake__echo", text="ho")
    assert "tools/list" not in [message["method"] for message in journal(stage)]


async def test_server_and_its_children_leave_no_process(stage: Stage) -> None:
    host = stage.host()
    await stage.find(host, "child")
    pids = [int(word) for word in text(await stage.call(host, "mcp__fake__child")).split()]
    assert not any(map(gone, pids))
    await host.stop()
    await until(lambda: all(map(gone, pids)))


async def test_an_idle_server_is_stopped_and_started_again(stage: Stage) -> None:
    host = stage.host(idle_s=0.3)
    await stage.find(host, "child,echo")
    pids = [int(word) for word in text(await stage.call(host, "mcp__fake__child")).split()]
    await until(lambda: all(map(gone, pids)))
    await until(lambda: host.statuses()[0].state == "off")
    assert text(await stage.call(host, "mcp__fake__echo", text="again")) == "again"


async def test_a_busy_server_is_not_idle(stage: Stage) -> None:
    host = stage.host(idle_s=0.2)
    await stage.find(host, "slow")
    assert text(await stage.call(host, "mcp__fake__slow", seconds=1)) == "slept"


async def test_a_server_gets_its_own_variables_and_no_secrets(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    entry = {**command(), "env": {"MINE": "${GITHUB_TOKEN}", "PLAIN": "x"}, "cwd": str(stage.project)}
    host = stage.host({"fake": entry})
    await stage.find(host, "environment")
    seen = json.loads(text(await stage.call(host, "mcp__fake__environment", names=["MINE", "PLAIN", "GITHUB_TOKEN"])))
    assert seen == {"MINE": "t0ken", "PLAIN": "x", "GITHUB_TOKEN": None, "cwd": os.path.realpath(stage.project)}


async def test_stderr_is_logged(stage: Stage) -> None:
    host = stage.host()
    await stage.find(host, "log")
    await stage.call(host, "mcp__fake__log")
    [status] = host.statuses()
    await until(lambda: "a line for the log" in Path(status.log).read_text())
    assert Path(status.log).read_text().count("a line for the log") == 1


async def test_many_calls_at_once_share_one_start(stage: Stage) -> None:
    await stage.find(stage.host(kept(stage, era="modern")), "echo")
    host = stage.host(kept(stage, era="modern"))
    await stage.find(host, "echo")
    (stage.home.parent / "journal").unlink()
    results = await asyncio.gather(*(stage.call(host, "mcp__fake__echo", text=str(n)) for n in range(20)))
    assert [text(result) for result in results] == [str(n) for n in range(20)]
    assert [message["method"] for message in journal(stage)].count("server/discover") == 1


async def test_url_elicitation_asks_user_then_continues(stage: Stage) -> None:
    host = stage.host({"fake": command(era="classic")})
    asked: list[str] = []

    async def answer(question: Elicitation) -> dict[str, Any]:
        asked.append(question.url)
        return {"action": "accept" if len(asked) == 1 else "decline"}

    host.asked = answer
    await stage.find(host, "gate")
    assert text(await stage.call(host, "mcp__fake__gate")) == "through the gate"
    assert asked == ["https://gate.example/x"]
    refused = await stage.call(host, "mcp__fake__gate")
    assert refused.is_error and "open the gate first" in text(refused)


async def test_question_is_withdrawn_by_server_and_by_cancelled_call(stage: Stage) -> None:
    host = stage.host(kept(stage, era="classic"))
    asked, withdrawn = asyncio.Event(), list[str]()

    async def answer(question: Elicitation) -> dict[str, Any]:
        asked.set()
        try:
            return await asyncio.Future()
        except asyncio.CancelledError:
            withdrawn.append(question.message)
            raise

    host.asked = answer
    await stage.find(host, "ask")
    assert text(await stage.call(host, "mcp__fake__ask", withdraw=True)) == "withdrawn"
    await until(lambda: len(withdrawn) == int(asked.is_set()))
    asked.clear()
    withdrawn.clear()
    call = asyncio.ensure_future(stage.call(host, "mcp__fake__ask"))
    await asked.wait()
    call.cancel()
    await until(lambda: withdrawn == ["Who are you?"])
    await until(lambda: journal(stage)[-1].get("result") == {"action": "cancel"})


async def test_elicitation_without_a_user_is_declined(stage: Stage) -> None:
    for era, said in (("modern", '"cancel"'), ("classic", '"error"')):
        host = stage.host({"fake": command(era=era)})
        await stage.find(host, "ask")
        assert f'"action": {said}' in text(await stage.call(host, "mcp__fake__ask"))
