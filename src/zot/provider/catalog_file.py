"""``catalog.json``: more rows for the catalog, from a file or an address.
``docs/reference/models.md`` has its format."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import ConfigError, ProviderError
from zot.provider.model import BatchPrice, LongPrompt, Model
from zot.provider.providers import is_loopback
from zot.system.files import read_bytes, write_atomic

if TYPE_CHECKING:
    from zot.provider.http.pool import HttpPool

FORMAT = 1
LARGEST = 8 << 20
TTL_S = 6 * 3600
_REQUEST_S = 15.0
_NAMED = 3


def read_catalog_file(path: Path) -> tuple[list[Model], list[str]]:
    """The valid rows, and one line about the others; none without a file."""
    try:
        data = read_bytes(path)
        return decode_rows(data, str(path)) if data is not None else ([], [])
    except ConfigError as error:
        return [], [f"{error}; its models are ignored"]


def decode_rows(data: bytes, where: str) -> tuple[list[Model], list[str]]:
    """The rows without the wrong ones, and one line about those. ConfigError if it is not a catalog."""
    rows: dict[tuple[str, str], Model] = {}
    wrong: list[str] = []
    for number, entry in enumerate(_entries(data, where)):
        try:
            row = _row(entry)
            if (row.provider, row.id) in rows:
                raise msgspec.ValidationError(f"{row.provider}/{row.id} is there twice; the first one is used")
            rows[row.provider, row.id] = row
        except msgspec.ValidationError as error:
            wrong.append(f"models[{number}]: {error}")
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    return list(rows.values()), [f"{where}: {'; '.join(wrong[:_NAMED])}{more}"] if wrong else []


def checked_rows(data: bytes, where: str) -> list[Model]:
    """All rows, or a ConfigError that names the first problems: a catalog to be stored must be whole."""
    rows, problems = decode_rows(data, where)
    if problems:
        raise ConfigError(problems[0])
    if not rows:
        raise ConfigError(f"{where}: no models in it")
    return rows


def _entries(data: bytes, where: str) -> list[Any]:
    if len(data) > LARGEST:
        raise ConfigError(f"{where}: larger than {LARGEST >> 20} MiB, which no catalog is")
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        cut = " (the file is cut)" if "truncated" in str(error) else ""
        raise ConfigError(f"{where}: {error}{cut}") from error
    if isinstance(value, dict):
        content = cast("dict[str, Any]", value)
        if (version := content.get("format", FORMAT)) != FORMAT:
            raise ConfigError(f"{where}: format {version!r}: this zot reads format {FORMAT}; update zot")
        value = content.get("models")
    if not isinstance(value, list):
        raise ConfigError(f'{where}: expected a list of models, or an object with "models"')
    return cast("list[Any]", value)


def _row(entry: Any) -> Model:
    """No base_url: a model list must not decide where keys are sent."""
    row = msgspec.convert(entry, Model)
    if not row.id or not row.provider:
        raise msgspec.ValidationError("expected an id and a provider")
    if name := _negative(row):
        raise msgspec.ValidationError(f"{row.id}: {name}: expected a number of at least 0")
    return msgspec.structs.replace(row, source="catalog", base_url="", guessed="")


def _negative(struct: Model | LongPrompt | BatchPrice | None) -> str:
    """The name of a number below 0; empty if there is none."""
    for name, value in msgspec.structs.asdict(struct).items() if struct is not None else ():
        if isinstance(value, (LongPrompt, BatchPrice)):
            if inner := _negative(value):
                return f"{name}.{inner}"
        elif isinstance(value, (int, float)) and not 0 <= value < float("inf"):
            return name
    return ""


def fingerprint(data: bytes) -> str:
    """The sha256 that pins a catalog."""
    import hashlib  # not needed to read one

    return hashlib.sha256(data).hexdigest()


async def download_catalog(pool: HttpPool, url: str) -> bytes:
    """Its bytes; ConfigError if they cannot be had. Prices limit spending, so TLS is required against changes."""
    from zot.provider.http.message import HttpRequest

    if not (url.startswith("https://") or is_loopback(url)):
        raise ConfigError(f"{url}: expected an https:// address or a file")
    try:
        async with asyncio.timeout(_REQUEST_S):
            response = await pool.dispatch(HttpRequest("GET", url, [("accept", "application/json")], b""))
            try:
                data = await response.read(LARGEST + 1) if response.status == 200 else b""
            finally:
                response.abort()
    except TimeoutError as error:
        raise ConfigError(f"{url}: no answer within {_REQUEST_S:g} s") from error
    except (ProviderError, OSError) as error:
        raise ConfigError(f"{url}: {error}") from error
    if response.status != 200:
        raise ConfigError(f"{url}: http {response.status}")
    return data


async def fetch_catalog(pool: HttpPool, url: str, home: Path) -> bool:
    """For ``catalog_url`` of the settings: True if ``catalog.json`` was stale and updated. Failures are silent, and a
    later run retries."""
    from zot.provider.catalog import CATALOG_FILE

    path = home / CATALOG_FILE
    if not _is_stale(path):
        return False
    try:
        data = await download_catalog(pool, url)
        checked_rows(data, url)
        write_atomic(path, data)
    except (ConfigError, OSError):
        return False
    return True


def _is_stale(path: Path) -> bool:
    try:
        return not 0 <= time.time() - os.stat(path).st_mtime < TTL_S
    except OSError:
        return True
