"""The second edition in every author SDK, with one extension per language (`second.*`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.sdks.pipe_host import ACK, PipeHost
from zot.wire import extension_codec, extension_frames
from zot.wire.extension_frames import (
    Cancel,
    CommandInvoked,
    CommandResponse,
    Contribute,
    Event,
    EventIntercept,
    EventInterceptResponse,
    Notify,
    Progress,
    Ready,
    Request,
    Response,
    ResponseError,
    Subscribe,
    ToolCall,
    ToolResult,
    Withdraw,
)

ACK2 = msgspec.structs.replace(
    ACK,
    edition=2,
    features=extension_frames.FEATURES,
    granted=("ui", "dialogs"),
    mode="terminal",
    state={"n": 2},
)


class SecondSuite:
    """Subclasses say how to start the extension."""

    @pytest.fixture
    def second(self) -> tuple[list[str], Path]:
        raise NotImplementedError

    @pytest.fixture
    def fresh(self, second: tuple[list[str], Path]) -> Iterator[PipeHost]:
        with PipeHost(*second) as host:
            yield host

    @pytest.fixture
    def host(self, fresh: PipeHost) -> PipeHost:
        """Greeted as a host of this edition."""
        self.greet(fresh, ACK2)
        return fresh

    def greet(self, host: PipeHost, ack: extension_frames.HelloAck) -> list[Any]:
        hello = host.frame()
        host.send(ack)
        seen: list[Any] = [hello]
        while not isinstance(seen[-1], Ready):
            seen.append(host.frame())
        return seen

    def asked(self, host: PipeHost, method: str, parent_id: str = "") -> Request:
        """The next frame, a request with this method."""
        frame = host.frame()
        assert isinstance(frame, Request), frame
        assert (frame.method, frame.parent_id) == (method, parent_id)
        return frame

    def call(self, host: PipeHost, name: str, **args: Any) -> None:
        host.send(ToolCall(id="t1", name=name, args=args))

    def text(self, host: PipeHost) -> str:
        frame = host.frame()
        assert isinstance(frame, ToolResult), frame
        return frame.content[0].text

    # --- negotiation

    def test_frames_of_this_edition_wait_for_the_ack(self, fresh: PipeHost) -> None:
        """ext2-006: what was contributed before the run comes after the ack and the registrations, before ready."""
        frames = self.greet(fresh, ACK2)
        assert "edition2" in frames[0].capabilities
        early = next(frame for frame in frames if isinstance(frame, Contribute) and frame.kind == "status")
        assert (early.name, early.value) == ("early", {"line": ["before ", {"text": "the run", "style": "muted"}]})
        key = next(frame for frame in frames if isinstance(frame, Contribute) and frame.kind == "key")
        assert key.value == {"keys": ["ctrl+alt+p"], "description": "plan mode"}
        command = next(frame for frame in frames if isinstance(frame, Contribute) and frame.kind == "command")
        assert (command.name, command.value) == ("envs", {"description": "where things run", "complete": True})
        subscribed = next(frame for frame in frames if isinstance(frame, Subscribe))
        assert set(subscribed.events) == {"idle", "bus"}
        assert set(subscribed.intercept) == {"tool_call", "input"}
        assert subscribed.options == {"tool_call": {"tools": ["bash"]}, "bus": {"topics": ["t"]}}

    def test_an_old_host_gets_no_frame_of_this_edition(self, fresh: PipeHost) -> None:
        """ext2-161: helpers that need an answer fail at once, with the name of the feature; the rest is left out."""
        frames = self.greet(fresh, ACK)
        kinds = {type(frame).__name__ for frame in frames}
        assert kinds == {"Hello", "RegisterCommand", "RegisterTool", "Subscribe", "Ready"}
        subscribed = next(frame for frame in frames if isinstance(frame, Subscribe))
        assert (subscribed.events, subscribed.intercept, subscribed.options) == ((), ("tool_call",), None)
        self.call(fresh, "request", method="ui.ask")
        assert self.text(fresh).startswith("not supported: ui.ask: this zot does not have the feature 'dialogs'")
        self.call(fresh, "deploy", env="dev")
        assert self.text(fresh) == "dev runs"
        self.call(fresh, "told")
        assert self.text(fresh).startswith("false false")

    def test_has_and_granted_tell_what_there_is(self, host: PipeHost) -> None:
        """ext2-161: features, words, mode and state of the ack."""
        self.call(host, "told")
        assert self.text(host).replace('"', "'").startswith("true true terminal")

    # --- requests

    def test_a_tool_asks_shows_and_answers(self, host: PipeHost) -> None:
        """ext2-160: requests, progress and the result of a call carry its id."""
        self.call(host, "deploy", env="production")
        asked = self.asked(host, "ui.ask", "t1")
        assert asked.params == {"kind": "confirm", "title": "Deploy to production?", "default": False}
        host.send(Response(id=asked.id, result={"value": True, "source": "person"}))
        frames = [host.frame() for _ in range(5)]
        assert isinstance(frames[0], Contribute)
        assert frames[0].value == {"line": ["deploying ", {"text": "production", "style": "accent"}]}
        assert frames[1:3] == [
            Progress(id="t1", text="build", fraction=0.5),
            Progress(id="t1", text="push", fraction=1, view={"lines": ["pushed"]}),
        ]
        assert frames[3] == Withdraw(kind="status", name="env")
        assert (frames[4].view, frames[4].details) == ({"lines": ["runs"]}, {"n": 1})

    @pytest.mark.parametrize(
        ("answer", "text"),
        [
            ({"result": {"value": False, "source": "person"}}, "the person said no"),
            ({"result": {"cancelled": True, "source": "person"}}, "the person said no"),
            ({"error": ResponseError(code="unavailable", message="no user")}, "the person said no"),
        ],
    )
    def test_a_dialog_that_is_no_yes_is_a_no(self, host: PipeHost, answer: dict[str, Any], text: str) -> None:
        """ext2-161: a closed dialog is False, and without a user the default counts."""
        self.call(host, "deploy", env="production")
        host.send(Response(id=self.asked(host, "ui.ask", "t1").id, **answer))
        assert self.text(host) == text

    @pytest.mark.parametrize(
        ("kind", "params", "value"),
        [
            ("select", {"title": "Which?", "options": [{"value": "a"}, {"value": "b", "label": "B"}]}, "b"),
            ("choose", {"title": "Which?", "options": [{"value": "a"}, {"value": "b"}]}, ["a", "b"]),
            ("input", {"title": "What?", "placeholder": "text"}, "x"),
            ("editor", {"title": "What?", "text": "prefilled"}, "y"),
            ("form", {"title": "Fill in", "fields": [{"name": "n", "kind": "integer"}]}, {"n": 1}),
            ("url", {"title": "Log in", "url": "https://example.com"}, True),
        ],
    )
    def test_every_kind_of_dialog_has_a_helper(
        self, host: PipeHost, kind: str, params: dict[str, Any], value: Any
    ) -> None:
        """ext2-159: thin helpers over `ui.ask`."""
        self.call(host, "ask", kind=kind)
        asked = self.asked(host, "ui.ask", "t1")
        assert asked.params == {"kind": kind, **params}
        host.send(Response(id=asked.id, result={"value": value, "source": "person"}))
        assert msgspec.json.decode(self.text(host)) == value

    def test_any_request_can_be_sent_and_answers_match_by_id(self, host: PipeHost) -> None:
        """ext2-159: the generic door; a second answer and one for an unknown id are ignored."""
        host.send(
            ToolCall(id="t1", name="request", args={"method": "future.thing", "params": {"a": 1}}),
            ToolCall(id="t2", name="request", args={"method": "model.get"}),
        )
        asked = {frame.parent_id: frame for frame in (host.frame(), host.frame())}
        assert asked["t1"].params == {"a": 1}
        assert asked["t2"].params is None
        host.send(
            Response(id="nobody", result=0),
            Response(id=asked["t2"].id, result=[2]),
            Response(id=asked["t2"].id, result=[3]),
            Response(id=asked["t1"].id, error=ResponseError(code="busy", message="too many")),
        )
        answers = {frame.id: frame.content[0].text for frame in (host.frame(), host.frame())}
        assert answers == {"t1": "busy: too many", "t2": "[2]"}

    def test_a_contribution_that_waits_gets_its_refusal(self, host: PipeHost) -> None:
        """ext2-159: with an id the answer of zot is the result."""
        self.call(host, "contribute")
        frame = host.frame()
        assert isinstance(frame, Contribute)
        host.send(Response(id=frame.id, error=ResponseError(code="conflict", message="taken by zot")))
        assert self.text(host) == "conflict: taken by zot"

    def test_an_event_handler_may_ask_zot(self, host: PipeHost) -> None:
        """ext2-162: a handler of events waits for an answer while others run, and order holds."""
        host.send(Event(event="idle"), Event(event="bus", data={"payload": 1}), Event(event="bus", data={"payload": 2}))
        asked = self.asked(host, "model.get")
        self.call(host, "told")
        assert self.text(host)
        host.send(Response(id=asked.id, result={"model": "m"}))
        assert [host.frame().message for _ in range(3)] == ["model m", "bus 1", "bus 2"]

    # --- cancellation

    def test_a_cancelled_call_answers_once(self, host: PipeHost) -> None:
        """ext2-061: the handler is told, and its own answer is not sent."""
        self.call(host, "slow")
        assert host.frame() == Notify(level="info", message="slow started")
        host.send(Cancel(id="t1", reason="aborted"))
        seen = [host.frame(), host.frame()]
        results = [frame for frame in seen if isinstance(frame, ToolResult)]
        assert [(frame.is_error, frame.content[0].text) for frame in results] == [(True, "cancelled")]
        assert Notify(level="info", message="slow stopped") in seen
        host.send(extension_frames.Shutdown())
        assert host.rest() == [b'{"type":"shutdown_ack"}\n']

    def test_a_cancel_stops_a_handler_that_waits_for_zot(self, host: PipeHost) -> None:
        """ext2-061: the handler gets the cancellation of its language; unknown ids are ignored."""
        host.send(Cancel(id="nobody"))
        self.call(host, "patient")
        asked = self.asked(host, "ui.ask", "t1")
        host.send(Cancel(id="t1"), Response(id=asked.id, error=ResponseError(code="cancelled", message="x")))
        seen = [frame for frame in (host.frame(), host.frame()) if not isinstance(frame, Cancel)]
        while len(seen) < 2:
            frame = host.frame()
            seen += [] if isinstance(frame, Cancel) else [frame]
        assert {type(frame).__name__ for frame in seen} == {"ToolResult", "Notify"}
        host.send(extension_frames.Shutdown())
        assert host.rest()[-1] == b'{"type":"shutdown_ack"}\n'

    # --- interception

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ("fix #1", {"value": {"text": "fix issue 1"}}),
            ("#1", {"value": {"text": "issue 1!"}}),
            ("plain", {}),
            ("stop", {"block": True, "reason": "not that"}),
            ("mine", {"handled": True}),
        ],
    )
    def test_handlers_of_one_event_form_a_chain(self, host: PipeHost, text: str, answer: dict[str, Any]) -> None:
        """ext2-160: each handler sees what the previous one left; the first refusal ends the chain."""
        host.send(EventIntercept(id="i1", event="input", data={"text": text, "images": 0, "source": "person"}))
        assert host.frame() == EventInterceptResponse(id="i1", **answer)

    @pytest.mark.parametrize(
        ("answer", "block"),
        [
            ({"result": {"value": True, "source": "person"}}, False),
            ({"result": {"cancelled": True, "source": "person"}}, True),
            ({"error": ResponseError(code="unavailable", message="no user")}, True),
        ],
    )
    def test_an_interceptor_asks_within_its_question(self, host: PipeHost, answer: dict[str, Any], block: bool) -> None:
        """ext2-074, ext2-160: the dialog carries the id of the interception; a default of yes does not count there."""
        host.send(EventIntercept(id="i1", event="tool_call", tool_name="bash", tool_args={"command": "rm"}))
        asked = self.asked(host, "ui.ask", "i1")
        host.send(Response(id=asked.id, **answer))
        assert host.frame().block is block

    # --- requests of zot

    def test_commands_complete_and_ask(self, host: PipeHost) -> None:
        """ext2-160: a command asks within its question; its completion is a request of zot."""
        host.send(Request(id="c1", method="complete", params={"command": "envs", "text": "p", "cursor": 1}))
        assert host.frame() == Response(id="c1", result={"items": [{"value": "prod"}]})
        host.send(CommandInvoked(id="1", name="envs"))
        asked = self.asked(host, "ui.ask", "1")
        host.send(Response(id=asked.id, result={"value": "dev", "source": "person"}))
        assert host.frame() == CommandResponse(id="1", action="prompt", prompt="What changed in dev?")

    def test_keys_and_state_are_answered(self, host: PipeHost) -> None:
        """ext2-159: requests of zot are answered once, unknown ones with `unknown_method`."""
        host.send(Request(id="k1", method="key", params={"name": "ctrl-alt-p"}))
        assert host.frame() == Response(id="k1", result={"action": "insert", "insert": "plan"})
        host.send(Request(id="s1", method="state.save", params={"reason": "reload"}))
        assert host.frame() == Response(id="s1", result={"state": {"n": 3}})
        host.send(Request(id="u1", method="future.thing"))
        answer = host.frame()
        assert answer.error is not None
        assert (answer.id, answer.error.code) == ("u1", "unknown_method")

    def test_a_handler_that_asks_while_the_run_ends_gets_an_error(self, host: PipeHost) -> None:
        """ext2-022, child side: an interception blocks, also when shutdown follows it at once."""
        question = EventIntercept(id="i1", event="tool_call", tool_name="bash", tool_args={"command": "rm"})
        host.send(question, extension_frames.Shutdown())
        lines = [extension_codec.decode_child(line) for line in host.rest()]
        assert next(line for line in lines if isinstance(line, EventInterceptResponse)).block
        assert lines[-1] == extension_frames.ShutdownAck()

    def test_a_lost_host_ends_what_waits(self, host: PipeHost) -> None:
        """ext2-022, child side: a handler that waits for an answer gets an error at shutdown."""
        self.call(host, "patient")
        self.asked(host, "ui.ask", "t1")
        host.send(extension_frames.Shutdown())
        lines = host.rest()
        assert lines[-1] == b'{"type":"shutdown_ack"}\n'
        assert host.exit_status() == 0
