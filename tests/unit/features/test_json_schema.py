"""A tool's schema: usable or not, fitting or not; in doubt it passes."""

from __future__ import annotations

from typing import Any

import pytest

from zot.features.json_schema import check_schema, completed, validate_arguments

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
    ("value", "wrong"),
    [
        ({"city": "x"}, ""),
        (
            {"city": "x", "days": 2.0, "unit": "c", "tags": ["a"], "where": None, "kind": "now", "free": 1, "any": []},
            "",
        ),
        ({}, "'city' is required"),
        ({"city": 5}, "'city' must be string"),
        ({"city": "x", "days": 1.5}, "'days' must be integer"),
        ({"city": "x", "days": True}, "'days' must be integer"),
        ({"city": "x", "unit": "k"}, "'unit' must be one of 'c', 'f'"),
        ({"city": "x", "tags": ["a", 1]}, "'tags[1]' must be string"),
        ({"city": "x", "where": {}}, "'where.lat' is required"),
        ({"city": "x", "where": 5}, "'where' must be object or null"),
        ({"city": "x", "kind": "later"}, "'kind' must be 'now'"),
        ({"city": "x", "more": 1}, "'more' is not known"),
    ],
)
def test_arguments_are_judged_by_the_plain_keywords(value: Any, wrong: str) -> None:
    assert validate_arguments(SCHEMA, value) == wrong


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "object"}, SCHEMA, {"type": "object", "required": [], "$defs": {"x": 1}, "properties": {"a": True}}],
)
def test_a_schema_of_an_object_is_usable(schema: Any) -> None:
    assert check_schema(schema) == ""


@pytest.mark.parametrize(
    "schema",
    [[], "x", 5, {"type": "array"}, {"properties": []}, {"properties": {"a": 1}}, {"required": "a"}, {"required": [1]}],
)
def test_anything_else_is_not(schema: Any) -> None:
    assert check_schema(schema)


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}
    value: dict[str, Any] = {}
    value["a"] = value
    assert validate_arguments(schema, value) == ""


def test_fields_required_by_providers_are_added() -> None:
    """ext-058: a complete schema is passed on unchanged."""
    assert completed(SCHEMA) == SCHEMA
    assert completed(None) == completed({}) == {"type": "object", "properties": {}}
    assert completed({"properties": {"a": True}}) == {"properties": {"a": True}, "type": "object"}


def test_null_is_the_same_as_absent() -> None:
    """§2.2; Go writes an empty list as null, and no provider takes that."""
    schema = {"type": "object", "properties": None, "required": None, "default": None}
    assert check_schema(schema) == ""
    assert completed(schema) == {"type": "object", "properties": {}, "default": None}
