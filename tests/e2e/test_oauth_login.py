"""From nothing to an answer through a login: `zot auth login`, a browser or another device, a run, and logging out."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes import chromium
from tests.fakes.model_server import FakeModelServer, Say
from tests.fakes.oauth_server import CLIENT, OAuthServer, fetch, oauth_server


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with oauth_server() as server:
        yield server


@pytest.fixture
def login(running: OAuthServer) -> OAuthServer:
    running.knobs(reset=True)
    return running


@pytest.fixture
def gateway(zot: Zot, serve: Any, login: OAuthServer) -> FakeModelServer:
    model = serve([Say("hello")], repeat=True)
    row = {"issuer": login.url, "client_id": CLIENT, "scopes": "openid offline_access"}
    entry = {"baseUrl": model.url, "auth": "key", "oauth": row, "models": [{"id": "m"}]}
    home = zot.home / "zot"
    home.mkdir()
    (home / "models.json").write_text(json.dumps({"providers": {"gateway": entry}}))
    zot.environment["ZOT_NO_BROWSER"] = "1"
    return model


class Login:
    """`zot auth login gateway …` as a process; ``address`` is the URL to open."""

    def __init__(self, zot: Zot, *words: str, stdin: int = subprocess.DEVNULL) -> None:
        argv = [sys.executable, "-m", "zot", "auth", "login", "gateway", *words]
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


def stored(zot: Zot) -> dict[str, Any]:
    entries = json.loads((zot.home / "zot" / "auth.json").read_text())
    return entries["additional_api_key_creds"]["gateway"]["oauth"]


def answers(zot: Zot, gateway: FakeModelServer) -> None:
    ran = zot("-p", "hi", "--provider", "gateway", "--model", "m", model=False)
    assert (ran.code, ran.out) == (0, "hello\n"), ran.err
    assert gateway.requests[-1].headers["authorization"] == f"Bearer {stored(zot)['access_token']}"


def test_a_login_in_the_browser(zot: Zot, gateway: FakeModelServer, login: OAuthServer) -> None:
    it = Login(zot, "--browser")
    url = it.line_with("/authorize?")
    status, _, page = fetch(login.agree(url))
    assert (status, "You are logged in" in page) == (200, True)
    code, said = it.ended()
    assert code == 0, said
    assert stored(zot)["access_token"] not in said
    assert (zot.home / "zot" / "auth.json").stat().st_mode & 0o777 == 0o600
    answers(zot, gateway)


def test_a_login_in_a_real_browser(zot: Zot, gateway: FakeModelServer, login: OAuthServer, tmp_path: Path) -> None:
    program = chromium.find()
    if program is None:
        pytest.skip("there is no Chromium here")
    it = Login(zot, "--browser")
    url = it.line_with("/authorize?")
    with chromium.browse(program, tmp_path / "profile") as page:
        page.open(url)
        assert page.until("document.body.innerText.includes('You are logged in')")
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0, "nothing from elsewhere"
    code, said = it.ended()
    assert code == 0, said
    answers(zot, gateway)


def test_a_login_whose_address_is_pasted(zot: Zot, gateway: FakeModelServer, login: OAuthServer) -> None:
    ours, theirs = pty.openpty()
    try:
        it = Login(zot, "--browser", stdin=theirs)
        address = login.agree(it.line_with("/authorize?"))
        os.write(ours, b"nonsense with spaces\n")
        it.line_with("No code found")
        os.write(ours, address.encode() + b"\n")
        code, said = it.ended()
        assert code == 0, said
    finally:
        os.close(ours)
        os.close(theirs)
    answers(zot, gateway)


def test_a_login_on_another_device(zot: Zot, gateway: FakeModelServer, login: OAuthServer) -> None:
    it = Login(zot, "--device")
    line = it.line_with("code")
    user_code = line.split()[-1]
    login.knobs(approve_device=True)
    code, said = it.ended()
    assert code == 0, said
    assert user_code in said
    answers(zot, gateway)


def test_a_login_that_is_denied_stores_nothing(zot: Zot, gateway: FakeModelServer, login: OAuthServer) -> None:
    login.knobs(deny=True)
    it = Login(zot, "--browser")
    assert fetch(login.agree(it.line_with("/authorize?")))[0] == 400
    code, said = it.ended()
    assert code == 1
    assert "access_denied" in said
    assert not (zot.home / "zot" / "auth.json").exists()


def test_a_login_given_up_frees_its_port(zot: Zot, gateway: FakeModelServer, login: OAuthServer) -> None:
    it = Login(zot, "--browser")
    it.line_with("/authorize?")
    it.child.send_signal(2)
    started = time.monotonic()
    code, _ = it.ended()
    assert code != 0
    assert time.monotonic() - started < 30
    assert not (zot.home / "zot" / "auth.json").exists()


def test_login_without_client_id_explains_setup(zot: Zot) -> None:
    argv = [sys.executable, "-m", "zot", "auth", "login", "kimi", "--device"]
    ran = subprocess.run(argv, capture_output=True, text=True, env=zot.env(), timeout=60, stdin=subprocess.DEVNULL)
    assert ran.returncode != 0
    assert "client_id" in ran.stderr
    assert "models.json" in ran.stderr
