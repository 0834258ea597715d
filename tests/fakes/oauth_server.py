"""A real OAuth server on loopback, built with Authlib, in a process of its own: nothing of it is zot's.

It verifies PKCE, rotates refresh tokens and revokes a whole family when one is used twice. ``OAuthServer`` starts it,
plays the user's browser, and turns its knobs over HTTP; ``state`` is what it has seen.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from zot.provider.auth.oauth.settings import OAuthSettings

CLIENT = "zot-test-client"


class OAuthServer:
    """The running server, and a user who accepts everything unless ``knobs`` are set."""

    def __init__(self, url: str) -> None:
        self.url = url

    def settings(self, **changes: Any) -> OAuthSettings:
        return OAuthSettings(**{"issuer": self.url, "client_id": CLIENT, **changes})

    def knobs(self, **changes: Any) -> dict[str, Any]:
        """Sets knobs and returns the server's state."""
        data = json.dumps(changes).encode()
        request = urllib.request.Request(f"{self.url}/_knobs", data, {"content-type": "application/json"})
        with _OPENER.open(request, timeout=30) as answer:
            return json.load(answer)

    @property
    def state(self) -> dict[str, Any]:
        return self.knobs()

    def requests(self, path: str) -> list[dict[str, Any]]:
        return [request for request in self.state["requests"] if request["path"] == path]

    def agree(self, url: str) -> str:
        """The redirect URL after the user answered the page at ``url``."""
        status, location, body = fetch(url)
        assert status == 302, f"{status}: {body}"
        return location

    def tokens(self) -> dict[str, Any]:
        """A login, by way of the code: an answer of the token endpoint."""
        from zot.provider.auth.oauth.browser_login import new_proofs

        proofs, redirect = new_proofs(), "http://127.0.0.1:1/callback"
        query = {
            "response_type": "code",
            "client_id": CLIENT,
            "redirect_uri": redirect,
            "scope": "openid",
            "code_challenge": proofs.challenge,
            "code_challenge_method": "S256",
            "state": "s",
        }
        returned = dict(parse_qsl(urlsplit(self.agree(f"{self.url}/authorize?{urlencode(query)}")).query))
        form = {
            "grant_type": "authorization_code",
            "code": returned["code"],
            "client_id": CLIENT,
            "redirect_uri": redirect,
            "code_verifier": proofs.verifier,
        }
        with _OPENER.open(f"{self.url}/token", urlencode(form).encode(), timeout=30) as answer:
            return json.load(answer)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())


def fetch(url: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
    """Status, location and body of a page, as a browser without patience gets them."""
    request = urllib.request.Request(url, method=method, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with _OPENER.open(request, timeout=30) as answer:
            return answer.status, answer.headers.get("location", ""), answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("location", ""), error.read().decode()


@contextmanager
def oauth_server() -> Iterator[OAuthServer]:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.oauth_authlib"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        assert url, "the OAuth server did not start"
        yield OAuthServer(url)
    finally:
        child.kill()
        child.communicate()
