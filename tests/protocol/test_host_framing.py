"""Framing in both directions (extension-protocol.md §2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.client import calls, says
from tests.fakes.extension_host import Kit, until
from tests.fakes.extensions import events_seen, seen, seen_of
from tests.fakes.tools import FakeTool
from zot.agent.slash_commands import Display

ALL_EVENTS = '["session_start","turn_start","tool_call","assistant_message","turn_end","tool_result"]'


async def test_host_frame_is_one_compact_line_with_type_and_id_first(kit: Kit) -> None:
    """ext-001, ext-002: every host frame is one compact line with `type` first and `id` second."""
    directory = kit.add(
        "all",
        f"""
hello("tool_cancel"); tool("weather"); send(type="register_command", name="c")
subscribe({ALL_EVENTS}, ["tool_call", "turn_start", "assistant_message"]); ready()
serve(event_intercept=answer, tool_call=lambda f: text(f["id"], "sunny"),
      command_invoked=lambda f: send(type="command_response", id=f["id"]))
""",
    )
    host = await kit.start()
    kit.session_started()
    agent, _ = kit.agent(calls(("weather", {"city": "a b"}), text="look: here, now"), says("done"))
    await agent.prompt("go")
    await host.run_command("c", "x y")
    await host.stop()
    lines = (directory / "seen.jsonl").read_bytes()
    assert lines.endswith(b"\n") and len(seen(directory)) > 10
    for line in lines.splitlines():
        frame: dict[str, Any] = json.loads(line)
        assert line == json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode()
        assert next(iter(frame)) == "type" and ("id" not in frame or list(frame)[1] == "id")


async def test_shell_script_extension_using_sed_works(kit: Kit) -> None:
    """ext-003: an extension written as a shell script that matches text and cuts ids with sed works."""
    kit.add(
        "shell",
        """
echo '{"type":"hello","name":"shell"}'
echo '{"type":"register_command","name":"hi"}'
echo '{"type":"ready"}'
while IFS= read -r line; do
  case $line in
    *'"type":"command_invoked"'*)
      id=$(printf '%s' "$line" | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')
      printf '{"type":"command_response","id":"%s","action":"display","display":"from sh"}\\n' "$id" ;;
  esac
done
""",
        program="sh",
    )
    host = await kit.start()
    assert await host.run_command("hi", "") == Display("shell", "from sh")


async def test_non_ascii_text_is_raw_and_lone_surrogates_are_harmless(kit: Kit) -> None:
    """ext-004: text beyond ASCII is sent as raw UTF-8, and unpaired surrogates are harmless."""
    directory = kit.add("uni", 'hello(); subscribe(["user_prompt_submit"]); ready(); serve()')
    host = await kit.start()
    agent, _ = kit.agent(says("ok"))
    await agent.prompt("grüße \ud800 ☃")
    await until(lambda: events_seen(directory))
    assert "grüße \ufffd ☃".encode() in (directory / "seen.jsonl").read_bytes()
    assert host.statuses()[0].state == "ready"


async def test_a_line_may_end_in_crlf(kit: Kit) -> None:
    """ext-005: a child may end its lines in CRLF."""
    kit.add("crlf", """raw(b'{"type":"hello","name":"crlf"}\\r\\n{"type":"ready"}\\r\\n'); serve()""")
    host = await kit.start()
    assert host.statuses()[0].ready_how == "frame" and kit.surface.faults == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"not json", "malformed"),
        (b"", "malformed"),
        (b"[1]", "malformed"),
        (b'{"type":"notify","id":7,"message":"no"}', "malformed"),
        (b'{"type":"notify","message":["no"]}', "malformed"),
        (b'{"type":5}', "malformed"),
        (b'{"type":"notify","message":"\xff\xfe"}', "malformed"),
        (b'{"type":"notify","message":"a","message":"b"}', "malformed"),
        (b'{"type":"notify","message":NaN}', "malformed"),
        (b'{"type":"register_tool","name":"x","schema":' + b"[" * 70 + b"]" * 70 + b"}", "malformed"),
        (b'{"type":"notify","message":"\\ud800"}', "malformed"),
        (b'{"type":"sing"}', "unknown"),
        (b"{}", "unknown"),
        (b'{"type":"hello","name":"again"}', "unknown"),
    ],
)
async def test_a_bad_line_is_logged_shown_once_and_skipped(kit: Kit, line: bytes, kind: str) -> None:
    """ext-006, ext-007, ext-008: a bad line is logged, shown once and skipped, and the next frame is handled."""
    kit.add(
        "bad",
        f'hello(); ready()\nfor _ in range(3): raw({line!r} + b"\\n")\nsend(type="notify", message="next"); serve()',
    )
    await kit.start()
    await until(lambda: kit.surface.of("notify") == [("bad", "", "next")])
    assert len(kit.surface.faults) == 1 and kind in kit.surface.faults[0]
    assert kit.log("bad").count(kind) == 3
    assert str(kit.home / "logs" / "ext-bad.log") in kit.surface.faults[0]


async def test_null_means_absent(kit: Kit) -> None:
    """ext-009: `null` in any optional key of a child's frame counts as absent."""
    kit.add(
        "nulls",
        """
send(type="hello", name=NAME, version=None, capabilities=None)
send(type="register_tool", name="t", description=None, schema=None, deferred=None)
send(type="subscribe", events=None, intercept=None); ready()
serve(tool_call=lambda f: send(type="tool_result", id=f["id"], is_error=None,
      content=[{"type": "text", "text": "fine", "data": None}]))
""",
    )
    host = await kit.start()
    agent, client = kit.agent(calls(("t", {})), says("ok"))
    await agent.prompt("go")
    assert client.requests[1].messages[-1].tool_results()[0].is_error is False
    assert kit.surface.faults == [] and host.statuses()[0].tools == ("t",)


async def test_line_above_8_mib_is_skipped_and_next_is_read(kit: Kit) -> None:
    """ext-010: a line of 7.9 MiB is accepted, one above 8 MiB is skipped, and the next is read."""
    kit.add(
        "long",
        """
hello(); tool("big"); ready()
def big(f):
    raw(b'{"type":"notify","message":"' + b"x" * (9 << 20) + b'"}\\n')
    text(f["id"], "y" * int(7.9 * (1 << 20)))
serve(tool_call=big)
""",
    )
    await kit.start()
    agent, _ = kit.agent(calls(("big", {})), says("ok"), compact_at=0)
    await agent.prompt("go")
    (result,) = agent.messages[2].tool_results()
    assert len(result.content[0].text) == int(7.9 * (1 << 20))  # pyright: ignore[reportAttributeAccessIssue]
    assert "8 MiB" in kit.fault("skipped") and kit.surface.of("notify") == []


async def test_the_limit_counts_the_line_feed(kit: Kit) -> None:
    """ext-010: a line of exactly 8 MiB with its line feed is taken; one byte more is too much."""
    kit.add(
        "exact",
        """
hello(); ready()
for size in ((8 << 20) + 1, 8 << 20):
    begin, end = b'{"type":"notify","message":"', b'"}\\n'
    raw(begin + b"x" * (size - len(begin) - len(end)) + end)
serve()
""",
    )
    await kit.start()
    await until(lambda: len(kit.surface.of("notify")) == 1)
    assert "8 MiB" in kit.fault("skipped")


async def test_a_last_line_without_line_feed_counts(kit: Kit) -> None:
    """ext-011: a last line without a line feed is handled before the child's exit."""
    kit.add("last", """hello(); ready(); raw(b'{"type":"notify","message":"bye"}'); sys.exit(0)""")
    await kit.start()
    await until(lambda: kit.surface.of("notify") == [("last", "", "bye")])


async def test_split_and_joined_frames_are_read_alike(kit: Kit) -> None:
    """ext-032: frames pipelined behind hello in the same write are not lost."""
    kit.add(
        "split",
        """
whole = b'{"type":"hello","name":"split"}\\n{"type":"register_command","name":"a"}\\n{"type":"ready"}\\n'
raw(whole)
for byte in b'{"type":"register_command","name":"b"}\\n': raw(bytes([byte]))
serve()
""",
    )
    host = await kit.start()
    await until(lambda: [command.name for command in host.commands()] == ["a", "b"])


async def test_answers_to_nothing_are_dropped_with_one_diagnostic(kit: Kit) -> None:
    """§2.2: unknown, repeated and late ids."""
    kit.add(
        "echo",
        """
hello(); tool("t"); ready()
send(type="tool_result", id="999"); send(type="command_response", id="1"); send(type="event_intercept_response", id="")
def twice(f):
    text(f["id"], "first"); text(f["id"], "second")
serve(tool_call=twice)
""",
    )
    await kit.start()
    agent, _ = kit.agent(calls(("t", {})), says("ok"))
    await agent.prompt("go")
    (result,) = agent.messages[2].tool_results()
    assert [block.text for block in result.content] == ["first"]  # pyright: ignore[reportAttributeAccessIssue]
    assert "not open" in kit.fault("dropped")
    await until(lambda: kit.log("echo").count("not open") == 4)


async def test_host_without_extensions_runs_builtin_tools(kit: Kit, tmp_path: Path) -> None:
    """A host without extensions changes nothing."""
    await kit.start()
    tool = FakeTool("bash")
    agent, _ = kit.agent(calls(("bash", {"command": "ls"})), says("ok"), tools=[tool])
    assert (await agent.prompt("go")).stop == "end" and tool.ran == [{"command": "ls"}]
    assert seen_of(tmp_path, "event") == []
