"""One conversation on several screens: `/serve` and `zot attach`, with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Zot
from tests.fakes.extensions import write_extension
from tests.fakes.model_server import CallTools, Say, Slow
from tests.fakes.served import Served, ServedClient
from tests.fakes.terminal import FakeTerminal
from tests.terminal.conftest import OpenZot

Attach = Callable[..., FakeTerminal]


@pytest.fixture
def home(zot: Zot) -> Iterator[Path]:
    """The home; the server that `/serve` started ends with the test."""
    yield zot.home / "zot"
    with suppress(OSError, ValueError, ProcessLookupError):
        os.kill(_server(zot.home / "zot")["pid"], signal.SIGTERM)


@pytest.fixture
def attach(zot: Zot, home: Path) -> Iterator[Attach]:
    """``attach(columns=60)``: `zot attach` on a terminal of its own."""
    opened: list[FakeTerminal] = []

    def start(*words: str, wait: str = "▌", env: dict[str, str] | None = None, **options: Any) -> FakeTerminal:
        environment = {**zot.env(), **(env or {})}
        terminal = FakeTerminal(zot.argv(["attach", *words]), cwd=zot.project, env=environment, **options)
        opened.append(terminal.__enter__())
        if wait:
            terminal.wait_for(wait)
        return terminal

    yield start
    for terminal in opened:
        terminal.__exit__(None, None, None)


def _server(home: Path) -> dict[str, Any]:
    return json.loads((home / "serve.json").read_text())


def share(terminal: FakeTerminal) -> str:
    """Share, and return the address."""
    terminal.submit("/serve")
    terminal.wait_for("this conversation is shared")
    address = next(row.strip() for row in terminal.screen.splitlines() if "http://127.0.0.1" in row)
    terminal.press("esc")
    terminal.wait_gone("this conversation is shared")
    return address


def test_a_prompt_on_one_screen_is_answered_on_both(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([Say("The answer is **42**."), Say("And 43.")])
    one = open_zot(columns=100)
    share(one)
    two = attach(columns=60)
    two.submit("what is the answer?")
    two.wait_for("The answer is 42.")
    one.wait_for("The answer is 42.")
    one.wait_for("shared by 2")
    assert "drives" in one.screen, "another screen was typed on last"
    one.submit("and then?")
    two.wait_for("And 43.")
    two.wait_for("terminal drives")
    one.wait_gone("drives")


def test_an_approval_is_answered_on_either_screen(serve: Any, open_zot: OpenZot, attach: Attach, zot: Zot) -> None:
    call = ("bash", {"command": "touch made"})
    serve([CallTools([call]), Say("done one"), CallTools([call]), Say("done two")])
    one = open_zot("--permission-mode", "ask")
    share(one)
    two = attach()
    for asked, answered, end in ((one, two, "done one"), (two, one, "done two")):
        asked.submit("make it")
        one.wait_for("run bash?")
        two.wait_for("run bash?")
        time.sleep(0.3)
        answered.press("1")
        one.wait_for(end)
        two.wait_for(end)
        assert "run bash?" not in one.screen + two.screen
    assert (zot.project / "made").exists()


def test_a_screen_that_comes_later_shows_what_waits(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([Say("earlier answer"), CallTools([("bash", {"command": "touch made"})]), Say("allowed")])
    one = open_zot("--permission-mode", "ask")
    one.submit("first")
    one.wait_for("earlier answer")
    share(one)
    one.submit("run it")
    one.wait_for("run bash?")
    two = attach(wait="run bash?")
    assert "earlier answer" in two.screen
    time.sleep(0.3)
    two.press("1")
    one.wait_for("allowed")


def test_leaving_a_screen_ends_nothing(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([Say("still here")])
    one = open_zot()
    share(one)
    two = attach()
    two.press("ctrl+d")
    assert two.wait_exit() == 0
    assert "the conversation goes on" in two.everything and "zot attach 2" in two.everything
    one.submit("hello?")
    one.wait_for("still here")
    one.wait_gone("shared by")


def test_the_end_of_the_terminal_ends_its_screens(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([])
    one = open_zot()
    share(one)
    two = attach()
    one.submit("/exit")
    assert one.wait_exit() == 0
    assert two.wait_exit() == 0
    assert "the conversation ended" in two.everything


def test_a_killed_terminal_ends_its_screens(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([])
    one = open_zot()
    share(one)
    two = attach()
    os.kill(one.pid, signal.SIGKILL)
    assert two.wait_exit() == 0
    assert "the conversation ended" in two.everything


def test_a_killed_server_leaves_the_terminal(serve: Any, open_zot: OpenZot, attach: Attach, home: Path) -> None:
    serve([Slow(Say("one two three four five six"), 0.3), Say("again")])
    one = open_zot()
    share(one)
    two = attach()
    two.submit("count")
    one.wait_for("one")
    os.kill(_server(home)["pid"], signal.SIGKILL)
    assert two.wait_exit() == 1
    assert "disconnected" in two.everything
    one.wait_for("no longer shared")
    one.wait_for("five six")
    one.submit("more")
    one.wait_for("again")
    share(one)
    attach().wait_for("again")


def test_a_watching_screen_ignores_keys(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([Say("answered")])
    one = open_zot()
    share(one)
    two = attach("--watch")
    two.type("ignored")
    one.submit("asked")
    two.wait_for("answered")
    assert "ignored" not in one.everything + two.screen
    two.signal(signal.SIGTERM)
    assert two.wait_exit() == 143


def test_a_new_session_is_followed(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([Say("old answer"), Say("new answer")])
    one = open_zot()
    share(one)
    two = attach()
    one.submit("one")
    two.wait_for("old answer")
    two.submit("/new")
    one.wait_for("◇ a new conversation")
    two.wait_for("◇ a new conversation")
    assert one.everything.count("◇ a new conversation") == two.everything.count("◇ a new conversation") == 1
    one.submit("two")
    two.wait_for("new answer")


def test_sizes_are_those_of_each_terminal(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([Say("word " * 60)])
    one = open_zot(columns=120)
    share(one)
    two = attach(columns=50, rows=20)
    two.submit("talk")
    two.wait_for("word word")
    two.resize(70, 20)
    two.wait_until(lambda: any(row.rstrip() == "─" * 70 for row in two.screen.splitlines()), "a rule of 70")
    one.wait_for("word word")
    assert any(len(row.rstrip()) > 100 for row in one.screen.splitlines())


PANEL = """
hello("panels")
send(type="register_command", name="board", description="a board")
ready()
def opened(f):
    panel = {"id": "p", "title": "board", "lines": ["press a key"]}
    send(type="command_response", id=f["id"], action="open_panel", open_panel=panel)
def key(f): send(type="panel_render", panel_id="p", lines=["key " + f.get("text", "")])
serve(command_invoked=opened, panel_key=key)
"""


def test_a_panel_is_on_every_screen_and_takes_keys(serve: Any, open_zot: OpenZot, attach: Attach, zot: Zot) -> None:
    serve([])
    write_extension(zot.home / "zot" / "extensions", "board", PANEL)
    one = open_zot()
    share(one)
    two = attach()
    one.submit("/board")
    one.wait_for("press a key")
    two.wait_for("press a key")
    two.press("x")
    one.wait_for("key x")
    two.wait_for("key x")
    three = attach(wait="key x")
    assert "board" in three.screen


def test_sharing_twice_and_ending_it(serve: Any, open_zot: OpenZot, attach: Attach) -> None:
    serve([])
    one = open_zot(columns=100)
    first, second = share(one), share(one)
    assert first.partition("#")[0] == second.partition("#")[0] and first != second
    two = attach()
    one.submit("/serve stop")
    one.wait_for("no longer shared")
    assert two.wait_exit() == 0
    one.submit("/serve stop")
    one.wait_for("was not shared")
    one.submit("/serve everywhere")
    one.wait_for("expected nothing, lan or stop")


def test_a_client_of_the_server_prompts_the_terminal(serve: Any, open_zot: OpenZot, home: Path, zot: Zot) -> None:
    serve([Say("for the phone")])
    one = open_zot(columns=80)
    address = share(one)
    with _join(address) as client:
        client.send("prompt", message="from the phone")
        client.until("done")
        one.wait_for("from the phone")
        one.wait_for("for the phone")
        assert client.welcome["clients"][0]["device"] == "terminal"


def _join(address: str) -> ServedClient:
    import http.client

    from websockets.sync.client import connect

    base, _, words = address.partition("/#token=")
    token, _, name = words.partition("&c=")
    place = base.removeprefix("http://")
    connection = http.client.HTTPConnection(place)
    connection.request("POST", "/device", json.dumps({"token": token}), {"content-type": "application/json"})
    key = json.loads(connection.getresponse().read())["key"]
    headers = {"Authorization": f"Bearer {key}"}
    client = ServedClient(connect(f"ws://{place}/rpc?conversation={name}", additional_headers=headers))
    client.send("take_over")
    return client


def test_a_new_conversation_goes_on_without_a_terminal(serve: Any, zot: Zot, home: Path, attach: Attach) -> None:
    serve([Slow(Say("slowly to the end"), 0.4)])
    server = subprocess.Popen(
        zot.argv(["serve", *zot.endpoint(True)]), cwd=zot.project, env=zot.env(), stdout=subprocess.PIPE
    )
    assert server.stdout is not None and server.stdout.readline()
    one = attach("new")
    one.submit("work")
    one.wait_for("slowly")
    one.press("ctrl+d")
    assert one.wait_exit() == 0
    two = attach()
    two.wait_for("slowly to the end")
    listed = subprocess.run(zot.argv(["attach", "--list"]), env=zot.env(), capture_output=True, text=True).stdout
    assert str(zot.project) in listed and "1 client " in listed


MISTAKES = (
    ((), "start it with `zot serve`"),
    (("--list",), "start it with `zot serve`"),
    (("http://127.0.0.1:1/",), "has not given this machine a key"),
    (("http://127.0.0.1:1/#token=x",), "cannot connect to http://127.0.0.1:1"),
    (("ftp://x",), "expected an address"),
    (("a", "b"), "name one conversation"),
    (("--list", "a"), "takes no other argument"),
)


@pytest.mark.parametrize(("words", "said"), MISTAKES)
def test_mistakes_of_attach_are_explained(attach: Attach, words: tuple[str, ...], said: str) -> None:
    terminal = attach(*words, wait="", columns=140)
    assert terminal.wait_exit() in (1, 2)
    assert said in terminal.everything
    assert "Traceback" not in terminal.everything


def test_attach_needs_a_terminal(zot: Zot) -> None:
    done = subprocess.run(zot.argv(["attach"]), env=zot.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1 and "needs a terminal" in done.stderr


def test_an_address_attaches_from_another_home(serve: Any, open_zot: OpenZot, attach: Attach, tmp_path: Path) -> None:
    serve([Say("seen from afar"), Say("and again")])
    one = open_zot(columns=100)
    address = share(one)
    away = {"ZOT_HOME": str(tmp_path / "away")}
    two = attach(address, env=away)
    two.submit("hello")
    two.wait_for("seen from afar")
    one.wait_for("zot attach on")
    two.press("ctrl+d")
    assert two.wait_exit() == 0
    kept = tmp_path / "away" / "attach.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    base, _, words = address.partition("#token=")
    token = words.partition("&")[0]
    assert token not in kept.read_text()
    three = attach(base, env=away)  # the key was kept
    three.wait_for("seen from afar")
    four = attach(address, wait="", env={"ZOT_HOME": str(tmp_path / "fourth")}, columns=140)
    assert four.wait_exit() == 1
    assert "this token was used" in four.everything


def test_a_revoked_key_ends_the_screen(serve: Any, open_zot: OpenZot, attach: Attach, zot: Zot, tmp_path: Path) -> None:
    serve([])
    one = open_zot(columns=100)
    two = attach(share(one), env={"ZOT_HOME": str(tmp_path / "away")})
    done = subprocess.run(zot.argv(["serve", "revoke", "--all"]), env=zot.env(), capture_output=True, text=True)
    assert done.returncode == 0
    assert two.wait_exit() == 1
    assert "this device was revoked" in two.everything


def test_the_local_network_is_trusted_by_its_fingerprint(serve: Any, attach: Attach, zot: Zot, tmp_path: Path) -> None:
    serve([Say("over TLS")])
    with Served(zot, "--host", "127.0.0.2", *zot.endpoint(True)) as server:
        address = server.beyond
        assert address.startswith("https://127.0.0.2:") and "fingerprint=" in address
        away = {"ZOT_HOME": str(tmp_path / "away")}
        base, _, fingerprint = address.partition("&fingerprint=")
        wrong = attach(f"{base}&fingerprint={'0' * len(fingerprint)}", "new", wait="", env=away, columns=160)
        assert wrong.wait_exit() == 1
        assert "another certificate" in wrong.everything
        plain = attach(base, "new", wait="", env=away, columns=160)
        assert plain.wait_exit() == 1
        assert "certificate" in plain.everything
        one = attach(address, "new", env=away)  # neither mistake used the token
        one.submit("hello")
        one.wait_for("over TLS")
