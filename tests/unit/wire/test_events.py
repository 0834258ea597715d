"""Agent events on the wire: the line that is printed and the struct that is handed out are the same thing."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from zot.core import events as ev
from zot.provider.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock, Usage
from zot.wire import events, rpc_codec

_CONTENT = (
    TextBlock('ä "☃"\n'),
    ImageBlock("image/png", b"123"),
    ReasoningBlock(summary="never shown"),
    ToolCallBlock("c1", "read", '{"path":"a","n":[1,2.5,null]}'),
    ToolCallBlock("c2", "read", "{cut"),
    ToolResultBlock("c1", (TextBlock("x"), ImageBlock("image/gif", b"")), True),
)
_BLOCKS = (
    r'[{"type":"text","text":"ä \"☃\"\n"},{"type":"image","mime_type":"image/png","bytes":3},'
    '{"type":"tool_call","id":"c1","name":"read","args":{"path":"a","n":[1,2.5,null]}},'
    '{"type":"tool_call","id":"c2","name":"read","args":null},'
    '{"type":"tool_result","call_id":"c1","is_error":true,"content":'
    '[{"type":"text","text":"x"},{"type":"image","mime_type":"image/gif","bytes":0}]}]'
)
_SUMS = '"input":1,"output":2,"reasoning":null,"cache_read":0,"cache_write":0,"cost_usd":0.0'

_LINES: list[tuple[ev.AgentEvent, str | None]] = [
    (
        ev.UserMessage(Message("user", _CONTENT, "2026-01-02")),
        f'{{"type":"user_message","content":{_BLOCKS},"time":"2026-01-02"}}',
    ),
    (
        ev.AssistantMessage(Message("assistant", _CONTENT, "2026-01-02")),
        f'{{"type":"assistant_message","content":{_BLOCKS},"time":"2026-01-02"}}',
    ),
    (ev.TurnStart(2), '{"type":"turn_start","step":2}'),
    (ev.AssistantStart(), '{"type":"assistant_start"}'),
    (ev.TextDelta("a\n"), r'{"type":"text_delta","delta":"a\n"}'),
    (ev.ThinkingDelta("hm"), '{"type":"thinking_delta","delta":"hm"}'),
    (ev.ThinkingEnd(1.5), '{"type":"thinking_end","seconds":1.5}'),
    (
        ev.RetryWait(2, 10, 0.5, "overloaded"),
        '{"type":"retry_wait","attempt":2,"attempts":10,"wait_s":0.5,"reason":"overloaded"}',
    ),
    (ev.ToolUseStart("c1", "read"), '{"type":"tool_use_start","id":"c1","name":"read"}'),
    (ev.ToolUseArgs("c1", "{"), '{"type":"tool_use_args","id":"c1","delta":"{"}'),
    (ev.ToolUseEnd("c1"), '{"type":"tool_use_end","id":"c1"}'),
    (ev.UsageEvent(Usage(1, 2), Usage(1, 2)), f'{{"type":"usage",{_SUMS},"cumulative":{{{_SUMS}}}}}'),
    (
        ev.UsageEvent(Usage(1, 2), Usage(1, 2), auxiliary=True),
        f'{{"type":"usage",{_SUMS},"cumulative":{{{_SUMS}}},"auxiliary":true}}',
    ),
    (ev.ToolCall(ToolCallBlock("c1", "read", "{}")), '{"type":"tool_call","id":"c1","name":"read","args":{}}'),
    (ev.ToolCall(ToolCallBlock("c1", "read", "")), '{"type":"tool_call","id":"c1","name":"read","args":null}'),
    (ev.TurnEnd("end"), '{"type":"turn_end","stop":"end_turn"}'),
    (ev.TurnEnd("error", "broken"), '{"type":"turn_end","stop":"error","error":"broken"}'),
    (ev.ToolProgress("c1", "half"), '{"type":"tool_progress","id":"c1","text":"half"}'),
    (
        ev.ToolResultEvent("c1", False, (TextBlock("x"),), {"for": "screens"}),
        '{"type":"tool_result","id":"c1","is_error":false,"content":[{"type":"text","text":"x"}]}',
    ),
    (ev.CompactStart(), None),
    (ev.CompactDone("short"), '{"type":"compact_done","summary":"short"}'),
    (ev.CompactDone("short", automatic=True), None),
    (
        ev.Todos((ev.Todo("a", "done"), ev.Todo("b"))),
        '{"type":"todos","items":[{"text":"a","status":"done"},{"text":"b","status":"pending"}]}',
    ),
    (ev.Notice("by the way"), None),
    (
        ev.Diagnostic("not as asked"),
        '{"type":"diagnostic","source":"zot","level":"warning","message":"not as asked"}',
    ),
    (
        ev.Diagnostic("it crashed", source="mcp", level="error"),
        '{"type":"diagnostic","source":"mcp","level":"error","message":"it crashed"}',
    ),
    (
        ev.JobUpdate(1, "make", "ended", 2, "exit 2 after 3.0s"),
        '{"type":"job_update","job":1,"command":"make","state":"ended","exit_code":2,"text":"exit 2 after 3.0s"}',
    ),
    (
        ev.JobUpdate(1, "make", "matched", None, "ready"),
        '{"type":"job_update","job":1,"command":"make","state":"matched","exit_code":null,"text":"ready"}',
    ),
    (ev.SessionFault("disk full"), '{"type":"session_fault","message":"disk full"}'),
    (ev.SessionFault("disk full", lost=True), '{"type":"session_fault","message":"disk full","lost":true}'),
    (ev.Error("no"), '{"type":"error","message":"no"}'),
    (ev.Error("no", "rate_limited"), '{"type":"error","message":"no","code":"rate_limited"}'),
    (ev.Done(), '{"type":"done"}'),
]


@pytest.mark.parametrize(("event", "line"), _LINES, ids=lambda value: type(value).__name__)
def test_an_event_is_one_exact_line_and_one_struct(event: ev.AgentEvent, line: str | None) -> None:
    struct = events.of(event)
    if line is None:
        assert events.encode(event) is None and struct is None
        return
    assert events.encode(event) == line.encode()
    assert msgspec.json.encode(struct) == line.encode()
    assert rpc_codec.decode(line) == struct


def test_program_mutating_its_arguments_does_not_change_call() -> None:
    call = ToolCallBlock("c1", "write", '{"path":"a","lines":["x"]}')
    handed = events.of(ev.ToolCall(call))
    assert isinstance(handed, events.ToolCall)
    handed.args["lines"].clear()
    del handed.args["path"]
    assert call.value == {"path": "a", "lines": ["x"]}


def test_every_event_on_the_wire_has_a_line_here() -> None:
    made = {type(events.of(event)) for event, _ in _LINES} - {type(None)}
    assert made == set(get_args(events.WireEvent))
