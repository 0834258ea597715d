"""Finds prompt templates: ``commands/**/*.md`` of zot home, user, project and plugins; the first of a name wins.
``commands/git/tidy.md`` is ``/git:tidy``. Files are read on use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from zot.features.skills.discovery import parse, split
from zot.system.files import is_missing, user_home
from zot.system.text_files import project_of, read_text, reason_of

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.system.jail.jailed_files import JailedFiles

FOLDER = "commands"
_SUFFIX = ".md"
_HEAD_BYTES = 16 << 10
_BODY_BYTES = 256 << 10
_DEEPEST = 4  # levels below ``commands``
_MOST = 500  # files per directory


class TemplateDir(msgspec.Struct, frozen=True):
    """A ``commands`` directory; its links must not leave ``within``, ``prefix`` is prepended to names. ``given`` are
    the values of ``${NAME}`` in its templates, and of plugins only."""

    root: Path
    label: str
    within: Path | None = None
    prefix: str = ""
    given: dict[str, str] = {}


class Template(msgspec.Struct, frozen=True):
    """``hint`` describes its arguments; ``model`` and ``allowed_tools`` are requests of its author. ``within`` is the
    project it belongs to; None for the user's own and those of plugins."""

    name: str
    file: Path
    label: str
    description: str = ""
    hint: str = ""
    model: str = ""
    allowed_tools: tuple[str, ...] = ()
    body: str = ""
    within: Path | None = None


@runtime_checkable
class TemplateSource(Protocol):
    """A feature with templates of its own."""

    def template_dirs(self) -> list[TemplateDir]: ...


def places_of(conversation: Conversation) -> list[TemplateDir]:
    sources = [feature for feature in conversation.features if isinstance(feature, TemplateSource)]
    brought = [place for source in sources for place in source.template_dirs()]
    return [*places_in(conversation.workspace.cwd, conversation.home), *brought]


def places_in(cwd: Path, home: Path) -> list[TemplateDir]:
    """Those of the user and of a directory; the first of a name wins, so that a clone cannot replace a user's own."""
    user = user_home()
    project = project_of(cwd)
    return [
        TemplateDir(home / FOLDER, "global"),
        TemplateDir(user / ".claude" / FOLDER, "global (claude)"),
        TemplateDir(cwd / ".zot" / FOLDER, "project", project),
        TemplateDir(cwd / ".claude" / FOLDER, "project (claude)", project),
        *_of_plugins(home),
    ]


def _of_plugins(home: Path) -> list[TemplateDir]:
    if is_missing(home / "plugins.json"):
        return []
    from zot.features.plugins.components import enabled_components  # few have plugins

    return [place for parts in enabled_components(home, []) for place in parts.commands]


def name_and_arguments(text: str) -> tuple[str, str] | None:
    """Name and arguments of ``/name the rest``; None if it cannot be a template, such as ``/usr/bin``."""
    if not text.startswith("/"):
        return None
    words = text[1:].split(maxsplit=1)
    if not words or text[1].isspace() or not _is_name(words[0]):
        return None
    return words[0], words[1].strip() if len(words) > 1 else ""


def _is_name(word: str) -> bool:
    parts = word.split(":")
    return len(parts) <= _DEEPEST + 2 and all(
        part and part[0] not in ".-" and all(c.isalnum() or c in "._-" for c in part) for part in parts
    )


def find(name: str, places: list[TemplateDir], beneath: JailedFiles | None) -> Template | None:
    """The nearest template of this name with its text; OSError if the file cannot be read."""
    for place in places:
        inside = name.removeprefix(place.prefix) if name.startswith(place.prefix) else ""
        if not inside or not os.path.isdir(place.root):
            continue
        *folders, last = inside.split(":")
        try:
            return _read(place.root.joinpath(*folders, last + _SUFFIX), name, place, _BODY_BYTES, beneath)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None


def shadowed(name: str, places: list[TemplateDir], winner: Template) -> Path | None:
    """A project's template of the same name that is not used."""
    *folders, last = name.split(":")
    files = (place.root.joinpath(*folders, last + _SUFFIX) for place in places if place.within is not None)
    return next((file for file in files if file.is_file() and not os.path.samefile(file, winner.file)), None)


def all_templates(places: list[TemplateDir], beneath: JailedFiles | None, problems: list[str]) -> list[Template]:
    """The nearest of each name, without texts; unreadable and hidden ones are problems."""
    found: dict[str, Template] = {}
    for place in places:
        for name, file in _files(place, problems):
            if (winner := found.get(name)) is not None:
                if not os.path.samefile(winner.file, file):
                    problems.append(f"template /{name}: {winner.file} hides {file}")
                continue
            try:
                found[name] = msgspec.structs.replace(_read(file, name, place, _HEAD_BYTES, beneath), body="")
            except OSError as error:
                problems.append(f"template {file}: {reason_of(error)}")
    return sorted(found.values(), key=lambda template: template.name)


def _files(place: TemplateDir, problems: list[str]) -> Iterator[tuple[str, Path]]:
    """Names and files of a directory, up to a limit; an invalid name is a problem."""
    count = 0
    for directory, folders, files in os.walk(place.root):
        above = Path(directory).relative_to(place.root).parts
        folders[:] = sorted(folders) if len(above) < _DEEPEST else []
        for file in sorted(files):
            if not file.endswith(_SUFFIX):
                continue
            name = place.prefix + ":".join((*above, file.removesuffix(_SUFFIX)))
            if not _is_name(name):
                problems.append(f"template {directory}/{file}: invalid command name")
                continue
            count += 1
            if count > _MOST:
                problems.append(f"templates {place.root}: more than {_MOST} files; only the first {_MOST} are offered")
                return
            yield name, Path(directory, file)


def _read(file: Path, name: str, place: TemplateDir, limit: int, beneath: JailedFiles | None) -> Template:
    read = read_text(file, limit, place.within, beneath)
    head, body = split(read.text)
    fields = parse(head)
    allowed: tuple[str, ...] = fields.allowed_tools
    for variable, value in place.given.items():
        body = body.replace(f"${{{variable}}}", value)
        allowed = tuple([rule.replace(f"${{{variable}}}", value) for rule in allowed])
    cut = f"\n\n[truncated to the first {_BODY_BYTES >> 10} KiB of this template]" if read.cut else ""
    return Template(
        name,
        file,
        place.label,
        fields.description or next((line.strip(" #\t") for line in body.splitlines() if line.strip(" #\t")), "")[:200],
        fields.argument_hint,
        fields.model,
        allowed,
        body + cut,
        None if place.given else place.within,
    )
