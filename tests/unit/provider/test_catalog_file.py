"""More rows for the catalogue, of a file or of an address."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.http_server import FakeHttpServer
from zot.provider.catalog import Catalog
from zot.provider.catalog_file import fetch_catalog
from zot.provider.http.pool import HttpPool

NEW = {"id": "claude-next", "provider": "anthropic", "context_window": 500_000, "max_output": 9, "price_input": 2}


def keep(home: Path, *rows: Any) -> None:
    (home / "catalog.json").write_text(json.dumps(rows))


def test_rows_of_the_file_are_added_and_replace_those_of_the_same_model(tmp_path: Path) -> None:
    keep(tmp_path, NEW, {"id": "gpt-5", "provider": "openai", "context_window": 7, "max_output": 3, "price_input": 9})
    catalog = Catalog(tmp_path)
    added, replaced = catalog.find("claude-next"), catalog.find("gpt-5", "openai")
    assert added is not None and (added.context_window, added.price_input, added.source) == (500_000, 2, "catalog")
    assert replaced is not None and (replaced.context_window, replaced.price_input) == (7, 9)
    assert catalog.problems == []
    assert catalog.rows()[0].id == "claude-sonnet-4-5"


def test_what_the_user_says_in_models_json_wins(tmp_path: Path) -> None:
    keep(tmp_path, NEW)
    mine = {"providers": {"anthropic": {"models": [{"id": "claude-next", "priceInput": 1}]}}}
    (tmp_path / "models.json").write_text(json.dumps(mine))
    row = Catalog(tmp_path).find("claude-next")
    assert row is not None and (row.price_input, row.source) == (1, "user")


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "x"},
        {"id": "", "provider": "openai"},
        {"id": "x", "provider": "openai", "price_input": -1},
        {"id": "x", "provider": "openai", "context_window": "large"},
        7,
    ],
)
def test_a_wrong_row_costs_itself_alone(tmp_path: Path, wrong: Any) -> None:
    keep(tmp_path, wrong, NEW)
    catalog = Catalog(tmp_path)
    assert catalog.find("claude-next") is not None and catalog.find("x") is None
    (problem,) = catalog.problems
    assert problem.startswith(f"{tmp_path / 'catalog.json'}: models[0]: ")


@pytest.mark.parametrize("text", ["", "{", "7", '{"models": 7}', "\x00"])
def test_a_file_that_is_no_catalogue_is_one_line_and_nothing_is_lost(tmp_path: Path, text: str) -> None:
    (tmp_path / "catalog.json").write_text(text)
    catalog = Catalog(tmp_path)
    assert catalog.find("gpt-5") is not None
    (problem,) = catalog.problems
    assert "catalog.json" in problem and problem.endswith("none of its models is used")


def test_a_catalogue_cannot_say_where_keys_are_sent(tmp_path: Path) -> None:
    keep(tmp_path, NEW | {"base_url": "https://elsewhere.example", "source": "user"})
    row = Catalog(tmp_path).find("claude-next")
    assert row is not None and (row.base_url, row.source) == ("", "catalog")


class Address:
    """A server on loopback that answers with what it was given."""

    def __init__(self, body: str, status: int = 200) -> None:
        self.body, self.status, self.asked = body, status, 0

    async def fetched(self, home: Path) -> bool:
        async def answer(reader: Any, writer: Any) -> None:
            await reader.readuntil(b"\r\n\r\n")
            self.asked += 1
            data = self.body.encode()
            head = f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(data)}\r\nlocation: http://127.0.0.1:1/\r\n\r\n"
            writer.write(head.encode() + data)
            await writer.drain()
            writer.close()

        pool = HttpPool(environ={})
        async with FakeHttpServer(handler=answer) as server:
            try:
                return await fetch_catalog(pool, f"{server.url}/models.json", home)
            finally:
                await pool.aclose()


async def test_an_address_is_kept_in_the_file_and_not_asked_again_for_six_hours(tmp_path: Path) -> None:
    address = Address(json.dumps({"models": [NEW]}))
    assert await address.fetched(tmp_path)
    assert Catalog(tmp_path).find("claude-next") is not None
    assert not await address.fetched(tmp_path)
    os.utime(tmp_path / "catalog.json", (0, 0))
    assert await address.fetched(tmp_path)
    assert address.asked == 2
    assert (tmp_path / "catalog.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("body", "status"), [("<html>", 200), ("[]", 200), ('[{"id": 1}]', 200), (json.dumps([NEW]), 302), ("no", 500)]
)
async def test_what_is_no_catalogue_is_not_kept(tmp_path: Path, body: str, status: int) -> None:
    keep(tmp_path, NEW)
    os.utime(tmp_path / "catalog.json", (0, 0))
    assert not await Address(body, status).fetched(tmp_path)
    assert Catalog(tmp_path).find("claude-next") is not None


async def test_an_address_somebody_could_tamper_with_is_not_asked(tmp_path: Path) -> None:
    assert not await fetch_catalog(HttpPool(environ={}), "http://models.example/list.json", tmp_path)
    assert not (tmp_path / "catalog.json").exists()
