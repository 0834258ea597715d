"""The questions at the start of a run, in order: trust, session, and login or local model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zot import __version__
from zot.errors import ZotError
from zot.features.trust_questions import ask_about_trust
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.dialogs.dialog import Dialog, Dialogs, titled_rule
from zot.frontends.terminal.dialogs.picker import Picker, YesNo
from zot.frontends.terminal.dialogs.text_dialogs import TextView
from zot.frontends.terminal.screen.ui_services import ScreenServices
from zot.frontends.update_check import UpdateCheck, dismissed, whats_new
from zot.tui import markdown
from zot.tui.keys import Key
from zot.tui.sanitize import one_line, sanitize
from zot.tui.theme import Theme
from zot.tui.widgets import Choice
from zot.tui.width import visible, wrap

if TYPE_CHECKING:
    from zot.local_model.selection import InstallOffer
    from zot.provider.discovery import LocalServer

LOGIN, PLAN, LATER, INSTALL = "login", "plan", "later", "install"
_MODELS = 5
_HINT = "enter picks · esc closes · or type a prompt: sent once there is a model"


async def ask_startup_questions(context: CommandContext, *, resume: bool, prompt: str = "") -> None:
    """``prompt`` of the command line is sent after the trust question.
    It is put into the editor if a session is to be chosen or no model is available."""
    conversation = context.conversation
    if prompt and (resume or conversation.unavailable_reason):
        context.editor.insert(prompt)
    if await ask_about_trust(conversation):
        from zot.frontends.terminal.commands.reload_ext import reload

        await reload(context)
    if prompt and not (resume or conversation.unavailable_reason):
        context.editor.submit_text(prompt)
    if resume:
        context.commands.run("/sessions")
    elif conversation.unavailable_reason:
        await _first_launch(context)
    elif conversation.resolved.undecided:
        await _choose_provider(context)
    elif conversation.settings.values.update_url:  # most users have no feed
        await show_whats_new(context)


async def _choose_provider(context: CommandContext) -> None:
    """Several providers have a credential and none was used before; closing the dialog continues with the first."""
    from zot.features.login.key_login import first_model
    from zot.frontends.terminal.commands.model import use_model

    conversation = context.conversation
    providers = conversation.catalog.providers()
    models = {id: first_model(conversation.catalog, providers[id]) for id in conversation.resolved.undecided}
    chosen = await context.dialogs.ask(
        ProviderPicker([(providers[id].name, id, model) for id, model in models.items()])
    )
    if chosen is not None:
        await use_model(context, chosen, models[chosen])


class ProviderPicker(Picker):
    """Ends with the id of a provider; letters go to the editor."""

    unasked = True
    takes_text = False

    def __init__(self, choices: Sequence[tuple[str, str, str]]) -> None:
        rows = [Choice(id, name, model) for name, id, model in choices]
        above = ["Several providers have a credential. /model changes the choice later."]
        super().__init__("which provider?", rows, filterable=False, above=above)


async def _first_launch(context: CommandContext) -> None:
    from zot.frontends.terminal.commands.model import use_model
    from zot.local_model.selection import offer
    from zot.provider.discovery import find_local_servers

    conversation = context.conversation
    providers = conversation.catalog.providers().values()
    servers = await find_local_servers(conversation.pool, providers=providers, environ=os.environ)
    embedded = offer()
    chosen = await _welcome(context, servers, embedded)
    if chosen in (LOGIN, PLAN):
        from zot.frontends.terminal.commands import login

        known = ("", "key") if chosen == LOGIN else ("openai", "subscription")
        try:
            await login.run(context, known[0], method=known[1])
        except ZotError as error:
            context.status.error(str(error))
    elif chosen == INSTALL:
        proxy = context.conversation.settings.values.http_proxy
        try:
            done = await install(context.dialogs, embedded, context.ui.redraw, proxy)
        except ZotError as error:
            context.status.error(f"{error}; use a key instead: /login")
            return
        if done:
            await use_model(context, "local", embedded.model)
    elif chosen not in (None, LATER):
        provider, _, model = chosen.partition("\n")
        await use_model(context, provider, model)


async def _welcome(context: CommandContext, servers: Sequence[LocalServer], embedded: InstallOffer) -> str | None:
    """The answer of the welcome dialog; a download is confirmed first. A typed prompt gives the dialog the focus."""
    while True:
        dialog = FirstLaunch(servers, embedded)
        dialog.chosen = context.turns.waits_for_model
        context.turns.on_waiting = lambda dialog=dialog: setattr(dialog, "chosen", True)
        chosen = await context.dialogs.ask(dialog)
        context.turns.on_waiting = lambda: None
        if chosen != INSTALL or await _agrees_to_download(context.dialogs, embedded):
            return chosen


async def _agrees_to_download(dialogs: Dialogs, embedded: InstallOffer) -> bool:
    from zot.local_model.memory import format_bytes

    size = format_bytes(embedded.download)
    question = f"zot downloads {embedded.title} ({size}) once. It then runs offline on this machine."
    if embedded.command:
        question += f"\nIt first runs: {embedded.command}"
    return await dialogs.ask(YesNo("install a small model", question, f"download {size}", "back")) == "yes"


class FirstLaunch(Picker):
    """Ends with ``login``, ``plan``, ``later``, ``install``, or a local provider and model joined by a newline.
    Letters go to the editor."""

    unasked = True
    takes_text = False

    def __init__(self, servers: Sequence[LocalServer], embedded: InstallOffer) -> None:
        rows = [
            Choice(
                f"{server.provider}\n{model}", f"use {one_line(model)}", f"{server.provider} on this machine, no key"
            )
            for server in servers
            for model in server.models[:_MODELS]
        ]
        if embedded.download:
            rows.append(Choice(INSTALL, "install a small model here", embedded.detail))
        else:
            rows.append(Choice(f"local\n{embedded.model}", f"use {one_line(embedded.title)}", embedded.detail))
        rows += [
            Choice(LOGIN, "log in with an API key", "Anthropic, OpenAI, Kimi and others"),
            Choice(PLAN, "use your ChatGPT plan", "log in on OpenAI's page in the browser"),
            Choice(LATER, "look around first", "/login when you are ready"),
        ]
        above = ["zot needs a model to talk to."]
        if not servers:
            above.append("No local server answered (ollama, LM Studio, llama.cpp, vLLM); start one and run /model.")
        super().__init__("welcome to zot", rows, filterable=False, above=above, hint=_HINT)


# The download of a local model, as a dialog. Closing it stops the download; the next one continues it.

_SHOWN = 6  # lines of what was done before
_BAR = 40


async def install(dialogs: Dialogs, offer: InstallOffer, redraw: Callable[[], None], proxy: str) -> bool:
    """Whether it can run now; False when the dialog was closed, ZotError when it could not be fetched."""
    from zot.local_model import selection

    dialog = InstallDialog(offer, redraw)

    async def work() -> None:
        try:
            await selection.install(
                offer, notify=dialog.show_line, complain=dialog.complain, show=dialog.show, proxy=proxy
            )
            dialog.finish(True)
        except ZotError as error:
            dialog.failed = error
            dialog.finish(False)

    async with asyncio.TaskGroup() as group:
        working = group.create_task(work())
        done = await dialogs.ask(dialog)
        working.cancel()
    if dialog.failed is not None:
        raise ZotError("; ".join([*dialog.complaints, str(dialog.failed)]))
    return bool(done)


class InstallDialog(Dialog[bool]):
    """``show_line`` and ``complain`` show lines, ``show`` the progress."""

    animated = True

    def __init__(self, offer: InstallOffer, redraw: Callable[[], None]) -> None:
        super().__init__()
        self.title = f"installing {offer.title}"
        self.hint = "esc stops; the next download continues"
        self.failed: ZotError | None = None
        self.complaints: list[str] = []
        self._draw, self._loop = redraw, asyncio.get_running_loop()
        self._lines: list[str] = []
        self._progress = ""

    def show_line(self, text: str) -> None:
        self._lines.append(one_line(text))
        self._redraw()

    def complain(self, text: str) -> None:
        self.complaints.append(one_line(text))
        self.show_line(text)

    def show(self, text: str) -> None:
        self._progress = text
        self._redraw()

    def _redraw(self) -> None:
        """Called from the thread that unpacks parts."""
        self._loop.call_soon_threadsafe(self._draw)

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("muted", row) for line in self._lines[-_SHOWN:] for row in wrap(f"  {line}", width, "  ")]
        progress = self._bar(theme, width) if self._progress else [theme.paint("fg", "  starting …")]
        return [*rows[-max(height - len(progress), 0) :], *progress][-height:]

    def _bar(self, theme: Theme, width: int) -> list[str]:
        share = int(self._progress.partition("%")[0]) / 100
        room = max(min(width - len(self._progress) - 6, _BAR), 0)
        full = int(room * share)
        bar = theme.paint("accent", "█" * full) + theme.paint("border", "░" * (room - full))
        return [
            f"  {bar} {theme.paint('fg', self._progress)}" if room >= 5 else theme.paint("fg", f"  {self._progress}")
        ]


# News after an upgrade, only with a configured release feed. Nothing waits for it, failures are silent, and it never
# takes keys the user is typing.

_ROWS = 18
_SCROLL = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})


async def show_whats_new(context: CommandContext) -> None:
    conversation, ui = context.conversation, context.ui
    check = UpdateCheck(conversation.home, __version__, conversation.settings.values.update_url)
    text, update = await asyncio.gather(
        whats_new(conversation.settings, __version__, conversation.pool), check.find(conversation.pool)
    )
    if update is not None:
        from zot.system.installation import installation  # only if the feed has a newer version

        theme, width = ui.theme, ui.columns
        lines = [
            f"  {one_line(update.latest)} is available; you have {__version__}",
            f"  {installation().advice}",
            *([f"  {one_line(update.url)}"] if update.url else []),
        ]
        rule = theme.paint("warning", "─" * max(width - 1, 1))
        ui.settled.add(
            [titled_rule(theme, "a new zot", width - 1), *(theme.paint("warning", line) for line in lines), rule]
        )
        ui.redraw()
    if text:
        busy = context.turns.busy or context.dialogs.top is not None
        if context.editor.empty and not busy and not context.transcript.anything:
            await context.dialogs.ask(ChangelogView(context.ui, text))
        else:
            feed = one_line(context.conversation.settings.values.update_url)
            context.transcript.add_note(f"updated to zot {__version__}; changes: {feed}")
        dismissed(context.conversation.settings, __version__)


class ChangelogView(TextView):
    """Changes of this version; any key that does not scroll closes it."""

    def __init__(self, ui: ScreenServices, text: str) -> None:
        plain = visible(sanitize(text))
        super().__init__(
            f"new in zot {__version__}", lambda theme, width: markdown.render(plain, ui.painter, width), most=_ROWS
        )

    def key(self, key: Key) -> bool:
        if key.name in _SCROLL:
            return super().key(key)
        self.finish(True)
        return True
