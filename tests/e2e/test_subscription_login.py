"""Logins to plans through the real `zot auth login` process, at the vendors' addresses answered on loopback."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes import file_keyring
from tests.fakes.oauth_server import fetch
from tests.fakes.vendors import CallTools, FakeVendors, Say

TOKEN = "/api/accounts/oauth/token"
RESPONSES = "/v1/responses"
EXCHANGE = "/copilot_internal/v2/token"


@pytest.fixture
def vendors(zot: Zot) -> Iterator[FakeVendors]:
    with FakeVendors() as world:
        zot.environment.update(world.environment)
        yield world


class Login:
    """`zot auth login …` as a process; ``line_with`` waits for a line on stderr."""

    def __init__(self, zot: Zot, *words: str, stdin: int = subprocess.DEVNULL) -> None:
        argv = [sys.executable, "-m", "zot", "auth", "login", *words]
        self.child = subprocess.Popen(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=zot.env(), cwd=zot.project
        )
        self.said: list[str] = []

    def line_with(self, words: str) -> str:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            self.said.append(line)
            if words in line:
                return line.strip()
        raise AssertionError(f"{words!r} was never said: {self.said}")

    def ended(self) -> tuple[int, str]:
        out, err = self.child.communicate(timeout=60)
        return self.child.returncode, "".join(self.said) + out + err


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def auth(zot: Zot) -> dict[str, Any]:
    return json.loads((zot.home / "zot" / "auth.json").read_text())


def chatgpt(zot: Zot, vendors: FakeVendors, *words: str) -> str:
    """A ChatGPT login in the browser; what was printed."""
    it = Login(zot, "openai", "--browser", *words)
    status, _, page = fetch(vendors.agree(it.line_with("auth.openai.com/api/accounts/authorize?")))
    code, said = it.ended()
    assert (status, code) == (200, 0), said + page
    return said


def configure(zot: Zot, **providers: Any) -> None:
    home = zot.home / "zot"
    home.mkdir(exist_ok=True)
    (home / "models.json").write_text(json.dumps({"providers": providers}))


def expire(zot: Zot, provider: str) -> None:
    """The stored token of the active account expired a minute ago."""
    path = zot.home / "zot" / "auth.json"
    entries = json.loads(path.read_text())
    entry = entries.get(provider) or entries["additional_api_key_creds"][provider]
    entry["oauth"]["expiry"] = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    path.write_text(json.dumps(entries))


# --- ChatGPT


def test_chatgpt_login_answers_on_the_plan(zot: Zot, vendors: FakeVendors) -> None:
    said = chatgpt(zot, vendors)
    assert "zot uses your plan now; see what is left at https://chatgpt.com/settings/usage" in said
    login = auth(zot)["openai"]["oauth"]
    assert login["client_id"] == "oaiapp_ann"
    assert login["access_token"] not in said
    ran = zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    assert (ran.code, ran.out) == (0, "hello from the plan\n"), ran.err
    host, _, _, headers, body = vendors.seen(RESPONSES)[-1]
    assert host == "api.openai.com"
    assert headers["authorization"] == f"Bearer {login['access_token']}"
    assert headers["user-agent"].startswith("zot/")
    assert not {"originator", "chatgpt-account-id", "openai-beta"} & set(headers)
    sent = json.loads(body)
    assert (sent["store"], sent["stream"]) == (False, True)
    assert not {"max_output_tokens", "temperature", "metadata", "user"} & set(sent)
    assert [tool["type"] for tool in sent["tools"]] == ["namespace"]
    assert {"read", "bash"} <= {tool["name"] for tool in sent["tools"][0]["tools"]}


def test_chatgpt_tool_call_keeps_its_namespace(zot: Zot, vendors: FakeVendors) -> None:
    vendors.turns = [CallTools([("bash", {"command": "echo 42"})]), Say("done")]
    chatgpt(zot, vendors)
    ran = zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    items = vendors.body(RESPONSES)["input"]
    call = next(item for item in items if item.get("type") == "function_call")
    assert (call["name"], call["namespace"]) == ("bash", "zot")
    assert "42" in next(item for item in items if item.get("type") == "function_call_output")["output"]


def test_chatgpt_first_login_registers_zot(zot: Zot, vendors: FakeVendors) -> None:
    it = Login(zot, "openai", "--browser")
    url = it.line_with("authorize?")
    assert "client_id=dynamic_agent_client" in url
    assert "agent_name_hint=zot" in url
    assert "ext_agent_host_id=urn%3Auuid%3A" in url
    assert "redirect_uri=http%3A%2F%2F127.0.0.1%3A" in url
    fetch(vendors.agree(url))
    assert it.ended()[0] == 0
    again = Login(zot, "openai", "--browser")
    second = again.line_with("authorize?")
    fetch(vendors.agree(second))
    assert again.ended()[0] == 0
    assert "client_id=oaiapp_ann" in second
    assert "agent_name_hint" not in second
    host = url.partition("ext_agent_host_id=")[2].partition("&")[0]
    assert f"ext_agent_host_id={host}" in second


def test_two_chatgpt_accounts_are_kept_apart(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors, "--account", "home")
    vendors.user = "bob@example.test"
    chatgpt(zot, vendors, "--account", "work")
    listed = zot("auth", "list", "--json", model=False)
    rows = json.loads(listed.out)["credentials"]
    assert {(row["account"], row["in_use"]) for row in rows} == {("home", False), ("work", True)}
    assert zot("auth", "use", "openai", "home", model=False).code == 0
    zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    others = auth(zot)["accounts"]["openai"]["others"]
    assert auth(zot)["openai"]["oauth"]["client_id"] == "oaiapp_ann"
    assert others["work"]["oauth"]["client_id"] == "oaiapp_bob"
    sent = vendors.seen(RESPONSES)[-1][3]["authorization"]
    assert sent == f"Bearer {auth(zot)['openai']['oauth']['access_token']}"


def test_another_browser_account_is_refused(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors)
    before = auth(zot)
    vendors.user = "bob@example.test"
    it = Login(zot, "openai", "--browser")
    fetch(vendors.agree(it.line_with("authorize?")))
    code, said = it.ended()
    assert code == 1
    assert "logged in to another account; add it with `zot auth login openai --account NAME`" in said
    assert auth(zot) == before


def test_login_without_the_plan_stores_nothing(zot: Zot, vendors: FakeVendors) -> None:
    vendors.scope = "openid profile email offline_access"
    it = Login(zot, "openai", "--browser")
    fetch(vendors.agree(it.line_with("authorize?")))
    code, said = it.ended()
    assert code == 1
    assert "does not allow zot to use your plan" in said
    assert "openai" not in auth(zot) or not auth(zot)["openai"]


def test_a_bare_code_is_not_enough_for_chatgpt(zot: Zot, vendors: FakeVendors) -> None:
    with terminal() as (ours, theirs):
        it = Login(zot, "openai", "--browser", stdin=theirs)
        address = vendors.agree(it.line_with("authorize?"))
        os.write(ours, b"code-secret-0001\n")
        it.line_with("Paste the whole address of the last page")
        os.write(ours, address.encode() + b"\n")
        code, said = it.ended()
    assert code == 0, said


def test_openai_login_asks_for_plan_or_key(zot: Zot, vendors: FakeVendors) -> None:
    with terminal() as (ours, theirs):
        it = Login(zot, "openai", stdin=theirs)
        it.line_with("Enter 1 or 2")
        os.write(ours, b"maybe\n")
        it.line_with("Enter 1 or 2")
        os.write(ours, b"\n")
        fetch(vendors.agree(it.line_with("authorize?")))
        code, said = it.ended()
    assert code == 0, said
    ran = zot("auth", "login", "openai", model=False)
    assert ran.code == 1
    assert "pass --browser for your plan, or --key-stdin for a key" in ran.err


def test_chatgpt_has_no_device_login(zot: Zot, vendors: FakeVendors) -> None:
    ran = zot("auth", "login", "openai", "--device", model=False)
    assert ran.code == 1
    assert "this plan has no device-code login; use --browser and paste the address of the last page" in ran.err


def test_chatgpt_usage_limit_says_where_to_look(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors)
    error = {"code": "subscription_sharing_usage_limit_exceeded", "message": "limit reached", "resets_at": 0}
    error["resets_at"] = int(time.time()) + 7300
    vendors.refuse[RESPONSES] = (429, {"error": error})
    ran = zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    assert ran.code == 1
    assert "resets in 2.0 h; your plan's usage: https://chatgpt.com/settings/usage" in ran.err
    assert len(vendors.seen(RESPONSES)) == 1, "a limit of hours is not retried"


def test_chatgpt_logout_revokes_the_login(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors)
    login = auth(zot)["openai"]["oauth"]
    ran = zot("auth", "logout", "openai", model=False)
    assert ran.code == 0, ran.err
    assert vendors.revoked == [login["refresh_token"], login["access_token"]]
    assert "login revoked" in ran.err


# --- refreshing


def test_two_processes_refresh_a_login_once(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors)
    expire(zot, "openai")
    vendors.delay_s = 0.5
    argv = [sys.executable, "-m", "zot", "-p", "hi", "--provider", "openai", "--model", "gpt-5"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    runs = [subprocess.Popen(argv, env=zot.env(), cwd=zot.project, text=True, **quiet) for _ in range(3)]  # pyright: ignore
    ended = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], ended
    assert (vendors.refreshes, vendors.reused) == (1, 0)
    assert auth(zot)["openai"]["oauth"]["client_id"] == "oaiapp_ann"


def test_a_revoked_login_asks_to_log_in_again(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors)
    expire(zot, "openai")
    vendors.refuse[TOKEN] = (401, {"error": {"code": "refresh_token_reused", "message": "already used"}})
    vendors.refuse[RESPONSES] = (401, {"error": {"code": "invalid_token", "message": "the token has expired"}})
    ran = zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    assert ran.code == 1
    assert "the login for OpenAI has ended" in ran.err
    assert "log in again with `zot auth login` or /login" in ran.err
    assert auth(zot)["openai"]["oauth"]["refresh_token"], "only the user deletes a login"


def test_a_copied_login_cannot_reuse_its_refresh_token(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors)
    expire(zot, "openai")
    copied = zot.home / "copied"
    copied.mkdir()
    (copied / "auth.json").write_bytes((zot.home / "zot" / "auth.json").read_bytes())
    run = ("-p", "hi", "--provider", "openai", "--model", "gpt-5")
    assert zot(*run, model=False).code == 0
    vendors.refuse[RESPONSES] = (401, {"error": {"code": "invalid_token", "message": "the token has expired"}})
    zot.environment["ZOT_HOME"] = str(copied)
    ran = zot(*run, model=False)
    assert (ran.code, vendors.refreshes, vendors.reused) == (1, 1, 1)
    assert "this refresh token was already used" in ran.err
    assert "log in again with `zot auth login` or /login" in ran.err


def test_a_region_refusal_keeps_the_login(zot: Zot, vendors: FakeVendors) -> None:
    chatgpt(zot, vendors)
    expire(zot, "openai")
    denied = {"error": {"code": "unsupported_country_region_territory", "message": "Country not supported"}}
    vendors.refuse[TOKEN] = (403, denied)
    vendors.refuse[RESPONSES] = (401, {"error": {"code": "invalid_token", "message": "the token has expired"}})
    ran = zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    assert ran.code == 1
    assert "this service is not offered in your region; it is still stored" in ran.err
    assert "has ended" not in ran.err


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"redirects": {TOKEN: "https://evil.test/steal"}}, "redirects to evil.test; secrets are not sent there"),
        ({"refuse": {TOKEN: (200, "<html><title>Sign in</title>")}}, "a web page instead of a JSON object"),
        ({"refuse": {TOKEN: (403, {"error": {"code": "unsupported_country_region_territory"}})}}, "in your region"),
        ({"refuse": {TOKEN: (500, {})}}, "answered http 500"),
    ],
    ids=["redirect", "html", "region", "fault"],
)
def test_login_at_an_odd_server_stores_nothing(zot: Zot, vendors: FakeVendors, fault: Any, said: str) -> None:
    for name, value in fault.items():
        getattr(vendors, name).update(value)
    it = Login(zot, "openai", "--browser")
    fetch(vendors.agree(it.line_with("authorize?")))
    code, printed = it.ended()
    assert code == 1
    assert said in printed
    assert not [request for request in vendors.requests if request[0] == "evil.test"]
    assert not auth(zot).get("openai")


def test_a_silent_login_server_ends_with_the_timeout(zot: Zot, vendors: FakeVendors) -> None:
    vendors.silent.add(TOKEN)
    it = Login(zot, "openai", "--browser", "--timeout", "3")
    url = it.line_with("authorize?")
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys,urllib.request as u;u.urlopen(sys.argv[1])", vendors.agree(url)]
    )
    code, said = it.ended()
    child.wait(30)
    assert code == 1
    assert "login timed out after 3 s; no credential was saved" in said


# --- the Codex endpoint, with a client id of the user's own


def test_codex_device_login_with_an_own_client(zot: Zot, vendors: FakeVendors) -> None:
    refused = zot("auth", "login", "codex", "--device", model=False)
    assert refused.code == 1
    assert "requires an OAuth client id of your own" in refused.err
    configure(zot, codex={"oauth": {"client_id": "own-codex-client"}})
    vendors.device_polls = 1
    it = Login(zot, "codex", "--device")
    it.line_with("https://auth.openai.com/codex/device")
    assert "ABCD-1234" in it.line_with("The code is")
    code, said = it.ended()
    assert code == 0, said
    vendors.model_headers = {"x-codex-primary-used-percent": "42"}
    ran = zot("-p", "hi", "--provider", "codex", "--model", "gpt-5", model=False)
    assert (ran.code, ran.out) == (0, "hello from the plan\n"), ran.err
    host, _, path, headers, body = vendors.requests[-1]
    assert (host, path) == ("chatgpt.com", "/backend-api/codex/responses")
    assert headers["chatgpt-account-id"] == "acc-ann@example.test"
    assert (headers["originator"], headers["openai-beta"]) == ("zot", "responses=experimental")
    assert next(tool["type"] for tool in json.loads(body)["tools"]) == "function"


# --- GitHub Copilot


@pytest.mark.parametrize("words", [("copilot",), ("github", "--device"), ("GitHub Copilot", "--key-stdin")])
def test_copilot_without_a_client_explains_setup(zot: Zot, words: tuple[str, ...]) -> None:
    ran = zot("auth", "login", *words, model=False)
    assert ran.code == 1
    assert 'requires an OAuth client id of your own: add {"providers": {"copilot"' in ran.err
    assert "copilot" not in zot("auth", "list", model=False).out
    run = zot("-p", "hi", "--provider", "copilot", "--model", "m", model=False)
    assert "not logged in to copilot: run `zot auth login copilot`" in run.err


@pytest.mark.parametrize(("typed", "provider"), [("ChatGPT", "openai"), ("claude", "anthropic"), ("grok", "x.ai")])
def test_login_by_the_name_of_a_plan_finds_it(zot: Zot, vendors: FakeVendors, typed: str, provider: str) -> None:
    ran = zot("auth", "login", typed, "--key-stdin", model=False, stdin="sk-no-such-key-123\n")
    assert f'unknown provider "{typed}"' not in ran.err
    assert provider in (ran.out + ran.err).lower()


@pytest.fixture
def copilot(zot: Zot, vendors: FakeVendors) -> FakeVendors:
    configure(zot, copilot={"oauth": {"client_id": "Ov-own-client"}})
    return vendors


def log_in_to_copilot(zot: Zot) -> str:
    it = Login(zot, "copilot", "--device")
    assert "GH12-3456" in it.line_with("The code is")
    code, said = it.ended()
    assert code == 0, said
    return said


def test_copilot_login_answers_in_chat(zot: Zot, copilot: FakeVendors) -> None:
    copilot.device_polls = 1
    said = log_in_to_copilot(zot)
    login = auth(zot)["additional_api_key_creds"]["copilot"]["oauth"]
    assert (login["refresh_token"], login["base_url"]) == ("gho_login", copilot.api)
    assert "gho_login" not in said
    ran = zot("-p", "hi", "--provider", "copilot", "--model", "claude-sonnet-4.5", model=False)
    assert (ran.code, ran.out) == (0, "hello from the plan\n"), ran.err
    host, _, path, headers, _ = copilot.requests[-1]
    assert (host, path) == ("api.individual.githubcopilot.com", "/chat/completions")
    assert headers["authorization"] == f"Bearer {login['access_token']}"
    assert (headers["x-initiator"], headers["openai-intent"]) == ("user", "conversation-edits")
    assert not {"editor-version", "editor-plugin-version", "copilot-integration-id"} & set(headers)
    assert headers["user-agent"].startswith("zot/")


def test_copilot_token_is_exchanged_again(zot: Zot, copilot: FakeVendors) -> None:
    log_in_to_copilot(zot)
    expire(zot, "copilot")
    ran = zot("-p", "hi", "--provider", "copilot", "--model", "claude-sonnet-4.5", model=False)
    assert (ran.code, ran.out) == (0, "hello from the plan\n"), ran.err
    assert len(copilot.seen(EXCHANGE)) == 2


def test_copilot_without_exchange_uses_the_login(zot: Zot, copilot: FakeVendors) -> None:
    copilot.exchange = (404, {"message": "Not Found"})
    log_in_to_copilot(zot)
    ran = zot("-p", "hi", "--provider", "copilot", "--model", "claude-sonnet-4.5", model=False)
    assert ran.code == 0, ran.err
    host, _, _, headers, _ = copilot.requests[-1]
    assert (host, headers["authorization"]) == ("api.githubcopilot.com", "Bearer gho_login")


@pytest.mark.parametrize(
    ("exchange", "said"),
    [
        ((403, {"error_details": {"message": "No access to Copilot"}}), "http 403: No access to Copilot"),
        ((401, {"message": "Bad credentials"}), "the login was revoked"),
        ((200, {"endpoints": {"api": "https://evil.test"}}), "names evil.test for requests"),
        ((200, {"endpoints": {"api": "https://evilgithubcopilot.com"}}), "not in githubcopilot.com"),
        ((200, {"token": ""}), "without a token"),
    ],
    ids=["no plan", "revoked", "another host", "similar host", "no token"],
)
def test_copilot_exchange_refusal_stores_nothing(zot: Zot, copilot: FakeVendors, exchange: Any, said: str) -> None:
    copilot.exchange = exchange
    it = Login(zot, "copilot", "--device")
    code, printed = it.ended()
    assert code == 1
    assert said in printed
    assert not (zot.home / "zot" / "auth.json").exists()


def test_copilot_clock_skew_does_not_expire_the_token(zot: Zot, copilot: FakeVendors) -> None:
    copilot.exchange = (200, {"expires_at": int(time.time()) + 900})
    log_in_to_copilot(zot)
    expiry = datetime.fromisoformat(auth(zot)["additional_api_key_creds"]["copilot"]["oauth"]["expiry"])
    assert 800 < expiry.timestamp() - time.time() < 1000


# --- Anthropic


def test_anthropic_login_says_why_and_takes_a_key(zot: Zot, vendors: FakeVendors) -> None:
    sentence = "Anthropic does not allow its Claude subscription in other programs; log in with an API key."
    with terminal() as (ours, theirs):
        it = Login(zot, "anthropic", stdin=theirs)
        assert it.line_with("Anthropic does not allow") == sentence
        it.line_with("Paste the key for Anthropic")
        os.write(ours, b"\x04")
        code, _ = it.ended()
    assert code == 1


# --- what is left


def test_usage_event_has_the_quota_of_the_plan(zot: Zot, copilot: FakeVendors) -> None:
    log_in_to_copilot(zot)
    copilot.model_headers = {"x-quota-snapshot-premium_interactions": "ent=300&rem=62.5&rst=2099-01-01T00%3A00%3A00Z"}
    ran = zot("--json", "hi", "--provider", "copilot", "--model", "claude-sonnet-4.5", model=False)
    usage = next(event for event in ran.events if event["type"] == "usage")
    assert usage["quota"] == [
        {"name": "premium requests", "remaining_percent": 62.5, "resets_at": "2099-01-01T00:00:00Z", "plan": True}
    ]
    copilot.model_headers = {}
    ran = zot("--json", "hi", "--provider", "copilot", "--model", "claude-sonnet-4.5", model=False)
    assert "quota" not in next(event for event in ran.events if event["type"] == "usage")


# --- the keyring


def test_login_with_a_locked_keyring_is_one_line(zot: Zot, vendors: FakeVendors, tmp_path: Path) -> None:
    ring = tmp_path / "ring.json"
    zot.environment.update(file_keyring.environment(ring))
    (zot.home / "zot").mkdir()
    (zot.home / "zot" / "config.json").write_text('{"credential_store": "keyring"}')
    chatgpt(zot, vendors)
    tokens = json.loads(next(iter(file_keyring.items(ring).values())))
    assert tokens["refresh_token"].startswith("refresh-secret")
    assert "secret" not in json.dumps(auth(zot))
    ran = zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    assert (ran.code, ran.out) == (0, "hello from the plan\n"), ran.err
    ring.with_name("locked").touch()
    ran = zot("-p", "hi", "--provider", "openai", "--model", "gpt-5", model=False)
    assert ran.code == 1
    assert "the system's keyring is locked; unlock it and try again" in ran.err
    it = Login(zot, "openai", "--browser")
    fetch(vendors.agree(it.line_with("authorize?")))
    code, said = it.ended()
    assert code == 1
    assert "the system's keyring is locked" in said
    assert "Traceback" not in said
