"""``zot ext set``: shows and changes the settings of an extension, without starting it."""

from __future__ import annotations

import asyncio
import sys

from zot.agent.settings import Settings
from zot.cli.arguments import parse
from zot.cli.output import print_escaped, print_notice
from zot.cli.verb_table import options
from zot.errors import UsageError, ZotError
from zot.features.extensions.install.installed import find
from zot.features.extensions.loader.extension_settings import Declared, current_values, secret_place
from zot.provider.auth.auth_store import AuthStore
from zot.system.files import zot_home
from zot.system.password_prompt import LineReader, no_echo


def run(argv: list[str]) -> int:
    typed = parse(argv, options("ext set"), least=1, most=3, what="the name")
    item = find(typed.words[0], print_notice)
    declared = item.manifest.settings if item.manifest is not None else ()
    if not declared:
        print_notice(f"{item.name} has no settings")
        return 0
    if len(typed.words) == 1:
        _show(item.name, declared)
        return 0
    setting = next((each for each in declared if each.name == typed.words[1]), None)
    if setting is None:
        names = ", ".join(each.name for each in declared)
        raise UsageError(f"{item.name} has no setting {typed.words[1]!r}; it has: {names}")
    value = typed.words[2] if len(typed.words) == 3 else None
    if typed.has("--reset") and value is not None:
        raise UsageError("use a value or --reset, not both")
    if setting.secret:
        _set_secret(item.name, setting, value, reset=typed.has("--reset"))
    else:
        _set(item.name, setting, value, reset=typed.has("--reset"))
    return 0


def _show(name: str, declared: tuple[Declared, ...]) -> None:
    settings, store = Settings(zot_home()), AuthStore(zot_home())
    values = current_values(declared, settings.values.extensions.get(name, {}), print_notice)
    for setting in declared:
        if setting.secret:
            shown = "(set)" if store.shape(secret_place(name, setting.name)).method else "(not set)"
        else:
            shown = str(values.get(setting.name, "(not set)"))
        about = setting.description or setting.title
        print_escaped(f"{setting.name} = {shown}" + (f"  # {about}" if about else ""))


def _set(name: str, setting: Declared, value: str | None, *, reset: bool) -> None:
    if value is None and not reset:
        raise UsageError(f"{setting.name}: expected a value, or --reset for the default")
    settings = Settings(zot_home())
    stored = dict(settings.values.extensions)
    own = {key: kept for key, kept in stored.get(name, {}).items() if key != setting.name}
    if value is not None:
        own[setting.name] = setting.parse(value)
    stored[name] = own
    settings.save(extensions={name: kept for name, kept in stored.items() if kept} or None)
    print_notice(f"{name}: {setting.name} " + (f"is {own[setting.name]}" if value is not None else "has its default"))


def _set_secret(name: str, setting: Declared, value: str | None, *, reset: bool) -> None:
    """Never from the command line, which other programs and the shell's history read."""
    if value is not None:
        raise UsageError(f"{setting.name} is a secret: leave the value out and type it, or send it to standard input")
    store, place = AuthStore(zot_home()), secret_place(name, setting.name)
    if reset:
        store.clear(place)
        print_notice(f"{name}: {setting.name} was deleted")
        return
    typed = _typed_secret(f"{name}: {setting.name} (it is not shown): ")
    if not typed:
        raise ZotError(f"{setting.name}: nothing was typed; it is as before")
    if problem := setting.problem_of(typed):
        raise ZotError(f"{setting.name}: {problem}")
    store.set_api_key(place, typed)
    print_notice(f"{name}: {setting.name} is set")


def _typed_secret(question: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    with no_echo(0):
        print_notice(question)
        return asyncio.run(LineReader(0).next()) or ""
