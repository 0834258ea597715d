"""Where skills come from, and which one wins.

A skill is a directory with a SKILL.md. The first of a name wins, in the order of ``_sources``; a hidden one is
reported, never dropped in silence. Only the head of each file is read here, the body when it is asked for; a
search directory that does not exist costs one failed system call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from zot.agent.skills.frontmatter import Frontmatter, parse, split
from zot.agent.text_files import read_text

BUILTIN = Path(__file__).parent / "builtin"
BUILTIN_LABEL = "built-in"
FILE_NAME = "SKILL.md"
_HEAD_BYTES = 64 << 10
_BODY_BYTES = 1 << 20


class Skill(msgspec.Struct, frozen=True):
    """``path`` is the SKILL.md, or ``builtin:<directory>``; ``label`` says where it was found."""

    name: str
    description: str
    path: str
    label: str
    allowed_tools: tuple[str, ...] = ()
    permissions: dict[str, tuple[str, ...]] = {}

    @property
    def builtin(self) -> bool:
        return self.label == BUILTIN_LABEL

    @property
    def file(self) -> Path:
        return BUILTIN / self.path.removeprefix("builtin:") / FILE_NAME if self.builtin else Path(self.path)

    def body(self) -> str:
        """What follows the head, read now; OSError when the file has gone since."""
        file = read_text(self.file, _BODY_BYTES)
        body = split(file.text)[1]
        return f"{body}\n\n[cut: the first {_BODY_BYTES >> 20} MiB of this skill]" if file.cut else body


class Skills(msgspec.Struct, frozen=True):
    """All skills of a run, sorted by name; ``Skills()`` is what ``--no-skill`` leaves."""

    all: list[Skill] = []
    problems: list[str] = []
    user_home: Path = Path("/")

    @property
    def visible(self) -> list[Skill]:
        """Those a person put somewhere: all but the built-in ones."""
        return [skill for skill in self.all if not skill.builtin]

    def find(self, name: str) -> Skill | None:
        return next((skill for skill in self.all if skill.name == name), None)


class SkillFile(msgspec.Struct, frozen=True):
    """A SKILL.md somebody else found, in an extension say; ``prefix`` goes before the skill's name."""

    file: Path
    label: str
    prefix: str = ""


def discover(cwd: Path, home: Path, user_home: Path, extra: Iterable[SkillFile] = ()) -> Skills:
    """``extra`` first, then the project, the zot home and the user's home, then the built-in skills."""
    found: dict[str, Skill] = {}
    problems: list[str] = []
    for skill in _all_skills(cwd, home, user_home, extra, problems):
        winner = found.setdefault(skill.name, skill)
        if winner is not skill and not winner.file.samefile(skill.file):
            problems.append(f"skill {skill.name!r}: {winner.path} hides {skill.path}")
    return Skills(sorted(found.values(), key=lambda skill: skill.name), problems, user_home)


def _all_skills(
    cwd: Path, home: Path, user_home: Path, extra: Iterable[SkillFile], problems: list[str]
) -> Iterator[Skill]:
    for given in extra:
        if skill := _read_skill(given.file, given.file.parent.name, str(given.file), given.label, problems):
            yield msgspec.structs.replace(skill, name=f"{given.prefix}{skill.name}")
    for root, label in _sources(cwd, home, user_home):
        yield from _skills_in(root, label, problems)


def _sources(cwd: Path, home: Path, user_home: Path) -> list[tuple[Path, str]]:
    return [
        (cwd / ".zot" / "skills", "project"),
        (home / "skills", "global"),
        (cwd / ".claude" / "skills", "project (claude)"),
        (user_home / ".claude" / "skills", "global (claude)"),
        (cwd / ".agents" / "skills", "project (agents)"),
        (user_home / ".agents" / "skills", "global (agents)"),
        (BUILTIN, BUILTIN_LABEL),
    ]


def _skills_in(root: Path, label: str, problems: list[str]) -> Iterator[Skill]:
    for directory in _directories(root, problems):
        file = root / directory / FILE_NAME
        path = f"builtin:{directory}" if label == BUILTIN_LABEL else str(file)
        if skill := _read_skill(file, directory, path, label, problems):
            yield skill


def _read_skill(file: Path, directory: str, path: str, label: str, problems: list[str]) -> Skill | None:
    try:
        head = read_text(file, _HEAD_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        problems.append(f"skill {file}: {error.strerror}")
        return None
    if head.damaged:
        problems.append(f"skill {file}: not valid UTF-8; the bad bytes are shown as \ufffd")
    return _skill(parse(split(head.text)[0]), directory, path, label)


def _directories(root: Path, problems: list[str]) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"skills {root}: {error.strerror}")
        return []


def _skill(head: Frontmatter, directory: str, path: str, label: str) -> Skill:
    return Skill(head.name or directory, head.description, path, label, head.allowed_tools, head.permissions)
