"""Stores secrets in the keyring of the operating system; needs ``zot-agent[keyring]`` and may block.
Each item has its own name, so that two homes or two accounts never share one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

SERVICE = "zot"

_INSTALL = (
    'the keyring package is not installed: install `zot-agent[keyring]`, or set "credential_store": '
    '"file" in config.json and log in again'
)


def new_item(provider: str, account: str) -> str:
    import secrets

    return f"{provider}/{account}/{secrets.token_hex(4)}"


def store_secret(item: str, fields: dict[str, str]) -> None:
    """Store secrets under a name; ConfigError if the keyring rejects them."""
    _ask(f"cannot store {item}", lambda ring: ring.set_password(SERVICE, item, msgspec.json.encode(fields).decode()))


def load_secret(item: str) -> dict[str, str]:
    """The secrets under a name; ConfigError if they are missing, or the keyring is locked or missing."""
    found = _ask(f"cannot read {item}", lambda ring: ring.get_password(SERVICE, item))
    if found is None:
        raise ConfigError(f"the system's keyring has no item {item}; log in again")
    try:
        return msgspec.json.decode(found, type=dict[str, str])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        # do not include the text: it may be the secret
        raise ConfigError(f"the keyring item {item} is not in zot's format; log in again") from error


def delete_secret(item: str) -> None:
    """Delete an item; a missing one is fine."""

    def delete(ring: Any) -> None:
        from keyring.errors import PasswordDeleteError

        try:
            ring.delete_password(SERVICE, item)
        except PasswordDeleteError:
            if ring.get_password(SERVICE, item) is not None:
                raise

    _ask(f"cannot delete {item}", delete)


def _ask(failed: str, question: Callable[[Any], Any]) -> Any:
    try:
        import keyring
        import keyring.errors
    except ImportError as error:
        raise ConfigError(_INSTALL) from error
    errors = cast("Any", keyring.errors)
    try:
        return question(keyring)
    except errors.NoKeyringError as error:
        raise ConfigError(
            'no supported keyring on this machine; set "credential_store": "file" in config.json'
        ) from error
    except (errors.KeyringLocked, errors.InitError) as error:
        raise ConfigError("the system's keyring is locked; unlock it and try again") from error
    except Exception as error:  # backends raise any exception, and its text may contain secrets
        raise ConfigError(f"the system's keyring {failed} ({type(error).__name__})") from error
