"""``zot auth``: the real program, a provider that takes one key, and a file only its owner can read."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes import file_keyring
from tests.fakes.key_server import GOOD, FakeKeyServer
from tests.fakes.terminal import FakeTerminal

OTHER = "sk-other-0123456789"


@pytest.fixture
def server() -> Iterator[FakeKeyServer]:
    with FakeKeyServer(GOOD, OTHER) as server:
        yield server


@pytest.fixture
def auth(zot: Zot, server: FakeKeyServer) -> Zot:
    """Every provider's address is the server's."""
    home = zot.home / "zot"
    home.mkdir()
    entry = {"baseUrl": f"{server.url}/v1", "auth": "key"}
    mine = {**entry, "api": "openai", "models": [{"id": "mine-one"}]}
    table = {"anthropic": {**entry, "baseUrl": server.url}, "openai": entry, "groq": entry, "mine": mine}
    (home / "models.json").write_text(json.dumps({"providers": table}))
    return zot


def content(zot: Zot) -> dict[str, Any]:
    path = zot.home / "zot" / "auth.json"
    return json.loads(path.read_text()) if path.exists() else {}


def listed(zot: Zot) -> list[dict[str, Any]]:
    ran = zot("auth", "list", "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["credentials"]


def login(zot: Zot, provider: str, *more: str, key: str = GOOD) -> None:
    ran = zot("auth", "login", provider, "--key-stdin", *more, stdin=key)
    assert ran.code == 0, ran.err


def test_a_key_from_standard_input_is_tried_and_stored_privately(auth: Zot, server: FakeKeyServer) -> None:
    ran = auth("auth", "login", "anthropic", "--key-stdin", stdin=f"{GOOD}\n")
    assert ran.code == 0 and ran.out.startswith("logged in to Anthropic; stored in ~/zot/auth.json"), ran
    assert server.keys == [GOOD]
    assert content(auth)["anthropic"] == {"api_key": GOOD}
    assert stat.S_IMODE((auth.home / "zot" / "auth.json").stat().st_mode) == 0o600
    assert GOOD not in ran.out + ran.err


@pytest.mark.parametrize("status", [401, 403])
def test_rejected_key_shows_provider_message_and_is_not_stored(auth: Zot, server: FakeKeyServer, status: int) -> None:
    """engine-128: probe 401 and 403 reject; nothing is stored."""
    server.refusal = status
    ran = auth("auth", "login", "openai", "--key-stdin", stdin="sk-bad-0123456789")
    assert ran.code == 1
    assert ran.err == (
        f"zot: no credential was saved: openai refused this key (http {status}): no such key: ***, "
        "ask the administrator\n"
    )
    assert content(auth) == {}


@pytest.mark.parametrize("key", ["", "two words", "\x1b[31m"])
def test_malformed_key_is_rejected_without_a_request(auth: Zot, server: FakeKeyServer, key: str) -> None:
    ran = auth("auth", "login", "openai", "--key-stdin", stdin=key)
    assert ran.code == 1 and "no credential was saved" in ran.err
    assert server.keys == [] and content(auth) == {}


def test_auth_list_shows_active_credential_without_the_secret(auth: Zot) -> None:
    login(auth, "anthropic")
    login(auth, "anthropic", "--account", "work", key=OTHER)
    auth.environment = {"OPENAI_API_KEY": "sk-env-0123456789"}
    (auth.home / "zot" / "config.json").write_text(
        json.dumps({"api_key_command": {"groq": {"program": "pass", "args": ["groq"]}}})
    )
    rows = [(row["provider"], row["account"], row["source"], row["in_use"], row["where"]) for row in listed(auth)]
    assert rows == [
        ("anthropic", "work", "file", True, ""),
        ("anthropic", "default", "file", False, ""),
        ("openai", "", "env", True, "OPENAI_API_KEY"),
        ("groq", "", "command", True, "pass"),
    ]
    ran = auth("auth")
    assert ran.out.splitlines() == [
        "   provider   account  kind     from            expires",
        "●  anthropic  work     API key  auth.json       –",
        "   anthropic  default  API key  auth.json       –",
        "●  openai     –        API key  OPENAI_API_KEY  –",
        "●  groq       –        API key  command pass    –",
    ]
    assert "sk-" not in ran.out + ran.err + json.dumps(listed(auth))


def test_list_shows_when_a_login_ends(auth: Zot) -> None:
    token = {"access_token": "s3cret", "expiry": "2020-01-01T00:00:00Z"}
    never = {"access_token": "s3cret", "expiry": "0001-01-01T00:00:00Z"}
    (auth.home / "zot" / "auth.json").write_text(json.dumps({"openai": {"oauth": token}, "kimi": {"oauth": never}}))
    (row, kimi) = listed(auth)
    assert (row["kind"], row["expires"], row["expired"]) == ("login", "2020-01-01T00:00:00Z", True)
    assert (kimi["expires"], kimi["expired"]) == ("", False)
    assert "2020-01-01T00:00:00Z (expired)" in auth("auth", "list").out


def test_auth_list_without_credentials_explains_login(auth: Zot) -> None:
    ran = auth("auth")
    assert (ran.code, ran.out) == (0, "") and "zot auth login PROVIDER" in ran.err
    assert listed(auth) == []


def test_no_other_programs_credential_file_is_read(auth: Zot) -> None:
    """engine-119: a Kimi CLI token in the home leaves kimi logged out."""
    for folder in (".kimi/credentials", ".config/kimi", ".claude", ".codex"):
        (auth.home / folder).mkdir(parents=True)
        for name in ("kimi-code.json", "credentials.json", ".credentials.json", "auth.json"):
            (auth.home / folder / name).write_text('{"access_token": "theirs", "OPENAI_API_KEY": "theirs"}')
    assert listed(auth) == []
    ran = auth("-p", "hello", "--provider", "kimi")
    assert ran.code == 1 and "KIMI_API_KEY" in ran.err and "theirs" not in ran.err


def test_switched_account_is_used_for_requests(auth: Zot, server: FakeKeyServer) -> None:
    login(auth, "anthropic", "--account", "home")
    login(auth, "anthropic", "--account", "work", key=OTHER)
    assert auth("auth", "test", "anthropic").out == "Anthropic accepts the credential from auth.json (work)\n"
    ran = auth("auth", "use", "anthropic", "home")
    assert ran.out == "anthropic: switched to account home\n"
    auth("auth", "test", "anthropic")
    assert server.keys[-2:] == [OTHER, GOOD]
    ran = auth("auth", "use", "anthropic", "hme")
    assert ran.code == 1 and "did you mean home" in ran.err


def test_environment_key_takes_precedence_and_is_reported(auth: Zot) -> None:
    auth.environment = {"ANTHROPIC_API_KEY": OTHER}
    ran = auth("auth", "login", "anthropic", "--key-stdin", stdin=GOOD)
    assert "ANTHROPIC_API_KEY is set in the environment and takes precedence" in ran.err
    ran = auth("auth", "logout", "anthropic")
    assert ran.out == "logged out of anthropic\n"
    assert ran.err == "zot: ANTHROPIC_API_KEY in the environment still supplies a key\n"


def test_logging_out_takes_one_account_and_names_the_others(auth: Zot) -> None:
    """engine-138: logging out changes auth.json and nothing else."""
    login(auth, "anthropic", "--account", "home")
    login(auth, "anthropic", "--account", "work", key=OTHER)
    before = sorted(path.name for path in (auth.home / "zot").iterdir())
    ran = auth("auth", "logout", "anthropic")
    assert ran.out == "logged out of anthropic (work)\n"
    assert "home is still stored; switch to it with `zot auth use anthropic home`" in ran.err
    assert [row["account"] for row in listed(auth)] == ["home"] and not listed(auth)[0]["in_use"]
    assert auth("auth", "logout", "anthropic", "--account", "home").code == 0
    assert content(auth) == {"anthropic": {}, "openai": {}, "kimi": {}}
    assert sorted(path.name for path in (auth.home / "zot").iterdir()) == before


def test_logging_out_of_all_leaves_nothing(auth: Zot) -> None:
    for account in ("home", "work"):
        login(auth, "anthropic", "--account", account)
    login(auth, "mine")
    assert auth("auth", "logout", "all").out == "logged out of anthropic\nlogged out of mine\n"
    assert listed(auth) == []
    assert auth("auth", "logout", "all").out == "no login stored\n"


def test_provider_missing_from_models_json_can_be_logged_out(auth: Zot) -> None:
    login(auth, "mine")
    (auth.home / "zot" / "models.json").unlink()
    assert [row["provider"] for row in listed(auth)] == ["mine"]
    ran = auth("auth", "logout", "mins")
    assert ran.code == 2 and "did you mean mine" in ran.err
    assert auth("auth", "logout", "mine").out == "logged out of mine\n"


@pytest.mark.parametrize("verb", ["login", "logout", "test", "use"])
def test_a_mistyped_provider_is_answered_with_the_nearest(auth: Zot, verb: str) -> None:
    ran = auth("auth", verb, "antropic", *(["x"] if verb == "use" else []))
    assert ran.code == 2 and "did you mean anthropic?" in ran.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("login",), "PROVIDER is missing; see `zot auth login --help`"),
        (("login", "openai", "--browser", "--device"), "use only one of these flags"),
        (("login", "openai", "--device"), "no device-code login"),
        (("login", "openai"), "no terminal to ask for"),
        (("login", "groq"), "no terminal to ask for the key"),
        (("login", "openai", "--key", "--device"), "use only one of these flags"),
        (("login", "openai", "--account", "a b", "--key-stdin"), "expected up to 64 letters"),
        (("login", "ollama"), "needs no login"),
        (("logout", "all", "--account", "x"), "requires a single provider"),
        (("use", "openai"), "ACCOUNT is missing"),
        (("lst",), "did you mean list"),
        (("login", "openai", "--timeout", "soon"), "expected seconds"),
    ],
)
def test_auth_error_is_one_line(auth: Zot, typed: tuple[str, ...], said: str) -> None:
    ran = auth("auth", *typed, stdin=GOOD if "--key-stdin" in typed else None)
    assert ran.code in (1, 2) and said in ran.err and ran.err.count("\n") == 1, ran


def test_auth_test_probes_provider_and_sets_exit_code(auth: Zot, server: FakeKeyServer) -> None:
    assert auth("auth", "test", "openai").code == 1
    login(auth, "openai")
    assert auth("auth", "test", "OpenAI").code == 0
    server.good = frozenset()
    ran = auth("auth", "test", "openai")
    assert ran.code == 1
    assert ran.err == (
        "zot: the credential from auth.json: openai refused this key (http 401): "
        "no such key: ***, ask the administrator\n"
    )


def test_broken_file_is_one_line_and_unchanged(auth: Zot) -> None:
    path = auth.home / "zot" / "auth.json"
    path.write_text('{"openai": {"api_key": "s3cret"')
    for typed in (("list",), ("login", "openai", "--key-stdin"), ("logout", "all"), ("test", "openai")):
        ran = auth("auth", *typed, stdin=GOOD)
        assert ran.code == 1 and "auth.json" in ran.err and "s3cret" not in ran.err and "Traceback" not in ran.err
    assert path.read_text() == '{"openai": {"api_key": "s3cret"'


def test_keyring_setting_stores_secret_in_keyring(auth: Zot, server: FakeKeyServer) -> None:
    ring = auth.home / "ring"
    (auth.home / "zot" / "config.json").write_text('{"credential_store": "keyring"}')
    auth.environment = file_keyring.environment(ring)
    ran = auth("auth", "login", "openai", "--key-stdin", stdin=GOOD)
    assert ran.out == "logged in to OpenAI; stored in your system's keyring\n", ran
    assert GOOD not in (auth.home / "zot" / "auth.json").read_text()
    assert GOOD in json.dumps(file_keyring.items(ring))
    assert listed(auth)[0]["source"] == "keyring"
    assert auth("auth", "test", "openai").code == 0
    ring.with_name("locked").touch()
    ran = auth("auth", "test", "openai")
    assert (ran.code, ran.err) == (1, "zot: the system's keyring is locked; unlock it and try again\n")


# --- in a terminal


class PatientTerminal(FakeTerminal):
    """On a loaded machine a program takes its time to begin."""

    def wait_for(self, text: str, timeout: float = 60) -> None:
        super().wait_for(text, timeout)

    def wait_exit(self, timeout: float = 60) -> int:
        return super().wait_exit(timeout)


def in_terminal(zot: Zot, *args: str) -> FakeTerminal:
    return PatientTerminal(zot.argv(["auth", *args]), cwd=zot.project, env=zot.env(), columns=140)


def test_key_pasted_in_terminal_is_hidden_and_editable(auth: Zot) -> None:
    auth.environment = {"ZOT_NO_BROWSER": "1"}
    with in_terminal(auth, "login", "mine") as terminal:
        terminal.wait_for("Paste the key for mine here")
        terminal.type("sk-bad-0123456789\n")
        terminal.wait_for("no credential was saved: mine refused this key (http 401): no such key")
        terminal.type(f"{GOOD}\n")
        terminal.wait_for("logged in to mine")
        assert terminal.wait_exit() == 0
        assert b"sk-" not in terminal.raw
    assert content(auth)["additional_api_key_creds"]["mine"] == {"api_key": GOOD}


@pytest.mark.parametrize(("key", "code"), [("ctrl+c", 130), ("ctrl+d", 1)])
def test_leaving_stores_nothing(auth: Zot, key: str, code: int) -> None:
    auth.environment = {"ZOT_NO_BROWSER": "1"}
    with in_terminal(auth, "login", "mine") as terminal:
        terminal.wait_for("it is not shown")
        terminal.press(key)
        assert terminal.wait_exit() == code
    assert content(auth) == {}


def opener(zot: Zot) -> Path:
    """A browser that only records the URL and environment it was started with."""
    told = zot.home / "opened"
    os.mkfifo(told)
    folder = zot.home / "bin"
    folder.mkdir()
    (folder / "xdg-open").write_text(f'#!/bin/sh\n{{ echo "$1"; env; }} > {told}\n')
    (folder / "xdg-open").chmod(0o755)
    zot.environment |= {"ZOT_FORCE_BROWSER": "1", "PATH": f"{folder}:{os.environ['PATH']}"}
    return told


def test_the_page_waits_beside_the_terminal_and_a_paste_ends_it(auth: Zot) -> None:
    told = opener(auth)
    auth.environment["OPENAI_API_KEY"] = "sk-env-0123456789"
    with in_terminal(auth, "login", "mine") as terminal:
        url, *environment = told.read_text().splitlines()
        terminal.wait_for("Or paste the key for mine here")
        assert url.startswith("http://127.0.0.1:") and not any("sk-env" in line for line in environment)
        terminal.type(f"{GOOD}\n")
        terminal.wait_for("logged in to mine")
        assert terminal.wait_exit() == 0


def test_a_browser_that_never_comes_ends_with_a_sentence(auth: Zot) -> None:
    auth.environment = {"ZOT_NO_BROWSER": "1"}
    ran = auth("auth", "login", "mine", "--browser", "--timeout", "1")
    assert ran.code == 1
    assert "Open this address in a browser on this machine:\nhttp://127.0.0.1:" in ran.err
    assert ran.err.endswith("zot: login timed out after 1 s; no credential was saved\n")


def test_terminal_is_restored_after_a_kill(auth: Zot) -> None:
    auth.environment = {"ZOT_NO_BROWSER": "1"}
    script = f"{' '.join(auth.argv(['auth', 'login', 'mine']))}; echo over; stty -a"
    with PatientTerminal(["/bin/sh", "-c", script], cwd=auth.project, env=auth.env(), columns=140) as terminal:
        terminal.wait_for("it is not shown")
        children = Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text().split()
        subprocess.run(["kill", "-TERM", children[0]], check=True)
        terminal.wait_for("over")
        terminal.wait_for(" echo ")
