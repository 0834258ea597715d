"""The rules a person keeps for a project: ``$ZOT_HOME/permissions.json``, by the project's real path, never in it.

Only an answer given at the keyboard adds one. A file that is damaged, of another user or writable by others allows
nothing, and is told once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from zot.core.permission_modes import Rule
from zot.errors import ConfigError, in_words
from zot.features.trust import project_key
from zot.system.json_store import JsonStore

_MOST = 1_000  # rules of one project; beyond that something else wrote them


class _RulesFields(msgspec.Struct):
    version: int = 1
    projects: dict[str, list[Rule]] = {}


class KeptRules:
    """Those of one project. They are read once, when something would have to be asked; ``told`` hears what is wrong."""

    def __init__(self, home: Path, cwd: Path, told: Callable[[str], None]) -> None:
        self._file = _RulesFile(home / "permissions.json", _RulesFields, "fix the file or delete it")
        self.path = self._file.path
        self._project = project_key(cwd)
        self._told = told
        self._read: list[Rule] | None = None

    def __call__(self) -> list[Rule]:
        if self._read is None:
            self._read = []  # whatever happens now, it is not tried again
            try:
                self._read = self._file.load().projects.get(self._project, [])[:_MOST]
            except (ConfigError, OSError) as error:
                self._told(f"{in_words(error)}; no kept permission holds until it is fixed")
        return self._read

    def keep(self, rule: Rule) -> None:
        """From now on, in later sessions too. ConfigError or OSError: nothing was kept."""
        with self._edit() as rules:
            if rule not in rules:
                rules.append(rule)

    def forget(self, rule: Rule) -> None:
        """The same errors; harmless for a rule that is not kept."""
        with self._edit() as rules:
            if rule in rules:
                rules.remove(rule)

    @contextmanager
    def _edit(self) -> Generator[list[Rule]]:
        """The rules as they are on disk, under the lock; written back when the block ends without an error."""
        with self._file.edit() as content:
            rules = content.projects.setdefault(self._project, [])
            yield rules
            content.projects = {project: rules for project, rules in content.projects.items() if rules}
        self._read = rules


class _RulesFile(JsonStore[_RulesFields]):
    def decode(self, data: bytes) -> _RulesFields:
        about = os.stat(self.path)
        if about.st_uid not in (os.getuid(), 0) or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigError(f"{self.path}: others can write to it; make it yours alone with chmod 600")
        return super().decode(data)
