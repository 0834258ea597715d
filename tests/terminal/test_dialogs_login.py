"""The first minute, logging in and logging out."""

from __future__ import annotations

import json
import os
import stat
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import FakeModelServer, Say
from tests.fakes.terminal import FakeTerminal
from tests.fakes.web import FakeWeb
from tests.terminal.conftest import OpenZot
from tests.terminal.scripts import said, two_providers


def stored(zot: Zot) -> dict[str, Any]:
    return json.loads((zot.home / "zot" / "auth.json").read_text())


def log_in(terminal: FakeTerminal, provider: str, key: str) -> None:
    terminal.submit(f"/login {provider}")
    terminal.wait_for("Paste the key")
    terminal.paste(key)
    terminal.wait_for("•" * len(key))
    terminal.press("enter")


def test_start_without_credential_opens_login_and_esc_closes(open_zot: OpenZot) -> None:
    """iface-177: without a credential the first screen opens, and esc closes it."""
    terminal = open_zot(model=False)
    terminal.wait_for("welcome to zot")
    terminal.wait_for("log in with an API key")
    terminal.press("esc")
    terminal.wait_gone("welcome to zot")
    terminal.submit("hello")
    terminal.wait_for("no credential")
    assert "▌ hello" in terminal.screen  # nothing typed is lost


def test_a_server_on_this_machine_is_offered_first(open_zot: OpenZot, zot: Zot) -> None:
    """iface-177: a model server on this machine is the first choice."""
    with FakeModelServer([Say("from here")], models=("tiny-llama",)) as server:
        home = zot.home / "zot"
        home.mkdir()
        (home / "models.json").write_text(json.dumps({"providers": {"ollama": {"baseUrl": f"{server.url}/v1"}}}))
        terminal = open_zot(model=False)
        terminal.wait_for("use tiny-llama")
        terminal.press("enter")
        terminal.wait_for("model: tiny-llama (ollama)")
        terminal.submit("hello")
        terminal.wait_for("from here")


def test_login_preserves_conversation_and_stores_tested_key(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-178, iface-274: logging in preserves the conversation, and the tested key is stored privately."""
    server = serve([Say("first"), Say("second")])
    two_providers(zot, server.url, auth="key")
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("first")
    log_in(terminal, "beta", "sk-secret-0123456789")
    terminal.wait_for("logged in to beta: beta-one")
    assert server.requests[-1].headers["authorization"] == "Bearer sk-secret-0123456789"
    assert "sk-secret" not in terminal.raw.decode()
    assert stored(zot)["additional_api_key_creds"]["beta"]["api_key"] == "sk-secret-0123456789"
    assert stat.S_IMODE((zot.home / "zot" / "auth.json").stat().st_mode) == 0o600
    terminal.submit("and now?")
    terminal.wait_for("second")
    assert said(server.requests[-1])[0] == ("user", "hello")
    assert len(zot.sessions) == 1


def test_login_after_start_without_credential_creates_session(open_zot: OpenZot, zot: Zot) -> None:
    """iface-178: logging in after a start without a credential creates a session."""
    with FakeModelServer([Say("welcome")]) as server:
        home = zot.home / "zot"
        home.mkdir()
        (home / "models.json").write_text(
            json.dumps({"providers": {"openai": {"baseUrl": f"{server.url}/v1", "auth": "key"}}})
        )
        terminal = open_zot(model=False)
        terminal.wait_for("log in with an API key")
        terminal.press("esc")
        terminal.wait_gone("welcome to zot")
        log_in(terminal, "openai", "sk-secret-0123456789")
        terminal.wait_for("logged in to OpenAI: gpt-6.1-sol")
        terminal.submit("hello")
        terminal.wait_for("welcome")
        assert len(zot.sessions) == 1


def test_login_to_custom_provider_selects_its_first_model(open_zot: OpenZot, zot: Zot) -> None:
    with FakeModelServer([Say("from alpha")]) as server:
        two_providers(zot, server.url, auth="key")
        terminal = open_zot(model=False)
        terminal.wait_for("welcome to zot")
        terminal.press("esc")
        terminal.wait_gone("welcome to zot")
        log_in(terminal, "alpha", "alpha-key-1234")
        terminal.wait_for("logged in to alpha: alpha-one")
        terminal.submit("hello")
        terminal.wait_for("from alpha")


def test_rejected_key_can_be_corrected_or_replaced(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([])
    answers = {"/v1/models": (401, "no")}
    with FakeWeb(answers) as server:
        two_providers(zot, server.url, auth="key")
        terminal = open_zot()
        log_in(terminal, "beta", "sk-wrong")
        terminal.wait_for("nothing was saved: beta refused this key")
        answers["/v1/models"] = (200, '{"data": []}')
        terminal.paste("sk-right-0123")
        terminal.wait_for("› " + "•" * 13)
        terminal.press("enter")
        terminal.wait_for("logged in to beta: beta-one")
    assert stored(zot)["additional_api_key_creds"]["beta"]["api_key"] == "sk-right-0123"


def test_a_refused_key_is_not_stored(open_zot: OpenZot, zot: Zot, serve: Any) -> None:
    """engine-providers B5: a key the provider refuses is not stored, and appears nowhere."""
    serve([])
    with FakeWeb({"/v1/models": (401, '{"error": "bad key sk-secret-0123456789"}')}) as refusing:
        two_providers(zot, refusing.url, auth="key")
        terminal = open_zot()
        log_in(terminal, "beta", "sk-secret-0123456789")
        terminal.wait_for("nothing was saved: beta refused this key (http 401)")
        assert refusing.asked == ["/v1/models"]
        assert "•" * 20 in terminal.screen, "what was typed is still there"
        terminal.press("esc")
        terminal.wait_gone("API key for beta")
        assert "nothing was saved" in terminal.screen
    assert not (zot.home / "zot" / "auth.json").exists()
    assert "sk-secret" not in terminal.raw.decode()


def test_key_is_tested_and_used_at_base_url_flag(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Say("first"), Say("second")])
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("first")
    log_in(terminal, "anthropic", "sk-secret-0123456789")
    terminal.wait_for("logged in to Anthropic: claude-sonnet-5-5")
    tried = server.requests[-1]
    assert (tried.method, tried.headers["x-api-key"]) == ("GET", "sk-secret-0123456789")
    terminal.submit("and now?")
    terminal.wait_for("second")
    assert server.requests[-1].headers["x-api-key"] == "sk-secret-0123456789"
    assert stored(zot)["anthropic"]["api_key"] == "sk-secret-0123456789"


def test_a_key_is_tried_at_the_models_own_address(open_zot: OpenZot, zot: Zot, serve: Any) -> None:
    serve([])
    with FakeWeb({"/v1/models": (401, "no")}) as own, FakeWeb({"/v1/models": (200, "{}")}) as general:
        home = zot.home / "zot"
        home.mkdir()
        model = {"id": "gamma-one", "baseUrl": f"{own.url}/v1"}
        gamma = {"baseUrl": f"{general.url}/v1", "api": "openai", "auth": "key", "models": [model]}
        (home / "models.json").write_text(json.dumps({"providers": {"gamma": gamma}}))
        terminal = open_zot()
        log_in(terminal, "gamma", "sk-secret-0123456789")
        terminal.wait_for("nothing was saved: gamma refused this key (http 401)")
        assert own.asked == ["/v1/models"]
        assert general.asked == []


def test_subscription_without_client_id_is_not_offered(serve: Any, open_zot: OpenZot) -> None:
    """A login that cannot work is not offered: of the built-in providers only OpenAI registers clients itself."""
    serve([])
    terminal = open_zot()
    terminal.submit("/login")
    terminal.wait_for("── log in with")
    terminal.press("down", "enter")
    terminal.wait_for("── log in to")
    assert "OpenAI" in terminal.screen
    assert not any(name in terminal.screen for name in ("Copilot", "Kimi", "xAI", "Anthropic  "))
    terminal.press("esc")
    terminal.wait_gone("── log in to")
    terminal.submit("/login anthropic")
    terminal.wait_for("Anthropic does not allow its Claude subscription in other programs")
    terminal.wait_for("Paste the key for Anthropic")


def test_another_account_is_added_and_switched_back_from(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    server = serve([Say("as work"), Say("as default")])
    two_providers(zot, server.url, auth="key")
    (zot.home / "zot" / "auth.json").write_text(
        json.dumps({"additional_api_key_creds": {"beta": {"api_key": "first-0123456789"}}})
    )
    terminal = open_zot("--provider", "beta", "--model", "beta-one", model=False)
    terminal.submit("/login beta work")
    terminal.wait_for("Paste the key")
    terminal.paste("second-0123456789")
    terminal.wait_for("•" * 17)
    terminal.press("enter")
    terminal.wait_for("logged in to beta (work): beta-one")
    terminal.submit("who?")
    terminal.wait_for("as work")
    assert server.requests[-1].headers["authorization"] == "Bearer second-0123456789"
    terminal.submit("/login beta")
    terminal.wait_for("add an account")
    terminal.press("down", "enter")
    terminal.wait_for("logged in to beta (default): beta-one")
    terminal.submit("and now?")
    terminal.wait_for("as default")
    assert server.requests[-1].headers["authorization"] == "Bearer first-0123456789"
    assert list(stored(zot)["accounts"]["beta"]["others"]) == ["work"]
    terminal.submit("/logout beta work")
    terminal.wait_for("logged out of beta work; beta is still stored")


def test_key_from_the_page_works_while_dialog_is_open(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """interfaces §4.7: the page on loopback is opened in the browser; its key is tried, stored and used."""
    server = serve([Say("hello from beta")])
    two_providers(zot, server.url, auth="key")
    told = zot.home / "opened"
    os.mkfifo(told)
    (zot.home / "bin").mkdir()
    (zot.home / "bin" / "xdg-open").write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    (zot.home / "bin" / "xdg-open").chmod(0o755)
    env = {"ZOT_FORCE_BROWSER": "1", "PATH": f"{zot.home / 'bin'}:{os.environ['PATH']}"}
    terminal = open_zot(env=env)
    terminal.submit("/login beta")
    url = told.read_text().strip()
    terminal.wait_for("Or use the page in your browser")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    page = browser.open(url, timeout=30).read().decode()
    token = page.partition('name="token" value="')[2].partition('"')[0]
    form = urllib.parse.urlencode({"provider": "beta", "token": token, "api_key": "sk-page-0123456789"}).encode()
    origin = url.partition("/apikey")[0]
    sent = urllib.request.Request(f"{origin}/apikey", form, {"Origin": origin})
    assert "go back to the terminal" in browser.open(sent, timeout=30).read().decode()
    terminal.wait_for("logged in to beta: beta-one")
    terminal.submit("hello")
    terminal.wait_for("hello from beta")
    assert server.requests[-1].headers["authorization"] == "Bearer sk-page-0123456789"


def test_a_subscription_by_a_pasted_code(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-179, iface-112: the subscription step accepts a code, `code#state`, or the redirect URL; the cost of its
    answers carries `(sub)`."""
    server = serve([Say("with a subscription")])
    asked: list[str] = []

    class Tokens(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["content-length"])).decode())
            body = json.dumps({"access_token": "s3-access-0123", "token_type": "Bearer", "expires_in": 3600}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Tests are quiet."""

    tokens = HTTPServer(("127.0.0.1", 0), Tokens)
    threading.Thread(target=tokens.serve_forever, daemon=True).start()
    two_providers(zot, server.url, auth="key")
    path = zot.home / "zot" / "models.json"
    table = json.loads(path.read_text())
    base = f"http://127.0.0.1:{tokens.server_port}"
    login = {"authorize_url": f"{base}/authorize", "token_url": f"{base}/token", "client_id": "mine"}
    table["providers"]["beta"]["oauth"] = login
    path.write_text(json.dumps(table))
    terminal = open_zot(columns=160)
    terminal.submit("/login")
    terminal.wait_for("── log in with")
    terminal.press("down", "enter")
    terminal.wait_for("── log in to")
    terminal.type("beta")
    terminal.wait_for("filter: beta")
    terminal.press("enter")
    terminal.wait_for("Paste the address of the last page, or the code it shows")
    terminal.paste("the-code")
    terminal.wait_for("› the-code")
    terminal.press("enter")
    terminal.wait_for("logged in to beta: beta-one")
    tokens.shutdown()
    assert "code=the-code" in asked[0] and "s3-access" not in terminal.raw.decode()
    assert stored(zot)["additional_api_key_creds"]["beta"]["oauth"]["access_token"] == "s3-access-0123"
    terminal.submit("hello")
    terminal.wait_for("with a subscription")
    assert server.requests[-1].headers["authorization"] == "Bearer s3-access-0123"
    terminal.wait_for("(sub)")


def test_logout_lists_stored_and_all_if_several(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-180: `/logout` lists the stored logins, and `all` when there are several."""
    serve([])
    home = zot.home / "zot"
    home.mkdir()
    (home / "auth.json").write_text(json.dumps({"openai": {"api_key": "a"}, "kimi": {"api_key": "b"}}))
    terminal = open_zot()
    terminal.submit("/logout")
    terminal.wait_for("all accounts")
    listed = [line.split()[0] for line in terminal.screen.splitlines() if "API key" in line]
    assert listed == ["openai", "kimi"]
    terminal.press("enter")
    terminal.wait_for("logged out of openai")
    assert stored(zot)["openai"] == {} and stored(zot)["kimi"] == {"api_key": "b"}


def test_logout_of_running_provider_leaves_conversation_visible(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """engine-providers B8: logging out of the provider in use leaves the conversation on the screen."""
    server = serve([Say("an answer")])
    two_providers(zot, server.url, auth="key")
    home = zot.home / "zot"
    (home / "auth.json").write_text(json.dumps({"additional_api_key_creds": {"alpha": {"api_key": "a"}}}))
    terminal = open_zot("--provider", "alpha", "--model", "alpha-one", model=False)
    terminal.submit("hello")
    terminal.wait_for("an answer")
    terminal.submit("/logout alpha")
    terminal.wait_for("logged out of alpha")
    assert "an answer" in terminal.screen
    terminal.submit("more")
    terminal.wait_for("no credential for alpha")
    assert [request.method for request in server.requests].count("POST") == 1


@pytest.mark.parametrize(
    ("typed", "said_"), [("/logout nobody", "expected one of"), ("/logout", "no credential is stored")]
)
def test_logout_lists_its_choices(serve: Any, open_zot: OpenZot, typed: str, said_: str) -> None:
    serve([])
    terminal = open_zot()
    terminal.submit(typed)
    terminal.wait_for(said_)
