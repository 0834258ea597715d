"""issue 34: hostile Markdown, file names and results on the page."""

from __future__ import annotations

import json
from pathlib import Path

from tests.browser.conftest import DONE, Serve
from tests.browser.user import User
from tests.fakes.extensions import write_extension
from tests.fakes.page_host import PageHost

EVIL = "\n\n".join(
    [
        "<script>window.hacked = 1</script>",
        "<img src=x onerror='window.hacked = 1'>",
        "[run](javascript:window.hacked=1) [data](data:text/html,<script>1</script>) [vb](vbscript:x)",
        "![remote](http://127.0.0.1:1/track.png)",
        '<a href="javascript:alert(1)">raw</a> <iframe src="http://127.0.0.1:1/"></iframe>',
        "[good](https://example.com/ok)",
        "```html\n<script>window.hacked = 1</script>\n```",
        "&lt;script&gt;window.hacked = 1&lt;/script&gt;",
        '[title](https://example.com "onmouseover=window.hacked=1")',
    ]
)
NESTED = "> " * 5_000 + "deep\n\n" + "- " * 500 + "list\n\n" + "*" * 20_000 + "\n\n" + "[" * 20_000 + "\n\nstill there"

BIG = """
hello(); tool("big"); ready()
def run(f):
    text(f["id"], "start of it\\n" + ("0123456789abcde\\n" * (480 * 1024)) + "end of it")
serve(tool_call=run)
"""


def test_hostile_markdown_runs_nothing_and_loads_nothing(user: User, serve: Serve) -> None:
    user.start(serve(turns=[{"text": EVIL}]))
    user.prompt("<img src=x onerror='window.hacked = 1'>")
    user.is_done()
    user.sees(".markdown", "<script>window.hacked = 1</script>")
    assert user.evaluate("window.hacked") is None
    links = user.evaluate("[...document.querySelectorAll('.entry a')].map(a => [a.href, a.rel])")
    assert [address for address, _ in links] == [
        "http://127.0.0.1:1/track.png",
        "https://example.com/ok",
        "https://example.com/",
    ]
    assert {rel for _, rel in links} == {"noopener noreferrer"}
    assert user.count(".entry img, .entry iframe, .entry script") == 0
    asked = {event["request"]["url"] for event in user.page.events("Network.requestWillBeSent")}
    assert not [url for url in asked if "127.0.0.1:1/" in url]


def test_deeply_nested_markdown_does_not_stop_the_page(user: User, serve: Serve) -> None:
    user.start(serve(turns=[{"text": NESTED}]))
    user.prompt("go")
    user.is_done()
    user.sees(".entry.text", "still there")


def test_approval_spells_hidden_characters(user: User, serve: Serve) -> None:
    command = "echo safe \u202e; rm -rf x \u2066# \u200b\x1b[2K done"
    call = {"text": "", "tool_calls": [{"name": "bash", "args": {"command": command}}]}
    user.start(serve("--permission-mode", "ask", turns=[call, DONE]))
    user.prompt("go")
    for spelled in ("U+202E", "U+2066", "U+200B", "ESC"):
        user.sees(".request .exact .hidden-character", spelled)
    shown = user.text(".request .exact")
    assert "\u202e" not in shown and "rm -rf x" in shown


def test_approval_spells_hidden_characters_of_paths(user: User, serve: Serve) -> None:
    path = "harmless\u202etxt.sh"
    call = {"text": "", "tool_calls": [{"name": "write", "args": {"path": path, "content": "x\u200by\n"}}]}
    user.start(serve("--permission-mode", "ask", turns=[call, DONE]))
    user.prompt("go")
    user.sees(".request .call-path .hidden-character", "U+202E")
    user.sees(".request .diff .hidden-character", "U+200B")
    user.sees(".tool .subject .hidden-character", "U+202E")


def test_long_approval_is_shown_in_full(user: User, serve: Serve) -> None:
    lines = [f"echo {number}" for number in range(2_000)]
    call = {"text": "", "tool_calls": [{"name": "bash", "args": {"command": "\n".join([*lines, "rm -rf everything"])}}]}
    user.start(serve("--permission-mode", "ask", turns=[call, DONE]))
    user.prompt("go")
    user.sees(".request .exact", "rm -rf everything")
    assert user.text(".request .exact").count("echo") == 2_000


def test_result_of_7_megabytes_stays_usable(user: User, serve: Serve, tmp_path: Path) -> None:
    directory = write_extension(tmp_path, "big", BIG)
    call = {"text": "", "tool_calls": [{"name": "big", "args": {}}]}
    user.start(serve("-e", str(directory), turns=[call, DONE]))
    user.prompt("go")
    user.is_done()
    user.click(".tool .fold-head")
    user.sees(".tool .output", "start of it")
    assert user.evaluate("document.querySelector('.tool .output').textContent.length") < 100_000
    user.press("2", "alt")
    user.sees(".event-name", "tool_result")
    user.press("1", "alt")
    user.sees(".entry.text", "All done.")


def test_frame_of_10_megabytes_stays_usable(user: User) -> None:
    """Larger than any tool of zot or an extension can send: from a server of the test."""
    text = "start of it\n" + "0123456789abcde\n" * (640 * 1024)
    result = {"id": "c", "is_error": False, "content": [{"type": "text", "text": text}], "view": None}
    with PageHost({"big": []}) as host:
        user.page.open(host.address)
        user.evaluate("localStorage.setItem('zot-key', 'key'), location.hash = '#c=big', 0")
        user.page.call("Page.reload")
        user.is_ready()
        host.send([{"type": "tool_call", "id": "c", "name": "big", "args": {}}, {"type": "tool_result", **result}])
        user.sees(".tool.done")
        user.click(".tool .fold-head")
        user.sees(".tool .output", "start of it")
        assert user.evaluate("document.querySelector('.tool .output').textContent.length") < 100_000
        user.click(".tool button", "Show more")
        user.until("document.querySelector('.tool .output').textContent.length > 200_000")
        user.press("2", "alt")
        user.sees(".event-name", "tool_result")


def test_hostile_title_and_extension_text(user: User, serve: Serve, tmp_path: Path) -> None:
    body = "<img src=x onerror=window.hacked=1>\u202e"
    program = f"""
hello("edition2")
send(type="contribute", kind="status", name="s", value={{"line": {json.dumps(body)}}}); ready(); serve()
"""
    directory = write_extension(tmp_path, "evil", program, uses=["ui"])
    user.start(serve("-e", str(directory)))
    user.sees(".status-item", "<img src=x onerror=window.hacked=1>")
    user.prompt(body)
    user.is_done()
    user.sees(".row-title", "<img src=x")
    assert user.evaluate("window.hacked") is None
