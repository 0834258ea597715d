"""May this project's extensions run? One question for all of them that nobody decided about, with what changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zot.agent.modes.interactive.dialogs.picker import Picker
from zot.tui.sanitize import one_line
from zot.tui.widgets.select_list import Choice

if TYPE_CHECKING:
    from zot.agent.cli.flags import Flags
    from zot.agent.conversation import Conversation
    from zot.agent.extensions.loading.trust import Untrusted
    from zot.agent.modes.interactive.dialogs.dialog import Dialogs

TRUST, EDITING, SKIP = "trust", "editing", "skip"
_SHOWN = 6


async def ask_about_trust(conversation: Conversation, flags: Flags, dialogs: Dialogs) -> bool:
    """Ask if there is something to ask; whether something may run now that could not before."""
    host = conversation.extensions
    if host is None or flags.no_ext or flags.trust_project:
        return False
    from zot.agent.extensions.loading.trust import undecided

    found = undecided(Path(conversation.present.directory), host.trust)
    answer = await dialogs.ask(TrustDialog(found)) if found else None
    for extension in found:
        if answer == TRUST:
            host.trust.trust(extension.directory)
        elif answer == EDITING:
            host.trust.while_editing(extension.directory)
    return answer in (TRUST, EDITING)


class TrustDialog(Picker):
    """Ends with ``trust``, ``editing`` or ``skip``; closing it skips, which is also what is selected."""

    def __init__(self, found: Sequence[Untrusted]) -> None:
        again = any(extension.changes for extension in found)
        many, want = ("these extensions", "want") if len(found) > 1 else ("this extension", "wants")
        above = ["They are programs that run as you. Look at the files before you trust them.", ""]
        for extension in found:
            above += _described(extension)
        rows = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "trust them as they are now", "until a file changes"),
        ]
        if again:
            rows.append(Choice(EDITING, "trust this directory while I edit (this run)", "nothing is stored"))
        word = "changed since you trusted" if again else f"{want} to run"
        super().__init__(f"this project: {many} {word}", rows, filterable=False, above=above)


def _described(extension: Untrusted) -> list[str]:
    command = " ".join([extension.exec, *extension.args])
    guard = " (a guard)" if extension.guard else ""
    lines = [f"{one_line(extension.name)}{guard}: {one_line(command)}"]
    notes = extension.changes or [", ".join(extension.files[:_SHOWN])]
    lines += [f"  {one_line(note)}" for note in notes[:_SHOWN]]
    if (more := len(extension.changes or extension.files) - _SHOWN) > 0:
        lines.append(f"  and {more} more")
    return lines
