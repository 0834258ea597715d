"""A dialect is one file and one row: each row fills the whole seam, and choosing one imports no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.provider.samples import ENDPOINT
from zot.provider.dialects import DIALECTS, dialect_for
from zot.provider.dialects.dialect import Dialect, Endpoint, ListedModel
from zot.provider.model import REASONING_LEVELS


@pytest.mark.parametrize("api", DIALECTS)
def test_each_row_fills_the_seam(api: str) -> None:
    dialect = dialect_for(api)
    assert [name for name in vars(Dialect) if not name.startswith("_") and not hasattr(dialect, name)] == []
    assert set(dialect.levels) <= set(REASONING_LEVELS)


LISTS = {"gemini": "http://host/v1beta/models", "bedrock": "http://host/foundation-models"}


@pytest.mark.parametrize("api", DIALECTS)
def test_dialect_lists_models_and_probes_key_in_a_header(api: str) -> None:
    dialect = dialect_for(api)
    for request in (dialect.list_request(ENDPOINT, ""), dialect.probe_request(ENDPOINT)):
        assert (request.method, request.body) == ("GET", b"")
        assert request.url.startswith(LISTS.get(api, "http://host/v1/models"))
        assert any(ENDPOINT.api_key in value for _, value in request.headers)
        assert ENDPOINT.api_key not in request.url


@pytest.mark.parametrize("api", DIALECTS)
def test_invalid_model_list_page_is_an_empty_last_one(api: str) -> None:
    dialect = dialect_for(api)
    for page in ({}, {"data": "x", "has_more": True, "last_id": 7}, {"data": [7, {}, {"id": "\x1b[2J"}]}):
        assert dialect.listed(page) == ([], "")


@pytest.mark.parametrize("api", sorted(set(DIALECTS) - set(LISTS)))
def test_a_model_list_in_the_usual_shape(api: str) -> None:
    page = {"data": [{"id": "m", "context_length": 5}]}
    assert dialect_for(api).listed(page) == ([ListedModel("m", context_window=5)], "")


def test_google_s_model_list() -> None:
    methods = ["generateContent", "countTokens"]
    shown = {"displayName": "Pro", "inputTokenLimit": 9, "outputTokenLimit": 5, "supportedGenerationMethods": methods}
    rows = [{"name": "models/g-pro", **shown}, {"name": "models/emb", "supportedGenerationMethods": ["embedContent"]}]
    page = {"models": [*rows, 7, {"name": "\x1b[2J", **shown}, {"name": 5}], "nextPageToken": "t/=="}
    assert dialect_for("gemini").listed(page) == ([ListedModel("g-pro", "Pro", 9, 5)], "t/==")
    assert dialect_for("gemini").list_request(ENDPOINT, "t/==").url.endswith("&pageToken=t%2F%3D%3D")


def test_amazon_s_two_model_lists() -> None:
    dialect = dialect_for("bedrock")
    row = {"responseStreamingSupported": True, "outputModalities": ["TEXT"], "inferenceTypesSupported": ["ON_DEMAND"]}
    page = {
        "modelSummaries": [
            {"modelId": "amazon.nova", "modelName": "Nova", **row},
            {"modelId": "by-profile", **row, "inferenceTypesSupported": ["INFERENCE_PROFILE"]},
            {"modelId": "pictures", **row, "outputModalities": ["IMAGE"]},
        ]
    }
    assert dialect.listed(page) == ([ListedModel("amazon.nova", "Nova")], "profiles")
    second = {
        "inferenceProfileSummaries": [{"inferenceProfileId": "us.x", "inferenceProfileName": "X"}],
        "nextToken": "n",
    }
    assert dialect.listed(second) == ([ListedModel("us.x", "X")], "n")
    endpoint = Endpoint(provider="p", base_url="https://bedrock-runtime.eu-west-1.amazonaws.com", api_key="k")
    urls = [dialect.list_request(endpoint, after).url for after in ("", "profiles", "n")]
    assert urls == [
        "https://bedrock.eu-west-1.amazonaws.com/foundation-models",
        "https://bedrock.eu-west-1.amazonaws.com/inference-profiles?maxResults=1000",
        "https://bedrock.eu-west-1.amazonaws.com/inference-profiles?maxResults=1000&nextToken=n",
    ]


@pytest.mark.parametrize("api", DIALECTS)
def test_dialect_import_loads_no_other_dialect_or_discovery(api: str) -> None:
    program = f"import sys; from zot.provider.dialects import dialect_for; dialect_for({api!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {f"zot.provider.dialects.{file}" for file, _ in DIALECTS.values()} & loaded == {
        f"zot.provider.dialects.{DIALECTS[api][0]}"
    }
    later = {"zot.provider.dialects.model_list", "zot.provider.discovery"}
    assert not later & loaded


def test_models_of_a_chatgpt_plan_are_those_to_show() -> None:
    page = {
        "models": [
            {"slug": "gpt-6", "display_name": "GPT 6", "visibility": "list", "context_window": 400_000},
            {"slug": "gpt-secret", "visibility": "hide"},
            {"slug": 5},
            "garbage",
        ]
    }
    models, after = dialect_for("openai-responses").listed(page)
    assert (models, after) == ([ListedModel("gpt-6", "GPT 6", 400_000)], "")


def test_models_of_copilot_are_those_its_owner_allows() -> None:
    limits = {"max_context_window_tokens": 200_000, "max_output_tokens": 16_000}
    good = {"id": "claude", "name": "Claude", "model_picker_enabled": True}
    good["capabilities"] = {"type": "chat", "limits": limits, "supports": {"tool_calls": True}}
    page = {
        "data": [
            good,
            {**good, "id": "denied", "policy": {"state": "disabled"}},
            {**good, "id": "hidden", "model_picker_enabled": False},
            {**good, "id": "elsewhere", "supported_endpoints": ["/responses"]},
            {**good, "id": "embedding", "capabilities": {"type": "embeddings"}},
        ]
    }
    models, _ = dialect_for("openai").listed(page)
    assert models == [ListedModel("claude", "Claude", 200_000, 16_000, True)]
