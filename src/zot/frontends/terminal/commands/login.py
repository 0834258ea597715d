"""``/login``: an API key, pasted here or on a page in the browser, or a subscription by OAuth.
A key is tested once and stored only if the provider accepts it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from zot.errors import NotThere, ZotError
from zot.features.login.key_login import (
    KeyRefused,
    endpoint_of_key,
    first_model,
    place_of,
    providers_with_logins,
    try_key,
)
from zot.features.login.login_list import KINDS, all_logins
from zot.frontends.terminal.commands.command_context import CommandContext
from zot.frontends.terminal.dialogs.dialog import Dialog, Dialogs
from zot.tui.keys import Key
from zot.tui.sanitize import one_line
from zot.tui.theme import Theme
from zot.tui.widgets import TextField
from zot.tui.width import wrap

if TYPE_CHECKING:
    from zot.agent.conversation import Conversation
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.frontends.terminal.dialogs.text_dialogs import TextPrompt
    from zot.provider.auth.auth_store import OAuthToken
    from zot.provider.auth.oauth.token_endpoint import LoginProgress
    from zot.provider.providers import Provider

_FIRST = ("anthropic", "openai", "kimi")


async def run(context: CommandContext, arguments: str, *, method: str = "") -> None:
    """``/login``, ``/login PROVIDER`` or ``/login PROVIDER ACCOUNT``.
    ``method`` is ``key`` or ``subscription`` if it was chosen before."""
    typed, _, account = arguments.partition(" ")
    source = context.conversation.catalog.source
    if source is not None and source.has_login(typed):  # a provider of an extension, which asks by itself
        await source.log_in(typed)
        context.status.ok(f"logged in to {typed}")
        return
    method, provider = await _what(context, typed, method)
    if provider is None:
        return
    name = account.strip() or await _account(context, provider)
    if name is None:
        return
    if name.startswith("use\n"):
        await _use(context, provider, name.removeprefix("use\n"))
    elif method == "subscription":
        from zot.features.login.browser import has_browser, open_in_browser
        from zot.provider.auth.oauth.account_login import log_in as log_in_to_account

        conversation = context.conversation
        settings = provider.oauth
        assert settings is not None
        visible = has_browser(os.environ)

        def open_page(url: str) -> None:
            if visible:
                open_in_browser(url, conversation.workspace.free_environment())

        device = settings.has_device_login and not (settings.has_browser_login and (visible or settings.authorize_url))
        token = await subscribe(
            context.dialogs,
            provider.name,
            lambda dialog: log_in_to_account(
                conversation.auth,
                provider,
                settings,
                account=name,
                device=device,
                on_progress=dialog.on_progress,
                pasted=None if device else dialog.pasted,
                pool=conversation.pool,
            ),
            open_page,
            context.ui.redraw,
        )
        if token is None:
            return
        await context.end_turn("/login")
        conversation.auth.set_oauth(provider.id, token, name)
        await _switch(context, provider, name)
    else:
        await log_in(context, provider, name)


async def log_in(context: CommandContext, provider: Provider, account: str = "") -> bool:
    """Ask for a key until one is accepted, here or on the page; true if one was."""
    asking = _KeyQuestion(context, provider, account)
    async with AsyncExitStack() as closing:
        url = await asking.open_page(closing)
        refused = await asking.run(url)
    if asking.stored:
        await _switch(context, provider, account)
    elif refused:
        context.status.error(refused)
    return asking.stored


# --- method, provider, account


async def _what(context: CommandContext, typed: str, chosen_method: str) -> tuple[str, Provider | None]:
    """The typed or chosen login: method first, then provider."""
    providers = providers_with_logins(context.conversation.catalog)
    if typed:
        from zot.features.login.key_login import named_provider

        try:
            provider = named_provider(context.conversation.catalog, typed)
        except NotThere as error:
            raise ZotError(str(error)) from error
        if not provider.has_subscription_login:
            if not provider.key_login:
                raise ZotError(f"{provider.name} requires an OAuth client id of your own; see `zot docs logging-in`")
            return "key", provider
        if provider.key_login and not chosen_method:
            method = await context.dialogs.ask(_method_picker({}, provider.name))
        else:
            method = chosen_method or "subscription"
        return method or "", provider if method else None
    conversation = context.conversation
    values = conversation.settings.values
    found = all_logins(conversation.catalog, conversation.auth, os.environ, values.api_key_command)
    known = {
        login.provider: (
            login.where
            if login.source == "env"
            else KINDS[login.kind] + (f" ({login.account})" if login.account not in ("", "default") else "")
        )
        for login in found
        if login.in_use
    }
    subscriptions = {name: provider for name, provider in providers.items() if provider.has_subscription_login}
    ask = subscriptions and not chosen_method
    method = await context.dialogs.ask(_method_picker(known)) if ask else chosen_method or "key"
    if method is None:
        return "", None
    providers = subscriptions if method == "subscription" else {n: p for n, p in providers.items() if p.key_login}
    chosen = await context.dialogs.ask(_provider_picker(known, providers))
    return (method, providers[chosen]) if chosen else ("", None)


async def _account(context: CommandContext, provider: Provider) -> str | None:
    """Empty for the active account, ``use\
    …`` for a stored one; None if closed. Asked only if an account is stored."""
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.frontends.terminal.dialogs.text_dialogs import TextPrompt
    from zot.tui.widgets import Choice

    store = context.conversation.auth
    stored, active = store.accounts(provider.id), store.active(provider.id)
    if not stored:
        return ""
    rows = [Choice(f"use\n{name}", f"use {name}", "stored") for name in stored if name != active]
    again = Choice("again", "log in again" if active == "default" else f"log in to {active} again", "replaces it")
    rows = [again, *rows, Choice("new", "add an account", "keeps the others")]
    chosen = await context.dialogs.ask(Picker(f"{provider.name}: you are logged in", rows, filterable=False))
    if chosen == "new":
        return await context.dialogs.ask(TextPrompt("a name for the account", above=["work, home, …"]))
    return "" if chosen == "again" else chosen


async def _use(context: CommandContext, provider: Provider, account: str) -> None:
    await context.end_turn("/login")
    context.conversation.auth.use(provider.id, account)
    await _switch(context, provider, account)


def _method_picker(known: dict[str, str], name: str = "the provider") -> Picker:
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.tui.widgets import Choice

    rows = [
        Choice("key", "API key", "paste it here, or on a page in the browser"),
        Choice("subscription", "subscription", f"your plan, on {name}'s page in the browser"),
    ]
    above = [f"{'✓' if name in known else '–'} {name} {known.get(name, '')}".rstrip() for name in _FIRST]
    return Picker("log in with", rows, filterable=False, above=above if known else ())


def _provider_picker(known: dict[str, str], providers: dict[str, Provider]) -> Picker:
    from zot.frontends.terminal.dialogs.picker import Picker
    from zot.tui.widgets import Choice

    rows = [
        Choice(name, provider.name, f"logged in: {known[name]}" if name in known else "")
        for name, provider in providers.items()
    ]
    return Picker("log in to", rows)


# --- a key


class _KeyQuestion:
    """The dialog and the page, which wait for the same key."""

    def __init__(self, context: CommandContext, provider: Provider, account: str) -> None:
        self.context = context
        self.provider = provider
        self.account = account
        self.stored = False
        self._prompt: TextPrompt | None = None

    async def open_page(self, closing: AsyncExitStack) -> str:
        """The page's address, valid until ``closing`` ends; empty without a browser."""
        from zot.features.login.browser import has_browser

        if not has_browser(os.environ):
            return ""
        from zot.features.login.browser import open_in_browser
        from zot.features.login.page_server import KeyForm, PageServer

        provider, conversation = self.provider, self.context.conversation
        place = place_of(conversation.auth)
        form = KeyForm(provider.id, provider.name, account=self.account, place=place, keys_url=provider.keys_url)
        server = await closing.enter_async_context(PageServer(form, self._from_page))
        open_in_browser(server.url, conversation.workspace.free_environment())
        return server.url

    async def run(self, url: str) -> str:
        """Until a key is stored or the dialog is closed; shows why the last one was rejected."""
        key, refused = "", ""
        while typed := await self._ask(key, refused, url):
            try:
                self.context.status.ok(f"testing the key with {self.provider.name} …")
                await self._accept(typed)
                return ""
            except KeyRefused as error:
                key, refused = typed, f"nothing was saved: {error}"
                self.context.status.clear()
        return refused

    async def _ask(self, before: str, refused: str, url: str) -> str | None:
        """The dialog for a key; ``before`` is a rejected key to edit, which a paste replaces."""
        from zot.frontends.terminal.dialogs.text_dialogs import TextPrompt

        name = self.provider.name
        lines = [
            f"Paste the key for {name}. It is tested once and then stored {place_of(self.context.conversation.auth)}."
        ]
        if self.provider.login_note:
            lines.insert(0, self.provider.login_note)
        if refused:
            lines = [f"{refused}. Edit the key below, or paste another one."]
        if url:
            lines.append(f"Or use the page in your browser: {url}")
        self._prompt = TextPrompt(f"API key for {name}", text=before, masked=True, above=lines, paste_replaces=True)
        return await self.context.dialogs.ask(self._prompt)

    async def _from_page(self, key: str) -> None:
        await self._accept(key)
        if self._prompt is not None:
            self._prompt.finish(None)

    async def _accept(self, key: str) -> None:
        """KeyRefused for a rejected key; nothing is stored then."""
        context, provider = self.context, self.provider
        conversation = context.conversation
        model = _model(conversation, provider)
        query = conversation.launch.query(provider.id, model)
        endpoint = endpoint_of_key(
            conversation.catalog,
            provider,
            model,
            key,
            values=conversation.settings.values,
            base_url=query.base_url,
            insecure=query.insecure,
        )
        await try_key(conversation.pool, provider, endpoint)
        await context.end_turn("/login")
        conversation.auth.set_api_key(provider.id, key, self.account)
        self.stored = True


def _model(conversation: Conversation, provider: Provider) -> str:
    same = provider.id == conversation.snapshot.provider
    return conversation.model.id if same else first_model(conversation.catalog, provider)


async def _switch(context: CommandContext, provider: Provider, account: str) -> None:
    """Continue with the stored or chosen credential."""
    from zot.frontends.terminal.commands.model import use_model

    conversation = context.conversation
    conversation.launch.forget_key(provider.id)
    name = f"{provider.name} ({account})" if account else provider.name
    model = _model(conversation, provider)
    if not model:
        context.status.ok(f"logged in to {name}; choose a model with /model")
        return
    await use_model(context, provider.id, model)
    context.status.ok(f"logged in to {name}: {conversation.model.id}")


# --- a subscription


# The OAuth dialog: address, code to compare or type, and a field for the answer if the browser is on another machine.
# Closing it ends the login; later answers are ignored.


async def subscribe(
    dialogs: Dialogs,
    name: str,
    log_in: Callable[[SubscriptionDialog], Awaitable[OAuthToken]],
    open_page: Callable[[str], None],
    redraw: Callable[[], None],
) -> OAuthToken | None:
    """The token, or None if the dialog was closed; ZotError if the server refused."""
    dialog = SubscriptionDialog(f"log in to {name}", open_page, redraw)
    async with asyncio.TaskGroup() as group:
        work = group.create_task(_run(dialog, log_in))
        await dialogs.ask(dialog)
        work.cancel()
    if dialog.failed is not None:
        raise ZotError(f"nothing was saved: {dialog.failed}")
    return dialog.token


async def _run(dialog: SubscriptionDialog, log_in: Callable[[SubscriptionDialog], Awaitable[OAuthToken]]) -> None:
    try:
        dialog.token = await log_in(dialog)
    except ZotError as error:
        dialog.failed = error
    dialog.finish(True)


class SubscriptionDialog(Dialog[bool]):
    """``tell`` and ``pasted`` are passed to the login; ``token`` or ``failed`` is its result."""

    def __init__(self, title: str, open_page: Callable[[str], None], redraw: Callable[[], None]) -> None:
        super().__init__()
        self.title = title
        self.hint = "esc ends the login"
        self.token: OAuthToken | None = None
        self.failed: ZotError | None = None
        self._open_page = open_page
        self._redraw = redraw
        self._opened: LoginProgress | None = None
        self._progress_text = "starting …"
        self._field = TextField("")
        self._pasted: asyncio.Queue[str] = asyncio.Queue()

    def on_progress(self, step: LoginProgress) -> None:
        if step.kind == "open":
            self._opened = step
            self._open_page(step.url)
        self._progress_text = step.text
        self._redraw()

    async def pasted(self) -> str:
        return await self._pasted.get()

    @property
    def _may_paste(self) -> bool:
        return self._opened is not None and self._opened.may_paste

    def rows(self, theme: Theme, width: int, height: int) -> list[str]:
        rows = [theme.paint("fg", row) for line in self._lines() for row in wrap(f"  {line}", width, "  ")]
        self.cursor = None
        if not self._may_paste:
            return rows[:height]
        rows = rows[: max(height - 1, 0)]
        line, column = self._field.line(theme, max(width - 4, 1))
        self.cursor = (len(rows), column + 4)
        return [*rows, f"  {theme.paint('prompt', '›')} {line}"]

    def _lines(self) -> list[str]:
        step = self._opened
        if step is None:
            return [one_line(self._progress_text)]
        lines = [one_line(self._progress_text), one_line(step.url)]
        if step.user_code:
            lines.append(f"The code is {one_line(step.user_code)}")
        if step.manual_url:
            lines.append(f"In a browser on another machine: {one_line(step.manual_url)}")
        if step.may_paste:
            lines.append("No browser here? Paste the address of the last page, or the code it shows.")
        return lines

    def key(self, key: Key) -> bool:
        if not self._may_paste:
            return False
        if key.name == "enter":
            if typed := self._field.text.strip():
                self._pasted.put_nowait(typed)
                self._field = TextField("")
            return True
        return self._field.key(key)
