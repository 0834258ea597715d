"""Finds a credential: ``--api-key``, the environment, ``auth.json`` or the keyring, ``api_key_command``, then an AWS
profile. No network access. A key command and a keyring may block, so call this in a thread; background work uses
neither."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from zot.errors import AuthFailed, ConfigError, NotLoggedIn
from zot.provider.auth.auth_store import AuthStore, KeyCommand
from zot.provider.providers import Provider
from zot.system import process_setup
from zot.system.files import find_program

if TYPE_CHECKING:
    import subprocess

    from zot.provider.dialects.dialect import Endpoint

_LINE_LIMIT = 64 * 1024


class Credential(msgspec.Struct, frozen=True):
    """A key or token. ``account_id`` is the provider's name of the account, ``account`` the user's."""

    key: str
    method: Literal["apikey", "oauth"] = "apikey"
    account_id: str = ""
    source: Literal["flag", "env", "file", "keyring", "command"] = "flag"
    account: str = ""
    expiry: str = ""  # of a stored login

    def __repr__(self) -> str:
        """Never the key: tracebacks and logs show this."""
        return f"Credential(method={self.method!r}, source={self.source!r})"

    __str__ = __repr__


def find_credential(
    provider: Provider,
    store: AuthStore,
    environ: Mapping[str, str],
    *,
    api_key: str = "",
    commands: Mapping[str, KeyCommand] | None = None,
    background: bool = False,
) -> Credential | None:
    """The credential or None; NotLoggedIn if a login expired, ConfigError for a bad file or key command.
    ``background`` runs no key command and opens no keyring."""
    if api_key:
        return Credential(api_key, source="flag")
    if found := _from_environment(provider, environ):
        return found
    entry = store.shape(provider.id)
    if entry.method and not (background and entry.keyring) and (found := _stored(provider, store)):
        return found
    command = (commands or {}).get(provider.id) or entry.api_key_command
    if command is None:
        if provider.cloud != "aws":
            return None
        from zot.provider.auth.aws import profile_key

        key = profile_key(environ)
        return Credential(key, source="file") if key else None
    return None if background else Credential(_run(provider.id, command), source="command")


def has_credential(
    provider: Provider,
    store: AuthStore,
    environ: Mapping[str, str],
    commands: Mapping[str, KeyCommand] | None = None,
) -> bool:
    """Whether there is one. A configured key command counts without being run, a keyring without being asked."""
    try:
        found = find_credential(provider, store, environ, background=True)
        return found is not None or provider.id in (commands or {}) or bool(store.shape(provider.id).method)
    except (NotLoggedIn, ConfigError):
        return False


def clear_key_command_cache() -> None:
    """Drop the answers of key commands, so that the next look-up runs them again (after a refused key)."""
    _run.cache_clear()


def _from_environment(provider: Provider, environ: Mapping[str, str]) -> Credential | None:
    if provider.oauth_env and (token := environ.get(provider.oauth_env, "").strip()):
        return Credential(token, "oauth", source="env")
    for name in provider.env:
        if key := environ.get(name, "").strip():
            return Credential(key, source="env")
    if provider.cloud == "aws":
        from zot.provider.auth.aws import environment_key

        if key := environment_key(environ):
            return Credential(key, source="env")
    return None


def _stored(provider: Provider, store: AuthStore) -> Credential | None:
    account = store.active(provider.id)
    entry = store.entry(provider.id, account)
    source = "keyring" if entry.keyring else "file"
    if entry.api_key:
        return Credential(entry.api_key, source=source, account=account)
    if entry.method != "oauth" or entry.oauth is None:
        return None
    token = entry.oauth
    if token.expired(time.time()) and not (
        token.refresh_token and provider.oauth_row
    ):  # else whoever uses it refreshes
        raise NotLoggedIn(f"the login for {provider.name} has expired; log in again with /login")
    return Credential(token.access_token, "oauth", token.account_id, source, account, token.expiry)


@functools.cache
def _run(provider_id: str, command: KeyCommand) -> str:
    """The one line the program printed. Its stderr is not shown: it might hold a secret."""
    import subprocess

    what = f'api_key_command for {provider_id} ("{command.program}")'
    deadline = time.monotonic() + command.timeout_ms / 1000
    program = command.program if "/" in command.program else find_program(command.program)
    if program is None:
        raise ConfigError(f"{what} cannot be started: there is no such program on PATH")
    try:
        child = subprocess.Popen(
            [program, *command.args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ,  # Python's copy: what zot was started with may be wiped by now
        )
    except OSError as error:
        raise ConfigError(f"{what} cannot be started: {error.strerror or error}") from error
    process_setup.helpers.add(child.pid)
    with child:
        try:
            assert child.stdout is not None
            output = _read_to_end(child.stdout.fileno(), deadline)
            if len(output) > _LINE_LIMIT:
                raise ConfigError(f"{what} printed more than 64 KiB; it must print the key alone")
            status = child.wait(max(0.0, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"{what} did not answer within {command.timeout_ms} ms") from error
        finally:
            _kill_group(child)
            process_setup.helpers.discard(child.pid)
    if status:
        raise ConfigError(f"{what} ended with status {status}; run it by hand to see why")
    line = output.decode("utf-8", "replace").rstrip("\r\n")
    if not line.strip():
        raise ConfigError(f"{what} printed nothing; it must print the key on one line")
    if not line.isprintable():
        raise ConfigError(f"{what} printed more than one line or control characters; it must print the key alone")
    return line.strip()


def _read_to_end(fd: int, deadline: float) -> bytes:
    """Everything up to the end of input, or a little more than the limit; TimeoutError when time runs out."""
    import selectors

    output = b""
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while len(output) <= _LINE_LIMIT:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            chunk = os.read(fd, 4096)
            if not chunk:
                break
            output += chunk
    return output


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    import signal

    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


# A key that a program prints, or keeps in its file, may have expired: after a refusal it is looked up again, once.


class ReloadableKey:
    """A ``Renewal`` for one client; ``look`` finds the credential, and may block."""

    def __init__(self, look: Callable[[], Credential | None]) -> None:
        self._look = look

    async def before_request(self, endpoint: Endpoint) -> Endpoint:
        return endpoint

    async def after_refusal(self, endpoint: Endpoint, refusal: AuthFailed) -> Endpoint | None:
        """With the key of now; None when it is the refused one, or there is none and ``refusal`` says why."""
        clear_key_command_cache()
        try:
            found = await asyncio.to_thread(self._look)
        except (NotLoggedIn, ConfigError) as error:
            refusal.args = (f"{refusal}; {error}",)
            return None
        if found is None or found.key == endpoint.api_key:
            return None
        return msgspec.structs.replace(endpoint, api_key=found.key)
