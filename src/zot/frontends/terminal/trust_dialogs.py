"""Dialogs about trust: may a project's programs run, may the user's extensions get more rights.
Names, commands and files are shown in full, with hidden characters escaped."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.frontends.terminal.dialogs.text_dialogs import DetailPane
from zot.system.visible_text import escape_invisible, has_invisible
from zot.tui.decision_text import folded, painted
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets import Choice, SelectList

if TYPE_CHECKING:
    from zot.features.extensions.loader.lock_file import PermissionChange
    from zot.features.trust import Untrusted, UntrustedKind

TRUST, EDITING, SKIP = "trust", "editing", "skip"


class _Question(Dialog[str]):
    """The subject above the answers; the first is selected, and closing picks it."""

    unasked = True
    takes_text = False
    hint = "enter picks · page up/down reads · esc closes"

    def __init__(self, title: str, warning: str, lines: Sequence[str], choices: Sequence[Choice]) -> None:
        super().__init__()
        self.title = title
        self._answers = SelectList(choices, filterable=False)
        self._count = len(choices)
        hidden = any(map(has_invisible, lines))
        self._evidence = DetailPane(lambda theme, width: _rows(warning, lines, theme, width), hidden=hidden)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        body = self._evidence.rows(theme, width, max(height - self._count, 2))
        return [*body, *self._answers.lines(theme, width, self._count)]

    def key(self, key: Key) -> bool:
        if key.name == "enter":
            if (chosen := self._answers.chosen) is not None:
                self.finish(chosen.value)
            return True
        if key.name in ("up", "down"):
            return self._answers.key(key)
        return self._evidence.key(key)


class TrustDialog(_Question):
    """About all programs of a project; ends with ``trust``, ``editing`` or ``skip``."""

    def __init__(self, items: Sequence[Untrusted]) -> None:
        kinds: list[UntrustedKind] = [kind for kind in _KINDS if any(item.kind == kind for item in items)]
        edited = any(item.kind == "extension" and item.changed for item in items)
        until = _KINDS[kinds[0]].until if len(kinds) == 1 else "until a file or an entry changes"
        choices = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "trust them as they are now", until),
        ]
        if edited:
            choices.append(Choice(EDITING, "trust this directory while I edit (this run)", "nothing is stored"))
        lines: list[str] = []
        for kind in kinds:
            if len(kinds) > 1:
                lines += [f"{_KINDS[kind].heading}: {_KINDS[kind].warning}"]
            lines += [line for item in items if item.kind == kind for line in _described(item)]
        warning = _KINDS[kinds[0]].warning if len(kinds) == 1 else "Review what would run before you trust it."
        super().__init__(_title(items, kinds), warning, lines, choices)


class _Kind(NamedTuple):
    heading: str
    warning: str
    until: str


_KINDS: dict[UntrustedKind, _Kind] = {
    "extension": _Kind(
        "extensions",
        "They are programs, limited to the permissions below. Review the files before you trust them.",
        "until a file changes",
    ),
    "mcp": _Kind(
        "MCP servers",
        "They run with your rights when the model uses them. Their entries and files are listed below.",
        "until an entry or a file changes",
    ),
    "hooks": _Kind(
        "hooks",
        (
            "They are commands that run with your rights, without asking, while the agent works. Review them "
            "before you trust them."
        ),
        "until a command or a file changes",
    ),
}


def _title(items: Sequence[Untrusted], kinds: Sequence[UntrustedKind]) -> str:
    if len(kinds) > 1:
        *others, last = (_KINDS[kind].heading for kind in kinds)
        return f"this project has {', '.join(others)} and {last}: run them?"
    if kinds[0] == "mcp":
        return "this project has MCP servers: run them?"
    if kinds[0] == "hooks":
        return "run hooks of Claude Code?"
    many, want = ("these extensions", "want") if len(items) > 1 else ("this extension", "wants")
    word = "changed since you trusted" if any(item.changed for item in items) else f"{want} to run"
    return f"this project: {many} {word}"


class PermissionChangeDialog(_Question):
    """Ends with ``trust`` or ``skip``."""

    def __init__(self, found: Sequence[PermissionChange]) -> None:
        many = "your extensions request" if len(found) > 1 else "your extension requests"
        choices = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "grant the requested permissions", "until they request more"),
        ]
        warning = "Their manifests changed. Grant this only if you changed them."
        lines = [line for extension in found for line in _permission_lines(extension)]
        super().__init__(f"{many} more than you granted", warning, lines, choices)


def _rows(warning: str, lines: Sequence[str], theme: Theme, width: int) -> list[str]:
    rows = [*painted(folded(warning, width), "fg", theme), ""]
    return rows + [
        row for line in lines for row in painted(folded(escape_invisible(line), width, 4), "fg", theme, "    ")
    ]


def _described(item: Untrusted) -> list[str]:
    """One line each: what it is, what it would run and where, and its files or changes."""
    if item.kind == "extension":
        guard = " (a guard)" if item.guard else ""
        lines = [f"{item.name}{guard}: {' '.join(item.runs)}", f"  in {item.source}"]
    else:
        lines = [f"{item.name} ({item.source})", *(f"  {line}" for line in item.runs)]
    return lines + [f"  {line}" for line in item.details]


def _permission_lines(extension: PermissionChange) -> list[str]:
    guard = " (a guard)" if extension.guard else ""
    command = shlex.join([extension.exec, *extension.args])
    lines = [f"{extension.name}{guard}: {command}", f"  in {extension.directory}"]
    lines += [f"  new: it {line}" for line in extension.wider]
    return lines + [f"  it {line}" for line in extension.permissions if line not in extension.wider]
