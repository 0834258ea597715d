"""JSON Schema of tools: checks whether a schema is usable and whether arguments match it.
Only plain keywords are checked (type, required, properties, items, enum, const, additionalProperties: false); others
are ignored, so that no valid call is denied."""

from __future__ import annotations

from typing import Any, cast

_DEEPEST = 32
_LEAST: dict[str, Any] = {"type": "object", "properties": {}}
_NULL_IS_ABSENT = ("type", "properties", "required")

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


def check_schema(schema: Any) -> str:
    """Why this is no tool schema, or ""."""
    if not isinstance(schema, dict):
        return "the schema is not a JSON object"
    fields = _without_nulls(cast("dict[str, Any]", schema))
    if fields.get("type", "object") != "object":
        return f'the schema\'s "type" is {fields["type"]!r}, not "object"'
    properties: Any = fields.get("properties", {})
    if not isinstance(properties, dict):
        return 'the schema\'s "properties" is not an object'
    bad = [name for name, inner in cast("dict[str, Any]", properties).items() if not isinstance(inner, dict | bool)]
    if bad:
        return f'the schema of "{bad[0]}" is not an object'
    required: Any = fields.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in cast("list[Any]", required)):
        return 'the schema\'s "required" is not a list of names'
    return ""


def completed(schema: dict[str, Any] | None) -> dict[str, Any]:
    """The schema with the fields providers require."""
    given = _without_nulls(schema or {})
    return {**given, **{key: value for key, value in _LEAST.items() if key not in given}}


def _without_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    """Go writes an empty list or map as null; treated as absent, as in every frame."""
    return {key: value for key, value in schema.items() if value is not None or key not in _NULL_IS_ABSENT}


def validate_arguments(schema: Any, value: Any, path: str = "", depth: int = 0) -> str:
    """Where and why the value does not match, or ""."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return ""
    rules = cast("dict[str, Any]", schema)
    return (
        _wrong_type(rules, value, path)
        or _wrong_choice(rules, value, path)
        or _wrong_fields(rules, value, path, depth)
        or _wrong_items(rules, value, path, depth)
    )


def _wrong_type(rules: dict[str, Any], value: Any, path: str) -> str:
    wanted: Any = rules.get("type")
    names = cast("list[Any]", wanted if isinstance(wanted, list) else [wanted])
    if wanted is None or any(_is(name, value) for name in names):
        return ""
    return f"{_place(path)} must be {' or '.join(str(name) for name in names)}"


def _is(name: Any, value: Any) -> bool:
    if name == "integer":
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return not isinstance(name, str) or name not in _TYPES or isinstance(value, _TYPES[name])


def _wrong_choice(rules: dict[str, Any], value: Any, path: str) -> str:
    choices: Any = rules.get("enum")
    if isinstance(choices, list) and value not in choices:
        return f"{_place(path)} must be one of {', '.join(repr(c) for c in cast('list[Any]', choices)[:12])}"
    if "const" in rules and value != rules["const"]:
        return f"{_place(path)} must be {rules['const']!r}"
    return ""


def _wrong_fields(rules: dict[str, Any], value: Any, path: str, depth: int) -> str:
    if not isinstance(value, dict):
        return ""
    fields = cast("dict[str, Any]", value)
    required: Any = rules.get("required", [])
    for name in cast("list[Any]", required if isinstance(required, list) else []):
        if name not in fields:
            return f"{_place(_join(path, name))} is required"
    properties: Any = rules.get("properties", {})
    known = cast("dict[str, Any]", properties if isinstance(properties, dict) else {})
    for name, inner in fields.items():
        if name in known:
            if wrong := validate_arguments(known[name], inner, _join(path, name), depth + 1):
                return wrong
        elif rules.get("additionalProperties") is False and "patternProperties" not in rules:
            return f"{_place(_join(path, name))} is not known"
    return ""


def _wrong_items(rules: dict[str, Any], value: Any, path: str, depth: int) -> str:
    if isinstance(value, list):
        for place, item in enumerate(cast("list[Any]", value)):
            if wrong := validate_arguments(rules.get("items"), item, f"{path}[{place}]", depth + 1):
                return wrong
    return ""


def _join(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def _place(path: str) -> str:
    return f"'{path}'" if path else "the arguments"
