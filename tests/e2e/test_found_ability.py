"""A llama.cpp server whose model cannot call tools is found out by a small request, once, and its model is held by a
grammar."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Ran, Zot
from tests.fakes.props_server import FakeLlamaServer
from tests.fakes.rpc_client import FakeRpcClient

TOLD = "tiny has no tool calling (tested); its output is constrained by a grammar"
FREE = ("--permission-mode", "everything")


@pytest.fixture
def server() -> Iterator[FakeLlamaServer]:
    with FakeLlamaServer() as made:
        yield made


def run(zot: Zot, server: FakeLlamaServer, *args: str) -> Ran:
    zot.environment["LLAMA_BASE_URL"] = server.url
    return zot("-p", "hello", "--provider", "llama.cpp", "--model", "tiny", *FREE, *args, model=False)


def test_model_without_tool_calls_gets_grammar_and_one_notice(zot: Zot, server: FakeLlamaServer) -> None:
    ran = run(zot, server)
    assert (ran.code, ran.out) == (0, "Done.\n") and ran.err.splitlines() == [f"zot: {TOLD}"]
    tools, grammar = server.probes
    assert tools["tool_choice"] == "required" and len(tools["tools"]) == 1 and tools["max_tokens"] < 128
    assert "tools" not in grammar and grammar["grammar"].startswith("root ::= ")
    [prompt] = server.prompts
    assert "tools" not in prompt and "grammar" in prompt and '"tool": "glob"' in prompt["messages"][0]["content"]


def test_tool_support_is_probed_once_per_model(zot: Zot, server: FakeLlamaServer) -> None:
    for _ in range(3):
        assert run(zot, server).out == "Done.\n"
    assert len(server.probes) == 2 and server.props >= 3
    server.model, server.calls = "/models/another.gguf", True  # started anew, under the same name
    assert run(zot, server).out == "Hello.\n"
    assert len(server.probes) == 3 and "tools" in server.prompts[-1]


def test_model_with_tool_calls_is_not_constrained(zot: Zot, server: FakeLlamaServer) -> None:
    server.calls = True
    for _ in range(2):
        ran = run(zot, server)
        assert (ran.code, ran.out, ran.err) == (0, "Hello.\n", "")
    assert len(server.probes) == 1 and all("tools" in prompt for prompt in server.prompts)


@pytest.mark.parametrize("what", ["knows no grammars", "answers with errors", "is another server", "has its say"])
def test_failed_probe_leaves_the_model_unconstrained(zot: Zot, server: FakeLlamaServer, what: str) -> None:
    if what == "knows no grammars":
        server.grammars = False
    elif what == "answers with errors":
        server.status = 503
    elif what == "is another server":
        server.is_llama = False
    else:
        (zot.home / "zot").mkdir()
        said = {"providers": {"llama.cpp": {"models": [{"id": "tiny", "tools": True}]}}}
        (zot.home / "zot" / "models.json").write_text(json.dumps(said))
    for _ in range(2):
        assert run(zot, server).out == "Hello.\n"
    asked = {"knows no grammars": 2, "answers with errors": 1}.get(what, 0)
    assert len(server.probes) == asked and all("tools" in prompt for prompt in server.prompts)


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b'{"x": 1}', b"\xff\xfe"])
def test_damaged_probe_cache_is_rewritten(zot: Zot, server: FakeLlamaServer, said: bytes) -> None:
    place = zot.home / "zot" / "tool-calls.json"
    place.parent.mkdir()
    place.write_bytes(said)
    assert run(zot, server).out == "Done.\n"
    [kept] = json.loads(place.read_text()).values()
    assert kept["calls"] is False and kept["grammar"] is True


def test_run_without_tools_does_not_probe(zot: Zot, server: FakeLlamaServer) -> None:
    assert run(zot, server, "--no-tools").out == "Hello.\n"
    assert not server.probes and not server.props


def test_custom_local_server_is_probed(zot: Zot, server: FakeLlamaServer) -> None:
    (zot.home / "zot").mkdir()
    mine = {"baseUrl": server.url, "auth": "none", "models": [{"id": "tiny"}]}
    (zot.home / "zot" / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
    ran = zot("-p", "hello", "--provider", "mine", "--model", "tiny", *FREE, model=False)
    assert ran.out == "Done.\n" and TOLD in ran.err


def test_a_recorded_run_verifies(zot: Zot, server: FakeLlamaServer, tmp_path: Any) -> None:
    assert run(zot, server, "--record", str(tmp_path / "run.zotrec")).out == "Done.\n"
    ran = zot("replay", "--verify", str(tmp_path / "run.zotrec"), model=False)
    assert ran.out.startswith("no difference"), ran.out


def rpc(zot: Zot, server: FakeLlamaServer) -> FakeRpcClient:
    zot.environment["LLAMA_BASE_URL"] = server.url
    return FakeRpcClient(zot.argv(["rpc", "--provider", "llama.cpp", "--model", "tiny"]), zot.env(), zot.project)


def test_probe_can_be_interrupted(zot: Zot, server: FakeLlamaServer) -> None:
    server.hold.clear()
    client = rpc(zot, server)
    client.send("prompt", message="hello")
    wait_for(lambda: len(server.probes) == 1)
    assert client.ask("get_state")["data"]["busy"]
    client.send("abort")
    client.until("done")
    server.hold.set()
    client.prompt("again")
    assert client.ask("get_state")["data"]["permission_mode"] == "accept-edits"
    assert client.close() == 0
    assert [len(server.prompts), "grammar" in server.prompts[0]] == [1, True]


def test_run_stopped_during_probe_ends_at_once(zot: Zot, server: FakeLlamaServer) -> None:
    server.hold.clear()
    zot.environment["LLAMA_BASE_URL"] = server.url
    child = zot.start("-p", "hello", "--provider", "llama.cpp", "--model", "tiny")
    wait_for(lambda: len(server.probes) == 1)
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 130 and not server.prompts


def wait_for(holds: Any) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")
