"""``zot.client`` against the real ``zot rpc`` and a scripted model, with tools, abort, extensions and approvals."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.clients.suite import BOARD, installed
from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, Say, Slow
from zot.client import (
    AnswerMismatch,
    ApprovalRequest,
    Client,
    ClientOptions,
    CommandFailed,
    Done,
    Event,
    ExtNotify,
    ExtPanel,
    NoAnswer,
    ProcessGone,
    SyncClient,
    TextDelta,
    ToolProgress,
    ToolResult,
    TurnEnd,
    text_of,
)
from zot.errors import CompactionFailed, RuntimeClosed, UsageError

Serve = Callable[..., FakeModelServer]
ENDLESS = Slow(Say("word " * 2000), 0.005)

EXTENSION = """
from zot.ext import Extension, Response

ext = Extension("greeter", "1.0.0")

@ext.command("greet", "says hello")
def greet(args: str) -> Response:
    ext.notify("info", "greeting")
    return Response.prompt(f"Say hello to {args}") if args else Response.display("whom?")

ext.run()
"""


@pytest.fixture
def options(zot: Zot) -> Callable[..., ClientOptions]:
    def make(**more: Any) -> ClientOptions:
        base: dict[str, Any] = {
            "base_url": zot.url,
            "cwd": zot.project,
            "env": {**zot.env(), "ANTHROPIC_API_KEY": "test-key"},
            "silence": 5.0,
        }
        return ClientOptions(**(base | more))

    return make


@pytest.fixture
def drive(options: Callable[..., ClientOptions]) -> Callable[..., Client]:
    return lambda **more: Client(**options(**more))


@pytest.fixture
def greeter(tmp_path: Path) -> Path:
    return Path(installed(tmp_path, "greeter", EXTENSION))


async def read(stream: Any) -> list[Event]:
    return [event async for event in stream]


def speaking(program: str) -> list[str]:
    """A fake zot: a program that reads commands with ``lines`` and answers with ``say``."""
    head = (
        "import json, sys, time, os\n"
        "lines = (json.loads(line) for line in sys.stdin)\n"
        "def say(**fields): print(json.dumps(fields), flush=True)\n"
        "def hello():\n"
        "    command = next(lines)\n"
        "    say(type='response', id=command['id'], command='hello', success=True, data={'protocol_version': 1,"
        " 'version': '0', 'provider': 'p', 'model': 'm'})\n"
    )
    return [sys.executable, "-c", head + program]


async def test_a_prompt_with_a_tool_is_a_stream_of_typed_events(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([CallTools([("bash", {"command": "echo one"})], "Let me look."), Say("It says one.")])
    async with drive() as zot:
        events = await read(zot.prompt("look"))
        assert isinstance(events[-1], Done)
        assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == "Let me look.It says one."
        assert any("one" in event.text for event in events if isinstance(event, ToolProgress))
        assert [event.is_error for event in events if isinstance(event, ToolResult)] == [False]
        state = await zot.state()
        assert (state.message_count, state.busy, state.usage.output) == (4, False, 10)
        assert text_of((await zot.messages())[-1]) == "It says one."


async def test_commands_answered_at_once(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([Say("hi"), Say("hi again")])
    async with drive(model="claude-opus-4-5") as zot:
        assert zot.hello and zot.hello.protocol_version == 1
        await zot.ping()
        await zot.abort()
        assert {model.provider for model in await zot.models()} == {"anthropic"}
        await zot.set_model("claude-haiku-4-5")
        with pytest.raises(CommandFailed, match='unknown model "nonsense"'):
            await zot.set_model("nonsense")
        await zot.set_reasoning("low")
        assert await zot.ask("hi") == "hi"
        await zot.clear()
        assert ((await zot.state()).model, await zot.messages()) == ("claude-haiku-4-5", ())


async def test_retained_stream_ends_with_its_loop(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([ENDLESS, Say("after")])
    async with drive() as zot:
        stream = zot.prompt("hi")
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        assert await zot.ask("again") == "after"
        assert stream is not None


def test_sync_loop_left_early_ends_the_prompt(serve: Serve, options: Callable[..., ClientOptions]) -> None:
    serve([ENDLESS, Say("after")])
    zot = SyncClient(**options()).open()
    stream = zot.prompt("hi")
    for event in stream:
        if isinstance(event, TextDelta):
            break
    assert zot.ask("again") == "after"
    assert stream is not None
    zot.close()


async def test_answer_has_the_requested_type(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([Say("Let me think."), Say('{"a": 1}'), Say("no")])
    async with drive() as zot:
        assert await zot.ask("Count.", returns=dict[str, int]) == {"a": 1}
        with pytest.raises(AnswerMismatch, match="asked once"):
            await zot.ask("Count.", returns=dict[str, int], tries=1)


async def test_compacting_waits_for_compact_done(serve: Serve, drive: Callable[..., Client]) -> None:
    """rpc-077: a prompt behind a compaction starts without a ``done`` in between, and the client handles it."""
    serve([Say("answer"), Say("the summary"), Say("after")])
    async with drive() as zot:
        with pytest.raises(CompactionFailed, match="nothing to compact"):
            await zot.compact()
        await zot.ask("question")
        async with asyncio.TaskGroup() as group:
            summary = group.create_task(zot.compact())
            await asyncio.sleep(0)
            answer = group.create_task(zot.ask("next"))
        assert (summary.result(), answer.result()) == ("the summary", "after")


async def test_concurrent_prompts_are_answered_in_order(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([Slow(Say("first answer"), 0.01), Say("second answer"), Say("third answer")])
    async with drive() as zot, asyncio.TaskGroup() as group:
        answers = [group.create_task(zot.ask(f"prompt {number}")) for number in range(3)]
    assert [task.result() for task in answers] == ["first answer", "second answer", "third answer"]


async def test_an_abort_ends_the_stream_and_leaving_the_loop_aborts(serve: Serve, drive: Callable[..., Client]) -> None:
    server = serve([ENDLESS, ENDLESS, Say("after")])
    async with drive() as zot:
        events: list[Event] = []
        async for event in zot.prompt("hi"):
            events.append(event)
            if isinstance(event, TextDelta) and len(events) < 8:
                await zot.abort()
        assert [event.stop for event in events if isinstance(event, TurnEnd)] == ["aborted"]
        async for event in zot.prompt("hi"):
            if isinstance(event, TextDelta):
                break
        assert await zot.ask("again") == "after"
    assert len(server.requests) == 3


async def test_a_failing_prompt_is_an_error_event_and_asking_raises(serve: Serve, drive: Callable[..., Client]) -> None:
    refusal = Refuse(400, {"error": {"type": "invalid_request_error", "message": "no such thing"}})
    serve([refusal, Say("fine")])
    async with drive() as zot:
        with pytest.raises(CommandFailed, match="no such thing"):
            await zot.ask("hi")
        assert await zot.ask("hi") == "fine"
        with pytest.raises(UsageError, match="expected PNG"):
            await zot.ask("look", [b"not an image"])


@pytest.mark.parametrize(("decision", "runs"), [(True, True), ("all", True), (False, False), ("nonsense", False)])
async def test_client_approval_runs_only_approved_calls(
    serve: Serve, drive: Callable[..., Client], zot: Zot, decision: Any, runs: bool
) -> None:
    """rpc-014, through the client: the call waits for the caller's decision."""
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> Any:
        asked.append(request)
        return decision

    serve([CallTools([("bash", {"command": "touch made"})]), Say("ok")])
    async with drive(approve=approve) as client:
        assert await client.ask("go") == "ok"
    assert (asked[0].name, asked[0].args) == ("bash", {"command": "touch made"})
    assert (zot.project / "made").exists() is runs


async def test_extension_commands_run_and_their_notes_arrive(
    serve: Serve, drive: Callable[..., Client], greeter: Path
) -> None:
    """rpc-058, through the client: commands of extensions run, and their notes arrive as events."""
    server = serve([Say("Hello, Ada!")])
    heard: list[Event] = []
    async with drive(extensions=[greeter], capabilities=["commands"], on_event=heard.append) as zot:
        own = [(each.name, each.extension) for each in await zot.commands() if each.extension]
        assert own == [("greet", "greeter")]
        ran, events = await zot.run_command("greet")
        assert (ran.action, await read(events)) == ("display", [])
        ran, events = await zot.run_command("greet", "Ada")
        seen = await read(events)
        assert ran.started and isinstance(seen[-1], Done)
        assert "".join(event.delta for event in seen if isinstance(event, TextDelta)) == "Hello, Ada!"
    assert ExtNotify(extension="greeter", level="info", message="greeting") in [*heard, *seen]
    assert "Say hello to Ada" in server.requests[0].body.decode()


async def test_right_token_opens_the_session(serve: Serve, drive: Callable[..., Client]) -> None:
    """rpc-016, through the client: the right token opens the session."""
    serve([Say("hi")])
    async with drive(token="a shared secret") as zot:
        assert await zot.ask("hi") == "hi"


async def test_failed_start_raises_with_zot_stderr(zot: Zot) -> None:
    with pytest.raises(ProcessGone, match="exited with code 1: zot: no credential") as caught:
        async with Client(cwd=zot.project, env={**zot.env(), "ANTHROPIC_API_KEY": ""}):
            pass
    assert "ANTHROPIC_API_KEY" in caught.value.stderr
    for command in (["/no/such/zot"], "/no/such/zot", Path("/no/such/zot")):  # issue 29.22: a string is one program
        with pytest.raises(ProcessGone, match=r"cannot start /no/such/zot"):
            async with Client(command=command):
                pass


async def test_killed_process_ends_stream_with_error_and_next_restarts(
    serve: Serve, drive: Callable[..., Client]
) -> None:
    serve([ENDLESS, Say("alive")])
    async with drive() as zot:
        with pytest.raises(ProcessGone, match="exited with code -9"):
            async for event in zot.prompt("hi"):
                if isinstance(event, TextDelta) and zot.pid:
                    os.kill(zot.pid, signal.SIGKILL)
        assert await zot.ask("again") == "alive"
        assert zot.starts == 2


async def test_dead_process_without_restart_stays_dead(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([Say("hi")])
    async with drive(restart=False) as zot:
        assert zot.pid
        os.kill(zot.pid, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(ProcessGone):
                await zot.ask("hi")
        assert zot.starts == 1


async def test_a_session_outlives_the_process(serve: Serve, drive: Callable[..., Client], zot: Zot) -> None:
    serve([Say("noted"), Say("yes")])
    async with drive(args=["--continue"]) as client:
        await client.ask("remember me")
        assert client.pid
        os.kill(client.pid, signal.SIGKILL)
        with pytest.raises(ProcessGone):  # nobody can know whether it was begun, so it is not sent again
            await client.ask("do you?")
        await client.ask("do you?")
        assert text_of((await client.messages())[0]) == "remember me"


async def test_a_stopped_process_is_noticed_and_ended(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([ENDLESS, Say("alive")])
    async with drive(silence=0.3, answer_timeout=0.3) as zot:
        with pytest.raises(NoAnswer, match="no answer to a ping"):
            async for event in zot.prompt("hi"):
                if isinstance(event, TextDelta) and zot.pid:
                    os.kill(zot.pid, signal.SIGSTOP)
        assert await zot.ask("again") == "alive"


async def test_long_silence_of_the_model_does_not_end_the_process(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([Slow(Say("late"), 0.3)])
    async with drive(silence=0.05) as zot:
        assert await zot.ask("hi") == "late"


async def test_a_command_without_an_answer_times_out() -> None:
    async with Client(command=speaking("hello()\nfor line in lines: pass"), answer_timeout=0.2) as zot:
        with pytest.raises(NoAnswer, match=r"did not answer get_state within 0\.2 s"):
            await zot.state()
    with pytest.raises(NoAnswer, match="did not answer hello"):
        async with Client(command=speaking("time.sleep(60)"), start_timeout=0.2):
            pass


async def test_answer_without_data_fails_command_but_counts_as_alive() -> None:
    program = (
        "hello()\nprompt = next(lines)\n"
        "say(type='response', id=prompt['id'], command='prompt', success=True, data={'started': True})\n"
        "for count, line in enumerate(lines):\n"
        "    say(type='response', id=line.get('id', ''), command=line['type'], success=True)\n"
        "    if count == 2: say(type='done')\n"
    )
    async with Client(command=speaking(program), silence=0.05) as zot:
        assert await read(zot.prompt("hi")) == [Done()]
        with pytest.raises(CommandFailed, match="cannot decode the answer to get_state"):
            await zot.state()


async def test_a_program_that_is_not_zot_is_ended() -> None:
    with pytest.raises(ProcessGone, match="exited with code 0"):
        async with Client(command=[sys.executable, "-c", "print('hello')"]):
            pass


async def test_noise_unknown_events_and_long_lines_are_harmless() -> None:
    program = (
        "hello()\nprompt = next(lines)\n"
        "say(type='response', id=prompt['id'], command='prompt', success=True, data={'started': True})\n"
        "print('noise'); print('[1]'); say(type='from_the_future', x=1)\n"
        "say(type='text_delta', delta='x' * 20_000_000)\nsay(type='done')\nfor line in lines: pass\n"
    )
    async with Client(command=speaking(program)) as zot:
        future, delta, done = await read(zot.prompt("hi"))
    assert future.type == "from_the_future" and len(delta.delta) == 20_000_000 and done == Done()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


async def test_a_slow_reader_may_still_ask_and_loses_nothing() -> None:
    program = (
        "hello()\nprompt = next(lines)\n"
        "say(type='response', id=prompt['id'], command='prompt', success=True, data={'started': True})\n"
        "for n in range(20_000): say(type='text_delta', delta=f'{n} ')\n"
        "ping = next(lines)\nsay(type='response', id=ping['id'], command='ping', success=True, data={'pong': True})\n"
        "say(type='done')\nfor line in lines: pass\n"
    )
    async with Client(command=speaking(program)) as zot:
        stream = zot.prompt("hi")
        first = await anext(stream)
        await zot.ping()
        rest = await read(stream)
    assert [event.delta for event in [first, *rest[:-1]]] == [f"{n} " for n in range(20_000)]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def test_stderr_is_captured() -> None:
    heard: list[str] = []
    program = "hello()\nprint('careful', file=sys.stderr, flush=True)\nnext(lines)\nos._exit(3)"
    async with Client(command=speaking(program), on_stderr=heard.append, restart=False) as zot:
        with pytest.raises(ProcessGone, match="exited with code 3: careful"):
            await zot.ping()
        assert (heard, zot.stderr) == (["careful"], "careful\n")


async def test_close_ends_an_unresponsive_process() -> None:
    import contextlib

    program = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nhello()\nwhile True: time.sleep(1)"
    async with Client(command=speaking(program), exit_timeout=0.1) as zot:
        pid = zot.pid
        assert pid
    with pytest.raises(RuntimeClosed):
        await zot.ping()
    await zot.close()
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        raise AssertionError("the process is still there")


async def test_closing_in_the_middle_of_a_prompt_leaves_nothing(serve: Serve, drive: Callable[..., Client]) -> None:
    serve([ENDLESS])
    async with drive() as zot:
        stream = zot.prompt("hi")
        await anext(stream)
        pid = zot.pid
        async with asyncio.timeout(5):
            await zot.close()
        assert pid and zot.pid is None
        assert [event async for event in stream if isinstance(event, TextDelta)] == []
    assert len(asyncio.all_tasks()) == 1


def test_the_sync_client_is_a_plain_loop(serve: Serve, options: Callable[..., ClientOptions]) -> None:
    serve([CallTools([("bash", {"command": "true"})]), Say("Hello there"), ENDLESS, Say("summary"), Say("after")])
    with SyncClient(**options()) as zot:
        events = list(zot.prompt("hi"))
        assert "".join(event.delta for event in events if isinstance(event, TextDelta)) == "Hello there"
        assert zot.state().message_count == 4 and len(zot.messages()) == 4 and zot.models()
        for event in zot.prompt("again"):
            if isinstance(event, TextDelta):
                break
        assert zot.compact() == "summary"
        assert zot.ask("more") == "after"
        zot.ping(), zot.abort(), zot.set_reasoning("low"), zot.clear()
        assert zot.pid and zot.stderr == ""
    with pytest.raises(RuntimeClosed, match="client is closed"):
        zot.ask("hi")
    with pytest.raises(RuntimeClosed, match="client is closed"):
        zot.prompt("hi")


def test_the_sync_client_drives_a_panel(serve: Serve, options: Callable[..., ClientOptions], tmp_path: Path) -> None:
    """iface-059 (§14.7): opened by a command, redrawn by a key; its owner receives an event when the user closes it."""
    serve([])
    heard = queue.SimpleQueue[Event]()
    board = installed(tmp_path, "board", BOARD)
    announced = options(extensions=[board], capabilities=["commands", "panels"], on_event=heard.put)
    with SyncClient(**announced) as zot:
        ran, events = zot.run_command("open")
        assert ran.action == "open_panel"
        for event in events:
            heard.put(event)
        opened = heard.get(timeout=10)
        assert isinstance(opened, ExtPanel) and (opened.title, opened.lines) == ("Board", ("one", "two"))
        zot.panel_key("board", "p", "down")
        drawn = heard.get(timeout=10)
        assert isinstance(drawn, ExtPanel) and drawn.lines == ("down", "")
        zot.panel_close("board", "p")
        assert heard.get(timeout=10) == ExtNotify(extension="board", level="info", message="the user closed it")


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(TypeError, match="modle"):
        Client(modle="x")  # pyright: ignore[reportCallIssue]  the mistake itself
