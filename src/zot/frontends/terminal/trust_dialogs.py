"""May this project's extensions run? One question for all of them that nobody decided about, with what changed; and one
about the user's own that ask for more than they were granted.

Everything the answer is about can be read: names, commands and files go through the door for text a person decides on.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zot.core.events import Diagnostic
from zot.errors import ConfigError, ExtensionError, in_words
from zot.features.extensions.loader.data_dir import LOCK
from zot.features.lookup import extension_host, hook_host, mcp_host
from zot.frontends.terminal.dialogs.detail_pane import Evidence
from zot.frontends.terminal.dialogs.dialog import Dialog
from zot.system.visible_text import has_hidden, spelled
from zot.tui.decision_text import folded, painted
from zot.tui.keys import Key
from zot.tui.theme import Theme
from zot.tui.widgets.select_list import Choice, SelectList

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.features.extensions.host import ExtensionHost
    from zot.features.extensions.loader.trust import Untrusted
    from zot.features.extensions.loader.widened import Widened
    from zot.features.hooks.config import Source
    from zot.features.mcp.config import Entry
    from zot.features.mcp.host import McpHost
    from zot.frontends.terminal.dialogs.dialog import Dialogs

TRUST, EDITING, SKIP = "trust", "editing", "skip"


async def ask_about_trust(conversation: Conversation, dialogs: Dialogs) -> bool:
    """Ask if there is something to ask; whether an extension may run now that could not before."""
    async with dialogs.about_trust:
        return await _ask_what_is_open(conversation, dialogs)


async def _ask_what_is_open(conversation: Conversation, dialogs: Dialogs) -> bool:
    servers, host, config = mcp_host(conversation), extension_host(conversation), conversation.services.config
    if servers is not None and servers.untrusted:
        await _ask_about_servers(servers, dialogs)
    if host is None or not config.installed_extensions:
        return False
    place = Path(conversation.present.directory)
    trusted = not config.trust_project and await _ask_about_project(host, place, dialogs)
    return await _ask_about_more(host, dialogs) or trusted


async def _ask_about_servers(host: McpHost, dialogs: Dialogs) -> None:
    """MCP servers of the project's files: the exact command of each is shown, and runs once it is trusted."""
    if await dialogs.ask(ServersDialog(list(host.untrusted.values()))) != TRUST:
        return
    for name in list(host.untrusted):
        try:
            host.trust(name)
        except (ConfigError, OSError) as error:
            host.note(f"{name} was not trusted: {in_words(error)}")


async def ask_about_hooks(conversation: Conversation, dialogs: Dialogs) -> None:
    """Ask about hooks nobody trusted as they are; those that are run from now on."""
    hooks = hook_host(conversation)
    if hooks is None or not hooks.untrusted:
        return
    from zot.features.trust import GuestTrust

    found = list(hooks.untrusted)
    content = [source.content() for source in found]
    if await dialogs.ask(HooksDialog(found)) != TRUST:
        return
    trust = GuestTrust(conversation.home)
    agreed: list[tuple[Source, bytes]] = []
    for source, seen in zip(found, content, strict=True):
        if source.content() != seen:
            conversation.emit(Diagnostic(f"hooks: {source.name} changed while you looked at it; it is not trusted"))
            continue
        hooks.adopt(source)  # before the answer is kept: a prompt that is sent meanwhile is theirs to guard, too
        agreed.append((source, seen))
    for source, seen in agreed:
        try:
            await asyncio.to_thread(trust.trust, source.project, "hooks", source.name, seen)
        except (ConfigError, OSError) as error:
            conversation.emit(Diagnostic(f"hooks: {source.name} runs now, and is asked about again: {in_words(error)}"))


async def _ask_about_project(host: ExtensionHost, place: Path, dialogs: Dialogs) -> bool:
    from zot.features.extensions.loader.trust import undecided

    found = await asyncio.to_thread(undecided, place, host.trust)
    answer = await dialogs.ask(TrustDialog(found)) if found else None
    for extension in found if answer in (TRUST, EDITING) else ():
        if extension.guard:  # a prompt may be sent before it runs, and while the others are stopped for that
            host.expect_guard(extension.directory)
    for extension in found:
        if answer == TRUST:  # what was shown, whatever lies there by now
            try:
                await asyncio.to_thread(host.trust.trust, extension.directory, extension.fingerprint)
            except (ExtensionError, OSError) as error:
                host.diagnostics.note(f"extension {extension.name} was not trusted: {in_words(error)}")
        elif answer == EDITING:
            host.trust.while_editing(extension.directory)
    return answer in (TRUST, EDITING)


async def _ask_about_more(host: ExtensionHost, dialogs: Dialogs) -> bool:
    if not (host.home / LOCK).exists():  # nothing was ever granted
        return False
    from zot.features.extensions.loader.widened import grant, widened

    found = await asyncio.to_thread(widened, host.home)
    answer = await dialogs.ask(MoreDialog(found)) if found else None
    for extension in found if answer == TRUST else ():
        if extension.guard:
            host.expect_guard(extension.directory)
        try:
            await asyncio.to_thread(grant, host.home, extension)
        except (ExtensionError, ConfigError, OSError) as error:
            host.diagnostics.note(f"extension {extension.name} was not granted more: {in_words(error)}")
    return answer == TRUST


class _Question(Dialog[str]):
    """What it is about above the answers, of which the first is selected; closing it is that one, too."""

    unasked = True
    takes_text = False
    hint = "enter picks · page up/down reads · esc closes"

    def __init__(self, title: str, warning: str, told: Sequence[str], choices: Sequence[Choice]) -> None:
        super().__init__()
        self.title = title
        self._answers = SelectList(choices, filterable=False)
        self._count = len(choices)
        hidden = any(map(has_hidden, told))
        self._evidence = Evidence(lambda theme, width: _rows(warning, told, theme, width), hidden=hidden)

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


class ServersDialog(_Question):
    """Ends with ``trust`` or ``skip``."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        told = [line for entry in entries for line in (f"{entry.name} ({entry.file})", f"    {entry.shown()}")]
        choices = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "trust them as they are now", "until an entry changes"),
        ]
        warning = "They run with your rights when the model uses them. What would run is said below."
        super().__init__("this project brings MCP servers: run them?", warning, told, choices)


class TrustDialog(_Question):
    """Ends with ``trust``, ``editing`` or ``skip``."""

    def __init__(self, found: Sequence[Untrusted]) -> None:
        again = any(extension.changes for extension in found)
        many, want = ("these extensions", "want") if len(found) > 1 else ("this extension", "wants")
        word = "changed since you trusted" if again else f"{want} to run"
        choices = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "trust them as they are now", "until a file changes"),
        ]
        if again:
            choices.append(Choice(EDITING, "trust this directory while I edit (this run)", "nothing is stored"))
        warning = "They are programs, held to what is said below. Look at the files before you trust them."
        told = [line for extension in found for line in _described(extension)]
        super().__init__(f"this project: {many} {word}", warning, told, choices)


class MoreDialog(_Question):
    """Ends with ``trust`` or ``skip``."""

    def __init__(self, found: Sequence[Widened]) -> None:
        many = "extensions of yours ask" if len(found) > 1 else "an extension of yours asks"
        choices = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "grant what they ask for", "until they ask for more"),
        ]
        warning = "Their manifests changed. Somebody or something wrote that; grant it if it was you."
        told = [line for extension in found for line in _asking(extension)]
        super().__init__(f"{many} for more than you granted", warning, told, choices)


class HooksDialog(_Question):
    """Ends with ``trust`` or ``skip``."""

    def __init__(self, found: Sequence[Source]) -> None:
        choices = [
            Choice(SKIP, "do not run them", "ask again next time"),
            Choice(TRUST, "trust them as they are now", "until a command or a script changes"),
        ]
        told: list[str] = []
        for source in found:
            told.append(f"{source.name} ({source.file})")
            told += [f"  {hook.shown()}" for hook in source.hooks]
            told += [f"  script {path}" for path in source.scripts()]
        warning = "They are commands that run as you, unasked, when the agent works. Read them before you trust them."
        super().__init__("hooks of Claude Code want to run", warning, told, choices)


def _rows(warning: str, told: Sequence[str], theme: Theme, width: int) -> list[str]:
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


def _asking(extension: Widened) -> list[str]:
    guard = " (a guard)" if extension.guard else ""
    command = shlex.join([extension.exec, *extension.args])
    lines = [f"{extension.name}{guard}: {command}", f"  in {extension.directory}"]
    lines += [f"  more than you granted before: it {line}" for line in extension.wider]
    return lines + [f"  it {line}" for line in extension.permissions if line not in extension.wider]
