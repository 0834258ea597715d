"""issue 33.4: traces and metrics over OTLP, taken by a real collector and by ones that fail."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.collector import FakeCollector, Rotel, rotel
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Refuse, Say

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
GUARD = """
hello(); subscribe(intercept=["tool_call"]); ready()
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        answer(frame, block="rm" in json.dumps(frame.get("tool_args")), reason="not that")
"""


def bash(command: str) -> CallTools:
    return CallTools([("bash", {"command": command})])


def send_to(zot: Zot, url: str, **more: str) -> None:
    zot.environment |= {"OTEL_EXPORTER_OTLP_ENDPOINT": url, **more}


def tree(spans: list[dict[str, str]]) -> dict[str, str]:
    """The name of each span's parent, by id."""
    names = {span["ID"]: span["Name"] for span in spans}
    return {span["ID"]: names.get(span.get("Parent ID", ""), "") for span in spans}


@pytest.fixture
def collector(tmp_path: Path) -> Any:
    with rotel(tmp_path) as running:
        yield running


def test_collector_takes_one_run_as_one_trace(zot: Zot, serve: Any, collector: Rotel) -> None:
    """A run with tools, a refused call, a delegated agent and an error is one trace with the conventions' names."""
    guard = write_extension(zot.home / "more", "keeper", GUARD, guard=True)
    agent = CallTools([("agent", {"agent": "explore", "task": "look"})])
    serve([agent, CallTools([("read", {"path": "."})]), Say("empty"), bash("rm x"), bash("exit 3"), Say("done")])
    send_to(zot, collector.url, TRACEPARENT=PARENT, OTEL_SERVICE_NAME="nightly")
    ran = zot("-p", "--tools", "agent,bash,read", "-e", str(guard), "go")
    assert (ran.code, ran.err) == (0, "")
    spans = collector.wait_for(17)
    names = [span["Name"] for span in spans]
    assert len({span["Trace ID"] for span in spans}) == 1 and spans[0]["Trace ID"] == PARENT.split("-")[1]
    assert names.count("invoke_agent zot") == 1 and names.count("invoke_agent explore") == 1
    parents = tree(spans)
    of = {(span["Name"], parents[span["ID"]]) for span in spans}
    assert ("invoke_agent explore", "execute_tool agent") in of and ("execute_tool read", "invoke_agent explore") in of
    assert ("execute_tool bash", "invoke_agent zot") in of and ("intercept tool_call keeper", "execute_tool bash") in of
    (root,) = (span for span in spans if span["Name"] == "invoke_agent zot")
    assert root["Parent ID"] == PARENT.split("-")[2]
    refused = [span for span in spans if span.get("error.type") == "denied" and span["Name"] == "execute_tool bash"]
    assert len(refused) == 1 and "ERROR" in refused[0]["Status code"]
    verdicts = [span["zot.verdict"] for span in spans if span["Name"].startswith("intercept")]
    assert verdicts.count("block") == 1 and "allow" in verdicts
    failed = [span for span in spans if span.get("error.type") == "failed"]
    assert [span["Name"] for span in failed] == ["execute_tool bash"]
    (chat, *_) = (span for span in spans if span["Name"].startswith("chat claude"))
    assert chat["gen_ai.provider.name"] == "anthropic" and chat["Kind"] == "SPAN_KIND_CLIENT"
    assert chat["gen_ai.usage.input_tokens"] and chat["server.address"] == "127.0.0.1"
    assert "gen_ai.client.token.usage" in collector.text and "service.name: Str(nightly)" in collector.text
    assert "DataType: Histogram" in collector.text and "DataType: Empty" not in collector.text


def test_failed_model_call_is_an_error_span(zot: Zot, serve: Any) -> None:
    serve([Refuse(400, "bad")], repeat=True)
    with FakeCollector() as collector:
        send_to(zot, collector.url)
        assert zot("-p", "go").code != 0
        by_name = {span["name"].split()[0]: span for span in collector.spans}
        assert by_name["chat"]["status"]["code"] == 2 and by_name["invoke_agent"]["status"]["code"] == 2


def test_content_is_off_unless_switched_on_and_then_scrubbed(zot: Zot, serve: Any) -> None:
    serve([bash("echo sk-ant-REDACTED"), Say("secret words")], repeat=True)
    with FakeCollector() as collector:
        send_to(zot, collector.url)
        zot("-p", "a private prompt")
        assert "private" not in json.dumps(collector.requests) and "secret words" not in json.dumps(collector.requests)
        zot.environment["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
        zot("-p", "a private prompt")
        text = json.dumps(collector.requests)
        assert "a private prompt" in text and "secret words" in text and "sk-ant-api03-abc" not in text


def test_children_get_the_context_and_not_the_headers(zot: Zot, serve: Any) -> None:
    """Commands, also jailed ones, hang under their tool's span; the collector's key stays with zot."""
    server = serve([bash("env | grep -E 'TRACEPARENT|OTEL' | sort"), Say("ok")] * 2)
    with FakeCollector() as collector:
        send_to(zot, collector.url, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20k3y", TRACEPARENT=PARENT)
        for flags in ((), ("--jail=net",)):
            zot("-p", *flags, "go")
            said = json.dumps(server.requests[-1].json["messages"][-1])
            assert f"TRACEPARENT=00-{PARENT.split('-')[1]}-" in said and PARENT not in said and "k3y" not in said
        assert collector.requests[0][1]["authorization"] == "Bearer k3y"
        tools = {span["spanId"] for span in collector.spans if span["name"] == "execute_tool bash"}
        assert any(f"-{id}-01" in said for id in tools)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "cannot send to http://127.0.0.1:9/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, "expected an http or https address"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/json"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_HEADERS": "key"}, "key=value"),
    ],
)
def test_wrong_settings_are_one_line_and_no_failure(
    zot: Zot, serve: Any, environment: dict[str, str], said: str
) -> None:
    serve([Say("ok")])
    zot.environment |= environment
    ran = zot("-p", "hi")
    assert (ran.code, ran.out) == (0, "ok\n") and ran.err.count("\n") == 1 and said in ran.err


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
        {"TRACEPARENT": PARENT.removesuffix("01") + "00"},
    ],
)
def test_nothing_is_sent_unless_asked(zot: Zot, serve: Any, environment: dict[str, str]) -> None:
    """Off without an endpoint, when disabled, and for a caller that did not sample its trace."""
    serve([Say("ok")])
    with FakeCollector() as collector:
        if environment:
            send_to(zot, collector.url, **environment)
        assert zot("-p", "hi").err == ""
        assert collector.spans == []


def test_setting_names_the_collector(zot: Zot, serve: Any) -> None:
    serve([Say("ok")], repeat=True)
    with FakeCollector() as collector:
        (zot.home / "zot").mkdir(exist_ok=True)
        config = zot.home / "zot" / "config.json"
        config.write_text(json.dumps({"telemetry": {"endpoint": collector.url}}))
        zot("-p", "hi")
        assert {span["name"].split()[0] for span in collector.spans} == {"invoke_agent", "chat"}
        assert f"sent to {collector.url}/v1/traces, without content" in zot("doctor", model=False).out
        count = len(collector.requests)
        config.write_text(json.dumps({"telemetry": {"enabled": False}}))
        send_to(zot, collector.url)
        zot("-p", "hi")
        assert len(collector.requests) == count


@pytest.mark.parametrize(
    ("telemetry", "said"),
    [
        ({"endpoint": "localhost:4318"}, "telemetry.endpoint: localhost:4318: expected an http or https address"),
        ({"endpont": "http://localhost:4318"}, "endpont"),
    ],
)
def test_mistakes_in_the_setting_are_named(zot: Zot, serve: Any, telemetry: dict[str, str], said: str) -> None:
    serve([Say("ok")])
    (zot.home / "zot").mkdir(exist_ok=True)
    (zot.home / "zot" / "config.json").write_text(json.dumps({"telemetry": telemetry}))
    ran = zot("-p", "hi")
    assert (ran.code, ran.out) == (0, "ok\n") and ran.err.count("\n") == 1 and said in ran.err


def test_collector_that_answers_400_is_named_once(zot: Zot, serve: Any) -> None:
    serve([Say("ok")])
    with FakeCollector(status=400) as collector:
        send_to(zot, collector.url)
        ran = zot("-p", "hi")
        assert ran.code == 0 and ran.err.count("http 400") == 1 and "no such tenant" in ran.err


def test_collector_that_is_slow_delays_neither_turn_nor_exit(zot: Zot, serve: Any) -> None:
    """At exit at most 250 ms, and nothing for a collector that has not answered by then."""
    serve([bash("true"), bash("true"), Say("ok")], repeat=True)
    began = time.monotonic()
    zot("-p", "hi")
    usual = time.monotonic() - began
    with FakeCollector(delay_s=30) as collector:
        send_to(zot, collector.url)
        began = time.monotonic()
        ran = zot("-p", "hi")
        assert (ran.code, ran.out) == (0, "ok\n") and time.monotonic() - began < usual + 0.6


def test_worker_hangs_under_the_span_that_started_it(zot: Zot, serve: Any) -> None:
    """Swarm workers send to the same collector, in the trace of their starter."""
    from tests.fakes.swarm_home import SwarmHome

    def model(request: Any) -> Any:
        texts = json.dumps(request.json["messages"])
        if "you are a worker" in texts:
            return Say("done")
        if "final response" in texts:
            return Say("ok")
        return CallTools([("swarm_spawn", {"task": "you are a worker", "mode": "shared"}), ("agent_wait", {})])

    server = serve([model], repeat=True)
    with FakeCollector() as collector:
        send_to(zot, collector.url)
        home = SwarmHome(zot, server.url)
        try:
            zot("-p", "--tools", "swarm", "go")
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and len(_roots(collector)) < 2:
                time.sleep(0.1)
        finally:
            home.close()
        roots = _roots(collector)
        assert len(roots) == 2 and len({span["traceId"] for span in roots}) == 1
        parents = {span["spanId"]: span["name"] for span in collector.spans}
        assert "execute_tool swarm_spawn" in [parents.get(span.get("parentSpanId", ""), "") for span in roots]


def _roots(collector: FakeCollector) -> list[dict[str, Any]]:
    return [span for span in collector.spans if span["name"] == "invoke_agent zot"]
