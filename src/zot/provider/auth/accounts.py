"""Where an account stands in ``auth.json``: the active one of a provider at the place the reference knows, every other
one under ``accounts``. No secret is written twice, so nothing can be renewed in one place and stale in the other.

::

    {"anthropic": {…work…}, "accounts": {"anthropic": {"active": "work", "others": {"home": {…}}}}}

Functions on the decoded file; whoever calls them holds the lock. ``default`` is the account nobody named.
"""

from __future__ import annotations

import re
from typing import Any, cast

from zot.errors import UsageError

FIRST = ("anthropic", "openai", "kimi")
MORE = "additional_api_key_creds"
DEFAULT = "default"

_ACCOUNTS = "accounts"


def checked_name(name: str) -> str:
    """UsageError for a name that could be taken for something else."""
    if not re.fullmatch(r"\w[\w.@+-]{0,63}", name):
        raise UsageError(f'account "{name}": a name has letters, digits and . @ + - _, and at most 64 of them')
    return name


def providers(raw: dict[str, Any]) -> list[str]:
    """Everybody the file may know something about."""
    return list(dict.fromkeys((*FIRST, *as_object(raw.get(MORE)), *as_object(raw.get(_ACCOUNTS)))))


def active_name(raw: dict[str, Any], provider: str) -> str:
    name = _book(raw, provider).get("active")
    return name if isinstance(name, str) and name else DEFAULT


def others(raw: dict[str, Any], provider: str) -> dict[str, Any]:
    """What is stored beside the active account, by name."""
    return as_object(_book(raw, provider).get("others"))


def read(raw: dict[str, Any], provider: str, account: str = "") -> Any:
    """An account's entry as it stands there, the active one's without a name; None when there is none."""
    if account and account != active_name(raw, provider):
        return others(raw, provider).get(account)
    return _section(raw, provider).get(provider)


def write(raw: dict[str, Any], provider: str, account: str, entry: dict[str, Any]) -> None:
    """Put an entry where the account stands; an empty one takes it away."""
    if account and account != active_name(raw, provider):
        beside = others(raw, provider)
        if entry:
            beside[account] = entry
        else:
            beside.pop(account, None)
        _keep_book(raw, provider, active_name(raw, provider), beside)
        return
    if provider not in FIRST:
        raw[MORE] = as_object(raw.get(MORE))
    section = _section(raw, provider)
    section[provider] = entry
    if not entry:
        _keep_book(raw, provider, DEFAULT, others(raw, provider))  # its name goes with it
        if provider not in FIRST:
            del section[provider]


def activate(raw: dict[str, Any], provider: str, account: str) -> None:
    """Make an account the active one; what was active stands beside it from now on."""
    before = active_name(raw, provider)
    if account == before:
        return
    beside = others(raw, provider)
    coming, going = as_object(beside.pop(account, None)), read(raw, provider)
    if going:
        beside[before] = going
    if provider not in FIRST:
        raw[MORE] = as_object(raw.get(MORE))
    _section(raw, provider)[provider] = coming
    _keep_book(raw, provider, account, beside)


def _keep_book(raw: dict[str, Any], provider: str, active: str, beside: dict[str, Any]) -> None:
    """Fields nobody knows are kept; a provider with one account nobody named needs no book."""
    book = {key: value for key, value in _book(raw, provider).items() if key not in ("active", "others")}
    if active != DEFAULT:
        book["active"] = active
    if beside:
        book["others"] = beside
    books = as_object(raw.get(_ACCOUNTS))
    if book:
        raw[_ACCOUNTS] = {**books, provider: book}
    elif provider in books:
        del books[provider]
        if not books:
            del raw[_ACCOUNTS]


def _book(raw: dict[str, Any], provider: str) -> dict[str, Any]:
    return as_object(as_object(raw.get(_ACCOUNTS)).get(provider))


def _section(raw: dict[str, Any], provider: str) -> dict[str, Any]:
    """The object that holds the provider's active entry."""
    return raw if provider in FIRST else as_object(raw.get(MORE))


def as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
