"""Actions: their format, their grammar, and parsing them back as calls."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.agent.tools.registry import EDIT, GLOB, GREP, READ, WRITE, BashLimits, bash_spec
from zot.provider.dialects.grammar.action_grammar import action_grammar, editable
from zot.provider.dialects.grammar.actions import shape_of
from zot.provider.dialects.grammar.decoder import read_action
from zot.provider.messages import ToolCallBlock
from zot.provider.model_call import ToolSpec

BUILT_IN = {
    name: ToolSpec(name, spec.description, spec.schema)
    for name, spec in (
        ("bash", bash_spec("bash", BashLimits())),
        ("edit", EDIT),
        ("glob", GLOB),
        ("grep", GREP),
        ("read", READ),
        ("write", WRITE),
    )
}
PROGRAM = "def a():\n    return 1\n\n\ndef b(\n    x,\n):\n    return x\n"


def call(name: str, **args: Any) -> ToolCallBlock:
    return ToolCallBlock("c", name, msgspec.json.encode(args).decode())


def written(tool: ToolSpec, **args: Any) -> str:
    return shape_of(tool).written(call(tool.name, **args))


def tool(schema: dict[str, Any], name: str = "t") -> ToolSpec:
    return ToolSpec(name, "A tool. It does things.", schema)


def test_short_arguments_are_json_and_lines_of_text_are_blocks() -> None:
    assert written(BUILT_IN["read"], path="a.py") == '{"tool": "read", "path": "a.py"}'
    assert written(BUILT_IN["write"], path="a.py", content="x = 1\n") == (
        '{"tool": "write", "path": "a.py"}\n```python\nx = 1\n```'
    )
    edit = written(BUILT_IN["edit"], path="a.py", edits=[{"oldText": "a", "newText": "b"}])
    assert edit == '{"tool": "edit", "path": "a.py"}\n```old\na\n```\n```new\nb\n```'


def test_calls_that_do_not_fit_the_shape_are_written_whole() -> None:
    two = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]
    assert written(BUILT_IN["edit"], path="a", edits=two).startswith(
        '{"tool": "edit", "args": {"path": "a", "edits": ['
    )
    assert written(BUILT_IN["read"], file="a") == '{"tool": "read", "args": {"file": "a"}}'


def test_prompt_describes_each_tool_in_one_line() -> None:
    told = [shape_of(tool).prompt_line(tool.description) for tool in BUILT_IN.values()]
    assert told[0].startswith('{"tool": "bash", "command": TEXT}: Run a shell command')
    assert told[1].startswith('{"tool": "edit", "path": TEXT} + blocks old and new: Replace')
    assert all("\n" not in line and len(line) < 200 for line in told)


@given(path=st.text(min_size=1, max_size=20), content=st.text(max_size=200))
def test_written_action_reads_back(path: str, content: str) -> None:
    lines = content.replace("\r", "")
    shape = shape_of(BUILT_IN["write"])
    text = shape.written(call("write", path=path, content=lines))
    if "\n~~~" in f"\n{lines}" and "\n`" in f"\n{lines}":
        return  # no fence is left for it
    whole = lines if not lines or lines.endswith("\n") else f"{lines}\n"
    assert read_action(text, shape) == {"path": path, "content": whole}


@given(st.fixed_dictionaries({"pattern": st.text(), "context": st.integers(0, 9), "ignore_case": st.booleans()}))
def test_json_arguments_read_back(args: dict[str, Any]) -> None:
    shape = shape_of(BUILT_IN["grep"])
    assert read_action(shape.written(call("grep", **args)), shape) == args


def test_edit_lines_lose_last_newline_unless_deleted() -> None:
    shape = shape_of(BUILT_IN["edit"])
    head = '{"tool": "edit", "path": "a"}\n'
    changed = read_action(f"{head}```old\na\nb\n```\n```new\nc\n```", shape)
    assert changed == {"path": "a", "edits": [{"oldText": "a\nb", "newText": "c"}]}
    gone = read_action(f"{head}```old\na\n```\n```new\n```", shape)
    assert gone == {"path": "a", "edits": [{"oldText": "a\n", "newText": ""}]}


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"tool": "write"', '{"tool": "write", "path": "a"}\n```\nx\n', "[1]", '{"tool": "x"}\n```', "null"],
)
def test_half_an_action_has_no_arguments(text: str) -> None:
    assert read_action(text, shape_of(BUILT_IN["write"])) == {}


def test_edit_replaces_lines_with_everything_below() -> None:
    assert editable(PROGRAM) == [
        "def a():\n    return 1",
        "    return 1",
        "def b(\n    x,\n):\n    return x",
        "    x,",
        "):\n    return x",
        "    return x",
    ]
    assert editable("a\na\nb\n") == ["b"]
    assert editable("x\n" * 5000) == []


def test_an_edit_is_offered_for_files_that_are_known() -> None:
    tools = [BUILT_IN["edit"], BUILT_IN["read"]]
    assert "a-edit" not in action_grammar(tools, final=True, files={})
    known = action_grammar(tools, final=True, files={"a.py": "x = 1\ny = 2\n"})
    assert r'"\"a.py\""' in known and '"x = 1\\n"' in known
    assert "a-edit" in action_grammar(tools, final=True)


def test_a_model_that_may_not_end_has_no_final() -> None:
    assert "final" not in action_grammar([BUILT_IN["read"]], final=False)
    assert "final" in action_grammar([], final=False)  # something must be left


HOSTILE = {
    "recursive": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "deep": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "array"}}}},
    "huge": {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(1000)}},
    "names": {"type": "object", "properties": {'a"b\\\n é': {"type": "string"}}, "required": ['a"b\\\n é']},
    "own names": {"type": "object", "properties": {"tool": {"type": "string"}, "args": {"type": "integer"}}},
    "all optional": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
    "no object": {"type": "string"},
    "nonsense": {"type": 7, "properties": [], "required": {}, "enum": 3},
    "empty": {},
    "any of": {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
    "kinds": {"type": "object", "properties": {"a": {"type": ["integer", "null"]}, "b": {"enum": ["x", 1, None]}}},
    "list": {
        "type": "object",
        "properties": {"items": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"a": {}}}}},
        "required": ["items"],
    },
    "not a map": {"properties": {"a": True, "b": None, "c": [1]}, "required": ["a", "x", 3]},
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
def test_every_rule_of_a_grammar_is_there_once(schema: dict[str, Any]) -> None:
    text = action_grammar([tool(schema), tool(schema, "T!"), tool(schema, "t-")], final=True)
    assert len(text) < 60_000
    rules = [line.partition(" ::= ")[0] for line in text.splitlines()]
    assert len(set(rules)) == len(rules) and all(re.fullmatch("[a-z0-9-]+", rule) for rule in rules)
    used = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{[0-9,]+\}', " ", text)
    assert set(re.findall(r"[a-z][a-z0-9-]*", used)) <= set(rules)
