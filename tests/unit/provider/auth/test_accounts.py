"""Several accounts of one provider in ``auth.json``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zot.errors import UsageError
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.credential_lookup import Credential, find_credential
from zot.provider.providers import builtin_providers

ANTHROPIC = builtin_providers()["anthropic"]


def content(home: Path) -> dict[str, Any]:
    return json.loads((home / "auth.json").read_text())


def two(home: Path, provider: str = "anthropic") -> AuthStore:
    store = AuthStore(home)
    store.set_api_key(provider, "k-home", "home")
    store.set_api_key(provider, "k-work", "work")
    return store


@pytest.mark.parametrize("provider", ["anthropic", "groq"])
def test_the_account_logged_in_last_is_used_and_the_others_stay(tmp_path: Path, provider: str) -> None:
    store = two(tmp_path, provider)
    assert (store.active(provider), store.entry(provider).api_key) == ("work", "k-work")
    assert store.entry(provider, "home").api_key == "k-home"
    assert list(store.accounts(provider)) == ["work", "home"]
    assert store.stored() == {provider: "apikey"}
    assert set(store.secrets()) == {"k-home", "k-work"}


def test_the_active_account_stands_where_the_reference_looks_and_no_secret_twice(tmp_path: Path) -> None:
    store = two(tmp_path)
    assert content(tmp_path)["anthropic"] == {"api_key": "k-work"}
    assert content(tmp_path)["accounts"] == {"anthropic": {"active": "work", "others": {"home": {"api_key": "k-home"}}}}
    store.use("anthropic", "home")
    assert content(tmp_path)["anthropic"] == {"api_key": "k-home"}
    assert (tmp_path / "auth.json").read_text().count("k-home") == 1


def test_a_key_nobody_named_is_the_account_default(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_api_key("openai", "first")
    assert "accounts" not in content(tmp_path)
    store.set_api_key("openai", "second", "work")
    assert list(store.accounts("openai")) == ["work", "default"]
    store.use("openai", "default")
    assert store.entry("openai").api_key == "first"


def test_the_credential_says_whose_it_is(tmp_path: Path) -> None:
    assert find_credential(ANTHROPIC, two(tmp_path), {}) == Credential("k-work", source="file", account="work")


def test_a_key_without_a_name_replaces_that_of_the_active_account(tmp_path: Path) -> None:
    store = two(tmp_path)
    store.set_api_key("anthropic", "k-new")
    assert {name: store.entry("anthropic", name).api_key for name in store.accounts("anthropic")} == {
        "work": "k-new",
        "home": "k-home",
    }


def test_logging_out_takes_one_account_and_puts_no_other_in_its_place(tmp_path: Path) -> None:
    store = two(tmp_path)
    store.clear("anthropic")
    assert (content(tmp_path)["anthropic"], store.stored()) == ({}, {})
    assert list(store.accounts("anthropic")) == ["home"]
    store.use("anthropic", "home")
    assert store.entry("anthropic").api_key == "k-home"
    store.clear("anthropic", "home")
    assert "accounts" not in content(tmp_path)


def test_an_account_that_is_not_active_can_be_forgotten(tmp_path: Path) -> None:
    store = two(tmp_path, "groq")
    store.clear("groq", "home")
    assert list(store.accounts("groq")) == ["work"]
    assert store.entry("groq").api_key == "k-work"


@pytest.mark.parametrize("name", ["worc", "nobody"])
def test_an_unknown_account_is_an_error_that_names_those_there_are(tmp_path: Path, name: str) -> None:
    store = two(tmp_path)
    for action in (store.use, store.clear):
        with pytest.raises(UsageError, match=r"stored: work, home") as raised:
            action("anthropic", name)
        assert ("did you mean work" in str(raised.value)) is (name == "worc")


@pytest.mark.parametrize("name", [" ", "a b", "-x", "a/b", "x" * 65, "\x1b[31m"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="a name has letters"):
        AuthStore(tmp_path).set_api_key("openai", "k", name)
    assert not (tmp_path / "auth.json").exists()


def test_a_renewed_login_goes_to_its_account_even_when_another_is_active_now(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_oauth("openai", OAuthToken(access_token="old", refresh_token="r1"), "work")
    store.set_api_key("openai", "k-home", "home")
    store.renew_oauth("openai", "work", OAuthToken(access_token="new", refresh_token="r2"))
    assert store.entry("openai").api_key == "k-home"
    token = store.entry("openai", "work").oauth
    assert token is not None and (token.access_token, token.refresh_token) == ("new", "r2")


def test_a_renewed_login_brings_no_account_back_that_was_logged_out(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_oauth("openai", OAuthToken(access_token="old"))
    store.clear("openai")
    store.renew_oauth("openai", "default", OAuthToken(access_token="new"))
    assert store.everything() == {}


def test_what_others_wrote_beside_accounts_and_into_logins_is_kept(tmp_path: Path) -> None:
    before = {
        "openai": {"oauth": {"access_token": "old", "device": "laptop"}, "note": 1},
        "accounts": {"openai": {"active": "work", "others": {"home": {"api_key": "k", "note": 2}}, "colour": "red"}},
    }
    (tmp_path / "auth.json").write_text(json.dumps(before))
    store = AuthStore(tmp_path)
    store.renew_oauth("openai", "work", OAuthToken(access_token="new"))
    store.use("openai", "home")
    after = content(tmp_path)
    assert after["openai"] == {"api_key": "k", "note": 2}
    work = {"oauth": {"access_token": "new", "device": "laptop"}, "note": 1}
    assert after["accounts"]["openai"] == {"colour": "red", "active": "home", "others": {"work": work}}


@pytest.mark.parametrize("accounts", [[], "x", {"anthropic": []}, {"anthropic": {"active": 5, "others": [1]}}])
def test_a_book_of_accounts_that_makes_no_sense_hides_no_key(tmp_path: Path, accounts: Any) -> None:
    (tmp_path / "auth.json").write_text(json.dumps({"anthropic": {"api_key": "k"}, "accounts": accounts}))
    store = AuthStore(tmp_path)
    assert store.entry("anthropic").api_key == "k"
    assert list(store.accounts("anthropic")) == ["default"]
    store.set_api_key("anthropic", "k2", "work")
    assert store.entry("anthropic", "default").api_key == "k"


def test_processes_that_log_in_and_switch_at_once_lose_no_account(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from zot.provider.auth.auth_store import AuthStore\n"
        "store = AuthStore(Path(sys.argv[1]))\n"
        "for i in range(10):\n"
        "    store.set_api_key('anthropic', f'k-{sys.argv[2]}-{i}', f'{sys.argv[2]}-{i}')\n"
        "    store.use('anthropic', f'{sys.argv[2]}-0')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b", "c")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    store = AuthStore(tmp_path)
    keys = {name: store.entry("anthropic", name).api_key for name in store.accounts("anthropic")}
    assert keys == {f"{name}-{i}": f"k-{name}-{i}" for name in "abc" for i in range(10)}


def test_nothing_that_is_stored_shows_itself(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_api_key("openai", "s3cret-key")
    store.set_oauth("kimi", OAuthToken(access_token="s3cret-access", refresh_token="s3cret-refresh"))
    assert "s3cret" not in f"{store.entry('openai')!r} {store.entry('kimi')!r} {store.entry('kimi').oauth!r}"
