"""A client of ``zot rpc`` that floods it, or dies."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from attack.stage import zot_in
from attack.table import attack
from tests.fakes.model_server import FakeModelServer, Say, Slow
from tests.fakes.rpc_client import FakeRpcClient
from zot.frontends.prompt_queue import MOST_WAITING


@attack("rpc", "ten thousand prompts while one runs", expect="limited, with an error for each")
def a_flood_of_prompts(scratch: Path) -> str:
    zot = zot_in(scratch)
    with FakeModelServer([Slow(Say("ok"), 60.0)]) as server:
        argv = zot.argv(["rpc", "--base-url", server.url, "--api-key", "k"])
        client = FakeRpcClient(argv, zot.env(), zot.project)
        client.send("prompt", message="the one that runs")
        client.response("prompt")
        for _ in range(10_000):
            client.send("prompt", message="x" * 100)
        refused = [client.response("prompt") for _ in range(10_000 - MOST_WAITING)]
        alive = client.ask("ping")["success"]
        client.process.kill()
        client.process.wait()
    if not alive or any(answer["success"] for answer in refused):
        return "more prompts were taken than there is room for"
    return "" if "already waiting" in refused[0]["error"] else f"the error does not say why: {refused[0]}"


@attack("rpc", "a client that dies while a long turn runs", expect="zot ends at once")
def a_client_that_dies(scratch: Path) -> str:
    zot = zot_in(scratch)
    with FakeModelServer([Slow(Say("ok"), 60.0)]) as server:
        argv = zot.argv(["rpc", "--base-url", server.url, "--api-key", "k"])
        client = FakeRpcClient(argv, zot.env(), zot.project)
        client.send("prompt", message="go")
        client.until("turn_start")
        client.hang_up()
        began = time.monotonic()
        try:
            client.process.wait(10)
        except subprocess.TimeoutExpired:
            client.process.kill()
            return "zot went on for ten seconds after its client had gone"
    return "" if time.monotonic() - began < 5 else "it took more than five seconds"
