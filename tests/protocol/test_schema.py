"""The schema generated from the structs is complete, current, and agrees with the codec."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from generate.__main__ import FILES
from generate.extension import reference, shapes
from zot.wire import extension_frames, limits

ROOT = Path(__file__).parents[2]
SCHEMAS = {"host": msgspec.json.decode(shapes.child_schema()), "child": msgspec.json.decode(shapes.host_schema())}


@pytest.mark.parametrize("path", list(FILES))
def test_the_generated_file_is_current(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == FILES[path](), "run `make generate`"


@pytest.mark.parametrize(
    "line", (ROOT / "docs/schema/golden-frames.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
)
def test_golden_frames_fit_the_json_schema(line: str) -> None:
    golden = msgspec.json.decode(line)
    definitions = SCHEMAS[golden["to"]]["$defs"]
    by_type = {d["properties"]["type"].get("const"): d for d in definitions.values() if "type" in d["properties"]}
    _check(golden["frame"], by_type[golden["frame"]["type"]], definitions)


def _check(value: Any, rule: dict[str, Any], definitions: dict[str, Any]) -> None:
    """The few words of JSON Schema we write, checked by hand."""
    rule = definitions[rule["$ref"].rpartition("/")[2]] if "$ref" in rule else rule
    kinds: dict[str, type] = {
        "string": str,
        "integer": int,
        "number": float,
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    if "type" in rule:
        assert type(value) is kinds[rule["type"]]
    if "enum" in rule:
        assert value in rule["enum"]
    if "items" in rule:
        for item in value:
            _check(item, rule["items"], definitions)
    if "properties" in rule:
        assert set(rule["required"]) <= value.keys() <= rule["properties"].keys()
        for key, inner in value.items():
            _check(inner, rule["properties"][key], definitions)


def test_every_schema_key_has_exactly_one_description() -> None:
    every = [*shapes.child_frames(), *shapes.host_frames(), *shapes.objects()]
    used = {key.meaning for shape in every for key in shape.keys}
    assert set(shapes.MEANINGS.values()) == used


def test_keys_are_listed_in_the_order_of_the_wire() -> None:
    for shape, struct in zip(shapes.child_frames(), get_args(extension_frames.ChildFrame), strict=True):
        assert tuple(key.name for key in shape.keys) == struct.__struct_fields__


def test_the_reference_names_every_frame_and_number() -> None:
    page = (ROOT / "docs/reference/extension-protocol.md").read_text(encoding="utf-8")
    for shape in (*shapes.child_frames(), *shapes.host_frames()):
        assert f"### `{shape.type}`" in page
    for what, value in reference.numbers():
        assert f"| {what} | {value} |" in page


def test_schema_numbers_equal_protocol() -> None:
    assert (limits.IDLE_READY, limits.READY_GRACE, limits.HELLO_DEADLINE) == (0.25, 3.0, 30.0)
    assert (limits.COMMAND_REPLY, limits.TOOL_REPLY, limits.INTERCEPT_REPLY) == (30.0, 60.0, 5.0)
    assert (limits.QUEUE_FRAMES, limits.QUEUE_BYTES, limits.MAX_LINE) == (256, 16 * 2**20, 8 * 2**20)
    assert limits.RESTART_DELAYS == (1.0, 2.0, 4.0, 8.0, 16.0)
