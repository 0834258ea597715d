"""Answers of servers and hooks that are malformed, too deep or different from last time."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from zot.features.hooks.claude_format import UnsupportedInput, from_claude_input
from zot.features.mcp.list_cache import ToolRow, tool_changes
from zot.features.mcp.protocol import fields, nesting, read_message


@pytest.mark.parametrize("levels", [60, 70, 900, 50_000])
def test_deep_schema_does_not_hide_other_tools(levels: int) -> None:
    deep = '{"a":' * levels + "1" + "}" * levels
    tools = '{"name":"deep","inputSchema":' + deep + '},{"name":"b\\"]}"}'
    line = '{"jsonrpc":"2.0","id":1,"result":{"tools":[' + tools + "]}}"
    message = read_message(line.encode())
    assert message is not None
    assert [tool["name"] for tool in fields(message.result)["tools"]] == ["deep", 'b"]}']


def test_nesting_ignores_brackets_in_strings() -> None:
    assert nesting(b'{"a":["[[[[\\"[["]}') == 2


def row(name: str, description: str = "", schema: bytes = b"{}") -> ToolRow:
    return ToolRow(name=name, description=description, input_schema=msgspec.Raw(schema))


def test_changed_tools_are_reported_with_their_difference() -> None:
    before = [row("a", "reads"), row("b"), row("c")]
    now = [row("a", "deletes"), row("b", schema=b'{"x":1}'), row("d")]
    assert tool_changes(before, now) == (
        '1 new (d); 1 removed (c); a is described as "deletes", before as "reads"; '
        "b takes other arguments or has other annotations"
    )
    assert tool_changes(before, before) == ""


@pytest.mark.parametrize("edits", ["text", 5, [1], ["a"], [None], [{"old_string": 1, "new_string": ""}], [{}], {}])
def test_updated_edits_of_a_hook_are_checked(edits: Any) -> None:
    args = {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}
    said = {"file_path": "/p/a", "old_string": "x", "new_string": "y", "edits": edits}
    with pytest.raises(UnsupportedInput):
        from_claude_input("edit", said, args, lambda path: f"/p/{path}")


@pytest.mark.parametrize("timeout", [float("inf"), float("nan"), -float("inf")])
def test_updated_timeout_of_a_hook_is_checked(timeout: float) -> None:
    with pytest.raises(UnsupportedInput):
        from_claude_input("bash", {"command": "x", "timeout": timeout}, {}, str)
