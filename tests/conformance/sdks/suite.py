"""Tests that every author SDK must pass, with one extension per language; answers are compared as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.sdks.pipe_host import ACK, PipeHost
from zot.wire import extension_codec, extension_frames
from zot.wire.extension_frames import Content, Panel

ANY = {"type": "object"}
ECHO_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTE = 'émigré 漢 😀 \u2028 <&> " \\ \t end'


def text(words: str) -> Content:
    return Content(type="text", text=words)


class SdkSuite:
    """Subclasses start the extension that uses every verb, and the starter of their language."""

    second_edition: tuple[str, ...] = ()

    @pytest.fixture
    def everything(self) -> tuple[list[str], Path]:
        raise NotImplementedError

    @pytest.fixture
    def starter(self) -> tuple[list[str], Path]:
        raise NotImplementedError

    @pytest.fixture
    def fresh(self, everything: tuple[list[str], Path]) -> Iterator[PipeHost]:
        with PipeHost(*everything) as host:
            yield host

    @pytest.fixture
    def host(self, fresh: PipeHost) -> PipeHost:
        fresh.greet()
        return fresh

    # --- handshake ---

    def test_hello_comes_first_and_names_the_capabilities(self, fresh: PipeHost) -> None:
        """ext-033, ext-034, child side: `hello` is the first frame and carries name, version and capabilities."""
        capabilities = (
            "commands",
            "tools",
            "events",
            "panels",
            "tool_cancel",
            "call_tool",
            *self.second_edition,
            "guard",
        )
        assert fresh.line() == extension_codec.encode(
            extension_frames.Hello(name="everything", version="1.2.3", capabilities=capabilities)
        )

    def test_registrations_wait_for_the_ack_and_come_in_order(self, fresh: PipeHost) -> None:
        """Commands (including those of on_hello), tools, one subscribe in wire order, ready."""
        lines = fresh.greet()[1:]
        assert b'{"type":"register_command","name":"hello-anthropic","description":"made in on_hello"}\n' in lines
        kinds = [extension_codec.decode_child(line).__class__.__name__ for line in lines]
        order = ["RegisterCommand", "RegisterTool", "Subscribe", "Ready"]
        assert kinds == sorted(kinds, key=order.index)
        assert lines[-2] == extension_codec.encode(
            extension_frames.Subscribe(
                events=("turn_start", "session_end", "tool_result"), intercept=extension_frames.INTERCEPTS
            )
        )

    def test_a_tool_is_registered_with_all_its_options(self, fresh: PipeHost) -> None:
        lines = fresh.greet()
        assert (
            extension_codec.encode(
                extension_frames.RegisterTool(name="echo", description="Echoes.", schema=ECHO_SCHEMA)
            )
            in lines
        )
        later = extension_frames.RegisterTool(
            name="later",
            description="Waits.",
            schema=ANY,
            output_schema=ANY,
            namespace="ns",
            namespace_description="nd",
            namespace_instructions="ni",
            exposure="deferred",
            deferred=True,
            interactive=True,
            replay="reconcile",
        )
        assert extension_codec.encode(later) in lines

    def test_frames_pipelined_behind_the_ack_are_answered(self, fresh: PipeHost) -> None:
        """ext-032, child side: everything arrives in one write, shutdown included."""
        fresh.line()
        fresh.send(ACK, extension_frames.CommandInvoked(id="1", name="show", args="hi"), extension_frames.Shutdown())
        lines = fresh.rest()
        ready = lines.index(b'{"type":"ready"}\n')
        assert lines[ready + 1 :] == [
            b'{"type":"command_response","id":"1","action":"display","display":"hi"}\n',
            b'{"type":"shutdown_ack"}\n',
        ]
        assert fresh.exit_status() == 0

    def test_ack_with_unknown_or_missing_keys_is_accepted(self, fresh: PipeHost) -> None:
        """ext-030, child side: an ack with unknown keys, or without those added later, is accepted."""
        fresh.line()
        fresh.send(b'{"type":"hello_ack","protocol_version":1,"provider":"p","model":"m","future":{"a":[1]}}\r\n')
        assert fresh.registrations()[-1] == b'{"type":"ready"}\n'
        fresh.send(extension_frames.CommandInvoked(id="1", name="where"))
        assert fresh.frame().display == "p m  "

    def test_host_without_ack_is_served(self, fresh: PipeHost) -> None:
        fresh.line()
        fresh.send(extension_frames.CommandInvoked(id="1", name="show", args="hi"))
        fresh.registrations()
        assert fresh.frame().display == "hi"

    # --- commands ---

    @pytest.mark.parametrize(
        ("name", "args", "answer"),
        [
            ("show", NOTE, {"action": "display", "display": NOTE}),
            ("ask", "a b", {"action": "prompt", "prompt": "a b"}),
            ("put", "x", {"action": "insert", "insert": "x"}),
            ("nothing", "", {"action": "noop"}),
            ("fail", "y", {"action": "noop", "error": "failed: y"}),
            ("crash", "", {"action": "noop", "error": "/crash crashed: boom"}),
            ("stranger", "", {"action": "noop", "error": 'unknown command "stranger"'}),
            ("where", "", {"action": "display", "display": "anthropic m /project /data"}),
            (
                "panel",
                "",
                {"action": "open_panel", "open_panel": Panel(id="p", title="T", lines=("a", "b"), footer="f")},
            ),
            (
                "toolprompt",
                "",
                {"action": "tool_prompt", "prompt": "and push", "tool_name": "skill", "tool_args": {"name": "x"}},
            ),
        ],
    )
    def test_a_command_answers_once(self, host: PipeHost, name: str, args: str, answer: dict[str, Any]) -> None:
        """ext-001 ext-002 ext-004, child side; a crash and a missing handler answer with an error."""
        host.send(extension_frames.CommandInvoked(id="c7", name=name, args=args), extension_frames.Shutdown())
        assert host.rest() == [
            extension_codec.encode(extension_frames.CommandResponse(id="c7", **answer)),
            b'{"type":"shutdown_ack"}\n',
        ]

    def test_unsolicited_frames_are_sent_in_order(self, host: PipeHost) -> None:
        host.send(extension_frames.CommandInvoked(id="1", name="say", args="note"))
        said = [
            extension_frames.Notify(level="info", message="note"),
            extension_frames.ClearNotes(),
            extension_frames.OpenPanel(panel=Panel(id="free", title="Title", lines=("x",), footer="foot")),
            extension_frames.PanelRender(panel_id="free", lines=("y",)),
            extension_frames.PanelClose(panel_id="free"),
            extension_frames.Submit(text="typed"),
            extension_frames.SubmitSlash(text="/help"),
            extension_frames.CommandResponse(id="1", action="noop"),
        ]
        assert [host.line() for _ in said] == [extension_codec.encode(frame) for frame in said]

    def test_printing_never_reaches_the_wire(self, host: PipeHost) -> None:
        host.send(extension_frames.CommandInvoked(id="1", name="print", args="x"), extension_frames.Shutdown())
        assert host.rest() == [b'{"type":"command_response","id":"1","action":"noop"}\n', b'{"type":"shutdown_ack"}\n']
        assert host.exit_status() == 0
        assert b"stray output" in host.log
        assert b"[everything] logged x" in host.log

    def test_a_command_registered_while_running_is_announced_at_once(self, host: PipeHost) -> None:
        """The child's half of line 41."""
        host.send(extension_frames.CommandInvoked(id="1", name="more"))
        assert host.line() == b'{"type":"register_command","name":"fresh","description":"late"}\n'
        assert host.frame().id == "1"
        host.send(extension_frames.CommandInvoked(id="2", name="fresh"))
        assert host.line() == b'{"type":"command_response","id":"2","action":"noop"}\n'

    # --- tools ---

    @pytest.mark.parametrize(
        ("name", "result"),
        [
            ("echo", {"content": (text(NOTE),)}),
            ("picture", {"content": (text("look"), Content(type="image", mime_type="image/png", data="aGVsbG8="))}),
            ("data", {"content": (text("one"),), "activate_tools": ("later",), "structured_content": {"n": 1}}),
            ("later", {"content": (text("key "),)}),
            ("broken", {"content": (text("everything/broken crashed: boom"),), "is_error": True}),
            ("wrong", {"content": (text("no"),), "is_error": True}),
            ("md", {"content": (Content(type="text", text="*a*", format="markdown"),)}),
            ("stranger", {"content": (text('unknown tool "stranger"'),), "is_error": True}),
        ],
    )
    def test_a_tool_answers_once(self, host: PipeHost, name: str, result: dict[str, Any]) -> None:
        host.send(extension_frames.ToolCall(id="t1", name=name, args={"text": NOTE}), extension_frames.Shutdown())
        assert host.rest() == [
            extension_codec.encode(extension_frames.ToolResult(id="t1", **result)),
            b'{"type":"shutdown_ack"}\n',
        ]

    @pytest.mark.parametrize("args", [b"", b',"args":null', b',"args":{}'])
    def test_missing_arguments_are_an_empty_object(self, host: PipeHost, args: bytes) -> None:
        """ext-009, child side: arguments that are missing or `null` reach the tool as an empty object."""
        host.send(b'{"type":"tool_call","id":"t1","name":"echo"' + args + b"}\n")
        assert host.frame() == extension_frames.ToolResult(id="t1", content=(text("nothing"),))

    def test_a_cancelled_tool_sends_no_result(self, host: PipeHost) -> None:
        """The child's half of line 111."""
        host.send(extension_frames.ToolCall(id="t1", name="slow", args={}))
        assert host.frame().message == "slow started"
        host.send(extension_frames.ToolCancel(id="t1"))
        assert host.frame().message == "slow stopped"
        host.send(extension_frames.Shutdown())
        assert host.rest() == [b'{"type":"shutdown_ack"}\n']

    def test_tool_cancelled_before_start_sends_no_result(self, host: PipeHost) -> None:
        host.send(
            extension_frames.ToolCall(id="t1", name="slow", args={}),
            extension_frames.ToolCancel(id="t1"),
            extension_frames.Shutdown(),
        )
        assert extension_codec.encode(extension_frames.ShutdownAck()) == host.rest()[-1]

    def test_waiting_tool_does_not_delay_others(self, host: PipeHost) -> None:
        """The child's half of line 57: answers come in any order, matched by id."""
        host.send(
            extension_frames.ToolCall(id="t1", name="slow", args={}),
            extension_frames.ToolCall(id="t2", name="wrong", args={}),
        )
        assert {host.line(), host.line()} == {
            extension_codec.encode(extension_frames.Notify(level="info", message="slow started")),
            extension_codec.encode(extension_frames.ToolResult(id="t2", content=(text("no"),), is_error=True)),
        }

    def test_call_tool_inside_a_tool_names_its_parent(self, host: PipeHost) -> None:
        """The child's half of line 125."""
        host.send(extension_frames.ToolCall(id="t1", name="nested", args={}))
        assert host.line() == b'{"type":"call_tool","id":"call-1","name":"hosted","args":{"a":1},"parent_id":"t1"}\n'
        host.send(extension_frames.HostToolResult(id="call-1", name="hosted", content=(text("from the host"),)))
        assert host.frame() == extension_frames.ToolResult(id="t1", content=(text("from the host hosted"),))

    def test_call_tool_fails_at_once_when_the_host_does_not_offer_it(self, fresh: PipeHost) -> None:
        """The child's half of line 110."""
        fresh.line()
        fresh.send(b'{"type":"hello_ack","protocol_version":1,"zot_version":"old"}\n')
        fresh.registrations()
        fresh.send(extension_frames.ToolCall(id="t1", name="nested", args={}))
        assert fresh.frame().content[0].text == "everything/nested crashed: this host does not offer call_tool"

    def test_a_cancelled_parent_gives_up_its_call(self, host: PipeHost) -> None:
        host.send(extension_frames.ToolCall(id="t1", name="nested", args={}))
        assert host.frame().id == "call-1"
        host.send(extension_frames.ToolCancel(id="t1"))
        assert host.line() == b'{"type":"call_tool_cancel","id":"call-1"}\n'
        host.send(extension_frames.Shutdown())
        assert host.rest() == [b'{"type":"shutdown_ack"}\n']

    def test_reconciler_is_called_instead_of_the_tool(self, host: PipeHost) -> None:
        host.send(extension_frames.ToolCall(id="t1", name="later", args={}, operation_key="k1", reconcile=True))
        answer = extension_frames.ToolResult(id="t1", content=(text("k1"),), structured_content={"state": "completed"})
        assert host.line() == extension_codec.encode(answer)

    def test_a_tool_without_a_reconciler_answers_unknown(self, host: PipeHost) -> None:
        host.send(extension_frames.ToolCall(id="t1", name="echo", args={}, operation_key="k1", reconcile=True))
        assert host.line() == extension_codec.encode(
            extension_frames.ToolResult(id="t1", structured_content={"state": "unknown"})
        )

    # --- events and panels ---

    def test_events_are_handled_in_order_and_a_crash_stops_nothing(self, host: PipeHost) -> None:
        host.send(
            extension_frames.Event(event="turn_start", step=1),
            extension_frames.Event(event="session_end"),
            extension_frames.Event(event="never heard of"),
            extension_frames.Event(event="turn_start", step=2),
            extension_frames.Event(
                event="tool_result",
                tool_name="bash",
                executed=True,
                result=extension_frames.ResultView(content=(text("ok"),), is_error=False),
            ),
        )
        assert [host.frame().message for _ in range(3)] == ["turn 1", "turn 2", "bash ok"]

    def test_panel_keys_and_closing_reach_their_handlers(self, host: PipeHost) -> None:
        """The child's half of lines 89 to 91."""
        host.send(
            extension_frames.PanelKey(panel_id="p", key="rune", text="x"),
            extension_frames.PanelKey(panel_id="other", key="up"),
            extension_frames.PanelKey(panel_id="p", key="up"),
            extension_frames.PanelClose(panel_id="p"),
        )
        said = [
            extension_frames.PanelRender(panel_id="p", lines=("runex",)),
            extension_frames.PanelRender(panel_id="p", lines=("up",)),
            extension_frames.Notify(level="info", message="closed"),
        ]
        assert [host.line() for _ in said] == [extension_codec.encode(frame) for frame in said]

    # --- interception ---

    @pytest.mark.parametrize(
        ("asked", "answer"),
        [
            (
                {"event": "tool_call", "tool_name": "rm", "tool_args": {"path": "/"}},
                {"block": True, "reason": "no rm /"},
            ),
            ({"event": "tool_call", "tool_name": "ls"}, {"modified_args": {"command": "echo"}}),
            ({"event": "tool_call", "tool_name": "read"}, {}),
            ({"event": "tool_call", "tool_name": "none"}, {}),
            ({"event": "turn_start", "step": 3}, {"block": True, "reason": "enough"}),
            ({"event": "turn_start", "step": 1}, {}),
            ({"event": "assistant_message", "text": "SECRET"}, {"replace_text": "[redacted]"}),
            ({"event": "assistant_message", "text": "hide"}, {"block": True, "reason": "hidden"}),
            ({"event": "assistant_message", "text": "fine"}, {}),
            ({"event": "before_agent_start", "system_prompt": "base"}, {"system_prompt": "base!"}),
            ({"event": "before_agent_start", "system_prompt": "drop"}, {"system_prompt": ""}),
            ({"event": "before_agent_start", "system_prompt": "keep"}, {}),
        ],
    )
    def test_an_interceptor_answers_once(self, host: PipeHost, asked: dict[str, Any], answer: dict[str, Any]) -> None:
        """ext-146: the default decision allows and changes nothing."""
        host.send(extension_frames.EventIntercept(id="i1", **asked), extension_frames.Shutdown())
        made = extension_codec.encode(extension_frames.EventInterceptResponse(id="i1", **answer))
        assert host.rest() == [made, b'{"type":"shutdown_ack"}\n']

    @pytest.mark.parametrize(
        "asked",
        [
            {"event": "tool_call", "tool_name": "crash"},
            {"event": "turn_start", "step": 9},
            {"event": "assistant_message", "text": "crash"},
            {"event": "before_agent_start", "system_prompt": "crash"},
        ],
    )
    def test_crashing_interceptor_blocks_once_and_stays_alive(self, host: PipeHost, asked: dict[str, Any]) -> None:
        """ext-147: an interceptor that raises answers once, with a refusal that names the fault, and the extension
        lives on.
        """
        host.send(extension_frames.EventIntercept(id="i1", **asked))
        reason = f"everything crashed in {asked['event']}: boom"
        assert host.line() == extension_codec.encode(
            extension_frames.EventInterceptResponse(id="i1", block=True, reason=reason)
        )
        host.send(extension_frames.EventIntercept(id="i2", event="turn_start", step=1), extension_frames.Shutdown())
        assert host.rest() == [b'{"type":"event_intercept_response","id":"i2"}\n', b'{"type":"shutdown_ack"}\n']

    # --- bad input and the end ---

    def test_lines_that_are_not_frames_are_skipped(self, host: PipeHost) -> None:
        """ext-006, ext-007, child side: lines that are no frames and frames of unknown type are skipped."""
        host.send(
            b'garbage\n\n[1]\n{"type":"panel_resize","width":3}\n{"no":"type"}\n',
            extension_frames.EventIntercept(id="i1", event="turn_start", step=1),
        )
        assert host.line() == b'{"type":"event_intercept_response","id":"i1"}\n'

    def test_a_large_frame_passes_both_ways(self, host: PipeHost) -> None:
        """ext-010, child side: a frame of three megabytes passes in both directions."""
        words = "é" * 1_500_000
        host.send(extension_frames.ToolCall(id="t1", name="echo", args={"text": words}))
        assert host.line() == extension_codec.encode(extension_frames.ToolResult(id="t1", content=(text(words),)))

    def test_a_last_line_without_its_end_is_served(self, host: PipeHost) -> None:
        """ext-011, child side: a last line without a line feed is served before the exit."""
        host.send(b'{"type":"command_invoked","id":"1","name":"show","args":"x"}')
        host.close_input()
        assert host.rest() == [b'{"type":"command_response","id":"1","action":"display","display":"x"}\n']
        assert host.exit_status() == 0

    def test_the_end_of_input_ends_the_run_quietly(self, host: PipeHost) -> None:
        host.close_input()
        assert host.rest() == []
        assert host.exit_status() == 0

    def test_shutdown_ends_a_handler_that_waits_for_the_host(self, host: PipeHost) -> None:
        host.send(extension_frames.ToolCall(id="t1", name="nested", args={}))
        assert host.frame().id == "call-1"
        host.send(extension_frames.Shutdown())
        gone = extension_frames.ToolResult(
            id="t1", content=(text("everything/nested crashed: the host is gone"),), is_error=True
        )
        assert host.rest() == [extension_codec.encode(gone), b'{"type":"shutdown_ack"}\n']
        assert host.exit_status() == 0

    def test_the_pipe_recipe_works_with_the_starter(self, starter: tuple[list[str], Path]) -> None:
        """ext-149: an ack without extension_dir and data_dir, one command, shutdown."""
        ack = b'{"type":"hello_ack","protocol_version":1,"zot_version":"x","provider":"a","model":"o","cwd":"/tmp"}\n'
        with PipeHost(*starter) as host:
            host.send(
                ack,
                b'{"type":"command_invoked","id":"1","name":"weather","args":"Berlin"}\n',
                b'{"type":"shutdown"}\n',
            )
            seen = [extension_codec.decode_child(line) for line in host.rest()]
            assert host.exit_status() == 0
        assert isinstance(seen[0], extension_frames.Hello)
        assert seen[0].name == "weather"
        kinds = [type(frame).__name__ for frame in seen[1:]]
        assert kinds == ["RegisterCommand", "RegisterTool", "Ready", "CommandResponse", "ShutdownAck"]
        assert seen[-2].id == "1"
        assert seen[-2].action == "prompt"
