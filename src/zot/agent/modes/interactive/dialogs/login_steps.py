"""The steps of a login that are choices: how, then with whom."""

from __future__ import annotations

import os

from zot.agent.modes.interactive.dialogs.picker import Picker
from zot.agent.runtime import Runtime
from zot.provider.providers import Provider
from zot.tui.widgets.select_list import Choice

_FIRST = ("anthropic", "openai", "kimi")
_METHODS = {"apikey": "API key", "oauth": "subscription"}


def with_keys(runtime: Runtime) -> dict[str, Provider]:
    """The providers that take a key, the best known first."""
    table = {name: p for name, p in runtime.catalog.providers().items() if p.needs_key and not p.rows_of}
    ordered = [name for name in _FIRST if name in table] + [name for name in table if name not in _FIRST]
    return {name: table[name] for name in ordered}


def logins(runtime: Runtime) -> dict[str, str]:
    """How each provider is logged in; providers without a login are left out."""
    found = {name: _METHODS.get(method, method) for name, method in runtime.auth.stored().items()}
    for name, provider in with_keys(runtime).items():
        if variable := next((variable for variable in provider.env if os.environ.get(variable)), ""):
            found[name] = variable
    return found


def method_picker(runtime: Runtime) -> Picker:
    rows = [
        Choice("key", "API key", "paste it here; it is tried once and stored"),
        Choice("subscription", "subscription", "in a browser; comes in a later version"),
    ]
    known = logins(runtime)
    above = [f"{'✓' if name in known else '–'} {name} {known.get(name, '')}".rstrip() for name in _FIRST]
    return Picker("log in with", rows, filterable=False, above=above if known else ())


def provider_picker(runtime: Runtime) -> Picker:
    known = logins(runtime)
    rows = [
        Choice(name, provider.name, f"logged in: {known[name]}" if name in known else "")
        for name, provider in with_keys(runtime).items()
    ]
    return Picker("log in to", rows)
