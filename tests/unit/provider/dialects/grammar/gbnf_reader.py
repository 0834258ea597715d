"""A GBNF parser as strict as llama.cpp's that tests what a grammar accepts, without a model or a server.

A grammar the server does not take would make every turn of a small model fail, so each one zot makes is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_RULE = re.compile(r"([a-zA-Z][a-zA-Z0-9-]*) ::= (.+)")
_TOKEN = re.compile(
    r'(?P<literal>"(?:[^"\\\n]|\\.)*")|(?P<chars>\[\^?(?:[^\]\\\n]|\\.)+\])|(?P<name>[a-zA-Z][a-zA-Z0-9-]*)'
    r"|(?P<repeat>[*+?]|\{\d+(?:,\d*)?\})|(?P<mark>[()|])|(?P<blank> +)"
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]"}
MOST_REPEATS = 2000  # llama.cpp takes no more


class BadGrammar(ValueError):
    """A grammar that llama.cpp rejects."""


class Node(NamedTuple):
    kind: str  # text, chars, rule, sequence, choice, repeat
    value: object
    least: int = 1
    most: int | None = 1


class Gbnf:
    """The rules by name; ``accepts`` tries a whole text."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, Node] = {}
        for line in text.rstrip("\n").split("\n"):
            found = _RULE.fullmatch(line)
            if found is None:
                raise BadGrammar(f"not a rule: {line[:80]!r}")
            if found[1] in self.rules:
                raise BadGrammar(f"twice: {found[1]}")
            self.rules[found[1]] = _Reading(found[2]).choice(top=True)
        self._check()

    def accepts(self, text: str) -> bool:
        return len(text) in _Matching(self.rules, text).ends(Node("rule", "root"), 0)

    def _check(self) -> None:
        if "root" not in self.rules:
            raise BadGrammar("no root")
        for name, node in self.rules.items():
            for part in _parts(node):
                if part.kind == "rule" and part.value not in self.rules:
                    raise BadGrammar(f"{name} names {part.value}, which is no rule")
            if name in self._first(node, set()):
                raise BadGrammar(f"{name} begins with itself")

    def _first(self, node: Node, seen: set[str]) -> set[str]:
        """The rules that may stand at its beginning."""
        if node.kind == "rule":
            name = str(node.value)
            if name in seen:
                return {name}
            return {name} | self._first(self.rules[name], seen | {name})
        if node.kind == "repeat":
            return self._first(node.value, seen)  # type: ignore[arg-type]
        if node.kind == "choice":
            return {name for one in node.value for name in self._first(one, seen)}  # type: ignore[attr-defined]
        found: set[str] = set()
        for one in node.value if node.kind == "sequence" else ():  # type: ignore[attr-defined]
            found |= self._first(one, seen)
            if not (one.kind == "repeat" and one.least == 0):
                break
        return found


class _Reading:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise BadGrammar(f"not known: {text[place : place + 40]!r}")
            if found.lastgroup != "blank":
                self._tokens.append((str(found.lastgroup), found[0]))
            place = found.end()
        self._place = 0

    def choice(self, *, top: bool = False) -> Node:
        options = [self._sequence()]
        while self._next() == ("mark", "|"):
            self._place += 1
            options.append(self._sequence())
        if top and self._next() is not None:
            raise BadGrammar("a bracket too many")
        return Node("choice", options)

    def _next(self) -> tuple[str, str] | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _sequence(self) -> Node:
        found: list[Node] = []
        while (token := self._next()) is not None and token[1] not in ("|", ")"):
            self._place += 1
            kind, text = token
            if kind == "repeat":
                found.append(_repeated(found.pop() if found else None, text))
            elif kind == "mark":
                found.append(self.choice())
                if self._next() != ("mark", ")"):
                    raise BadGrammar("a bracket is not closed")
                self._place += 1
            elif kind == "name":
                found.append(Node("rule", text))
            else:
                found.append(Node("text", _plain(text[1:-1])) if kind == "literal" else Node("chars", _chars(text)))
        return Node("sequence", found)


def _repeated(node: Node | None, mark: str) -> Node:
    if node is None:
        raise BadGrammar(f"nothing before {mark}")
    if mark in "*+?":
        return Node("repeat", node, 1 if mark == "+" else 0, 1 if mark == "?" else None)
    least, _, most = mark[1:-1].partition(",")
    upper = int(most) if most else (int(least) if "," not in mark else None)
    if (upper or int(least)) > MOST_REPEATS:
        raise BadGrammar(f"too often: {mark}")
    return Node("repeat", node, int(least), upper)


def _plain(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "xuU" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code not in _PLAIN:
            raise BadGrammar(f"not an escape: {found[0]!r}")
        return _PLAIN[code]

    return _ESCAPE.sub(one, text)


def _chars(text: str) -> re.Pattern[str]:
    """The class in Python syntax, each character by number."""
    negated, inside = text.startswith("[^"), text[1:-1].removeprefix("^")
    letters = re.findall(r"\\x..|\\u....|\\U.{8}|\\.|.", inside, re.DOTALL)
    made = [
        "-" if one == "-" and 0 < at < len(letters) - 1 else f"\\U{ord(_plain(one)):08x}"
        for at, one in enumerate(letters)
    ]
    return re.compile(f"[{'^' if negated else ''}{''.join(made)}]", re.DOTALL)


def _parts(node: Node) -> Iterator[Node]:
    yield node
    inner = [node.value] if node.kind == "repeat" else node.value if node.kind in ("choice", "sequence") else []
    for one in inner:  # type: ignore[attr-defined]
        yield from _parts(one)


class _Matching:
    def __init__(self, rules: dict[str, Node], text: str) -> None:
        self._rules, self._text = rules, text
        self._known: dict[tuple[str, int], set[int]] = {}

    def ends(self, node: Node, start: int) -> set[int]:
        """Where it may end that begins here."""
        match node.kind:
            case "text":
                return {start + len(str(node.value))} if self._text.startswith(str(node.value), start) else set()
            case "chars":
                return {start + 1} if start < len(self._text) and node.value.match(self._text[start]) else set()  # type: ignore[attr-defined]
            case "rule":
                key = str(node.value), start
                if key not in self._known:
                    self._known[key] = self.ends(self._rules[key[0]], start)
                return self._known[key]
            case "choice":
                return {end for one in node.value for end in self.ends(one, start)}  # type: ignore[attr-defined]
            case "repeat":
                return self._repeat(node, start)
            case _:
                places = {start}
                for one in node.value:  # type: ignore[attr-defined]
                    places = {end for place in places for end in self.ends(one, place)}
                return places

    def _repeat(self, node: Node, start: int) -> set[int]:
        found = {start} if node.least == 0 else set()
        places, times = {start}, 0
        while places and (node.most is None or times < node.most):
            places = {end for place in places for end in self.ends(node.value, place)} - found  # type: ignore[arg-type]
            times += 1
            if times >= node.least:
                found |= places
        return found
