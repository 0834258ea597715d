"""``zot auth import``: copy API keys of other programs; lists by default, and copies only what the user names."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from zot.cli.arguments import ParsedArguments
from zot.cli.output import print_escaped, print_notice, print_result, read_answer
from zot.cli.verbs.auth import AuthContext
from zot.errors import ConfigError, NotThere, closest_match
from zot.features.login.credential_import import FoundCredential, find_credentials
from zot.frontends.console import run_loop
from zot.system.files import user_home


def import_credentials(context: AuthContext, arguments: ParsedArguments) -> int:
    problems: list[str] = []
    providers = context.catalog.providers()
    found = find_credentials(user_home(), Path.cwd(), os.environ, providers, problems)
    if arguments.has("--json"):
        print_escaped(json.dumps({"credentials": [_facts(context, row) for row in found], "problems": problems}))
        return 0
    for problem in problems:
        print_notice(f"zot: {problem}")
    if not found and arguments.words:
        _named(found, arguments.words[0])
    if not found:
        print_notice("no keys found in the files of Codex, pi, opencode, llm, aider and the shell")
        return 0
    chosen = _chosen(context, arguments, found)
    if not chosen:
        return 0
    if arguments.has("--dry-run"):
        for row in chosen:
            print_result(f"{row.id}: would be stored as {_target(context, row)}")
        return 0
    return run_loop(_copy(context, chosen, test=not arguments.has("--no-test")))


def _chosen(context: AuthContext, arguments: ParsedArguments, found: list[FoundCredential]) -> list[FoundCredential]:
    """What the user named, typed or meant by ``--all``; empty if only listed."""
    ready = [row for row in found if row.key and not row.of_project]
    if arguments.words:
        return [row for word in arguments.words for row in (_of_source(found, word) or [_named(found, word)])]
    if arguments.has("--all"):
        for row in found:
            if row.key and row.of_project:
                print_notice(f"zot: {row.id} is from a file of this directory; copy it by its name")
        return ready
    _list(context, found)
    choices = [row for row in found if row.key]
    if not choices or not (os.isatty(0) and sys.stderr.isatty()) or arguments.has("--dry-run"):
        if choices:
            print_notice("copy keys with `zot auth import NAME…`, or all of them with --all")
        return []
    while True:
        typed = read_answer("Copy which keys? Numbers, `all`, or Enter for none:").replace(",", " ").split()
        if typed in (["all"], ["a"]):
            return ready
        if all(word.isdecimal() and 0 < int(word) <= len(choices) for word in typed):
            return [choices[int(word) - 1] for word in dict.fromkeys(typed)]
        print_notice(f"expected numbers from 1 to {len(choices)}")


def _of_source(found: list[FoundCredential], word: str) -> list[FoundCredential]:
    """The keys of a whole program: ``zot auth import codex``."""
    return [row for row in found if row.source == word and row.key and not row.of_project]


def _named(found: list[FoundCredential], word: str) -> FoundCredential:
    row = next((row for row in found if row.id == word), None)
    if row is None:
        match = closest_match(word, [row.id for row in found])
        hint = f"; did you mean {match}?" if match else "; list them with `zot auth import`"
        raise NotThere(f'found no credential "{word}"{hint}')
    if not row.key:
        raise NotThere(f"{row.id}: {row.problem}{_instead(row)}")
    return row


def _instead(row: FoundCredential) -> str:
    return f"; log in with `zot auth login {row.provider}`" if row.is_login and row.provider else ""


def _list(context: AuthContext, found: list[FoundCredential]) -> None:
    """Keys with numbers, then what cannot be copied."""
    keys = [row for row in found if row.key]
    rows = [
        (str(number), row.id, row.provider, row.tail, _short(row.file), _note(context, row))
        for number, row in enumerate(keys, 1)
    ]
    rows = [("", "name", "provider", "key", "file", ""), *rows] if rows else []
    widths = [max(len(row[column]) for row in rows) for column in range(6)] if rows else []
    for row in rows:
        print_result("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    for row in found:
        if not row.key:
            print_notice(f"{row.id}: {row.problem}{_instead(row)}")


def _short(path: Path) -> str:
    home, shown = str(user_home()), str(path)
    return f"~{shown.removeprefix(home)}" if home != "/" and shown.startswith(f"{home}/") else shown


def _note(context: AuthContext, row: FoundCredential) -> str:
    if _is_stored(context, row):
        return "already stored"
    return "of this directory" if row.of_project else ""


def _is_stored(context: AuthContext, row: FoundCredential) -> bool:
    """Compared with the file only: a keyring may ask the user."""
    return bool(row.key) and any(entry.api_key == row.key for entry in context.store.accounts(row.provider).values())


def _facts(context: AuthContext, row: FoundCredential) -> dict[str, object]:
    facts: dict[str, object] = {"name": row.id, "provider": row.provider, "kind": "login" if row.is_login else "key"}
    facts |= {"file": str(row.file), "tail": row.tail, "can_copy": bool(row.key), "of_directory": row.of_project}
    return facts | {"stored": _is_stored(context, row), **({"problem": row.problem} if row.problem else {})}


def _account(context: AuthContext, row: FoundCredential) -> str:
    """Empty for the first credential of a provider; else an account named after the program."""
    return row.source if context.store.accounts(row.provider) else ""


def _target(context: AuthContext, row: FoundCredential) -> str:
    account = _account(context, row)
    return f"{row.provider} (account {account})" if account else row.provider


async def _copy(context: AuthContext, chosen: list[FoundCredential], *, test: bool) -> int:
    """Store the keys their providers accept; 1 if one was not stored."""
    failed = 0
    for row in chosen:
        if _is_stored(context, row):
            print_result(f"{row.id}: already stored for {row.provider}")
            continue
        try:
            if test:
                await _test(context, row)
            where = await asyncio.to_thread(_store, context, row)
        except ConfigError as error:
            failed = 1
            print_notice(f"zot: {row.id}: not copied: {error}")
            continue
        print_result(f"{row.id}: stored as {where}")
    return failed


async def _test(context: AuthContext, row: FoundCredential) -> None:
    """ConfigError with the provider's reason if it does not accept the key."""
    from zot.features.login.key_login import KeyRefused, endpoint_of_key, first_model, try_key
    from zot.provider.http.pool import HttpPool

    values = context.settings.values
    provider = context.catalog.providers()[row.provider]
    endpoint = endpoint_of_key(
        context.catalog, provider, first_model(context.catalog, provider), row.key, values=values
    )
    pool = HttpPool(proxy=values.http_proxy)
    try:
        await try_key(pool, provider, endpoint)
    except KeyRefused as error:
        raise ConfigError(f"{error}; skip the test with --no-test") from error
    finally:
        await pool.aclose()


def _store(context: AuthContext, row: FoundCredential) -> str:
    """The active account stays active."""
    store, account = context.store, _account(context, row)
    active = store.active(row.provider)
    store.set_api_key(row.provider, row.key, account)
    if not account:
        return row.provider
    store.use(row.provider, active)
    return f"{row.provider} (account {account}); switch to it with `zot auth use {row.provider} {account}`"
