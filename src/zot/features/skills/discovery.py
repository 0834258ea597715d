"""Finds skills: directories with a SKILL.md whose head has name and description.
The first of a name wins, in the order of ``_sources``; hidden ones are reported. Bodies are read on use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.system.text_files import project_of, read_text, reason_of

if TYPE_CHECKING:
    from zot.system.jail.jailed_files import JailedFiles

BUILTIN = Path(__file__).parent / "builtin"
BUILTIN_LABEL = "built-in"
FILE_NAME = "SKILL.md"
_HEAD_BYTES = 64 << 10
_BODY_BYTES = 1 << 20
# compiled on use; few skills need them
_BLOCK = r"([>|])[+-]?[0-9]?[+-]?"
_ITEM = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+"""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Skill(msgspec.Struct, frozen=True):
    """``path`` is the SKILL.md or ``builtin:<directory>``, ``label`` its source.
    ``within`` is the directory its links must not leave."""

    name: str
    description: str
    path: str
    label: str
    allowed_tools: tuple[str, ...] = ()
    permissions: dict[str, tuple[str, ...]] = {}
    within: Path | None = None

    @property
    def builtin(self) -> bool:
        return self.label == BUILTIN_LABEL

    @property
    def file(self) -> Path:
        return BUILTIN / self.path.removeprefix("builtin:") / FILE_NAME if self.builtin else Path(self.path)

    def body(self, beneath: JailedFiles | None = None) -> str:
        """The text after the head, read in a jail ``beneath`` its roots; OSError if the file is missing."""
        file = read_text(self.file, _BODY_BYTES, self.within, beneath)
        body = split(file.text)[1]
        return f"{body}\n\n[truncated to the first {_BODY_BYTES >> 20} MiB of this skill]" if file.cut else body


class Skills(msgspec.Struct, frozen=True):
    """All skills of a run, sorted by name; empty with ``--no-skill``."""

    all: list[Skill] = []
    problems: list[str] = []
    user_home: Path = Path("/")

    @property
    def visible(self) -> list[Skill]:
        """All but built-in skills."""
        return [skill for skill in self.all if not skill.builtin]

    def find(self, name: str) -> Skill | None:
        return next((skill for skill in self.all if skill.name == name), None)


class SkillFile(msgspec.Struct, frozen=True):
    """A SKILL.md of another feature, such as an extension; ``prefix`` is prepended to its name."""

    file: Path
    label: str
    prefix: str = ""
    within: Path | None = None


def discover(
    cwd: Path, home: Path, user_home: Path, extra: Iterable[SkillFile] = (), beneath: JailedFiles | None = None
) -> Skills:
    """``extra`` first, then the project, the zot home and the user's home, then the built-in skills."""
    found: dict[str, Skill] = {}
    problems: list[str] = []
    for skill in _all_skills(cwd, home, user_home, extra, _SkillReader(problems, beneath)):
        winner = found.setdefault(skill.name, skill)
        if winner is not skill and not winner.file.samefile(skill.file):
            problems.append(f"skill {skill.name!r}: {winner.path} hides {skill.path}")
    return Skills(sorted(found.values(), key=lambda skill: skill.name), problems, user_home)


def _all_skills(
    cwd: Path, home: Path, user_home: Path, extra: Iterable[SkillFile], reader: _SkillReader
) -> Iterator[Skill]:
    for given in extra:
        source = _Source(given.file.parent, given.label, given.within)
        if skill := _read_skill(given.file, given.file.parent.name, str(given.file), source, reader):
            yield msgspec.structs.replace(skill, name=f"{given.prefix}{skill.name}")
    for source in _sources(cwd, home, user_home):
        for directory in _directories(source.root, reader.problems):
            file = source.root / directory / FILE_NAME
            path = f"builtin:{directory}" if source.label == BUILTIN_LABEL else str(file)
            if found := _read_skill(file, directory, path, source, reader):
                yield found


class _SkillReader(msgspec.Struct, frozen=True):
    """``problems`` collects errors; ``beneath`` opens files in a jail."""

    problems: list[str]
    beneath: JailedFiles | None


class _Source(msgspec.Struct, frozen=True):
    """A directory of skills; ``within`` is what their links must not leave."""

    root: Path
    label: str
    within: Path | None = None


def _sources(cwd: Path, home: Path, user_home: Path) -> list[_Source]:
    project = project_of(cwd)
    return [
        _Source(cwd / ".zot" / "skills", "project", project),
        _Source(home / "skills", "global"),
        _Source(cwd / ".claude" / "skills", "project (claude)", project),
        _Source(user_home / ".claude" / "skills", "global (claude)"),
        _Source(cwd / ".agents" / "skills", "project (agents)", project),
        _Source(user_home / ".agents" / "skills", "global (agents)"),
        _Source(BUILTIN, BUILTIN_LABEL),
    ]


def _read_skill(file: Path, directory: str, path: str, source: _Source, reader: _SkillReader) -> Skill | None:
    try:
        head = read_text(file, _HEAD_BYTES, source.within, reader.beneath)
    except FileNotFoundError:
        return None
    except OSError as error:
        reader.problems.append(f"skill {file}: {reason_of(error)}")
        return None
    if head.damaged:
        reader.problems.append(f"skill {file}: not valid UTF-8; invalid bytes are shown as \ufffd")
    found = parse(split(head.text)[0])
    return Skill(
        found.name or directory,
        found.description,
        path,
        source.label,
        found.allowed_tools,
        found.permissions,
        source.within,
    )


def _directories(root: Path, problems: list[str]) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"skills {root}: {error.strerror}")
        return []


class Frontmatter(msgspec.Struct, frozen=True):
    """The head, in a subset of YAML: scalars, ``>`` and ``|`` blocks, lists, one map of lists.
    Other lines are ignored. ``allowed_tools`` and ``permissions`` are shown to the model, not enforced."""

    name: str = ""
    description: str = ""
    allowed_tools: tuple[str, ...] = ()
    permissions: dict[str, tuple[str, ...]] = {}
    argument_hint: str = ""  # for prompt templates, as the next
    model: str = ""


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


def head_fields(head: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Every key of the head as written, with its value as a text and as a list."""
    return {entry.key: (_scalar(entry).strip(), _list(entry)) for entry in _entries(head.splitlines())}


def parse(head: str) -> Frontmatter:
    """Parse the head; a missing or invalid key keeps its default."""
    found = {entry.key.lower().replace("_", "-"): entry for entry in _entries(head.splitlines())}
    empty = _Entry("", "", [])
    return Frontmatter(
        " ".join(_scalar(found.get("name", empty)).split()),
        _scalar(found.get("description", empty)).strip(),
        _list(found.get("allowed-tools", empty)),
        {entry.key: _list(entry) for entry in _entries(_dedent(found.get("permissions", empty).lines))},
        " ".join(_scalar(found.get("argument-hint", empty)).split()),
        _scalar(found.get("model", empty)).strip(),
    )


def _entries(lines: Iterable[str]) -> list[_Entry]:
    entries: list[_Entry] = []
    for line in lines:
        if not line.strip() or line[0] in " \t-":
            if entries:
                entries[-1].lines.append(line)
            continue
        key, colon, value = line.partition(":")
        key = key.rstrip(" \t")
        if colon and value[:1] in ("", " ", "\t") and key and all(c.isalnum() or c in "_.-" for c in key):
            entries.append(_Entry(key, value.strip(), []))
    return entries


def _scalar(entry: _Entry) -> str:
    if entry.value[:1] in (">", "|") and (block := re.fullmatch(_BLOCK, entry.value)):
        lines = _dedent(entry.lines)
        if block[1] == "|":
            return "\n".join(lines)
        # Folded: lines joined by spaces; an empty line is a line break.
        paragraphs = "\n".join(line.strip() for line in lines).split("\n\n")
        return "\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)
    return _unquoted(" ".join([entry.value, *(line.strip() for line in entry.lines)]).strip())


def _list(entry: _Entry) -> tuple[str, ...]:
    items = [line.strip()[1:] for line in entry.lines if line.strip().startswith("-")]
    if not items:
        inline = " ".join([entry.value, *(line.strip() for line in entry.lines)]).strip()
        items = re.findall(_ITEM, inline.removeprefix("[").removesuffix("]")) if inline else []
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
