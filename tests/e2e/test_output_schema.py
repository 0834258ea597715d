"""issue 30.4: ``--output-schema`` and ``web_search`` through a process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.model_server import Say
from tests.terminal.scripts import configure

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def test_matching_answer_is_printed(zot: Zot, serve: Any) -> None:
    server = serve([Say('{"n": 42}')])
    (zot.project / "s.json").write_text(json.dumps(SCHEMA))
    ran = zot("-p", "--output-schema", "s.json", "how many?")
    assert (ran.code, ran.err, json.loads(ran.out)) == (0, "", {"n": 42})
    assert server.requests[0].json["output_config"]["format"]["schema"] == SCHEMA


def test_wrong_answer_is_corrected_by_the_model(zot: Zot, serve: Any) -> None:
    server = serve([Say("It is 42."), Say('{"n": "42"}'), Say('{"n": 42}')])
    ran = zot("-p", "--output-schema", json.dumps(SCHEMA), "how many?")
    assert (ran.code, json.loads(ran.out)) == (0, {"n": 42})
    assert "not JSON" in str(server.requests[1].json["messages"][-1])
    assert "'n' must be integer" in server.requests[2].json["messages"][-1]["content"][0]["text"]


def test_answer_that_never_matches_fails_the_run(zot: Zot, serve: Any) -> None:
    serve([Say("no")], repeat=True)
    ran = zot("-p", "--output-schema", json.dumps(SCHEMA), "how many?")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("zot: the answer does not match --output-schema: not JSON")
    ran = zot("--json", "--output-schema", json.dumps(SCHEMA), "how many?")
    assert ran.events[-1] == {"type": "done", "reason": "error", "exit_code": 1}
    assert [e["code"] for e in ran.events if e["type"] == "error"] == ["answer_mismatch"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("missing.json", "--output-schema missing.json: No such file or directory"),
        ("{not json", "--output-schema: expected a JSON Schema object"),
        ("list.json", "--output-schema list.json: expected a JSON Schema object"),
    ],
)
def test_unusable_schema_is_a_usage_error(zot: Zot, serve: Any, given: str, said: str) -> None:
    server = serve([Say("never")])
    (zot.project / "list.json").write_text("[]")
    ran = zot("-p", "--output-schema", given, "how many?")
    assert ran.code == 1 and said in ran.err and not server.requests


def test_web_search_is_offered_only_if_named(zot: Zot, serve: Any) -> None:
    server = serve([Say("one")], repeat=True)
    zot("-p", "hi")
    zot("-p", "--tools", "read,web_search", "hi")
    configure(zot, tools=["web_search"])
    zot("-p", "hi")
    names = [
        [tool["name"] for tool in request.json["tools"]] for request in server.requests if request.method == "POST"
    ]
    assert "web_search" not in names[0]
    assert names[1] == ["web_search", "web_fetch", "read"]
    assert names[2][:2] == ["web_search", "web_fetch"] and "bash" in names[2]


def test_web_search_of_a_provider_without_it_is_reported(zot: Zot, serve: Any) -> None:
    serve([Say("one")], repeat=True)
    ran = zot("-p", "--provider", "groq", "--model", "some-model", "--tools", "read,web_search", "hi")
    assert ran.out == "one\n" and "web_search is not offered: groq runs no web search" in ran.err


def test_web_search_is_off_in_a_jail_without_network(zot: Zot, serve: Any) -> None:
    server = serve([Say("one")], repeat=True)
    ran = zot("-p", "--jail", "--tools", "read,web_search", "hi")
    assert "the jail has no network" in ran.err
    assert [tool["name"] for tool in server.requests[0].json["tools"]] == ["read"]
    assert "web_search" not in zot("-p", "--jail=net", "--tools", "read,web_search", "hi").err


@pytest.mark.parametrize("mode", [["rpc"], []])
def test_schema_in_another_mode_is_a_usage_error(zot: Zot, mode: list[str]) -> None:
    ran = zot(*mode, "--output-schema", "{}")
    assert ran.code == 1 and ran.err


def test_unknown_provider_of_a_tier_is_reported(zot: Zot, serve: Any) -> None:
    serve([Say("one")], repeat=True)
    configure(zot, service_tier={"opnai": "flex"}, cache_lifetime="long")
    ran = zot("-p", "hi")
    assert 'service_tier: unknown provider "opnai"' in ran.err and ran.out == "one\n"


def test_tier_and_cache_lifetime_reach_the_request(zot: Zot, serve: Any) -> None:
    server = serve([Say("one", usage=(1_000_000, 0))], repeat=True)
    configure(zot, service_tier={"anthropic": "standard_only", "openai": "flex"}, cache_lifetime="long")
    zot("-p", "hi")
    body = server.requests[0].json
    assert body["service_tier"] == "standard_only"
    assert body["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    ran = zot("--json", "--provider", "openai", "--model", "gpt-6.1-sol", "hi")
    body = server.requests[-1].json
    assert body["service_tier"] == "flex" and body["prompt_cache_options"] == {"ttl": "30m"}
    (usage,) = [event for event in ran.events if event["type"] == "usage"]
    assert usage["cost_usd"] == pytest.approx(4 * 0.5)  # a long prompt costs twice as much, flex half
