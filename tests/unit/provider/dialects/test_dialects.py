"""A dialect is one file and one row: each row fills the whole seam, and choosing one imports no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.provider.samples import ENDPOINT
from zot.provider.dialects import DIALECTS, dialect_for
from zot.provider.dialects.dialect import Dialect, ListedModel
from zot.provider.model import REASONING_LEVELS


@pytest.mark.parametrize("api", DIALECTS)
def test_each_row_fills_the_seam(api: str) -> None:
    dialect = dialect_for(api)
    assert [name for name in vars(Dialect) if not name.startswith("_") and not hasattr(dialect, name)] == []
    assert set(dialect.levels) <= set(REASONING_LEVELS)


@pytest.mark.parametrize("api", DIALECTS)
def test_each_dialect_lists_models_and_probes_a_key_with_the_key_in_a_header(api: str) -> None:
    dialect = dialect_for(api)
    for request in (dialect.list_request(ENDPOINT, ""), dialect.probe_request(ENDPOINT)):
        assert (request.method, request.body) == ("GET", b"")
        assert request.url.startswith("http://host/v1/models")
        assert any(ENDPOINT.api_key in value for _, value in request.headers)
        assert ENDPOINT.api_key not in request.url


@pytest.mark.parametrize("api", DIALECTS)
def test_a_page_that_is_no_model_list_is_an_empty_last_one(api: str) -> None:
    dialect = dialect_for(api)
    for page in ({}, {"data": "x", "has_more": True, "last_id": 7}, {"data": [7, {}, {"id": "\x1b[2J"}]}):
        assert dialect.listed(page) == ([], "")
    assert dialect.listed({"data": [{"id": "m", "context_length": 5}]}) == ([ListedModel("m", context_window=5)], "")


@pytest.mark.parametrize("api", DIALECTS)
def test_choosing_a_dialect_imports_no_other_and_nothing_that_lists_or_probes(api: str) -> None:
    program = f"import sys; from zot.provider.dialects import dialect_for; dialect_for({api!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {f"zot.provider.dialects.{file}" for file, _ in DIALECTS.values()} & loaded == {
        f"zot.provider.dialects.{DIALECTS[api][0]}"
    }
    later = {"zot.provider.dialects.model_list", "zot.provider.discovery", "zot.provider.auth.probe"}
    assert not later & loaded
