"""The head of a SKILL.md: the few lines between two ``---`` that name and describe the skill.

This is the small part of YAML that skills use: scalars (plain, quoted, ``>`` and ``|`` blocks), lists (inline or
one ``- item`` per line) and one map of lists. Unknown keys, comments and lines that make no sense are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

_KEY = re.compile(r"([\w.-]+)[ \t]*:(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"([>|])[+-]?[0-9]?[+-]?$")
_ITEM = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+""")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Frontmatter(msgspec.Struct, frozen=True):
    """``allowed_tools`` and ``permissions`` are told to the model and enforced by nobody."""

    name: str = ""
    description: str = ""
    allowed_tools: tuple[str, ...] = ()
    permissions: dict[str, tuple[str, ...]] = {}


class _Entry(msgspec.Struct):
    """One ``key: value`` and the indented lines below it."""

    key: str
    value: str
    lines: list[str]


def split(text: str) -> tuple[str, str]:
    """``(head, body)``; without a closed ``---`` pair the head is empty and everything is body."""
    opening, newline, rest = text.lstrip("\ufeff \t\r\n").partition("\n")
    rest = newline + rest
    end = rest.find("\n---") if opening.startswith("---") else -1
    if end < 0:
        return "", text.strip()
    return rest[1:end], rest[end + 1 :].partition("\n")[2].strip()


def parse(head: str) -> Frontmatter:
    """Read the head; a key that is missing or unreadable keeps its default."""
    found = {entry.key.lower().replace("_", "-"): entry for entry in _entries(head.splitlines())}
    empty = _Entry("", "", [])
    return Frontmatter(
        " ".join(_scalar(found.get("name", empty)).split()),
        _scalar(found.get("description", empty)).strip(),
        _list(found.get("allowed-tools", empty)),
        {entry.key: _list(entry) for entry in _entries(_dedent(found.get("permissions", empty).lines))},
    )


def _entries(lines: Iterable[str]) -> list[_Entry]:
    entries: list[_Entry] = []
    for line in lines:
        if not line.strip() or line[0] in " \t-":
            if entries:
                entries[-1].lines.append(line)
        elif match := _KEY.match(line):
            entries.append(_Entry(match[1], (match[2] or "").strip(), []))
    return entries


def _scalar(entry: _Entry) -> str:
    if block := _BLOCK.match(entry.value):
        lines = _dedent(entry.lines)
        return "\n".join(lines) if block[1] == "|" else _folded(lines)
    return _unquoted(" ".join([entry.value, *(line.strip() for line in entry.lines)]).strip())


def _folded(lines: list[str]) -> str:
    """Lines joined by spaces; an empty line stays a line break."""
    paragraphs = "\n".join(line.strip() for line in lines).split("\n\n")
    return "\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)


def _list(entry: _Entry) -> tuple[str, ...]:
    items = [line.strip()[1:] for line in entry.lines if line.strip().startswith("-")]
    if not items:
        inline = " ".join([entry.value, *(line.strip() for line in entry.lines)]).strip()
        items = _ITEM.findall(inline.removeprefix("[").removesuffix("]"))
    return tuple(text for item in items if (text := _unquoted(item.strip())))


def _unquoted(value: str) -> str:
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    inner = value[1:-1]
    if value[0] == "'":
        return inner.replace("''", "'")
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), inner)


def _dedent(lines: list[str]) -> list[str]:
    margins = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    margin = min(margins, default=0)
    return [line[margin:].rstrip() for line in lines]
