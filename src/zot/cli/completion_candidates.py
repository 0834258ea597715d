"""Completion candidates for shells, from the tables of flags and verbs and from local state.
Starts no program. Names from outside are offered only if a shell takes each of their characters literally."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from zot.cli import verb_table
from zot.cli.flags import FLAGS, OLDER_FLAGS, TOOL_NAMES

_SAFE = re.compile(r"[\w@%+=:,./-]+")
_ABOUT_MAX = 60


class Candidates(NamedTuple):
    """``kind`` is words, files or dirs: for the last two the shell completes paths itself."""

    kind: str
    typed: str
    rows: list[tuple[str, str]]


class _Switch(NamedTuple):
    value: bool
    kind: str | tuple[str, ...]
    about: str
    older: bool = False  # a former name: accepted, not offered


def complete(words: Sequence[str]) -> Candidates:
    """``words`` follow ``zot``; the last one may be incomplete."""
    *before, typed = words or [""]
    names = {length: " ".join(before[:length]) for length in (1, 2) if len(before) >= length}
    length = next((length for length in (2, 1) if length in names and verb_table.verb_of(names[length])), 0)
    path, rest = names.get(length), before[length:]
    if path is None or path == "rpc":
        return _offer(_flag_switches(), rest, typed, "" if path or before else "verbs", ())
    if children := verb_table.subcommands(path):
        rows = [(child.path.split()[-1], child.about) for child in children]
        listing = path if path in ("models", "serve") else f"{path} list"  # what the verb does alone
        default = _verb_switches(listing) if path in ("auth", "local", "mcp", "models", "serve", "sessions") else {}
        return _switches(default, typed) if typed.startswith("-") else _words(typed, rows)
    row = verb_table.verb_of(path)
    return _offer(_verb_switches(path), rest, typed, "kinds", row.kinds if row else ())


def _flag_switches() -> dict[str, _Switch]:
    return {
        name: _Switch(flag.read is not None, flag.kind, flag.help, flag in OLDER_FLAGS)
        for flag in (*FLAGS, *OLDER_FLAGS)
        for name in flag.names
    }


def _verb_switches(path: str) -> dict[str, _Switch]:
    row = verb_table.verb_of(path)
    rows = {
        name: _Switch(bool(switch.value), switch.kind, switch.about, name in switch.older)
        for switch in (row.switches if row else ())
        for name in (*switch.names, *switch.older)
    }
    return {**rows, "--help": _Switch(False, "", "show this page")}


def _offer(
    switches: dict[str, _Switch], rest: Sequence[str], typed: str, place: str, kinds: tuple[str | tuple[str, ...], ...]
) -> Candidates:
    """A value if a switch needs one, a switch after a dash, else the next word."""
    waiting, number, given = _walk(switches, rest)
    if waiting is not None:
        return _values(waiting.kind, typed, given)
    name, equals, value = typed.partition("=")
    if equals and name in switches:
        inner = _values(switches[name].kind, value, given)
        return Candidates(inner.kind, typed, [(f"{name}={word}", about) for word, about in inner.rows])
    if typed.startswith("-"):
        return _switches(switches, typed)
    if place == "verbs":
        found = _words(typed, [(verb.path, verb.about) for verb in verb_table.subcommands("")])
        return found if found.rows else Candidates("files", typed, [])
    if kinds:
        return _values(kinds[min(number, len(kinds) - 1)], typed, given)
    return Candidates("words" if place == "kinds" else "files", typed, [])  # a prompt may name files


def _walk(switches: dict[str, _Switch], rest: Sequence[str]) -> tuple[_Switch | None, int, dict[str, str]]:
    """The switch that needs a value, the number of words, and the values given."""
    number, given = 0, dict[str, str]()
    words = iter(rest)
    for word in words:
        name, equals, value = word.partition("=")
        switch = switches.get(name)
        if switch is None:
            number += not word.startswith("-")
        elif switch.value and not equals:
            taken = next(words, None)
            if taken is None:
                return switch, number, given
            given[name] = taken
        else:
            given[name] = value
    return None, number, given


def _switches(switches: dict[str, _Switch], typed: str) -> Candidates:
    return _words(typed, [(name, switch.about) for name, switch in switches.items() if not switch.older])


def _values(kind: str | tuple[str, ...], typed: str, given: dict[str, str]) -> Candidates:
    if kind in (verb_table.FILE, verb_table.DIR):
        return Candidates("files" if kind == verb_table.FILE else "dirs", typed, [])
    if kind == verb_table.TOOLS:
        head, comma, _ = typed.rpartition(",")
        taken = head.split(",")
        return _words(typed, [(f"{head}{comma}{name}", "") for name in TOOL_NAMES if name not in taken])
    if isinstance(kind, tuple):
        return _words(typed, [(choice, "") for choice in kind])
    return _words(typed, _here(kind, given))


def _words(typed: str, rows: Sequence[tuple[str, str]] | Iterator[tuple[str, str]]) -> Candidates:
    fitting = {word: _shown(about) for word, about in rows if word.startswith(typed) and _SAFE.fullmatch(word)}
    return Candidates("words", typed, list(fitting.items()))


def _shown(about: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in about)
    return plain if len(plain) <= _ABOUT_MAX else f"{plain[: _ABOUT_MAX - 1]}…"


# --- local state


def _here(kind: str, given: dict[str, str]) -> Iterator[tuple[str, str]]:
    from zot.system.files import zot_home

    home = zot_home()
    if kind in (verb_table.MODEL, verb_table.PROVIDER):
        yield from _catalog(home, kind, given.get("--provider", ""))
    elif kind == verb_table.SESSION:
        from zot import __version__
        from zot.core.session.store import SessionStore

        yield from (
            (found.id[:8], found.label)
            for found in SessionStore(home, Path(given.get("--cwd", ".")), __version__).summaries()
        )
    elif kind == verb_table.EXTENSION:
        from zot.features.extensions.install.installed import all_installed

        yield from ((item.name, item.manifest.description if item.manifest else "") for item in all_installed())
    elif kind == verb_table.ACCOUNT:
        yield from _accounts(home)
    elif kind == verb_table.INSTALLED:
        from zot.local_model.weights import installed

        yield from ((model.name, str(model.path)) for model in installed())
    elif kind == verb_table.TOPIC:
        from zot.frontends.docs_index import pages

        yield from ((page.topic, page.about) for page in pages())
    elif kind == verb_table.WORKER:
        from zot.swarm.worker_store import WorkerStore

        yield from ((name, w.spec.task) for w in WorkerStore(home).all() for name in (w.name, w.id))
    elif kind == verb_table.THEME:
        from zot.frontends.themes import Themes

        yield from ((choice.value, choice.description) for choice in Themes(home).choices())


def _accounts(home: Path) -> Iterator[tuple[str, str]]:
    from zot.errors import ConfigError
    from zot.provider.auth.auth_store import AuthStore

    try:
        stored = AuthStore(home).everything()
    except ConfigError:
        return
    yield from ((account, provider) for provider, accounts in stored.items() for account in accounts)


def _catalog(home: Path, kind: str, provider: str) -> Iterator[tuple[str, str]]:
    from zot.cli.list_models import listed_catalog

    catalog = listed_catalog(home)
    if kind == verb_table.PROVIDER:
        yield from ((found.id, found.name) for found in catalog.providers().values())
    else:
        rows = (row for row in catalog.rows() if provider in ("", row.provider))
        yield from ((row.id, f"{row.provider}: {row.name or row.id}") for row in rows)
