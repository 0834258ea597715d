"""The RPC column of the fault matrix: a failing guard permits nothing, and ``ping`` is answered throughout."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.e2e.test_extensions_faults import FAULTS, script
from tests.fakes.extensions import write_extension
from tests.fakes.rpc_client import FakeRpcClient

Rpc = Callable[..., FakeRpcClient]
PING_S = 1.0  # the promise is 100 ms; a loaded test machine gets ten times that, a stall would take five seconds


@pytest.mark.parametrize("fault", FAULTS)
def test_failing_guard_denies_everything_over_rpc(zot: Zot, rpc: Rpc, serve: Any, fault: str) -> None:
    """ext-079, ext-080, rpc-056: no side effect, a refusal for the model, answers to ping meanwhile"""
    server = serve(script(zot))
    options = {"exec": "./missing"} if fault == "cannot be started" else {}
    write_extension(zot.home / "zot" / "extensions", "g", FAULTS[fault], guard=True, **options)
    client = rpc()
    client.ask("ping")
    client.ask("prompt", message="go")  # waits for the extensions, three seconds at most
    assert ping_until_done(client) < PING_S
    assert not (zot.project / "side-effect").exists()
    refused = next(event for event in client.events if event["type"] == "tool_result")
    assert refused["is_error"] and "denied: the guard" in refused["content"][0]["text"]
    assert "denied: the guard" in json.dumps(server.requests[-1].json["messages"][-1])
    assert client.close() == 0
    assert "Traceback" not in client.stderr


def ping_until_done(client: FakeRpcClient) -> float:
    """Ping again and again until the prompt is done; the longest wait for an answer."""
    slowest = 0.0
    deadline = time.monotonic() + 30
    while not done(client):
        assert time.monotonic() < deadline, client.seen[-5:]
        sent = time.monotonic()
        client.ask("ping")
        slowest = max(slowest, time.monotonic() - sent)
        try:
            client.next(0.02)
        except queue.Empty:
            continue
    return slowest


def done(client: FakeRpcClient) -> bool:
    return any(line["type"] == "done" for line in client.seen)
