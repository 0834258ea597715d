"""JSON Schema of tools: faults of a schema, and an example value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

_TEXTS = ("description", "title", "format", "pattern", "$ref", "$id", "$schema", "$comment")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_DEEPEST = 12


def problems(schema: Any) -> list[str]:
    """Why ``schema`` cannot describe a tool's arguments; empty when it can."""
    if not isinstance(schema, dict):
        return ["the schema is missing" if schema is None else "the schema is not a JSON object"]
    found = list(_problems(schema, "schema", cast("dict[str, Any]", schema)))
    if cast("dict[str, Any]", schema).get("type") != "object":
        found.append('schema.type must be "object": a tool takes named arguments')
    return found


def _problems(schema: Any, at: str, root: dict[str, Any]) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{at} is neither an object nor a boolean"
        return
    keywords = cast("dict[str, Any]", schema)
    yield from _plain_problems(keywords, at)
    yield from _list_problems(keywords, at)
    if isinstance(ref := keywords.get("$ref"), str) and ref.startswith("#") and _resolve(ref, root) is None:
        yield f"{at}.$ref: there is no {ref}"
    for key, inner in _inner(keywords):
        yield from _problems(inner, f"{at}.{key}", root)


def _plain_problems(keywords: dict[str, Any], at: str) -> Iterator[str]:
    for key, value in keywords.items():
        if key in _TEXTS and not isinstance(value, str):
            yield f"{at}.{key} is not a string"
        elif key in _NUMBERS and not _is_number(value):
            yield f"{at}.{key} is not a number"
        elif key in _COUNTS and not (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            yield f"{at}.{key} is not a whole number from 0"
        elif key in _MAPS and not isinstance(value, dict):
            yield f"{at}.{key} is not an object"


def _list_problems(keywords: dict[str, Any], at: str) -> Iterator[str]:
    if "type" in keywords:
        named = cast("list[Any]", keywords["type"] if isinstance(keywords["type"], list) else [keywords["type"]])
        yield from (f"{at}.type: {name!r} is not a JSON type" for name in named if name not in TYPES)
    if "enum" in keywords and not (isinstance(keywords["enum"], list) and keywords["enum"]):
        yield f"{at}.enum is not a list with at least one value"
    if "required" in keywords and not _are_names(keywords["required"]):
        yield f"{at}.required is not a list of different names"
    for key in _LISTS:
        if key in keywords and not (isinstance(keywords[key], list) and keywords[key]):
            yield f"{at}.{key} is not a list with at least one schema"


def _inner(keywords: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in _MAPS:
        if isinstance(keywords.get(key), dict):
            yield from ((f"{key}.{name}", inner) for name, inner in keywords[key].items())
    for key in _LISTS:
        if isinstance(keywords.get(key), list):
            yield from ((f"{key}[{number}]", inner) for number, inner in enumerate(keywords[key]))
    for key in _ONE:
        if key in keywords:
            many = keywords[key] if key == "items" and isinstance(keywords[key], list) else [keywords[key]]
            yield from ((key, inner) for inner in many)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    names = cast("list[Any]", value)
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _resolve(ref: str, root: dict[str, Any]) -> Any:
    value: Any = root
    for part in ref.removeprefix("#").strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if part and not (isinstance(value, dict) and name in value):
            return None
        value = cast("Any", value[name] if part else value)
    return value


def example(schema: Any, text: str = "zot") -> Any:
    """A value the schema allows, with every property; ``text`` is used for free text."""
    return _example(schema, cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}, text, 0)


def _example(schema: Any, root: dict[str, Any], text: str, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return text
    keywords = cast("dict[str, Any]", schema)
    if isinstance(ref := keywords.get("$ref"), str):
        return _example(_resolve(ref, root), root, text, depth + 1)
    for key in ("const", "default"):
        if key in keywords:
            return keywords[key]
    for key in ("enum", "examples"):
        if isinstance(keywords.get(key), list) and keywords[key]:
            return keywords[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(keywords.get(key), list) and keywords[key]:
            return _example(keywords[key][0], root, text, depth + 1)
    return _of_type(keywords, root, text, depth)


def _of_type(keywords: dict[str, Any], root: dict[str, Any], text: str, depth: int) -> Any:
    named = keywords.get("type")
    name = next((t for t in cast("list[Any]", named) if t != "null"), "null") if isinstance(named, list) else named
    match name or ("object" if "properties" in keywords else "string"):
        case "object":
            fields = keywords.get("properties")
            items = cast("dict[str, Any]", fields).items() if isinstance(fields, dict) else ()
            return {key: _example(inner, root, text, depth + 1) for key, inner in items}
        case "array":
            wanted = max(1, int(keywords.get("minItems") or 0))
            return [_example(keywords.get("items", {}), root, text, depth + 1) for _ in range(wanted)]
        case "integer" | "number":
            low: Any = keywords.get("minimum", keywords.get("exclusiveMinimum"))
            high: Any = keywords.get("maximum")
            if _is_number(low):
                return low + 1 if "exclusiveMinimum" in keywords else low
            return min(1, high) if _is_number(high) else 1
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return _text(keywords, text)


def _text(keywords: dict[str, Any], text: str) -> str:
    formats = {
        "uri": "https://example.com/",
        "url": "https://example.com/",
        "date": "2026-01-02",
        "date-time": "2026-01-02T03:04:05Z",
        "email": "ada@example.com",
    }
    words = formats.get(str(keywords.get("format")), text)
    least, most = keywords.get("minLength") or 0, keywords.get("maxLength")
    words = words.ljust(least, "x") if isinstance(least, int) else words
    return words[:most] if isinstance(most, int) and not isinstance(most, bool) else words
