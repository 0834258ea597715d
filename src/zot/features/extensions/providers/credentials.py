"""Credentials of a login with an extension's provider: kept in the credential store under provider and extension, so
that no other extension gets them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import AuthFailed
from zot.features.trust import project_key

if TYPE_CHECKING:
    from zot.features.extensions.loader.discovery import DiscoveredExtension
    from zot.provider.auth.auth_store import AuthStore

MOST_BYTES = 64 * 1024
_LEAST_SECRET = 8  # shorter values, such as "bearer", are no secrets
_MARGIN_S = 60


def credential_place(provider: str, entry: DiscoveredExtension) -> str:
    """Its key in ``auth.json``. A provider's id has no colon, so that no other pair has the same key."""
    if entry.scope == "global":
        return f"provider:{provider}:extension:{entry.manifest.name}"
    return f"provider:{provider}:directory:{project_key(entry.manifest.directory)}"


def load_credential(store: AuthStore, place: str) -> dict[str, Any] | None:
    text = store.entry(place).api_key
    if not text:
        return None
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def save_credential(store: AuthStore, place: str, credential: dict[str, Any]) -> None:
    store.set_api_key(place, msgspec.json.encode(credential).decode())


def checked_credential(provider: str, extension: str, value: Any) -> dict[str, Any]:
    """The result of ``provider.login`` or ``provider.renew``; AuthFailed without its content if it is none."""
    if not isinstance(value, dict) or not value or len(msgspec.json.encode(value)) > MOST_BYTES:
        text = f"{provider}: extension {extension} returned no credential; expected an object of at most 64 KiB"
        raise AuthFailed(text, provider=provider)
    return cast("dict[str, Any]", value)


def has_expired(credential: dict[str, Any]) -> bool:
    """True within a minute of ``expires``: RFC 3339, or seconds since 1970."""
    expires = credential.get("expires")
    if isinstance(expires, str) and expires:
        from datetime import datetime  # only for logins

        try:
            expires = datetime.fromisoformat(expires).timestamp()
        except (ValueError, OverflowError):
            return False
    if isinstance(expires, bool) or not isinstance(expires, (int, float)):
        return False
    return time.time() > expires - _MARGIN_S


def secret_texts(value: Any) -> list[str]:
    """Every text in a credential that is long enough to be a secret."""
    match value:
        case str():
            return [value] if len(value) >= _LEAST_SECRET else []
        case dict():
            return [text for item in cast("dict[str, Any]", value).values() for text in secret_texts(item)]
        case list():
            return [text for item in cast("list[Any]", value) for text in secret_texts(item)]
        case _:
            return []


def header_key(credential: dict[str, Any]) -> tuple[str, bool]:
    """The key for a provider that zot speaks to, and whether it is a bearer token."""
    for name, bearer in (("key", False), ("access_token", True)):
        value = credential.get(name)
        if isinstance(value, str) and value:
            return value, bearer
    return "", False
