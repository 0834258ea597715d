"""``zot auth …``: show logins, log in and out, test a provider. It never prints a secret."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from zot.agent.settings import Settings
from zot.cli.arguments import ParsedArguments, parse, verb_of
from zot.cli.output import print_escaped, print_notice, print_result
from zot.cli.verb_table import options
from zot.errors import NotThere, UsageError, ZotError, closest_match
from zot.features.login.key_login import named_provider
from zot.features.login.login_list import KINDS, LoginRow, all_logins
from zot.provider.auth.auth_store import AuthStore
from zot.provider.catalog import Catalog
from zot.system.files import zot_home

if TYPE_CHECKING:
    from zot.provider.providers import Provider


class AuthContext:
    """What every command works with."""

    def __init__(self) -> None:
        home = zot_home()
        self.settings = Settings(home)
        self.catalog = Catalog(home)
        self.store = AuthStore(home, keyring=self.settings.values.credential_store == "keyring")

    def logins(self) -> list[LoginRow]:
        return all_logins(self.catalog, self.store, os.environ, self.settings.values.api_key_command)

    def stored_or_known(self, typed: str) -> str:
        """The id of a provider something may be stored for: one that is gone from models.json, too."""
        stored = self.store.everything()
        if typed in stored:
            return typed
        try:
            return named_provider(self.catalog, typed).id
        except NotThere:
            if meant := closest_match(typed, stored):
                raise NotThere(f'nothing is stored for "{typed}"; did you mean {meant}?') from None
            raise


def run(argv: list[str]) -> int:
    """The exit status of ``zot auth ARGV``."""
    verb, rest = verb_of("auth", argv, _VERBS)
    command, words = _VERBS[verb]
    try:
        arguments = parse(rest, options(f"auth {verb}"), most=len(words))
        for place, word in enumerate(words):
            if arguments.word(place) is None:
                raise UsageError(f"{word} is missing")
        desk = AuthContext()
        try:
            return command(desk, arguments)
        finally:
            for notice in (*desk.settings.problems, *desk.catalog.problems, *desk.store.notices):
                print_notice(f"zot: {notice}")
    except NotThere:
        raise
    except UsageError as error:
        raise ZotError(f"{error}; see `zot auth {verb} --help`") from error


# --- what there is


def _list(desk: AuthContext, arguments: ParsedArguments) -> int:
    logins = desk.logins()
    if arguments.has("--json"):
        print_escaped(json.dumps({"credentials": msgspec.to_builtins(logins)}))
        return 0
    if not logins:
        print_notice("nothing is stored, and no key is in the environment; `zot auth login PROVIDER` changes that")
        return 0
    rows = [("", "provider", "account", "kind", "from", "expires"), *(_row(login) for login in logins)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print_result("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _row(login: LoginRow) -> tuple[str, ...]:
    mark = "●" if login.in_use else " "
    ends = f"{login.expires} (expired)" if login.expired else login.expires
    return mark, login.provider, login.account or "–", KINDS[login.kind], login.origin, ends or "–"


# --- changing it


def _login(desk: AuthContext, arguments: ParsedArguments) -> int:
    from zot.cli.verbs.auth_login import log_in

    return log_in(desk, arguments)


def _logout(desk: AuthContext, arguments: ParsedArguments) -> int:
    typed, account = arguments.words[0], arguments.values.get("--account", "")
    stored = desk.store.everything()
    if typed == "all":
        if account:
            raise UsageError("--account goes with one provider, not with all")
        providers = list(stored)
        for provider in providers:
            for name in stored[provider]:
                _forget(desk, provider, name)
    else:
        providers = [desk.stored_or_known(typed)]
        account = account or (desk.store.active(providers[0]) if providers[0] in stored else "")
        if account:
            _forget(desk, providers[0], account)
    told = [f"logged out of {_named(provider, account)}" for provider in providers if provider in stored]
    for line in told or [f"nothing is stored{'' if typed == 'all' else f' for {providers[0]}'}"]:
        print_result(line)
    _tell_what_is_left(desk, providers if typed != "all" else [*desk.catalog.providers()])
    return 0


def _forget(desk: AuthContext, provider: str, account: str) -> None:
    """A login by OAuth is forgotten by its server, too, if that can be."""
    known = desk.catalog.providers().get(provider)
    if known is not None and desk.store.shape(provider, account).method == "oauth":
        from zot.frontends.console import run_loop
        from zot.provider.auth.oauth.token_endpoint import revoked

        if told := run_loop(revoked(desk.store, known, account=account)):
            print_notice(f"zot: {told}")
    desk.store.clear(provider, account)


def _named(provider: str, account: str) -> str:
    return f"{provider} ({account})" if account not in ("", "default") else provider


def _tell_what_is_left(desk: AuthContext, providers: list[str]) -> None:
    left = [login for login in desk.logins() if login.provider in providers]
    if names := [login.where for login in left if login.source == "env"]:
        supplies = "supplies" if len(names) == 1 else "supply"
        print_notice(f"zot: {', '.join(names)} in the environment still {supplies} a key")
    if commands := [f"{login.provider} ({login.where})" for login in left if login.source == "command"]:
        print_notice(f"zot: a key command is still configured for {', '.join(commands)}")
    for login in left:
        if login.source in ("file", "keyring") and not login.in_use:
            print_notice(
                f"zot: {login.account} is still stored; `zot auth use {login.provider} {login.account}` switches to it"
            )


def _use(desk: AuthContext, arguments: ParsedArguments) -> int:
    provider, account = desk.stored_or_known(arguments.words[0]), arguments.words[1]
    desk.store.use(provider, account)
    print_result(f"{provider}: {account} is in use now")
    tell_of_environment(desk, provider)
    return 0


def tell_of_environment(desk: AuthContext, provider: str) -> None:
    """What is stored is not what is used while a variable is set."""
    first = next((login for login in desk.logins() if login.provider == provider and login.in_use), None)
    if first is not None and first.source == "env":
        print_notice(f"zot: {first.where} in the environment comes first, as long as it is set")


# --- asking about it


def _test(desk: AuthContext, arguments: ParsedArguments) -> int:
    from zot.cli.verbs.auth_login import ask_provider
    from zot.frontends.console import run_loop

    provider: Provider = named_provider(desk.catalog, arguments.words[0])
    return run_loop(ask_provider(desk, provider))


_VERBS: dict[str, tuple[Callable[[AuthContext, ParsedArguments], int], tuple[str, ...]]] = {  # what it does, its words
    "list": (_list, ()),
    "login": (_login, ("PROVIDER",)),
    "logout": (_logout, ("PROVIDER",)),
    "test": (_test, ("PROVIDER",)),
    "use": (_use, ("PROVIDER", "ACCOUNT")),
}
