"""The wide reading of a command, for everything that denies or asks: every command its text may run, also in
substitutions, functions and control structures, and behind programs that run others."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from zot.features.shell import runners
from zot.features.shell.syntax import ANY, parse, text_of, walk, word_value

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_COMMANDS = 500
_MOST_DEPTH = 6  # of texts within texts
_PATTERN = re.compile(r"[*?\[]")
_COMMANDS = frozenset(("command", "declaration_command", "unset_command", "test_command"))
_SUBSTITUTIONS = frozenset(("command_substitution", "process_substitution", "expansion", "simple_expansion"))
_WORDS = _SUBSTITUTIONS | frozenset(
    (
        *("word", "number", "string", "raw_string", "concatenation", "ansi_c_string", "brace_expression"),
        *("arithmetic_expansion", "translated_string"),
    )
)
_NOT_WORDS = frozenset(("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"))


class ReachedCommand(NamedTuple):
    """``source`` is its text; words have ``ANY`` for what is only known when it runs."""

    words: tuple[str, ...]
    source: str


class Reach(NamedTuple):
    """``unclear`` says why other commands may run as well; ``files`` are the targets of redirections;
    ``substitutes`` is true if a part is only known when it runs."""

    commands: tuple[ReachedCommand, ...]
    unclear: str = ""
    files: tuple[str, ...] = ()
    substitutes: bool = False


@lru_cache(maxsize=32)
def commands_of(text: str) -> Reach:
    """
    >>> [" ".join(command.words) for command in commands_of("cd x && FOO=1 timeout 5 rm y").commands]
    ['cd x', 'timeout 5 rm y', '5 rm y', 'rm y']
    >>> commands_of("echo 'never closed").unclear
    'it is not complete shell syntax'
    """
    reader = _Reader()
    reader.read(text, 0)
    return Reach(tuple(reader.commands), reader.unclear, tuple(reader.files), reader.substitutes)


class _Reader:
    def __init__(self) -> None:
        self.commands: dict[ReachedCommand, None] = {}
        self.files: dict[str, None] = {}
        self.unclear = ""
        self.substitutes = False

    def read(self, text: str, depth: int) -> None:
        if "\\\n" in text:  # bash joins the lines before it reads them, except in single quotes and comments
            self._read(text.replace("\\\n", ""), depth)
        self._read(text, depth)

    def _read(self, text: str, depth: int) -> None:
        if depth > _MOST_DEPTH or len(self.commands) > _MOST_COMMANDS:
            self._doubt("it runs too many commands within commands")
            return
        parsed = parse(text)
        self._doubt(parsed.unclear)
        late: dict[int, tuple[str, ...]] = {}
        for node in walk(parsed.root) if parsed.root is not None else ():
            self.substitutes = self.substitutes or node.type in _SUBSTITUTIONS
            if node.type == "redirected_statement":
                late |= _late_words(node)
            elif node.type in _COMMANDS:
                words = (*_words(node), *late.get(node.id, ()))
                if words:
                    self._add(words, " ".join(text_of(node).split()), depth)
            elif node.type == "file_redirect":
                self.files.update((word_value(child), None) for child in _targets(node)[:1])

    def _add(self, words: tuple[str, ...], source: str, depth: int) -> None:
        if len(self.commands) > _MOST_COMMANDS:
            self._doubt("it runs too many commands within commands")
            return
        found = ReachedCommand((_program(words[0]), *words[1:]), source)
        if found in self.commands:
            return
        self.commands[found] = None
        if ANY in found.words[0]:
            self._doubt("a program's name is only known when it runs")
        if runners.reads_commands_from_input(found.words):
            self._doubt(f"{found.words[0]} runs commands that it reads from its input")
        for inner in runners.inner_commands(found.words):
            self._add(inner, " ".join(inner), depth)
        for text, certain in runners.inner_texts(found.words):
            if ANY in text and certain:
                self._doubt(f"{found.words[0]} runs text that is only known then")
            self._inner_text(text.replace(ANY, "_"), depth, certain)

    def _inner_text(self, text: str, depth: int, certain: bool) -> None:
        before = self.unclear
        self.read(text, depth + 1)
        if not certain:
            self.unclear = before

    def _doubt(self, why: str) -> None:
        self.unclear = self.unclear or why


def _words(node: Node) -> tuple[str, ...]:
    if node.type == "test_command":
        return ("test", *(word_value(child) for child in node.named_children))
    words: list[str] = []
    dollar = False
    for child in node.children:
        if child.type == "$":  # $"translated"
            dollar = True
        elif child.type in _NOT_WORDS:
            if node.type == "declaration_command":
                words.append(text_of(child))
        elif child.is_named or node.type != "command":
            value = word_value(child) if child.is_named else text_of(child)
            words.append(ANY if dollar else value)
            dollar = False
    return tuple(words)


def _targets(redirect: Node) -> list[Node]:
    return [child for child in redirect.named_children if child.type in _WORDS]


def _late_words(statement: Node) -> dict[int, tuple[str, ...]]:
    """Words after a redirection belong to the command before it, but the grammar adds them to the redirection."""
    late: list[Node] = []
    for child in statement.named_children:
        if child.type == "file_redirect":
            late += _targets(child)[1:]
        elif child.type == "heredoc_redirect":
            late += _targets(child)
            nested = [each for each in child.named_children if each.type == "file_redirect"]
            late += [word for each in nested for word in _targets(each)[1:]]
    command = statement.named_children[0] if statement.named_children else None
    while command is not None and command.type not in _COMMANDS:
        command = command.named_children[-1] if command.named_children else None
    return {} if command is None or not late else {command.id: tuple(map(word_value, late))}


def _program(word: str) -> str:
    """A pattern in the place of a program may name any file."""
    found = _PATTERN.search(word)
    return f"{word[: found.start()]}{ANY}" if found else word
