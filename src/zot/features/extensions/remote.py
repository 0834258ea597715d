"""An extension at a URL: its token, its connection, and what it is told of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.agent.settings import Settings
from zot.errors import ConfigError, ExtensionError
from zot.features.extensions.loader.discovery import candidates, global_dir
from zot.features.extensions.loader.extension_settings import secret_place
from zot.features.extensions.loader.manifest import read_manifest
from zot.features.extensions.url_link import LinkAddress, UrlLink
from zot.provider.auth.auth_store import AuthStore
from zot.wire import extension_frames

if TYPE_CHECKING:
    from zot.features.extensions.child import ExtensionChild
    from zot.features.extensions.host import ExtensionHost


def connect_remote(host: ExtensionHost, child: ExtensionChild, receive: Callable[[bytes | None], None]) -> UrlLink:
    """ExtensionError without a token. The connection is made in the background."""
    token = _token(host.home, child)
    host.keep_secret(token)
    address = LinkAddress(child.manifest.url, token, os.environ, Settings(host.home).values.http_proxy)
    return UrlLink(address, receive, child.log.write)


def _token(home: Path, child: ExtensionChild) -> str:
    name, setting = child.name, child.manifest.token
    if child.entry.scope == "project" and _has_own(home, name):
        raise ExtensionError(f"an extension of yours is called {name} as well: its token is not sent to {_host(child)}")
    try:
        token = AuthStore(home).entry(secret_place(name, setting)).api_key
    except ConfigError as error:
        raise ExtensionError(f"its token cannot be read: {error}") from error
    if not token:
        raise ExtensionError(f"has no token for {_host(child)}; set it: `zot ext set {name} {setting}`")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ExtensionError(f"its token has characters that cannot be sent; set it: `zot ext set {name} {setting}`")
    return token


def _host(child: ExtensionChild) -> str:
    return child.manifest.host


def _has_own(home: Path, name: str) -> bool:
    """True if the user installed an extension of this name: secrets are kept by name."""
    for directory in candidates(global_dir(home)):
        with suppress(ExtensionError):
            if read_manifest(directory).name == name:
                return True
    return False


def remote_ack(child: ExtensionChild, ack: extension_frames.HelloAck, project: Path) -> extension_frames.HelloAck:
    """Without paths of this machine, unless it may read the session."""
    cwd = ack.cwd if "session.read" in child.granted else project.name
    return msgspec.structs.replace(ack, extension_dir="", data_dir="", cwd=cwd, resume=child.resume_token)
