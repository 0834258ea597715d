"""``x-mcp-header`` in a tool's schema: arguments that a call over HTTP repeats in its head, as ``Mcp-Param-…``.

A tool whose schema marks something that cannot travel there is not offered at all, as the specification wants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from zot.features.mcp.protocol import header_value, object_in

KEY = "x-mcp-header"
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_TYPES = ("string", "integer", "boolean")
_DEEPEST = 64
_DATA = ("default", "examples", "const", "enum")  # values, not schemas


def fault(schema: Any) -> str:
    """What is wrong with the marks of a schema; empty when nothing is."""
    seen: set[str] = set()
    for path, node in _marked(schema, (), 0):
        header = node[KEY]
        if not path:
            return f"{KEY} stands where no argument is"
        if not isinstance(header, str) or not header or not set(header) <= _TOKEN:
            return f"{KEY} of {'.'.join(path)} is no name of a header"
        if node.get("type") not in _TYPES:
            return f"{KEY} of {'.'.join(path)} is not text, a whole number or true and false"
        if header.lower() in seen:
            return f"{KEY} {header} stands twice"
        seen.add(header.lower())
    return ""


def param_headers(schema: Any, args: dict[str, Any]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for path, node in _marked(schema, (), 0):
        value: Any = args
        for key in path or ():
            value = object_in(value).get(key)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if path and isinstance(value, str | int | float):
            headers[f"mcp-param-{node[KEY]}"] = header_value(str(value))
    return headers


def _marked(
    node: Any, path: tuple[str, ...] | None, depth: int
) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every schema with the mark, and the names that lead to it; None where it is not reached by names alone."""
    if depth > _DEEPEST:
        return
    if isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _marked(item, None, depth + 1)
        return
    if not isinstance(node, dict):
        return
    schema = cast("dict[str, Any]", node)
    if KEY in schema:
        yield path, schema
    for key, inner in schema.items():
        if key == "properties":
            for name, each in object_in(inner).items():
                yield from _marked(each, (*path, name) if path is not None else None, depth + 1)
        elif key in ("$defs", "definitions", "patternProperties", "dependentSchemas"):
            for each in object_in(inner).values():
                yield from _marked(each, None, depth + 1)
        elif key not in _DATA and key != KEY:
            yield from _marked(inner, None, depth + 1)
