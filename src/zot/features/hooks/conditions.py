"""Matches a call with the ``if`` of a hook, one permission rule such as ``Bash(git *)``. A condition only saves
processes, so everything uncertain matches."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zot.agent.tools.ignore import parse_rule

_RULE = re.compile(r"\s*([A-Za-z_][\w.*-]*)\s*(?:\((.*)\)\s*)?", re.DOTALL)
_COVERS = {  # a rule of this name also covers calls of these tools
    "Edit": frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"}),
    "Read": frozenset({"Read", "Grep", "Glob"}),
}
_FILE_TOOLS = _COVERS["Edit"] | _COVERS["Read"]
_ASSIGNMENTS = re.compile(r"""(?:[A-Za-z_]\w*\+?=(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])*(?:\s+|$))+""", re.DOTALL)
_KEYWORDS = re.compile(r"(?:(?:if|then|elif|else|while|until|do|!|\{|\()\s+)+")
_WRAPPER = re.compile(r"(?:(?:nohup|time|command|env)|(?:timeout|nice|stdbuf)(?:\s+-\S+)*(?:\s+\d\S*)?)\s+")
_MOST_DEPTH = 20
_MOST_WRAPPERS = 8
_LONGEST = 100_000  # characters; longer commands are not parsed


def matches_condition(rule: str, names: Sequence[str], fields: dict[str, Any], cwd: Path, root: Path) -> bool:
    """``names`` are the tool's names, Claude Code's first; ``fields`` is its input in Claude Code's format; ``root`` is
    the base of a path with one leading slash."""
    read = _RULE.fullmatch(rule)
    if read is None:
        return True
    tool, specifier = read[1], read[2]
    if not any(_is_of(tool, name) for name in names):
        return False
    if specifier is None or specifier.strip() in ("", "*"):
        return True
    if names[0] == "Bash":
        return command_fits(specifier, str(fields.get("command", "")))
    if names[0] in _FILE_TOOLS:
        return path_fits(specifier, str(fields.get("file_path") or fields.get("path") or cwd), cwd, root)
    if names[0] == "Skill":
        return _glob_fits(specifier, str(fields.get("skill", "")))
    if names[0] == "WebFetch" and specifier.strip().startswith("domain:"):
        return domain_fits(specifier, str(fields.get("url", "")))
    return True


def domain_fits(specifier: str, address: str) -> bool:
    """True if ``domain:HOST`` covers the address, which a tool may also take without a scheme.

    >>> domain_fits("domain:example.com", "https://Example.com:8443/x"), domain_fits("domain:*.org", "a.org/b")
    (True, True)
    >>> domain_fits("domain:example.com", "https://example.com.evil.org/"), domain_fits("domain:e.com", "http://[::1")
    (False, True)
    """
    from zot.errors import BadRequest
    from zot.provider.http.route import parse_url

    pattern = specifier.strip().removeprefix("domain:").strip().lower().rstrip(".")
    try:
        host = parse_url(address.strip() if "://" in address else f"https://{address.strip()}").host.rstrip(".")
    except BadRequest:
        return True  # in doubt, a condition applies
    return _glob_fits(pattern, host)


def split_rule(rule: str) -> tuple[str, str] | None:
    """The tool and the text in parentheses of a rule; None if it is not one."""
    read = _RULE.fullmatch(rule)
    return None if read is None else (read[1], read[2] or "")


def _is_of(tool: str, name: str) -> bool:
    if tool.startswith("mcp__"):
        return _glob_fits(tool, name) or name.startswith(f"{tool}__")
    return name == tool or name in _COVERS.get(tool, ())


# --- commands


def command_fits(pattern: str, command: str) -> bool:
    """True if one of its commands matches.

    >>> command_fits("git *", "npm test && FOO=bar git push"), command_fits("rm *", "echo $(rm -rf /)")
    (True, True)
    >>> command_fits("rm *", "echo $(date)"), command_fits("git push *", "echo $(date)"), command_fits("ls *", "lsof")
    (False, True, False)
    """
    if len(command) > _LONGEST:
        return True
    reader = _ConditionReader(command)
    try:
        reader.read()
    except (ValueError, IndexError):  # incomplete or dynamic: matches
        return True
    found = [form for text in reader.commands for form in _forms(text)]
    if any(command_pattern_fits(pattern, text) for text in found):
        return True
    names_more = " " in pattern.removesuffix(":*").removesuffix("*").strip()
    return reader.unsure and (names_more or any(text.startswith(("$", '"$', "`")) for text in found))


def _forms(text: str) -> set[str]:
    """The command without assignments and redirections, also without a program that only runs it."""
    forms: set[str] = set()
    text, at = " ".join(text.split()), 0
    for _ in range(_MOST_WRAPPERS):
        for pattern in (_KEYWORDS, _ASSIGNMENTS):
            before = pattern.match(text, at)
            at = before.end() if before else at
        forms.add(text[at:])
        wrapper = _WRAPPER.match(text, at)
        if wrapper is None:
            break
        at = wrapper.end()
    return forms


def command_pattern_fits(pattern: str, text: str) -> bool:
    """True if one plain command matches ``npm test:*`` or ``git *``."""
    pattern = f"{pattern[:-2]} *" if pattern.endswith(":*") else pattern
    if pattern.endswith(" *") and _glob_fits(pattern[:-2], text):
        return True
    return _glob_fits(pattern, text)


def _glob_fits(pattern: str, text: str) -> bool:
    """``*`` matches anything; each piece between is searched once, so the time is linear."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return text == first
    last = pieces.pop()
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in pieces:
        at = text.find(piece, place, end)
        if at < 0:
            return False
        place = at + len(piece)
    return True


class _ConditionReader:
    """Splits a shell line into its commands, including those in substitutions.
    ``unsure``: some words are only known at run time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.commands: list[str] = []
        self.unsure = False

    def read(self) -> None:
        self._list("", 0)

    def _list(self, end: str, depth: int) -> None:
        """Commands up to ``end``; ValueError if ``end`` is missing."""
        if depth > _MOST_DEPTH:
            raise ValueError("nested too deeply")
        word: list[str] = []
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == end:
                self._at += 1
                self._keep(word)
                return
            if sign in ";|&\n()":
                self._keep(word)
                self._at += 1
            elif sign in "<>" and self._text[self._at + 1 : self._at + 2] != "(":
                while word and word[-1].isdigit():
                    word.pop()
                while self._text[self._at : self._at + 1] in tuple("<>&|-"):
                    self._at += 1
                while self._text[self._at : self._at + 1] in tuple(" \t"):
                    self._at += 1
                while self._at < len(self._text) and self._text[self._at] not in " \t\n;|&()<>`":
                    self._piece(depth)
                word.append(" ")
            else:
                word.append(self._piece(depth))
        if end:
            raise ValueError("incomplete command")
        self._keep(word)

    def _keep(self, word: list[str]) -> None:
        text = "".join(word).strip()
        word.clear()
        if text:
            self.commands.append(text)

    def _piece(self, depth: int) -> str:
        """Consumes one character, or a whole quotation or substitution."""
        text, start = self._text, self._at
        sign = text[start]
        self._at += 1
        match sign:
            case "\\":
                self._at += 1
            case "'":
                self._at = text.index("'", self._at) + 1
            case '"':
                while text[self._at] != '"':
                    self._piece(depth) if text[self._at] != "'" else self._skip()
                self._at += 1
            case "`":
                self.unsure = True
                self._list("`", depth + 1)
            case "$" | "<" | ">" if text[self._at : self._at + 1] == "(":
                self.unsure = True
                self._at += 1
                self._list(")", depth + 1)
            case "$":
                self.unsure = True
            case _:
                pass
        return text[start : self._at]

    def _skip(self) -> None:
        self._at += 1


# --- paths


def path_fits(pattern: str, path: str, cwd: Path, root: Path) -> bool:
    """True if the file or one of its directories matches a pattern as in ``.gitignore``."""
    base, pattern = _anchored(pattern, cwd, root)
    rule = parse_rule(pattern)
    if rule is None:
        return True
    expression = re.compile(rule.expression, re.DOTALL)
    relative = os.path.relpath(os.path.join(cwd, path), base)
    parts = relative.split(os.sep)
    candidates = [os.sep.join(parts[:count]) for count in range(len(parts), 0, -1)]
    return any(expression.fullmatch(each) for each in candidates[1 if rule.directories_only else 0 :])


def _anchored(pattern: str, cwd: Path, root: Path) -> tuple[str, str]:
    """The directory a pattern is relative to, and the rest of the pattern."""
    if pattern.startswith("//"):
        return "/", pattern[1:]
    if pattern.startswith("~/"):
        return os.path.expanduser("~"), pattern[1:]
    if pattern.startswith("/"):
        return str(root), pattern
    return str(cwd), f"/{pattern[2:]}" if pattern.startswith("./") else pattern
