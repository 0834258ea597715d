"""Secrets in the system's keyring: a real backend of the ``keyring`` package, in real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import file_keyring

PRELUDE = """
import sys; from pathlib import Path
from zot.errors import ZotError
from zot.provider.auth.credential_lookup import find_credential, has_credential
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.providers import builtin_providers
home = Path(sys.argv[1])
store = AuthStore(home, keyring=True)
openai = builtin_providers()["openai"]
"""


class Ring:
    """A home, a ring, and processes that use both."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.place = place / "ring"

    def run(self, code: str, **environ: str) -> str:
        env = {**os.environ, **file_keyring.environment(self.place), **environ}
        argv = [sys.executable, "-c", PRELUDE + code, str(self.home)]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @property
    def file(self) -> dict[str, Any]:
        return json.loads((self.home / "auth.json").read_text())

    @property
    def items(self) -> dict[str, str]:
        return file_keyring.items(self.place)

    def lock(self) -> None:
        self.place.with_name("locked").touch()


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring(tmp_path)


FOUND = "c = find_credential(openai, store, {}); print(c.key, c.method, c.source, c.account, c.account_id)"
LOGIN = "store.set_oauth('openai', OAuthToken(access_token='s3-a', refresh_token='s3-r', expiry='2999-01-01T00:00:00Z',"
LOGIN += " scope='all', account_id='acc'))\n"


def test_the_secret_is_in_the_ring_and_the_rest_in_the_file(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 's3-key', 'work')")
    (item,) = ring.items
    assert ring.file["openai"] == {"keyring": item.removeprefix("zot ")}
    assert "s3-" not in json.dumps(ring.file)
    assert ring.run(FOUND) == "s3-key apikey keyring work"


def test_login_expiry_is_in_file_and_tokens_in_keyring(ring: Ring) -> None:
    ring.run(LOGIN)
    assert ring.file["openai"]["oauth"] == {
        "access_token": "",
        "expiry": "2999-01-01T00:00:00Z",
        "scope": "all",
        "account_id": "acc",
    }
    assert ring.run(FOUND) == "s3-a oauth keyring default acc"
    assert ring.run("print(store.entry('openai').oauth.refresh_token)") == "s3-r"


def test_a_renewed_login_changes_its_item_in_one_step(ring: Ring) -> None:
    ring.run(LOGIN)
    (before,) = ring.items
    ring.run("store.renew_oauth('openai', 'default', OAuthToken(access_token='s3-b', refresh_token='s3-r2'))")
    assert list(ring.items) == [before]
    assert ring.run("t = store.entry('openai').oauth; print(t.access_token, t.refresh_token)") == "s3-b s3-r2"


def test_replaced_key_and_logout_leave_no_item(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 'one'); store.set_api_key('openai', 'two')")
    assert [json.loads(value) for value in ring.items.values()] == [{"api_key": "two"}]
    ring.run("store.clear('openai')")
    assert ring.items == {} and ring.file["openai"] == {}


def test_two_homes_do_not_share_an_item(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 'one'); AuthStore(home / 'other', keyring=True).set_api_key('openai', 'two')")
    assert ring.run("print(store.entry('openai').api_key)") == "one"


def test_keyring_item_is_found_after_setting_is_file(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 's3-key')")
    assert ring.run("store.keyring = False\n" + FOUND).startswith("s3-key apikey keyring")
    ring.run("store.keyring = False; store.set_api_key('openai', 's3-new')")
    assert ring.file["openai"] == {"api_key": "s3-new"} and ring.items == {}


def test_questions_ask_no_ring(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 's3-key')")
    ring.lock()
    asked = "print(has_credential(openai, store, {}), store.stored(), 'keyring' in sys.modules)"
    assert ring.run(asked) == "True {'openai': 'apikey'} False"
    assert ring.run("print(find_credential(openai, store, {}, background=True))") == "None"


TRIED = "\ntry:\n    {}\nexcept ZotError as error:\n    print(error)"


@pytest.mark.parametrize("action", ["find_credential(openai, store, {})", "store.set_api_key('openai', 's3-new')"])
def test_a_locked_ring_is_one_clear_error_and_changes_nothing(ring: Ring, action: str) -> None:
    ring.run("store.set_api_key('openai', 's3-key')")
    before = ring.file
    ring.lock()
    assert ring.run(TRIED.format(action)) == "the system's keyring is locked; unlock it and try again"
    assert ring.file == before


def test_item_that_cannot_be_deleted_is_reported(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 's3-key')")
    ring.lock()
    assert "is still in the system's keyring: " in ring.run("store.clear('openai'); print(*store.notices)")
    assert ring.file["openai"] == {}


def test_deleted_item_asks_for_login(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 's3-key')")
    ring.place.unlink()
    assert "has no item" in ring.run(TRIED.format("store.entry('openai')"))


def test_changed_item_is_not_shown(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 's3-key')")
    ring.place.write_text(json.dumps(dict.fromkeys(ring.items, "s3-other")))
    told = ring.run(TRIED.format("store.entry('openai')"))
    assert "is not in zot's format; log in again" in told and "s3-" not in told


def test_a_machine_without_a_ring_names_the_setting(ring: Ring) -> None:
    told = ring.run(
        TRIED.format("store.set_api_key('openai', 'k')"), PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring"
    )
    assert told.endswith('no supported keyring on this machine; set "credential_store": "file" in config.json')
    assert not (ring.home / "auth.json").exists()


def test_missing_package_error_names_the_extra(ring: Ring) -> None:
    code = "sys.modules['keyring'] = None" + TRIED.format("store.set_api_key('openai', 'k')")
    assert "`zot-agent[keyring]`" in ring.run(code)


def test_keyring_secrets_are_redacted(ring: Ring) -> None:
    ring.run("store.set_api_key('openai', 's3-key'); store.set_api_key('openai', 's3-two', 'work')")
    assert sorted(ring.run("print(*store.secrets())").split()) == ["s3-key", "s3-two"]
