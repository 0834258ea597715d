"""A client that stops reading: bounded memory, no lost event, merged deltas, and abort still works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say

WORD = "token "


def wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def settle(client: Any) -> float:
    """Wait until the server does nothing any more; its memory then."""
    last, calm = client.rss_mb(), 0
    while calm < 5:
        time.sleep(0.1)
        now = client.rss_mb()
        calm, last = (calm + 1 if abs(now - last) < 0.2 else 0), now
    return last


def test_stopped_reader_gets_merged_deltas_without_loss(rpc, serve) -> None:
    """rpc-038 with back-pressure: the text is whole, and far fewer lines carry it"""
    server = serve([Say(WORD * 100_000, deltas=(WORD,) * 100_000)])
    client = rpc()
    client.ask("get_state")
    client.pause()
    client.send("prompt", message="go")
    wait_until(lambda: server.timings and server.timings[0].last_byte)
    assert settle(client) < 150
    client.resume()
    client.until("done")
    deltas = [event for event in client.events if event["type"] == "text_delta"]
    assert "".join(event["delta"] for event in deltas) == WORD * 100_000
    merged = [event["merged"] for event in deltas if "merged" in event]
    assert merged and sum(merged) + sum("merged" not in event for event in deltas) == 100_000
    assert len(deltas) < 50_000
    assert [kind for kind in client.types if kind != "text_delta"] == [
        *("user_message", "turn_start", "assistant_start", "usage", "assistant_message", "turn_end", "done")
    ]


def test_a_reader_that_keeps_up_never_sees_a_merged_delta(rpc, serve) -> None:
    """rpc-003: a client that reads gets every delta unmerged."""
    serve([Say(WORD * 20_000, deltas=(WORD,) * 20_000)])
    lines = rpc().prompt("go")
    assert sum(line["type"] == "text_delta" for line in lines) == 20_000
    assert not any("merged" in line for line in lines)


def test_agent_pauses_before_next_turn_while_client_is_slow(rpc, serve) -> None:
    """§8 with back-pressure: an endless tool loop pauses while the client does not read."""
    big = "x" * 60_000
    server = serve([CallTools([("bash", {"command": f"echo {big}"})], text=big)], repeat=True)
    client = rpc()
    client.ask("get_state")
    client.pause()
    client.send("prompt", message="go")
    wait_until(lambda: len(server.requests) > 1)
    memory = settle(client)
    asked = len(server.requests)
    time.sleep(0.5)
    assert len(server.requests) == asked < 30
    assert memory < 150
    client.resume()
    started = time.monotonic()
    while len(server.requests) <= asked + 5:
        client.next()
        assert time.monotonic() - started < 20
    client.send("abort")
    client.until("done")


def test_abort_works_while_client_does_not_read(rpc, serve) -> None:
    """rpc-050: abort works even while the client reads nothing."""
    server = serve([CallTools([("bash", {"command": "echo " + "y" * 40_000})], text="z" * 60_000)], repeat=True)
    client = rpc()
    client.ask("get_state")
    client.pause()
    client.send("prompt", message="go")
    wait_until(lambda: len(server.requests) > 1)
    settle(client)
    asked = len(server.requests)
    client.send("abort")
    client.send("get_state", id="after")
    settle(client)
    client.resume()
    client.until("done")
    if not any(line.get("id") == "after" for line in client.seen):
        client.until("response", id="after")
    assert len(server.requests) == asked
    assert client.ask("get_state")["data"]["busy"] is False


def test_client_that_never_reads_is_no_longer_read(rpc, serve) -> None:
    """rpc-004 with back-pressure: unread answers are bounded, and none is lost"""
    serve([])
    client = rpc()
    client.ask("get_state")
    client.pause()
    before = client.rss_mb()
    pings = b"".join(b'{"id":"%06d","type":"ping"}\n' % n for n in range(200_000))
    writer = threading.Thread(target=client.write, args=(pings,))
    writer.start()
    assert settle(client) - before < 40
    assert writer.is_alive()
    client.resume()
    for number in range(200_000):
        assert client.next()["id"] == f"{number:06d}"
    writer.join()


def test_a_note_is_not_lost_behind_a_full_pipe(rpc, serve, tmp_path: Path) -> None:
    """rpc-058 with back-pressure"""
    server = serve([Say(WORD * 50_000, deltas=(WORD,) * 50_000)])
    body = 'hello(); subscribe(["turn_end"]); ready()\n'
    body += 'serve(event=lambda f: send(type="notify", level="info", message="n"))'
    client = rpc("--ext", str(write_extension(tmp_path / "extensions", "noter", body)))
    client.ask("get_state")
    client.pause()
    client.send("prompt", message="go")
    wait_until(lambda: server.timings and server.timings[0].last_byte)
    settle(client)
    client.resume()
    client.until("done")
    if "ext_notify" not in client.types:
        client.until("ext_notify")
    assert client.types.count("ext_notify") == 1
