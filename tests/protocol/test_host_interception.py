"""Interceptors deny and rewrite calls; a failing guard denies (extension-protocol.md §10, blueprint 11)."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, hosting, until
from tests.fakes.extensions import events_seen, seen_of, write_extension
from tests.fakes.interceptor import FakeInterceptor
from tests.fakes.tools import FakeTool
from zot.core.events import AssistantMessage, TextDelta
from zot.core.interceptors import ToolVerdict
from zot.provider.messages import TextBlock
from zot.wire import limits


def intercepting(event: str, reply: str, capabilities: str = "") -> str:
    return f"""
hello({capabilities}); subscribe(intercept=[{event!r}]); ready()
def ask(f):
    {reply}
serve(event_intercept=ask)
"""


async def call(kit: Kit, args: Any = None) -> tuple[FakeTool, bool, str]:
    """One call of ``bash``; the tool, and the model's result."""
    tool = FakeTool("bash")
    agent, _ = kit.agent(calls(("bash", {"command": "ls"} if args is None else args)), says("ok"), tools=[tool])
    await agent.prompt("go")
    (result,) = agent.messages[2].tool_results()
    return tool, result.is_error, result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("reason", "told"),
    [("refused: too dangerous", "refused: too dangerous"), ("", "tool call refused by extension guard")],
)
async def test_blocked_tool_does_not_run_and_model_sees_reason(kit: Kit, reason: str, told: str) -> None:
    """ext-073, ext-074: a blocked tool does not run, and the model sees the reason or the default text."""
    directory = kit.add("g", intercepting("tool_call", f"answer(f, block=True, reason={reason!r}, modified_args={{}})"))
    await kit.start()
    tool, is_error, text = await call(kit)
    assert (tool.ran, is_error, text) == ([], True, told)
    (question,) = seen_of(directory, "event_intercept")
    assert {key: value for key, value in question.items() if key != "id"} == {
        "type": "event_intercept",
        "event": "tool_call",
        "tool_id": "t1",
        "tool_name": "bash",
        "tool_args": {"command": "ls"},
    }


async def test_rewritten_arguments_reach_only_the_tool(kit: Kit) -> None:
    """ext-075, ext-070: rewritten arguments reach the tool; transcript and events have the original ones."""
    kit.add("g", intercepting("tool_call", 'answer(f, modified_args={"command": "echo GUARDED"})'))
    watcher = kit.add("w", 'hello(); subscribe(["tool_call"]); ready(); serve()')
    await kit.start()
    tool = FakeTool("bash")
    agent, _ = kit.agent(calls(("bash", {"command": "ls"})), says("ok"), tools=[tool])
    await agent.prompt("go")
    assert tool.ran == [{"command": "echo GUARDED"}]
    assert agent.messages[1].tool_calls()[0].arguments == '{"command":"ls"}'
    await until(lambda: seen_of(watcher, "event"))
    assert seen_of(watcher, "event")[0]["tool_args"] == {"command": "ls"}


@pytest.mark.parametrize("value", ["None", "[1]", '"rm"', "5", "True"])
async def test_rewritten_arguments_that_are_not_an_object_are_ignored(kit: Kit, value: str) -> None:
    """ext-076, engine-146: rewritten arguments that are not a JSON object are ignored and reported as a fault."""
    kit.add("g", intercepting("tool_call", f"answer(f, modified_args={value})"))
    await kit.start()
    tool, is_error, _ = await call(kit)
    assert tool.ran == [{"command": "ls"}] and not is_error
    assert len(kit.surface.faults) == (value != "None")


async def test_rewrites_fold_in_load_order(kit: Kit) -> None:
    """ext-077: two extensions that rewrite are applied one after the other, in load order."""
    for name in ("b", "a"):
        kit.add(
            name, intercepting("tool_call", 'answer(f, modified_args={"command": f["tool_args"]["command"] + NAME})')
        )
    await kit.start()
    tool, _, _ = await call(kit)
    assert tool.ran == [{"command": "lsba"}]


async def test_the_first_block_ends_the_chain_and_drops_the_rewrites(kit: Kit) -> None:
    """ext-078: the first block ends the chain: later extensions are not called, and earlier rewrites are dropped."""
    kit.add("a", intercepting("tool_call", 'answer(f, modified_args={"command": "x"})'))
    kit.add("b", intercepting("tool_call", 'answer(f, block=True, reason="no")'))
    last = kit.add("c", intercepting("tool_call", "answer(f)"))
    await kit.start()
    tool, _, text = await call(kit)
    assert (tool.ran, text) == ([], "no") and seen_of(last, "event_intercept") == []


FAULTS = {
    "silent": "pass",
    "crash": "os._exit(1)",
    "killed": "os.kill(os.getpid(), 9)",
    "closed stdout": "os.close(1)",
    "garbage": 'raw(b"Traceback: oops\\n"); time.sleep(60)',
    "bad type": 'answer(f, block="yes"); time.sleep(60)',
    "oversize": 'raw(b"x" * (9 << 20) + b"\\n"); time.sleep(60)',
    "no newline": 'raw(b"{"); time.sleep(60)',
    "wrong id": 'answer({"id": "99999"}); time.sleep(60)',
}


@pytest.mark.parametrize("declared", ["manifest", "hello"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_guard_that_fails_refuses(kit: Kit, monkeypatch: pytest.MonkeyPatch, fault: str, declared: str) -> None:
    """ext-079, ext-080: a guard that is silent, broken or dead refuses the call."""
    monkeypatch.setattr(limits, "INTERCEPT_REPLY", 0.5)
    options = {"guard": True} if declared == "manifest" else {}
    kit.add("g", intercepting("tool_call", FAULTS[fault], '"guard"' if declared == "hello" else ""), **options)
    await kit.start()
    tool, is_error, text = await call(kit)
    assert tool.ran == [] and is_error
    assert "denied: the guard g" in text and "ext-g.log" in text


@pytest.mark.parametrize("fault", FAULTS)
async def test_failing_interceptor_that_is_no_guard_is_skipped(
    kit: Kit, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """ext-079, ext-080: logged, and shown once."""
    monkeypatch.setattr(limits, "INTERCEPT_REPLY", 0.5)
    kit.add("i", intercepting("tool_call", FAULTS[fault]))
    await kit.start()
    tool, is_error, _ = await call(kit)
    assert tool.ran == [{"command": "ls"}] and not is_error
    assert "it was allowed" in kit.log("i") and kit.surface.faults


async def test_dead_interceptor_is_skipped_and_dead_guard_blocks(kit: Kit) -> None:
    """ext-080: a dead interceptor delays nothing, and a dead guard blocks at once."""
    kit.add("i", 'hello(); subscribe(intercept=["tool_call"]); ready(); time.sleep(0.3); sys.exit(0)')
    host = await kit.start()
    await until(lambda: host.statuses()[0].state == "gone")
    began = time.monotonic()
    tool, _, _ = await call(kit)
    assert len(tool.ran) == 1 and time.monotonic() - began < 0.5


MISSING = {
    "never starts": ("", {"exec": "/no/such/program"}, "is not running"),
    "never greets": ("time.sleep(60)", {}, "sent no hello"),
    "exits before hello": ("sys.exit(1)", {}, "is not running"),
    "ends quietly": ('hello(); subscribe(intercept=["tool_call"]); ready(); time.sleep(0.2)', {}, "is not running"),
    "never subscribes and dies": ("hello(); ready(); time.sleep(0.2)", {}, "is not running"),
    "crashes": ("hello(); ready(); time.sleep(0.2); os._exit(3)", {}, "crashed and is being restarted"),
}


@pytest.mark.parametrize("fault", MISSING)
async def test_a_guard_that_is_missing_blocks_at_once(kit: Kit, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """ext-080: a guard that never got as far as subscribing counts as guarding tool calls."""
    if fault == "never greets":
        monkeypatch.setattr(limits, "READY_GRACE", 0.5)
    body, options, why = MISSING[fault]
    kit.add("g", body, guard=True, **options)
    host = await kit.start()
    ended = ("restarting",) if fault == "crashes" else ("starting", "gone", "restarting")
    await until(lambda: host.statuses()[0].state in ended)
    began = time.monotonic()
    tool, _, text = await call(kit)
    assert tool.ran == [] and f"denied: the guard g {why}" in text and time.monotonic() - began < 0.5


async def test_guard_with_broken_manifest_blocks(kit: Kit) -> None:
    """ext-080: nothing of it could be loaded, and that is no permission."""
    directory = kit.add("g", "hello(); ready(); serve()")
    (directory / "extension.json").write_text('{"name": 5, "guard": true}')
    await kit.start()
    tool, _, text = await call(kit)
    assert tool.ran == [] and str(directory) in text and "cannot be loaded" in text
    assert "extension load:" in kit.surface.faults[0]


async def test_a_guard_that_stops_reading_is_disconnected_and_blocks(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """§10.3: a queue overflow during an interception."""
    monkeypatch.setattr(limits, "WRITE_DEADLINE", 0.3)
    kit.add("g", 'hello(); subscribe(intercept=["tool_call"]); ready(); time.sleep(60)', guard=True)
    await kit.start()
    tool, _, text = await call(kit, {"command": "x" * 300_000})
    assert tool.ran == [] and "the guard g disconnected" in text


async def test_a_guard_sees_tools_called_on_every_path(kit: Kit) -> None:
    """Blueprint 11: including calls requested by an extension, and those of first_call."""
    kit.add("g", intercepting("tool_call", 'answer(f, block=True, reason="by " + f.get("origin_extension", "model"))'))
    await kit.start()
    tool = FakeTool("bash")
    agent, _ = kit.agent(tools=[tool])
    result = await agent.run_tool("bash", {}, "other")
    assert result.is_error and result.content[0].text == "by other" and tool.ran == []  # pyright: ignore


async def test_guard_is_missing_and_blocks_during_reload(kit: Kit) -> None:
    """§15: calls that arrive meanwhile are refused"""
    kit.add("g", intercepting("tool_call", "answer(f)"), guard=True)
    await kit.start()
    tool = FakeTool("bash")
    agent, _ = kit.agent(tools=[tool])
    async with asyncio.TaskGroup() as group:
        reload = group.create_task(kit.host.reload())
        await asyncio.sleep(0)
        refused = await agent.run_tool("bash", {}, "x")
        stats = await reload
    assert refused.is_error and tool.ran == [] and (stats.stopped, stats.loaded, stats.ready) == (1, 1, 1)
    assert not (await agent.run_tool("bash", {}, "x")).is_error


async def test_a_blocked_turn_makes_no_request(kit: Kit) -> None:
    """ext-081: a blocked turn sends no request and ends with stop `error`."""
    directory = kit.add("o", intercepting("turn_start", "answer(f, block=True, reason='' if f['step'] == 1 else '?')"))
    await kit.start()
    agent, client = kit.agent()
    outcome = await agent.prompt("go")
    assert (outcome.stop, outcome.refused, outcome.error) == ("error", "turn blocked by extension guard", None)
    assert client.requests == [] and len(agent.messages) == 1
    (question,) = seen_of(directory, "event_intercept")
    assert set(question) == {"type", "id", "event", "step"} and question["step"] == 1


async def test_replaced_text_is_shown_and_the_original_kept(kit: Kit) -> None:
    """ext-082: no delta shows the original."""
    kit.add("r", intercepting("assistant_message", 'answer(f, replace_text=f["text"].replace("hunter2", "****"))'))
    watcher = kit.add("w", 'hello(); subscribe(["assistant_message"]); ready(); serve()')
    await kit.start()
    said: list[Any] = []
    agent, client = kit.agent(says("key: ", "hunter2"), says("again"))
    await agent.prompt("go", emit=said.append)
    await agent.prompt("go on", emit=said.append)
    shown = "".join(event.delta for event in said if isinstance(event, TextDelta))
    assert shown == "key: ****again" and "hunter2" not in repr(said)
    assert client.requests[1].messages[1].text() == "key: hunter2"
    await until(lambda: seen_of(watcher, "event"))
    assert seen_of(watcher, "event")[0]["text"] == "key: ****"


async def test_a_suppressed_message_is_not_shown_but_its_calls_run(kit: Kit) -> None:
    """ext-083: and the user learns why."""
    kit.add("r", intercepting("assistant_message", 'answer(f, block="secret" in f["text"], reason="withheld")'))
    await kit.start()
    tool, said = FakeTool("bash"), []
    agent, client = kit.agent(calls(("bash", {}), text="secret"), says("fine"), tools=[tool])
    await agent.prompt("go", emit=said.append)
    assert [e.message.text() for e in said if isinstance(e, AssistantMessage)] == ["fine"]
    assert tool.ran == [{}] and client.requests[1].messages[1].content[0] == TextBlock("secret")
    assert kit.surface.of("notify") == [("r", "warn", "withheld")]


async def test_message_without_text_and_unknown_tool_are_not_sent(kit: Kit) -> None:
    """ext-084, ext-085: interceptors get neither a message without text nor a call of an unknown tool."""
    directory = kit.add(
        "r", 'hello(); subscribe(intercept=["assistant_message", "tool_call"]); ready(); serve(event_intercept=answer)'
    )
    await kit.start()
    agent, _ = kit.agent(calls(("bash", {}), ("nope", {})), says("ok"), tools=[FakeTool("bash")])
    await agent.prompt("go")
    asked = [(frame["event"], frame.get("tool_name")) for frame in seen_of(directory, "event_intercept")]
    assert asked == [("tool_call", "bash"), ("assistant_message", None)]


async def test_observing_and_intercepting_are_separate(kit: Kit) -> None:
    """§6.6: an extension that does both gets both frames."""
    directory = kit.add(
        "b", 'hello(); subscribe(["turn_start"], ["turn_start"]); ready(); serve(event_intercept=answer)'
    )
    await kit.start()
    agent, _ = kit.agent(says("ok"))
    await agent.prompt("go")
    assert events_seen(directory) == ["turn_start"] and len(seen_of(directory, "event_intercept")) == 1


async def test_an_abort_ends_the_wait_for_an_answer(kit: Kit) -> None:
    """OP-15: an abort ends the wait for an interceptor's answer at once."""
    directory = kit.add("g", intercepting("tool_call", "pass"))
    await kit.start()
    agent, _ = kit.agent(calls(("bash", {})), tools=[FakeTool("bash")])
    async with asyncio.TaskGroup() as group:
        run = group.create_task(agent.prompt("go"))
        await until(lambda: seen_of(directory, "event_intercept"))
        began = time.monotonic()
        agent.abort()
        assert (await run).stop == "aborted" and time.monotonic() - began < 1


async def test_project_extension_cannot_replace_a_global_guard(tmp_path: Path) -> None:
    """Blueprint 12: the user's guard is called."""
    async with hosting(tmp_path, explicit=(), scan=True, trust_project=True) as kit:
        own = write_extension(
            kit.home / "extensions", "g", intercepting("tool_call", "answer(f, block=True, reason='own')"), guard=True
        )
        write_extension(kit.cwd / ".zot" / "extensions", "g", intercepting("tool_call", "answer(f)"), guard=True)
        host = await kit.start()
        assert [status.directory for status in host.statuses()] == [own]
        _, _, text = await call(kit)
        assert text == "own"


async def test_each_call_of_a_message_is_intercepted(kit: Kit) -> None:
    """One question per call, before it runs."""
    directory = kit.add("g", intercepting("tool_call", 'answer(f, block=f["tool_args"]["n"] == 2, reason="two")'))
    await kit.start()
    tool = FakeTool("bash")
    agent, _ = kit.agent(calls(*(("bash", {"n": n}) for n in (1, 2, 3))), says("ok"), tools=[tool])
    await agent.prompt("go")
    assert tool.ran == [{"n": 1}, {"n": 3}] and len(seen_of(directory, "event_intercept")) == 3


async def test_guard_by_hello_missing_after_reload_blocks(kit: Kit) -> None:
    """Blueprint 11: a declaration before the reload stays valid until the next one."""
    directory = kit.add("g", intercepting("tool_call", "answer(f)", '"guard"'))
    await kit.start()
    (directory / "main.py").write_text("import sys; sys.exit(1)")
    await kit.host.reload()
    tool, _, text = await call(kit)
    assert tool.ran == [] and "denied: the guard g is not running" in text
    write_extension(directory.parent, "g", "hello(); ready(); serve()")
    await kit.host.reload()
    tool, is_error, _ = await call(kit)
    assert len(tool.ran) == 1 and not is_error


REWRITES = 'answer(f, modified_args={"command": "rm -rf /"})'
NO_RM = 'answer(f, block="rm" in f["tool_args"]["command"], reason="no rm")'


async def test_guard_sees_call_changed_by_later_interceptor(kit: Kit) -> None:
    """Attack: a guard allows `ls`, and a later interceptor runs `rm` instead."""
    guard = kit.add("a", intercepting("tool_call", NO_RM), guard=True)
    kit.add("b", intercepting("tool_call", REWRITES))
    await kit.start()
    tool, is_error, text = await call(kit)
    assert (tool.ran, is_error, text) == ([], True, "no rm")
    assert [frame["tool_args"]["command"] for frame in seen_of(guard, "event_intercept")] == ["ls", "rm -rf /"]


async def test_guard_that_saw_final_arguments_is_not_called_twice(kit: Kit) -> None:
    rewriter = kit.add("a", intercepting("tool_call", 'answer(f, modified_args={"command": "ls -l"})'))
    guard = kit.add("b", intercepting("tool_call", "answer(f)"), guard=True)
    same = kit.add("c", intercepting("tool_call", 'answer(f, modified_args=dict(f["tool_args"]))'))
    await kit.start()
    tool, _, _ = await call(kit)
    assert tool.ran == [{"command": "ls -l"}]
    assert [len(seen_of(directory, "event_intercept")) for directory in (rewriter, guard, same)] == [1, 1, 1]


async def test_guard_is_not_called_again_for_its_own_change(kit: Kit) -> None:
    """A guard that changes the call each time is not called about its own change."""
    guard = kit.add(
        "a",
        intercepting("tool_call", 'answer(f, modified_args={"command": "nice " + f["tool_args"]["command"]})'),
        guard=True,
    )
    kit.add("b", intercepting("tool_call", 'answer(f, modified_args={"command": f["tool_args"]["command"] + " -l"})'))
    await kit.start()
    tool, _, _ = await call(kit)
    assert tool.ran == [{"command": "nice nice ls -l"}] and len(seen_of(guard, "event_intercept")) == 2


async def test_guards_that_never_agree_refuse(kit: Kit) -> None:
    for name in ("a", "b"):
        kit.add(name, intercepting("tool_call", "answer(f, modified_args={'command': NAME})"), guard=True)
    await kit.start()
    tool, _, text = await call(kit)
    assert tool.ran == [] and "keep changing" in text


async def test_one_and_true_are_not_the_same_arguments(kit: Kit) -> None:
    """They are equal in Python; a guard that saw one must be called about the other."""
    kit.add("a", intercepting("tool_call", 'answer(f, block=f["tool_args"]["n"] is True, reason="true")'), guard=True)
    kit.add("b", intercepting("tool_call", 'answer(f, modified_args={"n": True})'))
    await kit.start()
    _, _, text = await call(kit, {"n": 1})
    assert text == "true"


async def test_guard_sees_answer_changed_by_later_interceptor(kit: Kit) -> None:
    kit.add("a", intercepting("assistant_message", 'answer(f, block="secret" in f["text"], reason="no")'), guard=True)
    kit.add("b", intercepting("assistant_message", 'answer(f, replace_text="the secret")'))
    await kit.start()
    said: list[Any] = []
    agent, _ = kit.agent(says("hello"))
    await agent.prompt("go", emit=said.append)
    assert "secret" not in repr(said)


async def test_guards_are_called_again_after_program_rewrites(kit: Kit) -> None:
    """Interceptors of the program and of extensions are one chain; only guards are called twice."""
    guard = kit.add("a", intercepting("tool_call", NO_RM), guard=True)
    other = kit.add("b", intercepting("tool_call", "answer(f)"))
    await kit.start()
    tool = FakeTool("bash")
    agent, _ = kit.agent(calls(("bash", {"command": "ls"})), says("ok"), tools=[tool])
    agent.interceptors.append(FakeInterceptor(tool=ToolVerdict(args={"command": "rm"})))
    await agent.prompt("go")
    assert tool.ran == []
    assert (len(seen_of(guard, "event_intercept")), len(seen_of(other, "event_intercept"))) == (2, 1)


ELSEWHERE = "hello(); subscribe(intercept=['turn_start'])"


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ("time.sleep(60)", "did not subscribe to tool_call"),
        ("serve(event_intercept=answer)", "did not subscribe to tool_call"),
        ("ready(); time.sleep(0.1); os._exit(1)", "crashed and is being restarted"),
        ("ready(); time.sleep(0.1); sys.exit(0)", "is not running"),
    ],
)
async def test_guard_with_partial_subscription_blocks_until_ready(kit: Kit, rest: str, why: str) -> None:
    """Attack: a guard is slow or exits after its first subscription, and silence would count as ready."""
    kit.add("g", f"{ELSEWHERE}; {rest}", guard=True)
    host = await kit.start()
    wanted = {"crashed": "restarting", "is not": "gone"}.get(why[:7].strip(), "ready")
    await until(lambda: host.statuses()[0].state == wanted)
    agent, _ = kit.agent(tools=[tool := FakeTool("bash")])
    result = await agent.run_tool("bash", {}, "x")
    assert tool.ran == [] and f"denied: the guard g {why}" in result.content[0].text  # pyright: ignore


async def test_ready_guard_decides_only_its_subscriptions(kit: Kit) -> None:
    kit.add("g", f"{ELSEWHERE}; ready(); serve(event_intercept=answer)", guard=True)
    await kit.start()
    tool, is_error, _ = await call(kit)
    assert len(tool.ran) == 1 and not is_error


async def test_guarded_kinds_stay_guarded_after_reload_until_ready(kit: Kit) -> None:
    directory = kit.add("g", intercepting("assistant_message", "answer(f)"), guard=True)
    await kit.start()
    write_extension(directory.parent, "g", "hello(); subscribe(intercept=['tool_call']); serve()", guard=True)
    await kit.host.reload()
    assert kit.host.interceptor.watches_text
    assert not (await kit.host.interceptor.before_message("hello")).allowed
    write_extension(directory.parent, "g", intercepting("tool_call", "answer(f)"), guard=True)
    await kit.host.reload()
    assert not kit.host.interceptor.watches_text


async def test_a_guard_talks_through_sockets_and_others_through_pipes(kit: Kit) -> None:
    """Attack: another process opens `/proc/PID/fd/1` of a guard and answers in its place."""
    body = "streams = [os.readlink(f'/proc/self/fd/{fd}') for fd in (0, 1)]\n"
    body += "open('streams', 'w').write(str(streams)); hello(); ready(); serve()"
    guard, other = kit.add("g", body, guard=True), kit.add("o", body)
    await kit.start()
    assert (guard / "streams").read_text().count("socket:") == 2
    assert (other / "streams").read_text().count("pipe:") == 2


async def test_question_ids_are_unpredictable(kit: Kit) -> None:
    directory = kit.add("g", intercepting("tool_call", "answer(f)"), guard=True)
    await kit.start()
    for _ in range(3):
        await call(kit)
    ids = [frame["id"] for frame in seen_of(directory, "event_intercept")]
    assert len(set(ids)) == 3 and all(len(id) == 16 for id in ids)


async def test_guard_by_hello_is_restarted_over_sockets_and_remembered(tmp_path: Path) -> None:
    body = "open('lives', 'a').write(os.readlink('/proc/self/fd/1')[:6] + ' ')\n"
    body += intercepting("tool_call", "answer(f)", '"guard"')
    async with hosting(tmp_path, scan=True) as kit:
        directory = write_extension(kit.home / "extensions", "g", body)
        host = await kit.start()
        assert [(status.state, status.guard) for status in host.statuses()] == [("ready", True)]
        assert (directory / "lives").read_text() == "pipe:[ socket "
        assert (await call(kit))[0].ran
    async with hosting(tmp_path, scan=True) as kit:
        await kit.start()
        assert (directory / "lives").read_text() == "pipe:[ socket socket "
        (directory / "main.py").write_text("raise SystemExit(1)")
        await kit.host.reload()
        assert "denied: the guard g is not running" in (await call(kit))[2]
    async with hosting(tmp_path, scan=True) as kit:
        await kit.start()
        assert "denied: the guard g is not running" in (await call(kit))[2]


async def test_guard_that_stops_declaring_it_is_reported_and_forgotten(tmp_path: Path) -> None:
    async with hosting(tmp_path, scan=True) as kit:
        directory = write_extension(kit.home / "extensions", "g", intercepting("tool_call", "answer(f)", '"guard"'))
        await kit.start()
        write_extension(directory.parent, "g", "hello(); ready(); serve()")
        await kit.host.reload()
        assert (await call(kit))[0].ran
        assert kit.fault("no longer declares itself a guard")
        assert not (kit.home / "guards.json").exists()


async def test_bash_guard_on_a_socket_reads_no_bashrc(tmp_path: Path) -> None:
    """bash takes a socket for a network login."""
    (tmp_path / ".bashrc").write_text("echo something")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    async with hosting(tmp_path, environment=lambda: dict(environment)) as kit:
        hello = 'printf \'{"type":"hello","name":"g"}\\n{"type":"ready"}\\n\'; cat > /dev/null'
        kit.add("g", "", exec="/bin/bash", args=["-c", hello], guard=True)
        host = await kit.start()
        assert host.statuses()[0].state == "ready" and kit.surface.faults == []
