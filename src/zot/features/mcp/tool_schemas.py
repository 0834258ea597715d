"""A server's schema as a provider takes it: an object, shallow enough, with references that lead somewhere.

Servers lie about schemas. What cannot be used is replaced by "anything" in its place, so that the tool stays callable
and the server itself says what is wrong with a call. Nothing remote is ever fetched.
"""

from __future__ import annotations

from typing import Any, cast

_DEEPEST = 24
_LONGEST_CHAIN = 16  # references that lead to references
_LARGEST = 60_000  # bytes of one schema; more floods the prompt
_LEAST: dict[str, Any] = {"type": "object", "properties": {}}


def usable(schema: Any, size: int = 0) -> dict[str, Any]:
    """The schema with what providers insist on."""
    if not isinstance(schema, dict) or size > _LARGEST:
        return dict(_LEAST)
    given = cast("dict[str, Any]", schema)
    made = cast("dict[str, Any]", _mended(given, given, 0))
    made.pop("$schema", None)
    made["type"] = "object"
    if not isinstance(made.get("properties"), dict):
        made["properties"] = {}
    required: Any = made.get("required")
    if "required" in made and not (
        isinstance(required, list) and all(isinstance(name, str) for name in cast("list[Any]", required))
    ):
        del made["required"]
    return made


def _mended(node: Any, root: dict[str, Any], depth: int) -> Any:
    if isinstance(node, list):
        return [_mended(item, root, depth + 1) for item in cast("list[Any]", node)] if depth < _DEEPEST else []
    if not isinstance(node, dict):
        return node
    if depth >= _DEEPEST:
        return {}
    fields = cast("dict[str, Any]", node)
    reference = fields.get("$ref")
    if reference is not None and not (isinstance(reference, str) and _leads_somewhere(reference, root)):
        fields = {key: value for key, value in fields.items() if key != "$ref"}
    return {key: _mended(value, root, depth + 1) for key, value in fields.items()}


def _leads_somewhere(reference: str, root: dict[str, Any]) -> bool:
    """Only within the schema itself, and not in a circle."""
    seen: set[str] = set()
    while reference not in seen and len(seen) < _LONGEST_CHAIN:
        seen.add(reference)
        node = _at(reference, root)
        if node is None:
            return False
        following = node.get("$ref")
        if following is None:
            return True
        if not isinstance(following, str):
            return False
        reference = following
    return False


def _at(reference: str, root: dict[str, Any]) -> dict[str, Any] | None:
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    node: Any = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            return None
        node = cast("dict[str, Any]", node)[key]
    return cast("dict[str, Any]", node) if isinstance(node, dict) else None
