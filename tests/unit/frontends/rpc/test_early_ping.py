"""Early pings: answered exactly as by the server; other lines are left to it."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zot.frontends.rpc.early_ping import EarlyPingServer, ping_reply
from zot.wire.rpc_codec import BadCommand, decode_command
from zot.wire.rpc_frames import Ping, Pong, Response


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ping"}',
        b'{"id":"1","type":"ping"}',
        b'{"type":"ping","id":"1"}',
        b'{"id": "a b", "type": "ping"}\r',
        b'  { "type" : "ping" , "id" : "" }  ',
    ],
)
def test_plain_ping_answer_equals_server_byte_for_byte(line: bytes) -> None:
    command = decode_command(line.strip())
    response = Response(id=command.id, command="ping", success=True, data=Pong())
    assert ping_reply(line) == msgspec.json.encode(response) + b"\n"


@pytest.mark.parametrize("line", [b"", b"   ", b"\r", b"\t"])
def test_a_blank_line_is_nothing(line: bytes) -> None:
    assert ping_reply(line) == b""


@pytest.mark.parametrize(
    "line",
    [
        b'{"type" "ping":}',
        b'{"type":"ping","type":"ping"}',
        b'{"type":"ping","id":7}',
        b'{"type":"ping","id":"\\u0041"}',
        b'{"type":"ping","id":"\xc3\xa4"}',
        b'{"type":"ping","id":"\x01"}',
        b'{"type":"ping","x":"y"}',
        b'{"type":"ping","id":"1","x":"y"}',
        b'{"type":"hello"}',
        b'{"ping":"type"}',
        b'{"type":"ping"',
        b'[{"type":"ping"}]',
        b"ping",
        b'{"type":"ping","id":"' + b"x" * 2000 + b'"}',
    ],
)
def test_other_lines_are_left_to_the_server(line: bytes) -> None:
    assert ping_reply(line) is None


pieces = st.sampled_from(
    ["{", "}", '"', ":", ",", " ", "type", "id", "ping", '"type"', '"ping"', '"id"', "1", "\\", "null"]
)


@given(st.lists(pieces, max_size=14).map("".join))
def test_fuzz_only_pings_are_answered_early(text: str) -> None:
    line = text.encode()
    if ping_reply(line):
        try:
            assert isinstance(decode_command(line.strip()), Ping)
        except BadCommand as bad:
            raise AssertionError(f"{line!r}: {bad}") from bad


def test_input_after_the_first_other_line_is_handed_over_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "")
    stdin, feed = os.pipe()
    out, stdout = os.pipe()
    os.write(feed, b'{"type":"ping"}\n\n{"type":"get_state"}\n{"type":"ping"}\n{"ty')
    door = EarlyPingServer(stdin, stdout)
    door.open()
    door.close()
    assert door.unread == b'{"type":"get_state"}\n{"type":"ping"}\n{"ty'
    assert (door.answered, door.at_end) == (1, False)
    assert os.read(out, 4096).count(b"\n") == 1


def test_the_end_of_input_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin, feed = os.pipe()
    os.write(feed, b'{"type":"pi')
    os.close(feed)
    door = EarlyPingServer(stdin, os.open(os.devnull, os.O_WRONLY))
    door.open()
    door.close()
    assert (door.unread, door.at_end) == (b'{"type":"pi', True)


def test_with_token_nothing_is_read_and_variable_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "secret")
    stdin, feed = os.pipe()
    os.write(feed, b'{"type":"ping"}\n')
    door = EarlyPingServer(stdin, os.open(os.devnull, os.O_WRONLY))
    door.open()
    door.close()
    assert (door.token, door.unread, door.answered) == ("secret", b"", 0)
    assert "ZOTCORE_RPC_TOKEN" not in os.environ


def test_slow_client_is_left_to_the_server() -> None:
    stdin, feed = os.pipe()
    _, stdout = os.pipe()
    os.set_blocking(stdout, False)
    try:
        while True:
            os.write(stdout, b"x" * 65536)
    except BlockingIOError:
        pass
    os.write(feed, b'{"type":"ping"}\n')
    door = EarlyPingServer(stdin, stdout)
    door.open()
    door.close()
    assert (door.unread, door.answered) == (b'{"type":"ping"}\n', 0)
