"""Twelve secrets, each on its own way into zot, and none of them anywhere it could be read afterwards."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import CallTools, FakeModelServer, Refuse, SeenRequest
from tests.fakes.rpc_client import FakeRpcClient
from tests.fakes.terminal import FakeTerminal

NAMES = ("ambient", "env", "url", "header", "store", "other", "command", "access", "refresh", "id", "client", "proxy")
LOOK = "env; tr '\\0' '\\n' < /proc/$PPID/environ; ps -eo args -ww; ls -a \"$HOME\""
OURS = ("auth.json", "models.json", "config.json")  # where people put them


class Canaries:
    """A home full of secrets, and everything that could be read of them afterwards."""

    def __init__(self, zot: Zot, url: str) -> None:
        self.zot = zot
        self.home = zot.home / "zot"
        self.secret = {name: f"canary-{name}-{secrets.token_hex(12)}" for name in NAMES}
        self.heard = ""
        self._write(url)

    def _write(self, url: str) -> None:
        place = url.removeprefix("http://")
        models = [{"id": "one"}]
        base = {"baseUrl": f"{url}/v1", "api": "openai", "auth": "key", "models": models}
        oauth = {
            "authorize_url": f"{url}/authorize",
            "token_url": f"{url}/token",
            "client_id": "mine",
            "client_secret": self.secret["client"],
        }
        providers = {
            "alpha": {
                **base,
                "baseUrl": f"http://user:{self.secret['url']}@{place}/v1",
                "headers": {"x-gateway-token": self.secret["header"]},
            },
            "beta": base,
            "gamma": base,
            "delta": {**base, "oauth": oauth},
            "epsilon": {**base, "baseUrl": "http://model.invalid/v1"},
        }
        token = {
            "access_token": self.secret["access"],
            "refresh_token": self.secret["refresh"],
            "id_token": self.secret["id"],
            "expiry": "2020-01-01T00:00:00Z",
        }
        self.home.mkdir()
        self._put("models.json", {"providers": providers})
        stored = {
            "beta": {"api_key": self.secret["store"]},
            "delta": {"oauth": token},
            "epsilon": {"api_key": self.secret["store"]},
        }
        others = {"beta": {"active": "work", "others": {"home": {"api_key": self.secret["other"]}}}}
        self._put("auth.json", {"additional_api_key_creds": stored, "accounts": others})
        vault = self.zot.home / "vault"
        vault.write_text(self.secret["command"])
        printing = {"program": sys.executable, "args": ["-c", f"print(open({str(vault)!r}).read())"]}
        proxy = f"http://user:{self.secret['proxy']}@127.0.0.1:9"
        self._put("config.json", {"api_key_command": {"gamma": printing}, "http_proxy": proxy})
        self.zot.environment = {"OPENAI_API_KEY": self.secret["ambient"], "ALPHA_API_KEY": self.secret["env"]}

    def _put(self, name: str, value: object) -> None:
        (self.home / name).write_text(json.dumps(value))
        (self.home / name).chmod(0o600)

    def all_output(self) -> str:
        """All output and every written file."""
        written = [
            path
            for root in (self.home, self.zot.project)
            for path in root.rglob("*")
            if path.is_file() and path.name not in OURS
        ]
        return self.heard + "".join(path.read_bytes().decode("utf-8", "replace") for path in written)

    def leaked(self) -> list[str]:
        told = self.all_output()
        return [name for name, secret in self.secret.items() if secret in told or secret[12:] in told]


def echo(request: SeenRequest) -> Refuse:
    """A provider that repeats the request."""
    return Refuse(401, {"error": {"message": f"refused: {json.dumps(request.headers)} {request.path}"}})


@pytest.fixture
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer([CallTools([("bash", {"command": LOOK})]), echo, echo, echo, echo]) as server:
        yield server


@pytest.fixture
def canaries(zot: Zot, server: FakeModelServer) -> Canaries:
    return Canaries(zot, server.url)


def flags(provider: str) -> list[str]:
    return ["--provider", provider, "--model", "one", "--retries", "0"]


def exported(canaries: Canaries) -> None:
    """The session in every form it can be given away in."""
    for session in canaries.zot.sessions:
        for kind in ("md", "html", "zotsession"):
            target = canaries.zot.project / f"out.{kind}"
            ran = canaries.zot("sessions", "export", str(session), str(target), "--format", kind)
            canaries.heard += ran.out + ran.err
            assert target.exists(), ran


@pytest.mark.parametrize("provider", ["alpha", "beta", "gamma", "delta", "epsilon"])
def test_failed_run_prints_no_secret(canaries: Canaries, server: FakeModelServer, provider: str) -> None:
    """iface-278: keys, tokens, headers, passwords in addresses and what a key command prints appear in no answer,
    error, session, recording, trace, export, child environment or argv."""
    zot = canaries.zot
    record, trace = zot.project / "run.record", zot.project / "run.trace"
    ran = zot("-p", "look", *flags(provider), "--record", str(record), "--ext-trace", str(trace))
    canaries.heard += ran.out + ran.err
    assert ran.code == 1 and ran.err, ran
    assert record.stat().st_size
    if provider != "epsilon":  # nobody can be reached there
        used = {"alpha": "env", "beta": "store", "gamma": "command", "delta": "access"}[provider]
        assert any(canaries.secret[used] in str(request.headers) for request in server.requests), "it was used"
        assert "HOME=" in canaries.all_output(), "the command ran, and what it printed was kept"
    exported(canaries)
    for verb in (("auth",), ("auth", "list", "--json"), ("auth", "test", provider), ("doctor",), ("--list-models",)):
        ran = zot(*verb)
        canaries.heard += ran.out + ran.err
    assert canaries.leaked() == []


def test_json_output_contains_no_secret(canaries: Canaries) -> None:
    ran = canaries.zot("--json", "look", *flags("alpha"))
    assert "tool_result" in ran.types
    canaries.heard += ran.out + ran.err
    assert "HOME=" in canaries.heard and canaries.leaked() == []


def test_rpc_output_contains_no_secret(canaries: Canaries) -> None:
    zot = canaries.zot
    client = FakeRpcClient(zot.argv(["rpc", *flags("alpha")]), zot.env(), zot.project)
    client.prompt("look")
    for command in ("get_state", "get_messages", "get_models", "get_commands"):
        client.ask(command)
    client.close()
    canaries.heard += b"".join(client.raw).decode()
    assert "HOME=" in canaries.heard and canaries.leaked() == []


def test_the_terminal_shows_no_secret(canaries: Canaries) -> None:
    zot = canaries.zot
    argv = [f"{sys.prefix}/bin/zot", *flags("alpha")]
    with FakeTerminal(argv, cwd=zot.project, env=zot.env(), columns=200, rows=50) as terminal:
        terminal.wait_for("▌", 60)
        terminal.wait_gone("starting…", 60)
        terminal.submit("look")
        terminal.wait_for("did not answer", 60)
        terminal.press("esc")
        terminal.wait_gone("did not answer")
        terminal.submit("/login")
        terminal.wait_for("log in with")
        terminal.press("esc")
        terminal.wait_gone("log in with")
        terminal.submit("/logout")
        terminal.wait_for("log out of")
        terminal.press("esc")
        canaries.heard += terminal.raw.decode("utf-8", "replace")
    assert canaries.leaked() == []


def test_canary_list_has_twelve_secrets(canaries: Canaries) -> None:
    """Each is where it should be, so that not finding one elsewhere means something."""
    places = "".join((canaries.home / name).read_text() for name in OURS) + str(canaries.zot.environment)
    places += (canaries.zot.home / "vault").read_text()
    assert [name for name, secret in canaries.secret.items() if secret not in places] == []
    assert len(canaries.secret) == 12 and Path(canaries.home / "auth.json").stat().st_mode & 0o777 == 0o600
