"""Golden transcripts pin every byte zot writes; times, paths, ids and durations are normalised. ``WRITE_CASSETTES=1``
writes them again. The lines equal those of ``--json`` where both overlap, and those of the structs of
``rpc_frames``.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Refuse, Say, StreamError
from tests.fakes.rpc_client import FakeRpcClient
from tests.protocol.test_rpc_process import PNG
from zot import __version__
from zot.wire import rpc_frames

MODEL = ("--model", "claude-sonnet-4-5")  # the recorded one, whatever the default
CASSETTES = Path(__file__).parent.parent / "cassettes" / "rpc"
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
TOOK = re.compile(rb"Took \d+\.\d+s")


class Scenario(msgspec.Struct, frozen=True):
    """``talk`` drives the client; ``turns`` are the model's answers."""

    talk: Callable[[FakeRpcClient], Any]
    turns: list[Any] = []
    flags: tuple[str, ...] = ()
    extension: str = ""
    prompt: str = ""  # a lone prompt, which ``--json`` can run too


def lone(text: str, turns: list[Any], *flags: str) -> Scenario:
    return Scenario(lambda client: client.prompt(text, id="1"), turns, flags, prompt=text)


def _plain(client: FakeRpcClient) -> None:
    client.ask("hello", id="0")
    client.prompt("hello", id="1", images=[{"mime_type": "image/png", "data": base64.b64encode(PNG).decode()}])
    for command in ("get_state", "get_messages", "ping", "abort", "clear"):
        client.ask(command, id=command)
    client.ask("set_model", id="7", model="claude-opus-4-1")
    client.ask("set_reasoning", id="8", reasoning="max")


def _mistakes(client: FakeRpcClient) -> None:
    for line in (b"garbage", b'{"id":7.5,"type":"ping"}', b'{"id":"8","type":"frobnicate"}', b"{}"):
        client.write(line + b"\n")
        client.next()
    client.ask("prompt", id="1", message=5)
    client.ask("prompt", id="2", message="x", images=[{"data": "aGVsbG8="}])
    client.ask("set_model", id="3", model="nope")
    client.ask("set_reasoning", id="4", reasoning="much")
    client.ask("get_commands", id="5")
    client.ask("hello", id="6", capabilities=["commands"])
    client.ask("run_command", id="7", name="nope")


def _compact(client: FakeRpcClient) -> None:
    client.send("compact", id="1")
    client.until("done")
    client.prompt("fix the failing test", id="2")
    client.send("compact", id="3")
    client.until("compact_done")
    client.ask("get_messages", id="4")


def _approvals(client: FakeRpcClient) -> None:
    client.ask("hello", id="0", capabilities=["approvals"])
    client.send("prompt", id="1", message="go")
    for decision in ("deny", "once"):
        request = client.until("approval_request")
        client.ask("approve", id=decision, request_id=request["request_id"], decision=decision)
    client.until("done")


def _extension(client: FakeRpcClient) -> None:
    client.ask("hello", id="0", capabilities=["commands", "panels"])
    client.ask("get_commands", id="1")
    client.ask("run_command", id="2", name="go", args="show")
    client.ask("run_command", id="3", name="go", args="panel")
    client.ask("panel_key", id="4", extension="demo", panel_id="p", key="enter")
    client.until("ext_panel_close")


EXTENSION = """
hello(); send(type="register_command", name="go", description="goes")
send(type="notify", level="success", message="ready to go"); ready()
def go(f):
    panel = {"id": "p", "title": "T", "lines": ["a"], "footer": "f"}
    answers = {"show": {"action": "display", "display": "shown"},
               "panel": {"action": "open_panel", "open_panel": panel}}
    send(type="command_response", id=f["id"], **answers[f["args"]])
def key(f):
    send(type="panel_render", panel_id="p", lines=["b"])
    send(type="panel_close", panel_id="p")
serve(command_invoked=go, panel_key=key)
"""

BASH = [("bash", {"command": "echo out; exit 3"}), ("read", {"path": "missing.txt"})]
SCENARIOS = {
    "plain": Scenario(_plain, [Say("Hello to you, too — ünïcode included.")]),
    "text": lone("hi", [Say("hello there")]),
    "tools": lone("look", [CallTools(BASH, text="Let me look."), Say("Both failed.")]),
    "unknown-tool": lone("go", [CallTools([("frobnicate", '{"broken')]), Say("Sorry.")]),
    "provider-error": lone("hi", [Refuse(400, '{"error":{"type":"invalid_request_error","message":"no such thing"}}')]),
    "retry": lone("hi", [Refuse(529, "busy", {"retry-after": "0.7"}), Say("hello there")]),
    "broken-off": lone("hi", [StreamError(after=Say("The answer is ")), Say("forty-two.")]),
    "step-limit": lone("go", [CallTools([("bash", {"command": "true"})])] * 2, "--max-steps", "2"),
    "mistakes": Scenario(_mistakes),
    "compact": Scenario(_compact, [Say("done"), Say("## Goal\nfix it")]),
    "approvals": Scenario(
        _approvals, [CallTools([("bash", {"command": "echo a"})] * 2), Say("ok")], flags=("--no-yolo",)
    ),
    "extension": Scenario(_extension, extension=EXTENSION),
}


def normalised(raw: list[bytes], zot: Zot) -> bytes:
    text = b"".join(line + b"\n" for line in raw)
    text = TOOK.sub(b"Took 0.0s", TIME.sub(b"2026-01-01T00:00:00.000Z", text))
    text = text.replace(f'"version":"{__version__}"'.encode(), b'"version":"0.0.0"')
    return text.replace(str(zot.project).encode(), b"/project")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_byte_is_as_recorded(rpc, serve, zot: Zot, tmp_path: Path, name: str) -> None:
    """rpc-003, rpc-027, rpc-036: whole conversations are byte for byte as they were recorded."""
    scenario = SCENARIOS[name]
    serve(scenario.turns)
    flags = [*MODEL, *scenario.flags]
    if scenario.extension:
        flags += ["--ext", str(write_extension(tmp_path / "extensions", "demo", scenario.extension))]
    client = rpc(*flags)
    scenario.talk(client)
    assert client.close() == 0
    client.rest()
    recorded = CASSETTES / f"{name}.jsonl"
    if os.environ.get("WRITE_CASSETTES"):
        recorded.write_bytes(normalised(client.raw, zot))
    assert normalised(client.raw, zot) == recorded.read_bytes()


@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if scenario.prompt])
def test_json_mode_writes_the_same_bytes(zot: Zot, serve, name: str) -> None:
    """rpc-060: except for the response before and the text in ``done``."""
    scenario = SCENARIOS[name]
    serve(scenario.turns)
    ran = zot("--json", scenario.prompt, *MODEL, *scenario.flags)
    theirs = normalised([line.encode() for line in ran.out.splitlines()], zot).splitlines()
    response, *ours = (CASSETTES / f"{name}.jsonl").read_bytes().splitlines()
    assert response.startswith(b'{"type":"response"')
    assert theirs[:-1] == ours[:-1]
    assert theirs[-1].startswith(b'{"type":"done",') and ours[-1] == b'{"type":"done"}'


@pytest.mark.parametrize("name", SCENARIOS)
def test_structs_round_trip_to_the_same_bytes(name: str) -> None:
    """Decoding and encoding again gives the same bytes: no key is missing in a struct, none is added, none moved."""
    for line in (CASSETTES / f"{name}.jsonl").read_bytes().splitlines():
        decoded = msgspec.json.decode(line, type=rpc_frames.ServerLine)
        if isinstance(decoded, rpc_frames.Response) and decoded.data is not msgspec.UNSET:
            data = msgspec.convert(decoded.data, rpc_frames.DATA[decoded.command])
            decoded = msgspec.structs.replace(decoded, data=data)
        assert msgspec.json.encode(decoded) == line
