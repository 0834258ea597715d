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
    """Services shared by all ``zot auth`` commands."""

    def __init__(self) -> None:
        home = zot_home()
        self.settings = Settings(home)
        self.catalog = Catalog(home)
        self.store = AuthStore(home, keyring=self.settings.values.credential_store == "keyring")

    def logins(self) -> list[LoginRow]:
        return all_logins(self.catalog, self.store, os.environ, self.settings.values.api_key_command)

    def stored_or_known(self, typed: str) -> str:
        """The id of a provider that may have a stored login, even if it is no longer in models.json."""
        stored = self.store.everything()
        if typed in stored:
            return typed
        try:
            return named_provider(self.catalog, typed).id
        except NotThere:
            if match := closest_match(typed, stored):
                raise NotThere(f'no login stored for "{typed}"; did you mean {match}?') from None
            raise


_MOST_NAMES = 100  # credentials of one `zot auth import`


def run(argv: list[str]) -> int:
    """Run ``zot auth ARGV`` and return its exit status."""
    verb, rest = verb_of("auth", argv, _VERBS)
    command, words = _VERBS[verb]
    try:
        arguments = parse(rest, options(f"auth {verb}"), most=_MOST_NAMES if verb == "import" else len(words))
        for place, word in enumerate(words):
            if arguments.word(place) is None:
                raise UsageError(f"{word} is missing")
        context = AuthContext()
        try:
            return command(context, arguments)
        finally:
            for notice in (*context.settings.problems, *context.catalog.problems, *context.store.notices):
                print_notice(f"zot: {notice}")
    except NotThere:
        raise
    except UsageError as error:
        raise ZotError(f"{error}; see `zot auth {verb} --help`") from error


# --- listing


def _list(context: AuthContext, arguments: ParsedArguments) -> int:
    logins = context.logins()
    if arguments.has("--json"):
        print_escaped(json.dumps({"credentials": msgspec.to_builtins(logins)}))
        return 0
    if not logins:
        print_notice("no credential stored or in the environment; run `zot auth login PROVIDER`")
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


# --- changing


def _login(context: AuthContext, arguments: ParsedArguments) -> int:
    from zot.cli.verbs.auth_login import log_in

    return log_in(context, arguments)


def _logout(context: AuthContext, arguments: ParsedArguments) -> int:
    typed, account = arguments.words[0], arguments.values.get("--account", "")
    stored = context.store.everything()
    if typed == "all":
        if account:
            raise UsageError("--account requires a single provider, not all")
        providers = list(stored)
        for provider in providers:
            for name in stored[provider]:
                _forget(context, provider, name)
    else:
        providers = [context.stored_or_known(typed)]
        account = account or (context.store.active(providers[0]) if providers[0] in stored else "")
        if account:
            _forget(context, providers[0], account)
    lines = [f"logged out of {_named(provider, account)}" for provider in providers if provider in stored]
    for line in lines or [f"no login stored{'' if typed == 'all' else f' for {providers[0]}'}"]:
        print_result(line)
    _report_remaining(context, providers if typed != "all" else [*context.catalog.providers()])
    return 0


def _forget(context: AuthContext, provider: str, account: str) -> None:
    """Also revoke an OAuth login at its server if possible."""
    known = context.catalog.providers().get(provider)
    if known is not None and context.store.shape(provider, account).method == "oauth":
        from zot.frontends.console import run_loop
        from zot.provider.auth.oauth.token_endpoint import revoked

        if notice := run_loop(revoked(context.store, known, account=account)):
            print_notice(f"zot: {notice}")
    context.store.clear(provider, account)


def _named(provider: str, account: str) -> str:
    return f"{provider} ({account})" if account not in ("", "default") else provider


def _report_remaining(context: AuthContext, providers: list[str]) -> None:
    left = [login for login in context.logins() if login.provider in providers]
    if names := [login.where for login in left if login.source == "env"]:
        supplies = "supplies" if len(names) == 1 else "supply"
        print_notice(f"zot: {', '.join(names)} in the environment still {supplies} a key")
    if commands := [f"{login.provider} ({login.where})" for login in left if login.source == "command"]:
        print_notice(f"zot: a key command is still configured for {', '.join(commands)}")
    for login in left:
        if login.source in ("file", "keyring") and not login.in_use:
            print_notice(
                f"zot: {login.account} is still stored; switch to it with `zot auth use {login.provider} "
                f"{login.account}`"
            )


def _use(context: AuthContext, arguments: ParsedArguments) -> int:
    provider, account = context.stored_or_known(arguments.words[0]), arguments.words[1]
    context.store.use(provider, account)
    print_result(f"{provider}: switched to account {account}")
    warn_of_environment(context, provider)
    return 0


def warn_of_environment(context: AuthContext, provider: str) -> None:
    """Warn if an environment variable takes precedence over the stored login."""
    first = next((login for login in context.logins() if login.provider == provider and login.in_use), None)
    if first is not None and first.source == "env":
        print_notice(f"zot: {first.where} is set in the environment and takes precedence")


# --- testing


def _test(context: AuthContext, arguments: ParsedArguments) -> int:
    from zot.cli.verbs.auth_login import ask_provider
    from zot.frontends.console import run_loop

    provider: Provider = named_provider(context.catalog, arguments.words[0])
    return run_loop(ask_provider(context, provider))


def _import(context: AuthContext, arguments: ParsedArguments) -> int:
    from zot.cli.verbs.auth_import import import_credentials

    return import_credentials(context, arguments)


_VERBS: dict[str, tuple[Callable[[AuthContext, ParsedArguments], int], tuple[str, ...]]] = {  # function, required words
    "import": (_import, ()),
    "list": (_list, ()),
    "login": (_login, ("PROVIDER",)),
    "logout": (_logout, ("PROVIDER",)),
    "test": (_test, ("PROVIDER",)),
    "use": (_use, ("PROVIDER", "ACCOUNT")),
}
