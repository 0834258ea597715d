"""The first minute, logging in and logging out."""

from __future__ import annotations

import json
import stat
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


def test_without_a_credential_the_first_screen_opens_and_esc_closes_it(open_zot: OpenZot) -> None:
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


def test_login_keeps_the_conversation_and_stores_a_key_that_was_tried(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    """iface-178, iface-274: logging in keeps the conversation, and the tried key is stored privately."""
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


def test_login_after_a_start_without_a_credential_creates_a_session(open_zot: OpenZot, zot: Zot) -> None:
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
        terminal.wait_for("logged in to OpenAI: gpt-5")
        terminal.submit("hello")
        terminal.wait_for("welcome")
        assert len(zot.sessions) == 1


def test_login_to_a_provider_of_ones_own_goes_on_with_its_first_model(open_zot: OpenZot, zot: Zot) -> None:
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


def test_a_refused_key_can_be_mended_or_replaced_where_one_is(serve: Any, open_zot: OpenZot, zot: Zot) -> None:
    serve([])
    answers = {"/v1/models": (401, "no")}
    with FakeWeb(answers) as server:
        two_providers(zot, server.url, auth="key")
        terminal = open_zot()
        log_in(terminal, "beta", "sk-wrong")
        terminal.wait_for("nothing was stored: beta refused this key")
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
        terminal.wait_for("nothing was stored: beta refused this key (http 401)")
        assert refusing.asked == ["/v1/models"]
        assert "•" * 20 in terminal.screen, "what was typed is still there"
        terminal.press("esc")
        terminal.wait_gone("API key for beta")
        assert "nothing was stored" in terminal.screen
    assert not (zot.home / "zot" / "auth.json").exists()
    assert "sk-secret" not in terminal.raw.decode()


def test_a_key_is_tried_at_the_address_of_the_command_line_and_used_there(
    serve: Any, open_zot: OpenZot, zot: Zot
) -> None:
    server = serve([Say("first"), Say("second")])
    terminal = open_zot()
    terminal.submit("hello")
    terminal.wait_for("first")
    log_in(terminal, "anthropic", "sk-secret-0123456789")
    terminal.wait_for("logged in to Anthropic: claude-sonnet-4-5")
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
        terminal.wait_for("nothing was stored: gamma refused this key (http 401)")
        assert own.asked == ["/v1/models"]
        assert general.asked == []


def test_the_subscription_step_says_that_it_comes_later(serve: Any, open_zot: OpenZot) -> None:
    serve([])
    terminal = open_zot()
    terminal.submit("/login")
    terminal.wait_for("log in with")
    terminal.press("down", "enter")
    terminal.wait_for("comes in a later version")


def test_logout_lists_only_what_is_stored_and_all_when_there_are_several(
    serve: Any, open_zot: OpenZot, zot: Zot
) -> None:
    """iface-180: `/logout` lists what is stored, and `all` when there are several."""
    serve([])
    home = zot.home / "zot"
    home.mkdir()
    (home / "auth.json").write_text(json.dumps({"openai": {"api_key": "a"}, "kimi": {"api_key": "b"}}))
    terminal = open_zot()
    terminal.submit("/logout")
    terminal.wait_for("all of them")
    listed = [line.split()[0] for line in terminal.screen.splitlines() if "API key" in line]
    assert listed == ["openai", "kimi"]
    terminal.press("enter")
    terminal.wait_for("logged out of openai")
    assert stored(zot)["openai"] == {} and stored(zot)["kimi"] == {"api_key": "b"}


def test_logging_out_of_the_running_provider_leaves_the_conversation_in_view(
    serve: Any, open_zot: OpenZot, zot: Zot
) -> None:
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


@pytest.mark.parametrize(("typed", "said_"), [("/logout nobody", "expected one of"), ("/logout", "nothing is stored")])
def test_logout_names_what_it_could_do(serve: Any, open_zot: OpenZot, typed: str, said_: str) -> None:
    serve([])
    terminal = open_zot()
    terminal.submit(typed)
    terminal.wait_for(said_)
