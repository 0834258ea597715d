"""Errors as data and back: what the loop did with one in a recorded run depends on its class and its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zot import errors
from zot.errors import ProviderError, ZotError

_PROVIDER_FIELDS = ("provider", "status", "code", "body", "retryable")


def fields_of(error: BaseException) -> dict[str, Any]:
    """Its class by name, its text, and what somebody may branch on."""
    fields: dict[str, Any] = {"kind": type(error).__name__, "text": str(error)}
    if isinstance(error, ProviderError):
        return fields | {name: getattr(error, name) for name in _PROVIDER_FIELDS}
    if isinstance(error, OSError):
        return fields | {
            "errno": error.errno,
            "strerror": error.strerror,
            "filename": None if error.filename is None else str(error.filename),
        }
    return fields


def error_of(fields: Mapping[str, Any]) -> Exception:
    """An error of the same class, or of one with the same name where it is not zot's own."""
    kind, text = str(fields.get("kind", "")), str(fields.get("text", ""))
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, ProviderError):
        return known(text, **{name: fields[name] for name in _PROVIDER_FIELDS if name in fields})
    if isinstance(known, type) and issubclass(known, ZotError):
        return known(text)
    if fields.get("errno"):
        return OSError(fields["errno"], fields.get("strerror"), fields.get("filename"))
    return type(kind or "Exception", (Exception,), {})(text)
