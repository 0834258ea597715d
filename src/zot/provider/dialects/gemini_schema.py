"""Converts JSON Schema to the subset that Gemini accepts.
Keywords without a counterpart are dropped, since one unknown keyword makes Gemini reject the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_Schema = dict[str, Any]

_KEPT = ("title", "description", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern")
_FORMATS = {"string": ("date-time", "enum"), "number": ("float", "double"), "integer": ("int32", "int64")}
_TYPES = ("string", "number", "integer", "boolean", "array", "object")
_DEEPEST = 24  # a schema may refer to itself
_MOST = 5000  # keywords with schemas, after resolving references


def accepted(schema: Mapping[str, Any]) -> _Schema | None:
    found = _SchemaReader(schema).read(schema, 0)
    return found if found.get("properties") else None


class _SchemaReader:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._count = 0

    def read(self, schema: Any, depth: int) -> _Schema:
        """A schema without a type becomes text, since Gemini requires a type."""
        self._count += 1
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self._count > _MOST:
            return {"type": "string"}
        found = self._gather(cast("Mapping[str, Any]", schema), {}, depth)
        kinds, nullable = _kinds(found)
        out: _Schema = {key: found[key] for key in _KEPT if key in found}
        if nullable:
            out["nullable"] = True
        if choices := [*_list(found.get("anyOf")), *_list(found.get("oneOf"))]:
            # A choice between a type and null is that type, nullable
            real = [choice for choice in choices if not _is_null(choice)]
            if len(real) < len(choices):
                out["nullable"] = True
            read = [self.read(choice, depth + 1) for choice in real]
            return (
                {**read[0], **out} if len(read) == 1 else {**out, "anyOf": read} if read else {"type": "string", **out}
            )
        if len(kinds) > 1:
            return {
                **out,
                "anyOf": [
                    self.read({**found, "type": kind, "required": list(found.get("required", ()))}, depth + 1)
                    for kind in kinds
                ],
            }
        kind = kinds[0] if kinds else _guessed(found)
        return {"type": kind, **out, **self._details(found, kind, depth)}

    def _gather(self, schema: Mapping[str, Any], found: _Schema, depth: int) -> _Schema:
        """``found`` with the schema's keywords, its reference and ``allOf`` resolved; its own keywords win."""
        self._count += 1
        if depth > _DEEPEST or self._count > _MOST:
            return found
        inner = [self._target(schema.get("$ref")), *_list(schema.get("allOf"))]
        for part in inner:
            if isinstance(part, Mapping):
                self._gather(cast("Mapping[str, Any]", part), found, depth + 1)
        for key, value in schema.items():
            if key == "properties" and isinstance(value, Mapping):
                found.setdefault(key, {}).update(value)
            elif key == "required":
                found.setdefault(key, {}).update(dict.fromkeys(name for name in _list(value) if isinstance(name, str)))
            elif key not in ("$ref", "allOf"):
                found[key] = value
        return found

    def _target(self, name: Any) -> Any:
        if not isinstance(name, str) or not name.startswith("#/"):
            return None
        place: Any = self._root
        for step in name.removeprefix("#").split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            place = cast("Mapping[str, Any]", place).get(key) if isinstance(place, Mapping) else None
        return place

    def _details(self, schema: _Schema, kind: str, depth: int) -> _Schema:
        out: _Schema = {}
        if schema.get("format") in _FORMATS.get(kind, ()):
            out["format"] = schema["format"]
        if kind == "string" and (values := _enum(schema)):
            out["enum"] = values
        if kind == "array":
            out["items"] = self.read(schema.get("items"), depth + 1)
        if kind == "object" and isinstance(properties := schema.get("properties"), Mapping):
            inner = cast("Mapping[str, Any]", properties)
            out["properties"] = {str(name): self.read(value, depth + 1) for name, value in inner.items()}
            if required := [name for name in schema.get("required", ()) if name in inner]:
                out["required"] = required
        return out


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and cast("_Schema", schema).get("type") == "null"


def _kinds(schema: _Schema) -> tuple[list[str], bool]:
    named = schema.get("type")
    names = _list(named) if isinstance(named, list) else [named]
    nullable = "null" in names or schema.get("nullable") is True
    return [name for name in names if name in _TYPES], nullable


def _guessed(schema: _Schema) -> str:
    if "properties" in schema:
        return "object"
    if "items" in schema:
        return "array"
    value = next(iter([*_list(schema.get("enum")), schema.get("const")]), None)
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "string"


def _enum(schema: _Schema) -> list[str]:
    values = _list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    return [value for value in values if isinstance(value, str) and value]


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
