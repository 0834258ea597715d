"""Converts a JSON schema to grammar rules.
Unknown, recursive, too large or too deep parts accept any JSON value; the tool checks its arguments itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

MOST_NODES = 200  # rules of one tool's schema
DEEPEST = 6
MOST_CHOICES = 100
_LONGEST_CHOICE = 200
_SCALARS = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": '"null"'}


class SchemaTooLarge(Exception):
    """The schema is too large for a grammar."""


class SchemaRules:
    """Converts the schemas of one tool to rules of ``grammar``; ``root`` resolves its references."""

    def __init__(self, grammar: Grammar, name: str, root: Mapping[str, Any]) -> None:
        self._grammar = grammar
        self._name = name
        self._root = root
        self._nodes = 0

    def value(self, schema: Any, *, depth: int = 0) -> str:
        """The expression for one value; ``SchemaTooLarge`` if the whole tool should accept anything."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise SchemaTooLarge
        if not isinstance(schema, dict) or depth > DEEPEST:
            return "value"
        node = cast("dict[str, Any]", schema)
        if isinstance(node.get("$ref"), str):
            found = self._referred(node["$ref"])
            return "value" if found is None else self.value(found, depth=depth + 1)
        if "const" in node:
            return self._choices([node["const"]])
        if isinstance(node.get("enum"), list):
            return self._choices(node["enum"])
        for key in ("anyOf", "oneOf"):
            if isinstance(node.get(key), list) and node[key]:
                return self._any_of(node[key], depth)
        return self._typed(node, depth)

    def _typed(self, node: dict[str, Any], depth: int) -> str:
        kind = node.get("type")
        if isinstance(kind, list):
            kinds = [one for one in cast("list[Any]", kind) if isinstance(one, str)]
            return self._any_of([{**node, "type": one} for one in kinds], depth) if kinds else "value"
        match kind:
            case str() if kind in _SCALARS:
                return _SCALARS[kind]
            case "array":
                item = self.value(node.get("items"), depth=depth + 1)
                least = node.get("minItems")
                several = f'{item} (", " {item})*'
                filled = isinstance(least, int) and least > 0
                return self._grammar.add(
                    self._rule("list"), f'"[" {several} "]"' if filled else f'"[" ({several})? "]"'
                )
            case "object":
                return self._object(node, depth)
            case None if isinstance(node.get("properties"), dict):
                return self._object(node, depth)
            case _:
                return "value"

    def _choices(self, values: list[Any]) -> str:
        spelled = [json_literal(value) for value in values[:MOST_CHOICES]]
        if not spelled or len(values) > MOST_CHOICES or any(len(one) > _LONGEST_CHOICE for one in spelled):
            return "value"
        return f"({alternatives(spelled)})"

    def _any_of(self, options: list[Any], depth: int) -> str:
        found = [self.value(option, depth=depth + 1) for option in options[:MOST_CHOICES]]
        return "value" if "value" in found else f"({alternatives(found)})"

    def _object(self, node: dict[str, Any], depth: int) -> str:
        properties = properties_of(node)
        if not properties:
            return "object"
        members = self.members(properties, required_of(node), depth=depth)
        return self._grammar.add(self._rule("object"), f'"{{" {members} "}}"')

    def members(
        self, properties: Mapping[str, Any], required: tuple[str, ...], *, depth: int = 0, leading: str = ""
    ) -> str:
        """Members of an object: ``leading`` if given, the required ones in order, then any of the others in order."""
        pairs = {
            name: f"{literal(json_key(name))} {self.value(schema, depth=depth + 1)}"
            for name, schema in properties.items()
        }
        first = [*([leading] if leading else []), *(pairs[name] for name in required)]
        others = [pairs[name] for name in properties if name not in required]
        if first:
            return ' ", " '.join(first) + "".join(f' (", " {pair})?' for pair in others)
        # any of these, each at most once and in order; as many rules as pairs
        starts: list[str] = []
        rest = ""
        for pair in reversed(others):
            starts.insert(0, f"{pair}{rest}")
            rest = " " + self._grammar.add(self._rule("rest"), f'(", " {pair})?{rest}')
        return f"({alternatives(starts)})?"

    def _rule(self, kind: str) -> str:
        return rule_name("t", self._name, kind)

    def _referred(self, reference: str) -> Any:
        """The target of a reference inside the same schema; else None."""
        if not reference.startswith("#/"):
            return None
        found: Any = self._root
        for step in reference[2:].split("/")[:20]:
            if not isinstance(found, dict):
                return None
            found = cast("dict[str, Any]", found).get(step.replace("~1", "/").replace("~0", "~"))
        return found


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else {}  # pyright: ignore


def required_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The required names that have a schema, in the order the schema lists its properties."""
    wanted = schema.get("required")
    names = cast("list[Any]", wanted) if isinstance(wanted, list) else []
    return tuple(name for name in properties_of(schema) if name in names)


def json_key(name: str) -> str:
    return f"{json_text(name)}: "


# GBNF, the grammar notation of llama.cpp: literals, rule names, and the rules all action grammars share.

# JSON with one blank after commas and colons, so that a transcript can repeat it.
SHARED = {
    "string": r'"\"" char{0,600} "\""',  # a weak model would continue for minutes
    "char": r'[^"\\\x00-\x1f\x7f] | escape',
    "escape": r'"\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    "integer": r'"-"? ("0" | [1-9] [0-9]{0,14})',
    "number": r'integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,3})?',
    "boolean": '"true" | "false"',
    "value": 'object | array | string | number | boolean | "null"',
    "object": r'"{" (string ": " value (", " string ": " value)*)? "}"',
    "array": r'"[" (value (", " value)*)? "]"',
    # A block of text between two fences; no line of it begins with a fence, so that the next fence ends it.
    "lines": "line*",
    "line": r'([^`\n\x00] [^\n\x00]*)? "\n"',
    "tildes": "tilde-line*",
    "tilde-line": r'([^~\n\x00] [^\n\x00]* | "~" "~"? ([^~\n\x00] [^\n\x00]*)?)? "\n"',
}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or (c if c >= " " and c != "\x7f" else f"\\x{ord(c):02x}") for c in text) + '"'


def json_literal(value: object) -> str:
    return literal(json_text(value))


def json_text(value: object) -> str:
    """One line, a blank after each comma and colon."""
    import json  # msgspec writes no blanks

    return json.dumps(value, ensure_ascii=False)


def rule_name(*parts: str | int) -> str:
    """A name that llama.cpp accepts: letters, digits and dashes."""
    joined = "-".join(str(part) for part in parts).lower()
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in joined)


class Grammar(msgspec.Struct):
    """Rules by name; ``text`` adds those of ``SHARED`` that are used."""

    rules: dict[str, str] = {}

    def add(self, name: str, body: str) -> str:
        """A unique name: two names may be cleaned to the same."""
        unique, number = name, 1
        while unique in self.rules or unique in SHARED or unique == "root":
            number += 1
            unique = f"{name}-{number}"
        self.rules[unique] = body
        return unique

    def text(self, root: str) -> str:
        lines = [f"root ::= {root}", *(f"{name} ::= {body}" for name, body in self.rules.items())]
        lines += [f"{name} ::= {body}" for name, body in SHARED.items()]
        return "\n".join(lines) + "\n"


def alternatives(options: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(options))
