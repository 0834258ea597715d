"""issue 34: ``zot serve`` on a full disk, with another version of zot, and with two drivers at once."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.served import Served, ServedClient
from tests.fakes.zot_process import Zot

TOUCH = {"text": "I touch it.", "tool_calls": [{"name": "bash", "args": {"command": "echo x >> touched"}}]}
DONE = {"text": "All done."}

Start = Callable[..., Served]


@pytest.fixture
def served(zot: Zot, tmp_path: Path) -> Iterator[Start]:
    running: list[Served] = []

    def start(*flags: str, turns: list[dict[str, Any]] | None = None, delay_ms: int = 0, **options: Any) -> Served:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": turns or [DONE], "repeat": True, "delay_ms": delay_ms}))
        running.append(Served(zot, "--provider", "script", "--script", str(script), *flags, **options))
        return running[-1]

    yield start
    for each in running:
        each.end(9)


# --- a full disk


@pytest.fixture
def small_disk(zot: Zot) -> list[str]:
    """What starts a process whose home is a disk of 512 kB."""
    home = zot.home / "zot"
    home.mkdir(parents=True, exist_ok=True)
    mount = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=512k tmpfs {home} && exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*mount, "true"], capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    return mount


def _within(server: Served, command: str) -> str:
    enter = ["nsenter", "--preserve-credentials", "-U", "-m", "-t", str(server.process.pid), "sh", "-c", command]
    ran = subprocess.run(enter, capture_output=True, text=True, timeout=20)
    return ran.stdout + ran.stderr


def test_full_disk_keeps_the_token_and_the_server(served: Start, zot: Zot, small_disk: list[str]) -> None:
    server = served(within=small_disk)
    full = zot.home / "zot" / "full"
    _within(server, f"dd if=/dev/zero of={full} bs=1k")
    status, answer = server.exchange(server.token)
    assert status == 500 and "space" in answer["error"]
    _within(server, f"rm {full}")
    assert server.exchange(server.token)[0] == 200


def test_turn_goes_on_when_the_disk_is_full(served: Start, zot: Zot, small_disk: list[str]) -> None:
    server = served(within=small_disk)
    full = zot.home / "zot" / "full"
    with server.client() as client:
        client.ask("prompt", message="first")
        client.until("done")
        _within(server, f"dd if=/dev/zero of={full} bs=1k")
        client.send("prompt", message="second " + "x" * 100_000)
        assert "space" in client.until("session_fault")["message"]
        client.until("done")
        _within(server, f"rm {full}")
        client.ask("prompt", message="third")
        client.until("done")
        name = client.welcome["conversation"]
    with server.client(name) as again:
        texts = json.dumps(again.ask("get_messages")["data"]["messages"])
        assert all(word in texts for word in ("first", "second", "third"))


# --- another version of zot


def test_file_of_a_newer_version_is_read(served: Start, zot: Zot) -> None:
    home = zot.home / "zot"
    home.mkdir(parents=True, exist_ok=True)
    newer = {"port": 1, "pid": 1, "later": {"x": 1}, "devices": [{"name": "a", "key_hash": "0", "colour": "red"}]}
    (home / "serve.json").write_text(json.dumps(newer))
    server = served()
    assert server.exchange(server.token)[0] == 200
    assert "a  " in zot("serve", "devices", model=False).out


def test_page_of_another_version_gets_errors_not_an_end(served: Start) -> None:
    server = served("--permission-mode", "ask", turns=[TOUCH, DONE])
    with server.client() as page:
        assert page.ask("later_command", x=1)["error"] == "unknown command"
        assert page.ask("hello", capabilities=["of-later"], later=1)["success"]
        assert page.ask("get_state", later=True)["success"]
        page.send("prompt", message="go")
        asked = page.until("approval_request")
        older = page.ask("approve", request_id=asked["request_id"], decision="once")
        assert not older["success"] and "call_hash" in older["error"]
        assert page.ask("approve", request_id=asked["request_id"], decision="deny")["success"]
        page.until("done")
    bearer = {"authorization": f"Bearer {server.key}"}
    assert json.loads(server.request("GET", "/conversations", headers=bearer)[2])["version"]


# --- two drivers at once


def test_one_of_many_that_take_over_drives(served: Start) -> None:
    server = served()
    with server.client() as first:
        name = first.welcome["conversation"]
        others = [server.client(name) for _ in range(8)]
        with ThreadPoolExecutor(8) as threads:
            assert all(answer["success"] for answer in threads.map(lambda each: each.ask("take_over"), others))
        first.ask("ping")
        driver = [line["driver"] for line in first.seen if line["type"] == "driver_changed"][-1]
        accepted = [each.name for each in (first, *others) if _accepts(each)]
        assert accepted == [driver]
        for each in others:
            each.connection.close()


def _accepts(client: ServedClient) -> bool:
    return bool(client.ask("set_reasoning", reasoning="low")["success"])


def test_two_approvals_of_one_request_run_it_once(served: Start, zot: Zot) -> None:
    server = served("--permission-mode", "ask", turns=[TOUCH, DONE])
    with server.client() as first, server.client(first.welcome["conversation"]) as second:
        first.send("prompt", message="go")
        asked = first.until("approval_request")
        fields = {"request_id": asked["request_id"], "decision": "once", "call_hash": asked["call_hash"]}
        first.send("approve", id="one", **fields)
        second.send("take_over")
        second.send("approve", id="two", **fields)
        one, two = first.until("response", id="one"), second.until("response", id="two")
        assert [one["success"], two["success"]].count(True) == 1
        second.until("done")
    time.sleep(0.2)
    assert (zot.project / "touched").read_text() == "x\n"


def test_prompts_of_two_drivers_run_one_after_the_other(served: Start) -> None:
    server = served(turns=[{"text": "one two three four"}], delay_ms=50)
    with server.client() as first, server.client(first.welcome["conversation"]) as second:
        first.send("prompt", message="of the first")
        first.until("turn_start")
        second.ask("take_over")
        second.send("prompt", message="of the second")
        second.until("done")
        second.until("done")
        messages = second.ask("get_messages")["data"]["messages"]
        assert [each["role"] for each in messages] == ["user", "assistant", "user", "assistant"]
        assert not first.ask("prompt", message="again")["success"]
