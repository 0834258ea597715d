"""JSON Schema checks of the kit: reported mistakes and generated arguments."""

from __future__ import annotations

from typing import Any

import pytest

from zot.devkit.conformance.tool_schema import example, problems


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"enum": [1]}}},
        {"type": "object", "additionalProperties": False, "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"minimum": 1.5}]}}},
    ],
)
def test_a_sound_schema_has_no_problems(schema: Any) -> None:
    assert problems(schema) == []


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (None, "missing"),
        ([], "not a JSON object"),
        ({"type": "array"}, "schema.type"),
        ({"type": "object", "properties": []}, "schema.properties"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "schema.properties.a.type"),
        ({"type": "object", "properties": {"a": 3}}, "schema.properties.a"),
        ({"type": "object", "required": "a"}, "schema.required"),
        ({"type": "object", "required": ["a", "a"]}, "schema.required"),
        ({"type": "object", "properties": {"a": {"enum": []}}}, "schema.properties.a.enum"),
        ({"type": "object", "properties": {"a": {"minLength": -1}}}, "schema.properties.a.minLength"),
        ({"type": "object", "properties": {"a": {"minimum": "1"}}}, "schema.properties.a.minimum"),
        ({"type": "object", "properties": {"a": {"items": {"type": "x"}}}}, "schema.properties.a.items.type"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/no"}}}, "schema.properties.a.$ref"),
        ({"type": "object", "properties": {"a": {"description": 1}}}, "schema.properties.a.description"),
    ],
)
def test_a_problem_names_its_place(schema: Any, place: str) -> None:
    assert place in problems(schema)[0]


def test_an_example_fills_in_every_property() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 2},
            "unit": {"enum": ["C", "F"]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "where": {"$ref": "#/$defs/place"},
            "when": {"type": "string", "format": "date"},
            "either": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
            "code": {"type": "string", "minLength": 5},
        },
        "$defs": {"place": {"type": "object", "properties": {"lat": {"type": ["number", "null"]}}}},
    }
    assert example(schema) == {
        "city": "zot",
        "days": 2,
        "unit": "C",
        "tags": ["zot", "zot"],
        "where": {"lat": 1},
        "when": "2026-01-02",
        "either": False,
        "code": "zotxx",
    }


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    assert "child" in example(schema)
