"""May this project's extensions run? One question for all of them that nobody decided about, with what changed.

Everything the answer is about can be read: names, commands and files go through the door for text a person decides on.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.dialogs.dialog import Dialog
from zot.agent.modes.interactive.dialogs.evidence import Evidence
from zot.errors import ExtensionError, in_words
from zot.system.spelled import has_hidden, spelled
from zot.tui.decide import folded, painted
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets.select_list import Choice, SelectList

if TYPE_CHECKING:
    from zot.agent.cli.flags import Flags
    from zot.agent.conversation import Conversation
    from zot.agent.extensions.loading.trust import Untrusted
    from zot.agent.modes.interactive.dialogs.dialog import Dialogs

TRUST, EDITING, SKIP = "trust", "editing", "skip"


async def ask_about_trust(conversation: Conversation, flags: Flags, dialogs: Dialogs) -> bool:
    """Ask if there is something to ask; whether something may run now that could not before."""
    host = conversation.extensions
    if host is None or flags.no_ext or flags.trust_project:
        return False
    from zot.agent.extensions.loading.trust import undecided

    found = await asyncio.to_thread(undecided, Path(conversation.present.directory), host.trust)
    answer = await dialogs.ask(TrustDialog(found)) if found else None
    for extension in found:
        if answer == TRUST:  # what was shown, whatever lies there by now
            try:
                await asyncio.to_thread(host.trust.trust, extension.directory, extension.fingerprint)
            except (ExtensionError, OSError) as error:
                host.diagnostics.note(f"extension {extension.name} was not trusted: {in_words(error)}")
        elif answer == EDITING:
            host.trust.while_editing(extension.directory)
    return answer in (TRUST, EDITING)


class TrustDialog(Dialog[str]):
    """Ends with ``trust``, ``editing`` or ``skip``; closing it skips, which is also what is selected."""

    unasked = True
    takes_text = False
    hint = "enter picks · page up/down reads · esc closes"

    def __init__(self, found: Sequence[Untrusted]) -> None:
        super().__init__()
        again = any(extension.changes for extension in found)
        many, want = ("these extensions", "want") if len(found) > 1 else ("this extension", "wants")
        word = "changed since you trusted" if again else f"{want} to run"
        self.title = f"this project: {many} {word}"
        choices = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "trust them as they are now", "until a file changes"),
        ]
        if again:
            choices.append(Choice(EDITING, "trust this directory while I edit (this run)", "nothing is stored"))
        self._answers = SelectList(choices, filterable=False)
        self._count = len(choices)
        told = [line for extension in found for line in _described(extension)]
        self._evidence = Evidence(lambda theme, width: _rows(told, theme, width), hidden=any(map(has_hidden, told)))

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


def _rows(told: Sequence[str], theme: Theme, width: int) -> list[str]:
    warning = "They are programs, held to what is said below. Look at the files before you trust them."
    rows = [*painted(folded(warning, width), "fg", theme), ""]
    return rows + [row for line in told for row in painted(folded(spelled(line), width, 4), "fg", theme, "    ")]


def _described(extension: Untrusted) -> list[str]:
    """One line each: what it is, what it would run and where, and its files or what is different in them."""
    guard = " (a guard)" if extension.guard else ""
    command = shlex.join([extension.exec, *extension.args])
    lines = [f"{extension.name}{guard}: {command}", f"  in {extension.directory}"]
    lines += [f"  more than you granted before: it {line}" for line in extension.wider]
    lines += [f"  it {line}" for line in extension.permissions]
    return lines + [f"  {note}" for note in extension.changes or extension.files]
