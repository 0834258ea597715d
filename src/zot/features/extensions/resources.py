"""Skills, templates and themes that extensions contribute while they run. Their files are in the directories of the
extension; they go with the contribution."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from zot.features.extensions.loader.discovery import files_of_skill, prefix_of
from zot.features.extensions.requests import RequestError
from zot.features.lookup import skills
from zot.features.skills.discovery import SkillFile

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.host import ExtensionHost
    from zot.features.templates.discovery import TemplateDir

_MOST = 50


class ContributedResources:
    """``change`` is called for each contribution of kind ``resource``; None withdraws it."""

    def __init__(self, host: ExtensionHost) -> None:
        self._host = host
        self._skills: dict[tuple[str, str], list[SkillFile]] = {}
        self._templates: dict[tuple[str, str], list[TemplateDir]] = {}
        self._themes: dict[tuple[str, str], list[Path]] = {}

    def change(self, child: ExtensionChild, name: str, value: dict[str, Any] | None) -> None:
        """RequestError names a path that cannot be used; nothing changed then."""
        key = (child.name, name)
        given = value or {}
        skill_files = _skill_files(child, _paths(child, "skills", given))
        templates = _template_dirs(child, _paths(child, "templates", given))
        themes = _theme_files(_paths(child, "themes", given))
        had_skills = self._skills.pop(key, [])
        for kept in (self._templates, self._themes):
            kept.pop(key, None)
        if value is not None:
            self._skills[key], self._templates[key], self._themes[key] = skill_files, templates, themes
        conversation = self._host.conversation
        if conversation is not None and skill_files != had_skills and (feature := skills(conversation)) is not None:
            feature.refresh()

    def skill_files(self) -> list[SkillFile]:
        return [file for files in self._skills.values() for file in files]

    def template_dirs(self) -> list[TemplateDir]:
        return [place for places in self._templates.values() for place in places]

    def themes(self) -> list[tuple[str, Path]]:
        """Extension and file."""
        return [(extension, path) for (extension, _), paths in self._themes.items() for path in paths]


def _paths(child: ExtensionChild, key: str, value: dict[str, Any]) -> list[Path]:
    given: Any = value.get(key, [])
    items = cast("list[Any]", given)
    if len(items) > _MOST or not all(isinstance(item, str) and item for item in items):
        raise RequestError("bad_params", f"value.{key}: expected at most {_MOST} paths")
    return [_path(child, key, item) for item in items]


def _path(child: ExtensionChild, key: str, item: str) -> Path:
    """Inside the extension's directory or its data directory, also after links."""
    path = Path(os.path.realpath(child.place / item))
    allowed = [os.path.realpath(place) for place in (child.place, child.entry.data_dir)]
    if not any(path.is_relative_to(place) for place in allowed):
        raise RequestError(
            "refused", f"value.{key}: {item[:200]} is not in the extension's directory or its data directory"
        )
    if not path.exists():
        raise RequestError("not_found", f"value.{key}: no file or directory {item[:200]}")
    return path


def _skill_files(child: ExtensionChild, paths: Iterable[Path]) -> list[SkillFile]:
    found: list[SkillFile] = []
    for path in paths:
        try:
            files = files_of_skill(path)
        except ValueError as error:
            raise RequestError("bad_params", f"value.skills: {path.name} {error}") from None
        found += [SkillFile(file, f"extension {child.name}", prefix_of(child.name), path) for file in files]
    return found


def _template_dirs(child: ExtensionChild, paths: Iterable[Path]) -> list[TemplateDir]:
    from zot.features.templates.discovery import TemplateDir  # few extensions have templates

    found: list[TemplateDir] = []
    for path in paths:
        if not path.is_dir():
            raise RequestError("bad_params", f"value.templates: {path.name}: expected a directory of .md files")
        found.append(TemplateDir(path, f"extension {child.name}", path, prefix_of(child.name)))
    return found


def _theme_files(paths: Iterable[Path]) -> list[Path]:
    found = list(paths)
    if wrong := next((path for path in found if path.suffix != ".json" or not path.is_file()), None):
        raise RequestError("bad_params", f"value.themes: {wrong.name}: expected a .json file")
    return found
