"""GBNF, the grammar notation of llama.cpp: literals, rule names, and the rules every action grammar shares.

Nothing that comes from outside reaches a grammar except through ``literal`` and ``rule_name``.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

# JSON as the model may write it: one blank behind commas and colons, so that a transcript can say it again.
SHARED = {
    "string": r'"\"" char{0,600} "\""',  # a weak model would go on for minutes
    "char": r'[^"\\\x00-\x1f\x7f] | escape',
    "escape": r'"\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    "integer": r'"-"? ("0" | [1-9] [0-9]{0,14})',
    "number": r'integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,3})?',
    "boolean": '"true" | "false"',
    "value": 'object | array | string | number | boolean | "null"',
    "object": r'"{" (string ": " value (", " string ": " value)*)? "}"',
    "array": r'"[" (value (", " value)*)? "]"',
    # A block of text between two fences; no line of it begins as a fence does: a model that means to end it ends it.
    "lines": "line*",
    "line": r'([^`\n\x00] [^\n\x00]*)? "\n"',
    "tildes": "tilde-line*",
    "tilde-line": r'([^~\n\x00] [^\n\x00]* | "~" "~"? ([^~\n\x00] [^\n\x00]*)?)? "\n"',
}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(text: str) -> str:
    """The text as it stands, for a grammar."""
    return '"' + "".join(_ESCAPES.get(c) or (c if c >= " " and c != "\x7f" else f"\\x{ord(c):02x}") for c in text) + '"'


def json_literal(value: object) -> str:
    return literal(json_text(value))


def json_text(value: object) -> str:
    """One line, a blank behind each comma and colon."""
    import json  # msgspec writes no blanks

    return json.dumps(value, ensure_ascii=False)


def rule_name(*parts: str | int) -> str:
    """A name llama.cpp takes: letters, digits and dashes."""
    joined = "-".join(str(part) for part in parts).lower()
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in joined)


class Grammar(msgspec.Struct):
    """Rules by name; ``text`` adds those of ``SHARED`` that are used."""

    rules: dict[str, str] = {}

    def add(self, name: str, body: str) -> str:
        """The name, free of clashes: two names may clean to the same."""
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
