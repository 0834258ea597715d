"""``catalog.json``: more rows for the catalogue, of a file somebody keeps or of an address that is asked now and then.

Its rows are those of zot's own table, and come before what providers and ``models.json`` say. A wrong row costs itself
alone. An address is asked in the background, never twice in six hours, and what it says is checked before it is kept.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from zot.errors import ConfigError, ProviderError
from zot.provider.catalog import CATALOG_FILE
from zot.provider.model import Model
from zot.provider.providers import is_loopback
from zot.system.files import read_bytes, write_atomic

if TYPE_CHECKING:
    from zot.provider.http.pool import HttpPool

TTL_S = 6 * 3600
_REQUEST_S = 15.0
_LARGEST = 8 << 20
_NAMED = 3


def read_catalog_file(path: Path) -> tuple[list[Model], list[str]]:
    """The sound rows, and one line about the others; an absent file has none."""
    try:
        data = read_bytes(path)
    except ConfigError as error:
        return [], [f"{error}; none of its models is used"]
    if data is None:
        return [], []
    try:
        return decode_rows(data, str(path))
    except ConfigError as error:
        return [], [f"{error}; none of its models is used"]


def decode_rows(data: bytes, where: str) -> tuple[list[Model], list[str]]:
    """ConfigError when it is not a catalogue at all."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"{where}: {error}") from error
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("models")
    if not isinstance(value, list):
        raise ConfigError(f'{where}: expected a list of models, or an object with "models"')
    rows: list[Model] = []
    wrong: list[str] = []
    for number, entry in enumerate(cast("list[Any]", value)):
        try:
            rows.append(_checked(msgspec.convert(entry, Model)))
        except msgspec.ValidationError as error:
            wrong.append(f"models[{number}]: {error}")
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    return rows, [f"{where}: {'; '.join(wrong[:_NAMED])}{more}"] if wrong else []


def _checked(row: Model) -> Model:
    """Without an address: where keys are sent is not for a list of models to say."""
    numbers = (value for value in msgspec.structs.astuple(row) if isinstance(value, (int, float)))
    if not row.id or any(number < 0 for number in numbers):
        raise msgspec.ValidationError("a model needs an id, and no number is below 0")
    return msgspec.structs.replace(row, source="catalog", base_url="")


def merge_catalog(rows: list[Model], more: list[Model]) -> list[Model]:
    """Rows of the same model in place, others at the end."""
    merged = {(row.provider, row.id): row for row in rows}
    merged.update({(row.provider, row.id): row for row in more})
    return list(merged.values())


async def fetch_catalog(pool: HttpPool, url: str, home: Path) -> bool:
    """Whether ``catalog.json`` is new now. Failures are silent: what was known stays, and a later run asks again."""
    path = home / CATALOG_FILE
    if not _is_safe(url) or not _is_stale(path):
        return False
    import asyncio

    from zot.provider.http.message import HttpRequest

    try:
        async with asyncio.timeout(_REQUEST_S):
            response = await pool.dispatch(HttpRequest("GET", url, [("accept", "application/json")], b""))
            try:
                data = await response.read(_LARGEST) if response.status == 200 else b""
            finally:
                response.abort()
        rows, _ = decode_rows(data, url)
        if not rows:
            return False
        write_atomic(path, data)
    except (ProviderError, ConfigError, TimeoutError, OSError):
        return False
    return True


def _is_safe(url: str) -> bool:
    """Prices decide what may be spent: nobody on the way may change them."""
    return url.startswith("https://") or is_loopback(url)


def _is_stale(path: Path) -> bool:
    try:
        return not 0 <= time.time() - os.stat(path).st_mtime < TTL_S
    except OSError:
        return True
