"""What a login tells while it goes on, for whoever shows it: a dialog, ``zot auth``, an RPC client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from zot.provider.auth.auth_store import OAuthToken
from zot.provider.auth.oauth.token_endpoint import account_name


class LoginStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step. ``text`` is a sentence fit to show as it is; no step holds a secret.

    ``open``: show ``url`` and open it in a browser; ``user_code``, if any, is to be compared or typed there.
    ``waiting``: it takes longer, and why. ``notice``: something odd happened, and the login goes on.
    ``exchanging``: the user has agreed, the token is being fetched. ``done``: there is a token.
    """

    kind: Literal["open", "waiting", "notice", "exchanging", "done"]
    text: str
    url: str = ""
    manual_url: str = ""  # leads to a page that shows a code to paste, for browsers on another machine
    user_code: str = ""
    expires_in_s: float = 0
    may_paste: bool = False  # the redirect's address, or the code in it, is taken too


Tell = Callable[[LoginStep], None]
Pasted = Callable[[], Awaitable[str]]  # waits until somebody pasted something


def done(token: OAuthToken) -> LoginStep:
    """The last step, with who it is where the server told."""
    name = account_name(token.id_token)
    return LoginStep(kind="done", text=f"logged in as {name}" if name else "logged in")
