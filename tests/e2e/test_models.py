"""``zot models``: list, search, show, price and update, as typed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot

ROW = {"id": "gpt-7-sol", "provider": "openai", "context_window": 2_000_000, "max_output": 9, "price_input": 2}


def stored(zot: Zot, name: str) -> Any:
    return json.loads((zot.home / "zot" / name).read_text())


def catalogue(zot: Zot, *rows: Any, version: int = 1) -> Path:
    path = zot.home / "new.json"
    path.write_text(json.dumps({"format": version, "models": rows}))
    return path


def test_models_lists_and_searches(zot: Zot) -> None:
    lines = zot("models").out.splitlines()
    assert lines[0].split()[:3] == ["provider", "model", "window"]
    assert len(lines) > 500
    found = zot("models", "OPUS", "5-5", "anthropic").out.splitlines()
    assert ["anthropic", "claude-opus-5-5", "1M", "128k", "4", "20"] in [line.split()[:6] for line in found]
    assert all("opus" in line for line in found[1:])


def test_models_without_a_match_is_status_1(zot: Zot) -> None:
    ran = zot("models", "nothing-like-this")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "zot: no model matches 'nothing-like-this'; `zot models` lists all\n"


def test_models_list_is_the_same_through_the_catalog(zot: Zot) -> None:
    """The prepared table and the decoded rows give the same lines."""
    quick = zot("models").out
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "models.json").write_text("{}")
    assert zot("models").out == quick


def test_models_lists_what_a_provider_listed(zot: Zot) -> None:
    (zot.home / "zot").mkdir(exist_ok=True)
    models = [{"provider": "openai", "id": "gpt-\u001b[31m9", "display_name": "Nine"}]
    (zot.home / "zot" / "models-cache.json").write_text(json.dumps({"models": models}))
    (line,) = zot("models", "nine").out.splitlines()[1:]
    assert "\u001b" not in line and line.split()[0] == "openai"


def test_models_json_is_a_catalogue(zot: Zot) -> None:
    found = json.loads(zot("models", "--json", "gpt-6.1-sol").out)
    assert found["format"] == 1
    row = next(row for row in found["models"] if row["provider"] == "openai")
    assert (row["price_input"], row["reasoning_style"]) == (2, "effort")
    assert "cutoff" not in row  # unknown


def test_models_show_marks_a_guess(zot: Zot) -> None:
    known = zot("models", "show", "claude-opus-5-5").out
    assert "adaptive: low medium high xhigh max, always on" in known and "guessed" not in known
    assert "guessed from       claude-opus-5-5" in zot("models", "show", "claude-opus-9").out
    ran = zot("models", "show", "claude-opsu-9")
    assert ran.code == 1 and 'unknown model "claude-opsu-9", did you mean' in ran.err


def test_models_price_is_stored_and_used(zot: Zot) -> None:
    ran = zot("models", "price", "gpt-7-sol", "2", "10", "--cached", "0.2")
    assert ran.code == 0 and ran.out.startswith("openai/gpt-7-sol: $2 input, $10 output per million tokens")
    (row,) = stored(zot, "models.json")["providers"]["openai"]["models"]
    assert row == {"id": "gpt-7-sol", "priceInput": 2, "priceOutput": 10, "priceCacheRead": 0.2}
    zot("models", "price", "gpt-7-sol", "3", "11")
    assert len(stored(zot, "models.json")["providers"]["openai"]["models"]) == 1
    assert "3 input, 11 output, 0.2 cached input" in zot("models", "show", "gpt-7-sol").out


def test_models_price_preserves_the_rest_of_the_file(zot: Zot) -> None:
    (zot.home / "zot").mkdir(exist_ok=True)
    mine = {"providers": {"mine": {"baseUrl": "http://x/v1", "models": [{"id": "m"}]}}}
    (zot.home / "zot" / "models.json").write_text(json.dumps(mine))
    assert zot("models", "price", "--provider", "mine", "m", "0", "0").out.startswith("mine/m: free")
    (row,) = stored(zot, "models.json")["providers"]["mine"]["models"]
    assert row == {"id": "m", "priceInput": 0, "priceOutput": 0}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("gpt-6.1-sol", "-1", "2"), 'price "-1": expected USD'),
        (("gpt-6.1-sol", "x", "2"), 'price "x": expected USD per million tokens'),
        (("gpt-6.1-sol", "nan", "2"), 'price "nan": expected USD per million tokens'),
        (("gpt-6.1-sol", "1"), "expected MODEL INPUT OUTPUT"),
        (("coder", "1", "2"), "name its provider with --provider"),
        (("m", "1", "2", "--provider", "none"), 'unknown provider "none"'),
    ],
)
def test_models_price_refuses_wrong_words(zot: Zot, words: tuple[str, ...], error: str) -> None:
    ran = zot("models", "price", *words)
    assert ran.code == 1 and error in ran.err and ran.err.count("\n") == 1


def test_models_update_needs_a_pin_without_a_terminal(zot: Zot) -> None:
    path = catalogue(zot, ROW)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    ran = zot("models", "update", "--from", str(path))
    assert ran.code == 1 and f"pass --sha256 {digest}, or --yes" in ran.err
    assert not (zot.home / "zot" / "catalog.json").exists()
    ran = zot("models", "update", "--from", str(path), "--sha256", digest)
    assert ran.code == 0 and "1 models, 1 of them new, 0 with another price" in ran.out
    assert (zot.home / "zot" / "catalog.json").read_bytes() == path.read_bytes()
    assert "2M" in zot("models", "gpt-7-sol").out


def test_models_update_with_another_hash_changes_nothing(zot: Zot) -> None:
    path = catalogue(zot, ROW)
    ran = zot("models", "update", "--from", str(path), "--sha256", "0" * 64)
    assert ran.code == 1 and "nothing was changed" in ran.err
    assert not (zot.home / "zot" / "catalog.json").exists()


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ('{"format": 1, "models": [{"id": "x", "prov', "the file is cut"),
        ('{"format": 2, "models": []}', "format 2: this zot reads format 1; update zot"),
        (json.dumps([ROW | {"price_output": -1}]), "gpt-7-sol: price_output: expected a number of at least 0"),
        (
            json.dumps([ROW | {"long_prompt": {"above": 1, "price_input": -2, "price_output": 1}}]),
            "long_prompt.price_input: expected a number of at least 0",
        ),
        (json.dumps([ROW, ROW]), "openai/gpt-7-sol is there twice"),
        ("[]", "no models in it"),
        ("<html>", "JSON is malformed"),
        (" " * (8 << 20) + "[]", "larger than 8 MiB"),
    ],
)
def test_models_update_refuses_a_bad_catalogue_in_one_line(zot: Zot, content: str, error: str) -> None:
    path = zot.home / "new.json"
    path.write_text(content)
    ran = zot("models", "update", "--from", str(path), "--yes")
    assert ran.code == 1 and error in ran.err
    assert ran.err.count("\n") == 1
    assert not (zot.home / "zot" / "catalog.json").exists()


def test_models_update_without_a_source_names_one(zot: Zot) -> None:
    ran = zot("models", "update")
    assert ran.code == 1 and "pass --from FILE or --from https://" in ran.err


def test_models_update_from_plain_http_is_refused(zot: Zot) -> None:
    ran = zot("models", "update", "--from", "http://models.invalid/list.json", "--yes")
    assert ran.code == 1 and "expected an https:// address or a file" in ran.err
