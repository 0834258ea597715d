"""Finds a credential: ``--api-key``, the environment, ``auth.json`` or the keyring, ``api_key_command``, AWS profile.
No network access. A key command and a keyring may block, so call this in a thread; background work uses neither."""

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
    base_url: str = ""  # address of the API for this login, if its server named one
    bearer: bool = False  # sent as a bearer token, whatever the provider's header

    def __repr__(self) -> str:
        """Omits the key, since tracebacks and logs show this."""
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
    """True if there is one; runs no key command and opens no keyring."""
    try:
        found = find_credential(provider, store, environ, background=True)
        return found is not None or provider.id in (commands or {}) or bool(store.shape(provider.id).method)
    except (NotLoggedIn, ConfigError):
        return False


def clear_key_command_cache() -> None:
    """Clear cached output of key commands, so that the next lookup runs them again (after a rejected key)."""
    _run.cache_clear()


def _from_environment(provider: Provider, environ: Mapping[str, str]) -> Credential | None:
    if provider.oauth_env and (token := environ.get(provider.oauth_env, "").strip()):
        return Credential(token, "oauth", source="env")
    for name in provider.env:
        if key := environ.get(name, "").strip():
            return Credential(key, source="env")
    if provider.bearer_env and (token := environ.get(provider.bearer_env, "").strip()):
        return Credential(token, source="env", bearer=True)
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
    ):  # otherwise the client refreshes it
        raise NotLoggedIn(f"the login for {provider.name} has expired; log in again with `zot auth login` or /login")
    return Credential(token.access_token, "oauth", token.account_id, source, account, token.expiry, token.base_url)


@functools.cache
def _run(provider_id: str, command: KeyCommand) -> str:
    """The line the program printed. Its stderr is not shown: it may contain a secret."""
    import subprocess

    what = f'api_key_command for {provider_id} ("{command.program}")'
    deadline = time.monotonic() + command.timeout_ms / 1000
    program = command.program if "/" in command.program else find_program(command.program)
    if program is None:
        raise ConfigError(f"cannot start {what}: no such program on PATH")
    try:
        child = subprocess.Popen(
            [program, *command.args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ,  # Python's copy: the original environment may be wiped
        )
    except OSError as error:
        raise ConfigError(f"cannot start {what}: {error.strerror or error}") from error
    process_setup.helpers.add(child.pid)
    with child:
        try:
            assert child.stdout is not None
            output = _read_to_end(child.stdout.fileno(), deadline)
            if len(output) > _LINE_LIMIT:
                raise ConfigError(f"{what} printed more than 64 KiB; expected only the key")
            status = child.wait(max(0.0, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"{what} did not answer within {command.timeout_ms} ms") from error
        finally:
            _kill_group(child)
            process_setup.helpers.discard(child.pid)
    if status:
        raise ConfigError(f"{what} exited with status {status}; run it manually to see the error")
    line = output.decode("utf-8", "replace").rstrip("\r\n")
    if not line.strip():
        raise ConfigError(f"{what} printed nothing; expected the key on one line")
    if not line.isprintable():
        raise ConfigError(f"{what} printed several lines or control characters; expected only the key")
    return line.strip()


def _read_to_end(fd: int, deadline: float) -> bytes:
    """Read to the end of input, or slightly more than the limit; TimeoutError after the timeout."""
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


# A key from a program or its file may have expired: after a rejection it is looked up again, once.


class ReloadableKey:
    """A ``Renewal`` for one client; ``look`` finds the credential, and may block."""

    def __init__(self, look: Callable[[], Credential | None]) -> None:
        self._look = look

    async def before_request(self, endpoint: Endpoint) -> Endpoint:
        return endpoint

    async def after_refusal(self, endpoint: Endpoint, refusal: AuthFailed) -> Endpoint | None:
        """With the current key; None if it is the rejected one or missing, and ``refusal`` has the reason."""
        clear_key_command_cache()
        try:
            found = await asyncio.to_thread(self._look)
        except (NotLoggedIn, ConfigError) as error:
            refusal.args = (f"{refusal}; {error}",)
            return None
        if found is None or found.key == endpoint.api_key:
            return None
        return msgspec.structs.replace(endpoint, api_key=found.key)
