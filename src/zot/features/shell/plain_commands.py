"""The strict reading of a command, for everything that allows: plain programs with plain words, or nothing.
Redirections to files, substitutions, variables, assignments, patterns, comments and control structures are not plain.
The tree must agree with a second, lexical check of all its words and of the text between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST_PLAIN = 4_000  # characters; longer commands cannot be reviewed

_WORD = re.compile(r"""(?:[A-Za-z0-9_./:@%+,=-]++|'[^'\x00-\x1f\x7f]*'|"[^"\\$`!\x00-\x1f\x7f]*")+""")
_PIECE = re.compile(r"""([A-Za-z0-9_./:@%+,=-]+)|'([^']*)'|"([^"]*)\"""")
_DISCARD = re.compile(r"2>&1|[12]?>[ \t]*/dev/null")
_NAME = re.compile(r"[A-Za-z0-9_.+/-]+")
_OPERATORS = frozenset(("&&", "||", ";", "|"))
_STRUCTURE = frozenset(("program", "list", "pipeline", "redirected_statement", "command", "command_name"))
_WORDS = frozenset(("word", "number", "string", "raw_string", "concatenation"))
# Reserved words: the grammar takes some of them for programs.
_RESERVED = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "do", "done", "while", "until", "for", "case", "esac", "in"),
        *("function", "select", "time", "coproc"),
    )
)


class PlainCommand(NamedTuple):
    """``joint`` is the operator before it: ``&&``, ``||``, ``;``, ``|``, a line break, or nothing for the first."""

    joint: str
    words: tuple[str, ...]


class _Item(NamedTuple):
    """``kind`` is word, discard or operator."""

    kind: str
    start: int
    end: int
    text: str


def split_commands(command: str) -> tuple[tuple[str, ...], ...]:
    """The words of each command joined by ``;``, ``&&``, ``||``, ``|`` or a line break; empty if one is not plain.
    Output may be discarded (``>/dev/null``, ``2>&1``).

    >>> split_commands("npm test 2>&1 | tail -5 && git status")
    (('npm', 'test'), ('tail', '-5'), ('git', 'status'))
    >>> split_commands("git commit -m 'it works; really'")
    (('git', 'commit', '-m', 'it works; really'),)
    >>> split_commands("echo a > x"), split_commands("echo a & touch x"), split_commands("ls;")
    ((), (), ())
    """
    return tuple(part.words for part in plain_commands(command))


def plain_commands(command: str) -> tuple[PlainCommand, ...]:
    """The same with the operators between them."""
    from zot.features.shell.syntax import parse

    if not command.strip() or len(command) > LONGEST_PLAIN:
        return ()
    parsed = parse(command)
    if parsed.root is None or parsed.unclear:
        return ()
    items = _items(parsed.root)
    return _grouped(items, command.encode()) if items else ()


def _items(root: Node) -> list[_Item] | None:
    """Words, discarded output and operators in order; None if the tree has anything else."""
    items: list[_Item] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        text = (node.text or b"").decode()
        if node.type in _WORDS and _WORD.fullmatch(text):
            items.append(_Item("word", node.start_byte, node.end_byte, text))
        elif node.type == "file_redirect" and _DISCARD.fullmatch(text):
            items.append(_Item("discard", node.start_byte, node.end_byte, text))
        elif node.type in _OPERATORS:
            items.append(_Item("operator", node.start_byte, node.end_byte, node.type))
        elif node.type in _STRUCTURE and node.child_count:
            waiting.extend(reversed(node.children))
        else:
            return None
    return sorted(items, key=lambda item: item.start)


def _grouped(items: list[_Item], source: bytes) -> tuple[PlainCommand, ...]:
    joint, words, found = "", list[str](), list[PlainCommand]()
    at = 0
    for item in (*items, _Item("operator", len(source), len(source), "")):
        gap = source[at : item.start].decode()
        lines = bool(words) and "\n" in gap
        if gap.strip(" \t\n") or (item.kind == "word" and words and not gap):
            return ()
        if item.kind == "discard" and not gap and (item.text[0] != ">" or source[at - 1 : at].isdigit()):
            return ()
        if lines and item.kind == "discard":
            return ()
        if lines and item.kind == "word":
            found.append(PlainCommand(joint, tuple(words)))
            joint, words = "\n", []
        if item.kind == "operator":
            if not words or (lines and item.text):
                return ()
            found.append(PlainCommand(joint, tuple(words)))
            joint, words = item.text, []
        elif item.kind == "word":
            words.append(_PIECE.sub(lambda piece: piece[1] or piece[2] or piece[3] or "", item.text))
        at = item.end
    return tuple(found) if all(_is_plain_name(part.words[0]) for part in found) else ()


def _is_plain_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _RESERVED
