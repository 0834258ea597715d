"""``zot auth login`` and ``zot auth test``: log in by key, browser page or OAuth; test a login.

Only credentials that the provider accepted are stored.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

from zot.agent.tools.workspace import Workspace
from zot.cli.arguments import ParsedArguments
from zot.cli.output import print_notice, print_result
from zot.cli.verbs.auth import AuthContext, warn_of_environment
from zot.errors import NotLoggedIn, ProviderError, UsageError, ZotError
from zot.features.login.browser import has_browser, open_in_browser
from zot.features.login.key_login import KeyRefused, endpoint_of_key, first_model, named_provider, place_of, try_key
from zot.features.login.page_server import LIFE_S
from zot.frontends.console import run_loop
from zot.provider.http.pool import HttpPool
from zot.provider.providers import Provider, credential_variables
from zot.system.password_prompt import LineReader, no_echo

if TYPE_CHECKING:
    from zot.provider.auth.oauth.settings import OAuthSettings
    from zot.provider.auth.oauth.token_endpoint import LoginProgress

Way = Literal["stdin", "key", "page", "browser", "device"]

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def log_in(context: AuthContext, arguments: ParsedArguments) -> int:
    provider = named_provider(context.catalog, arguments.words[0])
    login = _Login(context, provider, arguments.values.get("--account", ""), arguments.seconds("--timeout", LIFE_S))
    way = _way(arguments, provider)
    try:
        return run_loop(login.run(way))
    except asyncio.CancelledError:
        return 143
    except TimeoutError:
        raise ZotError(f"login timed out after {login.wait_s:g} s; no credential was saved") from None


def _way(arguments: ParsedArguments, provider: Provider) -> Way:
    """The requested login method; by default OAuth if a client is configured, else a key. Where both are offered to
    everyone, the user chooses."""
    typed = [name for name in ("--key", "--key-stdin", "--browser", "--device") if arguments.has(name)]
    if len(typed) > 1:
        raise UsageError(f"{' and '.join(typed)}: use only one of these flags")
    oauth, has_client = provider.oauth, provider.has_subscription_login
    if provider.login_note and typed != ["--key-stdin"] and (provider.key_login or not has_client):
        print_notice(provider.login_note)
    if not provider.key_login and not has_client:
        raise UsageError(_NEEDS_CLIENT.format(name=provider.name, id=provider.id))
    if not provider.key_login and typed in (["--key"], ["--key-stdin"]):
        raise UsageError(f"{provider.name} has no API keys; use --browser or --device")
    if typed == ["--key-stdin"]:
        return "stdin"
    if typed == ["--key"]:
        return "key"
    if typed == ["--device"]:
        _require_client(oauth, device=True)
        return "device"
    if typed == ["--browser"]:
        return "browser" if has_client and oauth is not None and oauth.has_browser_login else "page"
    if oauth is not None and has_client and oauth.registration_client:
        return _chosen_way(provider)
    if oauth is not None and has_client:
        visible = has_browser(os.environ) and oauth.has_browser_login
        return "browser" if visible or not oauth.has_device_login else "device"
    if not _has_terminal():
        raise UsageError("no terminal to ask for the key; pass --key-stdin or --browser")
    return "key"


_NEEDS_CLIENT = (
    "{name} requires an OAuth client id of your own: add "
    '{{"providers": {{"{id}": {{"oauth": {{"client_id": "…"}}}}}}}} to models.json (`zot docs logging-in`)'
)


def _chosen_way(provider: Provider) -> Way:
    """Ask for the method, for a provider with keys and with plans."""
    if not _has_terminal():
        raise UsageError("no terminal to ask for the method; pass --browser for your plan, or --key-stdin for a key")
    print_notice(f"Log in to {provider.name} with:")
    print_notice("  1  your plan (ChatGPT), in the browser" if provider.id == "openai" else "  1  your plan")
    print_notice("  2  an API key")
    while True:
        print_notice("Enter 1 or 2 (default: 1):")
        typed = sys.stdin.readline()
        if not typed:
            raise UsageError("no method entered; no credential was saved")
        match typed.strip().lower():
            case "" | "1" | "plan" | "browser":
                return "browser"
            case "2" | "key":
                return "key"
            case _:
                continue


def _has_terminal() -> bool:
    return os.isatty(0)


def _require_client(oauth: OAuthSettings | None, *, device: bool = False) -> None:
    if oauth is not None and device and oauth.registration_client and not oauth.device_url:
        raise UsageError("this plan has no device-code login; use --browser and paste the address of the last page")
    if oauth is None or (device and not oauth.has_device_login):
        raise UsageError("this provider has no device-code login; use --browser or a key")
    if not (oauth.can_name_client or oauth.issuer):
        raise UsageError(
            'this login requires your own client id: add "oauth": {"client_id": "…"} to the '
            "provider's entry in models.json (`zot docs logging-in`), or log in with a key"
        )


class _Login:
    """One login, with any method."""

    def __init__(self, context: AuthContext, provider: Provider, account: str, wait_s: float) -> None:
        self.context = context
        self.provider = provider
        self.account = account
        self.wait_s = wait_s
        self._uses_plan = False

    async def run(self, way: Way) -> int:
        me, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert me is not None
        for number in _ENDING:  # restore the terminal
            loop.add_signal_handler(number, me.cancel)
        async with asyncio.timeout(None if way == "stdin" else self.wait_s), _pool(self.context) as pool:
            self.pool = pool
            if way == "stdin":
                if _has_terminal():
                    with no_echo(0):
                        print_notice(f"Paste the key for {self.provider.name} here and press Enter; it is not shown.")
                        key = await LineReader(0).next()
                else:
                    key = await LineReader(0).next()
                if not key:
                    raise ZotError("no key on stdin; no credential was saved")
                try:
                    await self._accept(key)
                except KeyRefused as error:
                    raise ZotError(f"no credential was saved: {error}") from error
            elif way in ("key", "page"):
                await self._by_key(page=way == "page" or has_browser(os.environ))
            else:
                await self._by_oauth(device=way == "device")
        name = f"{self.provider.name} ({self.account})" if self.account else self.provider.name
        print_result(f"logged in to {name}; stored {place_of(self.context.store)}")
        if self._uses_plan:
            print_notice(f"zot uses your plan now; see what is left at {self.provider.usage_url}")
        warn_of_environment(self.context, self.provider.id)
        return 0

    # --- a key

    async def _by_key(self, *, page: bool) -> None:
        if not page:
            await self._typed_until_taken("")
            return
        from zot.features.login.page_server import KeyForm, PageServer

        form = KeyForm(
            self.provider.id,
            self.provider.name,
            account=self.account,
            place=place_of(self.context.store),
            keys_url=self.provider.keys_url,
        )
        async with PageServer(form, self._accept) as server:
            self._open(server.url)
            if not _has_terminal():
                print_notice("Open this address in a browser on this machine:")
                print_notice(server.url)
                await server.taken
                return
            await _first(server.taken, self._typed_until_taken(server.url))

    async def _typed_until_taken(self, url: str) -> None:
        lines = LineReader(0)
        with no_echo(0):  # before the question, so that text pasted at once is not shown
            if url:
                print_notice(f"A page for the key is open in your browser: {url}")
            if self.provider.keys_url:
                print_notice(f"Create a key at {self.provider.keys_url}")
            also = "Or paste" if url else "Paste"
            print_notice(f"{also} the key for {self.provider.name} here and press Enter; it is not shown.")
            while True:
                typed = await lines.next()
                if typed is None:
                    raise ZotError("no key entered; no credential was saved")
                if not typed:
                    continue
                try:
                    print_notice(f"testing the key with {self.provider.name} …")
                    await self._accept(typed)
                    return
                except KeyRefused as error:
                    print_notice(f"no credential was saved: {error}")
                    print_notice("Paste another key, or press Ctrl+C to cancel.")

    async def _accept(self, key: str) -> None:
        """Test a key with the provider, then store it."""
        context, provider = self.context, self.provider
        model = first_model(context.catalog, provider)
        await try_key(
            self.pool, provider, endpoint_of_key(context.catalog, provider, model, key, values=context.settings.values)
        )
        await asyncio.to_thread(context.store.set_api_key, provider.id, key, self.account)

    # --- OAuth

    async def _by_oauth(self, *, device: bool) -> None:
        from zot.provider.auth.oauth.account_login import log_in

        settings = self.provider.oauth
        _require_client(settings, device=device)
        assert settings is not None
        lines = LineReader(0)

        async def pasted() -> str:
            typed = await lines.next()
            if typed is None:  # stdin is closed: the browser may still answer
                await asyncio.Future[None]()
            return typed or ""

        token = await log_in(
            self.context.store,
            self.provider,
            settings,
            account=self.account,
            device=device,
            on_progress=self._on_progress,
            pasted=pasted if _has_terminal() and not device else None,
            pool=self.pool,
        )
        self._uses_plan = bool(settings.required_scope)
        await asyncio.to_thread(self.context.store.set_oauth, self.provider.id, token, self.account)

    def _on_progress(self, step: LoginProgress) -> None:
        print_notice(step.text)
        if step.kind != "open":
            return
        print_notice(step.url)
        if step.user_code:
            print_notice(f"The code is {step.user_code}")
        if step.manual_url:
            print_notice(f"In a browser on another machine: {step.manual_url}")
        self._open(step.url)

    def _open(self, url: str) -> None:
        if has_browser(os.environ):
            providers = self.context.catalog.providers().values()
            workspace = Workspace(self.context.store.path.parent, credentials=credential_variables(providers))
            open_in_browser(url, workspace.free_environment())


async def _first(one: Awaitable[None], other: Awaitable[None]) -> None:
    """Wait for the first of two tasks, then cancel the other and restore its terminal."""
    tasks = [asyncio.ensure_future(one), asyncio.ensure_future(other)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _pool(context: AuthContext) -> AsyncGenerator[HttpPool]:
    pool = HttpPool(proxy=context.settings.values.http_proxy)
    try:
        yield pool
    finally:
        await pool.aclose()


# --- test


async def ask_provider(context: AuthContext, provider: Provider) -> int:
    """Return 0 if the provider accepts the credential of a run; otherwise raise its error message."""
    from zot.agent.endpoint import endpoint_for
    from zot.provider.auth.credential_lookup import find_credential
    from zot.provider.discovery import probe_key, refusal
    from zot.provider.model import Model

    values = context.settings.values
    if context.store.shape(provider.id).method == "oauth" and provider.oauth_row:
        from zot.provider.auth.oauth.refresh import fresh_token

        await fresh_token(context.store, provider, proxy=context.settings.values.http_proxy)
    credential = await asyncio.to_thread(
        find_credential, provider, context.store, os.environ, commands=values.api_key_command
    )
    if credential is None:
        raise NotLoggedIn(f"no credential for {provider.id}; run `zot auth login {provider.id}`")
    model = first_model(context.catalog, provider)
    known = context.catalog.find(model, provider.id) or Model(id=model, provider=provider.id)
    endpoint = endpoint_for(provider, known, credential, base_url="", insecure=False, values=values, environ=os.environ)
    used = next((login for login in context.logins() if login.provider == provider.id and login.in_use), None)
    what = f"the credential from {used.origin}" if used is not None else "the credential"
    what += f" ({used.account})" if used is not None and used.account not in ("", "default") else ""
    async with _pool(context) as pool:
        try:
            await probe_key(pool, provider, endpoint)
        except ProviderError as error:
            raise ZotError(f"{what}: {refusal(error)}") from error
    print_result(f"{provider.name} accepts {what}")
    return 0
