"""issue 34: the page on another machine: TLS, a certificate that the user accepts, a device that is revoked."""

from __future__ import annotations

import pytest

from tests.browser.conftest import DONE, Serve
from tests.browser.user import User

ADDRESS = "127.0.0.2"
TOUCH = {"text": "I touch it.", "tool_calls": [{"name": "bash", "args": {"command": "touch touched"}}]}


def _on_phone(user: User, address: str) -> None:
    """Opens the address of the QR code and accepts the certificate once."""
    user.size(360, 740, is_phone=True)
    user.page.call("Security.enable")
    user.page.call("Security.setIgnoreCertificateErrors", ignore=True)
    user.page.open(address)
    user.sees(".app, .pairing")


def test_phone_drives_over_tls_and_is_revoked(user: User, serve: Serve) -> None:
    server = serve("--host", ADDRESS, "--permission-mode", "ask", turns=[TOUCH, DONE])
    _on_phone(user, server.beyond)
    assert "token" not in user.evaluate("location.hash")
    user.click("#start")
    user.is_ready()
    user.prompt("go")
    user.sees(".request", "touch touched")
    user.click(".request button", "Allow once")
    user.is_done()
    assert (server.zot.project / "touched").exists()
    assert server.zot("serve", "revoke", "--all", model=False).code == 0
    user.sees("body", "revoked")
    status = user.evaluate("fetch('/conversations', {headers: {authorization: 'Bearer x'}}).then(each => each.status)")
    assert status == 401


def test_page_of_this_machine_cannot_use_the_network_address(user: User, serve: Serve) -> None:
    server = serve("--host", ADDRESS)
    user.page.call("Security.setIgnoreCertificateErrors", ignore=True)
    user.page.open(server.address)
    user.sees(".app, .pairing")
    with pytest.raises(AssertionError, match="Failed to fetch"):
        user.evaluate(f"fetch('https://{ADDRESS}:{server.port}/theme')")
    assert all("Content Security Policy" in each for each in user.faults())
    user.page.open("about:blank")
