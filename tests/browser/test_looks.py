"""issue 34: phone-sized windows, light and dark, keys alone, and axe on each view."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import DONE, Serve
from tests.browser.user import User
from tests.fakes.extensions import write_extension

AXE = Path(__file__).parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"
TOUCH = {"text": "I touch it.", "tool_calls": [{"name": "bash", "args": {"command": "touch touched; " + "x" * 300}}]}
RICH = (
    "# Title\n\nText with `code` and [a link](https://example.com).\n\n```python\n"
    "# comment\ndef total(x: int) -> str:\n    return f'{x}' + \"long \" * 1000000000000000000000000000\n```\n\n"
    "| a | b |\n|---|---|\n| " + "wide" * 40 + " | 2 |\n\n> quoted\n\n- [x] done\n- [ ] open\n"
)
EDIT = {"path": "a.py", "edits": [{"oldText": "one = 1", "newText": "one = 2  # " + "long " * 40}]}
TURNS: list[dict[str, Any]] = [
    {"thinking": "Hm.", "text": "I edit.", "tool_calls": [{"name": "edit", "args": EDIT}]},
    {"text": RICH},
    TOUCH,
    DONE,
]


def overflow(user: User) -> int:
    """Pixels that the page is wider than the window; what scrolls by itself does not count."""
    return user.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth")


def faults_of(user: User) -> list[str]:
    """What axe finds that is serious or critical."""
    user.evaluate("new Promise(done => setTimeout(done, 150))")  # scrolling and layout come to rest
    if not user.evaluate("!!window.axe"):
        user.evaluate(AXE.read_text() + ";0")
    found = user.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations))")
    return [
        f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary'][:300]}"
        for each in json.loads(found)
        if each["impact"] in ("serious", "critical")
    ]


@pytest.fixture
def busy(user: User, serve: Serve, project: Path) -> User:
    """A conversation with some of everything, whose second prompt waits for an approval."""
    (project / "a.py").write_text("one = 1\n")
    user.start(serve("--permission-mode", "accept-edits", turns=TURNS))
    user.prompt("edit it, please, and " + "say something long " * 12)
    user.is_done()
    return user


def test_phone_sized_window_has_no_horizontal_scroll(busy: User) -> None:
    busy.size(360, 740, is_phone=True)
    assert overflow(busy) <= 0
    busy.prompt("touch it")
    busy.sees(".request .exact")
    assert overflow(busy) <= 0
    busy.click(".request button", "Allow once")
    busy.is_done()
    for view in ("Timeline", "Swarm", "Chat"):
        busy.click(".views button", view)
        assert overflow(busy) <= 0, view
    busy.click(".header .menu")
    busy.sees(".sidebar #search")
    assert overflow(busy) <= 0
    busy.click("button[title^='Keys']")
    busy.sees(".modal .keys")
    assert overflow(busy) <= 0


def test_dark_and_light_follow_system_and_choice(busy: User) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    busy.prefers("light")
    busy.until(f"{ground} === 'rgb(250, 250, 250)'")
    busy.prefers("dark")
    busy.until(f"{ground} === 'rgb(30, 30, 30)'")
    busy.choose("#theme", "light")
    busy.until(f"{ground} === 'rgb(250, 250, 250)'")
    busy.page.call("Page.reload")
    busy.sees(".entry.user")
    busy.until(f"{ground} === 'rgb(250, 250, 250)'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_axe_finds_no_serious_fault(busy: User, scheme: str, width: int) -> None:
    busy.size(width, 800, is_phone=width == 360)
    busy.prefers(scheme)
    busy.until(f"document.documentElement.dataset.theme === '{scheme}'")
    busy.prompt("touch it")
    busy.sees(".request .exact")
    found = {"approval": faults_of(busy)}
    busy.click(".request button", "Deny")
    found["denial"] = faults_of(busy)
    busy.press("Enter")
    busy.is_done()
    for view in ("Timeline", "Swarm", "Chat"):
        busy.click(".views button", view)
        busy.sees(".views button[aria-current]", view)
        found[view] = faults_of(busy)
    for key, title in (("?", "Keys"), ("n", "New conversation"), ("m", "Model"), ("o", "Who is here")):
        if key == "?":
            busy.evaluate("document.querySelector('#transcript').focus()")
        busy.press(key, *([] if key == "?" else ["alt"]))
        busy.sees(".modal h2", title)
        found[title] = faults_of(busy)
        busy.press("Escape")
        busy.sees_no(".modal")
    if width == 360:
        busy.click(".header .menu")
        busy.sees(".sidebar #search")
        found["sidebar"] = faults_of(busy)
    assert not {view: faults for view, faults in found.items() if faults}


def test_axe_on_requests_and_extensions(user: User, serve: Serve, tmp_path: Path) -> None:
    from tests.browser.test_extensions import BOARD

    directory = write_extension(tmp_path, "board", BOARD, uses=["ui"])
    questions = [{"question": "Which?", "header": "H", "options": [{"label": "a"}, {"label": "b"}]}]
    ask = {"text": "", "tool_calls": [{"name": "ask_user", "args": {"questions": questions}}]}
    user.start(serve("-e", str(directory), "--tools", "read,ask_user", turns=[ask, DONE]))
    user.write("/board")
    user.press("Enter")
    user.sees(".panel")
    assert not faults_of(user)
    user.press("Escape")
    user.sees_no(".panel")
    user.prompt("go")
    user.sees(".request legend")
    assert not faults_of(user)


def test_axe_on_the_pairing_page(user: User, serve: Serve) -> None:
    user.page.open(serve().address.partition("#")[0])
    user.sees(".pairing")
    assert not faults_of(user)


def test_keys_alone_drive_a_conversation(user: User, serve: Serve, project: Path) -> None:
    user.open(serve("--permission-mode", "ask", turns=[TOUCH, DONE]))
    user.focus("#start")
    user.press("Enter")
    user.is_ready()
    user.until("document.activeElement.id === 'prompt'")
    user.page.type("touch it")
    user.press("Enter")
    user.sees(".request .exact")
    user.until("document.activeElement.className === 'request'")
    user.evaluate("new Promise(done => setTimeout(done, 400))")  # keys that came too early do not answer
    user.press("1")
    user.is_done()
    assert (project / "touched").exists()
    user.until("document.activeElement.id === 'prompt'")
    for key, selector in (("2", ".timeline"), ("3", ".swarm"), ("1", ".chat")):
        user.press(key, "alt")
        user.sees(selector)
    user.press("g", "alt")
    user.until("document.activeElement.id === 'transcript'")
    user.press("?")
    user.sees(".modal h2", "Keys")
    user.press("Escape")
    user.sees_no(".modal")
    user.until("document.activeElement.id === 'transcript'")
    user.press("/")
    user.until("document.activeElement.id === 'prompt'")
    user.press("s", "alt")
    user.until("document.activeElement.id === 'search'")


def test_tab_reaches_everything_in_order(busy: User) -> None:
    """The focus never gets stuck, and each stop is visible."""
    busy.evaluate("document.activeElement.blur()")
    seen: list[str] = []
    for _ in range(80):
        busy.press("Tab")
        seen.append(
            busy.evaluate(
                "(e => e === document.body ? '' : e.id || e.ariaLabel || e.innerText?.slice(0, 20) || e.tagName)"
                "(document.activeElement)"
            )
        )
        if seen[-1] == "prompt":
            break
    assert "prompt" in seen and "new" in seen and "search" in seen and "mode" in seen


def test_two_pages_do_not_share_drafts(new_user: Callable[[], User], serve: Serve) -> None:
    server = serve()
    one = new_user()
    one.start(server)
    one.page.type("a draft")
    other = User(one.page.another())
    other.join(server, one.conversation)
    other.sees(".driver", "Take over")
    assert other.evaluate("document.querySelector('#prompt').value") == ""
    other.page.close()
