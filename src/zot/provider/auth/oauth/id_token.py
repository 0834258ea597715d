"""What an id token says. It came straight from the token endpoint over TLS, so its signature adds nothing
(OpenID Connect Core, 3.1.3.7); whether it was made for this client, this login and this user is checked."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from zot.errors import LoginFailed

_LEEWAY_S = 600
_SOMEBODY_ELSES = "the server answered with an id token that is not for this login"


def claims_of(id_token: str) -> dict[str, Any]:
    """The claims; empty when it is not a JWT."""
    parts = id_token.split(".")
    if len(parts) != 3:
        return {}
    body = parts[1].rstrip("=").replace("+", "-").replace("/", "_")
    try:
        claims: Any = msgspec.json.decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", claims) if isinstance(claims, dict) else {}


def account_id(claims: Mapping[str, Any], path: Sequence[str]) -> str:
    """The claim at ``path``; empty when there is none that is text."""
    value: Any = claims
    for name in path:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value if path and isinstance(value, str) else ""


def account_name(id_token: str) -> str:
    """How a person would call the account: for lists, never for requests."""
    claims = claims_of(id_token)
    names = (claims.get(name) for name in ("email", "preferred_username", "name", "sub"))
    return next((name for name in names if isinstance(name, str) and name.isprintable()), "")[:100]


def check_claims(
    claims: Mapping[str, Any], *, client_id: str, issuer: str = "", nonce: str = "", now: float, before: str = ""
) -> None:
    """LoginFailed for an id token made for another client, login or time, or by somebody else. ``before`` is the id
    token of the login that was refreshed: its user must not change."""
    audience: Any = claims.get("aud")
    audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: it is meant for another client")
    if len(audiences) > 1 and claims.get("azp", client_id) != client_id:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: another client asked for it")
    if issuer and str(claims.get("iss", "")).rstrip("/") != issuer.rstrip("/"):
        raise LoginFailed(f"{_SOMEBODY_ELSES}: another issuer made it")
    if nonce and claims.get("nonce") != nonce:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: its nonce is another one")
    if isinstance(expiry := claims.get("exp"), int | float) and expiry + _LEEWAY_S < now:
        raise LoginFailed(f"{_SOMEBODY_ELSES}: it has expired")
    user = claims_of(before).get("sub") if before else None
    if user is not None and claims.get("sub") not in (None, user):
        raise LoginFailed(f"{_SOMEBODY_ELSES}: it names another user")
