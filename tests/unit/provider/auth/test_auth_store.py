"""``auth.json`` on a real disk, changed by real processes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plain_user import plain_user
from zot.errors import ConfigError, UsageError
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.credential_lookup import Credential, find_credential
from zot.provider.providers import builtin_providers

TOKEN = OAuthToken(access_token="at", refresh_token="rt", token_type="Bearer", account_id="acc")


def content(home: Path) -> dict[str, Any]:
    return json.loads((home / "auth.json").read_text())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_file_is_private_pretty_and_has_three_keys(tmp_path: Path) -> None:
    """engine-113, iface-274: auth.json is created with mode 0600 in a folder of mode 0700, indented, with its three
    fixed keys.
    """
    home = tmp_path / "new" / "home"
    AuthStore(home).set_api_key("anthropic", "sk-1")
    assert mode(home / "auth.json") == 0o600
    assert mode(home) == 0o700
    text = (home / "auth.json").read_text()
    assert text.startswith('{\n  "anthropic": {\n    "api_key": "sk-1"\n  },\n  "openai": {},\n  "kimi": {}\n}')


def test_a_save_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    """engine-113: a reader with the old file open still sees it whole, and no temporary file remains."""
    store = AuthStore(tmp_path)
    store.set_api_key("openai", "one")
    with (tmp_path / "auth.json").open() as old:
        store.set_api_key("openai", "two")
        assert json.load(old)["openai"] == {"api_key": "one"}
    assert {p.name for p in tmp_path.iterdir()} == {"auth.json", ".auth.json.lock"}


def test_a_write_that_fails_is_an_error_naming_the_file(tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.write_text("in the way")
    with pytest.raises(ConfigError, match=r"auth\.json: cannot write: Not a directory|File exists"):
        AuthStore(home).set_api_key("openai", "k")


def test_a_login_clears_the_key_and_a_key_clears_the_login(tmp_path: Path) -> None:
    """engine-114: storing an OAuth login removes the API key, and storing a key removes the login."""
    store = AuthStore(tmp_path)
    store.set_api_key("openai", "sk")
    store.set_oauth("openai", TOKEN)
    assert store.entry("openai").method == "oauth"
    assert "api_key" not in content(tmp_path)["openai"]
    store.set_api_key("openai", "sk")
    assert store.entry("openai").method == "apikey"
    assert "oauth" not in content(tmp_path)["openai"]


def test_clear_empties_only_that_provider(tmp_path: Path) -> None:
    """engine-115: clearing a provider leaves the credentials of every other provider alone."""
    store = AuthStore(tmp_path)
    for provider in ("anthropic", "openai", "groq", "mistral"):
        store.set_api_key(provider, provider)
    store.clear("openai")
    store.clear("groq")
    assert store.stored() == {"anthropic": "apikey", "mistral": "apikey"}
    assert content(tmp_path)["openai"] == {}


def test_clearing_unknown_provider_is_an_error_listing_stored(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_api_key("my-co", "k")
    with pytest.raises(UsageError, match=r'"nope".*my-co'):
        store.clear("nope")


def test_no_file_means_no_credentials(tmp_path: Path) -> None:
    """engine-116: a missing auth.json reads as no credentials, and reading does not create it."""
    store = AuthStore(tmp_path / "absent")
    assert store.entry("anthropic").method == ""
    assert store.stored() == {}
    assert not (tmp_path / "absent").exists()


def test_other_providers_live_under_their_own_key(tmp_path: Path) -> None:
    AuthStore(tmp_path).set_api_key("openrouter", "k")
    assert content(tmp_path)["additional_api_key_creds"] == {"openrouter": {"api_key": "k"}}


def test_unknown_keys_are_kept_at_every_level(tmp_path: Path) -> None:
    before = {
        "accounts": {"work": {"x": 1}},
        "openai": {"api_key": "old", "note": "mine"},
        "additional_api_key_creds": {"groq": {"api_key": "g", "note": 2}},
        "future": [1, 2],
    }
    (tmp_path / "auth.json").write_text(json.dumps(before))
    store = AuthStore(tmp_path)
    store.set_api_key("openai", "new")
    store.set_api_key("mistral", "m")
    after = content(tmp_path)
    assert after["accounts"] == before["accounts"]
    assert after["future"] == [1, 2]
    assert after["openai"] == {"note": "mine", "api_key": "new"}
    assert after["additional_api_key_creds"]["groq"] == {"api_key": "g", "note": 2}


@pytest.mark.parametrize("text", ['{"openai": ', "[]", "nonsense"])
def test_unparseable_file_is_an_error_and_never_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "auth.json"
    path.write_text(text)
    store = AuthStore(tmp_path)
    for action in (
        lambda: store.entry("openai"),
        lambda: store.set_api_key("openai", "k"),
        lambda: store.clear("openai"),
    ):
        with pytest.raises(ConfigError, match=r"auth\.json"):
            action()
    assert path.read_text() == text


def test_entry_error_names_provider_but_not_secret(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"openai": {"oauth": {"access_token": 5, "refresh_token": "s3cret"}}}')
    with pytest.raises(ConfigError, match="openai") as raised:
        AuthStore(tmp_path).entry("openai")
    assert "s3cret" not in str(raised.value)


def test_a_file_open_to_others_is_tightened_with_one_notice(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    path.write_text('{"openai": {"api_key": "k"}}')
    path.chmod(0o644)
    store = AuthStore(tmp_path)
    assert store.entry("openai").api_key == "k"
    store.entry("openai")
    assert mode(path) == 0o600
    (notice,) = store.notices
    assert "644" in notice


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "auth.json"
    real.parent.mkdir()
    real.write_text("{}")
    home = tmp_path / "home"
    home.mkdir()
    (home / "auth.json").symlink_to(real)
    AuthStore(home).set_api_key("openai", "k")
    assert (home / "auth.json").is_symlink()
    assert json.loads(real.read_text())["openai"] == {"api_key": "k"}


@pytest.mark.parametrize(
    ("expiry", "now", "expired"),
    [
        ("", 1e12, False),
        ("0001-01-01T00:00:00Z", 1e12, False),
        ("1970-01-01T00:10:00Z", 539, False),
        ("1970-01-01T00:10:00Z", 541, True),
        ("1970-01-01T01:10:00.123456789+01:00", 541, True),
    ],
)
def test_a_token_expires_a_minute_early(expiry: str, now: float, expired: bool) -> None:
    assert OAuthToken(access_token="t", expiry=expiry).expired(now) is expired


def test_two_processes_writing_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from zot.provider.auth.auth_store import AuthStore\n"
        "store = AuthStore(Path(sys.argv[1]))\n"
        "for i in range(15): store.set_api_key(f'{sys.argv[2]}-{i}', 'k')\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    stored = AuthStore(tmp_path).stored()
    assert set(stored) == {f"{name}-{i}" for name in ("a", "b") for i in range(15)}


def test_a_writer_waits_for_the_lock_of_another_process(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from zot.system.files import locked\n"
        "with locked(Path(sys.argv[1]) / 'auth.json'):\n"
        "    print('held', flush=True); sys.stdin.readline()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        writer = threading.Thread(target=AuthStore(tmp_path).set_api_key, args=("openai", "k"))
        writer.start()
        writer.join(0.2)
        assert writer.is_alive()
        assert not (tmp_path / "auth.json").exists()
        holder.stdin.write("\n")
        holder.stdin.flush()
        writer.join(30)
    assert AuthStore(tmp_path).entry("openai").api_key == "k"


def test_a_file_we_may_not_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text("{}")
    (tmp_path / "auth.json").chmod(0)
    with plain_user(tmp_path), pytest.raises(ConfigError, match="cannot be read"):
        AuthStore(tmp_path).entry("openai")


# Several accounts of one provider in ``auth.json``.

ANTHROPIC = builtin_providers()["anthropic"]


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


def test_active_account_is_at_top_level_and_no_secret_twice(tmp_path: Path) -> None:
    store = two(tmp_path)
    assert content(tmp_path)["anthropic"] == {"api_key": "k-work"}
    assert content(tmp_path)["accounts"] == {"anthropic": {"active": "work", "others": {"home": {"api_key": "k-home"}}}}
    store.use("anthropic", "home")
    assert content(tmp_path)["anthropic"] == {"api_key": "k-home"}
    assert (tmp_path / "auth.json").read_text().count("k-home") == 1


def test_unnamed_key_is_account_default(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_api_key("openai", "first")
    assert "accounts" not in content(tmp_path)
    store.set_api_key("openai", "second", "work")
    assert list(store.accounts("openai")) == ["work", "default"]
    store.use("openai", "default")
    assert store.entry("openai").api_key == "first"


def test_credential_has_its_account(tmp_path: Path) -> None:
    assert find_credential(ANTHROPIC, two(tmp_path), {}) == Credential("k-work", source="file", account="work")


def test_unnamed_key_replaces_key_of_active_account(tmp_path: Path) -> None:
    store = two(tmp_path)
    store.set_api_key("anthropic", "k-new")
    assert {name: store.entry("anthropic", name).api_key for name in store.accounts("anthropic")} == {
        "work": "k-new",
        "home": "k-home",
    }


def test_logout_removes_one_account_and_activates_no_other(tmp_path: Path) -> None:
    store = two(tmp_path)
    store.clear("anthropic")
    assert (content(tmp_path)["anthropic"], store.stored()) == ({}, {})
    assert list(store.accounts("anthropic")) == ["home"]
    store.use("anthropic", "home")
    assert store.entry("anthropic").api_key == "k-home"
    store.clear("anthropic", "home")
    assert "accounts" not in content(tmp_path)


def test_inactive_account_can_be_removed(tmp_path: Path) -> None:
    store = two(tmp_path, "groq")
    store.clear("groq", "home")
    assert list(store.accounts("groq")) == ["work"]
    assert store.entry("groq").api_key == "k-work"


@pytest.mark.parametrize("name", ["worc", "nobody"])
def test_unknown_account_is_an_error_listing_known_ones(tmp_path: Path, name: str) -> None:
    store = two(tmp_path)
    for action in (store.use, store.clear):
        with pytest.raises(UsageError, match=r"stored: work, home") as raised:
            action("anthropic", name)
        assert ("did you mean work" in str(raised.value)) is (name == "worc")


@pytest.mark.parametrize("name", [" ", "a b", "-x", "a/b", "x" * 65, "\x1b[31m"])
def test_ambiguous_account_name_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="expected up to 64 letters"):
        AuthStore(tmp_path).set_api_key("openai", "k", name)
    assert not (tmp_path / "auth.json").exists()


def test_refreshed_login_is_stored_in_its_account(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_oauth("openai", OAuthToken(access_token="old", refresh_token="r1"), "work")
    store.set_api_key("openai", "k-home", "home")
    store.renew_oauth("openai", "work", OAuthToken(access_token="new", refresh_token="r2"))
    assert store.entry("openai").api_key == "k-home"
    token = store.entry("openai", "work").oauth
    assert token is not None and (token.access_token, token.refresh_token) == ("new", "r2")


def test_refreshed_login_does_not_restore_removed_account(tmp_path: Path) -> None:
    store = AuthStore(tmp_path)
    store.set_oauth("openai", OAuthToken(access_token="old"))
    store.clear("openai")
    store.renew_oauth("openai", "default", OAuthToken(access_token="new"))
    assert store.everything() == {}


def test_unknown_fields_are_preserved(tmp_path: Path) -> None:
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


def test_concurrent_logins_and_switches_lose_no_account(tmp_path: Path) -> None:
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
