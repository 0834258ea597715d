"""Removes credentials from errors, because a server may echo them.
Every error of a request passes ``redact``; the module is imported with the first error."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from urllib.parse import quote, unquote

import msgspec

from zot.errors import BadRequest, ProviderError
from zot.provider.dialects.dialect import Endpoint
from zot.provider.http.route import basic_auth, parse_url

_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie", "password")
_SHORTEST = 8  # a shorter one is a placeholder, or not worth a mutilated message
_TELLING = 12  # this many consecutive characters of a secret count as a piece of it


def redact(error: ProviderError, endpoint: Endpoint) -> ProviderError:
    """The same error and its causes without the secrets of the endpoint."""
    secrets = secrets_of(endpoint)
    link: BaseException | None = error
    while link is not None:
        link.args = tuple(redact_text(arg, secrets) if isinstance(arg, str) else arg for arg in link.args)
        if isinstance(link, ProviderError):
            link.body, link.code = redact_text(link.body, secrets), redact_text(link.code, secrets)
        link = link.__cause__ or link.__context__
    return error


def secrets_of(endpoint: Endpoint) -> frozenset[str]:
    """All spellings a server may send back: plain, in an address, inside JSON."""
    sent = [endpoint.api_key]
    for name, value in endpoint.headers.items():
        if any(word in name.lower() for word in _SECRET_HEADERS):
            sent += [value.strip(), value.strip().rpartition(" ")[2]]  # `Bearer …`
    if userinfo := _userinfo(endpoint.base_url):
        sent += [unquote(userinfo.partition(":")[2]), basic_auth(userinfo).removeprefix("Basic ")]
    found = {secret for secret in sent if len(secret) >= _SHORTEST}
    encoded = {msgspec.json.encode(secret.encode("utf-8", "replace").decode()).decode()[1:-1] for secret in found}
    return frozenset(found | encoded | {quote(secret, safe="", errors="replace") for secret in found})


def _userinfo(base_url: str) -> str:
    try:
        return parse_url(base_url).userinfo
    except BadRequest:
        return ""


def redact_text(text: str, secrets: Collection[str]) -> str:
    """The text with every secret and every long piece of one replaced.
    All are searched in the original text, since pieces may overlap."""
    hidden = bytearray(len(text))
    for secret in secrets:
        size = min(len(secret), _TELLING)
        telling = {secret[i : i + size] for i in range(len(secret) - size + 1)}
        for at in range(len(text) - size + 1):
            if text[at : at + size] in telling:
                hidden[at : at + size] = b"\1" * size
    runs = groupby(range(len(text)), hidden.__getitem__)
    return "".join("***" if hide else "".join(text[at] for at in places) for hide, places in runs)
