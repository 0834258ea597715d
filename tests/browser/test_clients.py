"""issue 34: several clients of one conversation, lost connections, and devices."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import DONE, Serve
from tests.browser.proxy import CutProxy
from tests.browser.user import User

TOUCH = {"text": "I touch it.", "tool_calls": [{"name": "bash", "args": {"command": "touch touched"}}]}


def test_second_watcher_sees_all_and_changes_nothing(new_user: Callable[[], User], serve: Serve) -> None:
    server = serve("--permission-mode", "ask", turns=[TOUCH, DONE])
    driver = new_user()
    driver.start(server)
    watcher = User(driver.page.another())
    watcher.join(server, driver.conversation)
    watcher.sees(".driver", "drives")
    driver.prompt("go")
    watcher.sees(".entry.user", "go")
    watcher.sees(".request", "touch touched")
    watcher.sees(".request .watching-notice", "You watch")
    assert watcher.evaluate("[...document.querySelectorAll('.request-body button')].every(b => b.matches(':disabled'))")
    assert watcher.evaluate("document.querySelector('#prompt').readOnly && document.querySelector('#mode').disabled")
    driver.click(".request button", "Allow once")
    driver.is_done()
    watcher.sees_no(".request")
    watcher.sees(".entry.text", "All done.")
    watcher.page.close()


def test_hand_over_and_take_over(new_user: Callable[[], User], serve: Serve) -> None:
    server = serve()
    one = new_user()
    one.start(server)
    other = User(one.page.another())
    other.join(server, one.conversation)
    other.sees(".driver", "Take over")
    one.sees(".driver", "2 here")
    one.click(".driver button")
    one.click(".clients button", "Hand over")
    other.sees(".driver", "You drive")
    one.sees(".driver", "Take over")
    other.prompt("from the other")
    one.sees(".entry.text", "All done.")
    one.click(".driver button", "Take over")
    one.sees(".driver", "You drive")
    other.sees(".driver", "Take over")
    other.page.close()


def test_page_reconnects_after_5_seconds_without_network(user: User, serve: Serve) -> None:
    """What happened meanwhile is there, once; the prompt that is written stays."""
    words = " ".join(f"word{number}" for number in range(400))
    server = serve(turns=[{"text": words}], delay_ms=15)
    proxy = CutProxy(server.port)
    user.open(server, server.address.replace(str(server.port), str(proxy.port)))
    user.click("#start")
    user.prompt("go")
    user.sees(".entry.text", "word5")
    user.page.type("half a prompt")
    proxy.cut()
    user.sees(".link", "No connection")
    time.sleep(5)
    proxy.mend()
    user.is_done()
    user.sees_no(".link")
    assert user.text(".entry.text .markdown") == words
    assert user.count(".entry.text") == 1
    assert user.evaluate("document.querySelector('#prompt').value") == "half a prompt"
    proxy.close()


def test_page_that_joins_in_mid_turn_shows_what_was_said(new_user: Callable[[], User], serve: Serve) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    server = serve(turns=[{"text": words}], delay_ms=15)
    one = new_user()
    one.start(server)
    one.prompt("go")
    one.sees(".entry.text", "word40")
    other = User(one.page.another())
    other.join(server, one.conversation)
    other.sees(".entry.text", "word0 word1 word2")
    other.until("document.querySelector('.working')")
    one.is_done()
    other.sees(".entry.text", "word299")
    assert other.text(".entry.text .markdown") == words
    other.page.close()


def test_reload_returns_to_the_conversation(user: User, serve: Serve) -> None:
    user.start(serve("--permission-mode", "ask", turns=[TOUCH, DONE]))
    user.prompt("go")
    user.sees(".request", "touch touched")
    user.page.call("Page.reload")
    user.sees(".request", "touch touched")
    user.sees(".entry.user", "go")
    user.click(".request button", "Allow once")
    user.is_done()
    user.sees(".entry.text", "All done.")


def test_answer_of_another_client_closes_the_request(new_user: Callable[[], User], serve: Serve) -> None:
    server = serve("--permission-mode", "ask", turns=[TOUCH, DONE])
    user = new_user()
    user.start(server)
    user.prompt("go")
    user.sees(".request")
    with server.client(user.conversation, key=user.evaluate("localStorage.getItem('zot-key')")) as other:
        asked = other.welcome["open"][0]
        assert other.ask("take_over")["success"]
        fields = {"request_id": asked["request_id"], "call_hash": asked["call_hash"]}
        assert other.ask("approve", decision="once", **fields)["success"]
        user.sees_no(".request")


def test_forgotten_device_must_pair_again(user: User, serve: Serve) -> None:
    user.start(serve())
    user.click("button[title='This device']")
    user.click(".modal button", "Forget this device")
    user.click(".modal button", "Forget it now")
    user.sees(".pairing")
    assert user.evaluate("localStorage.getItem('zot-key')") is None


def test_revoked_device_is_told(user: User, serve: Serve, tmp_path: Path) -> None:
    server = serve()
    user.start(server)
    name = user.evaluate("document.querySelector('.driver') && localStorage.getItem('zot-key') && true")
    assert name
    devices = server.zot("serve", "devices", model=False).out.splitlines()
    device = next(line for line in devices if "Chrome" in line)
    assert server.zot("serve", "revoke", device.split("  ")[0].strip(), model=False).code == 0
    user.sees(".link.ended", "revoked")
