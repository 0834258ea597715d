from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from zot.errors import ConfigError
from zot.system.json_store import JsonCache, JsonObjectStore, JsonStore


class Content(msgspec.Struct):
    names: list[str] = []


@pytest.fixture
def store(tmp_path: Path) -> JsonStore[Content]:
    return JsonStore(tmp_path / "file.json", Content, "delete it")


def test_edit_writes_privately_and_load_sees_it(store: JsonStore[Content]) -> None:
    assert store.load() == Content()
    with store.edit() as content:
        content.names.append("a")
    assert store.load().names == ["a"]
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert store.path.read_text() == '{\n  "names": [\n    "a"\n  ]\n}\n'


def test_unchanged_content_is_not_written(store: JsonStore[Content]) -> None:
    with store.edit():
        pass
    assert not store.path.exists()
    store.path.write_text('{"names":["a"]}')
    with store.edit():
        pass
    assert store.path.read_text() == '{"names":["a"]}'


def test_failing_block_changes_nothing(store: JsonStore[Content]) -> None:
    with pytest.raises(ZeroDivisionError), store.edit() as content:
        content.names.append("a")
        raise ZeroDivisionError
    assert not store.path.exists()


def test_damaged_file_is_reported_and_kept(store: JsonStore[Content]) -> None:
    store.path.write_text('{"names": 3}')
    with pytest.raises(ConfigError, match=r"file\.json: .*; delete it$"), store.edit():
        pass
    assert store.path.read_text() == '{"names": 3}'


def test_concurrent_edits_lose_nothing(store: JsonStore[Content]) -> None:
    def add(number: int) -> None:
        with store.edit() as content:
            content.names.append(str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert sorted(store.load().names, key=int) == [str(number) for number in range(40)]


def test_object_store_keeps_links_and_unknown_keys(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text('{"unknown": 1}')
    (tmp_path / "link.json").symlink_to("real.json")
    with JsonObjectStore(tmp_path / "link.json").edit() as content:
        content["known"] = 2
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == {"unknown": 1, "known": 2}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_object_store_failed_write_is_a_config_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot write"), JsonObjectStore(tmp_path / "a.json").edit() as content:
        content["a"] = 1


def test_damaged_cache_counts_as_missing(tmp_path: Path) -> None:
    cache = JsonCache(tmp_path / "cache.json", dict[str, int])
    cache.path.write_text("{")
    assert cache.load() == {}
    with cache.edit() as content:
        content["a"] = 1
    assert cache.path.read_text() == '{"a":1}'
