"""The page a browser sees after the login: one sentence, in the looks of every page of a login."""

from __future__ import annotations

from zot.provider.auth.local_page import sentence


def page(status: int, text: str) -> bytes:
    """The whole response; ``text`` may hold a server's words."""
    return sentence(status, "zot", text)
