"""JSON Schema as far as a host must know it: can it be the schema of a tool, and does it have what providers insist on?

Whether a call's arguments fit is for the extension to say: it may take what its schema does not name.
"""

from __future__ import annotations

from typing import Any, cast

_LEAST: dict[str, Any] = {"type": "object", "properties": {}}


def usable(schema: Any) -> str:
    """Why this cannot be the schema of a tool, or ""."""
    if not isinstance(schema, dict):
        return "the schema is not a JSON object"
    fields = cast("dict[str, Any]", schema)
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
    """The schema with what providers insist on; one that has it stays as it is."""
    return {**(schema or {}), **{key: value for key, value in _LEAST.items() if key not in (schema or {})}}
