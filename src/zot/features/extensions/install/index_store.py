"""The indexes that the user added: ``ext_indexes`` in ``config.json``, copies in ``$ZOT_HOME/ext-indexes``. A copy is
replaced only by a newer file with a correct signature of the pinned key."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from zot.errors import ProviderError, ZotError
from zot.features.extensions.install.index import LARGEST, ExtensionFields, Index, decode_index, is_url
from zot.system.digest import sha256
from zot.system.ed25519 import is_key, verifies
from zot.system.files import make_private_dir, write_atomic
from zot.system.safe_open import TooLarge, read_whole

if TYPE_CHECKING:
    from zot.agent.settings import ExtensionIndex

DIRECTORY = "ext-indexes"
_REQUEST_S = 60.0
_MOST_REDIRECTS = 5
_SIGNATURE_BYTES = 4096
_REDIRECTS = (301, 302, 303, 307, 308)


class Downloaded(msgspec.Struct, frozen=True):
    """An index as it was fetched; ``signature`` is empty without one."""

    data: bytes
    signature: str
    index: Index


class AddedIndex(msgspec.Struct, frozen=True):
    """One of the user's; ``index`` is None if its copy is missing or unusable (``problem``)."""

    url: str
    key: str = ""
    index: Index | None = None
    fetched: float = 0.0
    problem: str = ""

    @property
    def name(self) -> str:
        return self.index.name if self.index is not None else self.url


class IndexStore:
    def __init__(self, home: Path, indexes: tuple[ExtensionIndex, ...]) -> None:
        self._home = home
        self._indexes = indexes

    def all(self) -> list[AddedIndex]:
        """From the copies, in the order they were added."""
        return [self.load(each.url, each.key) for each in self._indexes]

    def load(self, url: str, key: str) -> AddedIndex:
        path = self._copy(url)
        try:
            data = read_whole(path, LARGEST)
            return AddedIndex(url, key, decode_index(data, url), path.stat().st_mtime)
        except FileNotFoundError:
            return AddedIndex(url, key, problem=f"{url}: not fetched yet; run `zot ext index refresh`")
        except (OSError, TooLarge, ZotError) as error:
            return AddedIndex(url, key, problem=str(error))

    def find(self, name: str) -> list[tuple[AddedIndex, ExtensionFields]]:
        """The extension in each index that has it, in their order."""
        found: list[tuple[AddedIndex, ExtensionFields]] = []
        for added in self.all():
            entry = added.index.find(name) if added.index is not None else None
            if entry is not None:
                found.append((added, entry))
        return found

    def refresh(self, url: str, key: str) -> Index:
        """Fetch it again; ZotError keeps the old copy."""
        fetched = fetch_index(url)
        check_signature(fetched, key, url)
        return self.store(url, key, fetched)

    def store(self, url: str, key: str, fetched: Downloaded) -> Index:
        before = self.load(url, key).index
        if before is not None and fetched.index.time < before.time:
            raise ZotError(
                f"{url}: it is from {fetched.index.updated}, older than the copy from {before.updated}, which stays; "
                "to accept it, remove the index and add it again"
            )
        make_private_dir(self._home / DIRECTORY)
        write_atomic(self._copy(url), fetched.data)
        return fetched.index

    def forget(self, url: str) -> None:
        self._copy(url).unlink(missing_ok=True)

    def _copy(self, url: str) -> Path:
        return self._home / DIRECTORY / f"{sha256(url.encode())[:32]}.json"


def checked_place(typed: str) -> str:
    """The address or absolute path of an index; ZotError for another scheme."""
    if is_url(typed):
        if not typed.startswith("https://"):
            raise ZotError(f"{typed}: expected an https:// address or a path")
        return typed
    return os.path.abspath(os.path.expanduser(typed))


def fetch_index(place: str) -> Downloaded:
    data = read_place(place, LARGEST)
    try:
        signature = read_place(f"{place}.sig", _SIGNATURE_BYTES).decode("ascii", "replace").strip()
    except Missing:
        signature = ""
    return Downloaded(data, signature, decode_index(data, place))


def check_signature(fetched: Downloaded, key: str, place: str) -> None:
    """ZotError unless it is signed with the pinned key; without a key any index is accepted."""
    if not key:
        return
    if not fetched.signature:
        raise ZotError(f"{place}: has no signature ({place}.sig), but its key is pinned; the old copy stays")
    try:
        signature = base64.b64decode(fetched.signature, validate=True)
    except (binascii.Error, ValueError):
        signature = b""
    if not verifies(read_key(key), signature, fetched.data):
        raise ZotError(f"{place}: the signature is not by the pinned key {fingerprint(key)}; the old copy stays")


def read_key(text: str) -> bytes:
    """A public key: base64 of its 32 bytes. ZotError if it is none."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not is_key(key):
        raise ZotError(f"{text[:60]!r} is no Ed25519 public key; expected 44 characters in base64")
    return key


def fingerprint(key: str) -> str:
    """Eight groups of four digits, to compare by eye."""
    digits = sha256(read_key(key))[:32]
    return " ".join(digits[at : at + 4] for at in range(0, 32, 4))


# --- reading from an address or a path


class Missing(ZotError):
    """There is nothing at that place."""


def read_place(place: str, most: int) -> bytes:
    if is_url(place):
        return asyncio.run(_download(place, most))
    try:
        return read_whole(Path(place), most)
    except FileNotFoundError:
        raise Missing(f"{place}: no such file") from None
    except TooLarge:
        raise ZotError(f"{place}: larger than {_shown(most)}") from None
    except OSError as error:
        raise ZotError(f"{place}: {error.strerror or error}") from error


async def _download(url: str, most: int) -> bytes:
    from zot.agent.settings import Settings
    from zot.provider.http.pool import HttpPool
    from zot.system.files import zot_home

    pool = HttpPool(proxy=Settings(zot_home()).values.http_proxy)
    began = time.monotonic()
    try:
        async with asyncio.timeout(_REQUEST_S):
            return await _followed(pool, url, most)
    except TimeoutError as error:
        raise ZotError(f"{url}: not complete within {time.monotonic() - began:.0f} s; try again") from error
    except (ProviderError, OSError) as error:
        raise ZotError(f"{url}: {error}") from error
    finally:
        await pool.aclose()


async def _followed(pool: object, url: str, most: int) -> bytes:
    """Redirects stay on https."""
    from urllib.parse import urljoin

    from zot.provider.http.message import HttpRequest
    from zot.provider.http.pool import HttpPool

    assert isinstance(pool, HttpPool)
    place = url
    for _ in range(_MOST_REDIRECTS + 1):
        if not place.startswith("https://"):
            raise ZotError(f"{url}: redirected to {place[:200]}, which is not https://; nothing was fetched")
        response = await pool.dispatch(HttpRequest("GET", place, [("accept", "*/*")], b""))
        try:
            if response.status in _REDIRECTS:
                place = urljoin(place, response.headers.get("location", ""))
                continue
            if response.status in (404, 410):
                raise Missing(f"{url}: not there (http {response.status})")
            if response.status != 200:
                raise ZotError(f"{url}: http {response.status}")
            data = await response.read(most + 1)
        finally:
            response.abort()
        if len(data) > most:
            raise ZotError(f"{url}: larger than {_shown(most)}")
        return data
    raise ZotError(f"{url}: more than {_MOST_REDIRECTS} redirects")


def _shown(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size} bytes"
