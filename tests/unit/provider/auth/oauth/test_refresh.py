"""Keeping logins fresh, against a real OAuth server that takes every refresh token once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.oauth_server import CLIENT, OAuthServer
from zot.errors import LoginFailed, NotLoggedIn
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.oauth.refresh import fresh_token
from zot.provider.auth.oauth.token_endpoint import revoked
from zot.provider.providers import Provider


def provider(server: OAuthServer, **changes: Any) -> Provider:
    row = {"issuer": server.url, "client_id": CLIENT, "scopes": ["openid"], **changes}
    return Provider(id="gateway", name="Gateway", api="openai", oauth_row=row)


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def log_in(server: OAuthServer, home: Path, left_s: float = -1, **changes: Any) -> AuthStore:
    """A stored login whose access token lives for ``left_s`` seconds."""
    answer = server.tokens()
    fields = {name: answer[name] for name in ("access_token", "refresh_token", "id_token", "scope")}
    store = AuthStore(home)
    store.set_oauth("gateway", OAuthToken(**{**fields, "client_id": CLIENT, "expiry": stamp(left_s), **changes}))
    return store


def stored(store: AuthStore) -> OAuthToken:
    token = store.entry("gateway").oauth
    assert token is not None
    return token


@pytest.mark.parametrize(("left", "expired"), [(59, True), (61, False), (0, True), (-1000, True), (3600, False)])
def test_a_token_expires_a_minute_early(left: float, expired: bool) -> None:
    """engine-120: a token with 59 s left counts as expired, with 61 s left it does not."""
    now = 1_800_000_000.0
    expiry = datetime.fromtimestamp(now + left, UTC).isoformat()
    assert OAuthToken(access_token="a", expiry=expiry).expired(now) is expired


@pytest.mark.parametrize("expiry", ["", "0001-01-01T00:00:00Z"])
def test_zero_expiry_never_expires(expiry: str) -> None:
    """engine-121: an expiry of zero, as Go writes it, means that the token never expires."""
    assert not OAuthToken(access_token="a", expiry=expiry).expired(time.time())


async def test_a_token_is_refreshed_before_it_ends_and_not_earlier(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path, left_s=600)
    before = stored(store)
    assert await fresh_token(store, provider(server)) == before
    assert server.state["rotations"] == 0
    store.set_oauth("gateway", msgspec.structs.replace(before, expiry=stamp(50)))
    after = await fresh_token(store, provider(server))
    assert after == stored(store)
    assert after.access_token != before.access_token
    assert after.refresh_token != before.refresh_token
    assert not after.expired(time.time())
    assert server.state["rotations"] == 1


async def test_refresh_preserves_omitted_fields(server: OAuthServer, tmp_path: Path) -> None:
    """engine-122: a refresh preserves the old refresh token, account id and id token when the answer omits them."""
    store = log_in(server, tmp_path, account_id="acc-7")
    before = stored(store)
    server.knobs(rotates=False, token={"id_token": None, "scope": None})
    after = await fresh_token(store, provider(server))
    assert after.access_token != before.access_token
    kept = ("refresh_token", "account_id", "id_token", "scope", "client_id")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert (tmp_path / "auth.json").stat().st_mode & 0o777 == 0o600


async def test_the_refreshed_account_id_is_used(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path, account_id="old")
    path = ["https://api.openai.com/auth", "chatgpt_account_id"]
    assert (await fresh_token(store, provider(server, account_claim=path))).account_id == "acc-1"


async def test_rejected_token_is_refreshed_unless_already_renewed(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path, left_s=3000)
    refused = stored(store).access_token
    first = await fresh_token(store, provider(server), refused=refused)
    second = await fresh_token(store, provider(server), refused=refused)
    assert first == second
    assert first.access_token != refused
    assert server.state["rotations"] == 1
    assert (await fresh_token(store, provider(server), force=True)).access_token != first.access_token
    assert server.state["rotations"] == 2


async def test_inactive_account_is_refreshed(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    store.set_oauth("gateway", OAuthToken(access_token="other", refresh_token="other"), "work")
    after = await fresh_token(store, provider(server), account="default")
    assert store.active("gateway") == "work"
    assert store.entry("gateway", "default").oauth == after
    assert stored(store).access_token == "other"


REFRESH = """
import asyncio, sys, msgspec
from pathlib import Path
from zot.provider.auth.oauth.refresh import fresh_token
from zot.provider.auth.auth_store import AuthStore
from zot.provider.providers import Provider
provider = msgspec.json.decode(sys.argv[2], type=Provider)
print("ready", flush=True)
sys.stdin.readline()
print(asyncio.run(fresh_token(AuthStore(Path(sys.argv[1])), provider)).access_token, flush=True)
"""


def racer(home: Path, row: Provider, **options: Any) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", REFRESH, str(home), msgspec.json.encode(row).decode()]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)


def go(racers: list[subprocess.Popen[str]]) -> None:
    for child in racers:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in racers:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()


def test_twenty_processes_refresh_once(server: OAuthServer, tmp_path: Path) -> None:
    """engine-123: a concurrent refresh from two processes, or from twenty, yields one rotation."""
    store = log_in(server, tmp_path)
    server.knobs(delay_s=0.3)
    racers = [racer(tmp_path, provider(server)) for _ in range(20)]
    go(racers)
    answers = {child.communicate(timeout=100)[0].strip() for child in racers}
    assert answers == {stored(store).access_token}
    assert server.state["rotations"] == 1
    assert server.state["reuses"] == 0


def rotated(server: OAuthServer) -> None:
    """Wait until the server has done the refresh; its answer is held back."""
    deadline = time.monotonic() + 60
    while server.state["rotations"] == 0:
        assert time.monotonic() < deadline, "the refresh never came"
        time.sleep(0.01)


def changed(store: AuthStore, before: OAuthToken) -> OAuthToken:
    deadline = time.monotonic() + 60
    while (now := stored(store)) == before:
        assert time.monotonic() < deadline, "the answer was never written"
        time.sleep(0.01)
    return now


def test_a_rotation_survives_kill_9_between_answer_and_write(server: OAuthServer, tmp_path: Path) -> None:
    """The process is killed after the old token is spent: the new one is still written."""
    store = log_in(server, tmp_path)
    before = stored(store)
    server.knobs(hold=True)
    child = racer(tmp_path, provider(server))
    go([child])
    rotated(server)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=30)
    late = racer(tmp_path, provider(server))  # comes while the exchange is still under way: it waits for the lock
    go([late])
    server.knobs(hold=False)
    after = changed(store, before)
    assert late.communicate(timeout=60)[0].strip() == after.access_token
    assert server.state["rotations"] == 1
    again = asyncio.run(fresh_token(store, provider(server), force=True))
    assert again.access_token != after.access_token
    assert server.state["reuses"] == 0


def test_twenty_processes_half_killed_share_one_login(server: OAuthServer, tmp_path: Path) -> None:
    """The lock holder is among the killed; no token is used twice, and the login stays valid."""
    store = log_in(server, tmp_path)
    server.knobs(hold=True)
    racers = [racer(tmp_path, provider(server)) for _ in range(20)]
    go(racers)
    rotated(server)
    holder = holders()
    killed = [child for child in racers if child.pid in holder]
    killed += [child for child in racers if child not in killed][: 10 - len(killed)]
    assert holder & {child.pid for child in killed}
    for child in killed:
        os.kill(child.pid, signal.SIGKILL)
    server.knobs(hold=False)
    answers = {child.communicate(timeout=100)[0].strip() for child in racers if child not in killed}
    for child in killed:
        child.communicate(timeout=30)
    assert answers == {stored(store).access_token}
    assert (server.state["rotations"], server.state["reuses"]) == (1, 0)
    assert asyncio.run(fresh_token(store, provider(server), force=True)).access_token not in answers


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=[pytest.mark.torture, pytest.mark.timeout(1800)])])
def test_kills_at_any_moment(server: OAuthServer, tmp_path: Path, kills: int) -> None:
    """Includes the process group, as when a terminal closes: the login stays valid, and no token is used twice."""
    chance = random.Random(kills)
    store = log_in(server, tmp_path)
    server.knobs(expires_in=1)  # whoever comes must refresh
    for _ in range(kills):
        child = racer(tmp_path, provider(server), start_new_session=True)
        go([child])
        with suppress(subprocess.TimeoutExpired):
            child.wait(chance.uniform(0, 1.5))
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate(timeout=30)
    last = asyncio.run(fresh_token(store, provider(server), force=True))
    assert last == stored(store)
    assert server.state["reuses"] == 0


def holders() -> set[int]:
    """Processes with an exchange in progress."""
    found: set[int] = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            if b"refresh_process" in words:
                found.add(int((place / "stat").read_text().rpartition(")")[2].split()[1]))
        except OSError:
            continue
    return found


async def test_cancelling_leaves_the_exchange_to_its_work(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    before = stored(store)
    server.knobs(hold=True)
    task = asyncio.ensure_future(fresh_token(store, provider(server)))
    await asyncio.to_thread(rotated, server)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.knobs(hold=False)
    await asyncio.to_thread(changed, store, before)
    assert (await fresh_token(store, provider(server))).refresh_token != before.refresh_token
    assert server.state["reuses"] == 0


async def test_logout_during_refresh_stays_logged_out(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    server.knobs(hold=True)
    task = asyncio.ensure_future(fresh_token(store, provider(server)))
    await asyncio.to_thread(rotated, server)
    store.clear("gateway")
    server.knobs(hold=False)
    with pytest.raises(NotLoggedIn):
        await task
    assert store.entry("gateway").method == ""


async def test_no_process_to_be_had(server: OAuthServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = log_in(server, tmp_path)
    for broken in ("", str(tmp_path / "no-python"), "/bin/false"):
        monkeypatch.setattr(sys, "executable", broken)
        before = stored(store)
        assert (await fresh_token(store, provider(server), force=True)).refresh_token != before.refresh_token


# -- when it fails ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["html", "garbage", "500", "redirect"])
async def test_temporary_error_does_not_remove_login(server: OAuthServer, tmp_path: Path, answer: str) -> None:
    store = log_in(server, tmp_path)
    before = stored(store)
    server.knobs(token_answer=answer)
    with pytest.raises(LoginFailed, match="it is still stored, try again") as raised:
        await fresh_token(store, provider(server))
    assert raised.value.transient
    assert stored(store) == before
    assert before.refresh_token not in str(raised.value)
    server.knobs(token_answer="")
    assert (await fresh_token(store, provider(server))).access_token != before.access_token


async def test_a_server_that_is_not_there(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    gone = provider(server, issuer="", token_url="http://127.0.0.1:9/token", device_url="http://127.0.0.1:9/d")
    with pytest.raises(LoginFailed, match="cannot reach") as raised:
        await fresh_token(store, gone)
    assert raised.value.transient


async def test_revoked_login_error_has_a_fix(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path, refresh_token="refresh-that-is-unknown")
    with pytest.raises(LoginFailed, match=r"Gateway has ended: .*invalid_grant.*log in again with `zot auth") as raised:
        await fresh_token(store, provider(server))
    assert not raised.value.transient
    assert "refresh-that-is-unknown" not in str(raised.value)
    assert stored(store).refresh_token == "refresh-that-is-unknown", "nothing is thrown away"


async def test_a_client_the_server_does_not_know(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path, client_id="stranger")
    with pytest.raises(LoginFailed, match=r"check client_id in models\.json"):
        await fresh_token(store, provider(server))


async def test_a_login_without_a_refresh_token(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path, refresh_token="")
    with pytest.raises(LoginFailed, match="no refresh token was issued; log in again with `zot auth login` or /login"):
        await fresh_token(store, provider(server))


async def test_refresh_without_login_is_an_error(server: OAuthServer, tmp_path: Path) -> None:
    with pytest.raises(NotLoggedIn, match="log in again"):
        await fresh_token(AuthStore(tmp_path), provider(server))
    with pytest.raises(NotLoggedIn, match="no oauth settings"):
        await fresh_token(AuthStore(tmp_path), Provider(id="x", name="X", api="openai"))


async def test_token_of_another_user_is_rejected(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    before = stored(store)
    server.knobs(claims={"sub": "eve"})
    with pytest.raises(LoginFailed, match="names another user"):
        await fresh_token(store, provider(server))
    assert stored(store) == before


async def test_unwritable_store_is_detected_before_token_is_spent(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    before = stored(store)
    lock = tmp_path / ".auth.json.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()  # nothing can be written while it cannot be locked
    with pytest.raises(LoginFailed, match="cannot write"):
        await fresh_token(store, provider(server))
    assert server.state["rotations"] == 0
    lock.rmdir()
    assert (await fresh_token(store, provider(server))).access_token != before.access_token


def asked_again(server: OAuthServer) -> None:
    deadline = time.monotonic() + 60
    while len(server.requests("/token")) < 4:  # two logins, a refresh, and now another
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_program_without_our_lock_was_quicker(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    other = log_in(server, tmp_path / "other")
    server.knobs(delay_s=0)
    spent = stored(store)
    fresh = await fresh_token(other, provider(server))
    store.set_oauth("gateway", msgspec.structs.replace(spent, refresh_token="spent-by-another-program"))
    server.knobs(hold=True)
    task = asyncio.ensure_future(fresh_token(store, provider(server)))
    await asyncio.to_thread(asked_again, server)
    store.set_oauth("gateway", fresh)
    server.knobs(hold=False)
    assert await task == fresh


# -- revoking -----------------------------------------------------------------------------------------------------


async def test_logout_revokes_token_at_server(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path, left_s=1000)
    said = await revoked(store, provider(server))
    assert "login revoked" in said
    assert server.state["revoked"] == ["refresh_token", "access_token"]
    with pytest.raises(LoginFailed, match="invalid_grant"):
        await fresh_token(store, provider(server), force=True)


async def test_failed_revocation_is_reported(server: OAuthServer, tmp_path: Path) -> None:
    store = log_in(server, tmp_path)
    row = provider(server, issuer="", token_url=f"{server.url}/token", device_url=f"{server.url}/d")
    assert await revoked(store, row) == "", "it offers no way to ask"
    row = provider(server, revoke_url=f"{server.url}/nothing", token_url=f"{server.url}/token", device_url="https://x")
    assert "cannot revoke the login" in await revoked(store, row)
    assert await revoked(AuthStore(tmp_path / "nobody"), row) == ""


async def test_logging_out_writes_nothing_but_auth_json(server: OAuthServer, tmp_path: Path) -> None:
    """engine-138: a logout writes `auth.json` only; no marker is made, and one left by the reference is ignored."""
    store = log_in(server, tmp_path)
    (tmp_path / "kimi-logged-out").write_text("marker")
    await revoked(store, provider(server))
    store.clear("gateway")
    names = sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock"))
    assert names == ["auth.json", "kimi-logged-out"]
    assert store.stored() == {}
