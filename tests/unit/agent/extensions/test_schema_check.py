"""A tool's schema: usable or not, and whole for a provider."""

from __future__ import annotations

from typing import Any

import pytest

from zot.agent.extensions.schema_check import completed, usable

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["c", "f"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": ["object", "null"], "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
        "kind": {"const": "now"},
        "free": True,
        "any": {"anyOf": [{"type": "string"}, {"type": "integer"}], "$ref": "#/x"},
    },
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "object"}, SCHEMA, {"type": "object", "required": [], "$defs": {"x": 1}, "properties": {"a": True}}],
)
def test_a_schema_of_an_object_is_usable(schema: Any) -> None:
    assert usable(schema) == ""


@pytest.mark.parametrize(
    "schema",
    [[], "x", 5, {"type": "array"}, {"properties": []}, {"properties": {"a": 1}}, {"required": "a"}, {"required": [1]}],
)
def test_anything_else_is_not(schema: Any) -> None:
    assert usable(schema)


def test_what_providers_insist_on_is_added() -> None:
    """ext-058: a whole schema is passed on as it is."""
    assert completed(SCHEMA) == SCHEMA
    assert completed(None) == completed({}) == {"type": "object", "properties": {}}
    assert completed({"properties": {"a": True}}) == {"properties": {"a": True}, "type": "object"}
