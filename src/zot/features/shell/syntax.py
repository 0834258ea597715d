"""Parses shell commands with the bash grammar of tree-sitter, which is loaded for the first command.
The grammar is not bash: text that the two may read differently is reported as unclear, never guessed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 20_000  # characters of a command that is parsed
ANY = "\0"  # stands for text that is only known when the command runs

_MOST_SECONDS = 0.2
_MOST_PIPES = 1_000  # the time limit does not reach the quadratic part of parsing these
_DEEPEST = 200  # levels of the tree
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SPACE = re.compile(r"[^\S \t\n]")  # the grammar separates words at each of these, bash does not
_HIDDEN = re.compile(r"`|\$\(|[<>]\(")  # a substitution that the grammar took for text
_DELIMITER = re.compile(r"""\w+|'\w+'|"\w+"|\\\w+""")
_DATA = frozenset(("raw_string", "comment", "heredoc_start", "heredoc_end", "ansi_c_string", "regex"))


class Parsed(NamedTuple):
    """``unclear`` says why other commands may run than the tree shows; empty if it shows all."""

    root: Node | None
    unclear: str = ""


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(text: str) -> Parsed:
    """The tree of a command. It has none if the text is too long or has characters that no command needs."""
    if len(text) > LONGEST:
        return Parsed(None, f"it is longer than {LONGEST} characters")
    if text.count("|") > _MOST_PIPES:
        return Parsed(None, f"it has more than {_MOST_PIPES} pipes")
    if _CONTROL.search(text) or _SPACE.search(text):
        return Parsed(None, "it has control characters or unusual spaces")
    try:
        root = _tree(text.encode())
    except UnicodeEncodeError:
        return Parsed(None, "it is not valid text")
    if root is None:
        return Parsed(None, "parsing it takes too long")
    return Parsed(root, "it is not complete shell syntax" if root.has_error else _difference(root, text))


def _tree(source: bytes) -> Node | None:
    """None if the time is over: some wrong syntax takes quadratic time."""
    parser, end = _parser(), time.monotonic() + _MOST_SECONDS

    def is_over(*_: object) -> bool:
        return time.monotonic() > end

    try:
        tree = parser.parse(lambda offset, _: source[offset : offset + 4096], progress_callback=is_over)
    except ValueError:  # cancelled
        parser.reset()
        return None
    return tree.root_node


def walk(root: Node) -> Iterator[Node]:
    """Every node, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def text_of(node: Node) -> str:
    return (node.text or b"").decode()


def _difference(root: Node, text: str) -> str:
    """Why bash may read the text differently; empty if it cannot."""
    heredocs = 0
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            return "it is nested too deeply"
        if node.type == "heredoc_start":
            heredocs += 1
            if heredocs > 1 or not _DELIMITER.fullmatch(text_of(node)):
                return "its here-document cannot be read with certainty"
        elif node.type == "command_substitution" and text_of(node).startswith("`") and "\\" in text_of(node):
            return "it has backticks within backticks"
        elif not node.child_count and node.is_named and node.type not in _DATA and _HIDDEN.search(text_of(node)):
            return "it has a substitution within text"
        waiting.extend((child, depth + 1) for child in node.children)
    return _heredoc_difference(root, text) if heredocs else ""


def _heredoc_difference(root: Node, text: str) -> str:
    """The body must end at the first line that is only the delimiter."""
    start = next(node for node in walk(root) if node.type == "heredoc_start")
    end = next((node for node in walk(root) if node.type == "heredoc_end"), None)
    delimiter = text_of(start).strip("'\"\\")
    lines = text.split("\n")
    tabs = text.encode()[: start.start_byte].rstrip(b" \t").endswith(b"<<-")
    for number, line in enumerate(lines[start.start_point[0] + 1 :], start.start_point[0] + 1):
        if (line.lstrip("\t") if tabs else line) == delimiter:
            matches = end is not None and end.start_point[0] == number
            return "" if matches else "its here-document cannot be read with certainty"
    return "its here-document has no end"


# --- words


def word_value(node: Node) -> str:
    """The word as the program gets it, with ``ANY`` for each part that is only known when it runs."""
    match node.type:
        case "word" | "variable_name" | "number" | "command_name" | "test_operator" if not node.named_child_count:
            return _unquoted(text_of(node))
        case "raw_string":
            return text_of(node)[1:-1]
        case "string":
            return re.sub(r'\\([\\"$`\n])', _escaped, _with_gaps(node)[1:-1])
        case "command_name" | "concatenation" if node.children:
            if node.type == "concatenation" and text_of(node) == "{}":
                return "{}"
            return "".join(map(word_value, node.children))
        case _:
            return ANY


def _unquoted(text: str) -> str:
    """Text outside quotes: a backslash protects the next character; braces make several words."""
    before, brace, _ = text.partition("{")
    if brace:
        return f"{_unquoted(before)}{ANY}" if not before.endswith("\\") else ANY
    return re.sub(r"\\(.)", _escaped, text, flags=re.DOTALL)


def _escaped(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def _with_gaps(node: Node) -> str:
    """The source of a string, with ``ANY`` in the place of expansions."""
    source, start, made = node.text or b"", node.start_byte, ""
    at = 0
    for child in node.children:
        if child.is_named and child.type != "string_content":
            made += source[at : child.start_byte - start].decode() + ANY
            at = child.end_byte - start
    return made + source[at:].decode()
