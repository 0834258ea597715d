"""Exchanges a refresh token in a process that survives a killed zot.
It runs in its own session, inherits the lock of the login, reads its task from stdin, reports no secrets and lives
at most 30 s."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from zot.errors import ConfigError, LoginFailed, NotLoggedIn
from zot.provider.auth.auth_store import AuthStore, OAuthToken
from zot.provider.auth.oauth.refresh import RefreshOutcome, RefreshRequest, stored_login
from zot.provider.auth.oauth.server_metadata import OAuthClient, find_server
from zot.provider.auth.oauth.token_endpoint import request_token, token_from
from zot.provider.http.pool import HttpPool
from zot.provider.providers import credential_variables
from zot.system import process_setup
from zot.system.process_mark import marked_children
from zot.system.process_table import MARK_VARIABLE

_PATIENCE_S = 90.0  # metadata and token, half a minute each, and a slow start
_WRITES = 10
_WRITE_AGAIN_S = 1.0
_BEGUN = b" "  # printed before any request
_PROGRAM = f"import sys; sys.path[:0] = sys.argv[1:]; from {__name__} import main; main()"
_ALREADY_USED = ("invalid_grant", "refresh_token_reused", "invalid_refresh_token")
_INTERRUPTED = "the refreshing process was killed"


async def exchange(store: AuthStore, task: RefreshRequest) -> RefreshOutcome:
    """Refresh the stored login and save the new one; the caller has the login's lock."""
    pool = HttpPool(proxy=task.proxy)
    before = None
    try:
        before = stored_login(store, task.name, task.account)
        # Test that the store is writable before the old token is used up.
        store.renew_oauth(task.name, task.account, before, before=before)
        settings = task.settings
        if settings.exchange_url:
            from zot.provider.auth.oauth.token_exchange import exchange_login

            await _write(store, task, before, await exchange_login(pool, settings, before))
            return RefreshOutcome()
        server = await find_server(pool, settings)
        client = OAuthClient(before.client_id or settings.client_id, before.client_secret or settings.client_secret)
        grant = {"grant_type": "refresh_token", "refresh_token": before.refresh_token}
        answer = await request_token(pool, settings, server, client, grant)
        after = token_from(answer, settings, server, client, before=before)
        await _write(store, task, before, after)
        return RefreshOutcome()
    except LoginFailed as error:
        if error.code in _ALREADY_USED and _is_another(store, task, before):
            return RefreshOutcome()  # a program that ignores the lock refreshed it first
        return RefreshOutcome(str(error), error.code, error.transient)
    except NotLoggedIn as error:
        return RefreshOutcome(str(error))
    except ConfigError as error:
        return RefreshOutcome(str(error), transient=True)
    finally:
        await pool.aclose()


async def _write(store: AuthStore, task: RefreshRequest, before: OAuthToken, after: OAuthToken) -> None:
    """Retry, since a full disk may have space again and there is no second copy of the token."""
    for left in reversed(range(_WRITES)):
        try:
            store.renew_oauth(task.name, task.account, after, before=before)
            return
        except ConfigError:
            if not left:
                raise
            await asyncio.sleep(_WRITE_AGAIN_S)


def _is_another(store: AuthStore, task: RefreshRequest, before: OAuthToken | None) -> bool:
    with suppress(NotLoggedIn, ConfigError):
        return stored_login(store, task.name, task.account) != before
    return False


# -- parent process -----------------------------------------------------------------------------------------------


async def exchange_apart(task: RefreshRequest, lock: int) -> RefreshOutcome:
    """OSError if no process could be started; no request was made then."""
    if not sys.executable:
        raise FileNotFoundError("no interpreter to start")
    child = _started(lock)
    process_setup.helpers.add(child.pid)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        with suppress(BrokenPipeError), child.stdin:
            child.stdin.write(msgspec.json.encode(task))
        output = await _all_of(child.stdout.fileno())
        if output is not None:
            child.wait()  # its output ended, and so did it
            process_setup.helpers.discard(child.pid)
    finally:
        child.stdout.close()
        child.returncode = child.returncode or 0  # do not warn about a process that continues by itself
    if output == b"":
        raise ChildProcessError("the interpreter failed before it started zot")
    try:
        return msgspec.json.decode((output or b"").removeprefix(_BEGUN), type=RefreshOutcome)
    except msgspec.DecodeError:
        return RefreshOutcome(_INTERRUPTED, transient=True)


def _started(lock: int) -> subprocess.Popen[bytes]:
    hidden = credential_variables()
    with marked_children(0):  # it outlives this zot, and a zot around it
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, *(place for place in sys.path if os.path.isabs(place))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(lock,),
            cwd="/",
            env={k: v for k, v in os.environ.items() if k != MARK_VARIABLE and k not in hidden},
        )


async def _all_of(fd: int) -> bytes | None:
    """Read a pipe to its end, or None after the timeout. The process is never killed."""
    loop, pieces, ended = asyncio.get_running_loop(), list[bytes](), asyncio.Event()

    def ready() -> None:
        piece = os.read(fd, 65536)
        pieces.append(piece)
        if not piece:
            ended.set()

    loop.add_reader(fd, ready)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await ended.wait()
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(fd)
    return b"".join(pieces)


# -- child process ------------------------------------------------------------------------------------------------


def main() -> None:
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    data = sys.stdin.buffer.read()
    if not data:
        return  # the parent ended before it sent the task
    task = msgspec.json.decode(data, type=RefreshRequest)
    with suppress(OSError):
        os.write(sys.stdout.fileno(), _BEGUN)
    outcome = asyncio.run(exchange(AuthStore(Path(task.home), keyring=task.keyring), task))
    with suppress(OSError):
        os.write(sys.stdout.fileno(), msgspec.json.encode(outcome))
